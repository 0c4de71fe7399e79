"""One-vs-rest linear SVM with squared hinge loss: the same objective, bias unregularised."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from atomlearn import LinearSVMClassifier
from sklearn.svm import LinearSVC

from ..data import Problem, problem
from ..timing import Answers, Contestant, Row, Verdict, close

C_PENALTY = 10.0
# liblinear regularises the bias as the weight of a constant feature; a large one comes close to leaving it alone.
BIAS_FEATURE = 10.0


def rows(quick: bool, threads: int) -> Iterator[Row]:
    data = problem(quick)
    n, m = data.train.shape
    ours = LinearSVMClassifier(theta=2 * C_PENALTY, prep="none", n_threads=threads)

    def liblinear(dual: bool) -> LinearSVC:
        model = LinearSVC(
            C=C_PENALTY, dual=dual, intercept_scaling=BIAS_FEATURE, tol=1e-4, max_iter=100000, random_state=0
        )
        return model.fit(data.train, data.y_train)

    yield Row(
        f"linear SVM, {data.n_classes} classes against the rest, {n} x {m}",
        [
            Contestant("atomlearn", lambda: ours.fit(data.train, data.y_train), ours=True),
            Contestant("LinearSVC, primal", lambda: liblinear(False)),
            Contestant("LinearSVC, dual", lambda: liblinear(True)),
        ],
        lambda answers: low_objectives(answers, data),
        lambda answers: min(m, n) * n * max(m, n) + data.n_classes * 5 * 100**3 / 3,
        "mn^2 (one Gram matrix for all classes) + 5C 100^3/3 (five steps on 100 active samples)",
    )


def low_objectives(answers: Answers, data: Problem) -> dict[str, Verdict]:
    """Objectives above the lowest, as a fraction of it."""
    targets = np.where(data.y_train[:, None] == np.arange(data.n_classes), 1.0, -1.0)
    values = {}
    for name, model in answers.items():
        if isinstance(model, LinearSVC):
            weights, bias = model.coef_, model.intercept_
        else:
            parts = model.model_.parts()
            weights, bias = parts["svm_weights"], parts["svm_bias"].ravel()
        slack = np.maximum(1.0 - targets * (data.train @ weights.T + bias), 0.0)
        values[name] = 0.5 * (weights**2).sum() + C_PENALTY * (slack**2).sum()
    lowest = min(values.values())
    return close(
        {name: float(value / lowest - 1.0) for name, value in values.items()}, 2e-3, "objective above the best by"
    )
