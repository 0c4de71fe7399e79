"""Commands killed at random moments: `crash.py [--atomlearn BINARY] [--times 50] [--seed 1] [--commands train,tune]`.

Every command runs once unbroken and then `--times` times with SIGKILL at a random moment of its life. After a kill
nothing partial may be visible under a final name; a command that can resume must then end with the same results as the
unbroken run. Prints a Markdown table; ends with exit code 1 and the reason at the first thing lost.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DIGITS = "digits.csv"
SILENT = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
# Name, arguments, files that must be whole or absent, file of records that must hold whole lines (the last may be cut).
COMMANDS = [
    ("train", ["train", DIGITS, "--method", "lcdl-sv", "-o", "model.alm"], ["model.alm"], None),
    (
        "compare",
        ["compare", DIGITS, "--methods", "crc,dpl,lcdl-sv", "--train-per-class", "15", "--repeats", "4"]
        + ["--records", "records.jsonl", "--resume", "--report", "report.html"],
        ["report.html"],
        "records.jsonl",
    ),
    (
        "tune",
        ["tune", DIGITS, "--method", "crc", "--folds", "8", "--records", "units.jsonl", "--resume", "-o", "best.toml"],
        ["best.toml"],
        "units.jsonl",
    ),
    (
        "features",
        [
            "features",
            "images",
            "--kind",
            "sift-pyramid",
            "--words",
            "64",
            "--descriptors",
            "5000",
            "-o",
            "features.npz",
        ],
        ["features.npz"],
        None,
    ),
    ("export", ["export", "given.alm", "--onnx", "model.onnx"], ["model.onnx"], None),
]
# Outputs that hold no time, so that every run must write the same bytes.
SAME_BYTES = ("features.npz", "model.onnx")
# What differs from run to run although nothing was lost.
VOLATILE = ("seconds", "date", "time", "started", "provenance")


def lasting(value):
    """The value without times."""
    if isinstance(value, dict):
        kept = {key: lasting(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if not any(word in key for word in VOLATILE)}
    return [lasting(item) for item in value] if isinstance(value, list) else value


def records(path):
    """The records of a file by key; a last line that was cut is left out."""
    lines = path.read_text().split("\n") if path.exists() else [""]
    found = [json.loads(line) for line in lines[:-1]]
    return {record["key"]: lasting(record) for record in found}


def prepare(binary, folder):
    """Data, pictures and a model for the commands to work on."""
    import numpy as np
    from sklearn.datasets import load_digits

    digits = load_digits()
    table = np.column_stack([digits.data, digits.target])
    names = ",".join([f"p{i}" for i in range(64)] + ["label"])
    np.savetxt(folder / DIGITS, table, fmt="%g", delimiter=",", header=names, comments="")
    for i in range(60):
        image = np.kron(digits.images[i] * 15, np.ones((8, 8))).astype(np.uint8)
        path = folder / "images" / str(digits.target[i] % 3) / f"{i}.pgm"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"P5 64 64 255\n" + image.tobytes())
    run = subprocess.run([binary, "train", DIGITS, "--method", "crc", "-o", "given.alm"], cwd=folder, **SILENT)
    run.check_returncode()


def lost(problem):
    sys.exit(f"LOST: {problem}")


def check(binary, inputs, command, times, dice):
    """Row of the table for one command."""
    name, arguments, outputs, log = command
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "whole"
        shutil.copytree(inputs, folder)
        start = time.monotonic()
        subprocess.run([binary, *arguments, "--quiet"], cwd=folder, check=True, **SILENT)
        duration = time.monotonic() - start
        whole = {output: (folder / output).read_bytes() for output in outputs}
        wanted = records(folder / log) if log else {}
        broken = kept = 0
        for i in range(times):
            folder = Path(scratch) / str(i)
            shutil.copytree(inputs, folder)
            process = subprocess.Popen([binary, *arguments, "--quiet"], cwd=folder, **SILENT)
            time.sleep(dice.uniform(0, duration))
            process.send_signal(signal.SIGKILL)
            broken += process.wait() == -signal.SIGKILL
            for output in outputs:
                path = folder / output
                if path.exists() and log is None and len(path.read_bytes()) != len(whole[output]):
                    lost(f"{name}: {output} is visible, and partial")
            if log:
                kept += len(records(folder / log))
                subprocess.run([binary, *arguments, "--quiet"], cwd=folder, check=True, **SILENT)
                if records(folder / log) != wanted:
                    lost(f"{name}: the resumed run differs from the unbroken one")
            else:
                subprocess.run([binary, *arguments, "--quiet"], cwd=folder, check=True, **SILENT)
            for output in outputs:
                if not (folder / output).exists():
                    lost(f"{name}: no {output} after running again")
                if output in SAME_BYTES and (folder / output).read_bytes() != whole[output]:
                    lost(f"{name}: {output} differs after running again")
            shutil.rmtree(folder)
        resumed = (
            f"{kept} of {times * len(wanted)} records kept, the rest made again" if log else "run again from nothing"
        )
        return f"| {name} | {duration:.2f} | {times} | {broken} | {resumed} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--atomlearn", default="target/release/atomlearn")
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--commands", default=",".join(name for name, *_ in COMMANDS), help="a comma list")
    options = parser.parse_args()
    chosen = [command for command in COMMANDS if command[0] in options.commands.split(",")]
    binary, dice = str(Path(options.atomlearn).resolve()), random.Random(options.seed)
    print("| command | s unbroken | kills | while running | afterwards |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs"
        inputs.mkdir()
        prepare(binary, inputs)
        for command in chosen:
            print(check(binary, inputs, command, options.times, dice), flush=True)


if __name__ == "__main__":
    main()
