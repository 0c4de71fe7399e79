"""How honest `auto` is about itself: `auto_estimates.py [--splits 20] [--data FOLDER]`.

Over stratified splits of each set: leave-one-out accuracy against test accuracy, expected calibration error (15 bins)
of the probabilities of test samples, and how many of 5 % flipped training labels stand in the first 5 % of the
suspicious list. Needs the Python module; ATOMLEARN_AUTO_REFERENCE may name a NumPy version of the method, which then
gets the same splits.
"""

import argparse
import json
import os
from functools import partial
from pathlib import Path

import numpy as np
from atomlearn import AutoClassifier
from scipy.io import loadmat

# File, training samples per class, preprocessing as in the leaderboard.
SETS = {
    "digits": ("sklearn_digits.mat", 50, "unit"),
    "EYaleB": ("EYaleB_54x48.mat", 20, "pca-uncentered:300,unit"),
    "Scene15": ("Scene15_spm3000.mat", 100, "unit"),
}
BINS = 15
FLIPPED = 0.05


def splits(y, per_class, count):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        train = np.concatenate([np.sort(rng.permutation(np.flatnonzero(y == c))[:per_class]) for c in np.unique(y)])
        yield train, np.setdiff1d(np.arange(len(y)), train), rng


def calibration_error(probabilities, right):
    """Mean over bins of |accuracy - confidence|, weighted by their samples."""
    sure = probabilities.max(axis=1)
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    return sum(abs((right[bins == b] - sure[bins == b]).sum()) for b in range(BINS)) / len(right)


def flip(y, rng):
    """The labels with some changed to another class, and which."""
    wrong = rng.choice(len(y), round(FLIPPED * len(y)), replace=False)
    classes = np.unique(y)
    flipped = y.copy()
    for i in wrong:
        flipped[i] = rng.choice(classes[classes != y[i]])
    return flipped, wrong


def caught(log_probabilities, targets, positions, wrong):
    """Share of the wrong labels among as many samples with the least probable labels."""
    own = log_probabilities[np.arange(len(targets)), targets]
    first = positions[np.argsort(own, kind="stable")[: len(wrong)]]
    return len(set(first.tolist()) & set(wrong.tolist())) / len(wrong)


class Ours:
    """Trained by the module; leave-one-out results are parts of the model."""

    def __init__(self, x, y, prep):
        self.estimator = AutoClassifier(prep=prep).fit(x, y)
        parts = self.estimator.model_.parts()
        self.log_probabilities = parts["loo_log_probabilities"]
        self.positions, self.targets = parts["loo_samples"][:, :2].astype(int).T

    def accuracy(self):
        return float((self.log_probabilities.argmax(1) == self.targets).mean())

    def test(self, x):
        return np.exp(self.estimator.model_.scores(np.ascontiguousarray(x, dtype=float), 1))


class Reference:
    """A NumPy version, on samples that were prepared by the module."""

    def __init__(self, module, x, y, prep):
        self.prepare = AutoClassifier(prep=prep, max_readings=1).fit(x, y).model_.prepare
        self.model = module.Auto(views=("unit",)).fit(self.prepare(np.ascontiguousarray(x), 1), y)
        self.log_probabilities, self.targets = self.model.loo_log_proba, np.unique(y, return_inverse=True)[1]
        self.positions = np.arange(len(y))

    def accuracy(self):
        return float(self.model.loo_accuracy)

    def test(self, x):
        return np.exp(self.model.log_proba(self.prepare(np.ascontiguousarray(x), 1)))


def measure(train_model, x, y, per_class, count, flips):
    y = np.unique(y, return_inverse=True)[1]
    found = {"leave-one-out minus test": [], "calibration error": [], "test accuracy": []} | (
        {"caught": []} if flips else {}
    )
    for train, test, rng in splits(y, per_class, count):
        model = train_model(x[train], y[train])
        probabilities = model.test(x[test])
        right = (probabilities.argmax(1) == y[test]).astype(float)
        found["test accuracy"].append(right.mean())
        found["leave-one-out minus test"].append(model.accuracy() - right.mean())
        found["calibration error"].append(calibration_error(probabilities, right))
        if flips:
            flipped, wrong = flip(y[train], rng)
            model = train_model(x[train], flipped)
            found["caught"].append(caught(model.log_probabilities, model.targets, model.positions, wrong))
    return {name: {"mean": float(np.mean(v)), "sd": float(np.std(v))} for name, v in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--data", default=os.environ.get("ATOMLEARN_DATA", "../shared/data"))
    parser.add_argument("--only", choices=SETS, action="append")
    parser.add_argument("--json", help="write everything to this file")
    args = parser.parse_args()
    module = None
    if os.environ.get("ATOMLEARN_AUTO_REFERENCE"):
        from peers.tasks.auto import numpy_version

        module = numpy_version()
    results = {}
    print(
        "| set | who | test accuracy | leave-one-out minus test, points | calibration error | flipped labels caught |"
    )
    print("|---|---|---|---|---|---|")
    for name in args.only or SETS:
        file, per_class, prep = SETS[name]
        path = Path(args.data) / file
        if not path.exists():
            print(f"| {name} | no {file} in {args.data} | | | | |")
            continue
        content = loadmat(path)
        x, y = np.ascontiguousarray(content["X"].T, dtype=float), content["y"].ravel().astype(int)
        who = {"auto": partial(Ours, prep=prep)}
        if module is not None:
            who["NumPy"] = partial(Reference, module, prep=prep)
        for label, train_model in who.items():
            found = measure(train_model, x, y, per_class, args.splits, name == "digits")
            results[f"{name}, {label}"] = found
            gap = found["leave-one-out minus test"]
            cells = [
                f"{100 * found['test accuracy']['mean']:.2f} %",
                f"{100 * gap['mean']:+.2f} (sd {100 * gap['sd']:.2f})",
                f"{100 * found['calibration error']['mean']:.2f} %",
                f"{100 * found['caught']['mean']:.1f} %" if "caught" in found else "-",
            ]
            print(f"| {name} | {label} | {' | '.join(cells)} |", flush=True)
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
