"""DPL: training, judged by objective and accuracy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from atomlearn import DPLClassifier

from ..data import Problem, problem
from ..optional import peer
from ..timing import Answers, Contestant, Row, Verdict

classification = peer("dictlearn.classification")

TAU, LAMBDA, GAMMA, PER_CLASS, ITERATIONS = 0.05, 0.003, 1e-4, 10, 20


def rows(quick: bool, threads: int) -> Iterator[Row]:
    data = problem(quick)
    n, m, C = *data.train.shape, data.n_classes
    ours = DPLClassifier(
        tau=TAU,
        lam=LAMBDA,
        gamma=GAMMA,
        atoms_per_class=PER_CLASS,
        max_iter=ITERATIONS,
        tol=0.0,
        prep="none",
        n_threads=threads,
    )

    def other() -> Any:
        return classification.DPLClassifier(
            PER_CLASS, tau=TAU, theta=LAMBDA, gamma=GAMMA, max_iter=ITERATIONS, random_state=0
        ).fit(data.train, data.y_train)

    yield Row(
        f"DPL training, {ITERATIONS} iterations, {n} samples, {C} x {PER_CLASS} atoms",
        [
            Contestant("atomlearn", lambda: ours.fit(data.train, data.y_train), ours=True),
            Contestant("dictlearn", other),
        ],
        lambda answers: low_objectives(answers, data),
        lambda answers: m**2 * n + m**3 / 3 + C * (2 * m**2 * (n // C) + ITERATIONS * 6 * m * PER_CLASS * (n // C)),
        "m^2n + m^3/3 (one factor for all classes) + C(2m^2n_c + 6 m K_c n_c per iteration)",
    )


def low_objectives(answers: Answers, data: Problem) -> dict[str, Verdict]:
    """Right if the objective is at most five hundredths above the best and the accuracy two points below."""
    values, right = {}, {}
    for name, model in answers.items():
        if name == "dictlearn":
            pairs = list(zip(model.dictionaries_, np.split(model.encoders_, data.n_classes)))
        else:
            parts = model.model_.parts()
            pairs = [
                (D.T, P)
                for D, P in zip(
                    np.split(parts["dictionary"], data.n_classes), np.split(parts["analysis"], data.n_classes)
                )
            ]
        values[name] = sum(objective(D, P, data, c) for c, (D, P) in enumerate(pairs))
        right[name] = model.score(data.test, data.y_test)
    lowest, best = min(values.values()), max(right.values())
    return {
        name: Verdict(
            bool(values[name] <= 1.05 * lowest and right[name] >= best - 0.02),
            f"objective {values[name]:.3f}, accuracy {100 * right[name]:.2f} %",
        )
        for name in answers
    }


def objective(D: np.ndarray, P: np.ndarray, data: Problem, c: int) -> float:
    """The terms of class `c` with the best codes for the pair."""
    own = data.y_train == c
    X, rest = data.train[own].T, data.train[~own].T
    Z = np.linalg.solve(D.T @ D + TAU * np.eye(D.shape[1]), D.T @ X + TAU * (P @ X))
    fit = ((X - D @ Z) ** 2).sum() + TAU * ((P @ X - Z) ** 2).sum()
    return float(fit + LAMBDA * ((P @ rest) ** 2).sum() + GAMMA * (P**2).sum())
