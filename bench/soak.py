"""Hours of mixed work with a steady footprint: `soak.py [--minutes 60] [--atomlearn BINARY]`.

One process trains, predicts, saves and loads with every class of the Python package; `atomlearn serve` answers good and
broken requests meanwhile. Resident memory and open files of both are sampled every ten seconds. Ends with exit
code 1 if memory or open files grow: the median of the last third of the samples after warm-up is compared with that of
the first third. Needs Linux, the Python package with scikit-learn, and the program in release mode:

    cargo build --release --workspace && python bench/soak.py --minutes 60
"""

import argparse
import collections
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

from serve_abuse import PROGRAM, Abuse, broken, good, state

SAMPLE_EVERY = 10
# Allocators keep some memory from the first rounds of every method; what comes after this share of the time counts.
WARM_UP = 0.15
# Medians wander by a page here and there; a leak of one model in every round would be far beyond this.
GROWTH, SLACK_MIB = 1.05, 4


def work(seed, pause):
    """Trains and uses every class of the package, round after round, on samples of changing number; never ends."""
    import atomlearn
    import numpy as np
    from sklearn.datasets import load_digits

    # Python keeps the text of every warning it has shown.
    warnings.simplefilter("ignore")
    X, y = load_digits(return_X_y=True)
    classes = [getattr(atomlearn, name) for name in sorted(dir(atomlearn)) if name.endswith("Classifier")]
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        while True:
            for make in classes:
                train = rng.permutation(len(y))[: rng.integers(120, 400)]
                test = rng.permutation(len(y))[: rng.integers(1, 300)]
                model = make(n_threads=1).fit(X[train], y[train])
                labels = model.predict(X[test])
                model.save(path)
                assert np.array_equal(atomlearn.load(path).predict(X[test]), labels), (
                    f"{make.__name__} comes back changed"
                )
                try:
                    make().fit(X[train], y[train][:-1])
                except ValueError:
                    pass
                print(make.__name__, flush=True)
                time.sleep(pause)


def third(samples, last):
    """Median of the first or last third of what was sampled after warm-up."""
    kept = samples[round(len(samples) * WARM_UP) :]
    size = max(1, len(kept) // 3)
    return statistics.median(kept[-size:] if last else kept[:size])


def verdict(name, samples):
    """A line of the table, and what grew."""
    memory, files = [m for m, _ in samples], [f for _, f in samples]
    before, after = third(memory, False), third(memory, True)
    files_before, files_after = third(files, False), third(files, True)
    sizes = " | ".join(f"{size:.1f}" for size in (before, after, max(memory)))
    row = f"| {name} | {len(samples)} | {sizes} | {files_before:g} | {files_after:g} |"
    grew = []
    if after > before * GROWTH + SLACK_MIB:
        grew.append(f"{name}: memory grew from {before:.1f} to {after:.1f} MiB")
    if files_after > files_before:
        grew.append(f"{name}: open files grew from {files_before:g} to {files_after:g}")
    return row, grew


def ask(abuse, rng, pause):
    """One request in five is broken."""
    kind, make = ("broken", broken) if rng.random() < 0.2 else ("good", good)
    connection = abuse.connect()
    try:
        connection.sendall(make(rng))
        abuse.read(connection, kind)
    except OSError as error:
        abuse.answers[kind, type(error).__name__] += 1
    finally:
        connection.close()
    time.sleep(pause)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--atomlearn", default=PROGRAM)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.02, help="seconds of rest after every request and fit")
    parser.add_argument("--samples", help="write every sample to this CSV file")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.seed, options.pause)
    seconds = options.minutes * 60
    with tempfile.TemporaryFile("w+") as log:
        again = [sys.executable, __file__, "--work", "--seed", str(options.seed), "--pause", str(options.pause)]
        worker = subprocess.Popen(again, stdout=log)
        server = subprocess.Popen(
            [options.atomlearn, "--quiet", "serve", "--demo", "--port", "0"], stdout=subprocess.PIPE, text=True
        )
        try:
            port = int(server.stdout.readline().strip().rstrip("/").rpartition(":")[2])
            begin = time.monotonic()
            abuse, rng = Abuse(port, begin + seconds), random.Random(options.seed)
            samples, due = {"Python": [], "server": []}, begin
            while time.monotonic() < begin + seconds:
                ask(abuse, rng, options.pause)
                if time.monotonic() < due:
                    continue
                due += SAMPLE_EVERY
                for name, process in (("Python", worker), ("server", server)):
                    if process.poll() is not None:
                        sys.exit(f"{name} ended with {process.returncode}")
                    samples[name].append(state(process.pid))
        finally:
            for process in (worker, server):
                process.terminate()
                process.wait()
        log.seek(0)
        fits = collections.Counter(log.read().split())
    requests = sum(abuse.answers.values())
    print(f"{sum(fits.values())} fits of {len(fits)} classes, {requests} requests, {options.minutes:g} min")
    for (kind, answer), count in sorted(abuse.answers.items(), key=str):
        print(f"  {kind} {answer}: {count}")
    if options.samples:
        with open(options.samples, "w") as file:
            for name, taken in samples.items():
                file.writelines(f"{name},{memory:.2f},{files}\n" for memory, files in taken)
    print("| process | samples | MiB, first third | MiB, last third | MiB, most | files, first | files, last |")
    print("|---|---|---|---|---|---|---|")
    problems = abuse.problems[:5]
    for name, taken in samples.items():
        row, grew = verdict(name, taken)
        print(row)
        problems += grew
    if problems:
        sys.exit("FAILED: " + "; ".join(problems))


if __name__ == "__main__":
    main()
