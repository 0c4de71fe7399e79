"""Dense SIFT descriptors of photos: the same patches of the same grey images for everybody."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from atomlearn import kit
from sklearn import datasets

from ..data import MissingData
from ..optional import peer
from ..timing import Answers, Contestant, Row, Verdict

cv2 = peer("cv2")
# The grid of the features `sift-pyramid`, and that of `fisher`.
STEPS, PATCHES = (8, 6), (16, 24, 32)
# A patch has 4 x 4 cells; a cell of OpenCV's descriptor is 3 halves of what it calls the size of a keypoint.
SIZE_OF_PATCH = 1 / 6
# Descriptors of so many images are compared: those of all would fill the memory.
COMPARED = 10
# Ours has no Gaussian window and no blur before, so that the two are alike, not equal.
LEAST_COSINE = 0.8


def rows(quick: bool, threads: int) -> Iterator[Row]:
    for step in STEPS[:1] if quick else STEPS:
        yield row(photos(quick), step, threads)


def photos(quick: bool) -> list[np.ndarray]:
    """Grey photos: the two of scikit-learn, or those of Scene-15 (all have at most 300 pixels on a side)."""
    if quick:
        files = sorted((Path(datasets.__file__).parent / "images").glob("*.jpg"))
    else:
        files = sorted((Path(os.environ.get("ATOMLEARN_DATA", ".")) / "scene15_images").glob("*/*.jpg"))
    if not files:
        raise MissingData("no folder scene15_images: set ATOMLEARN_DATA to the folder that holds it")
    return [cv2.imread(str(file), cv2.IMREAD_GRAYSCALE) for file in files]


def row(images: list[np.ndarray], step: int, threads: int) -> Row:
    cv2.setNumThreads(1)
    centres = [kit.dense_sift(image, step, PATCHES).centres for image in images]
    sides = [np.repeat(PATCHES, [count(image, side, step) for side in PATCHES]) for image in images]
    sift = cv2.SIFT_create()

    def ours(i: int) -> np.ndarray:
        return kit.dense_sift(images[i], step, PATCHES).descriptors

    def theirs(i: int) -> np.ndarray:
        # Pixels have their middle at whole numbers there, at halves here.
        points = [
            cv2.KeyPoint(x - 0.5, y - 0.5, side * SIZE_OF_PATCH, 0.0)
            for (y, x), side in zip(centres[i].tolist(), sides[i].tolist(), strict=True)
        ]
        return sift.compute(images[i], points)[1]

    n = sum(map(len, centres))
    return Row(
        f"dense SIFT, {len(images)} photos, every {step} pixels, {n} patches",
        [
            Contestant("atomlearn", partial(run, ours, len(images), threads), ours=True),
            Contestant("OpenCV", partial(run, theirs, len(images), threads)),
        ],
        alike,
    )


def count(image: np.ndarray, side: int, step: int) -> int:
    """Patches of this side."""
    return int(np.prod([(length - side) // step + 1 if side <= length else 0 for length in image.shape]))


def run(describe: Callable[[int], np.ndarray], n: int, threads: int) -> list[np.ndarray]:
    """Descriptors of all images; those of the first are kept."""
    if threads == 1:
        return first(map(describe, range(n)))
    with ThreadPoolExecutor(threads) as pool:
        return first(pool.map(describe, range(n)))


def first(descriptors: Iterator[np.ndarray]) -> list[np.ndarray]:
    return [values for i, values in enumerate(descriptors) if i < COMPARED]


def alike(answers: Answers) -> dict[str, Verdict]:
    """Descriptors of the same patch point the same way: the mean cosine with ours; ours are at most of unit length."""
    mine, verdicts = answers["atomlearn"], {}
    lengths = [np.linalg.norm(values, axis=1) for values in mine]
    for name, found in answers.items():
        if name == "atomlearn":
            verdicts[name] = Verdict(bool(max(length.max() for length in lengths) < 1 + 1e-6), "")
            continue
        cosines = [cosine(a, turned(b)) for a, b in zip(mine, found, strict=True)]
        mean = float(np.concatenate(cosines).mean())
        verdicts[name] = Verdict(mean > LEAST_COSINE, f"mean cosine with ours {mean:.2f}")
    return verdicts


def turned(theirs: np.ndarray) -> np.ndarray:
    """OpenCV counts directions the other way round."""
    return theirs.reshape(-1, 16, 8)[:, :, -np.arange(8) % 8].reshape(-1, 128)


def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of patches that are not flat."""
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return ((a * b).sum(axis=1))[lengths > 0] / lengths[lengths > 0]
