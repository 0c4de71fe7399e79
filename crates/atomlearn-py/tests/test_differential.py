"""Random problems, solved a second time by NumPy, SciPy and scikit-learn from the definitions."""

import numpy as np
import pytest
from atomlearn import (
    CRCClassifier,
    KNNClassifier,
    LDAClassifier,
    LinearSVMClassifier,
    OneHotRidgeClassifier,
    SRCClassifier,
    kit,
)
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Lasso, orthogonal_mp_gram
from sklearn.neighbors import KNeighborsClassifier

# Samples, features, classes: more samples than features, fewer, and as many.
SHAPES = [(90, 12, 3), (30, 80, 4), (40, 40, 5)]


@pytest.fixture(params=[(seed, *shape) for seed in range(3) for shape in SHAPES], ids=str)
def problem(request):
    """Training samples of overlapping classes, their labels, and fresh samples."""
    seed, n, m, classes = request.param
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    means = rng.normal(size=(classes, m))
    X = means[y] + rng.normal(size=(n, m)) * rng.uniform(0.5, 2)
    return X, y, means[np.arange(15) % classes] + rng.normal(size=(15, m))


def residuals(fresh, codes, X, y):
    """`|x - z_c X_c|` of every sample and class."""
    own = [np.where(y == c, codes, 0.0) for c in range(y.max() + 1)]
    return np.stack([np.linalg.norm(fresh - z @ X, axis=1) for z in own], axis=1)


def test_ridge_regression(problem):
    X, y, fresh = problem
    model = OneHotRidgeClassifier(lam=0.3, prep="none").fit(X, y)
    weights = np.linalg.solve(X.T @ X + 0.3 * np.eye(X.shape[1]), X.T @ np.eye(y.max() + 1)[y])
    assert np.allclose(model.decision_function(fresh), fresh @ weights, atol=1e-8)


def test_collaborative_codes_and_their_residuals(problem):
    X, y, fresh = problem
    model = CRCClassifier(kappa=0.2, residual="plain", prep="none").fit(X, y)
    codes = np.linalg.solve(X @ X.T + 0.2 * np.eye(len(X)), X @ fresh.T).T
    expected = residuals(fresh, codes, X, y)
    found = model.decision_function(fresh)
    # Scores may be any falling function of the residual that keeps its order.
    assert np.array_equal(np.argsort(-found, axis=1), np.argsort(expected, axis=1))
    assert np.array_equal(model.predict(fresh), expected.argmin(axis=1))


def test_sparse_codes_and_their_residuals(problem):
    X, y, fresh = problem
    X, fresh = (a / np.linalg.norm(a, axis=1, keepdims=True) for a in (X, fresh))
    lam = 0.05
    solver = Lasso(alpha=lam / X.shape[1], fit_intercept=False, tol=1e-12, max_iter=100_000)
    codes = np.stack([solver.fit(X.T, x).coef_ for x in fresh])
    ours = kit.lasso(fresh, X, lam, tolerance=1e-12).toarray()

    def objective(z):
        return 0.5 * np.square(fresh - z @ X).sum(axis=1) + lam * np.abs(z).sum(axis=1)

    assert np.allclose(objective(ours), objective(codes), rtol=0, atol=1e-9)
    assert (objective(ours) <= objective(codes) + 1e-12).all()
    found = SRCClassifier(lam=lam, tolerance=1e-10, prep="none").fit(X, y).predict(fresh)
    distances = np.sort(residuals(fresh, ours, X, y), axis=1)
    clear = distances[:, 1] - distances[:, 0] > 1e-4
    assert np.array_equal(found[clear], residuals(fresh, ours, X, y).argmin(axis=1)[clear])


def test_orthogonal_matching_pursuit(problem):
    X, _, fresh = problem
    D = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = orthogonal_mp_gram(D @ D.T, D @ fresh.T, n_nonzero_coefs=6).T
    assert np.allclose(kit.omp(fresh, D, 6).toarray(), expected, atol=1e-8)


def test_the_svm_minimises_its_objective(problem):
    X, y, fresh = problem
    theta = 3.0
    model = LinearSVMClassifier(theta=theta, prep="none").fit(X, y)
    # Scores are affine in a sample, so that those of zero and of the unit vectors give the weights away.
    bias = model.decision_function(np.zeros((1, X.shape[1])))[0]
    weights = model.decision_function(np.eye(X.shape[1])) - bias
    for c in range(y.max() + 1):
        t = np.where(y == c, 1.0, -1.0)

        def objective(ub, t=t):
            slack = np.maximum(0, 1 - t * (X @ ub[:-1] + ub[-1]))
            gradient = -2 * theta * (t * slack) @ np.column_stack([X, np.ones(len(X))])
            gradient[:-1] += 2 * ub[:-1]
            return ub[:-1] @ ub[:-1] + theta * slack @ slack, gradient

        ours = np.append(weights[:, c], bias[c])
        theirs = minimize(objective, np.zeros(X.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 2000})
        value, gradient = objective(ours)
        assert np.abs(gradient).max() < 1e-6 * (1 + abs(value))
        assert value <= theirs.fun * (1 + 1e-9)


def test_linear_discriminants(problem):
    X, y, fresh = problem
    ours = LDAClassifier(shrinkage=0.2, prep="none").fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2).fit(X, y)
    # scikit-learn averages the covariances of classes by their shares, which is the same within classes.
    differences = ours.decision_function(fresh) - theirs.decision_function(fresh)
    assert np.allclose(differences, differences[:, :1], atol=1e-6)


@pytest.mark.parametrize("k", [1, 4])
def test_nearest_neighbours(problem, k):
    X, y, fresh = problem
    ours = KNNClassifier(k=k, prep="none").fit(X, y).predict(fresh)
    votes = KNeighborsClassifier(k, algorithm="brute").fit(X, y).predict_proba(fresh)
    top = np.sort(votes, axis=1)
    clear = top[:, -1] > top[:, -2]
    assert clear.any() and np.array_equal(ours[clear], votes.argmax(axis=1)[clear])


def test_principal_directions(problem):
    X, *_ = problem
    _, values, directions = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    found = kit.pca(X, 4)
    assert np.allclose(found.variances, values[:4] ** 2 / (len(X) - 1))
    assert np.allclose(np.abs(found.components @ directions[:4].T), np.eye(4), atol=1e-7)


def test_the_graph_of_atoms(problem):
    X, *_ = problem
    distances = cdist(X, X)
    nearest = np.argsort(distances + np.diag([np.inf] * len(X)), axis=1)[:, :3]
    joined = np.zeros_like(distances, dtype=bool)
    joined[np.repeat(np.arange(len(X)), 3), nearest.ravel()] = True
    weights = np.exp(-(distances**2) / (2 * distances.mean() ** 2))
    assert np.allclose(kit.atom_graph(X, 3).toarray(), np.where(joined | joined.T, weights, 0.0))


def test_the_exact_kernel_map_is_kernel_ridge_regression(problem):
    X, y, fresh = problem
    gamma = 0.5 / X.shape[1]
    model = OneHotRidgeClassifier(lam=0.1, prep=f"kernel:rbf:{gamma}").fit(X, y)
    kernel = np.exp(-gamma * cdist(X, X, "sqeuclidean"))
    alphas = np.linalg.solve(kernel + 0.1 * np.eye(len(X)), np.eye(y.max() + 1)[y])
    expected = np.exp(-gamma * cdist(fresh, X, "sqeuclidean")) @ alphas
    assert np.allclose(model.decision_function(fresh), expected, atol=1e-7)
