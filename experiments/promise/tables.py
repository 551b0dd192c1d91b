"""Rows on tables: functions of the fits of a seed and a folder that they do not need, which yield figures."""

import numpy as np
from sklearn import datasets as sklearn_data
from sklearn.decomposition import PCA
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from .fits import Figure, found


def standardized(X):
    return (X - np.nanmean(X, 0)) / np.maximum(np.nanstd(X, 0), 1e-12)


def fit_table(fits, Z):
    """Atoms and penalty chosen by hidden entries."""
    return fits.fit(Z, graph="none", normalize="robust")[0]


def exchanged(fits, _):
    """The table of docs/guide.md, section 2: 4 % of the entries exchanged within their column."""
    random = np.random.default_rng(fits.seed)
    clean = np.log1p(sklearn_data.load_breast_cancer().data)
    wrong = random.uniform(size=clean.shape) < 0.04
    Z = standardized(np.where(wrong, random.permuted(clean, axis=0), clean))
    fitted = [PCA(k).fit(Z) for k in (3, 6, 9, 12, 15)]
    residuals = [np.abs(Z - p.inverse_transform(p.transform(Z))) for p in fitted]
    scores = [[figure.value for figure in found("cancer", "PCA", wrong, residual)] for residual in residuals]
    best = np.max(scores, axis=0)
    yield Figure("cancer", "AUROC, best PCA", best[0])
    yield Figure("cancer", "average precision, best PCA", best[1])
    bars = [max(bar, value) for bar, value in zip((0.85, 0.43), best)]
    model = fit_table(fits, Z)
    yield Figure("cancer", "atoms", len(model.components_))
    yield from found("cancer", "confidence", wrong, 1 - model.entry_confidence(Z), bars)
    yield from found("cancer", "loss", wrong, model.loss_)


TABLES = {"cancer": lambda: np.log1p(sklearn_data.load_breast_cancer().data), "wine": lambda: sklearn_data.load_wine().data,
          "diabetes": lambda: sklearn_data.load_diabetes().data, "digits": lambda: sklearn_data.load_digits().data[:600]}  # fmt: skip


def holed(clean, dirty, seed):
    """A fifth of the entries missing; where dirty, 5 % of the others off by five standard deviations of their column."""
    random = np.random.default_rng(seed)
    holes = random.uniform(size=clean.shape) < 0.2
    X = np.where(holes, np.nan, clean)
    if dirty:
        wrong = random.uniform(size=clean.shape) < 0.05
        X = X + 5 * wrong * random.choice([-1, 1], clean.shape) * clean.std(0)
    return X, holes


def imputation(fits, _):
    """The error of imputed values over that of the column's mean."""
    won = {True: 0, False: 0}
    for dirty in (True, False):
        for name, read in TABLES.items():
            case = f"{name}, {'5 % wrong' if dirty else 'clean'}"
            clean = read()
            clean = clean[:, clean.std(0) > 0]
            X, holes = holed(clean, dirty, fits.seed)
            shift, scale = np.nanmean(X, 0), np.nanstd(X, 0)

            def rated(imputed):
                # imputed is in standardised units of what is given; the clean table's are those of the score
                difference = (imputed * scale + shift - clean) / clean.std(0)
                return np.sqrt((difference[holes] ** 2).mean())

            Z = standardized(X)
            scores = {}
            for label, imputer in (("KNNImputer", KNNImputer()), ("IterativeImputer", IterativeImputer(random_state=0))):
                scores[label] = rated(imputer.set_params(keep_empty_features=True).fit_transform(Z))
                yield Figure(case, label, scores[label])
            model = fit_table(fits, Z)
            value = rated(model.impute(Z))
            won[dirty] += value < min(scores.values())
            yield Figure(case, "atoms", len(model.components_))
            yield Figure(case, "pacewise", value, min(scores.values()) if dirty else None)
    yield Figure("5 % wrong", "tables won", won[True], 3, True)
    yield Figure("clean", "tables won", won[False])
