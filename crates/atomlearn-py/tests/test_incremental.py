"""Learning batch by batch."""

import atomlearn
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order]


def batches(X, y, size=100):
    return ((X[i : i + size], y[i : i + size]) for i in range(0, len(X), size))


def test_batches_teach_nearly_as_much_as_all_samples_at_once(digits):
    X, y = digits
    whole = atomlearn.ODLClassifier().fit(X[:1000], y[:1000])
    online = atomlearn.ODLClassifier()
    for part, labels in batches(X[:1000], y[:1000]):
        online.partial_fit(part, labels, classes=np.arange(10))
    assert online.n_iter_ == 10
    assert online.components_.shape == whole.components_.shape
    assert online.score(X[1000:], y[1000:]) > whole.score(X[1000:], y[1000:]) - 0.05
    more = clone(online)
    for part, labels in batches(X[:1000], y[:1000]):
        more.partial_fit(part, labels, classes=np.arange(10))
    assert np.array_equal(more.decision_function(X), online.decision_function(X))


def test_a_loaded_model_goes_on_to_the_same_bits(digits, tmp_path):
    X, y = digits
    names = np.array(list("abcdefghij"))[y]
    fitted = atomlearn.ODLClassifier(prep="standard,unit", max_iter=2).fit(X[:500], names[:500])
    fitted.save(tmp_path / "model")
    loaded = atomlearn.load(tmp_path / "model")
    for model in (fitted, loaded):
        model.partial_fit(X[500:800], names[500:800])
    assert np.array_equal(fitted.decision_function(X[800:]), loaded.decision_function(X[800:]))
    assert set(loaded.predict(X[800:])) <= set("abcdefghij")


def test_bad_batches_are_refused_and_change_nothing(digits):
    X, y = digits
    model = atomlearn.ODLClassifier()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X[:50], y[:50])
    with pytest.raises(ValueError, match="`classes` does not have"):
        model.partial_fit(X[:50], y[:50], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="at least two"):
        model.partial_fit(X[:5], np.zeros(5), classes=[0])
    model.partial_fit(X[:50], y[:50], classes=np.arange(10))
    before = model.decision_function(X[:5])
    with pytest.raises(ValueError, match="not those of the first call"):
        model.partial_fit(X[:50], y[:50], classes=[0, 1])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:50, :60], y[:50])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((3, 64), np.nan), y[:3])
    assert np.array_equal(model.decision_function(X[:5]), before)
    assert not hasattr(atomlearn.CRCClassifier(), "partial_fit")
    assert not hasattr(atomlearn.ODLClassifier(prep="standard"), "partial_fit")


def test_a_batch_ends_the_calibration_of_the_model_before(digits, tmp_path):
    X, y = digits
    model = atomlearn.ODLClassifier(probability=True, max_iter=1).fit(X[:200], y[:200])
    model.save(tmp_path / "before")
    model.partial_fit(X[200:300], y[200:300]).save(tmp_path / "after")
    assert atomlearn.load(tmp_path / "before").predict_proba(X[:2]).shape == (2, 10)
    for found in (model, atomlearn.load(tmp_path / "after").set_params(probability=True)):
        with pytest.raises(ValueError, match="fit it again"):
            found.predict_proba(X[:2])
