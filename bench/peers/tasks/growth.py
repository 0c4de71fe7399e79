"""How LCDL-SV's training time grows with samples, atoms, classes and features: exponents by regression."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from atomlearn import FitWarning, LCDLSVClassifier

from ..data import blobs
from ..timing import clock

ITERATIONS = 2
# What varies: samples, features, classes and atoms of every point, and the exponent that the formulas allow.
SERIES: dict[str, tuple[float, list[tuple[int, int, int, int]]]] = {
    "n": (
        1.0,
        [(1000, 64, 10, 100), (3162, 64, 10, 100), (10000, 64, 10, 100), (31623, 64, 10, 100), (100000, 64, 10, 100)],
    ),
    "K": (3.0, [(6000, 256, 10, 100), (6000, 256, 10, 300), (6000, 256, 10, 1000), (6000, 256, 10, 3000)]),
    "C": (1.1, [(5000, 128, 10, 1000), (5000, 128, 50, 1000), (5000, 128, 100, 1000), (5000, 128, 500, 1000)]),
    "m": (2.0, [(1000, 64, 10, 200), (1000, 250, 10, 200), (1000, 1000, 10, 200), (1000, 3000, 10, 200)]),
}
QUICK = {"n": [(500, 32, 5, 50), (2000, 32, 5, 50), (8000, 32, 5, 50)], "m": [(500, 32, 5, 50), (500, 128, 5, 50)]}
VARIES = {"n": 0, "m": 1, "C": 2, "K": 3}


def measure(quick: bool, threads: int) -> list[dict[str, Any]]:
    """Every series with its points and its exponent."""
    warnings.simplefilter("ignore", FitWarning)
    found = []
    for name, (allowed, points) in SERIES.items():
        points = QUICK.get(name, []) if quick else points
        if not points:
            continue
        times = [seconds(point, threads) for point in points]
        sizes = np.array([point[VARIES[name]] for point in points], dtype=float)
        slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
        last = np.log(times[-1] / times[-2]) / np.log(sizes[-1] / sizes[-2])
        found.append(
            {
                "varies": name,
                "points": [{"n": n, "m": m, "C": C, "K": K, "cpu": t} for (n, m, C, K), t in zip(points, times)],
                "exponent": float(slope),
                "last_exponent": float(last),
                "allowed": allowed,
            }
        )
    return found


def seconds(point: tuple[int, int, int, int], threads: int) -> float:
    """Processor time of a training, the best of some where it is short."""
    n, m, C, K = point
    X, y = blobs(n, m, C, 3)
    model = LCDLSVClassifier(
        atoms_per_class=K // C, max_iter=ITERATIONS, tol=0.0, refit_svm=False, prep="none", n_threads=threads
    )
    times = [clock(lambda: model.fit(X, y))[1].cpu]
    while sum(times) < 1.0 and len(times) < 5:
        times.append(clock(lambda: model.fit(X, y))[1].cpu)
    return min(times)
