"""Choose the number of atoms and beta without labels and without clean data: by entries held out.

    python docs/examples/choose_atoms_and_beta.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from pacewise import SelfPacedSparseCoder, datasets, model_selection

ATOMS, BETAS = [5, 10, 15, 25, 40], [0.02, 0.1, 0.4]


def main(picture):
    data = datasets.synthetic(200, 32, 3, corrupted=0.05, random_state=3)  # made of 15 atoms; 5% of the entries are wrong
    coder = SelfPacedSparseCoder(kind="images", graph="none", normalize="none", final=0.9, polish=0, tol=1e-3, random_state=0)
    grid = {"n_components": ATOMS, "beta": BETAS}
    choice = model_selection.choose_by_held_out_entries(coder, data.data, grid, n_splits=2, share=0.1)

    rows = []
    for row in choice.table:
        fitted = coder.set_params(**row["params"]).fit(data.data)
        mended = fitted.reconstruct(data.data)
        seen = np.median(np.abs(mended - data.data))  # error of what it was fitted to
        truth = np.abs(mended - data.clean).mean()  # what we would like to know, and cannot in practice
        rows.append((row["params"]["n_components"], row["params"]["beta"], seen, row["mean"], truth))
    print("atoms  beta   seen  held out   true error")
    for atoms, beta, seen, held_out, truth in rows:
        print(f"{atoms:5d}  {beta:4.2f}  {seen:.3f}     {held_out:.3f}        {truth:.3f}")

    _, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained", sharex=True, sharey=True)
    for column, (ax, name) in enumerate(zip(axes, ("entries seen", "entries held out", "true error")), 2):
        for beta in BETAS:
            line = sorted((r[0], r[column]) for r in rows if r[1] == beta)
            ax.plot(*zip(*line), "o-", label=f"beta = {beta}")
        ax.set(title=name, xlabel="atoms", yscale="log")
        ax.axvline(15, color="gray", linestyle=":")
    axes[0].legend(fontsize="small")
    plt.savefig(picture, dpi=80)
    return {"params": choice.params, "rows": rows}


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "choose_atoms_and_beta.png")
