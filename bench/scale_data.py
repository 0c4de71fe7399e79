"""Synthetic shards for docs/measurements/scale.md: `part-00000.npy` (samples x features, float32) and its labels.

    python bench/scale_data.py FOLDER [--samples 1000000] [--features 128] [--classes 10] [--shard 50000] [--seed 1]

Every class is a cloud around a mean of its own, stretched along its own directions with falling variance; clouds
overlap, so that many samples stay within the margins of a classifier. A shard depends on the seed and its number alone:
the first 100 000 samples are the same whatever --samples says.
"""

import argparse
from pathlib import Path

import numpy as np


def shard(number: int, size: int, features: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    shared = np.random.default_rng([seed, 0])
    means = shared.normal(size=(classes, features)) / np.sqrt(features)
    rank = min(24, features)
    bases = shared.normal(size=(classes, rank, features)) / np.sqrt(features)
    own = np.random.default_rng([seed, 1, number])
    labels = own.integers(classes, size=size)
    along = own.normal(size=(size, rank)) * (1.0 / np.sqrt(1.0 + np.arange(rank)))
    samples = 0.35 * means[labels] + 0.8 * own.normal(size=(size, features)) / np.sqrt(features)
    for c in range(classes):
        samples[labels == c] += along[labels == c] @ bases[c]
    return samples.astype(np.float32), labels.astype(np.int8)


def write(folder: Path, samples: int, features: int, classes: int, size: int, seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, samples, size)):
        x, y = shard(number, min(size, samples - start), features, classes, seed)
        np.save(folder / f"part-{number:05}.npy", x)
        np.save(folder / f"part-{number:05}.labels.npy", y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--shard", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    write(args.folder, args.samples, args.features, args.classes, args.shard, args.seed)


if __name__ == "__main__":
    main()
