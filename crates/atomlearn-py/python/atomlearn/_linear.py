"""What methods with a linear rule can do besides: sparse samples, and samples that come in batches."""

from __future__ import annotations

import json
import warnings
from typing import TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _atomlearn, _labels
from ._base import FitWarning, WeightedClassifier
from ._incremental import check_prep, classes_of_batches, notes_of_batches
from ._sparse import PLAIN, coordinates, prepared
from ._weights import checked

Self = TypeVar("Self", bound="LinearClassifier")

# Entries of sparse samples that are made dense together for a prediction.
_DENSE = 1 << 22


def _learns_from_sums(estimator: LinearClassifier) -> bool:
    name = type(estimator).__name__
    if not estimator._from_sums:
        raise AttributeError(f"{name} has no partial_fit: it needs all samples at once")
    check_prep(estimator)
    if getattr(estimator, "shrinkage", None) == "ledoit-wolf":
        raise AttributeError(
            f"{name} has no partial_fit with shrinkage='ledoit-wolf', which needs the samples: give a number"
        )
    return True


class LinearClassifier(WeightedClassifier):
    """Base of the estimators whose rule is linear; not to be used itself."""

    # What kind of sparse samples the method takes.
    _sparse: str | bool = False
    # True if sums over the samples are all that the method needs.
    _from_sums = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(self._sparse) and self.prep in PLAIN
        return tags

    def _training_samples(self, X, y, sample_weight):
        self._sums = None
        X, y = validate_data(self, X, y, accept_sparse=self._sparse, dtype=np.float64, order="C")
        weights = checked(sample_weight, self.class_weight, X, y)
        return (prepared(X, self.prep) if sparse.issparse(X) else X), y, weights, {}

    def _learn(self, key: str, params: dict, prep: str, X, *rest) -> tuple:
        """As for dense samples, from coordinates in the range of sparse ones.

        Methods that see nothing but inner products find the same rule in any orthonormal basis. That of the samples is
        never larger than their number, and what is learned there goes back to the features as one sparse product.
        """
        if not sparse.issparse(X):
            return super()._learn(key, params, prep, X, *rest)
        n_samples, n_features = X.shape
        if n_features <= n_samples:
            model, *others = super()._learn(key, params, "none", X.toarray(), *rest)
            lifted = model.parts()
        else:
            inside, back = coordinates(X)
            model, *others = super()._learn(key, params, "none", inside, *rest)
            lifted = {name: _lifted(key, name, part, back, X) for name, part in model.parts().items()}
        arguments = (key, model.params, prep, n_features, model.classes, lifted, model.info)
        return (_atomlearn.restore(*arguments), *others)

    def _samples(self, X):
        if not sparse.issparse(X):
            return super()._samples(X)
        check_is_fitted(self)
        return validate_data(
            self, X, accept_sparse=self._sparse, dtype=np.float64, ensure_all_finite=False, reset=False
        )

    def _in_parts(self, work, X):
        if not sparse.issparse(X):
            return super()._in_parts(work, X)
        # Rows are independent of each other; parts are small enough for Ctrl-C and for memory.
        size = max(1, _DENSE // max(1, X.shape[1]))
        threads = self._threads()
        starts = range(0, X.shape[0], size)
        return np.concatenate([work(X[start : start + size].toarray(), threads) for start in starts])

    @available_if(_learns_from_sums)
    def partial_fit(self: Self, X, y, classes=None, sample_weight=None) -> Self:
        """Learn from one more batch of samples; what was learned from earlier batches counts as before.

        The same as `fit` on all batches at once, for parameters that are given. Those that `fit` would choose by
        leave-one-out take documented values (`lam` 0.001, `shrinkage` 0.1), since samples do not stay. `fit` forgets
        all batches, and the first batch after it forgets what `fit` has learned, with a warning.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples in rows.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like of shape (n_classes,), default=None
            All classes that will ever come; needed with the first batch of an estimator that is not fitted, and may be
            left out later. Predictions need a sample of every one.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : object
            The estimator, fitted once every class has had a sample.
        """
        first = getattr(self, "_sums", None) is None
        if isinstance(self.class_weight, str):
            raise ValueError("partial_fit cannot balance classes before all samples have come: give weights as a dict")
        X, y = validate_data(self, X, y, accept_sparse=self._sparse, dtype=np.float64, order="C", reset=first)
        forgets = first and classes is None and hasattr(self, "model_")
        self.classes_ = classes_of_batches(y, classes, self.classes_ if forgets or not first else None)
        if forgets:
            warnings.warn(
                "partial_fit begins with this batch: what `fit` or a file has learned is not part of the sums",
                FitWarning,
                stacklevel=2,
            )
        if first and hasattr(self, "model_"):
            del self.model_
        # Weights of classes that are not in this batch have their time later.
        known = self.class_weight
        if known is not None:
            known = {name: weight for name, weight in known.items() if name in set(y.tolist())}
        weights = checked(sample_weight, known, X, y)
        if first:
            self._sums = _Sums(len(self.classes_), X.shape[1])
        self._sums.add(prepared(X, self.prep), np.searchsorted(self.classes_, y), weights)
        if (self._sums.counts > 0).all():
            self._model_of_sums()
        return self

    def _model_of_sums(self) -> None:
        # The core has classes in an order of its own, which is that of their values or of their names.
        names = _labels.names_of(self.classes_)
        sums = self._sums
        model, said = _atomlearn.fit_sums(
            self._method_key(),
            json.dumps(self._method_params()),
            self.prep,
            names,
            sums.counts.tolist(),
            sums.means,
            sums.within,
            notes_of_batches(self, self.classes_),
            self._threads(),
        )
        for warning in said:
            warnings.warn(warning, FitWarning, stacklevel=3)
        state = {"model_": model, "classes_": self.classes_, "_inverse_temperature": None}
        self._take({**state, **self._fitted_extras(model)}, [])


class _Sums:
    """Number (or weight) and mean of the samples of every class, and their scatter about these means."""

    def __init__(self, n_classes: int, n_features: int) -> None:
        self.counts = np.zeros(n_classes)
        self.means = np.zeros((n_classes, n_features))
        self.within = np.zeros((n_features, n_features))

    def add(self, X, targets: np.ndarray, weights: np.ndarray | None) -> None:
        """One more batch: two sets of sums make those of both together (Chan, Golub, LeVeque 1979)."""
        weights = np.ones(len(targets)) if weights is None else weights
        for c in np.unique(targets[weights > 0]):
            chosen = (targets == c) & (weights > 0)
            x, w = X[chosen], weights[chosen]
            count = w.sum()
            mean = np.asarray(x.T @ w).ravel() / count
            if sparse.issparse(x):
                scatter = (x.T @ x.multiply(w[:, np.newaxis])).toarray() - count * np.outer(mean, mean)
            else:
                apart = np.sqrt(w)[:, np.newaxis] * (x - mean)
                scatter = apart.T @ apart
            total = self.counts[c] + count
            between = mean - self.means[c]
            self.within += scatter + self.counts[c] * count / total * np.outer(between, between)
            self.means[c] += count / total * between
            self.counts[c] = total


def _lifted(key: str, name: str, part: np.ndarray, back: np.ndarray, X) -> np.ndarray:
    """Weights for coordinates as weights for features; the bias stays."""
    if name.endswith("bias"):
        return part
    # Only the weights of ridge regression have the features in rows.
    rows = part if key == "ridge" else part.T
    weights = np.asarray(X.T @ (back @ rows))
    return np.ascontiguousarray(weights if key == "ridge" else weights.T)
