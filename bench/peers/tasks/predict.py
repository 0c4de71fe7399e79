"""Prediction from raw features, against the floor: PCA and a linear SVM in scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from atomlearn import LCDLSVClassifier, LinearSVMClassifier
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC

from ..data import problem, unit
from ..timing import Answers, Contestant, Row, Verdict

MANY = 1_000_000


def rows(quick: bool, threads: int) -> Iterator[Row]:
    data = problem(quick)
    r, y = data.n_components, data.y_train
    floor = make_pipeline(PCA(r, random_state=0), Normalizer(), LinearSVC(C=10.0, random_state=0))
    floor.fit(data.raw_train, y)
    prep = f"pca:{r},unit"
    ours = {
        "linear SVM": LinearSVMClassifier(prep=prep),
        "LCDL-SV svm": LCDLSVClassifier(prep=prep, rule="svm"),
        "LCDL-SV fused": LCDLSVClassifier(prep=prep),
    }
    for model in ours.values():
        model.fit(data.raw_train, y).set_params(n_threads=threads)

    for X, labels in ((data.raw_test[:1], data.y_test[:1]), (data.raw_test, data.y_test)):
        X = np.ascontiguousarray(X)
        yield row(f"{len(X)} x {X.shape[1]}", X, labels, ours, floor, r, data.n_classes)
    if quick:
        return

    # A million samples of all features would be 20 GB: the reduced features, resampled with a little noise.
    plain = make_pipeline(Normalizer(copy=False), LinearSVC(C=10.0, random_state=0)).fit(data.train.copy(), y)
    ours = {
        "linear SVM": LinearSVMClassifier(prep="unit"),
        "LCDL-SV svm": LCDLSVClassifier(prep="unit", rule="svm"),
        "LCDL-SV fused": LCDLSVClassifier(prep="unit"),
    }
    for model in ours.values():
        model.fit(data.train, y).set_params(n_threads=threads)
    rng = np.random.default_rng(2)
    source = rng.integers(len(data.test), size=MANY)
    X = data.test[source]
    for block in np.array_split(X, 100):
        block += 0.001 * rng.normal(size=block.shape)
    yield row(f"{MANY} x {X.shape[1]}, no PCA", unit(X), data.y_test[source], ours, plain, 0, data.n_classes)


def row(size: str, X: np.ndarray, labels: np.ndarray, ours: dict, floor: object, r: int, n_classes: int) -> Row:
    n, m = X.shape
    contestants = [
        Contestant(f"atomlearn, {name}", lambda model=model: model.predict(X), ours=True, aside=name != "LCDL-SV fused")
        for name, model in ours.items()
    ]

    def judge(answers: Answers) -> dict[str, Verdict]:
        """No worse than the floor by more than two points; a single sample shows nothing."""
        right = {name: float((np.asarray(found) == labels).mean()) for name, found in answers.items()}
        least = right["scikit-learn"] - 0.02
        return {k: Verdict(n == 1 or a >= least, f"accuracy {100 * a:.2f} %") for k, a in right.items()}

    K = 10 * n_classes
    reduced = 2 * m * r if r else 0
    return Row(
        f"prediction, {size}",
        [*contestants, Contestant("scikit-learn", lambda: floor.predict(X), note="PCA, LinearSVC: the floor")],
        judge,
        lambda answers: n * (reduced + 4 * (r or m) * K + 4 * K + 2 * (r or m) * n_classes),
        "n(2mr (PCA) + 4rK + 4K + 2rC), for the fused rule",
    )
