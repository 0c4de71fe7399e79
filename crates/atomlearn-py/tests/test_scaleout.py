"""Training on a Dask cluster: the same bits as out of core, whatever happens to workers and scheduler."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import atomlearn
import dask
import dask.array
import distributed
import numpy as np
import pytest
from atomlearn import _atomlearn, _dask, scaleout

# Small enough for a moment, large enough for pulls, several Newton rounds and uneven partitions.
PARAMS = {"atoms_per_class": 4, "max_iter": 3, "tol": 0.0, "lambda2": 1e-3}


CLASSIFIERS = [name for name in scaleout.__all__ if name.endswith("Classifier")]


def samples(n=1500, features=10, classes=3, seed=5):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    X = rng.normal(size=(classes, features))[y] + 0.8 * rng.normal(size=(n, features))
    return X, y


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    X, y = samples()
    for number, rows in enumerate(np.array_split(np.arange(len(y)), 2)):
        np.save(folder / f"part-{number}.npy", X[rows])
        np.save(folder / f"part-{number}.labels.npy", y[rows])
    return str(folder)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def bits(model):
    """Everything learned, to the bit."""
    parts = model.parts()
    return {name: (part.shape, part.tobytes()) for name, part in parts.items()}


def out_of_core(folder, partitions, key="lcdl-sv", params=PARAMS, prep="unit"):
    """The same state machine in one process, without a cluster."""
    pieces, n_features, digest = _atomlearn.plan([folder], partitions, True)
    trainer = _atomlearn.Trainer(
        key, json.dumps(params), prep, len(pieces), n_features, digest, f"{folder}{time.time()}"
    )
    while (request := trainer.request()) is not None:
        answers = [_atomlearn.answer_piece(request, piece, 2) for piece in pieces]
        while len(answers) > 1:
            answers = [_atomlearn.merge(answers[i : i + 16]) for i in range(0, len(answers), 16)]
        trainer.absorb(answers[0], 2)
    return trainer.model("{}")


@pytest.mark.parametrize("partitions", [1, 5, 20])
def test_a_cluster_gives_the_bits_of_one_process(client, shards, partitions):
    model = scaleout.LCDLSVClassifier(**PARAMS).fit(shards, client=client, partitions=partitions)
    assert bits(model.model_) == bits(out_of_core(shards, partitions))
    assert model.n_iter_ == 3 and len(model.objective_) == 3 and model.n_features_in_ == 10


@pytest.mark.parametrize("name, key", [("CADLClassifier", "cadl"), ("SADLClassifier", "sadl")])
def test_other_methods_give_the_bits_of_one_process(client, shards, name, key):
    params = {**PARAMS, "max_iter": 5}
    model = getattr(scaleout, name)(**params).fit(shards, client=client, partitions=5)
    assert bits(model.model_) == bits(out_of_core(shards, 5, key, params))


def test_a_worker_imports_no_more_than_it_needs():
    script = "import atomlearn._worker, sys; assert not {'sklearn', 'scipy', 'dask'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_command_line_gives_the_same_bits(client, shards, command_line, tmp_path):
    flags = [f"--set={name}={value}" for name, value in PARAMS.items()]
    train = [command_line, "train", shards, "--method", "lcdl-sv", "--out-of-core", "--partitions", "5", *flags]
    subprocess.run([*train, "-o", str(tmp_path / "model"), "--quiet"], check=True)
    model = scaleout.LCDLSVClassifier(**PARAMS).fit(shards, client=client, partitions=5)
    assert bits(atomlearn.load(tmp_path / "model").model_) == bits(model.model_)
    predict = [command_line, "predict", str(tmp_path / "model"), shards, "--out-of-core"]
    said = subprocess.run(predict, check=True, capture_output=True, text=True).stdout.split()
    assert [line.split(",")[1] for line in said[1:]] == [str(label) for label in model.predict(shards, client=client)]


# The self-tuning one has another form in memory, see below.
@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name != "AutoClassifier"])
def test_estimators_agree_with_the_plain_ones(client, name):
    X, y = samples()
    # Partitioned training chooses nothing, so that everything is given.
    given = {
        "LCDLSVClassifier": {**PARAMS, "eta1": 1e-2, "eta2": 5.0, "rule": "fused"},
        "CADLClassifier": PARAMS,
        "SADLClassifier": {"max_iter": 20},
        "CRCClassifier": {"kappa": 1e-3},
        "LRCClassifier": {"kappa": 1e-3},
        "OneHotRidgeClassifier": {"lam": 1e-3},
        "LinearSVMClassifier": {"theta": 20.0},
    }
    params = given.get(name, {})
    model = getattr(scaleout, name)(**params)
    model.fit(dask.array.from_array(X, chunks=(400, 10)), dask.array.from_array(y, chunks=400), client=client)
    plain = getattr(atomlearn, name)(**params).fit(X, y)
    scores, expected = model.decision_function(X), plain.decision_function(X)
    assert np.abs(scores - expected).max() < 1e-6 * np.abs(expected).max()
    assert (model.classes_ == plain.classes_).all() and model.classes_.dtype == plain.classes_.dtype
    lazy = model.predict(dask.array.from_array(X, chunks=(400, 10)))
    assert (lazy.compute() == model.predict(X)).all()


def test_the_self_tuning_classifier_gives_the_bits_of_one_process_and_all_attributes(client, tmp_path):
    X, y = samples(300, 6)
    np.save(tmp_path / "part.npy", X)
    np.save(tmp_path / "part.labels.npy", y)
    model = scaleout.AutoClassifier().fit(str(tmp_path), client=client, partitions=4)
    assert bits(model.model_) == bits(out_of_core(str(tmp_path), 4, "auto", {}, "none"))
    plain = atomlearn.AutoClassifier().fit(X, y)
    # All 300 samples are landmarks, so that it is the same up to the choice of the readings.
    assert abs(model.loo_accuracy_ - plain.loo_accuracy_) < 0.03
    assert abs(model.score(X, y) - plain.score(X, y)) < 0.03
    p = model.predict_proba(X)
    assert p.shape == (300, 3) and np.allclose(p.sum(axis=1), 1)
    assert model.loo_predict_proba_.shape == (300, 3) and not np.isnan(model.loo_predict_proba_).any()
    found = model.loo_predict_proba_.argmax(axis=1)
    assert abs((found == y).mean() - model.loo_accuracy_) < 1e-9, "rows are those of the data"
    given = scaleout.AutoClassifier(prep="center,unit").fit(str(tmp_path), client=client, partitions=4)
    assert {reading["view"] for reading in given.chosen_} == {"given"}


def some_as_text(y, rows):
    return np.array([str(v) if i in rows else int(v) for i, v in enumerate(y)], dtype=object)


REFUSED_LABELS = {
    "NaN": (lambda y: np.where(np.arange(len(y)) == 700, np.nan, y), "nan of partition 1, sample 300 .* is missing"),
    "None": (lambda y: np.where(np.arange(len(y)) == 700, None, y.astype(str)), "None of partition 1.* is missing"),
    "measured": (lambda y: y + 0.5, "measured value"),
    "1 and '1' in one block": (lambda y: some_as_text(y, range(1, len(y))), "not text"),
    "1 and '1' apart": (lambda y: some_as_text(y, range(400, len(y))), "not text"),
    "bytes": (lambda y: y.astype("S1"), "give numbers or text"),
}


@pytest.mark.parametrize("kind", REFUSED_LABELS)
def test_labels_are_refused_as_in_memory(client, kind):
    X, y = samples()
    change, words = REFUSED_LABELS[kind]
    labels = change(y)
    with pytest.raises((ValueError, TypeError)):
        atomlearn.OneHotRidgeClassifier().fit(X, labels)
    blocks = dask.array.from_array(X, chunks=(400, 10)), dask.array.from_array(labels, chunks=400)
    with pytest.raises(ValueError, match=words):
        scaleout.OneHotRidgeClassifier().fit(*blocks, client=client)


def test_blocks_of_numbers_and_of_text_never_merge(client):
    X, y = samples()

    def block(info):
        rows = slice(*info[0]["array-location"][0])
        return y[rows].astype(str) if rows.start > 0 else y[rows]

    # The array says int64, but all blocks after the first hold text.
    labels = dask.array.map_blocks(
        lambda x, block_info=None: block(block_info), dask.array.from_array(y, chunks=400), dtype=np.int64, meta=y[:0]
    )
    with pytest.raises(ValueError, match="make them one type"):
        scaleout.OneHotRidgeClassifier().fit(dask.array.from_array(X, chunks=(400, 10)), labels, client=client)


def test_the_methods_are_those_of_the_core():
    keys = {key for name in CLASSIFIERS for key in getattr(scaleout, name)._methods}
    assert keys == set(_atomlearn.scale_methods())


def test_a_killed_worker_changes_nothing(client, shards, monkeypatch):
    asked, plain_ask = [], scaleout._ask

    def ask(engine, source, request):
        asked.append(request)
        if len(asked) in (4, 6):
            pid = next(iter(client.run(os.getpid).values()))
            threading.Timer(0.005, os.kill, (pid, signal.SIGKILL)).start()
        return plain_ask(engine, source, request)

    monkeypatch.setattr(scaleout, "_ask", ask)
    model = scaleout.LCDLSVClassifier(**PARAMS).fit(shards, client=client, partitions=20)
    assert len(asked) == model.n_rounds_ > 6
    assert bits(model.model_) == bits(out_of_core(shards, 20))


class Cluster:
    """A scheduler and a worker as processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.file, self.processes = folder / "scheduler.json", []
        self.file.unlink(missing_ok=True)
        shared = ["--scheduler-file", str(self.file), "--no-dashboard"]
        self.start("distributed.cli.dask_scheduler", *shared, "--port", "0")
        self.start("distributed.cli.dask_worker", *shared, "--nthreads", "1", "--no-nanny")
        deadline = time.monotonic() + 60
        while not self.file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        # So long does a client look for a scheduler that is gone.
        self.client = distributed.Client(scheduler_file=str(self.file), timeout=3)
        self.client.wait_for_workers(1, timeout=60)

    def start(self, module: str, *args: str) -> None:
        command = [sys.executable, "-m", module, *args]
        self.processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


