"""FDDL: training to the same objective, and test by one lasso per class, as dictol does it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from atomlearn import FDDLClassifier

from ..data import Problem, problem
from ..lcdl_numpy import start
from ..optional import peer
from ..timing import Answers, Contestant, Row, Verdict, accuracies

dictol = peer("dictol.LRSDL")

LAMBDA1, LAMBDA2, PER_CLASS, ITERATIONS = 0.01, 0.01, 10, 15


def rows(quick: bool, threads: int) -> Iterator[Row]:
    data = problem(quick)
    columns, tests, y = data.train.T.copy(), data.test.T.copy(), data.y_train
    n, m, K = *data.train.shape, PER_CLASS * data.n_classes

    def ours() -> FDDLClassifier:
        return FDDLClassifier(
            lambda1=LAMBDA1,
            lambda2=LAMBDA2,
            atoms_per_class=PER_CLASS,
            scaling="dictol",
            constraint="ball",
            rule="local",
            gamma1=LAMBDA1,
            gamma2=0.0,
            max_iter=ITERATIONS,
            tol=0.0,
            code_tol=1e-4,
            prep="none",
            n_threads=threads,
        ).fit(data.train, y)

    def other() -> Any:
        model = dictol.LRSDL(lambd=LAMBDA1, lambd2=LAMBDA2, k=PER_CLASS, k0=0)
        model._initialize = lambda: start_alike(model)
        model.fit(columns, y + 1, iterations=ITERATIONS)
        return model

    def start_alike(model: Any) -> None:
        """Both start from the same atoms: the problem has many local minima."""
        model.D = start(columns, y)
        model._updateXX0()

    yield Row(
        f"FDDL training, {ITERATIONS} iterations, {n} samples, {K} atoms",
        [Contestant("atomlearn", ours, ours=True), Contestant("dictol", other)],
        lambda answers: low_objectives(answers, data, tests),
        lambda answers: answers["atomlearn"].n_iter_ * (2 * m * K**2 + 4 * m * K * n + 4 * K**2 * n),
        "per iteration 2mK^2 + 4mKn + 4K^2n: one gradient step for the codes, one sweep over the atoms",
    )
    fitted, trained = ours(), cache(other)
    yield Row(
        f"FDDL test, a lasso per class, {len(data.test)} samples",
        [
            Contestant("atomlearn", lambda: fitted.predict(data.test), ours=True),
            Contestant("dictol", lambda: trained().predict(tests) - 1, warms_up=True),
        ],
        lambda answers: accuracies({k: float((labels == data.y_test).mean()) for k, labels in answers.items()}, 0.05),
        lambda answers: len(data.test) * (2 * m * K + K * PER_CLASS),
        "n(2mK + sum K_c^2)",
    )


def low_objectives(answers: Answers, data: Problem, tests: np.ndarray) -> dict[str, Verdict]:
    """Right if the objective is at most two hundredths above the best and the accuracy five points below."""
    values, right = {}, {}
    for name, model in answers.items():
        if name == "dictol":
            values[name], right[name] = model.loss(), (model.predict(tests) - 1 == data.y_test).mean()
        else:
            values[name], right[name] = model.objective_[-1], model.score(data.test, data.y_test)
    lowest, best = min(values.values()), max(right.values())
    return {
        name: Verdict(
            bool(values[name] <= 1.02 * lowest and right[name] >= best - 0.05),
            f"objective {values[name]:.3f}, accuracy {100 * right[name]:.2f} %",
        )
        for name in answers
    }
