"""Find the wrong values of a table: 4% of the entries are replaced by another, plausible value of the same column.

    python docs/examples/find_corrupted_entries.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from pacewise import SelfPacedSparseCoder


def main(picture):
    rng = np.random.default_rng(0)
    clean = np.log1p(load_breast_cancer().data)  # 569 x 30; the columns are skewed
    wrong = rng.uniform(size=clean.shape) < 0.04
    X = np.where(wrong, rng.permuted(clean, axis=0), clean)  # the column's own values: no entry is out of range

    # atoms, beta and where the pace ends are chosen by hidden entries; each entry is judged by codes that have not seen it
    Z = StandardScaler().fit_transform(X)
    coder = SelfPacedSparseCoder(graph="none", normalize="robust", tol=1e-3, random_state=0).fit(Z)
    confidence = coder.entry_confidence(Z)

    pca = {k: PCA(k).fit(Z) for k in (3, 6, 12)}
    doubts = {
        "distance from the mean": np.abs(Z),
        **{f"PCA residual, {k} components": np.abs(Z - p.inverse_transform(p.transform(Z))) for k, p in pca.items()},
        "pacewise, 1 - confidence": 1 - confidence,
    }
    print(f"chosen: {coder.n_components_} atoms, beta = {coder.beta_:.2g}\n{'doubt by':28s}  AUROC  average precision")
    scores = {}
    for name, doubt in doubts.items():
        scores[name] = roc_auc_score(wrong.ravel(), doubt.ravel()), average_precision_score(wrong.ravel(), doubt.ravel())
        print(f"{name:28s}  {scores[name][0]:.3f}  {scores[name][1]:.3f}")

    _, (left, right) = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
    left.imshow(wrong[:60], cmap="gray_r", aspect="auto", interpolation="nearest")
    left.set(title="wrong entries (60 rows)", xlabel="feature", ylabel="sample")
    right.imshow(1 - confidence[:60], cmap="gray_r", aspect="auto", interpolation="nearest", vmin=0, vmax=1)
    right.set(title="1 - confidence", xlabel="feature")
    plt.savefig(picture, dpi=80)
    return scores


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "find_corrupted_entries.png")
