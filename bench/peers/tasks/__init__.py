"""One module per family of tasks; each yields the lines of the table."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from ..timing import Row

# Task: module and function.
ROWS = {
    "lcdl": ("lcdl", "rows"),
    "lasso": ("coding", "lasso_rows"),
    "omp": ("coding", "omp_rows"),
    "ksvd": ("ksvd", "ksvd_rows"),
    "dksvd": ("ksvd", "dksvd_rows"),
    "lcksvd": ("ksvd", "lcksvd_rows"),
    "odl": ("odl", "rows"),
    "fddl": ("fddl", "rows"),
    "shared": ("shared", "rows"),
    "dpl": ("dpl", "rows"),
    "svm": ("svm", "rows"),
    "pca": ("pca", "rows"),
    "graph": ("graph", "rows"),
    "predict": ("predict", "rows"),
    "auto": ("auto", "rows"),
    "sift": ("sift", "rows"),
}
TASKS = [*ROWS, "growth"]


def rows(task: str, quick: bool, threads: int) -> Iterator[Row]:
    module, function = ROWS[task]
    return getattr(importlib.import_module(f".{module}", __package__), function)(quick, threads)


def growth(quick: bool, threads: int) -> list[dict[str, Any]]:
    from .growth import measure

    return measure(quick, threads)
