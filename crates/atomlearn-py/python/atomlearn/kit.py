"""Building blocks of the methods, for use on their own: sparse codes, K-SVD, PCA, the graph of atoms, dense SIFT.

Samples and atoms are rows, as everywhere in Python. Results do not depend on ``n_threads``.

>>> import numpy as np
>>> from atomlearn import kit
>>> atoms = np.eye(3)
>>> kit.omp(np.array([[3.0, 0.0, -1.0]]), atoms, 1).toarray()
array([[3., 0., 0.]])
>>> kit.lasso(np.array([[3.0, 0.0, -1.0]]), atoms, 0.5).toarray()
array([[ 2.5,  0. , -0.5]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array

from . import _atomlearn
from ._threads import resolve

__all__ = ["DenseSift", "Pca", "atom_graph", "dense_sift", "ksvd", "lasso", "omp", "pca"]

Matrix = NDArray[np.float64]


class Pca(NamedTuple):
    """Principal directions: ``(X - mean) @ components.T`` are the coordinates."""

    mean: Matrix
    components: Matrix
    variances: Matrix


class DenseSift(NamedTuple):
    """SIFT descriptors of the patches of an image."""

    descriptors: Matrix
    centres: Matrix


def lasso(
    X: ArrayLike, D: ArrayLike, lam: float, *, tolerance: float = 1e-6, n_threads: Optional[int] = None
) -> csr_array:
    """Codes ``z`` that minimise ``1/2 |x - z D|^2 + lam |z|_1``, one row per sample.

    The duality gap of every sample is at most ``tolerance`` times ``1/2 |x|^2``.
    """
    X, D = _matrix(X, "X"), _matrix(D, "D")
    _positive(lam, "lam")
    _positive(tolerance, "tolerance")
    return csr_array(_atomlearn.lasso(X, D, lam, tolerance, resolve(n_threads)), shape=(len(X), len(D)))


def omp(X: ArrayLike, D: ArrayLike, sparsity: int, *, n_threads: Optional[int] = None) -> csr_array:
    """Codes by orthogonal matching pursuit with at most ``sparsity`` atoms, one row per sample."""
    X, D = _matrix(X, "X"), _matrix(D, "D")
    return csr_array(_atomlearn.omp(X, D, _count(sparsity, "sparsity"), resolve(n_threads)), shape=(len(X), len(D)))


def ksvd(
    X: ArrayLike,
    D: ArrayLike,
    sparsity: int,
    *,
    n_iter: int = 10,
    update: Literal["approximate", "exact"] = "approximate",
    n_threads: Optional[int] = None,
) -> tuple[Matrix, csr_array]:
    """Atoms of unit length and the codes that belong to them, after ``n_iter`` iterations of K-SVD from ``D``."""
    X, D = _matrix(X, "X"), _matrix(D, "D")
    if update not in ("approximate", "exact"):
        raise ValueError(f"update = {update!r}: must be 'approximate' or 'exact'")
    sparsity, n_iter = _count(sparsity, "sparsity"), _count(n_iter, "n_iter", least=0)
    atoms, codes = _atomlearn.ksvd(X, D, sparsity, n_iter, update == "exact", resolve(n_threads))
    return atoms, csr_array(codes, shape=(len(X), len(D)))


def pca(X: ArrayLike, n_components: int, *, n_threads: Optional[int] = None) -> Pca:
    """At most ``n_components`` principal directions, no more than there are; the largest entry of each is positive."""
    return Pca(*_atomlearn.pca(_matrix(X, "X"), _count(n_components, "n_components"), resolve(n_threads)))


def atom_graph(D: ArrayLike, k: int = 1, *, n_threads: Optional[int] = None) -> csr_array:
    """The graph that joins every atom to its ``k`` nearest, symmetric, with weights ``exp(-distance^2 / (2 t^2))``.

    ``t`` is the mean distance of all pairs, those of an atom with itself included.
    """
    D = _matrix(D, "D")
    i, j, weights = _atomlearn.atom_graph(D, _count(k, "k"), resolve(n_threads))
    both = np.concatenate([i, j]), np.concatenate([j, i])
    return coo_array((np.concatenate([weights, weights]), both), shape=(len(D), len(D))).tocsr()


def dense_sift(image: ArrayLike, step: int = 8, patches: Sequence[int] = (16, 24, 32)) -> DenseSift:
    """SIFT descriptors (128 numbers) of square patches every ``step`` pixels, for every side of ``patches`` that fits.

    ``image`` is a grey image of whole numbers from 0 to 255. ``centres`` are the rows and columns of the patches'
    middles in pixels. These are the descriptors behind the features ``sift-pyramid`` and ``fisher``.
    """
    pixels = np.asarray(image)
    if pixels.ndim != 2 or 0 in pixels.shape or pixels.dtype != np.uint8:
        raise ValueError(f"image has shape {pixels.shape} and type {pixels.dtype}: give a grey image of type uint8")
    sides = [_count(side, "patches") for side in patches]
    return DenseSift(*_atomlearn.dense_sift(np.ascontiguousarray(pixels), _count(step, "step"), sides))


def _matrix(values: ArrayLike, name: str) -> Matrix:
    matrix = np.ascontiguousarray(values, dtype=np.float64)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"{name} has the shape {matrix.shape}: it must be a matrix with at least one row and column")
    if not np.isfinite(matrix.sum()) and not np.isfinite(matrix).all():
        raise ValueError(f"{name} holds values that are not finite: remove or replace them")
    return matrix


def _positive(value: float, name: str) -> None:
    if not 0.0 < value < np.inf:
        raise ValueError(f"{name} = {value}: must be positive and finite")


def _count(value: int, name: str, least: int = 1) -> int:
    if isinstance(value, bool) or value != int(value) or value < least:
        raise ValueError(f"{name} = {value}: must be a whole number >= {least}")
    return int(value)
