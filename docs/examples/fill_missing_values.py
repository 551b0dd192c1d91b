"""Fill missing values, and compare with scikit-learn's imputers on a table and on images.

    python docs/examples/fill_missing_values.py [picture.png]
"""

import sys
import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from threadpoolctl import threadpool_limits

from pacewise import SelfPacedSparseCoder


@threadpool_limits.wrap(limits=1)  # for a fair comparison of times: everyone on one thread
def main(picture):
    warnings.simplefilter("ignore", ConvergenceWarning)  # the iterative imputer's ten rounds
    table = load_breast_cancer().data
    data = {"table": (table - table.mean(0)) / table.std(0), "images": load_digits().data[:400] / 16}
    coder = SelfPacedSparseCoder(graph="none", normalize="none", tol=1e-3, random_state=0)
    scores, filled = {}, {}
    print(f"{'rms error / rms about the mean':32s} {'table':>7s} {'images':>7s} {'seconds':>8s}")
    imputers = {"mean": SimpleImputer(), "KNNImputer": KNNImputer(), "IterativeImputer": IterativeImputer(random_state=0)}
    for name, imputer in {**imputers, "pacewise": None}.items():
        began = time.perf_counter()
        for which, clean in data.items():
            holes = np.random.default_rng(0).uniform(size=clean.shape) < 0.2
            X = np.where(holes, np.nan, clean)
            if imputer is None:  # the time includes the choice of atoms and beta
                imputed = coder.fit(X).impute(X)
            else:
                imputed = imputer.set_params(keep_empty_features=True).fit_transform(X)
            usual = (clean - np.nanmean(X, 0))[holes]
            scores[name, which] = np.sqrt((((imputed - clean)[holes]) ** 2).mean() / (usual**2).mean())
            filled[name, which] = imputed
        row = f"{scores[name, 'table']:7.3f} {scores[name, 'images']:7.3f} {time.perf_counter() - began:8.1f}"
        print(f"{name:32s} {row}")

    clean = data["images"]
    X = np.where(np.random.default_rng(0).uniform(size=clean.shape) < 0.2, np.nan, clean)
    rows = {"given": X, **{name: filled[name, "images"] for name in ("KNNImputer", "IterativeImputer", "pacewise")}, "truth": clean}
    _, axes = plt.subplots(len(rows), 8, figsize=(7, 4.6), layout="constrained")
    for line, (name, images) in zip(axes, rows.items()):
        for ax, image in zip(line, images):
            ax.set_facecolor("tab:orange")  # missing
            ax.imshow(image.reshape(8, 8), cmap="gray", vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
    plt.savefig(picture, dpi=80)
    return scores


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "fill_missing_values.png")
