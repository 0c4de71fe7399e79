"""Probabilities are calibrated on samples the scoring model has not seen."""

import json
import subprocess

import numpy as np
import pytest
from atomlearn import CRCClassifier, LCDLSVClassifier, OneHotRidgeClassifier, SRCClassifier, _calibration
from scipy.special import log_softmax
from sklearn.metrics import log_loss


def test_only_on_request(digits):
    X, y, X_test, _ = digits
    assert not hasattr(CRCClassifier(), "predict_proba") and hasattr(CRCClassifier(probability=True), "predict_proba")
    model = CRCClassifier().fit(X, y).set_params(probability=True)
    with pytest.raises(ValueError, match="fit it again"):
        model.predict_proba(X_test)


@pytest.mark.parametrize("estimator", [CRCClassifier, LCDLSVClassifier])
def test_probabilities_rank_as_scores_and_beat_the_prior(estimator, digits):
    X, y, X_test, y_test = digits
    model = estimator(probability=True).fit(X, y)
    p = model.predict_proba(X_test)
    assert np.allclose(p.sum(axis=1), 1) and (p >= 0).all()
    assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(X_test))
    assert log_loss(y_test, p) < 0.5 * np.log(10)


def test_the_temperature_is_where_the_slope_of_the_loss_is_zero():
    rng = np.random.default_rng(0)
    targets = rng.integers(0, 4, size=300)
    scores = rng.normal(size=(300, 4)) + 1.5 * np.eye(4)[targets]
    b = _calibration.best_inverse_temperature(50 * scores, targets)
    soft = np.full(scores.shape, 1 / 302 / 3)
    soft[np.arange(300), targets] = 301 / 302

    def loss(b):
        return -np.mean(np.sum(soft * log_softmax(b * 50 * scores, axis=1), axis=1))

    assert abs(loss(1.001 * b) - loss(0.999 * b)) < 1e-6
    assert loss(b) < min(loss(1.2 * b), loss(b / 1.2))
    # Scores drawn so that the softmax of 1.5 times them is the truth.
    assert 50 * b == pytest.approx(1.5, rel=0.25)


def test_separable_scores_leave_the_temperature_finite():
    b = _calibration.best_inverse_temperature(10 * np.eye(3)[[0, 1, 2, 0]], np.array([0, 1, 2, 0]))
    p = _calibration.probabilities(np.array([[10.0, 0.0, -np.inf]]), b)
    assert 0.5 < p[0, 0] < 1 and 0 < p[0, 2] < p[0, 1]


def test_calibration_scores_come_from_models_that_have_not_seen_the_sample(digits, monkeypatch):
    X, y, *_ = digits
    seen = []

    class Spy(SRCClassifier):
        def fit(self, X, y):
            self._rows = {row.tobytes() for row in X}
            return super().fit(X, y)

        def _scores(self, X):
            seen.extend((row.tobytes() in self._rows) for row in X)
            return super()._scores(X)

    _calibration.inverse_temperature(Spy(), X, y, 5)
    assert len(seen) == len(X) and not any(seen)


def test_too_few_samples_are_named(digits):
    X, y, *_ = digits
    with pytest.raises(ValueError, match="two samples of every class .* class 1 has one"):
        CRCClassifier(probability=True).fit(X[:21], y[:21])
    with pytest.raises(ValueError, match="calibration_cv"):
        CRCClassifier(probability=True, calibration_cv=1).fit(X, y)


def test_the_command_line_has_the_same_probabilities(digits, command_line, tmp_path):
    X, y, X_test, _ = digits
    model = OneHotRidgeClassifier(probability=True).fit(X, y)
    model.save(tmp_path / "digits.model")
    np.savez(tmp_path / "new.npz", X=X_test, y=np.zeros(len(X_test)))

    def predicted(*flags):
        command = [command_line, "predict", tmp_path / "digits.model", tmp_path / "new.npz", "--json", *flags]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    said = json.loads(predicted("--proba").stdout)
    found = np.array(said["proba"])[:, [said["classes"].index(str(c)) for c in model.classes_]]
    np.testing.assert_allclose(found, model.predict_proba(X_test), rtol=1e-12, atol=1e-15)
    assert said["labels"] == [str(label) for label in model.predict(X_test)]
    OneHotRidgeClassifier().fit(X, y).save(tmp_path / "digits.model")
    refused = predicted("--proba")
    assert refused.returncode != 0 and "probability=True" in refused.stderr
