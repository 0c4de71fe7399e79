"""Training on a cluster, Dask's or Ray's, from files that the workers load themselves (with Dask, also dask arrays).

The estimators have the names and parameters of those in ``atomlearn``. ``fit`` takes paths or dask arrays and learns
what the command line's ``train --out-of-core`` learns: the same partitions give the same bits, on any number of
workers. A worker that is lost is replaced; what it did is done again. Needs ``atomlearn[dask]`` or ``atomlearn[ray]``.

>>> import dask
>>> from dask.distributed import Client
>>> from atomlearn.scaleout import LCDLSVClassifier, QUIET
>>> dask.config.set(QUIET)  # doctest: +SKIP
>>> client = Client(n_workers=4, threads_per_worker=1)  # doctest: +SKIP
>>> model = LCDLSVClassifier().fit("shards/", client=client, checkpoint="training.state")  # doctest: +SKIP

On Ray, the module itself stands for the cluster that it is connected to:

>>> import ray  # doctest: +SKIP
>>> ray.init()  # doctest: +SKIP
>>> model = LCDLSVClassifier().fit("shards/", client=ray)  # doctest: +SKIP
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
import tempfile
import time
import types
import uuid
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from . import _atomlearn, _estimators, _worker
from ._base import DictionaryClassifier, FitWarning
from ._progress import Step

if TYPE_CHECKING:
    from ._dask import DaskBlocks, DaskEngine
    from ._ray import RayEngine

if importlib.util.find_spec("distributed") is not None:
    from . import _dask
    from ._dask import QUIET
elif importlib.util.find_spec("ray") is not None:  # pragma: no cover
    _dask = None
    QUIET = {}
else:  # pragma: no cover
    raise ImportError("atomlearn.scaleout needs a cluster: pip install 'atomlearn[dask]' or 'atomlearn[ray]'")

__all__ = [
    "AutoClassifier",
    "CADLClassifier",
    "CRCClassifier",
    "LCDLSVClassifier",
    "LRCClassifier",
    "LinearSVMClassifier",
    "OneHotRidgeClassifier",
    "QUIET",
    "SADLClassifier",
    "SVGDLClassifier",
]

Self = TypeVar("Self", bound="PartitionedClassifier")


class PartitionedClassifier(DictionaryClassifier):
    """Base of the estimators; not to be used itself."""

    def fit(
        self: Self,
        X,
        y=None,
        *,
        client: Any = None,
        partitions: int | None = None,
        checkpoint: str | os.PathLike | None = None,
        data: str | None = None,
        labels: str | None = None,
    ) -> Self:
        """Learn from labelled samples that the workers load.

        Parameters
        ----------
        X : path, list of paths, or dask array of shape (n_samples, n_features)
            A ``.npy`` file with ``NAME.labels.npy`` beside ``NAME.npy``, a folder of shards, or shards in order; the
            workers must see them under these paths. Or an array in blocks of rows.
        y : dask array or array-like of shape (n_samples,), default=None
            Classes of the samples of an array; with files, labels are in files.
        client : dask.distributed.Client or the module ray, default=None
            The cluster. None takes the Dask client that was made last or, if there is none, the Ray cluster that this
            process is connected to.
        partitions : int, default=None
            Number of partitions that ``.npy`` files are cut into; None goes by their size. The blocks of an array and
            shards of other kinds are one partition each.
        checkpoint : path, default=None
            File that keeps the state after every round. If it is there, training goes on from it.
        data, labels : str, default=None
            Names of the variables in ``.npz`` shards, and of the label column in tables.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if getattr(self, "probability", False):
            raise ValueError("parameter `probability` = True: not available here; calibrate on a part of the data")
        if getattr(self, "class_weight", None) is not None:
            raise ValueError("parameter `class_weight`: not available here; weights need all samples in memory")
        with _engine(client) as engine:
            source = _Files.of(engine, X, y, partitions, data, labels) or engine.blocks(X, y, partitions)
            started = time.perf_counter()
            trainer = self._trainer(source, checkpoint)
            while (request := trainer.request()) is not None:
                trainer.absorb(_ask(engine, source, request), self._threads())
                if checkpoint is not None:
                    _replace(Path(checkpoint), trainer.to_bytes())
            self.fit_seconds_ = time.perf_counter() - started

        progress = json.loads(trainer.progress)
        notes = {"data": {"sha256": source.digest, "samples": progress["samples"]}}
        if source.class_kind is not None:
            notes["python"] = {"class_kind": source.class_kind}
        self._restore(trainer.model(json.dumps(notes)))
        self._take({}, [Step.from_dict(step) for step in progress["steps"]])
        self.n_rounds_ = progress["rounds"]
        for warning in progress["warnings"]:
            warnings.warn(warning, FitWarning, stacklevel=2)
        return self

    def _trainer(self, source: _Files | DaskBlocks, checkpoint):
        partitions, digest = len(source.tasks), source.digest
        setup = (
            self._method_key(),
            json.dumps(self._method_params()),
            self.prep,
            partitions,
            source.n_features,
            digest,
        )
        if checkpoint is None or not Path(checkpoint).exists():
            return _atomlearn.Trainer(*setup, uuid.uuid4().hex)
        trainer = _atomlearn.Trainer.from_bytes(Path(checkpoint).read_bytes())
        different = trainer.differs_from(*setup)
        if different is not None:
            raise ValueError(f"{checkpoint}: the checkpoint is of another training, {different} differs")
        return trainer

    def predict(self, X, *, client: Any = None):
        """Classes of samples.

        Parameters
        ----------
        X : path, list of paths, dask array or array-like of shape (n_samples, n_features)
            Samples. Files are read by the workers.
        client : dask.distributed.Client or the module ray, default=None
            The cluster, for files; None as in `fit`.

        Returns
        -------
        y : ndarray or dask array of shape (n_samples,)
            The class of every sample; a dask array if X is one.
        """
        if _dask is not None and _dask.is_lazy(X):
            return X.map_blocks(super().predict, drop_axis=1, dtype=self.classes_.dtype, meta=self.classes_[:0])
        if not _is_path(X):
            return super().predict(X)
        with _engine(client) as engine:
            source = _Files.of(engine, X, None, None, None, None, labelled=False)
            found = engine.each(_worker.predict_piece, source.tasks, self.model_)
        in_model_order = self.classes_[np.argsort(self._class_order())]
        return in_model_order[np.concatenate(found)]


