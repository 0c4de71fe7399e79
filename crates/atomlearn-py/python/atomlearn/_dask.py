"""A Dask cluster as an engine of partitioned training."""

from __future__ import annotations

import time
from concurrent.futures import CancelledError

import dask
import dask.array
import numpy as np
from distributed import Client, KilledWorker, default_client, wait

from . import _atomlearn, _labels, _worker

# Configuration of Dask for clusters that only train. Its monitors are for many small tasks and a dashboard; with few
# long tasks they cost more than all else Dask does. To set before the cluster is made: dask.config.set(QUIET).
QUIET = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
}

# How often Dask tries a task again after an error, such as a file system that is away for a moment.
RETRIES = 3
# How often a round is asked again because the cluster lost it, all workers at once for instance.
ATTEMPTS = 10


class DaskEngine:
    """Partitions are answered by the workers of a Dask cluster."""

    def __init__(self, client: Client | None) -> None:
        self.client = client or default_client()

    def call(self, function, *args):
        """The result of a function on some worker."""
        return self.client.submit(function, *args, pure=False, retries=RETRIES).result()

    def each(self, function, tasks: list, shared) -> list:
        """The results of a function of every task and what they share."""
        shared = self.client.submit(_worker.state, shared, pure=False, retries=RETRIES)
        futures = [self.client.submit(function, task, shared, pure=False, retries=RETRIES) for task in tasks]
        return self.client.gather(futures)

    def blocks(self, X, y, partitions):
        """A dask array as partitions."""
        return DaskBlocks.of(X, y, partitions)

    def ask(self, source, request: bytes) -> bytes:
        """One round: every partition answers, neighbours are merged until one answer is left."""
        client = self.client
        for attempt in range(1, ATTEMPTS + 1):
            try:
                state = client.submit(_worker.state, request, pure=False, retries=RETRIES)
                workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
                answers = []
                for index in range(len(source.tasks)):
                    # A partition goes to the worker that remembers it, if that one is free; neighbours, whose answers
                    # are merged, go to the same.
                    home = [workers[index * len(workers) // len(source.tasks)]] if workers else None
                    options = {"workers": home, "allow_other_workers": bool(home), "retries": RETRIES}
                    answers.append(self._submit(source, index, state, options))
                while len(answers) > 1:
                    groups = [answers[i : i + _atomlearn._FAN_IN] for i in range(0, len(answers), _atomlearn._FAN_IN)]
                    answers = [client.submit(_atomlearn.merge, group, pure=False, retries=RETRIES) for group in groups]
                wait(answers)
                return answers[0].result()
            except (CancelledError, KilledWorker) as error:
                # A task went down with several workers.
                if attempt == ATTEMPTS:
                    raise RuntimeError(f"the cluster lost the same round {ATTEMPTS} times") from error
                time.sleep(0.2 * attempt)
        raise AssertionError("not reached")

    def _submit(self, source, index: int, state, options):
        if not isinstance(source, DaskBlocks):
            return self.client.submit(_worker.answer_piece, source.tasks[index], state, pure=False, **options)
        x, y = source.tasks[index]
        answer = dask.delayed(_worker.answer_block, pure=False)
        return self.client.compute(answer(index, x, y, source.label_type, state), **options)

    def close(self) -> None:
        """The cluster is the caller's and goes on."""


class DaskBlocks:
    """Partitions that are the blocks of a dask array."""

    def __init__(self, X, y) -> None:
        self.n_features, self.label_type = X.shape[1], y.dtype
        self.class_kind = _labels.KINDS.get(y.dtype.kind, "str")
        # Neighbouring tasks are fused, so that a block lives no longer than it is worked on.
        self.tasks = list(zip(X.to_delayed()[:, 0], y.to_delayed()))
        self.digest = dask.base.tokenize(X, y)

    @classmethod
    def of(cls, X, y, partitions) -> DaskBlocks:
        if not is_lazy(X) or X.ndim != 2 or y is None:
            raise TypeError("X must be a path, a list of paths, or a dask array of two dimensions with y")
        X = X.rechunk({1: -1})
        if np.isnan(X.shape[0]):
            X = X.compute_chunk_sizes()
        y = (y if isinstance(y, dask.array.Array) else dask.array.from_array(np.asarray(y))).rechunk(X.chunks[:1])
        if partitions not in (None, X.numblocks[0]):
            raise ValueError(f"the blocks of an array are its partitions, here {X.numblocks[0]}; rechunk it for others")
        return cls(X, y)


def is_lazy(X) -> bool:
    """Whether X is a dask array."""
    return isinstance(X, dask.array.Array)


def default_exists() -> bool:
    """Whether a Dask client was made in this process."""
    try:
        default_client()
    except ValueError:
        return False
    return True
