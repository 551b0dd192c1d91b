"""Twenty tables with untouched defaults: missing values filled in, and clusters, beside what others do.

    python -m experiments.tables > table.txt

scikit-learn's and statsmodels' tables (at most 1,000 rows, numbers alone). A tenth of the cells is hidden; the error of a filled
cell is in standard deviations of its column. The others get columns that are centred and scaled. `wrong`: 5 % of the cells are
moreover off by 5 deviations. Means over seeds.
"""

import argparse
import time
import warnings

import numpy as np
import pacewise
from sklearn import datasets as sk
from sklearn.cluster import KMeans
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.preprocessing import StandardScaler

ROWS = 1000


def numbers(X):
    """Complete rows of a frame, columns that vary."""
    X = X.select_dtypes("number").to_numpy(float) if hasattr(X, "columns") else np.asarray(X, float)
    X = X[np.isfinite(X).all(1)]
    X = X[np.random.default_rng(0).permutation(len(X))[:ROWS]]
    return X[:, X.std(0) > 0]


def read_tables():
    linnerud = sk.load_linnerud()
    tables = {"iris": sk.load_iris().data, "wine": sk.load_wine().data, "breast cancer": sk.load_breast_cancer().data,
              "diabetes": sk.load_diabetes().data, "linnerud": np.c_[linnerud.data, linnerud.target]}  # fmt: skip
    from statsmodels.api import datasets  # here, since tests take scikit-learn's tables alone

    for name in ("star98", "fair", "ccard", "anes96", "statecrime", "scotland", "macrodata", "engel", "copper", "elnino", "spector",
                 "stackloss", "longley", "modechoice", "heart"):  # fmt: skip
        tables[name] = getattr(datasets, name).load_pandas().data
    return {name: numbers(X) for name, X in tables.items()}


def read_classes():
    from statsmodels.api import datasets

    votes = datasets.anes96.load_pandas().data
    named = {"iris": sk.load_iris, "wine": sk.load_wine, "breast cancer": sk.load_breast_cancer, "digits": sk.load_digits}
    return {**{name: read(return_X_y=True) for name, read in named.items()},
            "anes96": (votes.drop(columns="vote").to_numpy(float), votes["vote"].to_numpy(int))}  # fmt: skip


def scaled(imputer):
    def fill(X):
        scaler = StandardScaler().fit(X)
        return scaler.inverse_transform(imputer.fit_transform(scaler.transform(X)))

    return fill


def imputers(seed):
    return {"mean": SimpleImputer(keep_empty_features=True).fit_transform,
            "KNN": scaled(KNNImputer(keep_empty_features=True)),
            "iterative": scaled(IterativeImputer(random_state=seed, keep_empty_features=True)),
            "pacewise": pacewise.SparseCodeImputer(random_state=seed).fit_transform}  # fmt: skip


def damaged(X, seed, wrong):
    """With a tenth of the cells hidden, and which"""
    random = np.random.default_rng(seed)
    hidden = random.uniform(size=X.shape) < 0.1
    off = random.uniform(size=X.shape) < wrong
    return np.where(hidden, np.nan, X + 5 * off * random.choice([-1, 1], X.shape) * X.std(0)), hidden


def imputation(X, seeds, wrong=0.0):
    """Error of each imputer, and its seconds"""
    errors, seconds = {}, {}
    for seed in range(seeds):
        given, hidden = damaged(X, seed, wrong)
        for name, fill in imputers(seed).items():
            began = time.process_time()
            difference = ((fill(given) - X) / X.std(0))[hidden]
            seconds[name] = seconds.get(name, 0) + (time.process_time() - began) / seeds
            errors.setdefault(name, []).append(float(np.sqrt(np.mean(difference**2))))
    return {name: float(np.mean(values)) for name, values in errors.items()}, seconds


def clusters(X, y, seeds):
    """ACC and NMI of k-means on scaled data, on codes and on B S, four fifths of the samples, at most 600, for each seed"""
    out = {}
    for seed in range(seeds):
        some = np.random.default_rng(seed).permutation(len(X))[: min(600, len(X) * 4 // 5)]
        k = len(np.unique(y[some]))
        coder = pacewise.SelfPacedSparseCoder(random_state=seed).fit(X[some])
        points = {"scaled": StandardScaler().fit_transform(X[some]), "codes": coder.codes_, "B S": coder.codes_ @ coder.components_}
        for name, Z in points.items():
            found = KMeans(k, n_init=10, random_state=seed).fit_predict(Z)
            scores = pacewise.clustering_scores(y[some], found)
            out.setdefault(name, []).append((scores["acc"], scores["nmi"]))
    return {name: np.mean(values, 0) for name, values in out.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")
    methods = list(imputers(0))
    won = {(case, other): 0 for case in ("clean", "wrong") for other in methods}
    spent = dict.fromkeys(methods, 0.0)
    print(f"| table | rows x columns | {' | '.join(methods)} | {' | '.join('wrong: ' + m for m in methods)} |")
    print("|---" * (2 + 2 * len(methods)) + "|")
    tables = read_tables()
    for name, X in tables.items():
        cells = []
        for case, wrong in (("clean", 0.0), ("wrong", 0.05)):
            errors, seconds = imputation(X, seeds, wrong)
            least = min(errors.values())
            cells += [f"**{e:.3f}**" if e == least else f"{e:.3f}" for e in errors.values()]
            for m in methods:
                won[case, m] += errors["pacewise"] < errors[m]
                spent[m] += seconds[m]
        print(f"| {name} | {X.shape[0]} x {X.shape[1]} | {' | '.join(cells)} |", flush=True)
    for case in ("clean", "wrong"):
        print(f"\n{case}: pacewise is better than " + ", ".join(f"{m} on {won[case, m]}" for m in methods[:-1]) + f" of {len(tables)}")
    print("\nseconds of a processor for a table: " + ", ".join(f"{m} {s / len(tables) / 2:.2f}" for m, s in spent.items()))
    print("\n| clusters: ACC / NMI | k-means on scaled data | on codes | on B S |\n|---|---|---|---|")
    for name, (X, y) in read_classes().items():
        acc = clusters(X, y, seeds)
        print(f"| {name} | " + " | ".join(f"{a:.3f} / {b:.3f}" for a, b in acc.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
