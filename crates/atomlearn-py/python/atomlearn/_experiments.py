"""Fair comparisons and the report page, as on the command line."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Union

import numpy as np
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
        Every pair of results with the p-value of "no difference".
    """

    def __init__(self, values: dict[str, Any], table: str, latex: str) -> None:
        self._values, self._table, self._latex = values, table, latex
        self.results: list[dict[str, Any]] = values["results"]
        self.tests: list[dict[str, Any]] = values["tests"]

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


def compare(
    X,
    y,
    methods: Union[str, Sequence[Union[str, DictionaryClassifier]]] = "all",
    *,
    train_per_class: int | None = None,
    folds: int | None = None,
    repeats: int | None = None,
    seed: int = 0,
    prep: str | None = None,
    name: str = "data",
    records: Union[str, os.PathLike, None] = None,
    report: Union[str, os.PathLike, None] = None,
    force: bool = False,
    n_threads: int | None = None,
    verbose: int = 0,
) -> Comparison:
    """Compare methods on the same stratified splits: drawn ones, or cross-validation.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples in rows.
    y : array-like of shape (n_samples,)
        Their classes.
    methods : "all" or list of str and estimators, default="all"
        Keys as in `methods`, with their defaults, or estimators, whose method and parameters count; their `prep` and
        the other parameters that all estimators share do not.
    train_per_class : int or None, default=None
        Samples of every class that train; all others test. None is cross-validation.
    folds : int or None, default=None
        Folds of the cross-validation; None is 5.
    repeats : int or None, default=None
        Number of splits, or how often the samples are cut into folds; None is 5 splits, or 2 cuts.
    seed : int, default=0
        Seed of the splits.
    prep : str or None, default=None
        Preprocessing, fitted on the training samples of every split, the same for all methods. None is what every
        method does by itself: `auto` scales samples in its own ways, the others get ``"unit"``.
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
    entries = [_entry(method) for method in keys]
    if train_per_class is not None and folds is not None:
        raise ValueError("give train_per_class or folds, not both")
    if repeats is None:
        repeats = _CUTS if train_per_class is None else _SPLITS

    def on_run(text: str) -> None:
        run = json.loads(text)
        print(f"run {run['done'] + 1} of {run['total']}: {run['method']}, split {run['split']}", file=sys.stderr)

    with tempfile.TemporaryDirectory() as folder:
        kept = records if records is not None else Path(folder) / "records.jsonl"
        text, table, latex = _atomlearn.compare(
            _aligned(X),
            [names[target] for target in targets],
            name,
            entries,
            (train_per_class, _FOLDS if folds is None else folds, repeats, seed),
            prep,
            kept,
            report,
            force,
            _threads.resolve(n_threads),
            on_run if verbose else None,
        )
        if report is not None:
            _atomlearn.report(kept, report, force)
    return Comparison(json.loads(text), table, latex)


def _entry(method: str | DictionaryClassifier) -> tuple[str, str]:
    if isinstance(method, str):
        return method, "{}"
    return method._method_key(), json.dumps(method._method_params())


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
