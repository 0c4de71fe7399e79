"""Sparse codes over the training samples as atoms, as SRC needs them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from atomlearn import kit
from scipy.sparse import issparse
from sklearn.decomposition import sparse_encode
from sklearn.linear_model import Lasso, orthogonal_mp_gram

from ..data import problem
from ..optional import peer
from ..timing import Answers, Contestant, Row, Verdict, close

spams, dictlearn = peer("spams"), peer("dictlearn")

LAMBDAS = (1e-3, 1e-2, 1e-1)
# scikit-learn is slow enough that a few samples tell.
FEW = 40


def lasso_rows(quick: bool, threads: int) -> Iterator[Row]:
    data = problem(quick)
    D, X = data.train, data.test
    K, m, n = len(D), D.shape[1], len(X)
    columns, atoms, few = np.asfortranarray(X.T), np.asfortranarray(D.T), X[:FEW]

    def coordinate_descent(lam: float) -> np.ndarray:
        model = Lasso(alpha=lam / m, fit_intercept=False, precompute=D @ D.T, max_iter=20000, tol=1e-6)
        return model.fit(D.T, few.T).coef_

    def least_angles(lam: float) -> np.ndarray:
        return sparse_encode(few, D, algorithm="lasso_lars", alpha=lam, max_iter=5000, n_jobs=1)

    for lam in LAMBDAS:
        yield Row(
            f"lasso codes, lambda {lam:g}, {n} samples over {K} atoms",
            [
                Contestant("atomlearn", lambda lam=lam: kit.lasso(X, D, lam, n_threads=threads), ours=True),
                Contestant(
                    "atomlearn, tolerance 1e-10",
                    lambda lam=lam: kit.lasso(X, D, lam, tolerance=1e-10, n_threads=threads),
                    ours=True,
                    aside=True,
                ),
                Contestant(
                    "SPAMS", lambda lam=lam: spams.lasso(columns, D=atoms, lambda1=lam, mode=2, numThreads=threads).T
                ),
                Contestant(
                    "scikit-learn, Lasso",
                    lambda lam=lam: coordinate_descent(lam),
                    part=FEW / n,
                    note=f"{FEW} samples run",
                ),
                Contestant(
                    "scikit-learn, lasso_lars",
                    lambda lam=lam: least_angles(lam),
                    part=FEW / n,
                    note=f"{FEW} samples run",
                ),
            ],
            lambda answers, lam=lam: small_objectives(answers, X, D, lam),
            lambda answers: m * K**2 + 2 * m * K * n + pursuit_flops(answers["atomlearn"], K),
            "mK^2 + 2mKn + sum_i (K s_i^2 + s_i^3/3), s_i the non-zeros of sample i",
        )


def omp_rows(quick: bool, threads: int) -> Iterator[Row]:
    data = problem(quick)
    D, X = data.train, data.test
    K, m, n = len(D), D.shape[1], len(X)
    columns, atoms, few = np.asfortranarray(X.T), np.asfortranarray(D.T), X[:FEW]
    for T in data.sparsities:
        yield Row(
            f"OMP codes, T = {T}, {n} samples over {K} atoms",
            [
                Contestant("atomlearn", lambda T=T: kit.omp(X, D, T, n_threads=threads), ours=True),
                Contestant(
                    "SPAMS",
                    lambda T=T: spams.omp(columns, atoms, L=T, numThreads=threads).T,
                    note="order-recursive pursuit: another choice of atoms",
                ),
                Contestant(
                    "dictlearn (numba)",
                    lambda T=T: dictlearn.sparse_encode(X, D, algorithm="omp", n_nonzero_coefs=T),
                    warms_up=True,
                ),
                Contestant(
                    "scikit-learn",
                    lambda T=T: orthogonal_mp_gram(D @ D.T, D @ few.T, n_nonzero_coefs=T).T,
                    part=FEW / n,
                    note=f"{FEW} samples run",
                ),
            ],
            lambda answers: small_residuals(answers, X, D),
            lambda answers, T=T: m * K**2 + 2 * m * K * n + n * (K * T**2 + T**3 / 3),
            "mK^2 + 2mKn + n(KT^2 + T^3/3)",
        )


def dense(codes: object) -> np.ndarray:
    return np.asarray(codes.todense()) if issparse(codes) else np.asarray(codes)


def pursuit_flops(codes: object, K: int) -> float:
    support = np.count_nonzero(dense(codes), axis=1).astype(float)
    return float((K * support**2 + support**3 / 3).sum())


def small_objectives(answers: Answers, X: np.ndarray, D: np.ndarray, lam: float) -> dict[str, Verdict]:
    """Objectives above the best of all, the mean over samples, in units of 1/2 |x|^2."""
    values = {}
    for name, codes in answers.items():
        Z = dense(codes)
        x = X[: len(Z)]
        values[name] = 0.5 * ((x - Z @ D) ** 2).sum(axis=1) + lam * np.abs(Z).sum(axis=1)
    best = np.min([np.concatenate([v, np.full(len(X) - len(v), np.inf)]) for v in values.values()], axis=0)
    excess = {
        name: float(((v - best[: len(v)]) / (0.5 * (X[: len(v)] ** 2).sum(axis=1))).mean())
        for name, v in values.items()
    }
    return close(excess, 1e-5, "objective above the best by")


def small_residuals(answers: Answers, X: np.ndarray, D: np.ndarray) -> dict[str, Verdict]:
    """Mean squared residuals against ours on the same samples, which nobody may exceed by more than broken ties do."""
    squared = {}
    for name, codes in answers.items():
        Z = dense(codes)
        squared[name] = ((X[: len(Z)] - Z @ D) ** 2).sum(axis=1)
    ours = squared["atomlearn"]
    return close(
        {k: float(v.mean() / ours[: len(v)].mean() - 1) for k, v in squared.items()}, 1e-3, "residual above ours by"
    )
