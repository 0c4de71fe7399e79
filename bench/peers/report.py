"""Results as Markdown and as a picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any, Optional

BEGIN, END = "<!-- bench/run: begin -->", "<!-- bench/run: end -->"

Line = dict[str, Any]


def lines(results: dict[str, Any]) -> Iterator[Line]:
    """Rows of all tasks, each with its times of one thread and of all."""
    for done in results["tasks"].values():
        everywhere = {row["title"]: row for row in done.get("all", {}).get("rows", [])}
        for row in done["one"]["rows"]:
            of_dgemm = done["all"]["dgemm_wall"] / done["one"]["dgemm_wall"] if "all" in done else None
            yield row | {
                "all": everywhere.get(row["title"]),
                "dgemm": done["one"]["dgemm"],
                "gain of dgemm": of_dgemm,
            }


def ours(row: Line) -> Optional[Line]:
    return next((c for c in row["contestants"] if c["ours"] and not c["aside"] and c["agrees"]), None)


def best_peer(row: Line, time: str = "cpu_best") -> Optional[Line]:
    peers = [c for c in row["contestants"] if not c["ours"] and c["agrees"]]
    return min(peers, key=lambda c: c[time], default=None)


def ratio(row: Line, time: str = "cpu_best") -> Optional[float]:
    """How many times as long the best peer takes."""
    a, b = ours(row), best_peer(row, time)
    return b[time] / a[time] if a and b else None


def bound(row: Line) -> Optional[float]:
    """Fraction of our time that the arithmetic alone would take at the measured rate."""
    a = ours(row)
    return row["flops"] / (1e9 * row["dgemm"]) / a["cpu_best"] if a and row["flops"] else None


def gain(row: Line) -> Optional[float]:
    """How many times as fast all processors are as one, by the clock on the wall."""
    one, everywhere = ours(row), row["all"] and ours(row["all"])
    return one["wall_best"] / everywhere["wall_best"] if one and everywhere else None


def page(results: dict[str, Any]) -> str:
    about = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    rates = [done["one"]["dgemm"] for done in results["tasks"].values() if "dgemm" in done["one"]]
    rate = f"{min(rates):.0f} to {max(rates):.0f} GFLOP/s" if rates else "not measured"
    text = [
        f"{taken(results)}. {about['cpu']}, {about['processors']} processors, "
        f"{about['system']}; dgemm on one thread {rate}. Load average when tasks began: {load(results)}. {versions}.",
        "",
        "| task | atomlearn, CPU s | best peer, CPU s | ratio | of the bound | all processors: wall ratio | own gain "
        "| gain of dgemm |",
        "|---|---|---|---|---|---|---|---|",
    ]
    rows = list(lines(results))
    for row in rows:
        a, b = ours(row), best_peer(row)
        everywhere = row["all"] and ratio(row["all"], "wall_best")
        cells = [
            row["title"],
            seconds(a["cpu_best"]) if a else "not timed: its answer disagrees",
            f"{seconds(b['cpu_best'])} ({b['name']})" if b else "no peer with the same answer",
            number(ratio(row), "{:.1f}"),
            number(bound(row), "{:.0%}"),
            number(everywhere, "{:.1f}"),
            number(gain(row), "{:.2f}"),
            number(row["gain of dgemm"], "{:.2f}"),
        ]
        text.append(f"| {' | '.join(cells)} |")
    for task, done in results["tasks"].items():
        if "missing" in done["one"]:
            text.append(f"| {task} | not run: {done['one']['missing']} | | | | | | |")
    text += growth_table(results)
    text += ["", "Everybody, best and median of the repeats:", ""]
    text += ["| task | who | CPU s, one thread | wall s, all processors | answer |", "|---|---|---|---|---|"]
    for row in rows:
        text += contestants(row)
    text += ["", "Bounds: least arithmetic of the best known formulation over the dgemm rate of the same process.", ""]
    text += [f"- {row['title']}: {row['flops'] / 1e9:.3g} GFLOP = {row['formula']}" for row in rows if row["flops"]]
    return "\n".join(text) + "\n"


def taken(results: dict[str, Any]) -> str:
    """When the tasks were measured, and of which versions."""
    times = sorted(done["time"] for done in results["tasks"].values())
    commits = sorted({done["commit"] for done in results["tasks"].values()})
    span = times[0] if times[:1] == times[-1:] else " to ".join(times[:1] + times[-1:])
    return f"{span}, commit {' and '.join(commits)}"


def load(results: dict[str, Any]) -> str:
    """How busy the machine was."""
    loads = [
        done[mode]["load"]
        for done in results["tasks"].values()
        for mode in ("one", "all")
        if "load" in done.get(mode, {})
    ]
    return f"{min(loads):.1f} to {max(loads):.1f}" if loads else "unknown"


def contestants(row: Line) -> Iterator[str]:
    everywhere = {c["name"]: c for c in row["all"]["contestants"]} if row["all"] else {}
    for c in row["contestants"]:
        cpu, wall = "not timed", ""
        if c["agrees"]:
            cpu = f"{seconds(c['cpu_best'])}, {seconds(c['cpu_median'])}"
            other = everywhere.get(c["name"])
            if other and other["agrees"]:
                wall = f"{seconds(other['wall_best'])}, {seconds(other['wall_median'])}"
        name = f"{c['name']} ({c['note']})" if c["note"] else c["name"]
        verdict = c["detail"] if c["agrees"] or "part" not in c else f"disagrees: {c['detail']}"
        yield f"| {row['title']} | {name} | {cpu} | {wall} | {verdict} |"
    for name, times in row["quoted"]:
        yield f"| {row['title']} | {name} | quoted: {times} | | |"


def growth_table(results: dict[str, Any]) -> list[str]:
    series = results["tasks"].get("growth", {}).get("one", {}).get("growth", [])
    if not series:
        return []
    text = ["", "Growth of LCDL-SV training, two iterations on made-up samples, CPU seconds of one thread:", ""]
    text += ["| grows | points | exponent, all points | last two | allowed |", "|---|---|---|---|---|"]
    for entry in series:
        fixed = ", ".join(f"{k} {entry['points'][0][k]}" for k in "nmCK" if k != entry["varies"])
        points = ", ".join(f"{p[entry['varies']]}: {seconds(p['cpu'])}" for p in entry["points"])
        last = f"{entry['exponent']:.2f} | {entry['last_exponent']:.2f} | {entry['allowed']}"
        text.append(f"| {entry['varies']} ({fixed}) | {points} | {last} |")
    return text


def seconds(value: float) -> str:
    if value < 1e-3:
        return f"{1e6 * value:.0f} us"
    return f"{value:.2f}" if value >= 1 else f"{value:.2g}"


def number(value: Optional[float], style: str) -> str:
    return style.format(value) if value is not None else "-"


def bars(results: dict[str, Any]) -> str:
    """One bar per row: how many times as long the best peer takes, on a logarithmic axis that starts at equal."""
    rows = [(row["title"], r) for row in lines(results) if (r := ratio(row))]
    height, left, width, most = 22, 430, 330, max([r for _, r in rows] + [10.0])
    least = min([r for _, r in rows] + [1.0])
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))

    def at(value: float) -> float:
        return left + width * (math.log10(value) - low) / (high - low)

    total = height * len(rows) + 40
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 60} {total}" font-family="sans-serif" '
        f'font-size="12" role="img"><title>CPU time of the best peer over that of atomlearn</title>',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for power in range(low, high + 1):
        x = at(10.0**power)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="5" y2="{total - 30}" stroke="#ddd"/>')
        out.append(f'<text x="{x:.1f}" y="{total - 14}" text-anchor="middle" fill="#555">{10.0**power:g}</text>')
    for i, (title, value) in enumerate(rows):
        y, x0, x1 = 8 + height * i, at(min(value, 1.0)), at(max(value, 1.0))
        colour = "#2b6cb0" if value >= 1 else "#c05621"
        out.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{escape(title)}</text>')
        out.append(f'<rect x="{x0:.1f}" y="{y}" width="{max(x1 - x0, 1):.1f}" height="{height - 8}" fill="{colour}"/>')
        out.append(f'<text x="{x1 + 4:.1f}" y="{y + 12}" fill="#333">{value:.3g}</text>')
    out.append(f'<line x1="{at(1):.1f}" x2="{at(1):.1f}" y1="5" y2="{total - 30}" stroke="#333"/></svg>')
    return "\n".join(out) + "\n"


def update_page(docs: Path, results: dict[str, Any], write: Callable[[Path, str], None]) -> None:
    """Puts the table between the markers of performance.md; the prose around it stays."""
    path = docs / "performance.md"
    text = path.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit(f"{path} must hold the lines {BEGIN} and {END} once each: put them where the table belongs")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    write(path, f"{before}{BEGIN}\n{page(results)}{END}{after}")
    write(docs / "performance.svg", bars(results))
