"""Codes over a dictionary as scikit-learn transformers: ridge, lasso, orthogonal matching pursuit, and K-SVD."""

from __future__ import annotations

from typing import Any, Literal, Optional, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from . import kit

__all__ = ["KSVD", "LassoCoder", "OMPCoder", "RidgeCoder"]

Matrix = NDArray[np.float64]
Self = TypeVar("Self", bound="Coder")


class Coder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the coders; not to be used itself."""

    components_: Matrix
    n_features_in_: int

    def fit(self: Self, X: ArrayLike, y: Any = None) -> Self:
        """Take the dictionary, or learn it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in rows.
        y : ignored
            Present for pipelines.

        Returns
        -------
        self : object
            The fitted coder.
        """
        X = validate_data(self, X, dtype=np.float64, order="C")
        self.components_ = self._atoms(X)
        if self.components_.shape[1] != X.shape[1]:
            raise ValueError(
                f"atoms have {self.components_.shape[1]} features, samples have {X.shape[1]}: they must agree"
            )
        self._n_features_out = len(self.components_)
        return self

    def _atoms(self, X: Matrix) -> Matrix:
        dictionary = getattr(self, "dictionary", None)
        if dictionary is None:
            return unit_rows(X)
        return check_array(dictionary, dtype=np.float64, order="C", input_name="dictionary").copy()

    def _codes(self, X: Matrix) -> Matrix:
        raise NotImplementedError

    def transform(self, X: ArrayLike) -> Matrix:
        """Codes of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in rows.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_atoms)
            One coefficient per atom.
        """
        check_is_fitted(self)
        return self._codes(validate_data(self, X, dtype=np.float64, order="C", reset=False))

    def inverse_transform(self, codes: ArrayLike) -> Matrix:
        """Samples that codes stand for: ``codes @ components_``.

        Parameters
        ----------
        codes : array-like or sparse matrix of shape (n_samples, n_atoms)
            Codes in rows.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Samples in rows.
        """
        check_is_fitted(self)
        codes = check_array(codes, dtype=np.float64, accept_sparse="csr", input_name="codes")
        if codes.shape[1] != len(self.components_):
            raise ValueError(f"codes have {codes.shape[1]} columns, but there are {len(self.components_)} atoms")
        return np.asarray(codes @ self.components_)


class RidgeCoder(Coder):
    """Codes ``z`` that minimise ``|x - z D|^2 + lam |z|^2``.

    Parameters
    ----------
    dictionary : array-like of shape (n_atoms, n_features), default=None
        The atoms; by default the samples of ``fit``, each divided by its length.
    lam : float, default=0.1
        The penalty, above 0.

    Attributes
    ----------
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms.

    Examples
    --------
    >>> import numpy as np
    >>> from atomlearn import RidgeCoder
    >>> RidgeCoder(np.eye(2), lam=1.0).fit_transform([[2.0, 4.0]])
    array([[1., 2.]])
    """

    def __init__(self, dictionary: Optional[ArrayLike] = None, *, lam: float = 0.1) -> None:
        self.dictionary = dictionary
        self.lam = lam

    def fit(self: Self, X: ArrayLike, y: Any = None) -> Self:
        super().fit(X, y)
        if not 0.0 < self.lam < np.inf:
            raise ValueError(f"parameter `lam` = {self.lam}: must be positive and finite")
        D = self.components_
        # z = x D' (D D' + lam I)^-1 = x (D'D + lam I)^-1 D': the smaller of the two systems.
        if len(D) <= D.shape[1]:
            self._map = np.linalg.solve(D @ D.T + self.lam * np.eye(len(D)), D).T
        else:
            self._map = np.linalg.solve(D.T @ D + self.lam * np.eye(D.shape[1]), D.T)
        return self

    def _codes(self, X: Matrix) -> Matrix:
        return X @ self._map


class LassoCoder(Coder):
    """Codes ``z`` that minimise ``1/2 |x - z D|^2 + lam |z|_1``.

    Parameters
    ----------
    dictionary : array-like of shape (n_atoms, n_features), default=None
        The atoms; by default the samples of ``fit``, each divided by its length.
    lam : float, default=0.1
        The penalty, above 0.
    tolerance : float, default=1e-6
        The duality gap of every sample is at most this times ``1/2 |x|^2``.
    n_threads : int, default=None
        Threads; results do not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms.

    Examples
    --------
    >>> import numpy as np
    >>> from atomlearn import LassoCoder
    >>> LassoCoder(np.eye(2), lam=0.5).fit_transform([[2.0, 0.25]])
    array([[1.5, 0. ]])
    """

    def __init__(
        self,
        dictionary: Optional[ArrayLike] = None,
        *,
        lam: float = 0.1,
        tolerance: float = 1e-6,
        n_threads: Optional[int] = None,
    ) -> None:
        self.dictionary = dictionary
        self.lam = lam
        self.tolerance = tolerance
        self.n_threads = n_threads

    def _codes(self, X: Matrix) -> Matrix:
        codes = kit.lasso(X, self.components_, self.lam, tolerance=self.tolerance, n_threads=self.n_threads)
        return np.asarray(codes.toarray())


class OMPCoder(Coder):
    """Codes by orthogonal matching pursuit: atom after atom is chosen, and all coefficients are fitted again.

    Parameters
    ----------
    dictionary : array-like of shape (n_atoms, n_features), default=None
        The atoms; by default the samples of ``fit``, each divided by its length.
    sparsity : int, default=5
        Maximum number of atoms per sample.
    n_threads : int, default=None
        Threads; results do not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms.

    Examples
    --------
    >>> import numpy as np
    >>> from atomlearn import OMPCoder
    >>> OMPCoder(np.eye(3), sparsity=1).fit_transform([[2.0, 0.25, 0.5]])
    array([[2., 0., 0.]])
    """

    def __init__(
        self, dictionary: Optional[ArrayLike] = None, *, sparsity: int = 5, n_threads: Optional[int] = None
    ) -> None:
        self.dictionary = dictionary
        self.sparsity = sparsity
        self.n_threads = n_threads

    def _codes(self, X: Matrix) -> Matrix:
        return np.asarray(kit.omp(X, self.components_, self.sparsity, n_threads=self.n_threads).toarray())


class KSVD(Coder):
    """A dictionary learned by K-SVD, without labels, and codes over it by orthogonal matching pursuit.

    Parameters
    ----------
    n_components : int, default=None
        Number of atoms; by default as many as there are features, or samples if those are fewer.
    sparsity : int, default=5
        Maximum number of atoms per sample.
    max_iter : int, default=10
        Number of iterations.
    update : {"approximate", "exact"}, default="approximate"
        How an atom and its coefficients are fitted: by one round of alternating least squares, or by the singular
        value decomposition.
    random_state : int, RandomState or None, default=None
        Draws the samples that the atoms start from.
    n_threads : int, default=None
        Threads; results do not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The atoms, of unit length.
    n_iter_ : int
        Number of iterations.

    References
    ----------
    Aharon, Elad, Bruckstein: K-SVD. IEEE Transactions on Signal Processing 54(11), 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from atomlearn import KSVD
    >>> X = load_digits().data[:200]
    >>> coder = KSVD(32, sparsity=4, random_state=0).fit(X)
    >>> coder.inverse_transform(coder.transform(X)).shape
    (200, 64)
    """

    def __init__(
        self,
        n_components: Optional[int] = None,
        *,
        sparsity: int = 5,
        max_iter: int = 10,
        update: Literal["approximate", "exact"] = "approximate",
        random_state: Any = None,
        n_threads: Optional[int] = None,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.max_iter = max_iter
        self.update = update
        self.random_state = random_state
        self.n_threads = n_threads

    def _atoms(self, X: Matrix) -> Matrix:
        # Equal samples would be equal atoms, of which only one is ever used.
        candidates = np.unique(unit_rows(X), axis=0)
        wanted = min(X.shape) if self.n_components is None else self.n_components
        if not 1 <= wanted <= len(candidates):
            if self.n_components is not None:
                raise ValueError(
                    f"parameter `n_components` = {wanted}: must be between 1 and the number of samples that differ "
                    f"in direction, {len(candidates)}"
                )
            wanted = len(candidates)
        chosen = check_random_state(self.random_state).permutation(len(candidates))[:wanted]
        atoms, _ = kit.ksvd(
            X,
            candidates[chosen],
            self.sparsity,
            n_iter=self.max_iter,
            update=self.update,
            n_threads=self.n_threads,
        )
        self.n_iter_ = self.max_iter
        return atoms

    def _codes(self, X: Matrix) -> Matrix:
        return np.asarray(kit.omp(X, self.components_, self.sparsity, n_threads=self.n_threads).toarray())


def unit_rows(X: Matrix) -> Matrix:
    """The rows that are not zero, each divided by its length."""
    # By the largest value first, whose square may be no number of its own.
    largest = np.abs(X).max(axis=1, keepdims=True)
    kept = largest[:, 0] > 0.0
    if not kept.any():
        raise ValueError("all samples are zero: there is no direction that an atom could have")
    scaled = X[kept] / largest[kept]
    return scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
