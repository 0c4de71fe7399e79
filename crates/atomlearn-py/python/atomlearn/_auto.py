"""What the self-tuning estimator has beyond the others: its leave-one-out estimate, probabilities and groups."""

from __future__ import annotations

import json
import warnings
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from ._base import DictionaryClassifier, FitWarning

Self = TypeVar("Self", bound="SelfTuningClassifier")


def _are_blocks(views: Any) -> bool:
    """Whether the parameter ``views`` is a list or dict of columns and not one of the words."""
    return isinstance(views, (list, tuple, dict))


def _without_views(estimator: SelfTuningClassifier) -> dict[str, Any]:
    """Parameters of an estimator but for its views."""
    plain = type(estimator)(**{**estimator.get_params(deep=False), "views": "auto"})
    return DictionaryClassifier._method_params(plain)


def _view_name(name: Any) -> str:
    return f"view{name}" if isinstance(name, int) else str(name)


def _columns(block: Any, n_features: int, names: Any) -> str:
    """Columns of a view, counted from 1, from a slice, places or names."""
    if isinstance(block, slice):
        places = np.arange(n_features)[block]
    else:
        wanted = list(block)
        if any(isinstance(column, str) for column in wanted):
            known = {} if names is None else {name: place for place, name in enumerate(names)}
            missing = [column for column in wanted if column not in known]
            if missing:
                raise ValueError(f"views name columns that X does not have: {missing}")
            wanted = [known[column] for column in wanted]
        places = np.arange(n_features)[np.asarray(wanted, dtype=int)]
    if len(places) == 0:
        raise ValueError("a view has no column")
    breaks = np.flatnonzero(np.diff(places) != 1) + 1
    return "+".join(f"{run[0] + 1}-{run[-1] + 1}" for run in np.split(places, breaks))


class SelfTuningClassifier(DictionaryClassifier):
    """Base of `AutoClassifier`; not to be used itself."""

    def fit(self: Self, X, y, groups=None) -> Self:
        """Learn from labelled samples; everything is tuned by exact leave-one-out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in rows. A C-ordered float64 array is read without a copy of its own. Missing values (NaN) are
            replaced by the median of their feature, here and in new samples.
        y : array-like of shape (n_samples,)
            Their classes: numbers or texts.
        groups : array-like of shape (n_samples,), default=None
            Which samples belong together, such as several of one person: a group is left out as a whole, so that the
            estimates are those for samples of new groups. For at most 4000 samples.

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
        for warning in self._fit(X, y, numbers):
            warnings.warn(warning, FitWarning, stacklevel=2)
        return self

    def _method_params(self) -> dict[str, Any]:
        if not _are_blocks(self.views):
            return super()._method_params()
        return {**_without_views(self), "views": "auto"}

    def _prep_text(self, n_features: int) -> str:
        if not _are_blocks(self.views):
            return self.prep
        names = getattr(self, "feature_names_in_", None)
        blocks = self.views.items() if isinstance(self.views, dict) else enumerate(self.views, start=1)
        views = (f"{_view_name(name)}@{_columns(block, n_features, names)}={self.prep}" for name, block in blocks)
        return f"views({'|'.join(views)})"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _training_samples(self, X, y) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_all_finite="allow-nan")
        missing = np.isnan(X)
        empty = np.flatnonzero(missing.all(axis=0))
        if len(empty) > 0:
            shown = ", ".join(str(i) for i in empty[:10]) + (", ..." if len(empty) > 10 else "")
            raise ValueError(f"features without any value: {shown} (counted from 0); leave them out")
        fill = np.nanmedian(X, axis=0) if missing.any() else np.median(X, axis=0)
        self._fill = fill
        return np.where(missing, fill, X) if missing.any() else X, y, {"fill": fill.tolist()}

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
