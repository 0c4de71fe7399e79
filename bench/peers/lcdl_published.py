"""LCDL-SV in NumPy as it was published: a K x K inverse per sample, a pseudo-inverse, L-BFGS from zero for every class,
residuals by a loop over samples and classes. Written from the description, not from the authors' files."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from .lcdl_numpy import ETA1, ETA2, LAMBDA1, LAMBDA2, PER_CLASS, THETA, Model, laplacian, start


class Run(NamedTuple):
    model: Model
    seconds: list[float]  # of every iteration


def svm_lbfgs(Z: np.ndarray, t: np.ndarray, tau: float) -> np.ndarray:
    """Weights and bias of one class, at most 30 steps from zero."""

    def value(w: np.ndarray) -> tuple[float, np.ndarray]:
        slack = np.maximum(1.0 - t * (w[:-1] @ Z + w[-1]), 0.0)
        pull = -2.0 * t * slack
        return tau * (w[:-1] @ w[:-1]) + slack @ slack, np.append(2.0 * tau * w[:-1] + Z @ pull, pull.sum())

    return minimize(value, np.zeros(len(Z) + 1), jac=True, method="L-BFGS-B", options={"maxiter": 30, "maxcor": 10}).x


def train(X: np.ndarray, y: np.ndarray, max_iter: int) -> Run:
    C, n = y.max() + 1, X.shape[1]
    targets = np.where(y[:, None] == np.arange(C), 1.0, -1.0).T
    pull = 2.0 * LAMBDA2 * THETA
    D = start(X, y)
    K = D.shape[1]
    Z, U, b = np.zeros((K, n)), np.zeros((K, C)), np.zeros(C)
    seconds = []
    for it in range(max_iter):
        begin = time.process_time()
        gram = D.T @ D
        A, correlations = gram + LAMBDA1 * laplacian(D, gram), D.T @ X
        if it == 0:
            Z = np.linalg.inv(A) @ correlations
        else:
            old = Z
            Z = np.empty_like(old)
            for i in range(n):
                phi = targets[:, i] * (U.T @ old[:, i] + b) < 1.0
                Uphi = U[:, phi]
                right = correlations[:, i] + pull * (Uphi @ (targets[phi, i] - b[phi]))
                Z[:, i] = np.linalg.inv(A + pull * (Uphi @ Uphi.T)) @ right
        D = X @ Z.T @ np.linalg.pinv(Z @ Z.T, rcond=K * np.finfo(float).eps)
        for c in range(C):
            w = svm_lbfgs(Z, targets[c], 1.0 / THETA)
            U[:, c], b[c] = w[:-1], w[-1]
        seconds.append(time.process_time() - begin)
    return Run(Model(D, U, b, max_iter), seconds)


def predict(model: Model, X: np.ndarray) -> np.ndarray:
    """The fused rule, sample by sample and class by class."""
    D, K = model.dictionary, model.dictionary.shape[1]
    P = np.linalg.inv(D.T @ D + ETA1 * np.eye(K)) @ D.T
    found = np.empty(X.shape[1], dtype=int)
    for i in range(X.shape[1]):
        x = X[:, i]
        z = P @ x
        svm = model.weights.T @ z + model.bias
        costs = np.empty(len(svm))
        for c in range(len(svm)):
            own = slice(c * PER_CLASS, (c + 1) * PER_CLASS)
            costs[c] = np.linalg.norm(x - D[:, own] @ z[own]) / np.linalg.norm(z[own]) - ETA2 * svm[c]
        found[i] = costs.argmin()
    return found
