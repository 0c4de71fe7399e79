"""Online dictionary learning: the same lasso objective after as many samples, from the same first atoms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from atomlearn import ODLClassifier, kit
from sklearn.decomposition import MiniBatchDictionaryLearning

from ..data import Problem, problem
from ..optional import peer
from ..timing import Answers, Contestant, Row, Verdict

spams = peer("spams")

PER_CLASS = 10
BATCH = 64
PASSES = 10
LAMBDAS = (0.03, 0.1, 0.2)


def first_atoms(data: Problem) -> np.ndarray:
    """The atoms that our class starts from, so that all start alike."""
    model = ODLClassifier(prep="none", atoms_per_class=PER_CLASS, max_iter=0)
    return np.ascontiguousarray(model.fit(data.train, data.y_train).components_)


def objective(X: np.ndarray, D: np.ndarray, lam: float) -> float:
    """Mean over the samples, all codes by one and the same lasso; atoms longer than one are shortened first."""
    D = D / np.maximum(1.0, np.linalg.norm(D, axis=1, keepdims=True))
    Z = kit.lasso(X, D, lam)
    Z = np.asarray(Z.todense()) if hasattr(Z, "todense") else np.asarray(Z)
    return float((0.5 * np.sum((X - Z @ D) ** 2) + lam * np.abs(Z).sum()) / len(X))


def rows(quick: bool, threads: int) -> Iterator[Row]:
    data = problem(quick)
    X, y = data.train, data.y_train
    D = first_atoms(data)
    (n, m), K = X.shape, len(D)
    # Peers take batches in the order of the samples, which ours shuffles: all see them shuffled.
    shuffled = np.ascontiguousarray(X[np.random.default_rng(0).permutation(n)])
    columns, atoms = np.asfortranarray(shuffled.T), np.asfortranarray(D.T)
    # Full batches only: SPAMS counts iterations, and each takes a whole batch.
    updates = PASSES * -(-n // BATCH)

    def by_spams(lam: float) -> np.ndarray:
        found = spams.trainDL(
            columns,
            D=atoms.copy(order="F"),
            lambda1=lam,
            mode=2,
            iter=updates,
            batchsize=BATCH,
            numThreads=threads,
            verbose=False,
        )
        return np.ascontiguousarray(found.T)

    def by_sklearn(lam: float) -> np.ndarray:
        model = MiniBatchDictionaryLearning(
            n_components=K,
            alpha=lam,
            batch_size=BATCH,
            max_iter=PASSES,
            fit_algorithm="lars",
            dict_init=D.copy(),
            max_no_improvement=None,
            tol=0.0,
            random_state=0,
        )
        return model.fit(shuffled).components_

    def ours(lam: float) -> np.ndarray:
        model = ODLClassifier(
            lam=lam,
            prep="none",
            atoms_per_class=PER_CLASS,
            batch_size=BATCH,
            max_iter=PASSES,
            tol=0.0,
            n_threads=threads,
        )
        return model.fit(X, y).components_

    def judge(answers: Answers, lam: float) -> dict[str, Verdict]:
        found = {k: objective(X, A, lam) for k, A in answers.items()}
        best = min(found.values())
        return {k: Verdict(bool(v <= 1.02 * best), f"objective {v:.5f}") for k, v in found.items()}

    for lam in LAMBDAS:
        yield Row(
            f"ODL, lambda {lam:g}, {PASSES} passes over {n} samples, {K} atoms, batches of {BATCH}",
            [
                Contestant("atomlearn, with its classifier", lambda lam=lam: ours(lam), ours=True),
                Contestant("SPAMS, dictionary alone", lambda lam=lam: by_spams(lam)),
                Contestant("scikit-learn, dictionary alone", lambda lam=lam: by_sklearn(lam)),
            ],
            lambda answers, lam=lam: judge(answers, lam),
            lambda answers: updates * m * K**2 * 2.5 + PASSES * n * 2 * m * K,
            "per batch mK^2 (Gram matrix) + 1.5 mK^2 (atoms); per sample 2mK (correlations); lasso not counted",
        )
