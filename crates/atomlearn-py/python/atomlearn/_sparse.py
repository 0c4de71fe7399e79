"""Sparse samples for methods that see nothing of samples but their inner products."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from ._base import DictionaryClassifier

# Preprocessing that looks at one sample at a time, and so needs no fit.
PLAIN = ("none", "unit")
# Eigenvalues of a Gram matrix below this part of the largest, times their number, are rounding.
_ROUNDING = np.finfo(np.float64).eps


class SparseClassifier(DictionaryClassifier):
    """Base of estimators whose models hold samples; not to be used itself.

    Sparse training samples become coordinates in an orthonormal basis of their range. A new sample has these too, and
    one more: the length of what lies outside of the range. Inner products, lengths and distances are those of the
    samples themselves, so that the model is the same; only it is one of coordinates, and cannot leave for a file.
    """

    # The training samples and what makes coordinates of others, if they were sparse with more features than samples.
    _frame: tuple[Any, np.ndarray] | None = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.prep in PLAIN
        return tags

    def _training_samples(self, X, y, sample_weight):
        self._frame = None
        if not sparse.issparse(X):
            return super()._training_samples(X, y, sample_weight)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        return prepared(X, self.prep), y, self._checked_weights(X, y, sample_weight), {}

    def _learn(self, key: str, params: dict[str, Any], prep: str, X, *rest) -> tuple:
        if not sparse.issparse(X):
            return super()._learn(key, params, prep, X, *rest)
        params = self._sparse_params(params)
        n_samples, n_features = X.shape
        if n_features <= n_samples:
            # Prepared already, which doing it again does not change.
            return super()._learn(key, params, prep, X.toarray(), *rest)
        inside, back = coordinates(X)
        self._frame = (X, back)
        outside = np.zeros((n_samples, 1))
        return super()._learn(key, params, "none", np.hstack([inside, outside]), *rest)

    def _sparse_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters for sparse samples, where they differ."""
        return params

    def _samples(self, X):
        if not sparse.issparse(X) and self._frame is None:
            return super()._samples(X)
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        if self._frame is None:
            return X.toarray()
        known, back = self._frame
        X = prepared(sparse.csr_matrix(X), self.prep)
        inside = (X @ known.T).toarray() @ back
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() - np.sum(inside * inside, axis=1)
        return np.hstack([inside, np.sqrt(np.maximum(squares, 0.0))[:, np.newaxis]])

    def _scores(self, X) -> np.ndarray:
        # Calibration asks for scores of samples as the fit has them.
        return super()._scores(self._samples(X) if sparse.issparse(X) else X)

    def _check_whole(self) -> None:
        if self._frame is not None:
            raise ValueError(
                f"this {type(self).__name__} was fitted on sparse samples with more features than samples, so its "
                "model is one of coordinates; pickle the estimator, or fit on dense samples (X.toarray()) for files "
                "and explanations"
            )


def prepared(X, prep: str):
    """Samples after the two kinds of preprocessing that look at one sample at a time."""
    if prep not in PLAIN:
        raise ValueError(
            f"prep={prep!r} would make sparse samples dense: use 'unit' or 'none', or give dense samples (X.toarray())"
        )
    if prep == "none":
        return X
    if not sparse.issparse(X):
        lengths = np.linalg.norm(X, axis=1)
        return X / np.where(lengths > 0, lengths, 1.0)[:, np.newaxis]
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1.0 / np.where(lengths > 0, lengths, 1.0)) @ X)


def coordinates(X) -> tuple[np.ndarray, np.ndarray]:
    """Samples in an orthonormal basis ``X^T back`` of their range, of which the Gram matrix says all."""
    gram = (X @ X.T).toarray()
    squares, axes = linalg.eigh(gram)
    kept = squares > _ROUNDING * len(squares) * max(squares[-1], 0.0)
    if not kept.any():
        # All samples are zero.
        return np.zeros((X.shape[0], 1)), np.zeros((X.shape[0], 1))
    lengths, axes = np.sqrt(squares[kept]), axes[:, kept]
    return np.ascontiguousarray(axes * lengths), axes / lengths
