"""Training of K-SVD, D-KSVD and LC-KSVD2."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from atomlearn import DKSVDClassifier, LCKSVDClassifier, kit
from sklearn.base import BaseEstimator

from ..data import Problem, problem
from ..optional import peer
from ..timing import Answers, Contestant, Row, Verdict, accuracies

ksvd, dictlearn, classification = peer("ksvd"), peer("dictlearn"), peer("dictlearn.classification")

PER_CLASS = 10
ITERATIONS = 10


def ksvd_from(atoms: np.ndarray, sparsity: int, X: np.ndarray) -> np.ndarray:
    """The package `ksvd`, which has no argument for the first atoms."""
    model = ksvd.ApproximateKSVD(len(atoms), max_iter=ITERATIONS, tol=0.0, transform_n_nonzero_coefs=sparsity)
    model._initialize = lambda X: atoms.copy()
    return model.fit(X).components_


def first_of_each_class(data: Problem) -> np.ndarray:
    return np.concatenate([np.flatnonzero(data.y_train == c)[:PER_CLASS] for c in range(data.n_classes)])


def ksvd_rows(quick: bool, threads: int) -> Iterator[Row]:
    data = problem(quick)
    X, T = data.train, data.sparsities[1]
    D = np.ascontiguousarray(X[first_of_each_class(data)])
    n, m, K = *X.shape, len(D)

    def by_dictlearn() -> np.ndarray:
        model = dictlearn.DictionaryLearning(
            n_components=K, fit_algorithm="aksvd", n_nonzero_coefs=T, max_iter=ITERATIONS, dict_init=D, random_state=0
        )
        return model.fit(X).components_

    def judge(answers: Answers) -> dict[str, Verdict]:
        """All codes by one and the same OMP; what remains must be near the best: peers do not replace idle atoms."""
        rest = {k: np.linalg.norm(X - kit.omp(X, A, T) @ A) / np.linalg.norm(X) for k, A in answers.items()}
        best = min(rest.values())
        return {k: Verdict(bool(r <= 1.2 * best), f"relative error {r:.4f}") for k, r in rest.items()}

    yield Row(
        f"K-SVD, {ITERATIONS} iterations, {n} samples, {K} atoms, T = {T}",
        [
            Contestant("atomlearn", lambda: kit.ksvd(X, D, T, n_iter=ITERATIONS, n_threads=threads)[0], ours=True),
            Contestant("dictlearn (numba)", by_dictlearn, warms_up=True),
            Contestant("ksvd", lambda: ksvd_from(D, T, X)),
        ],
        judge,
        lambda answers: ITERATIONS * (m * K**2 + 2 * m * K * n + n * (K * T**2 + T**3 / 3) + 8 * m * n * T),
        "per iteration mK^2 + 2mKn + n(KT^2 + T^3/3) (codes) + 8mnT (atoms: residual, direction, coefficients)",
    )


def label_row(title: str, data: Problem, ours: BaseEstimator, other: Callable, threads: int) -> Row:
    """Training by two estimators, judged by their accuracy on test samples."""
    # dictlearn takes the first samples as atoms: so the first are equally many of each class.
    first = first_of_each_class(data)
    order = np.concatenate([first, np.setdiff1d(np.arange(len(data.train)), first)])
    X, y = np.ascontiguousarray(data.train[order]), data.y_train[order]
    ours.set_params(n_threads=threads)
    return Row(
        title,
        [
            Contestant("atomlearn", lambda: ours.fit(X, y), ours=True),
            Contestant("dictlearn (numba)", lambda: other().fit(X, y), warms_up=True),
        ],
        lambda answers: accuracies({k: model.score(data.test, data.y_test) for k, model in answers.items()}, 0.03),
    )


SCHEDULE = {"init_iter": 5, "max_iter": 15}


def dksvd_rows(quick: bool, threads: int) -> Iterator[Row]:
    data = problem(quick)
    T, K = data.sparsities[1], PER_CLASS * data.n_classes
    shared = {"atoms_per_class": PER_CLASS, "sparsity": T, "readout": "joint", "prep": "none"}
    yield label_row(
        f"D-KSVD training, 5 + 15 iterations, {K} atoms, T = {T}",
        data,
        DKSVDClassifier(beta=0.1, **shared, **SCHEDULE),
        lambda: classification.DDLClassifier(
            K, alpha=0.1, n_nonzero_coefs=T, init_method="trained", random_state=0, **SCHEDULE
        ),
        threads,
    )


def lcksvd_rows(quick: bool, threads: int) -> Iterator[Row]:
    data = problem(quick)
    # dictlearn cannot take more atoms per sample than a class has.
    T, K = min(data.sparsities[1], PER_CLASS), PER_CLASS * data.n_classes
    shared = {"atoms_per_class": PER_CLASS, "sparsity": T, "readout": "joint", "prep": "none"}
    yield label_row(
        f"LC-KSVD2 training, 5 + 15 iterations, {K} atoms, T = {T}",
        data,
        LCKSVDClassifier(variant=2, alpha=0.01, beta=0.2, **shared, **SCHEDULE),
        lambda: classification.LCDLClassifier(
            PER_CLASS, alpha=0.2, beta=0.01, n_nonzero_coefs=T, init_method="trained", random_state=0, **SCHEDULE
        ),
        threads,
    )
