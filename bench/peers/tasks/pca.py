"""Principal directions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from atomlearn import kit
from scipy.linalg import eigh
from sklearn.decomposition import PCA

from ..data import problem, scenes
from ..timing import Answers, Contestant, Row, Verdict


def rows(quick: bool, threads: int) -> Iterator[Row]:
    data = problem(quick)
    yield row(
        f"PCA, {data.name}", data.raw_train, data.n_components, threads, ("full", "covariance_eigh", "randomized")
    )
    if not quick:
        yield row("PCA, Scene15", scenes(), 300, threads, ("full", "covariance_eigh", "randomized"))


def row(name: str, X: np.ndarray, r: int, threads: int, solvers: tuple[str, ...]) -> Row:
    n, m = X.shape
    small, large = min(n, m), max(n, m)

    def peer(solver: str) -> np.ndarray:
        return PCA(r, svd_solver=solver, random_state=0).fit(X).components_

    return Row(
        f"{name}, {n} x {m}, {r} directions",
        [Contestant("atomlearn", lambda: kit.pca(X, r, n_threads=threads).components, ours=True)]
        + [Contestant(f"scikit-learn, {s}", lambda s=s: peer(s)) for s in solvers]
        + [Contestant("SciPy, Gram", lambda: by_gram(X, r))],
        lambda answers: same_variance(answers, X),
        lambda answers: small**2 * large + 4 * small**3 / 3 + 2 * small**2 * r + (2 * n * m * r if m > n else 0),
        "s^2 l + 4s^3/3 (tridiagonal) + 2s^2r (vectors) + 2nmr if m > n; s, l the smaller and larger of n, m",
    )


def by_gram(X: np.ndarray, r: int) -> np.ndarray:
    """The leading eigenvectors of the smaller Gram matrix, no others."""
    centred = X - X.mean(axis=0)
    wide = X.shape[1] > X.shape[0]
    gram = centred @ centred.T if wide else centred.T @ centred
    vectors = eigh(gram, subset_by_index=(len(gram) - r, len(gram) - 1), check_finite=False, overwrite_a=True)[1]
    directions = (centred.T @ vectors if wide else vectors).T[::-1]
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def same_variance(answers: Answers, X: np.ndarray) -> dict[str, Verdict]:
    """Orthonormal directions that hold as much variance as those of the best; the rest is what they lose."""
    centred = X - X.mean(axis=0)
    held, straight = {}, {}
    for name, V in answers.items():
        held[name] = float(((centred @ V.T) ** 2).sum())
        straight[name] = bool(np.abs(V @ V.T - np.eye(len(V))).max() < 1e-6)
    most, whole = max(held.values()), float((centred**2).sum())
    return {
        name: Verdict(
            straight[name] and (most - held[name]) / whole < 1e-7, f"variance lost {(most - held[name]) / whole:.1g}"
        )
        for name in answers
    }
