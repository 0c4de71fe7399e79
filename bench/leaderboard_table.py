"""Leaderboard in Markdown from what bench/leaderboard left: `leaderboard_table.py FOLDER ATOMLEARN all|auto [DOCS]`.

Writes leaderboard.md and the critical-difference diagrams into FOLDER, and into results.md in the folder DOCS if that
is given. With `auto` only the section on `auto` is written; numbers of other methods then come from the page in DOCS.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy.stats import t

BEGIN, END = "<!-- bench/leaderboard: begin -->", "<!-- bench/leaderboard: end -->"
AUTO_BEGIN, AUTO_END = "<!-- bench/leaderboard auto: begin -->", "<!-- bench/leaderboard auto: end -->"
TITLES = {"linear": "Without kernel maps", "kernel": "With kernel maps to choose from"}
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


def seconds_table(seconds):
    names = sorted({method for spent in seconds.values() for method in spent})
    yield "| method | " + " | ".join(seconds) + " | all |"
    yield "|---|" + "---:|" * (len(seconds) + 1)
    rows = [(name, [spent.get(name, 0.0) for spent in seconds.values()]) for name in names]
    rows.append(("all", [sum(spent.values()) for spent in seconds.values()]))
    for name, spent in rows:
        yield f"| {name} | " + " | ".join(f"{value:.0f}" for value in [*spent, sum(spent)]) + " |"


def best_against_best(columns, baselines):
    """For every data set the best method with or without kernel maps, and the best baseline."""
    yield "| data set | best here | mean and 95 % interval | best of scikit-learn | mean | difference |"
    yield "|---|---|---:|---|---:|---:|"
    for name, others in baselines.items():
        here = [
            (np.mean(values), values, method, kind)
            for kind, column in columns.items()
            for method, values in column.get(name, {}).items()
        ]
        mean, values, method, kind = max(here, key=lambda entry: entry[0])
        other = max(others, key=lambda key: np.mean(others[key]))
        gap = 100 * (mean - np.mean(others[other]))
        label = method if kind == "linear" else f"{method}, kernel maps"
        low, high = (100 * (mean + sign * half_width(values)) for sign in (-1, 1))
        yield (
            f"| {name} | {label} | {100 * mean:.2f} ({low:.1f} to {high:.1f}) | {other} "
            f"| {100 * np.mean(others[other]):.2f} | {gap:+.2f} |"
        )


def page(folder, atomlearn):
    """All lines of the page."""
    titles = TITLES
    columns, seconds = {kind: {} for kind in titles}, {kind: {} for kind in titles}
    for kind in titles:
        for name in SETS:
            path = folder / f"{name}-{kind}.jsonl"
            if path.exists():
                columns[kind][name], seconds[kind][name] = read(path)
    baselines, spent = {}, {}
    for name in SETS:
        path = folder / f"{name}-sklearn.json"
        if path.exists():
            content = json.loads(path.read_text())
            baselines[name] = {key: value["accuracy"] for key, value in content.items()}
            spent[name] = {key: value["cpu_seconds"] for key, value in content.items()}

    yield "### Best against best\n"
    yield from best_against_best(columns, baselines)
    for kind, title in titles.items():
        if not columns[kind]:
            continue
        yield f"\n### {title}\n"
        yield from table(columns[kind])
        files = [str(folder / f"{name}-{kind}.jsonl") for name in columns[kind]]
        if len(files) > 1:
            picture = folder / f"leaderboard-{kind}.svg"
            command = [atomlearn, "rank", *files, "--svg", str(picture)]
            ranked = subprocess.run(command, check=True, capture_output=True, text=True)
            tests = ranked.stdout[ranked.stdout.index("Friedman") :].rstrip()
            yield f"\n![Mean ranks and critical difference]({picture.name})\n\n```text\n{tests}\n```"
        yield "\nCPU seconds of tuning, training and testing, all splits:\n"
        yield from seconds_table(seconds[kind])
    yield "\n### scikit-learn on the same splits\n"
    yield from table(baselines)
    yield "\nCPU seconds:\n"
    yield from seconds_table(spent)


def means_on_page(page, title):
    """Mean accuracies by data set and method from a table of the page; to one digit after the point."""
    lines = iter(page.partition(f"### {title}\n")[2].splitlines())
    head = next((line for line in lines if line.startswith("| method |")), "")
    sets = [name.strip() for name in head.split("|")[2:-2]]
    columns = {name: {} for name in sets}
    next(lines, None)
    for line in lines:
        if not line.startswith("|"):
            break
        method, *cells = (cell.strip(" *") for cell in line.split("|")[1:-2])
        for name, cell in zip(sets, cells):
            if cell != "-":
                columns[name][method] = float(cell.split()[0]) / 100
    return columns


def means_of_records(folder, kind):
    """The same from records."""
    paths = {name: folder / f"{name}-{kind}.jsonl" for name in SETS}
    return {
        name: {method: np.mean(values) for method, values in read(path)[0].items()}
        for name, path in paths.items()
        if path.exists()
    }


def auto_section(folder, others):
    """`auto` beside the best of the methods that were tuned, and its place among them."""
    yield "| data set | auto, this preprocessing | auto, no option | best, no kernel maps | best with | place | CPU s |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name in SETS:
        paths = [folder / f"{name}-{kind}.jsonl" for kind in ("auto", "auto-own")]
        if not all(path.exists() for path in paths):
            continue
        (given, spent), (own, spent_own) = map(read, paths)
        mean = np.mean(given["auto"])
        cells = [cell(given["auto"], False), cell(own["auto"], False)]
        field = []
        for kind in TITLES:
            column = others[kind].get(name, {})
            field += column.values()
            best = max(column, key=column.get, default=None)
            cells.append("-" if best is None else f"{best} {100 * column[best]:.1f}")
        # Pages have one digit; what is not above by that digit is not counted as better.
        better = sum(round(100 * value, 1) > round(100 * mean, 1) for value in field)
        place = f"{better + 1} of {len(field) + 1}" if field else "-"
        yield f"| {name} | " + " | ".join([*cells, place, f"{spent['auto']:.0f} / {spent_own['auto']:.0f}"]) + " |"


def replaced(page, begin, end, text):
    """The page with `text` between two marks."""
    before, _, rest = page.partition(begin)
    after = rest.partition(end)[2]
    return f"{before}{begin}\n{text}\n{end}{after}"


def main(folder, atomlearn, rows, docs=None):
    folder = Path(folder)
    results = Path(docs) / "results.md" if docs else None
    written = results.read_text() if results else ""
    of_kind = {kind: means_of_records(folder, kind) or means_on_page(written, title) for kind, title in TITLES.items()}
    auto = "\n".join(auto_section(folder, of_kind))
    text = "\n".join(page(folder, atomlearn)) if rows == "all" else ""
    (folder / "leaderboard.md").write_text(f"{auto}\n\n{text}\n")
    if results:
        written = replaced(written, AUTO_BEGIN, AUTO_END, auto)
        results.write_text(replaced(written, BEGIN, END, text) if rows == "all" else written)
        for picture in folder.glob("leaderboard-*.svg"):
            shutil.copy(picture, docs)


if __name__ == "__main__":
    main(*sys.argv[1:])
