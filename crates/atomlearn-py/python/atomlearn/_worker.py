"""What workers of a cluster do. Imports the native module and NumPy only, so that a worker is quick to start."""

from __future__ import annotations

import numpy as np

from . import _atomlearn
from ._labels import checked, names_of


def state(content):
    """The state of a round as a task: workers fetch it from one another, and if they die it is made again."""
    return content


def answer_piece(piece: str, request: bytes) -> bytes:
    """The answer of a partition in files."""
    return _atomlearn.answer_piece(request, piece, 1)


def answer_block(index: int, x: np.ndarray, y: np.ndarray, like: np.dtype, request: bytes) -> bytes:
    """The answer of a partition that is a block of an array; `like` is the type of its labels, if the array knows."""
    classes, targets = np.unique(checked(np.asarray(y), f"partition {index}", like), return_inverse=True)
    names = names_of(classes)
    x = np.require(x, dtype=np.float64, requirements=("C", "A"))
    return _atomlearn.answer(request, index, x, [names[target] for target in targets], 1)


def predict_piece(piece: str, model) -> np.ndarray:
    """Classes of the samples of a partition in files, as places among the model's classes."""
    return model.predict(_atomlearn.piece_samples(piece), 1)
