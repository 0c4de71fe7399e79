"""Training on a Dask cluster, from files or dask arrays that the workers load themselves.

The estimators have the names and parameters of those in ``atomlearn``. ``fit`` takes paths or dask arrays and learns
what the command line's ``train --out-of-core`` learns: the same partitions give the same bits, on any number of
workers. A worker that is lost is replaced by Dask; what it did is done again. Needs ``atomlearn[dask]``.

>>> import dask
>>> from dask.distributed import Client
>>> from atomlearn.scaleout import LCDLSVClassifier, QUIET
>>> dask.config.set(QUIET)  # doctest: +SKIP
>>> client = Client(n_workers=4, threads_per_worker=1)  # doctest: +SKIP
>>> model = LCDLSVClassifier().fit("shards/", client=client, checkpoint="training.state")  # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
import tempfile
import time
import uuid
import warnings
from collections.abc import Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import TypeVar

import numpy as np

from . import _atomlearn, _estimators, _labels, _worker
from ._base import DictionaryClassifier, FitWarning
from ._progress import Step

try:
    import dask
    import dask.array
    from distributed import Client, KilledWorker, default_client, wait
except ImportError as error:  # pragma: no cover
    raise ImportError("atomlearn.scaleout needs Dask: pip install 'atomlearn[dask]'") from error

__all__ = [
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

# Configuration of Dask for clusters that only train. Its monitors are for many small tasks and a dashboard; with few
# long tasks they cost more than all else Dask does. To set before the cluster is made: dask.config.set(QUIET).
QUIET = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
}

# How often Dask tries a task again after an error, such as a file system that is away for a moment.
RETRIES = 3
# How often a round is asked again because the cluster lost it, all workers at once for instance.
ATTEMPTS = 10

Self = TypeVar("Self", bound="PartitionedClassifier")


class PartitionedClassifier(DictionaryClassifier):
    """Base of the estimators; not to be used itself."""

    def fit(
        self: Self,
        X,
        y=None,
        *,
        client: Client | None = None,
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
        client : Client, default=None
            The cluster; None takes the client that was made last.
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
        if self.probability:
            raise ValueError("parameter `probability` = True: not available here; calibrate on a part of the data")
        if getattr(self, "class_weight", None) is not None:
            raise ValueError("parameter `class_weight`: not available here; weights need all samples in memory")
        client = client or default_client()
        source = _Files.of(client, X, y, partitions, data, labels) or _Blocks.of(X, y, partitions)
        started = time.perf_counter()
        trainer = self._trainer(source, checkpoint)
        while (request := trainer.request()) is not None:
            trainer.absorb(_ask(client, source, request), self._threads())
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

    def _trainer(self, source: _Files | _Blocks, checkpoint):
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

    def predict(self, X, *, client: Client | None = None):
        """Classes of samples.

        Parameters
        ----------
        X : path, list of paths, dask array or array-like of shape (n_samples, n_features)
            Samples. Files are read by the workers.
        client : Client, default=None
            The cluster, for files; None takes the client that was made last.

        Returns
        -------
        y : ndarray or dask array of shape (n_samples,)
            The class of every sample; a dask array if X is one.
        """
        if isinstance(X, dask.array.Array):
            return X.map_blocks(super().predict, drop_axis=1, dtype=self.classes_.dtype, meta=self.classes_[:0])
        if not _is_path(X):
            return super().predict(X)
        client = client or default_client()
        source = _Files.of(client, X, None, None, None, None, labelled=False)
        model = client.submit(_worker.state, self.model_, pure=False, retries=RETRIES)
        futures = client.map(_worker.predict_piece, source.tasks, model=model, pure=False, retries=RETRIES)
        in_model_order = self.classes_[np.argsort(self._class_order())]
        return in_model_order[np.concatenate(client.gather(futures))]


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
    def of(cls, client, X, y, partitions, data, labels, labelled: bool = True) -> _Files | None:
        if not _is_path(X):
            return None
        if y is not None:
            raise ValueError("y must be None with files: labels are in files, too")
        paths = [X] if isinstance(X, (str, os.PathLike)) else X
        paths = [os.path.abspath(path) for path in paths]
        # On a worker, because the client may not see the files.
        planned = client.submit(_atomlearn.plan, paths, partitions, labelled, data, labels, pure=False, retries=RETRIES)
        return cls(*planned.result())

    def submit(self, client: Client, index: int, request, **options):
        return client.submit(_worker.answer_piece, self.tasks[index], request, pure=False, **options)


class _Blocks:
    """Partitions that are the blocks of a dask array."""

    def __init__(self, X, y) -> None:
        self.n_features, self.label_type = X.shape[1], y.dtype
        self.class_kind = _labels.KINDS.get(y.dtype.kind, "str")
        # Neighbouring tasks are fused, so that a block lives no longer than it is worked on.
        self.tasks = list(zip(X.to_delayed()[:, 0], y.to_delayed()))
        self.digest = dask.base.tokenize(X, y)

    @classmethod
    def of(cls, X, y, partitions) -> _Blocks:
        if not isinstance(X, dask.array.Array) or X.ndim != 2 or y is None:
            raise TypeError("X must be a path, a list of paths, or a dask array of two dimensions with y")
        X = X.rechunk({1: -1})
        if np.isnan(X.shape[0]):
            X = X.compute_chunk_sizes()
        y = (y if isinstance(y, dask.array.Array) else dask.array.from_array(np.asarray(y))).rechunk(X.chunks[:1])
        if partitions not in (None, X.numblocks[0]):
            raise ValueError(f"the blocks of an array are its partitions, here {X.numblocks[0]}; rechunk it for others")
        return cls(X, y)

    def submit(self, client: Client, index: int, request, **options):
        x, y = self.tasks[index]
        answer = dask.delayed(_worker.answer_block, pure=False)
        return client.compute(answer(index, x, y, self.label_type, request), **options)


def _is_path(X) -> bool:
    if isinstance(X, (str, os.PathLike)):
        return True
    return isinstance(X, Sequence) and len(X) > 0 and all(isinstance(path, (str, os.PathLike)) for path in X)


def _ask(client: Client, source, request: bytes) -> bytes:
    """One round: every partition answers, neighbours are merged until one answer is left."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            state = client.submit(_worker.state, request, pure=False, retries=RETRIES)
            workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
            answers = []
            for index in range(len(source.tasks)):
                # A partition goes to the worker that remembers it, if that one is free; neighbours, whose answers are
                # merged, go to the same.
                home = [workers[index * len(workers) // len(source.tasks)]] if workers else None
                options = {"workers": home, "allow_other_workers": bool(home), "retries": RETRIES}
                answers.append(source.submit(client, index, state, **options))
            while len(answers) > 1:
                groups = [answers[i : i + _atomlearn._FAN_IN] for i in range(0, len(answers), _atomlearn._FAN_IN)]
                answers = [client.submit(_atomlearn.merge, group, pure=False, retries=RETRIES) for group in groups]
            wait(answers)
            return answers[0].result()
        except (CancelledError, KilledWorker) as error:
            # A task went down with several workers.
            if attempt == ATTEMPTS:
                raise RuntimeError(f"the cluster lost the same round {ATTEMPTS} times") from error
            time.sleep(0.2 * attempt)
    raise AssertionError("not reached")


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
