"""Training on a Ray cluster: the same bits as in one process, also when a worker is killed."""

import os
import signal

import numpy as np
import pytest
from atomlearn import _worker, scaleout
from test_scaleout import PARAMS, bits, out_of_core, samples

ray = pytest.importorskip("ray")
_ray = pytest.importorskip("atomlearn._ray")


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    X, y = samples()
    for number, rows in enumerate(np.array_split(np.arange(len(y)), 2)):
        np.save(folder / f"part-{number}.npy", X[rows])
        np.save(folder / f"part-{number}.labels.npy", y[rows])
    return str(folder)


@pytest.mark.parametrize("partitions", [1, 20])
def test_ray_gives_the_bits_of_one_process(cluster, shards, partitions):
    model = scaleout.LCDLSVClassifier(**PARAMS).fit(shards, client=cluster, partitions=partitions)
    assert bits(model.model_) == bits(out_of_core(shards, partitions))
    labels = model.predict(shards, client=cluster)
    assert (labels == model.predict(samples()[0])).all()


def test_a_killed_worker_changes_nothing(cluster, shards, monkeypatch):
    asked, plain_ask = [], scaleout._ask

    def ask(engine, source, request):
        asked.append(request)
        if len(asked) in (4, 6):
            pid = cluster.get(engine.workers[0].call.remote(os.getpid))
            os.kill(pid, signal.SIGKILL)
        return plain_ask(engine, source, request)

    monkeypatch.setattr(scaleout, "_ask", ask)
    model = scaleout.LCDLSVClassifier(**PARAMS).fit(shards, client=cluster, partitions=20)
    assert len(asked) == model.n_rounds_ > 6
    assert bits(model.model_) == bits(out_of_core(shards, 20))


def test_errors_are_those_of_the_task_and_workers_end(cluster, shards, tmp_path):
    np.save(tmp_path / "alone.npy", samples(60)[0])
    with pytest.raises(ValueError, match="labels"):
        scaleout.LCDLSVClassifier().fit(tmp_path / "alone.npy", client=cluster)
    with pytest.raises(TypeError, match="on Ray, X must be a path"):
        scaleout.LCDLSVClassifier().fit(*samples(60), client=cluster)
    engine = _ray.RayEngine()
    assert engine.call(_worker.state, 7) == 7
    engine.close()
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(engine.workers[0].call.remote(os.getpid))
