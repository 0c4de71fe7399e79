"""A Ray cluster as an engine of partitioned training."""

from __future__ import annotations

import ray
from ray.exceptions import RayTaskError

from . import _atomlearn, _worker

# How often a task is tried again after its process or its machine is gone.
RETRIES = 3


class _Worker:
    """A process that remembers the partitions it answered."""

    def call(self, function, *args):
        return function(*args)

    def merge(self, *answers: bytes) -> bytes:
        return _atomlearn.merge(list(answers))


class RayEngine:
    """Partitions are answered by actors, one per processor of the Ray cluster; a lost one is started again."""

    def __init__(self) -> None:
        if not ray.is_initialized():
            raise ValueError("Ray is not running: call ray.init() first")
        count = max(1, int(ray.cluster_resources().get("CPU", 1)))
        kind = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=RETRIES)(_Worker)
        self.workers = [kind.remote() for _ in range(count)]

    def _home(self, index: int, count: int):
        """The worker of a partition; neighbours, whose answers are merged, have the same."""
        return self.workers[index * len(self.workers) // count]

    def call(self, function, *args):
        """The result of a function on some worker."""
        return _result(self.workers[0].call.remote(function, *args))

    def each(self, function, tasks: list, shared) -> list:
        """The results of a function of every task and what they share."""
        shared = ray.put(shared)
        homes = [self._home(index, len(tasks)) for index in range(len(tasks))]
        return _result([home.call.remote(function, task, shared) for home, task in zip(homes, tasks)])

    def blocks(self, X, y, partitions):
        """Arrays are not distributed here."""
        raise TypeError("on Ray, X must be a path or a list of paths that the workers see")

    def ask(self, source, request: bytes) -> bytes:
        """One round: every partition answers, neighbours are merged until one answer is left."""
        state = ray.put(request)
        count = len(source.tasks)
        homes = [self._home(index, count) for index in range(count)]
        answers = [home.call.remote(_worker.answer_piece, task, state) for home, task in zip(homes, source.tasks)]
        while len(answers) > 1:
            fan_in = _atomlearn._FAN_IN
            answers = [homes[i].merge.remote(*answers[i : i + fan_in]) for i in range(0, len(answers), fan_in)]
            homes = homes[::fan_in]
        return _result(answers[0])

    def close(self) -> None:
        """Ends the processes of this engine; the cluster is the caller's and goes on."""
        for worker in self.workers:
            ray.kill(worker)


def _result(references):
    try:
        return ray.get(references)
    except RayTaskError as error:
        # What went wrong in the task, as it would be raised without a cluster.
        raise error.cause from error
