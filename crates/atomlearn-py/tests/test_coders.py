"""Coders: scikit-learn's checks, and the conditions that make codes optimal."""

import doctest

import numpy as np
import pandas as pd
import pytest
from atomlearn import KSVD, LassoCoder, OMPCoder, RidgeCoder, _coders
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

CODERS = [RidgeCoder(), LassoCoder(), OMPCoder(), KSVD(random_state=0)]


@parametrize_with_checks(CODERS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_the_examples_of_the_module_hold():
    found = doctest.testmod(_coders)
    assert found.attempted > 0 and found.failed == 0


@pytest.mark.parametrize("shape", [(7, 12), (12, 7)])
def test_ridge_codes_have_no_gradient(shape):
    rng = np.random.default_rng(0)
    D, X = rng.normal(size=shape), rng.normal(size=(5, shape[1]))
    Z = RidgeCoder(D, lam=0.3).fit(X).transform(X)
    assert np.allclose((Z @ D - X) @ D.T + 0.3 * Z, 0.0, atol=1e-12)


def test_lasso_codes_satisfy_their_optimality_conditions():
    rng = np.random.default_rng(0)
    D, X = rng.normal(size=(9, 6)), rng.normal(size=(5, 6))
    Z = LassoCoder(D, lam=0.2, tolerance=1e-12).fit(X).transform(X)
    slopes = (X - Z @ D) @ D.T
    assert np.abs(slopes).max() <= 0.2 + 1e-6
    assert np.allclose(slopes[Z != 0], 0.2 * np.sign(Z[Z != 0]), atol=1e-6)


@pytest.mark.parametrize("coder", [OMPCoder(sparsity=3), KSVD(20, sparsity=3, random_state=0)])
def test_pursuit_leaves_nothing_that_its_atoms_could_explain(coder):
    X = load_digits().data[:80]
    Z = coder.fit(X).transform(X)
    assert (np.count_nonzero(Z, axis=1) <= 3).all()
    rest = X - coder.inverse_transform(Z)
    for z, r in zip(Z, rest):
        assert np.allclose(coder.components_[z != 0] @ r, 0.0, atol=1e-8)


def test_more_iterations_of_ksvd_explain_the_samples_better_and_atoms_have_unit_length():
    X = load_digits().data[:300]
    errors = []
    for max_iter in (0, 1, 10):
        coder = KSVD(40, sparsity=4, max_iter=max_iter, random_state=0).fit(X)
        assert np.allclose(np.linalg.norm(coder.components_, axis=1), 1.0)
        errors.append(np.linalg.norm(X - coder.inverse_transform(coder.transform(X))))
    assert errors[0] > errors[1] > errors[2]


def test_coders_name_their_outputs_and_stand_in_pipelines():
    X, y = load_digits(return_X_y=True)
    frame = pd.DataFrame(X[:200]).rename(columns=str)
    for coder in CODERS:
        codes = coder.set_output(transform="pandas").fit_transform(frame)
        assert list(codes.columns[:2]) == [f"{type(coder).__name__.lower()}{i}" for i in (0, 1)]
        coder.set_output(transform="default")
    assert make_pipeline(RidgeCoder(), LinearSVC()).fit(X[:200], y[:200]).score(X[200:400], y[200:400]) > 0.8


def test_what_cannot_be_coded_with_is_named():
    X = np.eye(4)
    for coder, said in [
        (RidgeCoder(lam=0.0), "lam"),
        (KSVD(9), "n_components"),
        (RidgeCoder(np.eye(3)), "3 features"),
    ]:
        with pytest.raises(ValueError, match=said):
            coder.fit(X)
    with pytest.raises(ValueError, match="zero"):
        OMPCoder().fit(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="2 columns"):
        RidgeCoder().fit(X).inverse_transform(np.ones((1, 2)))
