"""What the self-tuning estimator has beyond the others: its leave-one-out estimate, probabilities and groups."""

from __future__ import annotations

import json
import warnings
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from ._base import FitWarning
from ._sparse import SparseClassifier
from ._weights import medians

Self = TypeVar("Self", bound="SelfTuningClassifier")


class SelfTuningClassifier(SparseClassifier):
    """Base of `AutoClassifier`; not to be used itself."""

    def fit(self: Self, X, y, groups=None, sample_weight=None) -> Self:
        """Learn from labelled samples; everything is tuned by exact leave-one-out.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples in rows. A C-ordered float64 array is read without a copy of its own. Missing values (NaN) are
            replaced by the median of their feature, here and in new samples. Sparse samples have no standardised view.
        y : array-like of shape (n_samples,)
            Their classes: numbers or texts.
        groups : array-like of shape (n_samples,), default=None
            Which samples belong together, such as several of one person: a group is left out as a whole, so that the
            estimates are those for samples of new groups. For at most 4000 samples.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights: two stands for a sample twice, zero for its absence. A sample is left out with all of its
            weight, and the estimates are weighted.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        numbers = None
        if groups is not None:
            groups = column_or_1d(groups)
            check_consistent_length(X, groups)
            numbers = np.unique(groups, return_inverse=True)[1].tolist()
        for warning in self._fit(X, y, numbers, sample_weight):
            warnings.warn(warning, FitWarning, stacklevel=2)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _training_samples(self, X, y, sample_weight):
        self._fill = None
        if sparse.issparse(X):
            return super()._training_samples(X, y, sample_weight)
        self._frame = None
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_all_finite="allow-nan")
        weights = self._checked_weights(X, y, sample_weight)
        missing = np.isnan(X)
        counts = slice(None) if weights is None else weights > 0
        empty = np.flatnonzero(missing[counts].all(axis=0))
        if len(empty) > 0:
            shown = ", ".join(str(i) for i in empty[:10]) + (", ..." if len(empty) > 10 else "")
            raise ValueError(f"features without any value: {shown} (counted from 0); leave them out")
        fill = medians(X, weights)
        self._fill = fill
        return np.where(missing, fill, X) if missing.any() else X, y, weights, {"fill": fill.tolist()}

    def _sparse_params(self, params: dict[str, Any]) -> dict[str, Any]:
        # Standardised samples would not be sparse.
        if params["views"] in ("both", "standard"):
            raise ValueError(
                f"views={params['views']!r} would make sparse samples dense: use 'unit', 'given' or 'auto'"
            )
        usual = "unit" if self.prep == "none" else "given"
        return {**params, "views": usual if params["views"] in (None, "auto") else params["views"]}

    def _filled(self, X: np.ndarray) -> np.ndarray:
        # Models of the command line fill tables only; what is missing elsewhere stays, and is refused with its place.
        if self._fill is None or not np.isnan(X).any():
            return X
        return np.where(np.isnan(X), self._fill, X)

    def _restore(self, model) -> None:
        super()._restore(model)
        fill = json.loads(model.info).get("python", {}).get("fill")
        self._fill = None if fill is None else np.array(fill, dtype=np.float64)

    def predict_proba(self, X) -> np.ndarray:
        """Class probabilities, calibrated by leave-one-out in the fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Rows add up to one; the largest entry is that of the predicted class.
        """
        X = self._samples(X)
        return self._in_parts(self.model_.probabilities, X)[:, self._class_order()]

    def predict_log_proba(self, X) -> np.ndarray:
        """Logarithms of the probabilities, also of those that are too small for a number of their own.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in rows.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            One column per class.
        """
        return self._scores(self._samples(X))

    def _report(self) -> dict[str, Any]:
        check_is_fitted(self)
        return json.loads(self.model_.auto_report())

    def _loo(self, name: str, unknown):
        """A value of the leave-one-out estimate; there is none if every class has a single sample."""
        loo = self._report()["loo"]
        return unknown if loo is None else loo[name]

    @property
    def loo_accuracy_(self) -> float:
        """Share of training samples whose class a fit without them (or their group) finds; nan if no class has two."""
        return self._loo("accuracy", np.nan)

    @property
    def loo_ci_(self) -> tuple[float, float]:
        """Wilson's 95 % interval of ``loo_accuracy_``."""
        low, high = self._loo("ci95", (np.nan, np.nan))
        return low, high

    @property
    def loo_log_loss_(self) -> float:
        """Mean of minus the logarithm of the leave-one-out probability of the right class."""
        return self._loo("log_loss", np.nan)

    @property
    def loo_majority_(self) -> float:
        """Share of the largest class, which always naming it would get right."""
        return self._loo("majority", np.nan)

    @property
    def loo_confusion_(self) -> np.ndarray:
        """Number of training samples of each class (row) that were taken for each class (column)."""
        check_is_fitted(self)
        order = self._class_order()
        counts = self._loo("confusion", np.zeros((len(order), len(order))))
        return np.asarray(counts, dtype=int)[np.ix_(order, order)]

    @property
    def loo_predict_proba_(self) -> np.ndarray:
        """Probabilities of every training sample by a fit without it, (n_samples, n_classes).

        With more than 4000 samples only some of them are left out in turn; the rows of all others are nan.
        """
        check_is_fitted(self)
        found, places = self.model_.left_out()
        proba = np.full((self._n_samples(places), found.shape[1]), np.nan)
        proba[places] = found[:, self._class_order()]
        return proba

    @property
    def suspicious_labels_(self) -> np.ndarray:
        """Training samples whose label leave-one-out disagrees with, the least probable label first.

        A structured array with the fields ``sample`` (row of the training data, from 0), ``label`` (as it is),
        ``proba`` (of that label) and ``suggested`` (the most probable label); ``pandas.DataFrame`` takes it as it is.
        """
        check_is_fitted(self)
        of_name = dict(zip(self.model_.classes, self.classes_[np.argsort(self._class_order())]))
        found = [
            (sample, of_name[label], proba, of_name[suggested])
            for sample, label, proba, suggested in self.model_.suspicious()
            if label != suggested
        ]
        kind = self.classes_.dtype
        return np.array(found, dtype=[("sample", np.int64), ("label", kind), ("proba", float), ("suggested", kind)])

    @property
    def chosen_(self) -> list[dict[str, Any]]:
        """The fused readings, each with ``reading``, ``view``, ``kernel``, ``gamma``, ``kappa`` and ``weight``."""
        return self._report()["chosen"]

    def _n_samples(self, places: list[int]) -> int:
        """Training samples, as the model's notes have them."""
        info = json.loads(self.model_.info)
        known = info.get("python", {}).get("n_samples") or info.get("data", {}).get("samples")
        return max(known or 0, max(places, default=-1) + 1)
