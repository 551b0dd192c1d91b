"""Cluster images of which half have a white square in front of them.

    python docs/examples/cluster_occluded_images.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import pacewise
from pacewise import SelfPacedSparseCoder, plot


def main(picture):
    digits = load_digits()
    clean, labels = digits.data[1000:1600] / 16, digits.target[1000:1600]
    images = clean.copy().reshape(-1, 8, 8)
    rng = np.random.default_rng(1)
    occluded = rng.permutation(600)[:300]
    for i in occluded:  # a 3 x 3 square, anywhere
        top, left = rng.integers(0, 6, 2)
        images[i, top : top + 3, left : left + 3] = 1
    X = images.reshape(600, 64)

    # atoms, beta and where the pace ends are chosen by hidden entries, without labels; where a fit ends depends on where
    # it begins: five
    fits = [SelfPacedSparseCoder(random_state=k).fit(X) for k in range(5)]
    coder, mended = fits[0], fits[0].mend(X)
    features = {
        "pixels": [X] * 5,
        "PCA, 20 components": [PCA(20, random_state=0).fit_transform(X)] * 5,
        "pacewise, codes": [fit.codes_ for fit in fits],
        "pacewise, mended images": [fit.mend(X) for fit in fits],
        "(pixels without squares)": [clean] * 5,
    }
    print(f"chosen: {coder.n_components_} atoms, beta = {coder.beta_:.2g}\n{'k-means on':34s}   ACC    NMI")
    scores = {}
    for name, five in features.items():
        runs = []
        for k, F in enumerate(five):
            F = F / np.maximum(np.linalg.norm(F, axis=1, keepdims=True), 1e-12)
            runs.append(pacewise.clustering_scores(labels, KMeans(10, n_init=5, random_state=k).fit_predict(F)))
        scores[name] = {key: np.mean([run[key] for run in runs]) for key in ("acc", "nmi")}
        print(f"{name:34s}  {scores[name]['acc']:.3f}  {scores[name]['nmi']:.3f}")

    def same_digit(Z):
        """Of the five nearest in the graph of the defaults."""
        near = pacewise.hypergraph(Z / np.linalg.norm(Z, axis=1, keepdims=True), 5)[0].toarray() > 0
        np.fill_diagonal(near, False)
        return np.mean([(labels[near[i]] == labels[i]).mean() for i in occluded])

    print(f"neighbours with the same digit: {same_digit(X):.3f}, without squares {same_digit(clean):.3f}")

    show = np.argsort((X != clean).sum(1) == 0, kind="stable")[:6]
    _, axes = plt.subplots(3, 6, figsize=(7, 3.8), layout="constrained")
    for column, i in enumerate(show):
        for row, image in enumerate((X[i], coder.weights_[i], mended[i])):
            axes[row, column].imshow(image.reshape(8, 8), cmap="gray", vmin=0, vmax=1)
            axes[row, column].set(xticks=[], yticks=[])
    for row, name in enumerate(("given", "weight", "mended")):
        axes[row, 0].set_ylabel(name)
    plt.savefig(picture, dpi=80)
    return scores


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cluster_occluded_images.png")
