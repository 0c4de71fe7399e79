"""Models in MLflow: `log_model` and `load_model`, and as a Python function that other programs call.

Needs MLflow (``pip install "atomlearn[mlflow]"``; the small package ``mlflow-skinny`` will do).

>>> import atomlearn.mlflow  # doctest: +SKIP
>>> with mlflow.start_run():  # doctest: +SKIP
...     atomlearn.mlflow.log_model(model, "faces")

An artifact holds the model file, which the command line and ``atomlearn.load`` read too. Nothing in it is pickled.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Optional

from ._atomlearn import __version__
from ._files import load

if TYPE_CHECKING:
    from ._base import DictionaryClassifier

__all__ = ["get_default_pip_requirements", "load_model", "log_model", "save_model"]

FLAVOR_NAME = "atomlearn"
_FILE = "model.atomlearn"


def get_default_pip_requirements() -> list[str]:
    """What has to be installed where a model is used."""
    return [f"atomlearn=={__version__}"]


def save_model(
    model: DictionaryClassifier,
    path: str | os.PathLike[str],
    mlflow_model: Any = None,
    *,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: Optional[list[str]] = None,
    metadata: Optional[dict[str, Any]] = None,
) -> None:
    """Write a fitted estimator as a folder in MLflow's layout.

    Parameters
    ----------
    model : object
        A fitted estimator of this package.
    path : str or path-like
        The folder; it must not exist yet, or be empty.
    mlflow_model : mlflow.models.Model, optional
        What MLflow has noted about the model already.
    signature : mlflow.models.ModelSignature, optional
        What inputs and outputs look like; found from the input example if there is one.
    input_example : array-like or frame, optional
        A few samples.
    pip_requirements : list of str, optional
        What has to be installed where the model is used; by default this version of atomlearn.
    metadata : dict, optional
        Further notes.
    """
    from mlflow import pyfunc
    from mlflow.models import Model, infer_signature
    from mlflow.models.model import MLMODEL_FILE_NAME

    folder = os.fspath(path)
    os.makedirs(folder, exist_ok=True)
    if os.listdir(folder):
        raise ValueError(f"{folder} is not empty: name another folder")
    model.save(os.path.join(folder, _FILE))
    mlflow_model = Model() if mlflow_model is None else mlflow_model
    if signature is None and input_example is not None:
        params = {"predict_method": "predict"}
        signature = infer_signature(input_example, model.predict(input_example), params=params)
    if signature is not None:
        mlflow_model.signature = signature
    if metadata is not None:
        mlflow_model.metadata = metadata
    if input_example is not None:
        from mlflow.models.utils import _save_example

        _save_example(mlflow_model, input_example, folder)
    requirements = get_default_pip_requirements() if pip_requirements is None else list(pip_requirements)
    with open(os.path.join(folder, "requirements.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(requirements) + "\n")
    pyfunc.add_to_model(mlflow_model, loader_module="atomlearn.mlflow", data=_FILE, pip_requirements=requirements)
    mlflow_model.add_flavor(FLAVOR_NAME, atomlearn_version=__version__, data=_FILE, method=model.model_.method)
    mlflow_model.save(os.path.join(folder, MLMODEL_FILE_NAME))


def log_model(model: DictionaryClassifier, name: str, **kwargs: Any) -> Any:
    """Log a fitted estimator to the active MLflow run, or to one that MLflow then starts.

    Parameters
    ----------
    model : object
        A fitted estimator of this package.
    name : str
        Name of the logged model; in MLflow 2 the path of the artifact.
    **kwargs
        As for `save_model`, and MLflow's own, such as ``registered_model_name``.

    Returns
    -------
    info : mlflow.models.model.ModelInfo
        Where it is; ``info.model_uri`` goes to `load_model`.
    """
    import mlflow
    from mlflow.models import Model

    from . import mlflow as flavor

    if int(mlflow.__version__.split(".")[0]) >= 3:
        return Model.log(artifact_path=None, name=name, flavor=flavor, model=model, **kwargs)
    return Model.log(artifact_path=name, flavor=flavor, model=model, **kwargs)


def load_model(model_uri: str, dst_path: Optional[str] = None) -> DictionaryClassifier:
    """Read a logged or saved model as an estimator.

    Parameters
    ----------
    model_uri : str
        Where it is: ``models:/...``, ``runs:/...`` or a folder.
    dst_path : str, optional
        Folder that files are fetched to.

    Returns
    -------
    estimator : object
        The fitted estimator.
    """
    from mlflow.artifacts import download_artifacts
    from mlflow.models import Model

    folder = download_artifacts(artifact_uri=model_uri, dst_path=dst_path)
    flavors = Model.load(folder).flavors
    if FLAVOR_NAME not in flavors:
        raise ValueError(f"{model_uri} was not logged by atomlearn: it has {', '.join(flavors) or 'no flavors'}")
    return load(os.path.join(folder, flavors[FLAVOR_NAME]["data"]))


class _PythonFunction:
    """What `mlflow.pyfunc.load_model` wraps."""

    def __init__(self, estimator: DictionaryClassifier) -> None:
        self.estimator = estimator

    def get_raw_model(self) -> DictionaryClassifier:
        return self.estimator

    def predict(self, model_input: Any, params: Optional[dict[str, Any]] = None) -> Any:
        """Classes; with ``params={"predict_method": "predict_proba"}`` what another method of the estimator gives."""
        name = (params or {}).get("predict_method", "predict")
        if name not in ("predict", "predict_proba", "decision_function", "transform"):
            raise ValueError(
                f"predict_method = {name!r}: must be predict, predict_proba, decision_function or transform"
            )
        return getattr(self.estimator, name)(model_input)


def _load_pyfunc(path: str) -> _PythonFunction:
    """Called by `mlflow.pyfunc`; the path is that of the model file."""
    return _PythonFunction(load(path))
