"""Time, memory and bits of partitioned training; run by bench/scale. CPU seconds are user + system of all processes."""

import argparse
import json
import math
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import atomlearn
import numpy as np
import scale_data
from atomlearn import _atomlearn

PROGRAM = Path("target/release/atomlearn")
# K = 260 atoms; a fixed number of iterations, so that the work does not depend on when training settles.
PARAMS = {"atoms_per_class": 26, "tol": 0.0}
PARTS = ("in-memory", "growth", "bits", "dask", "ray", "auto")


def flags(**params) -> list[str]:
    return [f"--set={name}={value}" for name, value in params.items()]


def run(*command: str) -> dict[str, float]:
    """CPU seconds, wall seconds and peak resident memory of a command, and what it says as JSON."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([str(word) for word in command], stdout=out)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = status
        out.seek(0)
        said = json.loads(out.read() or "{}")
    if status != 0:
        raise SystemExit(f"{command} failed")
    cpu = used.ru_utime + used.ru_stime
    return {"cpu": cpu, "wall": time.perf_counter() - start, "mib": used.ru_maxrss / 1024, "said": said}


def train(data: Path, iterations: int, *more: str) -> dict[str, float]:
    model = data.parent / f"model-{os.getpid()}"
    command = [PROGRAM, "train", data, "--method", "lcdl-sv", *flags(**PARAMS, max_iter=iterations), "-o", model]
    return run(*command, "--json", "--quiet", *more)


def per_iteration(data: Path, low: int, high: int, *more: str) -> dict[str, float]:
    """CPU seconds of one iteration: the difference of two trainings of different length."""
    short, long = train(data, low, *more), train(data, high, *more)
    rounds = (long["said"].get("rounds", 0) - short["said"].get("rounds", 0)) / (high - low)
    return {**long, "iteration": (long["cpu"] - short["cpu"]) / (high - low), "rounds": rounds, "start": short["cpu"]}


def growth(folder: Path, sizes: list[int], low: int, high: int) -> None:
    found = {}
    for n in sizes:
        found[n] = per_iteration(shards(folder, n), low, high, "--out-of-core", "--max-memory", "2GiB")
        row = found[n]
        print(
            f"out of core, n = {n}: {row['iteration']:.2f} CPU s per iteration ({1e6 * row['iteration'] / n:.2f} us "
            f"per sample, {row['rounds']:.1f} passes), {row['cpu']:.1f} CPU s and {row['wall']:.1f} s in all, "
            f"peak {row['mib']:.0f} MiB, {row['said']['partitions']} partitions",
            flush=True,
        )
    first, last = sizes[0], sizes[-1]
    if first != last:
        exponent = math.log(found[last]["iteration"] / found[first]["iteration"]) / math.log(last / first)
        print(f"CPU time per iteration grows as n^{exponent:.3f} from {first} to {last}", flush=True)


def in_memory(folder: Path, low: int, high: int) -> None:
    n = 100_000
    source = shards(folder, n)
    X = np.concatenate([np.load(path) for path in sorted(source.glob("part-?????.npy"))])
    y = np.concatenate([np.load(path) for path in sorted(source.glob("*.labels.npy"))])
    np.save(folder / "all.npy", X)
    np.save(folder / "all-labels.npy", y)
    row = per_iteration(folder / "all.npy", low, high, "--labels", str(folder / "all-labels.npy"))
    print(
        f"in memory, n = {n}: {row['iteration']:.2f} CPU s per iteration ({1e6 * row['iteration'] / n:.2f} us per "
        f"sample), {row['cpu']:.1f} CPU s and {row['wall']:.1f} s in all, peak {row['mib']:.0f} MiB",
        flush=True,
    )


def shards(folder: Path, n: int) -> Path:
    place = folder / f"shards-{n}"
    if not place.exists():
        scale_data.write(place, n, 128, 10, 50_000, 1)
    return place


def bits(model) -> dict[str, bytes]:
    return {name: part.tobytes() for name, part in model.parts().items()}


def partitioned(arrays: list, params: dict, digest: str, run_name: str):
    """The state machine over arrays in memory, without files and without a cluster."""
    names = ("lcdl-sv", json.dumps(params), "unit", len(arrays), arrays[0][0].shape[1], digest)
    trainer = _atomlearn.Trainer(*names, run_name)
    sizes = []
    while (request := trainer.request()) is not None:
        answers = [_atomlearn.answer(request, i, x, y, 2) for i, (x, y) in enumerate(arrays)]
        sizes.append((len(request), len(answers[0])))
        while len(answers) > 1:
            answers = [_atomlearn.merge(answers[i : i + 16]) for i in range(0, len(answers), 16)]
        trainer.absorb(answers[0], 2)
    return trainer.model("{}"), sizes


def same_bits(folder: Path, iterations: int) -> None:
    source, params = shards(folder, 100_000), {**PARAMS, "max_iter": iterations}
    partitions = 8
    model = folder / "bits.model"
    command = [PROGRAM, "train", source, "--method", "lcdl-sv", *flags(**params), "-o", model, "--json", "--quiet"]
    run(*command, "--out-of-core", "--partitions", str(partitions))
    expected = bits(atomlearn.load(model).model_)

    pieces, _, digest = _atomlearn.plan([str(source)], partitions, True)
    X = np.concatenate([np.load(path) for path in sorted(source.glob("part-?????.npy"))]).astype(float)
    y = np.concatenate([np.load(path) for path in sorted(source.glob("*.labels.npy"))]).astype(str)
    edges = [len(X) * i // partitions for i in range(partitions + 1)]
    arrays = [(X[a:b], y[a:b].tolist()) for a, b in zip(edges, edges[1:])]
    found, sizes = partitioned(arrays, params, digest, "bits")
    print(f"in memory in partitions: same bits as out of core: {bits(found) == expected}")
    largest = max(sizes, key=sum)
    print(f"largest request {largest[0] / 1024:.0f} KiB, with an answer of {largest[1] / 1024:.0f} KiB per partition")
    for workers in (1, 2, 4):
        found, _ = on_dask(source, workers, partitions, params)
        print(f"Dask with {workers} workers: same bits as out of core: {bits(found) == expected}", flush=True)

    plain = atomlearn.LCDLSVClassifier(**params, n_threads=2).fit(X, y)
    scores = atomlearn.load(model).decision_function(X)
    difference = np.abs(scores - plain.decision_function(X)).max()
    print(
        f"scores against plain training: largest difference {difference:.1e} (scores up to {np.abs(scores).max():.1f})"
    )


def on_dask(source: Path, workers: int, partitions, params: dict):
    """The model, and CPU seconds of all processes: to start the cluster, and to train."""
    import dask
    from atomlearn.scaleout import QUIET, LCDLSVClassifier
    from distributed import Client, LocalCluster

    with dask.config.set(QUIET):
        started = used()
        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)
        with cluster, Client(cluster) as client:
            before, since = used(), time.perf_counter()
            model = LCDLSVClassifier(**params).fit(str(source), client=client, partitions=partitions)
            trained, wall = used(), time.perf_counter() - since
    return model.model_, {"start": before - started, "train": trained - before, "wall": wall}


def on_ray(source: Path, workers: int, partitions, params: dict):
    """The same on Ray."""
    import ray
    from atomlearn.scaleout import LCDLSVClassifier

    started = used()
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    try:
        before, since = used(), time.perf_counter()
        model = LCDLSVClassifier(**params).fit(str(source), client=ray, partitions=partitions)
        trained, wall = used(), time.perf_counter() - since
    finally:
        ray.shutdown()
    return model.model_, {"start": before - started, "train": trained - before, "wall": wall}


def used() -> float:
    """CPU seconds of this process and of its children that live."""
    import psutil

    own = psutil.Process()
    times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def dask_idle() -> None:
    """What a cluster costs that has nothing to do, as Dask comes and with the configuration for training."""
    import dask
    from atomlearn.scaleout import QUIET
    from distributed import Client, LocalCluster

    for name, config in (("as it comes", {}), ("QUIET", QUIET)):
        with dask.config.set(config):
            cluster = LocalCluster(n_workers=4, threads_per_worker=1, processes=True, dashboard_address=None)
            with cluster, Client(cluster):
                before, since = used(), time.perf_counter()
                time.sleep(10)
                idle = (used() - before) / (time.perf_counter() - since)
        print(f"4 idle workers, Dask {name}: {idle:.3f} CPU s per second with scheduler and client", flush=True)


def overhead(folder: Path, n: int, iterations: int, name: str, engine) -> None:
    source, params = shards(folder, n), {**PARAMS, "max_iter": iterations}
    alone = train(source, iterations, "--out-of-core")
    _, found = engine(source, 4, None, params)
    over = [100 * (cpu / alone["cpu"] - 1) for cpu in (found["train"], found["train"] + found["start"])]
    print(
        f"n = {n}, {iterations} iterations: {alone['cpu']:.1f} CPU s ({alone['wall']:.1f} s) in one process; 4 {name} "
        f"workers: {found['start']:.1f} CPU s to start, {found['train']:.1f} CPU s ({found['wall']:.1f} s) to train: "
        f"{over[0]:+.0f} %, with the start {over[1]:+.0f} %",
        flush=True,
    )


def auto(folder: Path, sizes: list[int]) -> None:
    """`auto` in memory and out of core on the same samples."""
    for n in sizes:
        source = shards(folder, n)
        command = [PROGRAM, "train", source, "--method", "auto", "-o", folder / "auto.model", "--json", "--quiet"]
        row = run(*command, "--out-of-core", "--threads", "1")
        print(
            f"auto out of core, n = {n}: {row['cpu']:.1f} CPU s, {row['wall']:.1f} s, {row['said']['rounds']} passes, "
            f"{row['said']['partitions']} partitions, peak {row['mib']:.0f} MiB",
            flush=True,
        )
    source = shards(folder, sizes[0])
    X = np.concatenate([np.load(path) for path in sorted(source.glob("part-?????.npy"))]).astype(float)
    y = np.concatenate([np.load(path) for path in sorted(source.glob("*.labels.npy"))])
    before = time.process_time()
    plain = atomlearn.AutoClassifier(n_threads=1).fit(X, y)
    print(f"auto in memory, n = {sizes[0]}: {time.process_time() - before:.1f} CPU s")
    run(PROGRAM, "train", source, "--method", "auto", "-o", folder / "auto.model", "--json", "--quiet", "--out-of-core")
    model = atomlearn.load(folder / "auto.model")
    difference = np.abs(model.decision_function(X[:5000]) - plain.decision_function(X[:5000])).max()
    print(f"log-probabilities, out of core against memory: largest difference {difference:.1e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--data", type=Path, help="keep the data in this folder")
    parser.add_argument("--only", default=",".join(PARTS), help="comma list of " + ", ".join(PARTS))
    parser.add_argument("--iterations", type=int, nargs=2, default=(1, 6))
    args = parser.parse_args()
    folder = args.data or Path(tempfile.mkdtemp(prefix="atomlearn-scale-"))
    only, (low, high) = args.only.split(","), args.iterations
    try:
        if "in-memory" in only:
            in_memory(folder, low, high)
        if "growth" in only:
            growth(folder, [100_000, args.samples], low, high)
        if "bits" in only:
            same_bits(folder, 3)
        if "dask" in only:
            dask_idle()
            overhead(folder, args.samples, high, "Dask", on_dask)
        if "ray" in only:
            overhead(folder, args.samples, high, "Ray", on_ray)
        if "auto" in only:
            auto(folder, [100_000, args.samples])
    finally:
        if args.data is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
