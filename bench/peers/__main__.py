"""All tasks, each in processes of its own: with one thread for processor time, with all for wall time."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from . import report
from .tasks import TASKS

ROOT = Path(__file__).parents[2]
PEERS = [
    "numpy",
    "scipy",
    "scikit-learn",
    "spams-bin",
    "dictlearn",
    "numba",
    "dictol",
    "ksvd",
    "opencv-python-headless",
]
THREAD_VARIABLES = [
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
]
# With all threads only wall times count, and the long rows not at all.
ONE_THREAD_ONLY = {"growth"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="digits only, without real data")
    parser.add_argument("--only", nargs="+", choices=TASKS, metavar="TASK", help=f"of {', '.join(TASKS)}")
    parser.add_argument("--resume", action="store_true", help="keep the tasks that are done")
    parser.add_argument("--docs", action="store_true", help="update docs/measurements/performance.md")
    parser.add_argument("--repeats", type=int, default=None, help="measurements of each contestant (5; quick 3)")
    args = parser.parse_args()
    if args.quick and args.docs:
        parser.error("--docs is for the full version: leave out --quick")
    repeats = args.repeats or (3 if args.quick else 5)
    out = ROOT / "target" / ("bench-quick" if args.quick else "bench")
    out.mkdir(parents=True, exist_ok=True)

    about = machine()
    stamp = {"sources": about["sources"], "quick": args.quick}
    modes = [("one", 1, repeats)]
    if about["processors"] > 1 and not args.quick:
        modes.append(("all", about["processors"], repeats))
    for mode, threads, times in modes:
        for task in args.only or TASKS:
            done = finished(out, task, stamp) if args.resume or mode == "all" else {}
            if mode in done or (mode == "all" and task in ONE_THREAD_ONLY):
                continue
            print(f"==> {task}, {threads} thread(s)", file=sys.stderr)
            result = (
                {"stamp": stamp, "time": now(), "commit": about["commit"]}
                | done
                | {mode: worker(task, threads, times, args.quick)}
            )
            write(out / f"{task}.json", json.dumps(result, indent=1))
            summarise(out, about, args.quick)
    summarise(out, about, args.quick)
    if args.docs:
        report.update_page(ROOT / "docs/measurements", json.loads((out / "results.json").read_text()), write)
    print((out / "results.md").read_text())


def worker(task: str, threads: int, repeats: int, quick: bool) -> dict[str, Any]:
    environment = os.environ | {name: str(threads) for name in THREAD_VARIABLES}
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/result.json"
        options = ["--threads", str(threads), "--repeats", str(repeats)] + (["--quick"] if quick else [])
        done = subprocess.run([sys.executable, "-m", "peers.worker", task, file, *options], env=environment)
        if done.returncode != 0:
            return {"rows": [], "missing": f"the benchmark itself failed (exit code {done.returncode})"}
        return json.loads(Path(file).read_text())


def summarise(out: Path, about: dict[str, Any], quick: bool) -> None:
    """Everything that is done, of whichever run, into one file and one page."""
    tasks = {task: done for task in TASKS if (done := finished(out, task, {"quick": quick}))}
    results = {"schema": "atomlearn.bench/1", "machine": about, "quick": quick, "time": now(), "tasks": tasks}
    write(out / "results.json", json.dumps(results, indent=1))
    write(out / "results.md", report.page(results))
    write(out / "ratios.svg", report.bars(results))


def finished(out: Path, task: str, stamp: dict[str, Any]) -> dict[str, Any]:
    """What is there of a task, if it has this stamp."""
    path = out / f"{task}.json"
    done = json.loads(path.read_text()) if path.exists() else {"stamp": {}}
    return done if stamp.items() <= done["stamp"].items() else {}


def write(path: Path, text: str) -> None:
    """Whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.chmod(name, 0o644)
    os.replace(name, path)


def machine() -> dict[str, Any]:
    cpu = platform.processor()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), cpu)
    commit, sources = git("rev-parse", "--short=12", "HEAD"), git("rev-parse", "--short=12", "HEAD:crates")
    if git("status", "--porcelain", "--", "crates", "Cargo.toml", "Cargo.lock"):
        commit, sources = f"{commit} with changes", f"{sources} with changes"
    return {
        "cpu": cpu,
        "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "commit": commit or "unknown",
        "sources": sources or "unknown",
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PEERS},
    }


def git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True).stdout.strip()


def version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def now() -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())


if __name__ == "__main__":
    main()
