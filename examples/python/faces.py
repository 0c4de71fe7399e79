"""Faces of Extended Yale B, 20 training images of each person.

Give the file as argument or set ATOMLEARN_DATA to the folder that holds EYaleB_54x48.mat. Without it the example runs
on faces that are made up: each "person" is a smooth random image under random light. That shows the calls, not what
real faces give.
"""

import os
import sys
from pathlib import Path

import numpy as np
from atomlearn import CRCClassifier, LCDLSVClassifier, OneHotRidgeClassifier
from scipy.io import loadmat
from scipy.ndimage import gaussian_filter


def real_faces(path):
    content = loadmat(path)
    X, y = content["X"].astype(float), content["y"].ravel()
    return (X if len(X) == len(y) else X.T), y


def made_up_faces(people=12, images=40, shape=(27, 24)):
    rng = np.random.default_rng(0)
    light = [np.ones(shape), *np.meshgrid(*(np.linspace(-1, 1, n) for n in shape), indexing="ij")]
    X = []
    for _ in range(people):
        face = gaussian_filter(rng.normal(size=shape), 2) + 0.3
        for _ in range(images):
            shade = 1 + 0.4 * sum(rng.normal() * part for part in light)
            X.append((face * shade + 0.05 * rng.normal(size=shape)).ravel())
    return np.array(X), np.repeat(np.arange(people), images)


given = sys.argv[1] if len(sys.argv) > 1 else Path(os.environ.get("ATOMLEARN_DATA", ".")) / "EYaleB_54x48.mat"
if Path(given).exists():
    (X, y), dimensions = real_faces(given), 300
    print(f"{given}: {len(X)} images of {len(np.unique(y))} people")
else:
    (X, y), dimensions = made_up_faces(), 60
    print("MADE-UP FACES (no EYaleB_54x48.mat found): the numbers below say nothing about real ones")

rng = np.random.default_rng(1)
train = np.concatenate([rng.permutation(np.flatnonzero(y == person))[:20] for person in np.unique(y)])
test = np.setdiff1d(np.arange(len(y)), train)
for estimator in (LCDLSVClassifier, CRCClassifier, OneHotRidgeClassifier):
    model = estimator(prep=f"pca-uncentered:{dimensions},unit").fit(X[train], y[train])
    print(f"{estimator.__name__:22} accuracy {model.score(X[test], y[test]):.3f}")
