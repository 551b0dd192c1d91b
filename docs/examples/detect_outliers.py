"""Outlier detection with contaminated training data: nobody has removed the outliers before training.

    python docs/examples/detect_outliers.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

from pacewise import SelfPacedSparseCoder

SHARES = (0.0, 0.1, 0.3)


def samples(rng, X, y, kind, share, n):
    """Zeros to fours, a share of them replaced by outliers."""
    outlier = rng.uniform(size=n) < share
    inside = X[rng.permutation(np.flatnonzero(y < 5))[:n]]
    if kind == "other digits":
        strange = X[rng.permutation(np.flatnonzero(y >= 5))[:n]]
    else:  # a broken cable: the pixels arrive in another order, always the same
        strange = inside[:, np.random.default_rng(9).permutation(64)]
    return np.where(outlier[:, None], strange, inside), outlier


def main(picture):
    digits = load_digits()
    X, y = digits.data / 16, digits.target
    options = {"graph": "none", "normalize": "none", "beta": 0.1, "final": 0.8, "polish": 0, "tol": 1e-3, "random_state": 0}
    options |= {"plain_iter": 5, "warm_iter": 5, "pace_iter": 15}  # where the worst stay out for good, a slower pace pays
    scores = {}
    _, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained", sharey=True)
    for kind, ax in zip(("other digits", "shuffled pixels"), axes):
        for share in SHARES:
            rng = np.random.default_rng(5)
            train, _ = samples(rng, X[:900], y[:900], kind, share, 400)
            test, outlier = samples(rng, X[900:], y[900:], kind, 0.3, 400)
            pca = PCA(20).fit(train)
            normality = {
                "IsolationForest": IsolationForest(random_state=0).fit(train).score_samples(test),
                "PCA, 20 components": -((test - pca.inverse_transform(pca.transform(test))) ** 2).sum(1),
            }
            for level in ("none", "sample", "element"):
                coder = SelfPacedSparseCoder(32, level=level, **options).fit(train)
                normality[f"pacewise, level {level}"] = coder.score_samples(test)
            for name, value in normality.items():
                scores.setdefault((kind, name), []).append(roc_auc_score(~outlier, value))
        print(f"AUROC: {kind:16s}     in training:" + "".join(f"{share:7.0%}" for share in SHARES))
        for (of, name), values in scores.items():
            if of == kind:
                print(f"  {name:38s}" + "".join(f"{value:7.3f}" for value in values))
                ax.plot(SHARES, values, "o-", label=name)
        ax.set(title=f"outliers: {kind}", xlabel="share of outliers in the training data")
    axes[0].set_ylabel("AUROC on new data")
    axes[0].legend(fontsize="x-small")
    plt.savefig(picture, dpi=80)
    return scores


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "detect_outliers.png")
