"""Probabilities from scores: one inverse temperature, fitted on scores of samples that the model has not seen.

``p(c | x) = exp(b s_c(x)) / sum_k exp(b s_k(x))`` with one ``b > 0``, so that the most probable class is the
predicted one. ``b`` minimises the log loss of out-of-fold scores: each fold is scored by a model fitted on the
others. Targets are softened by ``1 / (n + 2)`` as in Platt (1999), so that ``b`` stays finite when the folds are told
apart without error. The model that predicts is fitted on all samples. See Guo, Pleiss, Sun, Weinberger: On
calibration of modern neural networks, ICML 2017.
"""

from __future__ import annotations

import json

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

# The inverse temperature is sought within this factor of one over the spread of the scores.
_WIDEST = 1e4


def inverse_temperature(estimator, X, y: np.ndarray, n_folds: int, weights: np.ndarray | None = None) -> float:
    """The inverse temperature of an estimator on these samples, by stratified cross-validation."""
    if weights is not None:
        X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
    classes, targets, counts = np.unique(y, return_inverse=True, return_counts=True)
    if n_folds < 2:
        raise ValueError(f"parameter `calibration_cv` = {n_folds}: must be a whole number >= 2")
    if len(classes) < 2:
        raise ValueError("only one class: a classifier needs samples of at least two classes")
    if counts.min() < 2:
        few = classes[counts.argmin()]
        raise ValueError(
            f"probability=True needs at least two samples of every class to calibrate on, but class {few} has one: "
            "add samples, or leave probability at False"
        )
    scores = np.empty((len(targets), len(classes)))
    folds = StratifiedKFold(min(n_folds, counts.min()), shuffle=True, random_state=0)
    quiet = clone(estimator).set_params(probability=False, callback=None, verbose=0)
    if weights is not None:
        # The weights of classes are among those of the samples.
        quiet.set_params(class_weight=None)

    def fitted(places):
        if weights is None:
            return clone(quiet).fit(X[places], y[places])
        return clone(quiet).fit(X[places], y[places], sample_weight=weights[places])

    # What is left open is chosen once, on all samples as in the fit itself: folds that chose on their own would have
    # scores of different rules and scales, for which no temperature is right.
    if any(isinstance(value, str) and value == "auto" for value in quiet.get_params().values()):
        quiet.set_params(**_chosen(fitted(np.arange(len(y)))))
    for train, test in folds.split(X, targets):
        scores[test] = fitted(train)._scores(X[test])
    return best_inverse_temperature(scores, targets, weights)


def _chosen(fitted) -> dict:
    """The values that a fit chose for parameters that were left open."""
    from ._base import PYTHON_NAMES  # which imports this module

    chosen = json.loads(fitted.model_.info).get("chosen") or {}
    return {PYTHON_NAMES.get(name, name): value for name, value in chosen.items()}


def best_inverse_temperature(scores: np.ndarray, targets: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Minimises the softened log loss, which is convex in the inverse temperature."""
    scores = finite(scores)
    n, n_classes = scores.shape
    soft = np.full(scores.shape, 1.0 / (n + 2) / (n_classes - 1))
    soft[np.arange(n), targets] = 1.0 - 1.0 / (n + 2)
    spread = np.std(scores - scores.mean(axis=1, keepdims=True))
    if spread == 0.0:
        return 1.0

    def loss(log_b: float) -> float:
        return -np.average(np.sum(soft * log_softmax(np.exp(log_b) * scores, axis=1), axis=1), weights=weights)

    centre, reach = -np.log(spread), np.log(_WIDEST)
    return float(np.exp(minimize_scalar(loss, bounds=(centre - reach, centre + reach), method="bounded").x))


def probabilities(scores: np.ndarray, inverse_temperature: float) -> np.ndarray:
    """Class probabilities of every row of scores."""
    return softmax(inverse_temperature * finite(scores), axis=1)


def finite(scores: np.ndarray) -> np.ndarray:
    """Scores with "never this class" (minus infinity) set below all others of the sample by as much as those spread."""
    never = np.isneginf(scores)
    if not never.any():
        return scores
    high = np.where(never, -np.inf, scores).max(axis=1, keepdims=True, initial=-np.inf)
    low = np.where(never, np.inf, scores).min(axis=1, keepdims=True, initial=np.inf)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    return np.where(never, low - np.maximum(high - low, 1.0), scores)
