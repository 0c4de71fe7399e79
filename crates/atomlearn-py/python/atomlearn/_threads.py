"""How many threads a call may use.

An estimator's ``n_threads`` is taken as it is. Where it is None, the number of processors this process may use is
limited by ``RAYON_NUM_THREADS`` or ``OMP_NUM_THREADS``, by ``threadpoolctl.threadpool_limits`` and, inside a worker
of joblib, by what joblib grants its workers: that is what it writes into the environment of processes, and one thread
for threads.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from typing import Optional

import threadpoolctl
from joblib.parallel import get_active_backend

from ._atomlearn import __version__

_limits = threading.local()


def resolve(n_threads: Optional[int]) -> int:
    """The number of threads that ``n_threads`` means here and now."""
    if n_threads is None:
        return available()
    if isinstance(n_threads, bool) or n_threads != int(n_threads) or n_threads < 1:
        raise ValueError(f"parameter `n_threads` = {n_threads}: must be None or a whole number >= 1")
    return int(n_threads)


def available() -> int:
    """The number of threads to use where nobody asked for another."""
    limits = [_processors()]
    for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "").split(",")[0]
        if value.isdigit() and int(value) > 0:
            limits.append(int(value))
            break
    if getattr(_limits, "most", None) is not None:
        limits.append(_limits.most)
    if get_active_backend()[0].nesting_level and multiprocessing.current_process().name == "MainProcess":
        limits.append(1)
    return min(limits)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Controller(threadpoolctl.LibController):
    """Makes ``threadpool_limits`` count for atomlearn as for BLAS; limits hold for the thread that sets them."""

    user_api = "atomlearn"
    internal_api = "atomlearn"
    filename_prefixes = ("_atomlearn",)

    def get_num_threads(self) -> int:
        return available()

    def set_num_threads(self, num_threads: int) -> None:
        _limits.most = num_threads

    def get_version(self) -> str:
        return __version__


threadpoolctl.register(_Controller)
