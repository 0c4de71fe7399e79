"""Building blocks: identities and optimality conditions, and scikit-learn's answers where it has them."""

import doctest

import numpy as np
import pytest
from atomlearn import kit
from sklearn.decomposition import PCA
from sklearn.linear_model import orthogonal_mp_gram
from sklearn.neighbors import kneighbors_graph


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    return unit(rng.normal(size=(40, 20))), unit(rng.normal(size=(60, 20)))


def test_the_examples_of_the_module_hold():
    found = doctest.testmod(kit)
    assert found.attempted > 0 and found.failed == 0


@pytest.mark.parametrize("lam", [1e-3, 0.1])
def test_lasso_codes_satisfy_their_optimality_conditions(problem, lam):
    X, D = problem
    Z = kit.lasso(X, D, lam, tolerance=1e-12).toarray()
    slopes = (X - Z @ D) @ D.T
    assert np.abs(slopes).max() <= lam + 1e-6
    assert np.allclose(slopes[Z != 0], lam * np.sign(Z[Z != 0]), atol=1e-6)


def test_omp_codes_are_those_of_scikit_learn(problem):
    X, D = problem
    expected = orthogonal_mp_gram(D @ D.T, D @ X.T, n_nonzero_coefs=5).T
    assert np.allclose(kit.omp(X, D, 5).toarray(), expected, atol=1e-10)


@pytest.mark.parametrize("update", ["approximate", "exact"])
def test_ksvd_lowers_the_error_and_its_codes_belong_to_its_atoms(problem, update):
    X, start = problem[0], problem[1][:15]
    D, Z = kit.ksvd(X, start, 4, n_iter=8, update=update)
    assert np.allclose(np.linalg.norm(D, axis=1), 1.0)
    assert np.diff(Z.indptr).max() <= 4
    before = np.linalg.norm(X - kit.omp(X, start, 4) @ start)
    assert np.linalg.norm(X - Z @ D) < 0.9 * before


@pytest.mark.parametrize("shape", [(50, 12), (12, 50)])
def test_pca_is_that_of_scikit_learn(shape):
    X = np.random.default_rng(1).normal(size=shape) * np.linspace(1, 3, shape[1])
    ours, theirs = kit.pca(X, 5), PCA(5, svd_solver="full").fit(X)
    assert np.allclose(ours.mean, theirs.mean_)
    assert np.allclose(ours.variances, theirs.explained_variance_)
    assert np.allclose(np.abs(ours.components @ theirs.components_.T), np.eye(5), atol=1e-7)
    assert (ours.components[np.arange(5), np.abs(ours.components).argmax(axis=1)] > 0).all()


def test_the_atom_graph_joins_nearest_neighbours_with_the_weights_of_its_definition(problem):
    D = problem[1]
    graph = kit.atom_graph(D, 3)
    distances = np.linalg.norm(D[:, None] - D, axis=2)
    nearest = kneighbors_graph(D, 3).toarray() > 0
    expected = np.where(nearest | nearest.T, np.exp(-(distances**2) / (2 * distances.mean() ** 2)), 0.0)
    assert np.allclose(graph.toarray(), expected)


def test_dense_sift_is_what_its_definition_says():
    """Gradients by 8 directions, weighted over 4 x 4 cells; unit length, cut at 0.2, unit length (Lowe 2004)."""
    image = np.random.default_rng(3).integers(0, 256, (40, 53), dtype=np.uint8)
    found = kit.dense_sift(image, 9, (16, 24))
    tops, lefts = (40 - 16) % 9 // 2, (53 - 16) % 9 // 2
    assert np.array_equal(found.centres[0], [tops + 8, lefts + 8])
    assert len(found.descriptors) == 3 * 5 + 2 * 4 and np.allclose(np.linalg.norm(found.descriptors, axis=1), 1)
    edged = np.pad(image.astype(float), 1, mode="edge")
    dx, dy = (edged[1:-1, 2:] - edged[1:-1, :-2]) / 2, (edged[2:, 1:-1] - edged[:-2, 1:-1]) / 2
    turn = np.arctan2(dy, dx) / (2 * np.pi) * 8 % 8
    shares = np.maximum(0, 1 - np.abs((turn[..., None] - np.arange(8) + 4) % 8 - 4)) * np.hypot(dx, dy)[..., None]
    # The patch in the second row and third column of those of 24 pixels.
    top, left = ((length - 24) % 9 // 2 + k * 9 for length, k in ((40, 1), (53, 2)))
    weights = np.maximum(0, 1 - np.abs(np.arange(24) + 0.5 - (np.arange(4)[:, None] + 0.5) * 6) / 6)
    whole = np.einsum("iy,jx,yxo->ijo", weights, weights, shares[top : top + 24, left : left + 24]).ravel()
    cut = np.minimum(whole / np.linalg.norm(whole), 0.2)
    place = 3 * 5 + 1 * 4 + 2
    assert np.array_equal(found.centres[place], [top + 12, left + 12])
    assert np.allclose(found.descriptors[place], cut / np.linalg.norm(cut), atol=1e-6)
    with pytest.raises(ValueError, match="uint8"):
        kit.dense_sift(image.astype(float))
    with pytest.raises(ValueError, match="multiples of 4"):
        kit.dense_sift(image, patches=(10,))


def test_threads_change_no_bit(problem):
    X, D = problem
    for code in (lambda n: kit.lasso(X, D, 0.01, n_threads=n), lambda n: kit.omp(X, D, 3, n_threads=n)):
        assert np.array_equal(code(1).toarray(), code(2).toarray())


def test_what_cannot_be_used_is_refused_by_name(problem):
    X, D = problem
    with pytest.raises(ValueError, match="20 features, atoms have 7"):
        kit.omp(X, D[:, :7], 2)
    with pytest.raises(ValueError, match="lam = 0"):
        kit.lasso(X, D, 0.0)
    with pytest.raises(ValueError, match="sparsity = 0"):
        kit.omp(X, D, 0)
    with pytest.raises(ValueError, match="D holds values that are not finite"):
        kit.omp(X, np.full_like(D, np.nan), 2)
    with pytest.raises(ValueError, match="X has the shape"):
        kit.pca(X[0], 2)
    with pytest.raises(ValueError, match="update = 'other'"):
        kit.ksvd(X, D, 2, update="other")
