"""The self-tuning classifier: whole training with one view, against a plain NumPy version and a grid search of an SVM.

The NumPy version is a file with a class `Auto(views=...)` that has `fit` and `predict`; the variable
ATOMLEARN_AUTO_REFERENCE names it. Without it, the grid search is the only peer.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from typing import Any, Optional

from atomlearn import AutoClassifier
from leaderboard_sklearn import BASELINES
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from ..data import Problem, problem, scene_problem, split, unit
from ..timing import Answers, Contestant, Row, Verdict, accuracies

# Accuracies may lie this far below the best: a few test samples.
SLACK = 0.01
# Kernels and ridges that are tried.
KERNELS, RIDGES = 4, 8


def rows(quick: bool, threads: int) -> Iterator[Row]:
    sets = [digits()] if quick else [digits(), problem(False), scene_problem()]
    for data in sets:
        yield row(data, quick, threads)


def digits() -> Problem:
    X, y = load_digits(return_X_y=True)
    train, test = split(y, 50)
    raw, other = X[train], X[test]
    return Problem("digits", raw, other, unit(raw), y[train], unit(other), y[test], 30, (5, 10))


def row(data: Problem, quick: bool, threads: int) -> Row:
    n, m = data.train.shape
    # The samples have unit length already: they are the only view.
    ours = AutoClassifier(prep="none", views="given", n_threads=threads)
    contestants = [Contestant("atomlearn", lambda: ours.fit(data.train, data.y_train), ours=True)]
    reference = numpy_version()
    if reference is not None:
        contestants.append(Contestant("NumPy", lambda: reference.Auto(views=("unit",)).fit(data.train, data.y_train)))
    if threads == 1 and not quick:
        contestants.append(Contestant("GridSearchCV(SVC)", lambda: svc(data), note="the leaderboard's grid, 3 folds"))

    def judge(answers: Answers) -> dict[str, Verdict]:
        found = {name: float((model.predict(data.test) == data.y_test).mean()) for name, model in answers.items()}
        return accuracies(found, SLACK)

    # A linear kernel of few features takes less.
    inverses = RIDGES * ((KERNELS - 1) * n**3 + min(n**3, n**2 * m + n * m**2))
    residuals = RIDGES * KERNELS * 2 * n**3 / data.n_classes
    return Row(
        f"auto training, {data.name}, {n} x {m}, {data.n_classes} classes",
        contestants,
        judge,
        lambda answers: m * n**2 + inverses + residuals,
        "mn^2 (products) + 8 (3n^3 + min(n^3, n^2 m + nm^2)) (inverses) + 64 n^3/C (class residuals)",
    )


def svc(data: Problem) -> GridSearchCV:
    model, grid = BASELINES["SVC"]
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    return GridSearchCV(model, grid, cv=folds).fit(data.train, data.y_train)


def numpy_version() -> Optional[Any]:
    path = os.environ.get("ATOMLEARN_AUTO_REFERENCE")
    if not path:
        return None
    spec = importlib.util.spec_from_file_location("auto_numpy", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
