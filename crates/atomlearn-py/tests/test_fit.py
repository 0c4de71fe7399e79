"""What happens while a fit runs: steps, stopping, Ctrl-C, threads."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import atomlearn
import joblib
import numpy as np
import pytest
import threadpoolctl
from atomlearn import CRCClassifier, FitWarning, LCDLSVClassifier, LinearSVMClassifier, ProgressBar, _threads
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def lcdl(**params):
    """What the authors' code does: nothing is chosen, and there are iterations."""
    return LCDLSVClassifier.from_preset("authors-code", **params)


def test_steps_add_up_to_the_history(digits):
    X, y, *_ = digits
    seen = []
    model = lcdl(callback=seen.append).fit(X, y)
    assert [step.iter for step in seen] == list(range(model.n_iter_ + 1)) and seen[0].max_iter == 20
    assert model.objective_.shape == (model.n_iter_,)
    assert [step.objective for step in seen[1:]] == model.objective_.tolist()
    assert [step.terms for step in seen] == [step.terms for step in model.history_]
    for step in seen[1:]:
        assert sum(step.terms.values()) == pytest.approx(step.objective, rel=1e-9)
    assert seen[-1].change <= model.tol or model.n_iter_ == model.max_iter


def test_listening_changes_nothing(digits):
    X, y, X_test, _ = digits
    alone = lcdl().fit(X, y).decision_function(X_test)
    watched = lcdl(callback=lambda step: None, verbose=1).fit(X, y).decision_function(X_test)
    assert np.array_equal(alone, watched)


def test_a_callback_can_end_the_fit_with_the_model_as_it_stands(digits):
    X, y, X_test, _ = digits
    stopped = lcdl(callback=lambda step: step.iter == 2).fit(X, y)
    assert stopped.n_iter_ == 2
    short = lcdl(max_iter=2).fit(X, y)
    assert np.array_equal(stopped.decision_function(X_test), short.decision_function(X_test))


def test_a_callback_can_predict_while_the_only_thread_waits_for_it(digits):
    X, y, X_test, _ = digits
    other = lcdl(max_iter=1, n_threads=1).fit(X, y)
    found = []
    lcdl(max_iter=2, n_threads=1, callback=lambda step: found.append(other.predict(X_test))).fit(X, y)
    assert len(found) >= 2 and all((labels == other.predict(X_test)).all() for labels in found)


def test_an_exception_in_a_callback_ends_the_fit(digits):
    X, y, *_ = digits

    def fail(step):
        raise LookupError("from the callback")

    model = lcdl(callback=fail)
    with pytest.raises(LookupError, match="from the callback"):
        model.fit(X, y)
    assert not hasattr(model, "model_")


def test_verbose_prints_a_line_per_iteration(digits, capsys):
    X, y, *_ = digits
    model = lcdl(max_iter=3, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_ + 1 and lines[-1].startswith("[LCDLSVClassifier] iteration 3/3  objective ")


@pytest.mark.parametrize("with_tqdm", [True, False])
def test_progress_bars(with_tqdm, digits, capsys, monkeypatch):
    X, y, *_ = digits
    if not with_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    lcdl(max_iter=3, callback=ProgressBar()).fit(X, y)
    assert "3/3" in capsys.readouterr().err


def test_scikit_learn_callbacks(digits):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")
    X, y, X_test, y_test = digits

    class Recorder:
        def __init__(self):
            self.events, self.scores = [], []

        def setup(self, estimator, context):
            self.events.append("setup")

        def on_fit_task_begin(self, estimator, context):
            self.events.append(f"begin {context.task_name}")

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            self.events.append(f"end {context.task_name}")
            self.scores.append(fitted_estimator.score(X_test, y_test))
            return context.task_name == "iteration 2"

        def teardown(self, estimator, context):
            self.events.append("teardown")

    assert isinstance(Recorder(), callback.FitCallback)
    recorder = Recorder()
    model = lcdl().set_callbacks(recorder).fit(X, y)
    iterations = [f"{event} iteration {i}" for i in (1, 2) for event in ("begin", "end")]
    assert recorder.events == ["setup", "begin fit", *iterations, "end fit", "teardown"]
    # The model of iteration k is what k iterations give, and the last one is the result.
    assert recorder.scores[0] == lcdl(max_iter=1).fit(X, y).score(X_test, y_test)
    assert recorder.scores[1] == recorder.scores[2] == model.score(X_test, y_test) and model.n_iter_ == 2


@pytest.mark.parametrize("key", sorted(atomlearn._estimators.ESTIMATORS))
def test_every_method_tells_scikit_learn_of_its_iterations(key, digits):
    pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")
    X, y, *_ = digits
    told = []

    class Recorder:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context):
            told.append(context.task_name)

    model = atomlearn._estimators.ESTIMATORS[key]().set_callbacks(Recorder()).fit(X, y)
    assert told == [*(f"iteration {i + 1}" for i in range(model.n_iter_)), "fit"]


