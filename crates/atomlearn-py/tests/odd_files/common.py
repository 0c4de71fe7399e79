"""What all families of files share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

N, D = 12, 5
X = np.random.default_rng(1).normal(size=(N, D))
Y = np.repeat([1, 2, 3], 4)
WORDS = np.array(["a", "bb", "ccc"])[Y - 1]
UNICODE = np.array(["ä b", "日本", "ccc"])[Y - 1]
LARGE = np.array([2**60, 2**60 + 1, 2**60 + 2])[Y - 1]
UNSIGNED = np.array([2**63, 2**63 + 1, 2**64 - 1], "u8")[Y - 1]
INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
FLOATS = ["f2", "f4", "f8"]
TYPES = [order + kind for kind in INTEGERS + FLOATS for order in ("<>" if kind[1] != "1" else "|")]


@dataclass
class Case:
    """A file, and the samples (rows) and labels that the reference package reads from it."""

    path: Path
    samples: np.ndarray
    labels: list[str]
    options: dict = field(default_factory=dict)
    tolerance: float = 0


def names(labels: Iterable) -> list[str]:
    """Labels as text, by the rule that docs/reference/formats.md states for files that know types."""
    return [_name(label) for label in np.ravel(np.asarray(labels))]


def _name(label) -> str:
    whole = isinstance(label, (np.floating, float)) and float(label).is_integer()
    if whole or isinstance(label, (bool, int, np.bool_, np.integer)):
        return str(int(label))
    return label.decode("utf-8", "backslashreplace") if isinstance(label, bytes) else str(label)


class Family:
    """The files of one format; `add` is called once a file is written."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.cases: list[Case] = []
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, name: str) -> Path:
        path = self.folder / name
        assert all(case.path != path for case in self.cases), f"{path} is written twice"
        return path

    def add(
        self, path: Path, samples, labels: Iterable[str], options: dict | None = None, tolerance: float = 0
    ) -> None:
        self.cases.append(Case(path, np.asarray(samples, float), list(labels), options or {}, tolerance))


def numbers(kind: str) -> np.ndarray:
    """Samples that the type can hold, negative ones too where it has them."""
    values = np.abs(50 * X) if np.dtype(kind).kind in "ub" else 50 * X
    return (values > 30 if np.dtype(kind).kind == "b" else values).astype(kind)


def text_file(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path
