"""Model and data files, shared with the command line."""

from __future__ import annotations

import json
import os
from typing import Literal

import numpy as np

from . import _atomlearn
from ._base import PYTHON_NAMES, DictionaryClassifier
from ._estimators import ESTIMATORS
from ._labels import classes_of


def load(path: str | os.PathLike) -> DictionaryClassifier:
    """Read a model file, written by ``save`` or by the command line's ``train``.

    Loading runs no code from the file, so that files from strangers are safe; damaged ones are refused.

    Parameters
    ----------
    path : str or path-like
        The model file.

    Returns
    -------
    estimator : object
        A fitted estimator of the class that stands for the file's method, with the file's parameters.
    """
    model = _atomlearn.Model.load(path)
    estimator_class = ESTIMATORS[model.method]
    # Parameters that training chose have the chosen values; what a method decides by itself is open in the file.
    defaults = estimator_class().get_params()
    params = {}
    for name, value in json.loads(model.params).items():
        ours = PYTHON_NAMES.get(name, name)
        params[ours] = "auto" if value is None and defaults.get(ours) == "auto" else value
    keys = list(estimator_class._methods)
    if len(keys) > 1:
        params["variant"] = keys.index(model.method) + 1
    estimator = estimator_class(**params, prep=model.prep)
    estimator._restore(model)
    if "probability" in estimator.get_params():
        estimator.probability = estimator._inverse_temperature is not None
    return estimator


def read(
    path: str | os.PathLike,
    *,
    x: str | None = None,
    y: str | None = None,
    samples: Literal["rows", "columns"] | None = None,
    labels: str | os.PathLike | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Read a data file or a folder of images as the command line does.

    Parameters
    ----------
    path : str or path-like
        ``.mat`` (all versions from 5), ``.h5``, ``.npz``, ``.npy``, ``.csv``, ``.tsv``, ``.parquet``, ``.libsvm``, or a
        folder with one sub-folder of images per class.
    x, y : str, optional
        Names of the data and label variables (in a table: of the label column), where they are not the usual ones;
        ``y="none"`` for data without labels.
    samples : {"rows", "columns"}, optional
        Where the samples lie, if the file does not say.
    labels : str or path-like, optional
        A second file with the labels: ``.npy``, or text with one label per line.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The samples, float64.
    y : ndarray of shape (n_samples,) or None
        The labels: integers if all are whole numbers, else text.
    """
    X, names = _atomlearn.read(path, x, y, samples, labels)
    return X, None if names is None else classes_of(names, None)
