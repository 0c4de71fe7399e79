"""One contest: the same task for everybody, answers compared first, then times taken in turn."""

from __future__ import annotations

import statistics
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable, NamedTuple, Optional

import numpy as np

# A measurement shorter than this is repeated within itself, so that the clock's step does not count.
SHORTEST = 0.05
# Before a measurement: threads of the one before go on spinning for a while when they have nothing to do.
REST = 0.2
# Who needs longer than this is timed once, by the run that gave the answer.
SLOW, SLOW_IF_QUICK = 8.0, 1.0


class Verdict(NamedTuple):
    """Whether an answer is right, and how far from the best it is."""

    agrees: bool
    detail: str


Answers = Mapping[str, Any]
Judge = Callable[[Answers], Mapping[str, Verdict]]


@dataclass
class Contestant:
    """`run` does the task and returns its answer."""

    name: str
    run: Callable[[], Any]
    ours: bool = False
    # Fraction of the task that `run` does; its times are divided by it. Or a function of the answer.
    part: float | Callable[[Any], float] = 1.0
    # Shown beside the times.
    note: str = ""
    # Its first run compiles or trains, so that it says nothing about time.
    warms_up: bool = False
    # Ours with another setting, or a rule of its own: timed, but not what the ratio is about.
    aside: bool = False


@dataclass
class Row:
    """A line of the table: who takes part, who judges, and the least arithmetic that the task needs."""

    title: str
    contestants: list[Contestant]
    judge: Judge
    flops: Optional[Callable[[Answers], float]] = None
    formula: str = ""
    # Published or earlier times that are shown but were not taken here: name and text.
    quoted: tuple[tuple[str, str], ...] = ()


class Times(NamedTuple):
    cpu: float
    wall: float


def clock(work: Callable[[], Any], times: int = 1) -> tuple[Any, Times]:
    """Answer, and seconds of one call; processor time counts all threads."""
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(times):
        answer = work()
    return answer, Times((time.process_time() - cpu) / times, (time.perf_counter() - wall) / times)


def dgemm_rates(size: int = 1200, repeats: int = 5) -> tuple[float, float]:
    """GFLOP/s of numpy's product of two square matrices, by processor time and by wall time, the best of some."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(size, size)), rng.normal(size=(size, size))
    taken = [clock(lambda: a @ b, 3)[1] for _ in range(repeats)]
    cpu, wall = min(t.cpu for t in taken), min(t.wall for t in taken)
    return 2e-9 * size**3 / cpu, 2e-9 * size**3 / wall


def contest(row: Row, repeats: int, slow: float = SLOW) -> dict[str, Any]:
    """Times of everybody whose answer is right; A B A B, so that a busy machine slows all alike."""
    answers, first, failed = {}, {}, {}
    for c in row.contestants:
        try:
            # Twice if it is quick: the first run allocates and fills caches.
            answers[c.name], first[c.name] = clock(c.run)
            if first[c.name].cpu < slow or c.warms_up:
                answers[c.name], first[c.name] = clock(c.run)
        except Exception as error:  # a peer that breaks is a line of the table, not the end of it
            traceback.print_exc()
            failed[c.name] = f"failed: {type(error).__name__}: {error}"[:200]
    verdicts = row.judge(answers)
    flops = row.flops(answers) if row.flops else None
    parts = {
        c.name: c.part(answers[c.name]) if callable(c.part) else c.part for c in row.contestants if c.name in answers
    }
    answers.clear()

    taken: dict[str, list[Times]] = {name: [times] for name, times in first.items()}
    running = [c for c in row.contestants if c.name in first and verdicts[c.name].agrees and first[c.name].cpu < slow]
    for _ in range(repeats):
        for c in running:
            inner = max(1, round(SHORTEST / max(first[c.name].wall, 1e-7)))
            time.sleep(REST)
            taken[c.name].append(clock(c.run, inner)[1])
    found = []
    for c in row.contestants:
        line: dict[str, Any] = {"name": c.name, "ours": c.ours, "aside": c.aside, "note": c.note}
        if c.name in failed:
            line |= {"agrees": False, "detail": failed[c.name]}
        else:
            verdict = verdicts[c.name]
            line |= {"agrees": verdict.agrees, "detail": verdict.detail, "part": parts[c.name]}
            if verdict.agrees:
                times = taken[c.name][1:] or taken[c.name]
                line |= {"runs": len(times)} | summary(times, parts[c.name])
        found.append(line)
    return {
        "title": row.title,
        "contestants": found,
        "flops": flops,
        "formula": row.formula,
        "quoted": [list(entry) for entry in row.quoted],
    }


def summary(times: list[Times], part: float) -> dict[str, float]:
    """Smallest and median seconds of the whole task."""
    cpu, wall = [t.cpu / part for t in times], [t.wall / part for t in times]
    return {
        "cpu_best": min(cpu),
        "cpu_median": statistics.median(cpu),
        "wall_best": min(wall),
        "wall_median": statistics.median(wall),
    }


def close(errors: Mapping[str, float], limit: float, what: str) -> dict[str, Verdict]:
    """Right if the error is at most `limit`."""
    return {name: Verdict(bool(error <= limit), f"{what} {error:.2g}") for name, error in errors.items()}


def accuracies(found: Mapping[str, float], slack: float) -> dict[str, Verdict]:
    """Right if no more than `slack` below the best accuracy (fractions, not percent)."""
    best = max(found.values(), default=0.0)
    return {name: Verdict(bool(a >= best - slack), f"accuracy {100 * a:.2f} %") for name, a in found.items()}
