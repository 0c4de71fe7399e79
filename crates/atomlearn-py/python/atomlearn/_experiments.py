"""Fair comparisons and the report page, as on the command line."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Union

import numpy as np
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y

from . import _atomlearn, _labels, _threads
from ._base import DictionaryClassifier, _aligned
from ._base import methods as all_methods


class Comparison:
    """The outcome of `compare`.

    Attributes
    ----------
    results : list of dict
        One entry per method and decision rule: ``method``, ``rule``, ``accuracy`` on each split, ``mean``, ``std``,
        ``ci95``, ``train_seconds``, ``test_seconds``, ``confusion`` and more.
    tests : list of dict
        Every pair of results with the p-value of "no difference": ``p``, and ``p_holm``, corrected by Holm's
        procedure for the tests of the best result against all others (``with_best``) or for those of all other pairs.
    learning_curve : list of dict
        With ``learning_curve=True``: ``method``, ``rule``, ``n_train``, ``mean``, ``ci95`` of all points; else empty.
    """

    def __init__(self, values: dict[str, Any], table: str, latex: str) -> None:
        self._values, self._table, self._latex = values, table, latex
        self.results: list[dict[str, Any]] = values["results"]
        self.tests: list[dict[str, Any]] = values["tests"]
        self.learning_curve: list[dict[str, Any]] = values.get("learning_curve", [])

    def to_dict(self) -> dict[str, Any]:
        """Everything, as in ``atomlearn compare --json``."""
        return self._values

    def to_dataframe(self):
        """A pandas frame with one row per method, rule and split; `to_frame` is its older name."""
        import pandas as pd

        columns = ("accuracy", "train_seconds", "test_seconds")
        rows = [
            {"method": r["method"], "rule": r["rule"], "split": i, **{name: r[name][i] for name in columns}}
            for r in self.results
            for i in range(len(r["accuracy"]))
        ]
        return pd.DataFrame(rows)

    to_frame = to_dataframe

    def to_latex(self) -> str:
        """A table for the LaTeX package `booktabs`, with BibTeX of its methods as comments."""
        return self._latex

    def __repr__(self) -> str:
        return self._table

    def _repr_html_(self) -> str:
        """A table for notebooks, the most accurate first."""
        rows = [
            (
                f"{r['method']} ({r['rule']})",
                r["mean"],
                r["ci95"],
                np.mean(r["train_seconds"]),
                np.mean(r["test_seconds"]),
            )
            for r in sorted(self.results, key=lambda r: -r["mean"])
        ]
        majority = self._values.get("majority")
        cells = [
            (escape(name), f"{mean:.2%}", f"{low:.2%} to {high:.2%}", f"{train:.3g}", f"{test:.3g}")
            for name, mean, (low, high), train, test in ((*row[:2], row[2] or (0, 1), *row[3:]) for row in rows)
        ]
        if majority is not None:
            cells.append(("majority (guessing)", f"{majority['mean']:.2%}", "", "", ""))
        head = "".join(f"<th>{text}</th>" for text in ("method", "accuracy", "95 % interval", "train s", "test s"))
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in cells)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


# Folds of a cross-validation, how often samples are cut into them, and splits to draw otherwise.
_FOLDS, _CUTS, _SPLITS = 5, 2, 5
_METRICS = ("accuracy", "balanced-accuracy", "macro-f1")


def compare(
    X,
    y,
    methods: Union[str, Sequence[Any]] = "all",
    *,
    train_per_class: int | None = None,
    folds: int | None = None,
    repeats: int | None = None,
    seed: int = 0,
    splits: Any = None,
    groups: Any = None,
    tune: bool | int = False,
    metric: str = "accuracy",
    learning_curve: bool = False,
    prep: str | None = None,
    name: str = "data",
    records: Union[str, os.PathLike, None] = None,
    report: Union[str, os.PathLike, None] = None,
    force: bool = False,
    n_threads: int | None = None,
    verbose: int = 0,
) -> Comparison:
    """Compare methods, and any scikit-learn classifier, on the same splits: drawn, of a cross-validation, or given.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples in rows.
    y : array-like of shape (n_samples,)
        Their classes.
    methods : "all" or list, default="all"
        Keys as in `methods`, with their defaults; estimators of this package, whose method and parameters count,
        while their `prep` and the other parameters that all estimators share do not; any other classifier with ``fit``
        and ``predict``, and estimators with a `class_weight`, of which clones get the samples as they are; or a pair
        ``(name, classifier)``.
    train_per_class : int or None, default=None
        Samples of every class that train; all others test. None is cross-validation.
    folds : int or None, default=None
        Folds of the cross-validation; None is 5.
    repeats : int or None, default=None
        Number of splits, or how often the samples are cut into folds; None is 5 splits, or 2 cuts.
    seed : int, default=0
        Seed of the splits.
    splits : None, splitter or iterable of (train, test), default=None
        Splits in place of those: an object with ``split(X, y, groups)`` as scikit-learn has them, or pairs of indices.
    groups : array-like of shape (n_samples,) or None, default=None
        Which samples belong together: no group is in training and test part at once, and intervals and tests
        allow for it.
    tune : bool or int, default=False
        Choose the parameters of this package's methods by cross-validation within every training part, with 5 folds or
        with this many. Other classifiers tune themselves, as ``GridSearchCV`` does.
    metric : {"accuracy", "balanced-accuracy", "macro-f1"}, default="accuracy"
        What parameters are chosen and results ranked and tested by.
    learning_curve : bool, default=False
        Also train on an eighth, a quarter and half of every training part and test on the same samples, to see whether
        more samples would help.
    prep : str or None, default=None
        Preprocessing, fitted on the training samples of every split, the same for all methods of this package. None is
        what every method does by itself: `auto` scales samples in its own ways, the others get ``"unit"``.
    name : str, default="data"
        What the data are called in the table and on the page.
    records : path-like or None, default=None
        Append a record of every run to this file of JSON lines.
    report : path-like or None, default=None
        Write an HTML page.
    force : bool, default=False
        Let the page replace a file that is no such page.
    n_threads : int or None, default=None
        As for estimators.
    verbose : int, default=0
        Print a line per run to stderr if not 0.

    Returns
    -------
    comparison : Comparison
        Accuracies, spreads, times and tests; it prints as a table.
    """
    X, y = check_X_y(X, y, dtype=np.float64, order="C")
    check_classification_targets(y)
    classes, targets = np.unique(y, return_inverse=True)
    names = _labels.names_of(classes)
    keys = [row["key"] for row in all_methods()] if isinstance(methods, str) and methods == "all" else methods
    if isinstance(keys, str):
        raise TypeError(f"methods is a list of keys and estimators, or 'all', not {keys!r}")
    if train_per_class is not None and folds is not None:
        raise ValueError("give train_per_class or folds, not both")
    if splits is not None and (train_per_class, folds, repeats) != (None, None, None):
        raise ValueError("splits says which samples train and test: leave out train_per_class, folds and repeats")
    if metric not in _METRICS:
        raise ValueError(f"metric must be one of {', '.join(_METRICS)}, not {metric!r}")
    if repeats is None:
        repeats = _CUTS if train_per_class is None else _SPLITS
    labels = [names[target] for target in targets]
    settings: dict[str, Any] = {
        "name": name,
        "entries": [],
        "train_per_class": train_per_class,
        "folds": _FOLDS if folds is None else folds,
        "repeats": repeats,
        "seed": seed,
        "splits": _given_splits(splits, X, y, groups),
        "groups": None if groups is None else [str(group) for group in _as_groups(groups, len(y))],
        "prep": prep,
        "tune": _FOLDS if tune is True else (int(tune) or None),
        "metric": metric,
        "learning_curve": bool(learning_curve),
    }
    entries = _entries(keys)
    if any(isinstance(entry, _Foreign) for entry in entries):
        made = json.loads(_atomlearn.compare_splits(labels, json.dumps(settings)))
        entries = [e.run(X, y, classes, names, made, verbose) if isinstance(e, _Foreign) else e for e in entries]
    settings["entries"] = entries

    def on_run(text: str) -> None:
        run = json.loads(text)
        print(f"run {run['done'] + 1} of {run['total']}: {run['method']}, split {run['split']}", file=sys.stderr)

    with tempfile.TemporaryDirectory() as folder:
        kept = records if records is not None else Path(folder) / "records.jsonl"
        text, table, latex = _atomlearn.compare(
            _aligned(X),
            labels,
            json.dumps(settings),
            kept,
            report,
            force,
            _threads.resolve(n_threads),
            on_run if verbose else None,
        )
        if report is not None:
            _atomlearn.report(kept, report, force, metric)
    return Comparison(json.loads(text), table, latex)


def _as_groups(groups: Any, n_samples: int) -> np.ndarray:
    groups = np.asarray(groups)
    if groups.shape != (n_samples,):
        raise ValueError(f"groups has shape {groups.shape}, but there are {n_samples} samples")
    return groups


def _given_splits(splits: Any, X: np.ndarray, y: np.ndarray, groups: Any) -> list[dict[str, list[int]]] | None:
    if splits is None:
        return None
    pairs = splits.split(X, y, groups) if hasattr(splits, "split") else splits
    return [{"train": _places(train, len(y)), "test": _places(test, len(y))} for train, test in pairs]


def _places(indices: Any, n_samples: int) -> list[int]:
    indices = np.asarray(indices)
    if indices.dtype == bool:
        if indices.shape != (n_samples,):
            raise ValueError(f"splits: a mask of shape {indices.shape}, but there are {n_samples} samples")
        indices = np.flatnonzero(indices)
    if indices.dtype.kind not in "iu" or indices.ndim != 1 or (indices.size and indices.min() < 0):
        raise ValueError("splits: give pairs (train, test) of lists of indices from 0, or of boolean masks")
    return [int(i) for i in indices]


def _entries(methods: Sequence[Any]) -> list[Any]:
    """Our methods as settings, anything else as it will be run."""
    keys = {row["key"] for row in all_methods()}
    entries: list[Any] = []
    taken = {method for method in methods if isinstance(method, str)}
    for method in methods:
        label, method = method if isinstance(method, tuple) else (None, method)
        if isinstance(method, str):
            entries.append({"key": method, "params": {}})
        elif isinstance(method, DictionaryClassifier) and label is None and not _is_weighted(method):
            entries.append({"key": method._method_key(), "params": method._method_params()})
        elif hasattr(method, "fit") and hasattr(method, "predict") and not isinstance(method, type):
            label = str(label) if label is not None else type(method).__name__
            if label in keys:
                raise ValueError(f"{label!r} is the key of a method; give the classifier another name")
            number = next(n for n in range(1, len(methods) + 2) if _numbered(label, n) not in taken)
            taken.add(_numbered(label, number))
            entries.append(_Foreign(_numbered(label, number), method))
        else:
            raise TypeError(f"methods holds keys and classifiers with fit and predict, but also {method!r}")
    return entries


def _is_weighted(estimator: DictionaryClassifier) -> bool:
    # The core's experiments know no weights of classes: such an estimator runs as any other classifier does.
    return getattr(estimator, "class_weight", None) is not None


def _numbered(label: str, number: int) -> str:
    return label if number == 1 else f"{label} {number}"


class _Foreign:
    """A classifier of another package, or the user's own."""

    def __init__(self, name: str, estimator: Any) -> None:
        self.name, self.estimator = name, estimator

    def run(
        self, X: np.ndarray, y: np.ndarray, classes: np.ndarray, names: list[str], splits: list[Any], verbose: int
    ) -> dict[str, Any]:
        """Its answers on every split."""
        answers = {}
        for i, split in enumerate(splits):
            if verbose:
                print(f"{self.name}, split {i}", file=sys.stderr)
            train, test = np.asarray(split["train"]), np.asarray(split["test"])
            try:
                answers[split["sha256"]] = self._answer(X[train], y[train], X[test], classes, names)
            except Exception as error:
                raise RuntimeError(
                    f"{self.name}, split {i} (counted from 0): {type(error).__name__}: {error}"
                ) from error
        return {"name": self.name, "description": repr(self.estimator), "answers": answers}

    def _answer(self, X, y, X_test, classes: np.ndarray, names: list[str]) -> dict[str, Any]:
        estimator = clone(self.estimator, safe=False)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            start = time.perf_counter()
            estimator.fit(X, y)
            trained = time.perf_counter()
            found = np.asarray(estimator.predict(X_test))
            tested = time.perf_counter()
            scores, probabilities = self._scores(estimator, X_test)
        if found.shape != (len(X_test),):
            raise ValueError(f"predict gave shape {found.shape} for {len(X_test)} samples")
        known = getattr(estimator, "classes_", classes)
        place = {label: i for i, label in enumerate(classes.tolist())}
        unknown = [label for label in found.tolist() if label not in place]
        if unknown:
            raise ValueError(f"predict gave {unknown[0]!r}, which is no class of y")
        columns = [names[place[label]] for label in np.asarray(known).tolist() if label in place]
        if scores is not None and (scores.shape != (len(X_test), len(columns)) or not np.isfinite(scores).all()):
            scores, probabilities = None, False
        return {
            "labels": [names[place[label]] for label in found.tolist()],
            "scores": None if scores is None else scores.tolist(),
            "classes": columns if scores is not None else [],
            "probabilities": probabilities,
            "train_seconds": trained - start,
            "test_seconds": tested - trained,
            "warnings": sorted({f"{w.category.__name__}: {w.message}" for w in caught}),
        }

    @staticmethod
    def _scores(estimator: Any, X: np.ndarray) -> tuple[np.ndarray | None, bool]:
        """Probabilities or else scores, one column per class; none if the classifier has neither."""
        if hasattr(estimator, "predict_proba"):
            scores = np.asarray(estimator.predict_proba(X), dtype=float)
            within = scores.ndim == 2 and np.all((scores >= 0) & (scores <= 1 + 1e-6))
            return (scores, True) if within and np.allclose(scores.sum(axis=1), 1) else (None, False)
        if hasattr(estimator, "decision_function"):
            scores = np.asarray(estimator.decision_function(X), dtype=float)
            return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores, False
        return None, False


def report(records: str | os.PathLike, path: str | os.PathLike, *, force: bool = False) -> None:
    """Write the HTML page of a file of records, made by `compare` here or on the command line.

    Parameters
    ----------
    records : path-like
        File of JSON lines.
    path : path-like
        The page to write.
    force : bool, default=False
        Replace a file that is no such page.
    """
    _atomlearn.report(records, path, force)