class AutoClassifier(PartitionedClassifier, _estimators.AutoClassifier):
    """The self-tuning classifier on a cluster; parameters and attributes as in `atomlearn.AutoClassifier`.

    It takes the form for many samples at any size: sums over all samples, and at most 4000 samples that are left out in
    turn. Groups and missing values are for training in memory.
    """


class LCDLSVClassifier(PartitionedClassifier, _estimators.LCDLSVClassifier):
    """LCDL-SV on a cluster; parameters as in `atomlearn.LCDLSVClassifier`."""


class CADLClassifier(PartitionedClassifier, _estimators.CADLClassifier):
    """CADL on a cluster; parameters as in `atomlearn.CADLClassifier`."""


class CRCClassifier(PartitionedClassifier, _estimators.CRCClassifier):
    """CRC over all training samples on a cluster; parameters as in `atomlearn.CRCClassifier`.

    Scores are those of plain CRC, from at most as many atoms per class as there are features.
    """


class LRCClassifier(PartitionedClassifier, _estimators.LRCClassifier):
    """LRC on a cluster; parameters as in `atomlearn.LRCClassifier`."""


class SADLClassifier(PartitionedClassifier, _estimators.SADLClassifier):
    """SADL on a cluster; parameters as in `atomlearn.SADLClassifier`.

    Workers remember the codes of their samples: 8 bytes times atoms and rows of structure, and classes, for each.
    """


class OneHotRidgeClassifier(PartitionedClassifier, _estimators.OneHotRidgeClassifier):
    """Ridge regression on a cluster; parameters as in `atomlearn.OneHotRidgeClassifier`."""


class LinearSVMClassifier(PartitionedClassifier, _estimators.LinearSVMClassifier):
    """Linear SVM on a cluster; parameters as in `atomlearn.LinearSVMClassifier`."""


class SVGDLClassifier(PartitionedClassifier, _estimators.SVGDLClassifier):
    """SVGDL on a cluster; parameters as in `atomlearn.SVGDLClassifier`."""


class _Files:
    """Partitions in files."""

    class_kind = None

    def __init__(self, tasks: list[str], n_features: int, digest: str) -> None:
        self.tasks, self.n_features, self.digest = tasks, n_features, digest

    @classmethod
    def of(cls, engine, X, y, partitions, data, labels, labelled: bool = True) -> _Files | None:
        if not _is_path(X):
            return None
        if y is not None:
            raise ValueError("y must be None with files: labels are in files, too")
        paths = [X] if isinstance(X, (str, os.PathLike)) else X
        paths = [os.path.abspath(path) for path in paths]
        # On a worker, because the client may not see the files.
        return cls(*engine.call(_atomlearn.plan, paths, partitions, labelled, data, labels))


def _is_path(X) -> bool:
    if isinstance(X, (str, os.PathLike)):
        return True
    return isinstance(X, Sequence) and len(X) > 0 and all(isinstance(path, (str, os.PathLike)) for path in X)


@contextlib.contextmanager
def _engine(client) -> Iterator[DaskEngine | RayEngine]:
    """The cluster behind the interface that both kinds share: `call`, `each`, `blocks`, `ask`."""
    if isinstance(client, types.ModuleType) and client.__name__ == "ray" or client is None and _only_ray():
        from ._ray import RayEngine

        engine = RayEngine()
    elif _dask is None:
        raise TypeError(
            "client must be the module ray, connected by ray.init(); for Dask: pip install 'atomlearn[dask]'"
        )
    else:
        engine = _dask.DaskEngine(client)
    try:
        yield engine
    finally:
        engine.close()


def _only_ray() -> bool:
    """Whether this process is connected to a Ray cluster and to no Dask cluster."""
    if _dask is not None and _dask.default_exists():
        return False
    return "ray" in sys.modules and sys.modules["ray"].is_initialized()


def _ask(engine, source, request: bytes) -> bytes:
    """One round: every partition answers."""
    return engine.ask(source, request)


def _replace(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    handle, name = tempfile.mkstemp(prefix=".atomlearn-", dir=path.absolute().parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
