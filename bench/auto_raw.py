"""`atomlearn auto` on raw files, without any option: `auto_raw.py [--eyaleb EYaleB.mat] [--splits 5] [--program PATH]`.

Training and test samples of every split go to files of their own, as a user would have them: tables with a header and a
column `label`, and for the faces `.npz`. The program is run as users run it: `auto TRAIN -o MODEL --json`, then
`predict MODEL TEST`. Printed are the mean test accuracy over the splits, the accuracy that `auto` had promised
(leave-one-out on training samples), what is demanded, and the seconds of one training. The exit code is 1 if a demand
is not met.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.io import loadmat
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

ROOT = Path(__file__).resolve().parent.parent


def sets(eyaleb):
    """Name, samples, labels, training samples per class (or their share), demanded accuracy in per cent."""
    wine, cancer, digits = load_wine(), load_breast_cancer(), load_digits()
    yield "wine, 20 per class", wine.data, wine.target, 20, 97.0
    yield "breast cancer, half", cancer.data, cancer.target, 0.5, 96.5
    yield "digits, 50 per class", digits.data, digits.target, 50, 97.8
    if eyaleb:
        faces = loadmat(eyaleb)
        yield "EYaleB pixels, 20 per class", faces["X"].T, faces["y"].ravel(), 20, 96.5


def split(y, train, seed):
    """Places of training and test samples."""
    places = np.arange(len(y))
    if train < 1:
        return train_test_split(places, train_size=train, stratify=y, random_state=seed)
    rng = np.random.default_rng(seed)
    chosen = np.concatenate([rng.choice(places[y == c], train, replace=False) for c in np.unique(y)])
    return np.sort(chosen), np.setdiff1d(places, chosen)


def write(path, x, y):
    """A table with a header; wide samples as `.npz`."""
    if path.suffix == ".npz":
        np.savez(path, X=x, y=y)
        return
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([f"f{i}" for i in range(x.shape[1])] + ["label"])
        table.writerows([*map(repr, map(float, row)), label] for row, label in zip(x, y))


def run(program, *words):
    """Standard output of a run."""
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{program} {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def measure(program, folder, x, y, train, seed):
    """Test accuracy, promised accuracy and seconds of one split."""
    ending = ".npz" if x.shape[1] > 1000 else ".csv"
    files = [folder / f"{name}{ending}" for name in ("train", "test")]
    for path, places in zip(files, split(y, train, seed)):
        write(path, x[places], y[places])
    found = json.loads(run(program, "auto", files[0], "-o", folder / "auto.model", "--quiet", "--json"))
    rows = list(csv.DictReader(run(program, "predict", folder / "auto.model", files[1], "--quiet").splitlines()))
    truth = y[split(y, train, seed)[1]]
    right = np.mean([row["label"] == str(label) for row, label in zip(rows, truth, strict=True)])
    return 100 * right, 100 * found["loo"]["accuracy"], found["seconds"]


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eyaleb", help="EYaleB as a .mat file with X (pixels x images) and y; left out if not given")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--program", default=str(ROOT / "target/release/atomlearn"))
    args = parser.parse_args()
    print(f"| data | test accuracy % | promised % | demanded % | s |\n|{'---|' * 5}")
    missed = False
    for name, x, y, train, demanded in sets(args.eyaleb):
        with tempfile.TemporaryDirectory() as folder:
            results = [measure(args.program, Path(folder), x, y, train, seed) for seed in range(args.splits)]
        accuracy, promised, seconds = np.mean(results, axis=0)
        spread = np.std([result[0] for result in results])
        missed |= accuracy < demanded
        print(f"| {name} | {accuracy:.2f} ± {spread:.2f} | {promised:.2f} | {demanded} | {seconds:.2f} |", flush=True)
    if not args.eyaleb:
        print("EYaleB is left out: name its file with --eyaleb", file=sys.stderr)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
