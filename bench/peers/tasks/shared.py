"""DLSI, COPAR and LRSDL: training from the same atoms, judged by one objective for both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import numpy as np
from atomlearn import COPARClassifier, DLSIClassifier, LRSDLClassifier

from ..data import Problem, problem
from ..lcdl_numpy import start
from ..optional import peer
from ..timing import Answers, Contestant, Row, Verdict

# dictol's DLSI ignores what it is given for these two and takes 0.01.
LAMBDA, ETA = 0.01, 0.01
LAMBDA2, LAMBDA3 = 0.01, 0.02
PER_CLASS, SHARED, ITERATIONS = 10, 5, 10


def rows(quick: bool, threads: int) -> Iterator[Row]:
    yield from dlsi_rows(quick, threads)
    yield from copar_rows(quick, threads)
    yield from lrsdl_rows(quick, threads)


class Setting:
    """The data in both layouts, and the atoms that both start from."""

    def __init__(self, quick: bool) -> None:
        self.data: Problem = problem(quick)
        self.columns, self.tests = self.data.train.T.copy(), self.data.test.T.copy()
        self.y = self.data.y_train
        self.own = start(self.columns, self.y)
        self.shared = shared_start(self.columns)
        self.title = f"{ITERATIONS} iterations, {len(self.y)} samples, {self.own.shape[1]} atoms"

    def trained(self, model: Any, fields: dict[str, Any]) -> Any:
        """A dictol model that starts from these fields instead of its own dictionary learning."""
        model._initialize = lambda: vars(model).update(deepcopy(fields))
        model.fit(self.columns, self.y + 1, iterations=ITERATIONS)
        return model


def shared_start(columns: np.ndarray) -> np.ndarray:
    """Principal directions of all samples and their unit mean."""
    mean = columns.mean(axis=1, keepdims=True)
    directions = np.linalg.svd(columns - mean, full_matrices=False)[0][:, : SHARED - 1]
    largest = directions[np.abs(directions).argmax(axis=0), range(SHARED - 1)]
    return np.hstack([directions * np.sign(largest), mean / np.linalg.norm(mean)])


def dlsi_rows(quick: bool, threads: int) -> Iterator[Row]:
    setting = Setting(quick)
    dictol = peer("dictol.DLSI")
    n, K = len(setting.y), setting.own.shape[1]

    def ours() -> DLSIClassifier:
        return DLSIClassifier(
            lam=LAMBDA,
            eta=ETA,
            gamma=LAMBDA,
            rule="local",
            max_iter=ITERATIONS,
            tol=0.0,
            prep="none",
            n_threads=threads,
        ).fit(setting.data.train, setting.y)

    def other() -> Any:
        model = dictol.DLSI(k=PER_CLASS, lambd=LAMBDA, eta=ETA)
        codes = [np.zeros((PER_CLASS, (setting.y == c).sum())) for c in range(setting.data.n_classes)]
        return setting.trained(model, {"D": setting.own, "X": codes})

    def value(model: Any) -> float:
        D, labels = model.D, np.repeat(np.arange(setting.data.n_classes), PER_CLASS)
        cost = 0.0
        for c, Z in enumerate(model.X):
            cost += 0.5 * ((setting.columns[:, setting.y == c] - D[:, labels == c] @ Z) ** 2).sum()
            cost += LAMBDA * np.abs(Z).sum()
        overlap = (D.T @ D)[labels[:, None] != labels]
        return cost + 0.25 * ETA * (overlap**2).sum()

    m = setting.columns.shape[0]
    yield Row(
        f"DLSI training, {setting.title}",
        [Contestant("atomlearn", ours, ours=True), Contestant("dictol", other)],
        lambda answers: low_objectives(answers, setting, value),
        lambda answers: ITERATIONS * (m**2 * K + 4 * m**2 * K + 4 * m * PER_CLASS * n),
        "per iteration m^2K + 4m^2K + 4mK_cn: one inverse, one step for every class, one for the codes",
    )


def copar_rows(quick: bool, threads: int) -> Iterator[Row]:
    setting = Setting(quick)
    dictol = peer("dictol.COPAR")
    n, K = len(setting.y), setting.own.shape[1] + SHARED
    blocks = np.append(np.repeat(np.arange(setting.data.n_classes), PER_CLASS), [-1] * SHARED)

    def ours() -> COPARClassifier:
        return COPARClassifier(
            lam=LAMBDA,
            eta=ETA,
            gamma=LAMBDA,
            shared_atoms=SHARED,
            max_iter=ITERATIONS,
            tol=0.0,
            prep="none",
            n_threads=threads,
        ).fit(setting.data.train, setting.y)

    def other() -> Any:
        model = dictol.COPAR(PER_CLASS, SHARED, lambd=LAMBDA, eta=ETA)

        def begin() -> None:
            # Codes first, as ours: dictol begins with the atoms, which codes of zero would draw away from the start.
            model.D, model.X = np.hstack([setting.own, setting.shared]), np.zeros((K, n))
            model._updateX()

        model._initialize = begin
        model.fit(setting.columns, setting.y + 1, iterations=ITERATIONS)
        return model

    def value(model: Any) -> float:
        D, Z = model.D, model.X
        cost = ((setting.columns - D @ Z) ** 2).sum()
        for c in range(setting.data.n_classes):
            samples, own, others = setting.y == c, (blocks == c) | (blocks < 0), (blocks != c) & (blocks >= 0)
            cost += ((setting.columns[:, samples] - D[:, own] @ Z[np.ix_(own, samples)]) ** 2).sum()
            cost += (Z[np.ix_(others, samples)] ** 2).sum()
        overlap = (D.T @ D)[blocks[:, None] != blocks]
        return 0.5 * (cost + LAMBDA * np.abs(Z).sum()) + 0.25 * ETA * (overlap**2).sum()

    m = setting.columns.shape[0]
    yield Row(
        f"COPAR training, {setting.title} and {SHARED} shared",
        [Contestant("atomlearn", ours, ours=True), Contestant("dictol", other)],
        lambda answers: low_objectives(answers, setting, value),
        lambda answers: ITERATIONS * (5 * m**2 * K + 6 * m * K * n + 2 * K**2 * n),
        "per iteration 5m^2K + 6mKn + 2K^2n: one inverse and one step for every class, one gradient step for the codes",
    )


def lrsdl_rows(quick: bool, threads: int) -> Iterator[Row]:
    setting = Setting(quick)
    dictol = peer("dictol.LRSDL")
    n, K = len(setting.y), setting.own.shape[1]

    def ours() -> LRSDLClassifier:
        return LRSDLClassifier(
            lambda1=LAMBDA,
            lambda2=LAMBDA2,
            lambda3=LAMBDA3,
            gamma=LAMBDA,
            rule="local",
            shared_atoms=SHARED,
            max_iter=ITERATIONS,
            tol=0.0,
            refit=False,
            code_tol=1e-4,
            prep="none",
            n_threads=threads,
        ).fit(setting.data.train, setting.y)

    def other() -> Any:
        model = dictol.LRSDL(lambd=LAMBDA, lambd2=LAMBDA2, eta=LAMBDA3, k=PER_CLASS, k0=SHARED)

        def begin() -> None:
            model.D, model.D0 = setting.own.copy(), setting.shared.copy()
            model.X, model.X0 = np.zeros((K, n)), np.zeros((SHARED, n))
            model._updateXX0()

        model._initialize = begin
        model.fit(setting.columns, setting.y + 1, iterations=ITERATIONS)
        return model

    def value(model: Any) -> float:
        D, Z, labels = model.D, model.X, np.repeat(np.arange(setting.data.n_classes), PER_CLASS)
        rest = setting.columns - model.D0 @ model.X0
        fit = ((rest - D @ Z) ** 2).sum()
        fisher = (Z**2).sum()
        for c in range(setting.data.n_classes):
            samples = setting.y == c
            for j in range(setting.data.n_classes):
                part = D[:, labels == j] @ Z[np.ix_(labels == j, samples)]
                fit += ((rest[:, samples] - part) ** 2).sum() if j == c else (part**2).sum()
            mean = Z[:, samples].mean(axis=1, keepdims=True)
            fisher += ((Z[:, samples] - mean) ** 2).sum()
            fisher -= samples.sum() * ((mean - Z.mean(axis=1, keepdims=True)) ** 2).sum()
        spread = ((model.X0 - model.X0.mean(axis=1, keepdims=True)) ** 2).sum()
        sizes = LAMBDA * (np.abs(Z).sum() + np.abs(model.X0).sum())
        return 0.5 * fit + sizes + 0.5 * LAMBDA2 * (fisher + spread) + LAMBDA3 * np.linalg.norm(model.D0, "nuc")

    m = setting.columns.shape[0]
    yield Row(
        f"LRSDL training, {setting.title} and {SHARED} shared",
        [Contestant("atomlearn", ours, ours=True), Contestant("dictol", other)],
        lambda answers: low_objectives(answers, setting, value),
        lambda answers: ITERATIONS * (2 * m * K**2 + 4 * m * K * n + 4 * K**2 * n),
        "per iteration 2mK^2 + 4mKn + 4K^2n: one gradient step for the codes, one sweep over the atoms",
    )


def low_objectives(answers: Answers, setting: Setting, value: Callable[[Any], float]) -> dict[str, Verdict]:
    """Right if the objective is at most a thousandth above the lowest; the peer, which is to be timed, a twentieth."""
    values, right = {}, {}
    for name, model in answers.items():
        if name == "dictol":
            values[name] = value(model)
            right[name] = float((model.predict(setting.tests) - 1 == setting.data.y_test).mean())
        else:
            values[name] = model.objective_[-1]
            right[name] = model.score(setting.data.test, setting.data.y_test)
    lowest = min(values.values())
    return {
        name: Verdict(
            bool(values[name] <= (1.05 if name == "dictol" else 1.001) * lowest),
            f"objective {values[name]:.4f}, accuracy {100 * right[name]:.2f} %",
        )
        for name in answers
    }
