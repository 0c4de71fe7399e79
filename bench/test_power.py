#!/usr/bin/env python3
"""How often the tests of `compare` err, and how often they find a difference, on real data.

A data set of some size is drawn from the digits, two methods are run on a few splits of it, and their results are
tested; this is repeated many times. So that the truth is known, the better method is made worse at random until both
are equally good over all repetitions (what a test then calls a difference is an error), or until one is ahead by
three points (what it then calls a difference is a find). It is made worse in two ways: anew on every split, or on the
same samples in all of them.

    bench/test_power.py [--repetitions 200]

prints the table of docs/measurements/statistics.md. `crossed` is the formula at the head of
crates/atomlearn-lab/src/stats/crossed.rs; crates/atomlearn-py/tests/test_statistics.py checks that the two agree.
"""

import argparse
from itertools import combinations

import numpy as np
from scipy import stats
from sklearn.datasets import load_digits

LEVEL = 0.05
# Name, samples of the data set, splits.
PROTOCOLS = [
    ("5 per class, 5 splits", 900, lambda y, random: per_class(y, 5, 5, random)),
    ("20 per class, 5 splits", 900, lambda y, random: per_class(y, 20, 5, random)),
    ("30 per class, 5 splits", 900, lambda y, random: per_class(y, 30, 5, random)),
    ("10 per class, 2 splits", 900, lambda y, random: per_class(y, 10, 2, random)),
    ("5 folds, twice", 300, lambda y, random: folds(y, 5, 2, random)),
    ("5 folds, twice", 900, lambda y, random: folds(y, 5, 2, random)),
]


def per_class(y, count, splits, random):
    """Splits with so many training samples of every class."""
    for _ in range(splits):
        chosen = [random.permutation(np.flatnonzero(y == c))[:count] for c in np.unique(y)]
        train = np.concatenate(chosen)
        yield train, np.setdiff1d(np.arange(len(y)), train)


def folds(y, count, repeats, random):
    """Stratified cross-validation."""
    for _ in range(repeats):
        fold = np.empty(len(y), int)
        for c in np.unique(y):
            places = random.permutation(np.flatnonzero(y == c))
            fold[places] = (np.arange(len(places)) + random.integers(count)) % count
        for k in range(count):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def unit(x):
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)


def nearest(x, y, test):
    return y[(test @ x.T).argmax(1)]


def ridge(x, y, test):
    return (test @ x.T @ np.linalg.solve(x @ x.T + 0.1 * np.eye(len(x)), np.eye(10)[y])).argmax(1)


def kernel_ridge(x, y, test):
    def kernel(a, b):
        return np.exp(-4 * (1 - a @ b.T))

    return (kernel(test, x) @ np.linalg.solve(kernel(x, x) + 0.01 * np.eye(len(x)), np.eye(10)[y])).argmax(1)


def nearest_mean(x, y, test):
    means = np.array([x[y == c].mean(0) for c in range(10)])
    return (test @ means.T - 0.5 * (means**2).sum(1)).argmax(1)


METHODS = [nearest, ridge, kernel_ridge, nearest_mean]


def crossed(differences, tested):
    """p-value of the test over samples and splits, from a table of splits by samples."""
    splits, sizes = len(tested), tested.sum(1)
    weight = tested / (splits * sizes[:, None])
    means = (differences * tested).sum(1) / sizes
    mean = means.mean()
    residual = weight * (differences - mean)
    n = tested.any(0).sum()
    v_samples = n / (n - 1) * (residual.sum(0) ** 2).sum()
    v_splits = ((means - mean) ** 2).sum() / (splits * (splits - 1))
    variance = max(v_samples + v_splits - (residual**2).sum(), v_samples, v_splits)
    if variance == 0:
        return 1.0 if mean == 0 else 2 * 0.5**n
    df = variance**2 / (v_splits**2 / (splits - 1) + v_samples**2 / (n - 1))
    return 2 * stats.t.sf(abs(mean) / np.sqrt(variance), max(df, splits - 1))


def t_over_splits(differences, tested, overlap):
    """p-value of the t-test over splits; with overlap = n_test / n_train, the corrected resampled one."""
    splits = len(tested)
    means = (differences * tested).sum(1) / tested.sum(1)
    scale = np.sqrt(means.var(ddof=1) * (1 / splits + overlap))
    return 2 * stats.t.sf(abs(means.mean()) / scale, splits - 1) if scale > 0 else float(means.mean() == 0)


def over_samples(differences, tested):
    """p-value of the test over samples alone: what each got on average over the splits."""
    seen = tested.any(0)
    average = (differences * tested).sum(0)[seen] / tested.sum(0)[seen]
    return 2 * stats.norm.sf(abs(average.mean()) / (average.std(ddof=1) / np.sqrt(seen.sum()) + 1e-30))


TESTS = {
    "crossed": lambda d, t: crossed(d, t),
    "corrected resampled t": lambda d, t: t_over_splits(d, t, t.mean() / (1 - t.mean())),
    "t over splits": lambda d, t: t_over_splits(d, t, 0.0),
    "over samples": over_samples,
}


def experiment(x, y, size, protocol, random):
    """Which samples were tested in each split, and which of them each method got right."""
    chosen = random.choice(len(y), size, replace=False)
    x, y = x[chosen], y[chosen]
    tested, right = [], []
    for train, test in protocol(y, random):
        tested.append(np.isin(np.arange(size), test))
        hits = np.zeros((len(METHODS), size), bool)
        hits[:, test] = [method(x[train], y[train], x[test]) == y[test] for method in METHODS]
        right.append(hits)
    return chosen, np.array(tested), np.array(right).transpose(1, 0, 2)


def rejected(experiments, ahead, random):
    """Share of experiments in which each test sees a difference where one method is ahead by so much."""
    accuracy = np.mean([right.sum((1, 2)) / tested.sum() for _, tested, right in experiments], axis=0)
    found, total = dict.fromkeys(TESTS, 0), 0
    luck = random.random((len(METHODS), 2000))
    for a, b in combinations(range(len(METHODS)), 2):
        a, b = (a, b) if accuracy[a] >= accuracy[b] else (b, a)
        surplus = accuracy[a] - accuracy[b] - ahead
        lowered = a if surplus > 0 else b
        chance = abs(surplus) / accuracy[lowered]
        for anew in (True, False):
            for chosen, tested, right in experiments:
                draw = random.random(tested.shape) if anew else luck[lowered][chosen]
                hits = right.astype(float)
                hits[lowered] *= draw >= chance
                for name, test in TESTS.items():
                    found[name] += test(hits[a] - hits[b], tested) < LEVEL
                total += 1
    return {name: count / total for name, count in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=200)
    repetitions = parser.parse_args().repetitions
    x, y = load_digits(return_X_y=True)
    x = unit(x)
    columns = " | ".join(TESTS)
    print(f"| protocol | samples | methods differ by | {columns} |\n|---|---|---|{'---|' * len(TESTS)}")
    for name, size, protocol in PROTOCOLS:
        random = np.random.default_rng(1)
        experiments = [experiment(x, y, size, protocol, random) for _ in range(repetitions)]
        for ahead, words in [(0.0, "nothing"), (0.03, "3 points")]:
            shares = rejected(experiments, ahead, random)
            cells = " | ".join(f"{100 * shares[test]:.1f} %" for test in TESTS)
            print(f"| {name} | {size} | {words} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
