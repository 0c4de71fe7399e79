"""Tuned scikit-learn baselines on given splits: `leaderboard_sklearn.py DATA.mat SPLITS.json PREP OUT.json`.

Every baseline is tuned by a grid search with 3 stratified folds on the training part of each split, after the same
linear preprocessing as the methods of atomlearn, fitted on training samples only.
"""

import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from scipy.io import loadmat
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits


class LinearPrep(BaseEstimator, TransformerMixin):
    """The linear steps of `--prep` that the leaderboard uses: `unit`, `pca:98%` and `pca-uncentered:300`."""

    def __init__(self, spec="unit"):
        self.spec = spec

    def fit(self, x, y=None):
        self.mean_, self.basis_ = np.zeros(x.shape[1]), None
        for step in self.spec.split(","):
            name, _, keep = step.partition(":")
            if name == "unit":
                continue
            mean = x.mean(0)
            _, values, basis = np.linalg.svd(x - mean, full_matrices=False)
            if keep.endswith("%"):
                share = np.cumsum(values**2) / np.sum(values**2)
                count = int(np.searchsorted(share, float(keep[:-1]) / 100) + 1)
            else:
                count = int(keep)
            self.basis_ = basis[:count].T
            self.mean_ = mean if name == "pca" else self.mean_
        return self

    def transform(self, x):
        x = x - self.mean_
        if self.basis_ is not None:
            x = x @ self.basis_
        return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.finfo(float).tiny)


class Span(BaseEstimator, TransformerMixin):
    """Rotates samples with more features than there are samples into the span of the centred training samples.

    LDA with its m x m covariances takes minutes on 4096 features; nothing outside the span separates training classes.
    """

    def fit(self, x, y=None):
        self.pca_ = PCA(svd_solver="full").fit(x) if x.shape[1] > x.shape[0] else None
        return self

    def transform(self, x):
        return x if self.pca_ is None else self.pca_.transform(x)


LDA = Pipeline([("span", Span()), ("lda", LinearDiscriminantAnalysis(solver="lsqr"))])
BASELINES = {
    "LDA": (LDA, {"lda__shrinkage": ["auto", 1e-3, 1e-2, 0.1, 0.5, 0.9]}),
    "LinearSVC": (LinearSVC(dual="auto", max_iter=5000), {"C": [0.1, 1, 10, 100, 1000]}),
    "SVC": (SVC(), {"C": [1, 10, 100, 1000], "gamma": [0.06, 0.25, 0.5, 1, 2, 4, 8]}),
    "RidgeClassifier": (RidgeClassifier(), {"alpha": [1e-4, 1e-3, 1e-2, 0.1, 1, 10]}),
    "kNN": (KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 9]}),
}


def tuned(name, prep, x, y, split):
    """Accuracy on one split, what was chosen and the CPU time, with one thread."""
    start = time.process_time()
    train, test = np.array(split["train"]), np.array(split["test"])
    model, grid = BASELINES[name]
    pipeline = Pipeline([("prep", LinearPrep(prep)), ("model", model)], memory=None)
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    search = GridSearchCV(pipeline, {f"model__{key}": value for key, value in grid.items()}, cv=folds)
    with threadpool_limits(1):
        search.fit(x[train], y[train])
        accuracy = float(search.score(x[test], y[test]))
    chosen = {key.removeprefix("model__"): value for key, value in search.best_params_.items()}
    return accuracy, chosen, time.process_time() - start


def main(data, splits, prep, out):
    content = loadmat(data)
    x, y = content["X"].T.astype(float), content["y"].ravel()
    splits = json.loads(Path(splits).read_text())["splits"]
    results = {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        running = {name: [pool.submit(tuned, name, prep, x, y, split) for split in splits] for name in BASELINES}
        for name, of_splits in running.items():
            accuracy, chosen, seconds = zip(*(future.result() for future in of_splits), strict=True)
            results[name] = {"accuracy": accuracy, "chosen": chosen, "cpu_seconds": sum(seconds)}
            print(f"    {name}: {np.mean(accuracy):.4f}", flush=True)
    partial = Path(out).with_suffix(".part")
    partial.write_text(json.dumps(results, indent=1))
    os.replace(partial, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
