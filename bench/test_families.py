#!/usr/bin/env python3
"""How often the correction of `compare` errs: the best of several methods against every other, corrected by Holm.

Needs nothing but Python. Every method has a true accuracy; what is measured of it has an error of standard deviation 1,
independent of the others (as hard a case as there is: errors on common samples cancel in differences). Two shares are
counted over many experiments: how often the truly best method is ruled out, and how often some method is said to be
lower than the one that came out best although it is not.

    bench/test_families.py [--repetitions 20000]
"""

from __future__ import annotations

import argparse
import math
import random

CASES = {
    "2 equal methods": [0.0] * 2,
    "3 equal methods": [0.0] * 3,
    "5 equal methods": [0.0] * 5,
    "10 equal methods": [0.0] * 10,
    "25 equal methods": [0.0] * 25,
    "2 equal methods, 8 far below": [0.0] * 2 + [-9.0] * 8,
    "5 equal methods, 20 far below": [0.0] * 5 + [-9.0] * 20,
    "10 methods, each half an error below the one before": [-0.5 * i for i in range(10)],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=20_000)
    repetitions = parser.parse_args().repetitions
    print("| methods | a truly best one is ruled out | with all pairs corrected | some equal one is called lower |")
    print("|---|---|---|---|")
    for name, truth in CASES.items():
        rng = random.Random(0)
        counts = [0, 0, 0]
        for _ in range(repetitions):
            measured = [value + rng.gauss(0, 1) for value in truth]
            for k, event in enumerate(events(truth, measured)):
                counts[k] += event
        shares = " | ".join(f"{100 * count / repetitions:.1f} %" for count in counts)
        print(f"| {name} | {shares} |")


def events(truth: list[float], measured: list[float]) -> tuple[bool, bool, bool]:
    """The truly best (the first) is ruled out; the same with all pairs corrected; something not lower is called so."""
    m = len(truth)
    best = max(range(m), key=measured.__getitem__)
    p = {j: two_sided((measured[best] - measured[j]) / math.sqrt(2)) for j in range(m) if j != best}
    lower = [j for j, corrected in holm(p).items() if corrected < 0.05]
    pairs = {(i, j): two_sided((measured[i] - measured[j]) / math.sqrt(2)) for i in range(m) for j in range(i)}
    all_pairs = holm(pairs)
    strict = best != 0 and all_pairs[(best, 0)] < 0.05
    return 0 in lower, strict, any(truth[j] >= truth[best] for j in lower)


def two_sided(z: float) -> float:
    return math.erfc(abs(z) / math.sqrt(2))


def holm(p: dict) -> dict:
    corrected, held = {}, 0.0
    for step, key in enumerate(sorted(p, key=p.__getitem__)):
        held = max(held, min(1.0, (len(p) - step) * p[key]))
        corrected[key] = held
    return corrected


if __name__ == "__main__":
    main()
