"""The data of the benchmarks: faces where they are at hand, digits for the quick version, and made-up samples."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from atomlearn import kit
from scipy.io import loadmat
from sklearn.datasets import load_digits

FACES = "EYaleB_54x48.mat"
SCENES = "Scene15_spm3000.mat"


class MissingData(Exception):
    """No such file; the message says how to get on."""


class Problem(NamedTuple):
    """Training samples sorted by class, with labels 0, 1, ...; `raw` are the features before PCA."""

    name: str
    raw_train: np.ndarray
    raw_test: np.ndarray
    train: np.ndarray
    y_train: np.ndarray
    test: np.ndarray
    y_test: np.ndarray
    n_components: int
    sparsities: tuple[int, int]

    @property
    def n_classes(self) -> int:
        return int(self.y_train.max()) + 1


def stored(name: str) -> dict:
    path = Path(os.environ.get("ATOMLEARN_DATA", ".")) / name
    if not path.exists():
        raise MissingData(f"no file {name}: set ATOMLEARN_DATA to the folder that holds it")
    return loadmat(path)


def unit(X: np.ndarray) -> np.ndarray:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def split(y: np.ndarray, per_class: int) -> tuple[np.ndarray, np.ndarray]:
    """Training samples, sorted by class, and the others."""
    rng = np.random.default_rng(1)
    train = np.concatenate([np.sort(rng.permutation(np.flatnonzero(y == c))[:per_class]) for c in np.unique(y)])
    return train, np.setdiff1d(np.arange(len(y)), train)


@cache
def problem(quick: bool) -> Problem:
    """Faces with 20 training samples per class and PCA to 300, or digits with 50 as they are."""
    if quick:
        X, y = load_digits(return_X_y=True)
        train, test = split(y, 50)
        raw, other = X[train], X[test]
        return Problem("digits", raw, other, unit(raw), y[train], unit(other), y[test], 30, (5, 10))
    content = stored(FACES)
    X, y = np.ascontiguousarray(content["X"].T, dtype=float), content["y"].ravel().astype(int)
    y = np.unique(y, return_inverse=True)[1]
    train, test = split(y, 20)
    raw, other = X[train], X[test]
    # As published: directions of the centred samples, projections of the samples as they are.
    directions = kit.pca(raw, 300).components.T
    reduced = unit(raw @ directions), unit(other @ directions)
    return Problem("EYaleB", raw, other, reduced[0], y[train], reduced[1], y[test], 300, (10, 30))


def scenes() -> np.ndarray:
    content = stored(SCENES)
    return np.ascontiguousarray(content["X"].T, dtype=float) * float(content["scale"].squeeze())


@cache
def scene_problem() -> Problem:
    """Scenes with 100 training samples per class, in unit length."""
    X, y = scenes(), np.unique(stored(SCENES)["y"].ravel(), return_inverse=True)[1]
    train, test = split(y, 100)
    raw, other = X[train], X[test]
    return Problem("Scene15", raw, other, unit(raw), y[train], unit(other), y[test], 300, (10, 30))


def blobs(n: int, m: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """`n` samples in unit length, each class around a subspace of its own plus noise, sorted by class."""
    rng = np.random.default_rng(seed)
    y = np.sort(np.arange(n) % n_classes)
    centres, directions = rng.normal(size=(n_classes, m)), rng.normal(size=(n_classes, 5, m))
    weights = 0.5 * rng.normal(size=(n, 5))
    X = centres[y] + np.concatenate([weights[y == c] @ directions[c] for c in range(n_classes)])
    return unit(X + rng.normal(size=(n, m))), y
