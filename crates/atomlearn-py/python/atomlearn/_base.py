"""What all estimators share: validation, labels, threads, probabilities, files. The methods are in the core."""

from __future__ import annotations

import json
import os
import time
import warnings
from typing import Any, Callable, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _atomlearn, _calibration, _labels, _tables, _threads
from ._explain import Explanation, explain
from ._progress import CallbackSupportMixin, FitWatch, Step, with_callbacks

# Names that Python or scikit-learn want otherwise than the papers.
PYTHON_NAMES = {"lambda": "lam", "seed": "random_state"}


# Samples that the core works on at a time, and seconds after which Ctrl-C should be heard.
_BLOCK = 512
_SHORT = 0.1

Self = TypeVar("Self", bound="DictionaryClassifier")


class FitWarning(UserWarning):
    """Something was done in a fit that the user did not ask for."""


def _wants_probability(estimator: DictionaryClassifier) -> bool:
    if not estimator.probability:
        raise AttributeError(f"{type(estimator).__name__} has predict_proba only if it is made with probability=True")
    return True


class DictionaryClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base of all estimators; not to be used itself."""

    # Parameters of every registry method that the class stands for, by their names in the core.
    _methods: ClassVar[dict[str, tuple[str, ...]]]
    # Purely residual rules are poor at the two-dimensional toy problems of scikit-learn's checks, see the generator.
    _poor_score: ClassVar[bool] = False

    def _method_key(self) -> str:
        keys = list(self._methods)
        if len(keys) == 1:
            return keys[0]
        if self.variant not in range(1, len(keys) + 1):
            raise ValueError(f"parameter `variant` = {self.variant}: must be one of 1 to {len(keys)}")
        return keys[self.variant - 1]

    def _method_params(self) -> dict[str, Any]:
        """The method's own parameters by their names in the core."""
        params = {}
        for name in self._methods[self._method_key()]:
            value = getattr(self, PYTHON_NAMES.get(name, name))
            if name == "seed" and not isinstance(value, (int, np.integer)):
                value = check_random_state(value).randint(2**31)
            if isinstance(value, np.generic):
                value = value.item()
            if isinstance(value, float) and not np.isfinite(value):
                raise ValueError(f"parameter `{name}` = {value}: must be finite")
            params[name] = value
        return params

    def _prep_text(self, n_features: int) -> str:
        """Preprocessing, as the core reads it."""
        return self.prep

    def _threads(self) -> int:
        return _threads.resolve(self.n_threads)

    def fit(self: Self, X, y) -> Self:
        """Learn from labelled samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in rows. A C-ordered float64 array is read without a copy of its own.
        y : array-like of shape (n_samples,)
            Their classes: numbers or texts.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        for warning in self._fit(X, y):
            warnings.warn(warning, FitWarning, stacklevel=2)
        return self

    @with_callbacks
    def _fit(self, X, y, groups: list[int] | None = None) -> list[str]:
        """Fits; returns what there is to warn about."""
        X, y, notes = self._training_samples(X, y)
        X = _aligned(X)
        check_classification_targets(y)
        classes, targets = np.unique(y, return_inverse=True)
        names = _labels.names_of(classes)
        key, params, threads = self._method_key(), self._method_params(), self._threads()
        notes.update({"class_kind": _labels.kind_of(classes), "n_samples": len(X)})
        if hasattr(self, "feature_names_in_"):
            notes["feature_names"] = self.feature_names_in_.tolist()
        if getattr(self, "probability", False):
            notes["inverse_temperature"] = _calibration.inverse_temperature(self, X, y, self.calibration_cv)

        def fitted(model) -> dict[str, Any]:
            state = {"model_": model, "classes_": classes, "_inverse_temperature": notes.get("inverse_temperature")}
            return {**state, **self._fitted_extras(model)}

        watch = FitWatch(self, X, y, fitted)
        try:
            model, trace, said, self.fit_seconds_ = _atomlearn.fit(
                key,
                json.dumps(params),
                self._prep_text(X.shape[1]),
                X,
                [names[target] for target in targets],
                json.dumps({"python": notes}),
                threads,
                watch.listener(),
                groups,
            )
        finally:
            watch.close()
        self._take(fitted(model), [Step.from_dict(step) for step in json.loads(trace)])
        watch.end(model)
        return said

    def _training_samples(self, X, y) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """Valid samples and classes, and notes that travel with the model."""
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        return X, y, {}

    def _take(self, state: dict[str, Any], history: list[Step]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self.history_ = history
        self.n_iter_ = history[-1].iter if history else 0
        objectives = [np.nan if step.objective is None else step.objective for step in history if step.iter > 0]
        self.objective_ = np.array(objectives)

    def _fitted_extras(self, model) -> dict[str, Any]:
        """Attributes that only some estimators have."""
        return {}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._poor_score
        return tags

    def _samples(self, X) -> np.ndarray:
        check_is_fitted(self)
        encoded = _tables.encoded(self.model_, X)
        if encoded is not None:
            return encoded
        # The core refuses what is not finite, and says where it is.
        X = validate_data(self, X, dtype=np.float64, order="C", ensure_all_finite=False, reset=False)
        return _aligned(self._filled(X))

    def _filled(self, X: np.ndarray) -> np.ndarray:
        """Samples with missing values filled, by estimators that can."""
        return X

    def _class_order(self) -> np.ndarray:
        """Place, among the model's classes, of every entry of ``classes_``."""
        places = {name: place for place, name in enumerate(self.model_.classes)}
        return np.array([places[name] for name in _labels.names_of(self.classes_)])

    def _scores(self, X: np.ndarray) -> np.ndarray:
        """Scores of valid samples, one column per entry of ``classes_``."""
        return self._in_parts(self.model_.scores, X)[:, self._class_order()]

    def _in_parts(self, work: Callable[[np.ndarray, int], np.ndarray], X: np.ndarray) -> np.ndarray:
        """``work`` on all samples, in parts that are short enough for Ctrl-C to be heard between them.

        The core works in blocks of 512 samples; parts are made of whole blocks, so that no bit changes.
        """
        threads = self._threads()
        size = _BLOCK * threads
        if len(X) <= size:
            return work(X, threads)
        start, parts = 0, []
        while start < len(X):
            began = time.perf_counter()
            parts.append(work(X[start : start + size], threads))
            start += size
            if time.perf_counter() - began < _SHORT:
                size *= 2
        return np.concatenate(parts)

    def predict(self, X) -> np.ndarray:
        """Classes of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The class of every sample; of equal scores the first class wins.
        """
        X = self._samples(X)
        in_model_order = self.classes_[np.argsort(self._class_order())]
        return in_model_order[self._in_parts(self.model_.predict, X)]

    def decision_function(self, X) -> np.ndarray:
        """Scores of samples, larger is more likely.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            One column per class. With two classes, the score of ``classes_[1]`` minus that of ``classes_[0]``. Minus
            infinity says "never this class".
        """
        scores = self._scores(self._samples(X))
        if scores.shape[1] > 2:
            return scores
        same = scores[:, 0] == scores[:, 1]
        return np.where(same, 0.0, scores[:, 1] - np.where(same, 0.0, scores[:, 0]))

    @available_if(_wants_probability)
    def predict_proba(self, X) -> np.ndarray:
        """Calibrated class probabilities; only with ``probability=True``.

        One inverse temperature turns scores into probabilities. It is fitted on out-of-fold scores of the training
        samples, in ``calibration_cv`` folds, never on scores of samples that the scoring model has seen.

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
        if self._inverse_temperature is None:
            raise ValueError("this model was fitted without probability=True: fit it again")
        return _calibration.probabilities(self._scores(X), self._inverse_temperature)

    def explain(self, X, top: int = 5) -> Explanation | list[Explanation]:
        """Say why samples are classified as they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_features,)
            Samples in rows, or a single one.
        top : int, default=5
            How many atoms to list.

        Returns
        -------
        explanation : Explanation or list of Explanation
            One per row; for a single sample, just that one.
        """
        single = np.ndim(X) == 1
        if single:
            # A row of a pandas frame keeps its names.
            X = X.to_frame().T if hasattr(X, "to_frame") and hasattr(X, "index") else np.reshape(X, (1, -1))
        samples = self._samples(X)
        with warnings.catch_warnings():
            # The samples were checked with their names already.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            found = explain(self, samples, top)
        return found[0] if single else found

    def save(self, path: str | os.PathLike, *, force: bool = False) -> None:
        """Write the model file that the command line and ``atomlearn.load`` read.

        Parameters
        ----------
        path : str or path-like
            The file; it is replaced as a whole or not at all, and only if it is a model (or empty).
        force : bool, default=False
            Replace whatever is there.
        """
        check_is_fitted(self)
        self.model_.save(path, force)

    def save_pretrained(self, folder: str | os.PathLike) -> None:
        """Write the model and its card to a folder, as hubs of models have them.

        Parameters
        ----------
        folder : str or path-like
            Made if it is not there. It gets ``model.atomlearn`` (the file that `save` writes), ``README.md`` (the card)
            and ``config.json`` (class, parameters, classes); nothing else in it is touched.
        """
        from ._pretrained import save_pretrained

        check_is_fitted(self)
        save_pretrained(self, folder)

    @classmethod
    def from_pretrained(cls: type[Self], folder: str | os.PathLike) -> Self:
        """Read what `save_pretrained` wrote; on the base class or ``atomlearn.load`` of its file, whatever class it is.

        Parameters
        ----------
        folder : str or path-like
            The folder.

        Returns
        -------
        estimator : object
            The fitted estimator.
        """
        from ._pretrained import from_pretrained

        return from_pretrained(cls, folder)

    def to_onnx(self, path: str | os.PathLike, *, force: bool = False) -> None:
        """Write preprocessing and model as one ONNX graph for onnxruntime and other programs.

        Its input `x` takes doubles, samples in rows; its outputs are `label`, the class names as text, and `scores`,
        one column per class in the order of the metadata entry `classes`. Methods that decide by a search, such as
        sparse codes, have no such graph and raise `ValueError`.

        Parameters
        ----------
        path : str or path-like
            The file; it is replaced as a whole or not at all, and only if it is such a graph (or empty).
        force : bool, default=False
            Replace whatever is there.
        """
        check_is_fitted(self)
        self.model_.to_onnx(path, force)

    @classmethod
    def from_preset(cls: type[Self], name: str, **params) -> Self:
        """An estimator with a named set of parameters, as in ``atomlearn methods KEY``.

        Parameters
        ----------
        name : str
            Name of the preset.
        **params
            Further parameters; they win over the preset.

        Returns
        -------
        estimator : object
            Not fitted yet.
        """
        key = cls(**{k: v for k, v in params.items() if k == "variant"})._method_key()
        presets = {p["name"]: p["values"] for m in methods() if m["key"] == key for p in m["presets"]}
        if name not in presets:
            raise ValueError(f"unknown preset `{name}`: {key} has {', '.join(presets) or 'none'}")
        values = {PYTHON_NAMES.get(k, k): v for k, v in presets[name].items()}
        return cls(**{**values, **params})

    def _restore(self, model) -> None:
        """Take over a model from a file."""
        info = json.loads(model.info)
        notes = info.get("python", {})
        # As np.unique would have sorted them, which for texts is not the model's order.
        classes = np.sort(_labels.classes_of(model.classes, notes.get("class_kind")))
        state = {"model_": model, "classes_": classes, "_inverse_temperature": notes.get("inverse_temperature")}
        self.n_features_in_ = model.n_features
        if "feature_names" in notes:
            self.feature_names_in_ = np.array(notes["feature_names"], dtype=object)
        elif model.feature_names is not None:
            self.feature_names_in_ = np.array(model.feature_names, dtype=object)
        history = [Step(iter=info["n_iter"], objective=info.get("objective"))] if "n_iter" in info else []
        self._take({**state, **self._fitted_extras(model)}, history)


class CodingClassifier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DictionaryClassifier):
    """Base of the estimators whose methods have codes."""

    @property
    def components_(self) -> np.ndarray:
        """The atoms of the dictionary (or rows of the analysis operator), one per row, after preprocessing."""
        check_is_fitted(self)
        atoms = self.model_.atoms()
        if atoms is None:
            raise AttributeError(f"{type(self).__name__} has codes but no atoms")
        return atoms[0]

    def transform(self, X) -> np.ndarray:
        """Codes of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in rows.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_atoms)
            One coefficient per atom.
        """
        X = self._samples(X)
        return self._in_parts(self.model_.codes, X)

    def _fitted_extras(self, model) -> dict[str, Any]:
        return {"_n_features_out": model.codes(np.zeros((1, model.n_features)), 1).shape[1]}


def methods() -> list[dict[str, Any]]:
    """Every method of the registry: key, title, paper, presets, parameters with meaning, domain, default and grid."""
    return json.loads(_atomlearn.methods())


def _aligned(X: np.ndarray) -> np.ndarray:
    # scikit-learn sees to type and order; memory maps and views of structured arrays may still lie at odd addresses.
    return np.require(X, dtype=np.float64, requirements=("C", "A"))
