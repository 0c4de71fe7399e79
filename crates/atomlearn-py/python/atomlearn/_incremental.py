"""Estimators whose methods also learn batch by batch, without the earlier ones."""

from __future__ import annotations

import json
import warnings
from typing import TypeVar

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from . import _atomlearn, _labels
from ._base import CodingClassifier, FitWarning, _aligned

Self = TypeVar("Self", bound="IncrementalClassifier")


class IncrementalClassifier(CodingClassifier):
    """Base of the estimators with ``partial_fit``."""

    def partial_fit(self: Self, X, y, classes=None) -> Self:
        """Learn from another batch of samples; earlier ones are not needed again.

        Also after ``fit`` and on a loaded model, which both go on from where they are. The first batch fits the
        preprocessing, which stays: ask only for steps that need no fit, as the default, or make that batch a large one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in rows.
        y : array-like of shape (n_samples,)
            Their classes; a batch need not hold all of them.
        classes : array-like of shape (n_classes,), optional
            All classes there are. Needed in the first call, and may be left out later.

        Returns
        -------
        self : object
            The estimator after the batch.
        """
        first = not self.__sklearn_is_fitted__()
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", reset=first)
        X = _aligned(X)
        check_classification_targets(y)
        if first and classes is None:
            raise ValueError("classes must be given in the first call of partial_fit: later batches may hold new ones")
        known = np.unique(classes) if classes is not None else self.classes_
        if not first and not np.array_equal(known, self.classes_):
            raise ValueError(f"classes={known.tolist()} are not those of the first call, {self.classes_.tolist()}")
        strange = np.setdiff1d(y, known)
        if len(strange):
            raise ValueError(f"y holds {strange.tolist()}, which is not among classes={known.tolist()}")
        names = _labels.names_of(known)
        model = self._begin(X, known, names) if first else self.model_
        labels = [names[place] for place in np.searchsorted(known, y)]
        model = model.learn_more(X, labels, self._threads())
        if first:
            self._take({"classes_": known, "_inverse_temperature": None, **self._fitted_extras(model)}, [])
            self.fit_seconds_ = np.nan
        # What was calibrated belongs to the model before.
        self._inverse_temperature = None
        self.model_ = model
        self.n_iter_ += 1
        return self

    def _begin(self, X: np.ndarray, classes: np.ndarray, names: list[str]):
        notes = {"class_kind": _labels.kind_of(classes), "n_samples": len(X)}
        if hasattr(self, "feature_names_in_"):
            notes["feature_names"] = self.feature_names_in_.tolist()
        model, said = _atomlearn.begin(
            self._method_key(),
            json.dumps(self._method_params()),
            self.prep,
            names,
            X,
            json.dumps({"python": notes}),
        )
        for warning in said:
            warnings.warn(warning, FitWarning, stacklevel=3)
        return model
