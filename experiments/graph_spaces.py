#!/usr/bin/env python3
"""Share of the 3 nearest neighbours that carry the same label, in spaces that were tried for the graph (docs/defaults.md).

    python experiments/graph_spaces.py --data DIR

Plain NumPy: the spaces that were kept are in the library, the others only here."""

import argparse
import os

import numpy as np

import pacewise

DIMENSIONS, NEAREST = 40, 3


def unit(X):
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def first_of_each(d, count):
    keep = np.concatenate([np.flatnonzero(d.target == label)[:count] for label in np.unique(d.target)])
    return d.data[keep], d.target[keep]


def corrupted(X, how):
    random = np.random.default_rng(0)
    if how == "rho 1":
        return unit(X + X.std() * random.normal(size=X.shape))
    strike = random.uniform(size=X.shape)
    return unit(np.where(strike < 0.1, X.min(), np.where(strike > 0.9, X.max(), X))) if how == "salt" else unit(X)


def nearest(P, k):
    G = P @ P.T
    squares = np.diag(G)
    D = squares[:, None] + squares - 2 * G
    np.fill_diagonal(D, np.inf)
    return np.argsort(D, axis=1, kind="stable")[:, :k], D


def spectrum(Y):
    values, W = np.linalg.eigh(Y.T @ Y)
    s = np.sqrt(np.maximum(values[::-1], 0))
    return Y @ W[:, ::-1] / np.maximum(s, 1e-12), s  # U, s


def half(Y):
    U, s = spectrum(Y)
    return unit(U[:, :DIMENSIONS] * np.sqrt(s[:DIMENSIONS]))


def without_noise(Y, dimensions=DIMENSIONS):
    (n, m), (U, s) = Y.shape, spectrum(Y)
    D = min(dimensions, n - 1, m)
    signal = min(D, min(n, m) // 2)
    edge = (s[signal:] ** 2).sum() / ((n - signal) * (m - signal)) * (np.sqrt(n) + np.sqrt(m)) ** 2
    if min(n, m) - signal < 16 or (s[:D] ** 2 > edge).sum() < 3:  # too little to tell it from
        edge = 0
    return unit(U[:, :D] * np.maximum(s[:D] ** 2 - edge, 0) ** 0.25)


def clipped(Y):
    out = Y
    for _ in range(5):
        _, W = np.linalg.eigh(out.T @ out)
        L = out @ W[:, -DIMENSIONS // 2 :] @ W[:, -DIMENSIONS // 2 :].T
        away = np.abs(Y - L)
        reach = 3 * 1.4826 * np.maximum(np.median(away, 0), np.median(away))
        out = L + np.clip(Y - L, -reach, reach)
    return out


def trimmed(Y, dimensions=DIMENSIONS):
    out, reach = np.nan_to_num(Y), 0
    for share in (0.025, 0.075, 0.15, 0.3, 0.5):
        _, W = np.linalg.eigh(out.T @ out)
        W = W[:, -int(np.ceil(share * min(dimensions, len(Y) - 1, len(W)))) :]
        L = out @ W @ W.T
        away = np.abs(Y - L)
        reach = np.maximum(reach / 2, 8 * 1.4826 * np.maximum(np.nan_to_num(np.nanmedian(away, 0)), np.nanmedian(away)))
        out = L + np.nan_to_num(np.maximum(1 - (away / reach) ** 2, 0) ** 2 * (Y - L))
    return out


def filled(Y):
    """Missing entries as 40 directions see them."""
    out = np.nan_to_num(Y)
    for _ in range(5 if np.isnan(Y).any() else 0):
        _, W = np.linalg.eigh(out.T @ out)
        out = np.where(np.isnan(Y), out @ W[:, -DIMENSIONS:] @ W[:, -DIMENSIONS:].T, out)
    return out


def coordinates(Y, how):
    """robust:40 and what might be in its place. gated: trimmed only where that takes more than 15 % of the energy away;
    faded: in proportion, up to 30 %; both: beside the coordinates without trimming, at half their size; scales: beside those
    of 15 and 100 dimensions."""
    whole, believed = filled(Y), trimmed(Y)
    wild = np.where(np.isnan(Y), 0, Y - believed)
    share = (wild**2).sum() / (whole**2).sum()
    if how == "gated":
        return without_noise(believed if share > 0.15 else whole)
    if how == "faded":
        return without_noise(believed + max(0, 1 - share / 0.3) * wild)
    if how == "both":
        return np.hstack([without_noise(believed), 0.5 * without_noise(whole)])
    if how == "scales":
        return np.hstack([without_noise(trimmed(Y, D), D) for D in (15, DIMENSIONS, 100)])
    return without_noise(believed)


def averaged(P, k=4):
    I, D = nearest(P, k)
    near = np.take_along_axis(D, I, 1)
    w = np.exp(-near / near.mean())
    return unit(P + (P[I] * w[:, :, None]).sum(1) / w.sum(1)[:, None])


def by_shared(P, k=5):
    I, D = nearest(P, k)
    A = np.eye(len(P), dtype=np.float32)
    np.put_along_axis(A, I, 1, 1)
    S = A @ A.T + 1e-3 * np.exp(-D / np.median(np.take_along_axis(D, I, 1)[:, -1]))
    np.fill_diagonal(S, -1)
    return np.argsort(-S, axis=1, kind="stable")[:, :NEAREST]


def standing_out(Y):
    (n, m), (U, s) = Y.shape, spectrum(Y)
    b = min(n, m) / max(n, m)
    D = max(3, int((s > (0.56 * b**3 - 0.95 * b**2 + 1.82 * b + 1.43) * np.median(s)).sum()))
    return unit(U[:, :D] * np.sqrt(s[:D]))


SPACES = {
    "raw": lambda Y: nearest(Y, NEAREST)[0],
    "half:40": lambda Y: nearest(half(Y), NEAREST)[0],
    "+ noise off the spectrum": lambda Y: nearest(without_noise(Y), NEAREST)[0],
    "+ wild entries clipped": lambda Y: nearest(without_noise(clipped(Y)), NEAREST)[0],
    "+ trimmed = robust:40": lambda Y: nearest(without_noise(trimmed(Y)), NEAREST)[0],
    "+ averaged with 4 nearest": lambda Y: nearest(averaged(without_noise(trimmed(Y))), NEAREST)[0],
    "half:40, shared neighbours": lambda Y: by_shared(half(Y)),
    "half, dimension by spectrum": lambda Y: nearest(standing_out(Y), NEAREST)[0],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with COIL20, CMU-PIE and MNIST")
    os.environ["PACEWISE_DATA"] = parser.parse_args().data
    data = {"coil20": 72, "pie": 21, "mnist-test": 200}
    problems = [(name, count, how) for how in ("clean", "rho 1", "salt") for name, count in data.items()]
    print(f"{'':30}" + " ".join(f"{name[:6]:>6}" for name, _, _ in problems) + "\n" + f"{'':30}" + " ".join(f"{how:>6}" for _, _, how in problems))
    shares = {space: [] for space in SPACES}
    for name, count, how in problems:
        X, y = first_of_each(pacewise.datasets.load(name), count)
        Z = corrupted(X, how)
        for space, find in SPACES.items():
            shares[space].append((y[find(Z - Z.mean(0))] == y[:, None]).mean())
    for space, values in shares.items():
        print(f"{space:30}" + " ".join(f"{v:6.3f}" for v in values), flush=True)


if __name__ == "__main__":
    try:
        main()
    except FileNotFoundError as error:
        raise SystemExit(f"{error}; name the folder with --data") from None
