"""How `auto` grows: `auto_scale.py`, CPU seconds and memory of one thread, every point in a process of its own.

Training of 1e4, 31623 and 1e5 made-up samples of 100 features with both views, and prediction of 1e5 samples by a
model of 2000 training samples. Times are also given for a processor whose dgemm makes 65 GFLOP/s per thread.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

POINTS = (10_000, 31_623, 100_000)
FEATURES, CLASSES = 100, 10
GFLOPS = 65.0


def point(task, n):
    import numpy as np
    from atomlearn import AutoClassifier
    from peers.data import blobs
    from peers.timing import dgemm_rates

    before = dgemm_rates()[0]
    samples, y = blobs(n, FEATURES, CLASSES, 3)
    estimator = AutoClassifier(n_threads=int(os.environ["RAYON_NUM_THREADS"]))
    if task == "predict":
        estimator.fit(samples, y)
        samples = np.tile(samples, (50, 1))
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu, wall = time.process_time(), time.perf_counter()
    estimator.fit(samples, y) if task == "train" else estimator.predict(samples)
    found = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rate = max(before, dgemm_rates()[0])
    chosen = estimator.model_.parts()["chosen"]
    print(
        json.dumps(
            {
                "n": len(samples),
                "dgemm": rate,
                "mib": peak / 1024,
                "mib_before": base / 1024,
                "chosen": np.asarray(chosen).tolist(),
            }
            | found
        )
    )


def run(task, n, threads=1):
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS")
    environment = os.environ | {name: str(threads) for name in names}
    done = subprocess.run(
        [sys.executable, __file__, "--point", task, str(n)], env=environment, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def main():
    import math

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--point", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.point:
        return point(args.point[0], int(args.point[1]))
    print(
        "| task | samples | CPU s | at 65 GFLOP/s | wall s | peak MiB | dgemm, GFLOP/s |\n|---|---|---|---|---|---|---|"
    )
    found = {}
    for task, n in [*(("train", n) for n in POINTS), ("predict", 2000)]:
        found[task, n] = f = run(task, n)
        scaled = f["cpu"] * f["dgemm"] / GFLOPS
        cells = [f"{f['cpu']:.1f}", f"{scaled:.1f}", f"{f['wall']:.1f}", f"{f['mib']:.0f}", f"{f['dgemm']:.0f}"]
        print(f"| {task} | {f['n']} | {' | '.join(cells)} |", flush=True)
    first, last = found["train", POINTS[0]], found["train", POINTS[-1]]
    exponent = math.log(last["cpu"] / first["cpu"], last["n"] / first["n"])
    print(f"\nGrowth exponent of training from 1e4 to 1e5 samples: {exponent:.2f}")


if __name__ == "__main__":
    main()
