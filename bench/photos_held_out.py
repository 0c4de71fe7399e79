#!/usr/bin/env python3
"""How good `atomlearn auto FOLDER` is on photos that it has not seen.

    bench/photos_held_out.py FOLDER [--per-class 30] [--seeds 5] [--onnx FILE] [--demand 84] [--program PATH]
    bench/photos_held_out.py FACES.mat --per-class 10        (pictures that stand in a file are written out first)

For every seed a split file is made with so many images of every class for training and all others held out. `auto`
chooses its features and trains on the training part alone; `evaluate` counts on the held-out part, once. Nothing is
chosen by what it counts. Printed are, for every seed, what was chosen, the accuracy that `auto` promised (leave-one-out
on the training part), that on the held-out part, and the processor seconds of `auto`; then mean and standard deviation
over the seeds. The exit code is 1 if the mean is below what is demanded.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", type=Path)
    parser.add_argument("--per-class", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--onnx", type=Path, help="a network that `auto` may choose, too")
    parser.add_argument("--features", help="these alone, instead of the best")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--demand", type=float, default=0.0, help="least mean accuracy in per cent")
    parser.add_argument("--program", default="target/release/atomlearn")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        run(args, Path(place))


def run(args: argparse.Namespace, place: Path) -> None:
    folder = args.pictures if args.pictures.is_dir() else written_out(args.pictures, place / "pictures")
    choice = [] if args.onnx is None else ["--onnx", args.onnx]
    choice += [] if args.features is None else ["--features", args.features]
    print("| seed | chosen | promised % | held out % | images | CPU s |\n|---|---|---|---|---|---|")
    accuracies = []
    for seed in range(args.seeds):
        splits, model = place / f"{seed}.json", place / f"{seed}.model"
        # The cheapest comparison there is: what it draws is all that is wanted of it.
        drawn = ["compare", folder, "--features", "pixels", "--size", "4x4", "--methods", "ridge", "--repeats", 1]
        atomlearn(args, *drawn, "--train-per-class", args.per_class, "--seed", seed, "--save-splits", splits)
        before = children_seconds()
        trained = atomlearn(args, "auto", folder, "--splits", splits, *choice, "-o", model)
        cpu = children_seconds() - before
        tested = atomlearn(args, "evaluate", model, folder, "--splits", splits)
        title = atomlearn(args, "inspect", model)["features"]["title"]
        model.unlink()
        accuracies.append(100 * tested["accuracy"])
        promised = 100 * trained["loo"]["accuracy"]
        print(
            f"| {seed} | {title} | {promised:.1f} | {accuracies[-1]:.1f} | {tested['samples']} | {cpu:.0f} |",
            flush=True,
        )
    mean = statistics.mean(accuracies)
    spread = f" ± {statistics.stdev(accuracies):.1f}" if len(accuracies) > 1 else ""
    print(f"\nheld out: {mean:.1f}{spread} %, mean and standard deviation over {args.seeds} seeds")
    if mean < args.demand:
        sys.exit(f"below the {args.demand} % that are demanded")


def atomlearn(args: argparse.Namespace, *words: Any) -> Any:
    """What the program says."""
    line = [args.program, "--json", "--threads", str(args.threads), *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, env=os.environ)
    if done.returncode != 0:
        sys.exit(f"{' '.join(line)}\n{done.stderr}")
    return json.loads(done.stdout)


def children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def written_out(file: Path, folder: Path) -> Path:
    """Grey pictures that stand in a .mat file (`X` features x samples, `y`, `rows`, `cols`), one PGM file each."""
    from scipy.io import loadmat

    content = loadmat(file)
    rows, cols = (int(content[name].squeeze()) for name in ("rows", "cols"))
    for i, (pixels, label) in enumerate(zip(content["X"].T, content["y"].ravel())):
        place = folder / f"{int(label):03}"
        place.mkdir(parents=True, exist_ok=True)
        image = pixels.reshape(cols, rows).T.astype("uint8")
        (place / f"{i:05}.pgm").write_bytes(b"P5\n%d %d\n255\n" % (cols, rows) + image.tobytes())
    return folder


if __name__ == "__main__":
    main()
