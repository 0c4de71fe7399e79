"""Few samples: is a greedy choice of readings better, or an average? `auto_small.py [--splits 15] [--data FOLDER]`.

In NumPy, on the plain version of `auto` that the variable ATOMLEARN_AUTO_REFERENCE names (bench/run says more).
Every set is split again for every line: so many training samples per class, at most 400 others to test on, views
`unit` and `standard`. Printed are mean test accuracies in per cent and log-losses of

- the greedy choice of up to six among all candidates,
- the average of the 24 best, each with its own best weight and a share exp(-n / 4 (loss - best loss)), among the
  candidates that the walk over ridges looks at,
- the rule of `auto`: that average, unless the greedy choice lowers the summed log-loss by more than one for every
  reading after the first.
"""

import argparse
import importlib.util
import os
import sys

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine  # noqa: E402

MIDDLE, GAIN, MOST, LEAST_SHARE, EARNED = 3, 5e-3, 24, 1e-3, 1.0


def mixture(seed, classes, features, apart, kind):
    """Gaussian classes: alike, with covariances of their own, correlated, or with features of different scales."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(classes), 150)
    centres, x = rng.standard_normal((classes, features)) * apart, rng.standard_normal((150 * classes, features))
    if kind == "own":
        for c in range(classes):
            x[y == c] = x[y == c] @ (rng.standard_normal((features, features)) / features**0.5 + 0.3 * np.eye(features))
    if kind == "correlated":
        x = x @ (rng.standard_normal((features, features)) / features**0.5 + 0.2 * np.eye(features))
    x = x + centres[y]
    return (x * np.exp(2 * rng.standard_normal(features)) + 100 * rng.random(features) if kind == "scales" else x), y


def sets(folder):
    """Name, training samples per class, samples and labels."""
    for load, name, sizes in (
        (load_wine, "wine", (10, 20)),
        (load_iris, "iris", (10, 20)),
        (load_breast_cancer, "breast cancer", (10, 30)),
        (load_digits, "digits", (5, 10)),
    ):
        for size in sizes:
            yield name, size, *load(return_X_y=True)
    for seed, (classes, features, apart, kind, size) in enumerate(
        [(3, 10, 0.9, "alike", 20), (4, 8, 1.0, "own", 20), (3, 12, 0.7, "correlated", 20), (3, 13, 0.8, "scales", 20)]
    ):
        yield f"mixture, {kind}", size, *mixture(seed + 1, classes, features, apart, kind)
    files = (
        ("USPS_split", 10),
        ("OfficeCaltech10_webcam_VGG16fc", 5),
        ("Scene15_gist20_phog59_lbp40", 10),
        ("LFW86_32x32", 2),
    )
    for name, size in files if folder else ():
        from scipy.io import loadmat

        content = loadmat(f"{folder}/{name}.mat")
        yield (
            name,
            size,
            np.asarray(content["X"].T, dtype=float),
            np.unique(content["y"].ravel(), return_inverse=True)[1],
        )


def candidates(plain, x, y, test):
    """Normalised scores of left-out training and of test samples, loss alone and weight, in the order of `grid`."""
    counts, found = np.bincount(y), []
    for view in plain.VIEWS:
        for width in plain.WIDTHS:
            kernel = plain.Kernel(plain.View(view, x), x, width)
            k, own = kernel.of(test)
            for kappa in plain.KAPPAS:
                coder = plain.Coder(kernel.gram, y, counts, kappa)
                for reading in plain.READINGS:
                    scores, scale = plain.normalised(coder.loo(reading))
                    weight, loss, _ = plain.fit_weights(scores[None], y)
                    found.append((loss, weight[0], scores, plain.normalised(coder.scores(reading, k, own), scale)[0]))
    return found


def walked(losses, n_ridges, n_readings):
    """Places of the candidates that the walk over ridges looks at."""
    keep = np.zeros((len(losses) // n_readings // n_ridges, n_ridges), bool)
    for kernel, of_ridge in zip(keep, losses.reshape(-1, n_ridges, n_readings)):
        kernel[MIDDLE] = True
        for way in (-1, 1):
            best, ridge = of_ridge[MIDDLE], MIDDLE + way
            while 0 <= ridge < n_ridges:
                kernel[ridge] = True
                if not (of_ridge[ridge] < best * (1 - GAIN)).any():
                    break
                best, ridge = np.minimum(best, of_ridge[ridge]), ridge + way
    return np.flatnonzero(np.repeat(keep.ravel(), n_readings))


def greedy(plain, found, y, order):
    """Chosen places, weights and loss, as the plain version does it; only the ten most promising trials are fitted."""
    chosen, rows = [order[0]], np.arange(len(y))
    weights, loss, log_p = plain.fit_weights(found[order[0]][2][None], y)
    while len(chosen) < 6:
        p, rest = np.exp(log_p), [i for i in order[:48] if i not in chosen]
        f = np.stack([found[i][2] for i in rest])
        mean = (f * p).sum(2)
        slope, curve = (mean - f[:, rows, y]).mean(1), ((f * f * p).sum(2) - mean**2).mean(1) + 1e-3
        promise = np.where(slope < 0, slope**2 / curve, 0)
        best = [rest[i] for i in np.argsort(-promise)[:10] if promise[i] > 0]
        trials = [(*plain.fit_weights(np.stack([found[j][2] for j in [*chosen, i]]), y, iters=25), i) for i in best]
        if not trials or min(t[1] for t in trials) > loss * (1 - GAIN):
            break
        weights, loss, log_p, i = min(trials, key=lambda t: t[1])
        chosen.append(i)
    return chosen, weights, loss


def mixed(found, places, weights, part):
    return sum(w * found[i][part] for i, w in zip(places, weights))


def judged(plain, logits, y):
    """Accuracy in per cent and log-loss."""
    return 100 * (logits.argmax(1) == y).mean(), -plain.log_softmax(logits)[np.arange(len(y)), y].mean()


def split_results(plain, x, y, size, seed):
    rng = np.random.default_rng(seed)
    train = np.sort(np.concatenate([rng.choice(np.flatnonzero(y == c), size, replace=False) for c in np.unique(y)]))
    train = train[np.argsort(y[train], kind="stable")]
    test = rng.permutation(np.setdiff1d(np.arange(len(y)), train))[:400]
    target, n = y[train], len(train)
    found = candidates(plain, x[train], target, x[test])
    losses = np.array([loss for loss, *_ in found])
    chosen, weights, _ = greedy(plain, found, target, np.argsort(losses, kind="stable"))
    before = mixed(found, chosen, weights, 3)
    looked = walked(losses, len(plain.KAPPAS), len(plain.READINGS))
    order = looked[np.argsort(losses[looked], kind="stable")]
    chosen, weights, loss = greedy(plain, found, target, order)
    best = order[:MOST]
    share = np.exp(-n / 4 * (losses[best] - losses[best[0]]))
    share = np.where(share / share.sum() < LEAST_SHARE, 0, share)
    own = share / share.sum() * np.array([found[i][1] for i in best])
    average = mixed(found, best, own, 3)
    of_average = judged(plain, mixed(found, best, own, 2), target)[1] + 5e-4 * (own @ own)
    earns = n * (of_average - loss) > EARNED * (len(chosen) - 1)
    rule = mixed(found, chosen, weights, 3) if earns else average
    return [judged(plain, logits, y[test]) for logits in (before, average, rule)]


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=15)
    parser.add_argument("--data", help="a folder with .mat files of images and scenes")
    args = parser.parse_args()
    path = os.environ.get("ATOMLEARN_AUTO_REFERENCE") or sys.exit("ATOMLEARN_AUTO_REFERENCE names no file")
    spec = importlib.util.spec_from_file_location("auto_numpy", path)
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    print(f"| data | greedy, all candidates | average | rule of `auto` |\n|{'---|' * 4}")
    rows = []
    for name, size, x, y in sets(args.data):
        results = np.mean([split_results(plain, x, y, size, seed) for seed in range(args.splits)], axis=0)
        rows.append(results)
        print(f"| {name}, {size} per class | {' | '.join(f'{a:.2f}, {loss:.3f}' for a, loss in results)} |", flush=True)
    print(f"| mean | {' | '.join(f'{a:.2f}, {loss:.3f}' for a, loss in np.mean(rows, axis=0))} |")


if __name__ == "__main__":
    main()