def test_scikit_learn_callbacks_come_through_pipelines_and_searches(digits):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")
    X, y, *_ = digits
    monitor = callback.ScoringMonitor(scoring="accuracy") if hasattr(callback, "ScoringMonitor") else None
    model = lcdl(max_iter=3).set_callbacks(monitor)
    make_pipeline(StandardScaler(), model).fit(X, y)
    search = GridSearchCV(lcdl(max_iter=2), {"lambda1": [1e-3, 1e-2]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.5


def test_the_model_of_an_iteration_cannot_be_asked_for_later(digits):
    X, y, *_ = digits
    kept = []
    atomlearn._atomlearn.fit(
        "lcdl-sv", '{"max_iter": 2}', "unit", X, [str(c) for c in y], "{}", 1, lambda _, model: kept.append(model)
    )
    with pytest.raises(RuntimeError, match="only while its callback runs"):
        kept[0]()


def test_a_kept_model_getter_does_not_hold_up_a_failed_fit(digits):
    X, y, *_ = digits
    kept = []

    def fail(step, model):
        kept.append(model)
        raise LookupError

    threads = lambda: len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 0  # noqa: E731
    before = threads()
    with pytest.raises(LookupError):
        atomlearn._atomlearn.fit("lcdl-sv", '{"max_iter": 3}', "unit", X, [str(c) for c in y], "{}", 1, fail)
    time.sleep(0.5)
    assert threads() <= before


def test_warnings_of_a_fit_become_python_warnings(digits):
    X, y, *_ = digits
    with pytest.warns(FitWarning, match="laplacian_ridge") as caught:
        lcdl(rule="svm").fit(X[:, 20:23], y)
    assert caught[0].filename == __file__


def test_what_is_left_open_is_chosen_and_kept(digits, tmp_path):
    X, y, X_test, _ = digits
    model = CRCClassifier(kappa="auto").fit(X, y)
    assert CRCClassifier().kappa == "auto" and CRCClassifier(kappa=None).fit(X, y).kappa is None
    chosen = json.loads(model.model_.info)["chosen"]
    assert chosen["kappa"] > 0
    given = CRCClassifier(kappa=chosen["kappa"]).fit(X, y)
    assert np.array_equal(given.decision_function(X_test), model.decision_function(X_test))
    model.save(tmp_path / "crc.model")
    again = atomlearn.load(tmp_path / "crc.model")
    assert again.kappa == chosen["kappa"]
    assert np.array_equal(again.decision_function(X_test), model.decision_function(X_test))
    with pytest.raises(ValueError, match="auto or a number > 0"):
        CRCClassifier(kappa="best").fit(X, y)


def test_any_number_of_threads_gives_the_same_bits(digits):
    X, y, X_test, _ = digits
    one, two, many = (LCDLSVClassifier(n_threads=n).fit(X, y).decision_function(X_test) for n in (1, 2, 5))
    assert np.array_equal(one, two) and np.array_equal(one, many)


def test_other_threads_run_during_a_fit(digits):
    X, y, *_ = digits
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    other.start()
    start = time.perf_counter()
    lcdl(tol=0.0, max_iter=60).fit(X, y)
    end = time.perf_counter()
    done.set()
    other.join()
    inside = [t for t in ticks if start < t < end]
    longest = max(np.diff([start, *inside, end]))
    assert len(inside) > 10 and longest < 0.5 * (end - start)


INTERRUPTED = """
    import sys, time
    import numpy as np
    from atomlearn import {name}
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(30), 100)
    X = rng.normal(size=(30, 300))[y] + rng.normal(size=(3000, 300))
    print("ready", flush=True)
    start = time.perf_counter()
    try:
        {name}({params}).fit(X, y)
        print("finished")
    except KeyboardInterrupt:
        print("interrupted", time.perf_counter(), time.perf_counter() - start)
"""


@pytest.mark.parametrize(
    "name, params",
    [
        ("LCDLSVClassifier", "max_iter=10**6, tol=0.0"),
        ("FDDLClassifier", "max_iter=10**6, tol=0.0, atoms_per_class=40"),
    ],
)
def test_control_c_ends_a_fit_within_a_second(name, params):
    script = textwrap.dedent(INTERRUPTED.format(name=name, params=params))
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(2.0)
    asked = time.perf_counter()
    child.send_signal(signal.SIGINT)
    line = child.stdout.readline()
    took = time.perf_counter() - asked
    child.wait(10)
    assert line.startswith("interrupted"), line + child.stderr.read()
    assert took < 1.0


PREDICTING = """
    import time
    import numpy as np
    from atomlearn import KNNClassifier
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20000, 200))
    model = KNNClassifier(n_threads=1).fit(X, rng.integers(0, 10, len(X)))
    many = np.tile(X, (20, 1))
    print("ready", flush=True)
    try:
        model.predict(many)
        print("finished")
    except KeyboardInterrupt:
        print("interrupted", time.perf_counter())
"""


def test_control_c_ends_a_long_prediction():
    script = textwrap.dedent(PREDICTING)
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    asked = time.perf_counter()
    child.send_signal(signal.SIGINT)
    line = child.stdout.readline()
    took = time.perf_counter() - asked
    child.wait(10)
    assert line.startswith("interrupted"), line + child.stderr.read()
    assert took < 2.0


def test_threads_follow_environment_threadpoolctl_and_joblib(monkeypatch):
    monkeypatch.delenv("RAYON_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    all_of_them = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert _threads.resolve(None) == all_of_them and _threads.resolve(3) == 3
    with threadpoolctl.threadpool_limits(limits=1):
        assert _threads.resolve(None) == 1
    assert _threads.resolve(None) == all_of_them
    assert any(pool["user_api"] == "atomlearn" for pool in threadpoolctl.threadpool_info())
    by_threads = joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(_threads.resolve)(None) for _ in range(4))
    assert by_threads == [1] * 4
    by_processes = joblib.Parallel(n_jobs=2)(joblib.delayed(_threads.resolve)(None) for _ in range(4))
    assert by_processes == [max(all_of_them // 2, 1)] * 4
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert _threads.resolve(None) == 1


def test_a_forked_child_can_fit(digits):
    X, y, X_test, _ = digits
    expected = LinearSVMClassifier().fit(X, y).decision_function(X_test)
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        same = np.array_equal(LinearSVMClassifier().fit(X, y).decision_function(X_test), expected)
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_grid_search_in_worker_processes_gives_the_same_scores(digits):
    X, y, *_ = digits
    grid = {"kappa": [1e-3, 1e-1]}
    alone, together = (GridSearchCV(CRCClassifier(), grid, cv=3, n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(alone.cv_results_["mean_test_score"], together.cv_results_["mean_test_score"])


def test_random_states(digits):
    X, y, *_ = digits
    drawing = [row["key"] for row in atomlearn.methods() if any(p["name"] == "seed" for p in row["params"])]
    assert drawing
    cls = atomlearn._estimators.ESTIMATORS[drawing[0]]
    fit = lambda state: cls(random_state=state).fit(X, y)  # noqa: E731
    seed = lambda model: json.loads(model.model_.params)["seed"]  # noqa: E731
    assert seed(fit(7)) == 7 and seed(fit(np.random.RandomState(3))) == seed(fit(np.random.RandomState(3)))
    assert np.array_equal(fit(7).components_, fit(7).components_)
