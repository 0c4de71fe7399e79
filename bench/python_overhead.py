"""What calling from Python adds to the time of training in the core.

Fits LCDL-SV with LCDLSVClassifier.fit, from the array to the fitted estimator, and with the command line, which
reports the time of preprocessing and training alone, without reading the file. Both take the same samples and give
the same model, to the bit; they take turns, and the medians are compared. Needs the package built in release mode,
and the release program:

    pip install ./crates/atomlearn-py && cargo build --release
    python bench/python_overhead.py [--faces EYaleB_54x48.mat] [--repeats 15] [--threads 1]
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from atomlearn import LCDLSVClassifier, load
from scipy.io import loadmat
from sklearn.datasets import load_digits

ROOT = Path(__file__).parents[1]


def per_class(X, y, count):
    rng = np.random.default_rng(0)
    chosen = [rng.permutation(np.flatnonzero(y == c))[:count] for c in np.unique(y)]
    return np.ascontiguousarray(X[np.sort(np.concatenate(chosen))]), y[np.sort(np.concatenate(chosen))]


def data_sets(faces):
    X, y = load_digits(return_X_y=True)
    yield "digits, 100 per class", *per_class(X, y, 100), "unit"
    if faces.exists():
        content = loadmat(faces)
        X, y = content["X"].astype(float), content["y"].ravel()
        yield "EYaleB, 20 per class", *per_class(X if len(X) == len(y) else X.T, y, 20), "pca-uncentered:300,unit"
    else:
        print(f"SKIPPED: EYaleB, no file {faces}")


def by_command_line(program, data, prep, threads, model):
    options = ["--quiet", "--json", "--threads", str(threads)]
    command = [program, *options, "train", data, "--method", "lcdl-sv", "--prep", prep, "-o", model]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["seconds"]


def by_python(X, y, prep, threads):
    start = time.perf_counter()
    model = LCDLSVClassifier(prep=prep, n_threads=threads).fit(X, y)
    return time.perf_counter() - start, model


def main():
    default = Path(os.environ.get("ATOMLEARN_DATA", ".")) / "EYaleB_54x48.mat"
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--faces", type=Path, default=default)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--program", default=str(ROOT / "target" / "release" / "atomlearn"))
    args = parser.parse_args()
    print(f"{args.threads} threads, {args.repeats} repeats; medians (smallest) in seconds")
    with tempfile.TemporaryDirectory() as folder:
        data, file = f"{folder}/data.npz", f"{folder}/model"
        for name, X, y, prep in data_sets(args.faces):
            np.savez(data, X=X, y=y)
            core, python = [], []
            for _ in range(args.repeats + 1):  # the first turn warms up
                core.append(by_command_line(args.program, data, prep, args.threads, file))
                seconds, model = by_python(X, y, prep, args.threads)
                python.append(seconds)
            assert np.array_equal(load(file).decision_function(X), model.decision_function(X)), "not the same model"
            core, python = core[1:], python[1:]
            a, b = statistics.median(core), statistics.median(python)
            print(
                f"{name}: {X.shape[0]} x {X.shape[1]}  core {a:.4f} ({min(core):.4f})  "
                f"Python {b:.4f} ({min(python):.4f})  "
                f"added {100 * (b / a - 1):+.1f} % (smallest: {100 * (min(python) / min(core) - 1):+.1f} %)"
            )


if __name__ == "__main__":
    main()
