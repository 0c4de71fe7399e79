"""Draws the pictures of the photo tutorial: `photos/` with one folder per class, `new/` with pictures to classify.

    python examples/data/photos.py [FOLDER] [--per-class N]

Circles, squares and crosses of any place, size and brightness before a noisy background, as PNG files of 64 x 64 dots.
"""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image

SIDE = 64


def shape(kind: str, generator: np.random.Generator) -> Image.Image:
    """A picture of one shape."""
    x, y = np.meshgrid(np.arange(SIDE), np.arange(SIDE))
    across, down = generator.uniform(24, 40, 2)
    size = generator.uniform(10, 18)
    dx, dy = np.abs(x - across), np.abs(y - down)
    inside = {
        "circle": np.hypot(dx, dy) < size,
        "square": np.maximum(dx, dy) < 0.9 * size,
        "cross": ((dx < size / 4) | (dy < size / 4)) & (np.maximum(dx, dy) < size),
    }[kind]
    picture = generator.normal(90, 15, (SIDE, SIDE)) + inside * generator.uniform(60, 120)
    return Image.fromarray(np.clip(picture, 0, 255).astype(np.uint8))


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw photos/ and new/.")
    parser.add_argument("folder", nargs="?", default=".", type=Path)
    parser.add_argument("--per-class", type=int, default=30)
    arguments = parser.parse_args()
    generator = np.random.default_rng(0)
    for kind in ("circle", "square", "cross"):
        folder = arguments.folder / "photos" / kind
        folder.mkdir(parents=True, exist_ok=True)
        for i in range(arguments.per_class):
            shape(kind, generator).save(folder / f"{kind}{i:03}.png")
    new = arguments.folder / "new"
    new.mkdir(parents=True, exist_ok=True)
    for i, kind in enumerate(("cross", "circle", "square", "circle")):
        shape(kind, generator).save(new / f"picture{i}.png")


if __name__ == "__main__":
    main()
