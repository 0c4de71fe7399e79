"""Weights of samples: what they are made from, and medians that heed them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

# Sums of weights that differ by a smaller share differ by rounding.
_ROUNDING = 1e-12


def checked(sample_weight, class_weight, X, y: np.ndarray) -> np.ndarray | None:
    """The weight of every sample, or None if nobody asked for weights."""
    if sample_weight is None and class_weight is None:
        return None
    check_classification_targets(y)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weights < 0).any():
        raise ValueError(f"sample_weight must not be negative, but sample {np.flatnonzero(weights < 0)[0]} has one")
    if class_weight is None:
        return weights
    classes, targets = np.unique(y, return_inverse=True)
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f'class_weight = "{class_weight}": must be "balanced", a dict or None')
        totals = np.bincount(targets, weights=weights)
        factors = np.divide(totals.sum(), len(classes) * totals, out=np.zeros(len(classes)), where=totals > 0)
    elif isinstance(class_weight, Mapping):
        unknown = [name for name in class_weight if name not in set(classes.tolist())]
        if unknown:
            raise ValueError(f"class_weight names classes of which there is no sample: {unknown}")
        factors = np.array([float(class_weight.get(name, 1.0)) for name in classes.tolist()])
    else:
        raise ValueError(f'class_weight = {class_weight!r}: must be "balanced", a dict or None')
    return weights * factors[targets]


def medians(X: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """The median of every feature without its missing values; with weights, that of samples repeated so often."""
    if weights is None:
        return np.nanmedian(X, axis=0) if np.isnan(X).any() else np.median(X, axis=0)
    return np.array([_weighted_median(column, weights) for column in X.T])


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    there = ~np.isnan(values) & (weights > 0)
    order = np.argsort(values[there], kind="stable")
    values, sums = values[there][order], np.cumsum(weights[there][order])
    half = 0.5 * sums[-1]
    place = int(np.searchsorted(sums, (1 - _ROUNDING) * half))
    # Half of the weight reached exactly: the mean of the middle two.
    both = sums[place] <= (1 + _ROUNDING) * half and place + 1 < len(values)
    return float(0.5 * (values[place] + values[place + 1]) if both else values[place])
