"""The whole model in plain NumPy, by accelerated gradient steps: what one would write in an afternoon, to be beaten.

Samples are rows. Every step runs until its own optimality residual is below `tol` or `steps` are spent.
"""

from __future__ import annotations

import itertools
import time

import numpy as np


def soft(x, t):
    return np.sign(x) * np.maximum(np.abs(x) - t, 0)


def largest_eigenvalue(apply, n, rng, rounds=30):
    x = rng.standard_normal(n)
    for _ in range(rounds):
        x = apply(x)
        value = np.linalg.norm(x)
        if value == 0:
            return 0.0
        x /= value
    return value


def codes_step(X, W, B, S, beta, *, L=None, alpha=0.0, H=None, Q=None, gamma=0.0, tol=1e-6, steps=2000, trace=None):
    """FISTA with restart over all codes at once. W (n, m) or 1.0. Returns S and its certificate."""
    rng = np.random.default_rng(0)
    shared = np.isscalar(W)
    gram = B @ B.T
    curvature = 1.05 * np.linalg.eigvalsh(gram)[-1] * (W if shared else W.max())
    q = (W * X) @ B.T
    scale = 2 * np.abs(q).max() or 1.0
    if L is not None and alpha:
        curvature += 1.05 * alpha * largest_eigenvalue(lambda x: L @ x, L.shape[0], rng)
    if Q is not None and gamma:
        C = gamma * Q.T @ Q
        curvature += np.linalg.eigvalsh(C)[-1]
        q = q + gamma * (H.T @ Q)
    Y, t = S.copy(), 1.0

    def gradient(Z):
        g = (Z @ gram if shared else (W * (Z @ B)) @ B.T) - q
        if Q is not None and gamma:
            g += Z @ C
        if L is not None and alpha:
            g += alpha * (L @ Z)
        return 2 * g

    def certificate(Z, g):
        return np.where(Z != 0, np.abs(g + beta * np.sign(Z)), np.maximum(np.abs(g) - beta, 0)).max() / scale

    found = np.inf
    for step in range(steps):
        g = gradient(Y)
        new = soft(Y - g / (2 * curvature), beta / (2 * curvature))
        if ((Y - new) * (new - S)).sum() > 0:
            t = 1.0
        bigger = (1 + np.sqrt(1 + 4 * t * t)) / 2
        Y = new + (t - 1) / bigger * (new - S)
        S, t = new, bigger
        if step % 10 == 9:
            found = certificate(S, gradient(S))
            if trace is not None:
                trace(S, found)
            if found <= tol:
                break
    return S, found


def dictionary_step(X, W, S, B, *, tol=1e-6, steps=2000):
    """Accelerated projected gradient, every atom in the unit ball."""
    shared = np.isscalar(W)
    gram = S.T @ S
    curvature = 1.05 * np.linalg.eigvalsh(gram)[-1] * (W if shared else W.max()) + 1e-12
    right = S.T @ (W * X)
    diagonal = 2 * ((S**2).sum(0) * W if shared else (W.T @ S**2).max(0))
    diagonal[diagonal == 0] = 1

    def project(Z):
        return Z / np.maximum(1, np.linalg.norm(Z, axis=1, keepdims=True))

    def gradient(Z):
        return 2 * ((W * (gram @ Z) if shared else S.T @ (W * (S @ Z))) - right)

    Y, t = B.copy(), 1.0
    for step in range(steps):
        new = project(Y - gradient(Y) / (2 * curvature))
        if ((Y - new) * (new - B)).sum() > 0:
            t = 1.0
        bigger = (1 + np.sqrt(1 + 4 * t * t)) / 2
        Y = new + (t - 1) / bigger * (new - B)
        B, t = new, bigger
        if step % 10 == 9 and np.linalg.norm(B - project(B - gradient(B) / diagonal[:, None]), axis=1).max() <= tol:
            break
    return B


def consistency_step(H, S, eta):
    return np.linalg.solve(S.T @ S + eta * np.eye(S.shape[1]), (H @ S).T).T


def value(X, W, B, S, beta, L, alpha, H, Q, gamma, eta):
    total = (W * (X - S @ B) ** 2).sum() + beta * np.abs(S).sum() + alpha * (S * (L @ S)).sum()
    if Q is not None and gamma:
        total += gamma * (((H.toarray() - Q @ S.T) ** 2).sum() + eta * (Q**2).sum())
    return total


def fit(X, B, level, *, beta, alpha, gamma, eta, L, H, plain, warm, pace, polish, select=0.5, tol=1e-4, steps=200, target=np.inf, seconds=0.0):
    """plain and warm iterations, then the share let in grows from `select` to 1, then all weights are 1.

    Linear regulariser, v = max(0, 1 - l / lambda). The last phase goes on until the objective is at most `target`, or
    `seconds` of CPU time are over. Returns the objective.
    """
    until = time.process_time() + seconds
    S, _ = codes_step(X, 1.0, B, np.zeros((len(X), len(B))), beta, tol=tol, steps=steps)
    W, Q = 1.0, None
    for iteration in itertools.count():
        with_graph = iteration >= plain
        paced = plain + warm <= iteration < plain + warm + pace
        if paced and level != "none":
            loss = (X - S @ B) ** 2
            units = {"element": loss, "sample": loss.sum(1), "feature": loss.sum(0)}[level]
            share = select + (1 - select) * (iteration - plain - warm) / max(pace - 1, 1)
            lam = np.quantile(units[units > 1e-12 * units.mean()], share) * (1 + 1e-9)
            v = np.maximum(0, 1 - units / lam)
            W = np.broadcast_to(v[:, None] if level == "sample" else v, X.shape).copy()
        else:
            W = 1.0
        B = dictionary_step(X, W, S, B, tol=tol, steps=steps)
        if with_graph and gamma:
            Q = consistency_step(H, S, eta)
        graph = {"L": L, "alpha": alpha, "H": H, "Q": Q, "gamma": gamma} if with_graph else {}
        S, _ = codes_step(X, W, B, S, beta, tol=tol, steps=steps, **graph)
        if iteration + 1 >= plain + warm + pace + polish:
            found = value(X, W, B, S, beta, L, alpha, H, Q, gamma, eta)
            if found <= target or time.process_time() > until:
                return found
