"""Weights of samples and of classes."""

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
)
from sklearn.linear_model import Ridge

FIXED = [
    OneHotRidgeClassifier(lam=0.1),
    CRCClassifier(kappa=0.1),
    LDAClassifier(shrinkage=0.2),
    LinearSVMClassifier(theta=2.0),
    RBFSVMClassifier(theta=2.0, gamma=1.0),
]


@pytest.fixture(scope="module")
def weighted(digits):
    X, y, X_test, _ = digits
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    return X, y, X_test, weights


@pytest.mark.parametrize("estimator", FIXED, ids=lambda estimator: estimator._method_key())
def test_weights_are_repetitions(estimator, weighted):
    X, y, X_test, weights = weighted
    found = estimator.fit(X, y, sample_weight=weights).decision_function(X_test)
    rows = np.repeat(np.arange(len(y)), weights)
    np.testing.assert_allclose(found, estimator.fit(X[rows], y[rows]).decision_function(X_test), rtol=1e-7, atol=1e-7)
    assert not np.allclose(found, estimator.fit(X, y).decision_function(X_test))


def test_auto_leaves_a_sample_out_with_all_of_its_weight(weighted):
    X, y, X_test, weights = weighted
    some = np.flatnonzero(y < 3)
    X, y, weights = X[some], y[some], weights[some]
    found = AutoClassifier().fit(X, y, sample_weight=weights)
    rows = np.repeat(np.arange(len(y)), weights)
    with pytest.warns(UserWarning, match="duplicates"):
        twins = AutoClassifier().fit(X[rows], y[rows], groups=rows)
    np.testing.assert_allclose(found.predict_proba(X_test), twins.predict_proba(X_test), atol=1e-7)
    assert found.loo_accuracy_ == pytest.approx(twins.loo_accuracy_, abs=1e-12)
    kept = found.loo_predict_proba_
    assert np.isnan(kept[weights == 0]).all() and np.isfinite(kept[weights > 0]).all()


def test_missing_values_are_filled_with_weighted_medians(weighted):
    X, y, X_test, weights = weighted
    X = X.copy()
    X[::3, 20] = np.nan
    rows = np.repeat(np.arange(len(y)), weights)
    found = AutoClassifier().fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(found._fill, np.nanmedian(X[rows], axis=0))


def test_ridge_is_weighted_least_squares(weighted):
    X, y, X_test, _ = weighted
    weights = np.random.default_rng(1).uniform(0.1, 5, len(y))
    found = OneHotRidgeClassifier(lam=0.3, prep="none").fit(X / 16, y, sample_weight=weights)
    reference = Ridge(alpha=0.3, fit_intercept=False).fit(X / 16, np.eye(10)[y], sample_weight=weights)
    np.testing.assert_allclose(found.decision_function(X_test / 16), reference.predict(X_test / 16), atol=1e-9)


@pytest.mark.parametrize("estimator", [OneHotRidgeClassifier(lam=0.1), CRCClassifier(kappa=0.1), AutoClassifier()])
def test_class_weights_are_sample_weights(estimator, digits):
    X, y, X_test, _ = digits
    some = np.concatenate([np.flatnonzero(y == 0)[:20], np.flatnonzero(y == 1)[:5], np.flatnonzero(y == 2)[:10]])
    X, y = X[some], y[some]
    balanced = 35 / 3 / np.array([20.0, 5.0, 10.0])
    scores = estimator.set_params(class_weight="balanced").fit(X, y).decision_function(X_test)
    expected = estimator.set_params(class_weight=None).fit(X, y, sample_weight=balanced[y]).decision_function(X_test)
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-9)
    named = estimator.set_params(class_weight={1: 4.0}).fit(X, y).decision_function(X_test)
    expected = estimator.set_params(class_weight=None).fit(X, y, sample_weight=np.where(y == 1, 4.0, 1.0))
    np.testing.assert_array_equal(named, expected.decision_function(X_test))


def test_balancing_heeds_sample_weights(digits):
    X, y, X_test, _ = digits
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    ridge = OneHotRidgeClassifier(lam=0.1, class_weight="balanced")
    found = ridge.fit(X, y, sample_weight=weights).decision_function(X_test)
    np.testing.assert_allclose(found, ridge.fit(X[rows], y[rows]).decision_function(X_test), atol=1e-9)


def test_probabilities_are_calibrated_with_weights(digits):
    X, y, X_test, _ = digits
    ridge = OneHotRidgeClassifier(lam=0.1, probability=True)
    plain = ridge.fit(X, y).predict_proba(X_test)
    np.testing.assert_allclose(ridge.fit(X, y, sample_weight=np.ones(len(y))).predict_proba(X_test), plain)
    weights = np.where(y == 3, 30.0, 1.0)
    assert ridge.fit(X, y, sample_weight=weights).predict_proba(X_test)[:, 3].mean() > plain[:, 3].mean()


def test_a_class_of_no_weight_is_none(digits):
    X, y, X_test, _ = digits
    model = OneHotRidgeClassifier(lam=0.1).fit(X, y, sample_weight=(y < 4).astype(float))
    assert model.classes_.tolist() == [0, 1, 2, 3] and set(model.predict(X_test)) <= {0, 1, 2, 3}


def test_what_cannot_be_weights_is_refused(digits):
    X, y, *_ = digits
    ridge = OneHotRidgeClassifier(lam=0.1)
    for weights, said in [(-np.ones(len(y)), "negative"), (np.zeros(len(y)), "zero"), (np.full(len(y), np.nan), "NaN")]:
        with pytest.raises(ValueError, match=said):
            ridge.fit(X, y, sample_weight=weights)
    for classes, said in [("even", "balanced"), ({"x": 1.0}, "no sample"), (3, "balanced")]:
        with pytest.raises(ValueError, match=said):
            OneHotRidgeClassifier(class_weight=classes).fit(X, y)
    with pytest.raises(TypeError, match="sample_weight"):
        LCDLSVClassifier().fit(X, y, sample_weight=np.ones(len(y)))
