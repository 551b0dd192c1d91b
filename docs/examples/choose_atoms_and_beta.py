"""Choose the number of atoms and beta without labels and without clean data: by hidden entries.

    python docs/examples/choose_atoms_and_beta.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone

from pacewise import SelfPacedSparseCoder, datasets


def main(picture):
    data = datasets.synthetic(200, 32, 3, corrupted=0.05, random_state=1)  # made of 15 atoms; 5% of the entries are wrong
    coder = SelfPacedSparseCoder(kind="images", graph="none", random_state=0).fit(data.data)
    chosen = coder.n_components_, coder.options_["beta_ratio"]

    rows = []
    for tried in coder.candidates_:
        setting = tried["atoms"], tried["beta_ratio"]
        fitted = clone(coder).set_params(n_components=setting[0], beta_ratio=setting[1]).fit(data.data)
        seen = np.median(np.abs(fitted.reconstruct(data.data) - data.data))  # error of what it was fitted to
        truth = np.abs(fitted.mend(data.data) - data.clean).mean()  # what we would like to know, and cannot in practice
        rows.append((*setting, seen, np.sqrt(tried["error"]), truth))
    print("atoms  beta_ratio   seen  hidden   true error")
    for atoms, ratio, seen, hidden, truth in rows:
        mark = "  chosen" if (atoms, ratio) == chosen else ""
        print(f"{atoms:5d}  {ratio:10.3f}  {seen:.3f}   {hidden:.3f}        {truth:.3f}{mark}")

    _, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained", sharex=True)
    for column, (ax, name) in enumerate(zip(axes, ("entries seen", "entries hidden", "true error")), 2):
        for ratio in sorted({r[1] for r in rows}):
            line = sorted((r[0], r[column]) for r in rows if r[1] == ratio)
            ax.plot(*zip(*line), "o-", label=f"beta_ratio = {ratio:g}")
        ax.set(title=name, xlabel="atoms", yscale="log")
        ax.axvline(15, color="gray", linestyle=":")
    axes[0].legend(fontsize="small")
    plt.savefig(picture, dpi=80)
    return {"chosen": chosen, "rows": rows}


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "choose_atoms_and_beta.png")
