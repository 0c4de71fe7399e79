"""One task in a process of its own: `python -m peers.worker TASK FILE`; the parent sets the number of threads."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings

from . import tasks
from .data import MissingData
from .timing import SLOW, SLOW_IF_QUICK, contest, dgemm_rates


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("task")
    parser.add_argument("file")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")

    before = dgemm_rates()
    result = {"load": os.getloadavg()[0], "rows": []}
    try:
        if args.task == "growth":
            result["growth"] = tasks.growth(args.quick, args.threads)
        else:
            for row in tasks.rows(args.task, args.quick, args.threads):
                start = time.perf_counter()
                if args.threads > 1:
                    # Who did only a part of the task to save time need not do it again.
                    row.contestants = [c for c in row.contestants if c.part == 1.0]
                result["rows"].append(contest(row, args.repeats, SLOW_IF_QUICK if args.quick else SLOW))
                print(f"    {row.title}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    except MissingData as missing:
        result["missing"] = str(missing)
    # Before and after: a machine that slowed down meanwhile must not flatter the bound.
    result["dgemm"], result["dgemm_wall"] = map(max, zip(before, dgemm_rates(), strict=True))
    with open(args.file, "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