def test_a_killed_scheduler_leaves_a_checkpoint_that_resumes_to_the_same_bits(shards, tmp_path, monkeypatch):
    asked, plain_ask = [], scaleout._ask

    def ask(engine, source, request):
        asked.append(request)
        if len(asked) == 5:
            first.processes[0].kill()
        return plain_ask(engine, source, request)

    monkeypatch.setattr(scaleout, "_ask", ask)
    monkeypatch.setattr(_dask, "ATTEMPTS", 2)
    with dask.config.set({"distributed.comm.timeouts.connect": "3s", "distributed.comm.retry.count": 0}):
        first = Cluster(tmp_path)
        try:
            # What Dask raises depends on where the loss is noticed.
            with pytest.raises(Exception):  # noqa: B017
                scaleout.LCDLSVClassifier(**PARAMS).fit(
                    shards, client=first.client, partitions=5, checkpoint=tmp_path / "state"
                )
        finally:
            first.kill()
            first.client.close(timeout=1)
    before = len(asked)
    second = Cluster(tmp_path)
    try:
        fit = {"client": second.client, "partitions": 5, "checkpoint": tmp_path / "state"}
        with pytest.raises(ValueError, match="a parameter differs"):
            scaleout.LCDLSVClassifier(**{**PARAMS, "max_iter": 4}).fit(shards, **fit)
        model = scaleout.LCDLSVClassifier(**PARAMS).fit(shards, **fit)
    finally:
        second.client.close(timeout=1)
        second.kill()
    assert before >= 5 and len(asked) - before == model.n_rounds_ - 4, "four rounds were done before the loss"
    assert bits(model.model_) == bits(out_of_core(shards, 5))


def test_what_cannot_be_is_refused(client, shards, tmp_path):
    X, y = samples(60)
    with pytest.raises(ValueError, match="probability"):
        scaleout.LCDLSVClassifier(probability=True).fit(shards, client=client)
    with pytest.raises(TypeError, match="dask array"):
        scaleout.LCDLSVClassifier().fit(X, y, client=client)
    with pytest.raises(ValueError, match="labels"):
        np.save(tmp_path / "alone.npy", X)
        scaleout.LCDLSVClassifier().fit(tmp_path / "alone.npy", client=client)
    with pytest.raises(ValueError, match="kernel"):
        scaleout.LCDLSVClassifier(prep="kernel:rbf:auto").fit(shards, client=client)
