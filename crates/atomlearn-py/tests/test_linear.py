"""Sparse samples and samples in batches, for methods whose rule is linear."""

import pickle

import numpy as np
import pytest
from atomlearn import (
    AutoClassifier,
    CRCClassifier,
    LCDLSVClassifier,
    LDAClassifier,
    LinearSVMClassifier,
    OneHotRidgeClassifier,
    RBFSVMClassifier,
    load,
)
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

SPARSE = [OneHotRidgeClassifier(), LinearSVMClassifier()]
IN_COORDINATES = [AutoClassifier(), CRCClassifier(kappa=0.1), RBFSVMClassifier(theta=2.0)]
IN_BATCHES = [OneHotRidgeClassifier(lam=0.1), LDAClassifier(shrinkage=0.2)]


def name(estimator):
    return estimator._method_key()


def texts(n_features, seed=0):
    """Sparse counts with more or fewer features than samples, three classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(90) % 3
    likely = (
        rng.uniform(0, 4 / n_features, (3, n_features))
        + 10 / n_features * rng.multinomial(1, [1 / 3] * 3, n_features).T
    )
    return sparse.csr_matrix(rng.poisson(likely[y]).astype(float)), np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("n_features", [40, 3000])
@pytest.mark.parametrize("prep", ["unit", "none"])
@pytest.mark.parametrize("estimator", SPARSE, ids=name)
def test_sparse_samples_give_what_dense_ones_give(estimator, prep, n_features, container, tmp_path):
    X, y = texts(n_features)
    X_test, _ = texts(n_features, seed=1)
    weights = np.random.default_rng(2).uniform(0, 2, len(y))
    model = clone(estimator).set_params(prep=prep).fit(container(X), y, sample_weight=weights)
    dense = clone(estimator).set_params(prep=prep).fit(X.toarray(), y, sample_weight=weights)
    expected = dense.decision_function(X_test.toarray())
    np.testing.assert_allclose(model.decision_function(container(X_test)), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(model.predict(X_test), dense.predict(X_test.toarray()))
    # It is the same kind of model: in files, and for dense samples.
    model.save(tmp_path / "text.model")
    again = load(tmp_path / "text.model")
    np.testing.assert_array_equal(again.decision_function(X_test), model.decision_function(X_test.toarray()))
    assert model.explain(X_test[:1])[0].label == model.predict(X_test[:1])[0]
    assert model.explain(sparse.csr_array(X_test)[0]).label == model.predict(X_test[:1])[0]


@pytest.mark.parametrize("prep", ["unit", "none"])
@pytest.mark.parametrize("n_features", [40, 3000])
@pytest.mark.parametrize("estimator", IN_COORDINATES, ids=name)
def test_models_that_hold_samples_take_sparse_ones_in_coordinates(estimator, n_features, prep, tmp_path):
    X, y = texts(n_features)
    X_test, _ = texts(n_features, seed=1)
    # Samples that share no feature with those of training, some of them nothing at all.
    X_test = sparse.csr_matrix(X_test.multiply(np.arange(90)[:, np.newaxis] > 5))
    sparse_ones = clone(estimator).set_params(prep=prep)
    dense_ones = clone(sparse_ones)
    if isinstance(estimator, AutoClassifier):
        dense_ones.set_params(views="unit" if prep == "none" else "given")
    model, dense = sparse_ones.fit(X, y), dense_ones.fit(X.toarray(), y)
    expected = dense.decision_function(X_test.toarray())
    found = model.decision_function(X_test)
    # A class that a sample has no feature in common with gets minus infinity, or a very low score by rounding.
    np.testing.assert_allclose(np.maximum(found, -1e6), np.maximum(expected, -1e6), rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(model.predict(X_test), dense.predict(X_test.toarray()))
    np.testing.assert_array_equal(model.decision_function(X_test.toarray()), found)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X_test), found)
    if n_features == 40:
        model.save(tmp_path / "text.model")
        return
    for whole in [lambda: model.save(tmp_path / "text.model"), lambda: model.explain(X_test[:1])]:
        with pytest.raises(ValueError, match="coordinates"):
            whole()
    # The next fit, on dense samples, is one of features again.
    model.fit(X.toarray(), y).save(tmp_path / "text.model")


def test_auto_has_no_standardised_view_of_sparse_samples():
    X, y = texts(40)
    with pytest.raises(ValueError, match="views='both'"):
        AutoClassifier(views="both").fit(X, y)
    assert AutoClassifier().fit(X, y).loo_accuracy_ > 0.8


def test_sparse_samples_can_have_probabilities():
    X, y = texts(3000)
    for estimator in (LinearSVMClassifier(theta=2.0), RBFSVMClassifier(theta=2.0)):
        estimator.set_params(probability=True)
        found = clone(estimator).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(found, clone(estimator).fit(X.toarray(), y).predict_proba(X.toarray()), atol=1e-6)


def test_what_would_make_sparse_samples_dense_is_refused():
    X, y = texts(40)
    with pytest.raises(ValueError, match="dense"):
        OneHotRidgeClassifier(prep="standard").fit(X, y)
    for estimator in (LCDLSVClassifier(), LDAClassifier()):
        with pytest.raises(TypeError, match="[Ss]parse"):
            estimator.fit(X, y)


@pytest.mark.parametrize("weigh", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("estimator", IN_BATCHES, ids=name)
def test_batches_give_what_all_samples_give(estimator, form, weigh, digits):
    if form is sparse.csr_matrix and not estimator._sparse:
        pytest.skip("no sparse samples")
    X, y, X_test, _ = digits
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], np.array([f"digit {label}" for label in y])[order]
    weights = np.random.default_rng(1).uniform(0, 3, len(y)) if weigh else None
    model = clone(estimator)
    for start in range(0, len(y), 37):
        batch = slice(start, start + 37)
        part = None if weights is None else weights[batch]
        model.partial_fit(form(X[batch]), y[batch], classes=np.unique(y), sample_weight=part)
    whole = clone(estimator).fit(X, y, sample_weight=weights)
    expected = whole.decision_function(X_test)
    np.testing.assert_allclose(model.decision_function(X_test), expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    assert model.classes_.tolist() == whole.classes_.tolist()


def test_predictions_need_a_sample_of_every_class(digits):
    X, y, X_test, _ = digits
    first, rest = y < 5, y >= 5
    model = OneHotRidgeClassifier().partial_fit(X[first], y[first], classes=range(10))
    with pytest.raises(NotFittedError):
        model.predict(X_test)
    model.partial_fit(X[rest], y[rest])
    whole = OneHotRidgeClassifier(lam=1e-3).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X_test), whole.decision_function(X_test), atol=1e-8)
    # `fit` forgets the sums, and they know nothing of what it learned.
    with pytest.warns(UserWarning, match="begins with this batch"):
        again = model.fit(X, y).partial_fit(X[first], y[first])
    assert not hasattr(again, "model_")
    with pytest.raises(ValueError, match="first call"):
        OneHotRidgeClassifier().partial_fit(X, y)


def test_batches_that_do_not_fit_are_refused(digits):
    X, y, *_ = digits
    with pytest.raises(ValueError, match="balance"):
        OneHotRidgeClassifier(class_weight="balanced").partial_fit(X, y, classes=range(10))
    model = OneHotRidgeClassifier().partial_fit(X, y, classes=range(10))
    with pytest.raises(ValueError, match="not those"):
        model.partial_fit(X, y, classes=range(11))
    with pytest.raises(ValueError, match="does not have"):
        model.partial_fit(X[:1], [77])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, 1:], y)
    for estimator in (
        LinearSVMClassifier(),
        OneHotRidgeClassifier(prep="standard"),
        LDAClassifier(shrinkage="ledoit-wolf"),
    ):
        assert not hasattr(estimator, "partial_fit")
