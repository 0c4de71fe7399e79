"""MLflow and TensorBoard, the real packages on local files; skipped where they are not installed."""

import numpy as np
import pandas as pd
import pytest
from atomlearn import (
    AutoClassifier,
    LCDLSVClassifier,
    MlflowCallback,
    OneHotRidgeClassifier,
    TensorBoardCallback,
)


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    package = pytest.importorskip("mlflow", reason="mlflow is not installed (tests/requirements-tracking.txt)")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    package.set_tracking_uri((tmp_path / "runs").as_uri())
    package.set_registry_uri((tmp_path / "runs").as_uri())
    package.set_experiment("atomlearn")
    yield package
    while package.active_run():
        package.end_run()


def test_a_logged_model_comes_back_and_predicts_as_a_python_function(mlflow, digits):
    import atomlearn.mlflow

    X, y, X_test, _ = digits
    model = AutoClassifier().fit(pd.DataFrame(X).rename(columns=lambda i: f"p{i}"), y)
    frame = pd.DataFrame(X_test).rename(columns=lambda i: f"p{i}")
    with mlflow.start_run():
        info = atomlearn.mlflow.log_model(model, "digits", input_example=frame.iloc[:2])
    assert info.signature.inputs.input_names()[:2] == ["p0", "p1"]
    back = atomlearn.mlflow.load_model(info.model_uri)
    assert isinstance(back, AutoClassifier)
    assert np.array_equal(back.predict_proba(frame), model.predict_proba(frame))
    function = mlflow.pyfunc.load_model(info.model_uri)
    assert np.array_equal(function.predict(frame), model.predict(frame))
    proba = function.predict(frame, params={"predict_method": "predict_proba"})
    assert np.array_equal(proba, model.predict_proba(frame))


def test_what_is_saved_is_loaded_and_other_flavors_are_refused(mlflow, digits, tmp_path):
    import atomlearn.mlflow

    X, y, X_test, _ = digits
    model = OneHotRidgeClassifier().fit(X, y)
    folder = tmp_path / "model"
    atomlearn.mlflow.save_model(model, folder)
    assert np.array_equal(atomlearn.mlflow.load_model(str(folder)).predict(X_test), model.predict(X_test))
    with pytest.raises(ValueError, match="not empty"):
        atomlearn.mlflow.save_model(model, folder)
    text = (folder / "MLmodel").read_text().replace("  atomlearn:", "  other:")
    (folder / "MLmodel").write_text(text)
    with pytest.raises(ValueError, match="not logged by atomlearn"):
        atomlearn.mlflow.load_model(str(folder))


def test_every_iteration_is_logged_to_mlflow(mlflow, digits):
    X, y, X_test, y_test = digits
    model = LCDLSVClassifier(max_iter=3, callback=MlflowCallback(X_test, y_test))
    with mlflow.start_run() as run:
        model.fit(X, y)
    history = mlflow.MlflowClient().get_metric_history
    logged = {metric.step: metric.value for metric in history(run.info.run_id, "objective")}
    assert logged == {step.iter: step.objective for step in model.history_ if step.objective is not None}
    accuracy = history(run.info.run_id, "accuracy")
    assert accuracy[-1].value == model.score(X_test, y_test)


def test_every_iteration_is_written_for_tensorboard(digits, tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed (tests/requirements-tracking.txt)")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    X, y, X_test, y_test = digits
    model = LCDLSVClassifier(max_iter=3, callback=TensorBoardCallback(tmp_path, X_test, y_test)).fit(X, y)
    events = EventAccumulator(str(tmp_path)).Reload()
    written = {event.step: event.tensor_proto.float_val[0] for event in events.Tensors("objective")}
    for step in model.history_:
        if step.objective is not None:
            assert written[step.iter] == pytest.approx(step.objective, rel=1e-6)
    last = events.Tensors("accuracy")[-1].tensor_proto.float_val[0]
    assert last == pytest.approx(model.score(X_test, y_test), rel=1e-6)


def test_accuracy_needs_samples_and_classes_and_steps_have_their_estimator_only_in_callbacks(digits):
    X, y, X_test, y_test = digits
    with pytest.raises(ValueError, match="both X and y"):
        MlflowCallback(X_test)
    seen = []
    model = LCDLSVClassifier(max_iter=2, callback=lambda step: seen.append(step.estimator().predict(X_test)) and None)
    model.fit(X, y)
    assert np.array_equal(seen[-1], model.predict(X_test)) and len(seen) == len(model.history_)
    with pytest.raises(ValueError, match="only in the callback"):
        model.history_[-1].estimator()
