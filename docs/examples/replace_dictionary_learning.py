"""In place of scikit-learn's DictionaryLearning: the same problem, then the same problem with dirty data.

    python docs/examples/replace_dictionary_learning.py [picture.png]
"""

import sys
import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import DictionaryLearning
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from pacewise import SelfPacedSparseCoder, plot

ALPHA = 0.1


def main(picture):
    warnings.simplefilter("ignore", ConvergenceWarning)
    digits = load_digits()
    X, y = digits.data[:300] / 16, digits.target[:300]
    new, target = digits.data[300:900] / 16, digits.target[300:900]
    dirty = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.1, 1.0, X)  # a tenth of the pixels burnt out

    theirs = DictionaryLearning(
        24, alpha=ALPHA, fit_algorithm="cd", transform_algorithm="lasso_cd", transform_alpha=ALPHA, max_iter=50, random_state=0
    )
    # no 1/2 before the fit: beta = 2 alpha
    plain = SelfPacedSparseCoder(24, beta=2 * ALPHA, level="none", graph="none", normalize="none", random_state=0)
    slow = {"plain_iter": 5, "warm_iter": 5, "pace_iter": 15}  # where the worst stay out for good, a slower pace pays
    robust = SelfPacedSparseCoder(24, beta=2 * ALPHA, graph="none", normalize="none", final=0.9, polish=0, random_state=0, **slow)
    scores, atoms = {}, {}
    print(f"{'':22s} objective  seconds  accuracy: clean  dirty")
    for name, coder in {"DictionaryLearning": theirs, "pacewise, level none": plain, "pacewise, trimmed": robust}.items():
        began = time.perf_counter()
        codes = coder.fit_transform(X)
        seconds = time.perf_counter() - began
        # as scikit-learn writes it; the trimmed one minimises something else
        objective = ((X - codes @ coder.components_) ** 2).sum() / 2 + ALPHA * np.abs(codes).sum()
        classify = LogisticRegression(C=100, max_iter=2000)
        clean_accuracy = classify.fit(coder.transform(X), y).score(coder.transform(new), target)
        dirty_accuracy = make_pipeline(coder, classify).fit(dirty, y).score(new, target)
        atoms[name] = coder.components_  # learned from the dirty images
        scores[name] = objective, seconds, clean_accuracy, dirty_accuracy
        print(f"{name:22s} {objective:9.2f} {seconds:8.2f} {clean_accuracy:16.3f} {dirty_accuracy:6.3f}")

    _, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained")
    for ax, (name, components) in zip(axes, atoms.items()):
        plot.atoms(components, shape=(8, 8), ax=ax).set_title(f"{name}, dirty data", fontsize="small")
    plt.savefig(picture, dpi=80)
    return scores


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "replace_dictionary_learning.png")
