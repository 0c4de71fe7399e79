"""Samples that come in batches, and estimators whose models learn from one after another."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from . import _atomlearn, _labels
from ._base import CodingClassifier, DictionaryClassifier, _aligned
from ._sparse import PLAIN

Self = TypeVar("Self", bound="IncrementalClassifier")


def check_prep(estimator: DictionaryClassifier) -> None:
    """Refuses preprocessing that a first batch would have to be enough for."""
    if estimator.prep not in PLAIN:
        raise AttributeError(
            f"{type(estimator).__name__} has no partial_fit with prep={estimator.prep!r}: the preprocessing would have "
            "to be fitted on samples that are still to come; use 'unit' or 'none', or a transformer that has learned "
            "already"
        )


def classes_of_batches(y: np.ndarray, classes: Any, known: np.ndarray | None) -> np.ndarray:
    """All classes there are: those of earlier batches, if there are ``known`` ones, else those given with the first."""
    check_classification_targets(y)
    if classes is None and known is None:
        raise ValueError("classes must be passed on the first call to partial_fit.")
    every = np.unique(known if classes is None else classes)
    if known is not None and not np.array_equal(every, known):
        raise ValueError(f"classes = {classes!r} are not those of the first call to partial_fit: {known}")
    strangers = np.setdiff1d(y, every)
    if len(strangers) > 0:
        raise ValueError(f"y has classes that `classes` does not have: {strangers.tolist()}")
    return every


def notes_of_batches(estimator: DictionaryClassifier, classes: np.ndarray) -> str:
    """What travels with a model that began with a batch."""
    notes: dict[str, Any] = {"class_kind": _labels.kind_of(classes)}
    if hasattr(estimator, "feature_names_in_"):
        notes["feature_names"] = estimator.feature_names_in_.tolist()
    return json.dumps({"python": notes})


def _knows_prep(estimator: IncrementalClassifier) -> bool:
    if not hasattr(estimator, "model_"):
        check_prep(estimator)
    return True


class IncrementalClassifier(CodingClassifier):
    """Base of the estimators whose models take in further batches; not to be used itself."""

    @available_if(_knows_prep)
    def partial_fit(self: Self, X, y, classes=None) -> Self:
        """Learn from one more batch of samples; earlier ones are not needed again.

        After `fit`, and on a loaded model, it goes on from there; then the preprocessing is the one that `fit` has
        learned. Probabilities of ``probability=True`` need `fit`, since they belong to the model before.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in rows.
        y : array-like of shape (n_samples,)
            Their classes; a batch need not have all of them.
        classes : array-like of shape (n_classes,), default=None
            All classes that will ever come; needed with the first batch of an estimator that is not fitted, and may be
            left out later.

        Returns
        -------
        self : object
            The estimator after the batch.
        """
        first = not hasattr(self, "model_")
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", reset=first)
        known = classes_of_batches(y, classes, None if first else self.classes_)
        names = _labels.names_of(known)
        labels = [names[place] for place in np.searchsorted(known, y)]
        model = self._begun(X.shape[1], known, names) if first else self.model_
        model = model.learn_more(_aligned(X), labels, self._threads())
        batches = 0 if first else self.n_iter_
        state = {"model_": model, "classes_": known, "_inverse_temperature": None, "fit_seconds_": np.nan}
        self._take({**state, **self._fitted_extras(model)}, [])
        self.n_iter_ = batches + 1
        return self

    def _begun(self, n_features: int, classes: np.ndarray, names: list[str]):
        """A model that has seen no sample."""
        params = json.dumps(self._method_params())
        notes = notes_of_batches(self, classes)
        return _atomlearn.begin(self._method_key(), params, self.prep, n_features, names, notes)
