"""Objective and certificates of a fit, recomputed in NumPy from X and the estimator's attributes alone."""

import warnings

import numpy as np
import pytest

from pacewise import SelfPacedSparseCoder, datasets, pace_weights

DATA = datasets.synthetic(60, 16, 3, random_state=2).data
GROUPS = np.arange(16) // 4


def normalized(coder, X):
    for name, shape in (("shift", (1, -1)), ("scale", (1, -1)), ("sample_scale", (-1, 1)), ("feature_offset", (1, -1))):
        of = getattr(coder, name + "_")
        if of is not None:
            X = X - of.reshape(shape) if name in ("shift", "feature_offset") else X / of.reshape(shape)
    return X


def spread(coder, of_units, shape):
    """Numbers of units as those of entries (n, m)"""
    level = coder.options_["level"]
    return np.broadcast_to(of_units[:, None] if level in ("sample", "none") else of_units, shape)


def losses(coder, residual, W):
    level = coder.options_["level"]
    entries = W * residual**2
    if level == "group":  # the mean of the features of a label
        same = GROUPS[:, None] == GROUPS
        return entries @ (same / same.sum(0))
    return entries if level == "element" else entries.sum(0) if level == "feature" else entries.sum(1)


def recomputed(coder, X, W):
    """Parts of the objective, certificates and losses"""
    observed = ~np.isnan(X) & (W > 0)
    X, W = np.where(observed, normalized(coder, X), 0), np.where(observed, W, 0)
    B, S, o = coder.components_, coder.codes_, coder.options_
    v = np.ones_like(X) if coder.step_weights_ is None else spread(coder, coder.step_weights_, X.shape)
    R = X - S @ B
    p = coder.beta_ * np.ones(len(B)) if o["atom_penalty"] is None else coder.beta_ * np.asarray(o["atom_penalty"])
    parts = {"fit": (W * v * R**2).sum(), "sparsity": np.abs(S).sum(0) @ p + o["l2"] * (S**2).sum(), "manifold": 0.0, "consistency": 0.0}
    gradient = -2 * (W * v * R) @ B.T + 2 * o["l2"] * S
    certificate = {"consistency": 0.0}
    if coder.alpha_ > 0:
        L = coder.laplacian_.toarray()
        parts["manifold"] = coder.alpha_ * np.trace(S.T @ L @ S)
        gradient += 2 * coder.alpha_ * L @ S
    if coder.gamma_ > 0:
        H, Q = coder.incidence_.toarray(), coder.consistency_
        parts["consistency"] = coder.gamma_ * (((H - Q @ S.T) ** 2).sum() + o["eta"] * (Q**2).sum())
        gradient += -2 * coder.gamma_ * (H - Q @ S.T).T @ Q
        certificate["consistency"] = np.abs(Q @ (S.T @ S + o["eta"] * np.eye(len(B))) - H @ S).max() / np.abs(H @ S).max()
    pull = -gradient if o["positive_codes"] else np.abs(gradient)
    distance = np.where(S != 0, np.abs(gradient + p * np.sign(S)), np.maximum(pull - p, 0))
    certificate["codes"] = distance.max() / np.abs(2 * (W * v * X) @ B.T).max()
    # a projected step along the gradient, as long as the largest curvature allows
    curvature = ((W * v).T @ S**2).max(0)
    used = curvature > 0
    moved = B[used] + (S.T @ (W * v * R))[used] / curvature[used, None]
    moved = np.maximum(moved, 0) if o["positive_atoms"] else moved
    moved /= np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1)
    certificate["dictionary"] = np.linalg.norm(moved - B[used], axis=1).max()
    loss = losses(coder, R, W)
    if coder.stage_ is not None and coder.weights_ is not None:
        excess = np.maximum(np.sqrt(loss) - coder.center_, 0) ** 2
        certificate["weights"] = np.abs(coder.weights_ - pace_weights(excess, coder.lambda_, regularizer=o["regularizer"])).mean()
    return parts, certificate, loss


