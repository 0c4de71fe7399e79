"""Model files, shared with the command line."""

from __future__ import annotations

import json
import os

from . import _atomlearn
from ._base import PYTHON_NAMES, DictionaryClassifier
from ._estimators import ESTIMATORS


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
    params = {PYTHON_NAMES.get(name, name): value for name, value in json.loads(model.params).items()}
    keys = list(estimator_class._methods)
    if len(keys) > 1:
        params["variant"] = keys.index(model.method) + 1
    estimator = estimator_class(**params, prep=model.prep)
    estimator._restore(model)
    estimator.probability = estimator._inverse_temperature is not None
    return estimator
