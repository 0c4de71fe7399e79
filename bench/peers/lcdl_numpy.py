"""LCDL-SV in NumPy, as fast as NumPy allows: one factorisation for all samples, the subspace that codes really fill,
Newton's method for the SVM on one Gram matrix for all classes.

Written from the formulas, see docs/methods/lcdl-sv.md. Samples are columns here, as there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

LAMBDA1, LAMBDA2, THETA, ETA1, ETA2 = 1e-3, 1e-6, 5.0, 1e-2, 5.0
PER_CLASS, MAX_ITER, TOL = 10, 20, 1e-3


class Model(NamedTuple):
    dictionary: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    n_iter: int


def start(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Principal directions and mean of every class; the largest entry of a direction is positive."""
    atoms = []
    for c in range(y.max() + 1):
        own = X[:, y == c]
        mean = own.mean(axis=1)
        directions = np.linalg.svd(own - mean[:, None], full_matrices=False)[0][:, : PER_CLASS - 1]
        signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(PER_CLASS - 1)])
        atoms += [directions * signs, (mean / np.linalg.norm(mean))[:, None]]
    return np.hstack(atoms)


def laplacian(D: np.ndarray, gram: np.ndarray) -> np.ndarray:
    """Of the graph that joins every atom to its nearest other."""
    K = D.shape[1]
    norms = np.diag(gram)
    squared = np.maximum(norms[:, None] + norms - 2.0 * gram, 0.0)
    np.fill_diagonal(squared, 0.0)
    bandwidth = np.sqrt(squared).mean()
    np.fill_diagonal(squared, np.inf)
    nearest = squared.argmin(axis=1)
    weights = np.zeros((K, K))
    weights[np.arange(K), nearest] = np.exp(-squared[np.arange(K), nearest] / (2.0 * bandwidth**2))
    weights = np.maximum(weights, weights.T)
    return np.diag(weights.sum(axis=1)) - weights


def svm_newton(gram: np.ndarray, targets: np.ndarray, active: np.ndarray, tau: float) -> tuple[np.ndarray, np.ndarray]:
    """Dual weights (n x C) and biases of `min tau |u|^2 + sum max(0, 1 - t (u^T z + b))^2`, all classes in turn."""
    n, C = targets.shape
    alphas, bias = np.zeros((n, C)), np.zeros(C)
    for c in range(C):
        t = targets[:, c]
        alpha, b, outputs, value = np.zeros(n), 0.0, np.zeros(n), np.inf
        act = np.flatnonzero(active[:, c])
        for _ in range(100):
            system = gram[np.ix_(act, act)]
            system.flat[:: len(act) + 1] += tau
            both = cho_solve(cho_factor(system, lower=True, overwrite_a=True, check_finite=False),
                             np.column_stack([t[act], np.ones(len(act))]), check_finite=False)  # fmt: skip
            goal_b = both[:, 0].sum() / both[:, 1].sum()
            goal = np.zeros(n)
            goal[act] = both[:, 0] - goal_b * both[:, 1]
            goal_outputs = gram[:, act] @ goal[act]
            step = 1.0
            while True:
                a = alpha + step * (goal - alpha)
                o, new_b = outputs + step * (goal_outputs - outputs), b + step * (goal_b - b)
                new = tau * (a @ o) + (np.maximum(1.0 - t * (o + new_b), 0.0) ** 2).sum()
                if new <= value or step < 1e-6:
                    break
                step /= 2.0
            alpha, b, outputs, value = a, new_b, o, new
            violated = np.flatnonzero(t * (outputs + b) < 1.0)
            if step == 1.0 and np.array_equal(violated, act):
                break
            act = violated
        alphas[:, c], bias[c] = alpha, b
    return alphas, bias


def train(X: np.ndarray, y: np.ndarray, max_iter: int = MAX_ITER) -> Model:
    """The subspace form: `D = E Q^T` with orthonormal `Q`, codes `Z = Q Y`."""
    C = y.max() + 1
    targets = np.where(y[:, None] == np.arange(C), 1.0, -1.0)
    pull, tau = 2.0 * LAMBDA2 * THETA, 1.0 / THETA
    D = start(X, y)
    left, values, right = np.linalg.svd(D, full_matrices=False)
    rank = int((values > 3e-5 * values[0]).sum())
    Q, E = right[:rank].T, left[:, :rank] * values[:rank]
    V, b, outputs = np.zeros((rank, C)), np.zeros(C), np.zeros((C, X.shape[1]))
    active = np.ones((X.shape[1], C), dtype=bool)
    for it in range(1, max_iter + 1):
        gram = D.T @ D
        factor = cho_factor(gram + LAMBDA1 * laplacian(D, gram), lower=True, check_finite=False)
        new_Q, R = np.linalg.qr(cho_solve(factor, Q, check_finite=False))
        Y = R @ (E.T @ X)
        if it > 1:
            back = V.T @ (Q.T @ new_Q)
            G = R @ V
            M, S = back @ G, back @ Y
            phi = targets.T * (outputs + b[:, None]) < 1.0
            system = np.eye(C) + pull * (phi.T[:, :, None] * M * phi.T[:, None, :])
            rest = phi * (targets.T - b[:, None] - S)
            Y = Y + pull * (G @ np.linalg.solve(system, rest.T[:, :, None])[:, :, 0].T)
        Q = new_Q
        E = cho_solve(cho_factor(Y @ Y.T, lower=True, check_finite=False), Y @ X.T, check_finite=False).T
        new_D = E @ Q.T
        change = np.linalg.norm(new_D - D) / np.linalg.norm(new_D)
        D = new_D
        shared = Y.T @ Y
        alphas, b = svm_newton(shared, targets, active, tau)
        V, outputs = Y @ alphas, (shared @ alphas).T
        active = targets * (outputs.T + b) < 1.0
        if change <= TOL:
            break
    return Model(D, Q @ V, b, it)


class Coder(NamedTuple):
    """What does not depend on the samples, made once after training."""

    dictionary: np.ndarray
    gram: np.ndarray
    map: np.ndarray
    svm_map: np.ndarray
    bias: np.ndarray


def coder(model: Model) -> Coder:
    """`z = P x` and `U^T z = (U^T P) x`."""
    D = model.dictionary
    gram = D.T @ D
    P = cho_solve(cho_factor(gram + ETA1 * np.eye(len(gram)), lower=True, check_finite=False), D.T, check_finite=False)
    return Coder(D, gram, P, model.weights.T @ P, model.bias)


def scores(coder: Coder, X: np.ndarray, rule: str) -> np.ndarray:
    """Samples x classes, larger is better; everything by products of whole matrices."""
    svm = (coder.svm_map @ X + coder.bias[:, None]).T
    if rule == "svm":
        return svm
    correlations, Z = coder.dictionary.T @ X, coder.map @ X
    energies = np.einsum("ij,ij->j", X, X)
    residual = np.empty_like(svm)
    for c in range(svm.shape[1]):
        own = slice(c * PER_CLASS, (c + 1) * PER_CLASS)
        z = Z[own]
        # |x - D_c z_c|^2 = |x|^2 + z_c^T (G_cc z_c - 2 D_c^T x)
        squared = energies + np.einsum("ij,ij->j", z, coder.gram[own, own] @ z - 2.0 * correlations[own])
        residual[:, c] = -np.sqrt(np.maximum(squared, 0.0) / np.einsum("ij,ij->j", z, z))
    return residual if rule == "residual" else residual + ETA2 * svm