PACES = {
    "descending": {},
    "descending, given scale": {"lambda_scale": 3.0},
    "penalties of atoms, signs": {"pace": "quantile", "pace_iter": 4, "polish": 4, "positive_codes": True, "positive_atoms": True,
                                  "atom_penalty": np.linspace(0.5, 2, 8)},
    "quantile": {"pace": "quantile", "pace_iter": 4, "polish": 4},
    "quantile, polish=0": {"pace": "quantile", "pace_iter": 4, "final": 0.9, "polish": 0},
    "geometric": {"pace": "geometric", "polish": 4},
    "geometric, polish=0": {"pace": "geometric", "mu": 2.0, "polish": 0},
}


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("graph", ["none", "knn", "hypergraph"])
@pytest.mark.parametrize(
    "level, pace",
    [(level, pace) for level in ("none", "sample", "feature", "element", "group") for pace, options in PACES.items()
     if level != "group" or "pace" not in options],
)  # fmt: skip
def test_recomputed_from_attributes(level, pace, graph, missing, rng):
    X = np.where(rng.uniform(size=DATA.shape) < 0.1, np.nan, DATA) if missing else DATA
    weight = rng.uniform(0.5, 2, len(X)) if missing else np.ones(len(X))
    normalize = {"none": "none", "sample": "unit", "feature": "robust", "element": "standard", "group": "unit"}[level]
    coder = SelfPacedSparseCoder(
        8, beta=0.05, l2=0.01, level=level, groups=GROUPS if level == "group" else None, graph=graph, gamma=1.0 if graph == "hypergraph" else 0.0, normalize=normalize, offset=missing,
        random_state=0, max_iter=40, **PACES[pace],
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # max_iter: the certificate holds wherever a fit ends
        coder.fit(X, sample_weight=weight if missing else None)
    parts, certificate, loss = recomputed(coder, X, np.broadcast_to(weight[:, None], X.shape))
    for name, value in parts.items():
        assert coder.objective_parts_[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name
    for name, value in certificate.items():
        assert coder.certificate_[name] == pytest.approx(value, rel=1e-3, abs=1e-11), name
    if coder.stage_ is None:
        np.testing.assert_allclose(coder.loss_, loss, rtol=1e-7, atol=1e-12)
    if coder.options_["pace"] != "descending" and level != "none":
        again = pace_weights(coder.loss_, coder.lambda_, regularizer=coder.options_["regularizer"])
        np.testing.assert_allclose(coder.weights_, again, atol=1e-12)
    assert sum(coder.objective_parts_.values()) == pytest.approx(coder.objective_, abs=1e-9 * sum(map(abs, coder.objective_parts_.values())))
    assert (np.linalg.norm(coder.components_, axis=1) <= 1 + 1e-9).all()
    if coder.positive_codes:
        assert min(coder.codes_.min(), coder.components_.min(), coder.transform(X).min()) == 0
    assert all(figure.same for figure in coder.verify(X, sample_weight=weight if missing else None))


def test_verify_names_what_differs(tmp_path):
    coder = SelfPacedSparseCoder(6, graph="none", level="none", random_state=0, tol=1e-2).fit(DATA)
    coder.codes_[3, 2] += 0.5  # a view of the model's own numbers
    wrong = [figure.name for figure in coder.verify(DATA) if not figure.same]
    assert {"objective", "fit", "certificate: codes"} <= set(wrong)


def test_verify_sees_scales_that_were_changed():
    for kind, name in (("images", "sample_scale_"), ("table", "scale_"), ("table", "shift_"), ("table", "feature_offset_"), ("table", "loss_")):
        coder = SelfPacedSparseCoder(6, kind=kind, random_state=0, max_iter=20).fit(DATA)
        assert all(figure.same for figure in coder.verify(DATA))
        getattr(coder, name).ravel()[3] *= 1.5
        assert not all(figure.same for figure in coder.verify(DATA)), name
