"""Callbacks that log the steps of a fit to MLflow and TensorBoard."""

from __future__ import annotations

import os
from typing import Any, Optional

from numpy.typing import ArrayLike

from ._progress import Step


class _MetricsCallback:
    """Makes the numbers of every step; where they go is up to the class below."""

    def __init__(self, X: Optional[ArrayLike] = None, y: Optional[ArrayLike] = None, prefix: str = "") -> None:
        if (X is None) != (y is None):
            raise ValueError("accuracy needs samples and their classes: give both X and y, or none of them")
        self.X, self.y, self.prefix = X, y, prefix

    def __call__(self, step: Step) -> None:
        metrics = {} if step.objective is None else {"objective": step.objective}
        metrics.update({f"term/{name}": value for name, value in step.terms.items()})
        if step.change is not None:
            metrics["change"] = step.change
        if self.X is not None:
            metrics["accuracy"] = step.estimator().score(self.X, self.y)
        self._log({self.prefix + name: float(value) for name, value in metrics.items()}, step.iter)

    def _log(self, metrics: dict[str, float], iteration: int) -> None:
        raise NotImplementedError


class MlflowCallback(_MetricsCallback):
    """A callback that logs every iteration to the active MLflow run, or to one that MLflow then starts.

    Metrics are ``objective``, its parts (``term/NAME``), ``change`` and, with samples to try, ``accuracy``.

    Parameters
    ----------
    X, y : array-like, optional
        Samples and classes to measure the accuracy on after every iteration; not those of the fit.
    prefix : str, default=""
        Begins the names of the metrics.

    Examples
    --------
    >>> from atomlearn import LCDLSVClassifier, MlflowCallback
    >>> model = LCDLSVClassifier(callback=MlflowCallback())
    """

    def _log(self, metrics: dict[str, float], iteration: int) -> None:
        import mlflow

        mlflow.log_metrics(metrics, step=iteration)


class TensorBoardCallback(_MetricsCallback):
    """A callback that writes every iteration to a folder that TensorBoard shows.

    Scalars are ``objective``, its parts (``term/NAME``), ``change`` and, with samples to try, ``accuracy``.

    Parameters
    ----------
    log_dir : str or path-like
        The folder.
    X, y : array-like, optional
        Samples and classes to measure the accuracy on after every iteration; not those of the fit.
    prefix : str, default=""
        Begins the names of the scalars.

    Examples
    --------
    >>> from atomlearn import LCDLSVClassifier, TensorBoardCallback
    >>> model = LCDLSVClassifier(callback=TensorBoardCallback("runs/first"))
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        X: Optional[ArrayLike] = None,
        y: Optional[ArrayLike] = None,
        prefix: str = "",
    ) -> None:
        super().__init__(X, y, prefix)
        self.log_dir = log_dir
        self._writer: Any = None

    def _log(self, metrics: dict[str, float], iteration: int) -> None:
        if self._writer is None:
            from tensorboard.summary import Writer

            self._writer = Writer(os.fspath(self.log_dir))
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, iteration)

    def close(self) -> None:
        """Writes what is left; fits do so by themselves."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
