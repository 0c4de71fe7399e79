"""LCDL-SV: training and the three rules, against the published algorithm and the best that NumPy can do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from atomlearn import LCDLSVClassifier

from .. import lcdl_numpy, lcdl_published
from ..data import Problem, problem
from ..timing import Answers, Contestant, Row, Verdict

# Iterations of the published algorithm that are run; the first differs from the others.
PUBLISHED_ITERATIONS = 3


def rows(quick: bool, threads: int) -> Iterator[Row]:
    data = problem(quick)
    Xt, y = np.asfortranarray(data.train.T), data.y_train
    ours = LCDLSVClassifier(prep="none", refit_svm=False, n_threads=threads)
    quoted = () if quick else (("authors' code in Octave", "71-79 CPU s; one thread, earlier, on another machine"),)

    yield Row(
        f"LCDL-SV training, {data.name}",
        [
            Contestant("atomlearn", lambda: ours.fit(data.train, y), ours=True),
            Contestant("tuned NumPy", lambda: lcdl_numpy.train(Xt, y)),
            Contestant(
                "published, NumPy",
                lambda: lcdl_published.train(Xt, y, PUBLISHED_ITERATIONS),
                part=published_part,
                note=f"{PUBLISHED_ITERATIONS} of {lcdl_numpy.MAX_ITER} iterations run",
            ),
        ],
        lambda answers: same_models(answers, data),
        lambda answers: training_flops(data, answers["atomlearn"].n_iter_),
        "per iteration mK^2 (graph) + 4Kf^2 + 4mf(K + r) + 2fr(K + f + r) + 3mr^2 + r^3/3 (code basis by way of the "
        "kernel, new dictionary) + 2mrn + 2m^2r + 3mr^2 + r^3/3 + 8rCn (codes, dictionary step) + rn^2 + 2rCn + "
        "2.5C 100^3/3 (SVM: 100 active samples, 2.5 steps a class); r = min(m, K), f = K - r",
        quoted,
    )

    fitted = {rule: LCDLSVClassifier(prep="none", refit_svm=False, rule=rule).fit(data.train, y) for rule in RULES}
    for estimator in fitted.values():
        estimator.set_params(n_threads=threads)
    model = lcdl_numpy.train(Xt, y)
    coder = lcdl_numpy.coder(model)
    test = np.asfortranarray(data.test.T)
    for rule in RULES:
        contestants = [
            Contestant("atomlearn", lambda rule=rule: fitted[rule].predict(data.test), ours=True),
            Contestant("tuned NumPy", lambda rule=rule: lcdl_numpy.scores(coder, test, rule).argmax(axis=1)),
        ]
        if rule == "fused":
            contestants.append(Contestant("published, NumPy", lambda: lcdl_published.predict(model, test)))
        yield Row(
            f"LCDL-SV test, {rule}, {len(data.test)} samples",
            contestants,
            same_labels,
            lambda answers, rule=rule: test_flops(data, rule),
            "n(4mK + 4K) for residuals (codes and residual terms by one map), n 2mC for the SVM, both if fused",
            (("authors' code in Octave", "2.5 CPU s; one thread, earlier, on another machine"),)
            if rule == "fused" and not quick
            else (),
        )


RULES = ("fused", "svm", "residual")


def published_part(run: lcdl_published.Run) -> float:
    """What fraction of the full number of iterations the measured ones are, by their own clock."""
    whole = run.seconds[0] + (lcdl_numpy.MAX_ITER - 1) * np.mean(run.seconds[1:])
    return sum(run.seconds) / whole


def same_models(answers: Answers, data: Problem) -> dict[str, Verdict]:
    """Same accuracy by every rule; the published algorithm, stopped early, against ours stopped as early."""
    test = data.test.T
    found = {}
    for name, answer in answers.items():
        if name == "atomlearn":
            found[name] = answer.model_.scores_by_rule(np.ascontiguousarray(data.test), 1)
        else:
            coder = lcdl_numpy.coder(answer.model if isinstance(answer, lcdl_published.Run) else answer)
            found[name] = {rule: lcdl_numpy.scores(coder, test, rule) for rule in RULES}
    right = {
        name: np.array([(scores[rule].argmax(axis=1) == data.y_test).mean() for rule in RULES])
        for name, scores in found.items()
    }
    early = LCDLSVClassifier(prep="none", refit_svm=False, max_iter=PUBLISHED_ITERATIONS, tol=0.0)
    D = early.fit(data.train, data.y_train).components_.T
    verdicts = {}
    for name, accuracy in right.items():
        text = "accuracy " + " / ".join(f"{100 * a:.2f}" for a in accuracy) + " %"
        if name == "published, NumPy":
            off = np.linalg.norm(answers[name].model.dictionary - D) / np.linalg.norm(D)
            verdicts[name] = Verdict(bool(off < 0.01), f"{text}, dictionary off by {off:.1g}")
        else:
            near = np.abs(accuracy - right.get("tuned NumPy", accuracy)).max() <= 0.01
            verdicts[name] = Verdict(bool(near), text)
    return verdicts


def same_labels(answers: Answers) -> dict[str, Verdict]:
    """At most one label in a hundred differs: the models were trained apart."""
    ours = np.asarray(answers["atomlearn"])
    shares = {name: float((np.asarray(labels) == ours).mean()) for name, labels in answers.items()}
    return {name: Verdict(share >= 0.99, f"{100 * share:.2f} % same labels") for name, share in shares.items()}


def training_flops(data: Problem, n_iter: int) -> float:
    n, m = data.train.shape
    C = data.n_classes
    K = C * lcdl_numpy.PER_CLASS
    r = min(m, K)
    f = K - r
    whole = K**3 / 3 + 2 * K**2 * r + 4 * K * r**2 - 4 * r**3 / 3 + r**2 * m + 2 * m * r * K
    split = 4 * K * f**2 + 4 * m * f * (K + r) + 2 * f * r * (K + f + r) + 3 * m * r**2 + r**3 / 3
    codes = 2 * m * r * n + 2 * m**2 * r + 3 * m * r**2 + r**3 / 3 + 8 * r * C * n
    svm = r * n**2 + 2 * r * C * n + 2.5 * C * 100**3 / 3
    return n_iter * (m * K**2 + min(whole, split) + codes + svm)


def test_flops(data: Problem, rule: str) -> float:
    n, m = data.test.shape
    C, K = data.n_classes, data.n_classes * lcdl_numpy.PER_CLASS
    residual, svm = 4 * m * K + 4 * K, 2 * m * C
    return n * {"residual": residual, "svm": svm, "fused": residual + svm}[rule]
