"""The leaderboard as Markdown: `leaderboard_table.py FOLDER ATOMLEARN` over what bench/leaderboard left in FOLDER."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy.stats import t

SETS = ["digits", "usps", "eyaleb", "ar", "office", "lfw-deep", "lfw-pixels", "scene15"]


def read(path):
    """Accuracies by method in use, in order of splits, and CPU seconds of choosing, training and testing."""
    accuracy, seconds = {}, {}
    for line in path.read_text().splitlines():
        record = json.loads(line)
        rule = next(rule for rule in record["rules"] if rule["rule"] == record["rule"])
        accuracy.setdefault(record["method"], {})[record["split"]] = rule["accuracy"]
        tuning = record["tuned"]["cpu_seconds"] if record.get("tuned") else 0.0
        spent = tuning + record["train_cpu_seconds"] + record["test_cpu_seconds"]
        seconds[record["method"]] = seconds.get(record["method"], 0.0) + spent
    return {method: [values[split] for split in sorted(values)] for method, values in accuracy.items()}, seconds


def half_width(values):
    """Half of the 95 % interval of the mean."""
    if len(values) < 2:
        return float("nan")
    return t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))


def cell(values, best):
    text = f"{100 * np.mean(values):.1f} ± {100 * half_width(values):.1f}"
    return f"**{text}**" if best else text


def table(columns):
    """Methods by data sets; the best mean of each column in bold."""
    names = sorted({method for column in columns.values() for method in column})
    tops = {name: max(np.mean(values) for values in column.values()) for name, column in columns.items()}
    ranks = mean_ranks(columns, names)
    yield "| method | " + " | ".join(columns) + " | mean rank |"
    yield "|---|" + "---:|" * (len(columns) + 1)
    for method in sorted(names, key=lambda name: ranks[name]):
        cells = [
            cell(column[method], np.mean(column[method]) == tops[name]) if method in column else "-"
            for name, column in columns.items()
        ]
        yield f"| {method} | " + " | ".join(cells) + f" | {ranks[method]:.1f} |"


def mean_ranks(columns, names):
    """Mean rank by mean accuracy over the data sets that all methods were run on; ties share."""
    total = {name: [] for name in names}
    for column in columns.values():
        if len(column) < len(names):
            continue
        means = {method: np.mean(values) for method, values in column.items()}
        for method, mean in means.items():
            better = sum(other > mean for other in means.values())
            equal = sum(other == mean for other in means.values())
            total[method].append(better + (equal + 1) / 2)
    return {name: float(np.mean(values)) if values else float("inf") for name, values in total.items()}


def main(folder, atomlearn):
    folder = Path(folder)
    for kind, title in [("linear", "Without kernel maps"), ("kernel", "With kernel maps to choose from")]:
        columns, seconds = {}, {}
        for name in SETS:
            path = folder / f"{name}-{kind}.jsonl"
            if path.exists():
                columns[name], seconds[name] = read(path)
        if not columns:
            continue
        print(f"#### {title}\n")
        print("\n".join(table(columns)))
        print("\nCPU seconds of tuning, training and testing, all splits:\n")
        names = sorted({method for spent in seconds.values() for method in spent})
        print("| method | " + " | ".join(seconds) + " |\n|---|" + "---:|" * len(seconds))
        for method in names:
            print(f"| {method} | " + " | ".join(f"{spent.get(method, 0):.0f}" for spent in seconds.values()) + " |")
        whole = [str(folder / f"{name}-{kind}.jsonl") for name, column in columns.items() if len(column) == len(names)]
        if len(whole) > 1:
            ranked = subprocess.run([atomlearn, "rank", *whole], check=True, capture_output=True, text=True)
            tests = ranked.stdout[ranked.stdout.index("Friedman") :].rstrip()
            print(f"\nTests across the {len(whole)} data sets with all methods:\n\n```text\n{tests}\n```")
        print()
    baselines = {}
    for name in SETS:
        path = folder / f"{name}-sklearn.json"
        if path.exists():
            content = json.loads(path.read_text())
            baselines[name] = {key: value["accuracy"] for key, value in content.items()}
    if baselines:
        print("#### scikit-learn on the same splits\n")
        print("\n".join(table(baselines)))


if __name__ == "__main__":
    main(*sys.argv[1:])
