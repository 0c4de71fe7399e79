"""Pictures of fitted estimators. They need matplotlib: ``pip install atomlearn[plot]``."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._base import CodingClassifier, DictionaryClassifier


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("atomlearn.plot needs matplotlib: pip install atomlearn[plot]") from error
    return plt


def atoms_as_samples(estimator: CodingClassifier) -> np.ndarray:
    """The atoms in the space of raw samples: linear preprocessing is taken back, without adding means.

    Parameters
    ----------
    estimator : fitted estimator with ``components_``

    Returns
    -------
    atoms : ndarray of shape (n_atoms, n_features_in_)
        One atom per row.
    """
    check_is_fitted(estimator)
    atoms, parts = estimator.components_, estimator.model_.parts()
    steps = estimator.model_.prep.split(",")
    for i in reversed(range(len(steps))):
        scale, basis = parts.get(f"prep.{i}.scale"), parts.get(f"prep.{i}.basis")
        if scale is not None:
            atoms = np.divide(atoms, scale, out=np.zeros_like(atoms), where=scale != 0)
        if basis is not None:
            atoms = atoms @ basis
    if atoms.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"preprocessing `{estimator.model_.prep}` is not linear: its atoms have no place among the samples"
        )
    return atoms


def atoms(estimator: CodingClassifier, shape: tuple[int, int] | None = None, *, most: int = 64, order: str = "C"):
    """Show atoms as images.

    Parameters
    ----------
    estimator : fitted estimator with ``components_``
    shape : (rows, columns), optional
        Shape of an image; square if not given.
    most : int, default=64
        How many atoms to show at most, spread evenly over all.
    order : {"C", "F"}, default="C"
        Whether pixels run along rows or along columns; columns in files from MATLAB.

    Returns
    -------
    figure : matplotlib Figure
    """
    images = atoms_as_samples(estimator)
    side = int(round(np.sqrt(images.shape[1])))
    rows, cols = shape or (side, side)
    if rows * cols != images.shape[1]:
        raise ValueError(f"{rows} x {cols} pixels do not make {images.shape[1]} features: give shape=(rows, columns)")
    shown = np.unique(np.linspace(0, len(images) - 1, min(most, len(images))).astype(int))
    wide = int(np.ceil(np.sqrt(len(shown))))
    high = int(np.ceil(len(shown) / wide))
    figure, axes = _pyplot().subplots(high, wide, figsize=(0.8 * wide, 0.8 * high), squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for axis, k in zip(axes.flat, shown):
        reach = np.abs(images[k]).max() or 1.0
        axis.imshow(images[k].reshape(rows, cols, order=order), cmap="RdBu_r", vmin=-reach, vmax=reach)
    return figure


def convergence(estimator: DictionaryClassifier, ax=None):
    """Show the objective and its terms after every iteration.

    Parameters
    ----------
    estimator : fitted estimator of a method that iterates
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes
    """
    check_is_fitted(estimator)
    steps = [step for step in estimator.history_ if step.objective is not None]
    if not steps:
        name = type(estimator).__name__
        raise ValueError(f"{name} has no objective to show: its method does not iterate or states none")
    ax = ax if ax is not None else _pyplot().subplots()[1]
    iterations = [step.iter for step in steps]
    objectives = np.array([step.objective for step in steps], dtype=float)
    ax.plot(iterations, objectives, color="black", marker=".", label="objective")
    for name in steps[-1].terms:
        ax.plot(iterations, [step.terms.get(name, np.nan) for step in steps], linewidth=1, label=name)
    ax.set(xlabel="iteration", ylabel="objective", yscale="log" if objectives.min() > 0 else "linear")
    ax.legend()
    return ax


def confusion_matrix(estimator: DictionaryClassifier, X, y, ax=None, **options):
    """Show which classes are taken for which.

    Parameters
    ----------
    estimator : fitted estimator
    X, y : array-like
        Samples and their true classes.
    ax : matplotlib Axes, optional
        Where to draw.
    **options
        For ``sklearn.metrics.ConfusionMatrixDisplay.from_estimator``.

    Returns
    -------
    ax : matplotlib Axes
    """
    _pyplot()
    from sklearn.metrics import ConfusionMatrixDisplay

    return ConfusionMatrixDisplay.from_estimator(estimator, X, y, ax=ax, **options).ax_
