"""Shards of every kind: the same bits, and memory within the limit."""

import re
import subprocess
import time
from pathlib import Path

import atomlearn
import numpy as np
import pandas
import pytest

FLAGS = ["--method=lcdl-sv", "--set=atoms_per_class=3", "--set=max_iter=2", "--out-of-core", "--quiet"]


def write(folder, kind, parts):
    """One shard per part."""
    folder.mkdir()
    for number, (X, y) in enumerate(parts):
        name = folder / f"part-{number}"
        if kind == "npy":
            np.save(name.with_suffix(".npy"), X)
            np.save(folder / f"part-{number}.labels.npy", y)
        elif kind == "npz":
            np.savez(name.with_suffix(".npz"), X=X, y=y)
        else:
            table = pandas.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(label=y)
            if kind == "parquet":
                table.to_parquet(name.with_suffix(".parquet"))
            else:
                table.to_csv(name.with_suffix(".csv"), index=False)
    return folder


def parts(n, features, shards, seed=3):
    rng = np.random.default_rng(seed)
    for _ in range(shards):
        y = rng.integers(3, size=n)
        yield np.eye(3, features)[y] + 0.5 * rng.normal(size=(n, features)), y


def train(command_line, folder, model, *more):
    """Exit code, what it said, and peak memory in MiB."""
    command = [command_line, "train", str(folder), *FLAGS, "-o", str(model), *more]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    peak = 0.0
    # Asked again and again, because what the system reports at the end begins with the memory of this process.
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status")
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
        peak = max(peak, int(found.group(1)) / 1024 if found else 0.0)
        time.sleep(0.002)
    return process.returncode, process.stderr.read(), peak


def test_kinds_of_shards_give_the_same_bits(command_line, tmp_path):
    found = {}
    for kind in ("npy", "npz", "parquet", "csv"):
        folder = write(tmp_path / kind, kind, parts(300, 6, 3))
        cut = ["--partitions", "3"] if kind == "npy" else []
        code, said, _ = train(command_line, folder, tmp_path / f"{kind}.model", *cut)
        assert code == 0, said
        model = atomlearn.load(tmp_path / f"{kind}.model").model_
        found[kind] = {name: part.tobytes() for name, part in model.parts().items()}
    assert all(bits == found["npy"] for bits in found.values())


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the memory of a process")
@pytest.mark.parametrize("kind", ["npy", "npz", "parquet", "csv"])
def test_memory_stays_within_the_limit_or_is_refused_with_the_figure(command_line, tmp_path, kind):
    # Up to 19 MB of numbers per shard, so that copies show; the second is larger than the first, by which it is judged.
    rows = 8_000 if kind == "csv" else 20_000
    small, large = parts(rows, 60, 1), parts(2 * rows, 60, 1, seed=4)
    folder = write(tmp_path / kind, kind, [*small, *large])
    cut = ["--partitions", "2"] if kind == "npy" else []
    code, said, _ = train(command_line, folder, tmp_path / "model", *cut, "--max-memory", "140MiB")
    assert code == 2 and not (tmp_path / "model").exists()
    needed = int(re.search(r"needs about (\d+) MiB", said).group(1))
    limit = 128 + needed + 2
    code, said, peak = train(command_line, folder, tmp_path / "model", *cut, "--max-memory", f"{limit}MiB")
    assert code == 0, said
    assert 20 < peak < limit, f"{peak:.0f} MiB of {limit}"
