"""One class per method, written by tools/generate_estimators.py from the registry: do not edit."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ._auto import SelfTuningClassifier
from ._base import CodingClassifier, DictionaryClassifier, WeightedClassifier
from ._incremental import IncrementalClassifier
from ._linear import LinearClassifier
from ._progress import Callback
from ._sparse import SparseClassifier

__all__ = [
    "AutoClassifier",
    "LCDLSVClassifier",
    "SVGDLClassifier",
    "LCLEDLClassifier",
    "LEDLClassifier",
    "SRCClassifier",
    "CRCClassifier",
    "ProCRCClassifier",
    "LRCClassifier",
    "KSVDClassifier",
    "DKSVDClassifier",
    "LCKSVDClassifier",
    "ODLClassifier",
    "FDDLClassifier",
    "DLSIClassifier",
    "COPARClassifier",
    "LRSDLClassifier",
    "MFLClassifier",
    "CADLClassifier",
    "SADLClassifier",
    "DPLClassifier",
    "DPLSVClassifier",
    "DADLClassifier",
    "LCTLClassifier",
    "AnalysisKSVDClassifier",
    "OneHotRidgeClassifier",
    "LinearSVMClassifier",
    "RBFSVMClassifier",
    "LDAClassifier",
    "KNNClassifier",
]


class AutoClassifier(SelfTuningClassifier):
    """Self-tuning fusion of three readings of one code (auto).

    Method `auto` of the registry. this project; the code is that of Zhang, Yang, Feng: Sparse representation or
    collaborative representation. ICCV 2011.

    Parameters
    ----------
    views : {"both", "unit", "standard", "given", "together", "alone"} or {"auto"} or None, default="auto"
        How samples are scaled: unit length and standardised features to choose from (`both`), one of them, or as they
        are `given`; `auto` is `both`, or `given` if preprocessing is asked for. With several blocks of features `given`
        reads them side by side and each alone, `together` and `alone` do one of these.
    max_readings : int or {"auto"} or None, default="auto"
        Maximum number of readings that are fused; `auto` is 6, or 24 where few samples are a reason to average. Auto or
        a whole number >= 1.
    class_weight : dict or {"balanced"} or None, default=None
        Weights of the samples of a class, 1 for classes that a dict does not name; `balanced` gives all classes the
        same weight in total. They multiply the `sample_weight` of `fit`.
    prep : str, default="none"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    loo_accuracy_ : float
        Leave-one-out accuracy: an honest estimate from training data alone.
    loo_ci_ : tuple of two floats
        Wilson's 95 % interval of it.
    loo_log_loss_ : float
        Log loss of the leave-one-out probabilities.
    loo_majority_ : float
        Share of the largest class.
    loo_confusion_ : ndarray of shape (n_classes, n_classes)
        Leave-one-out counts, true classes in rows.
    loo_predict_proba_ : ndarray of shape (n_samples, n_classes)
        Probabilities of every training sample by a fit without it; nan for samples that were not left out: some, if
        there are more than 4000.
    suspicious_labels_ : structured ndarray
        Training samples whose label leave-one-out disagrees with, the least probable first: `sample`, `label`, `proba`,
        `suggested`.
    chosen_ : list of dict
        The fused readings: `reading`, `view`, `kernel`, `gamma`, `kappa`, `weight`.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "auto": ("views", "max_readings"),
    }

    def __init__(
        self,
        *,
        views: Literal["both", "unit", "standard", "given", "together", "alone"] | Literal["auto"] | None = "auto",
        max_readings: int | Literal["auto"] | None = "auto",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        prep: str = "none",
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.views = views
        self.max_readings = max_readings
        self.class_weight = class_weight
        self.prep = prep
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class LCDLSVClassifier(CodingClassifier):
    """Locality-constrained dictionary learning with support vectors (LCDL-SV).

    Method `lcdl-sv` of the registry. Yin, Wu, Chen: Locality constraint dictionary learning with support vector for
    pattern classification. IEEE Access 2019.

    Parameters
    ----------
    lambda1 : float, default=0.001
        Weight of the graph term: similar atoms get similar codes; 0 leaves locality out. A number >= 0.
    lambda2 : float, default=1e-06
        Weight of the support-vector term. A number >= 0.
    theta : float, default=5.0
        Weight of the loss inside the support-vector term; the SVM's own regularisation is its inverse. A number > 0.
    eta1 : float or {"auto"} or None, default="auto"
        Ridge weight of test codes; `auto` chooses it by cross-validation within the training samples. Auto or a number
        > 0.
    eta2 : float or {"auto"} or None, default="auto"
        Weight of the SVM score in the fused rule; `auto` chooses it like `eta1`. Auto or a number >= 0.
    knn : int, default=1
        Nearest atoms that each atom is joined to. A whole number >= 1.
    atoms_per_class : int or {"all"} or {"auto"} or None, default="auto"
        Atoms per class; `auto` is 10, or the number of samples of a smaller class; `all` takes the training samples
        themselves, best with `max_iter = 0`. Auto or all or a whole number >= 1.
    max_iter : int or {"auto"} or None, default="auto"
        Maximum number of iterations; 0 keeps the starting dictionary and fits the SVM on test codes; `auto` chooses it
        like `eta1`. Auto or a whole number >= 0.
    tol : float, default=0.001
        Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early. A
        number >= 0.
    rule : {"residual", "svm", "fused"} or {"auto"} or None, default="auto"
        Decision rule; `auto` chooses it like `eta1`.
    svm_solver : {"newton", "lbfgs"}, default="newton"
        Solver of the SVM step: exact, or truncated as in the published code.
    active_set : {"one-pass", "converged"}, default="one-pass"
        Code step: one solve with the violated margins of the previous codes, or repeated until they agree.
    atom_norm : {"none", "unit", "ball"}, default="none"
        Lengths of atoms after each dictionary step: left alone, all one, or at most one.
    affinity : {"squared", "unsquared"}, default="squared"
        Weights of the atom graph: `exp(-d^2 / 2t^2)` (code) or `exp(-d / t)` (paper).
    laplacian_ridge : float or {"auto"} or None, default="auto"
        Multiple of the identity added to the Laplacian; `auto` is 0, or 1e-3 with a warning where it is needed. Auto or
        a number >= 0.
    refit_svm : bool or {"auto"} or None, default="auto"
        Fit the final SVM on the codes that test samples get, rather than on the last training codes. `auto` does so,
        with a warning, where the two disagree so much that the lagging SVM misjudges the training samples. Auto or True
        or False.
    sign_seed : int or {"auto"} or None, default="auto"
        Flip the signs of the starting directions at random, to study how much they matter; `auto` does not. Auto or a
        whole number >= 0.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.

    Notes
    -----
    Presets, for `from_preset`:

    - `default`: eta1, eta2, rule and max_iter chosen on the training samples, all else as the authors' code does
    - `authors-code`: what the authors' code does
    - `paper`: as printed: theta = 0.2 and unsquared distances in the atom graph
    """

    _methods = {
        "lcdl-sv": (
            "lambda1",
            "lambda2",
            "theta",
            "eta1",
            "eta2",
            "knn",
            "atoms_per_class",
            "max_iter",
            "tol",
            "rule",
            "svm_solver",
            "active_set",
            "atom_norm",
            "affinity",
            "laplacian_ridge",
            "refit_svm",
            "sign_seed",
        ),
    }

    def __init__(
        self,
        *,
        lambda1: float = 0.001,
        lambda2: float = 1e-06,
        theta: float = 5.0,
        eta1: float | Literal["auto"] | None = "auto",
        eta2: float | Literal["auto"] | None = "auto",
        knn: int = 1,
        atoms_per_class: int | Literal["all"] | Literal["auto"] | None = "auto",
        max_iter: int | Literal["auto"] | None = "auto",
        tol: float = 0.001,
        rule: Literal["residual", "svm", "fused"] | Literal["auto"] | None = "auto",
        svm_solver: Literal["newton", "lbfgs"] = "newton",
        active_set: Literal["one-pass", "converged"] = "one-pass",
        atom_norm: Literal["none", "unit", "ball"] = "none",
        affinity: Literal["squared", "unsquared"] = "squared",
        laplacian_ridge: float | Literal["auto"] | None = "auto",
        refit_svm: bool | Literal["auto"] | None = "auto",
        sign_seed: int | Literal["auto"] | None = "auto",
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.theta = theta
        self.eta1 = eta1
        self.eta2 = eta2
        self.knn = knn
        self.atoms_per_class = atoms_per_class
        self.max_iter = max_iter
        self.tol = tol
        self.rule = rule
        self.svm_solver = svm_solver
        self.active_set = active_set
        self.atom_norm = atom_norm
        self.affinity = affinity
        self.laplacian_ridge = laplacian_ridge
        self.refit_svm = refit_svm
        self.sign_seed = sign_seed
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class SVGDLClassifier(CodingClassifier):
    """Support vector guided dictionary learning (SVGDL).

    Method `svgdl` of the registry. Cai, Zuo, Zhang, Feng, Wang: Support vector guided dictionary learning. ECCV 2014.

    Parameters
    ----------
    lambda1 : float, default=0.002
        Weight of the squared norm of the codes, in training and for new samples. A number > 0.
    lambda2 : float, default=1e-06
        Weight of the SVM term. A number >= 0.
    theta : float, default=5.0
        Weight of the loss against the squared norm inside the SVM term. A number > 0.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class; `auto` is 10, or the number of samples of a smaller class. Auto or a whole number >= 1.
    max_iter : int, default=25
        Maximum number of iterations. A whole number >= 1.
    tol : float, default=0.001
        Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early. A
        number >= 0.
    active_set : {"one-pass", "converged"}, default="one-pass"
        Code step: one solve with the violated margins of the previous codes, or repeated until they agree.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "svgdl": ("lambda1", "lambda2", "theta", "atoms_per_class", "max_iter", "tol", "active_set"),
    }

    def __init__(
        self,
        *,
        lambda1: float = 0.002,
        lambda2: float = 1e-06,
        theta: float = 5.0,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        max_iter: int = 25,
        tol: float = 0.001,
        active_set: Literal["one-pass", "converged"] = "one-pass",
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.theta = theta
        self.atoms_per_class = atoms_per_class
        self.max_iter = max_iter
        self.tol = tol
        self.active_set = active_set
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class LCLEDLClassifier(CodingClassifier):
    """Locality-constrained and label embedding dictionary learning (LCLE-DL).

    Method `lcle-dl` of the registry. Li, Lai, Xu, Yang, Zhang: A locality-constrained and label embedding dictionary
    learning algorithm for image classification. IEEE TNNLS 2017.

    Parameters
    ----------
    alpha : float, default=0.001
        Weight of locality: codes are alike on neighboring atoms. A number >= 0.
    beta : float, default=0.001
        Weight of the label embedding. A number >= 0.
    gamma : float, default=0.01
        Weight of the agreement of both codes; also the ridge on them. A number > 0.
    knn : int, default=1
        Nearest atoms that each atom is joined to. A whole number >= 1.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class; `auto` is 10, or the number of samples of a smaller class. Auto or a whole number >= 1.
    constraint : {"ball", "free"}, default="ball"
        Atoms no longer than one throughout, or of any length until the end, as published.
    start : {"pca-mean", "k-svd"}, default="pca-mean"
        First atoms: principal directions and mean of every class, or K-SVD within every class, as published.
    max_iter : int, default=10
        Maximum number of iterations. A whole number >= 0.
    tol : float, default=0.001
        Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early. A
        number >= 0.
    ridge : float, default=0.1
        Weight of the squared norm of the classifier. A number > 0.
    random_state : int or RandomState or None, default=0
        Seed of the choice of samples that K-SVD starts from. None draws one from numpy.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.

    Notes
    -----
    Presets, for `from_preset`:

    - `unit-ball`: the defaults
    - `published`: start, weights and free atoms of a public copy of the authors' code; new samples are coded by the
    linear map, not by OMP
    """

    _methods = {
        "lcle-dl": (
            "alpha",
            "beta",
            "gamma",
            "knn",
            "atoms_per_class",
            "constraint",
            "start",
            "max_iter",
            "tol",
            "ridge",
            "seed",
        ),
    }

    def __init__(
        self,
        *,
        alpha: float = 0.001,
        beta: float = 0.001,
        gamma: float = 0.01,
        knn: int = 1,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        constraint: Literal["ball", "free"] = "ball",
        start: Literal["pca-mean", "k-svd"] = "pca-mean",
        max_iter: int = 10,
        tol: float = 0.001,
        ridge: float = 0.1,
        random_state: int | np.random.RandomState | None = 0,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.knn = knn
        self.atoms_per_class = atoms_per_class
        self.constraint = constraint
        self.start = start
        self.max_iter = max_iter
        self.tol = tol
        self.ridge = ridge
        self.random_state = random_state
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class LEDLClassifier(CodingClassifier):
    """Label embedded dictionary learning (LEDL).

    Method `ledl` of the registry. Shao, Xu, Wang, Liu, Liu, Wang: Label embedded dictionary learning for image
    classification. Neurocomputing 2020.

    Parameters
    ----------
    lam : float, default=0.004
        Weight of the classification term. Called `lambda` in the paper and on the command line. A number >= 0.
    omega : float, default=0.0005
        Weight of label consistency. A number >= 0.
    epsilon : float, default=0.01
        Weight of the magnitudes of the codes, in training and for new samples. A number > 0.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class; `auto` is 10, or the number of samples of a smaller class. Auto or a whole number >= 1.
    start : {"samples", "random"}, default="samples"
        First atoms: random samples of every class, or random columns, as published.
    max_iter : int, default=10
        Maximum number of iterations. A whole number >= 0.
    tol : float, default=0.0001
        Training ends when an iteration lowers the objective by less than this, relatively; 0 never ends it early. A
        number >= 0.
    readout : {"refit", "joint"}, default="refit"
        The classifier: refitted on codes made as for new samples, or the one learned jointly, as published.
    ridge : float, default=0.1
        Weight of the squared norm of the classifier, where it is refitted. A number > 0.
    random_state : int or RandomState or None, default=0
        Seed of the choice of samples that become the first atoms, or of the random columns. None draws one from numpy.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.

    Notes
    -----
    Presets, for `from_preset`:

    - `samples`: the defaults
    - `published`: random start and joint classifier as published, weights from the middle of the published grids
    """

    _methods = {
        "ledl": (
            "lambda",
            "omega",
            "epsilon",
            "atoms_per_class",
            "start",
            "max_iter",
            "tol",
            "readout",
            "ridge",
            "seed",
        ),
    }

    def __init__(
        self,
        *,
        lam: float = 0.004,
        omega: float = 0.0005,
        epsilon: float = 0.01,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        start: Literal["samples", "random"] = "samples",
        max_iter: int = 10,
        tol: float = 0.0001,
        readout: Literal["refit", "joint"] = "refit",
        ridge: float = 0.1,
        random_state: int | np.random.RandomState | None = 0,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.lam = lam
        self.omega = omega
        self.epsilon = epsilon
        self.atoms_per_class = atoms_per_class
        self.start = start
        self.max_iter = max_iter
        self.tol = tol
        self.readout = readout
        self.ridge = ridge
        self.random_state = random_state
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class SRCClassifier(CodingClassifier):
    """Sparse representation (SRC).

    Method `src` of the registry. Wright, Yang, Ganesh, Sastry, Ma: Robust face recognition via sparse representation.
    PAMI 2009.

    Parameters
    ----------
    form : {"penalized", "epsilon"}, default="penalized"
        What a code minimises: a penalized residual, or the sum of magnitudes within `epsilon`.
    lam : float, default=0.001
        Weight of the sum of magnitudes against half the squared residual; for the penalized form. Called `lambda` in
        the paper and on the command line. A number > 0.
    epsilon : float, default=0.05
        Largest norm of the residual; for the epsilon form. A number > 0.
    occlusion : bool, default=False
        Let an error explain single features, against occlusion and gross corruption. True or False.
    tolerance : float, default=1e-06
        Largest duality gap of a code, as a fraction of half the sample's squared norm. A number from 0.000000000001 to
        1.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "src": ("form", "lambda", "epsilon", "occlusion", "tolerance"),
    }
    _poor_score = True

    def __init__(
        self,
        *,
        form: Literal["penalized", "epsilon"] = "penalized",
        lam: float = 0.001,
        epsilon: float = 0.05,
        occlusion: bool = False,
        tolerance: float = 1e-06,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.form = form
        self.lam = lam
        self.epsilon = epsilon
        self.occlusion = occlusion
        self.tolerance = tolerance
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class CRCClassifier(WeightedClassifier, SparseClassifier, CodingClassifier):
    """Collaborative representation (CRC-RLS).

    Method `crc` of the registry. Zhang, Yang, Feng: Sparse representation or collaborative representation: which helps
    face recognition? ICCV 2011.

    Parameters
    ----------
    kappa : float or {"auto"} or None, default="auto"
        Weight of the squared norm of the code; `auto` chooses it by exact leave-one-out on the training samples. Auto
        or a number > 0.
    residual : {"regularized", "plain"}, default="regularized"
        Divide each class residual by the size of the class's code, as the original does, or not.
    class_weight : dict or {"balanced"} or None, default=None
        Weights of the samples of a class, 1 for classes that a dict does not name; `balanced` gives all classes the
        same weight in total. They multiply the `sample_weight` of `fit`.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "crc": ("kappa", "residual"),
    }
    _poor_score = True

    def __init__(
        self,
        *,
        kappa: float | Literal["auto"] | None = "auto",
        residual: Literal["regularized", "plain"] = "regularized",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.kappa = kappa
        self.residual = residual
        self.class_weight = class_weight
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class ProCRCClassifier(CodingClassifier):
    """Probabilistic collaborative representation (ProCRC).

    Method `procrc` of the registry. Cai, Zhang, Zuo, Feng: A probabilistic collaborative representation based approach
    for pattern classification. CVPR 2016.

    Parameters
    ----------
    lam : float or {"auto"} or None, default="auto"
        Weight of the squared norm of the code; `auto` chooses it by exact leave-one-out on the training samples. Called
        `lambda` in the paper and on the command line. Auto or a number > 0.
    gamma : float or {"auto"} or None, default="auto"
        Weight of the wish that classes agree; 0 codes as CRC does; `auto` chooses it like `lambda`. Auto or a number >=
        0.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "procrc": ("lambda", "gamma"),
    }
    _poor_score = True

    def __init__(
        self,
        *,
        lam: float | Literal["auto"] | None = "auto",
        gamma: float | Literal["auto"] | None = "auto",
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.lam = lam
        self.gamma = gamma
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class LRCClassifier(CodingClassifier):
    """Linear regression classification (LRC).

    Method `lrc` of the registry. Naseem, Togneri, Bennamoun: Linear regression for face recognition. IEEE TPAMI 2010.

    Parameters
    ----------
    kappa : float or {"auto"} or None, default="auto"
        Weight of the squared norm of the regression; 0 is the paper's, `auto` chooses it by exact leave-one-out on the
        training samples. Auto or a number >= 0.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "lrc": ("kappa",),
    }
    _poor_score = True

    def __init__(
        self,
        *,
        kappa: float | Literal["auto"] | None = "auto",
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.kappa = kappa
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class KSVDClassifier(CodingClassifier):
    """K-SVD with a ridge classifier.

    Method `ksvd` of the registry. Aharon, Elad, Bruckstein: K-SVD: an algorithm for designing overcomplete dictionaries
    for sparse representation. IEEE TSP 2006.

    Parameters
    ----------
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class; `auto` is 10, or the number of samples of a smaller class. Auto or a whole number >= 1.
    sparsity : int or {"auto"} or None, default="auto"
        Most atoms in the code of a sample; `auto` is a tenth of the features, from 5 to 30. Auto or a whole number >=
        1.
    max_iter : int, default=20
        Iterations. A whole number >= 0.
    ridge : float, default=0.1
        Weight of the squared norm of the classifier. A number > 0.
    update : {"approximate", "exact"}, default="approximate"
        How an atom is fitted: one alternation, or the leading singular pair.
    random_state : int or RandomState or None, default=0
        Seed of the choice of samples that become the first atoms. None draws one from numpy.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "ksvd": ("atoms_per_class", "sparsity", "max_iter", "ridge", "update", "seed"),
    }

    def __init__(
        self,
        *,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        sparsity: int | Literal["auto"] | None = "auto",
        max_iter: int = 20,
        ridge: float = 0.1,
        update: Literal["approximate", "exact"] = "approximate",
        random_state: int | np.random.RandomState | None = 0,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.atoms_per_class = atoms_per_class
        self.sparsity = sparsity
        self.max_iter = max_iter
        self.ridge = ridge
        self.update = update
        self.random_state = random_state
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class DKSVDClassifier(CodingClassifier):
    """Discriminative K-SVD (D-KSVD).

    Method `dksvd` of the registry. Zhang, Li: Discriminative K-SVD for dictionary learning in face recognition. CVPR
    2010.

    Parameters
    ----------
    beta : float, default=0.1
        Weight of the label term. A number > 0.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class; `auto` is 10, or the number of samples of a smaller class. Auto or a whole number >= 1.
    sparsity : int or {"auto"} or None, default="auto"
        Most atoms in the code of a sample; `auto` is a tenth of the features, from 5 to 30. Auto or a whole number >=
        1.
    init_iter : int, default=5
        Iterations of K-SVD without labels that make the first dictionary. A whole number >= 0.
    max_iter : int, default=15
        Iterations with labels. A whole number >= 0.
    ridge : float, default=0.1
        Weight of the squared norm of the classifier, where it is fitted. A number > 0.
    readout : {"refit", "joint"}, default="refit"
        The classifier: refitted on codes made as for new samples, or the one learned jointly, as published.
    update : {"approximate", "exact"}, default="approximate"
        How an atom is fitted: one alternation, or the leading singular pair.
    random_state : int or RandomState or None, default=0
        Seed of the choice of samples that become the first atoms. None draws one from numpy.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.

    Notes
    -----
    Presets, for `from_preset`:

    - `small-weights`: the defaults: chosen by cross-validation
    - `published`: settings of the LC-KSVD package for Extended Yale B
    """

    _methods = {
        "dksvd": ("beta", "atoms_per_class", "sparsity", "init_iter", "max_iter", "ridge", "readout", "update", "seed"),
    }

    def __init__(
        self,
        *,
        beta: float = 0.1,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        sparsity: int | Literal["auto"] | None = "auto",
        init_iter: int = 5,
        max_iter: int = 15,
        ridge: float = 0.1,
        readout: Literal["refit", "joint"] = "refit",
        update: Literal["approximate", "exact"] = "approximate",
        random_state: int | np.random.RandomState | None = 0,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.beta = beta
        self.atoms_per_class = atoms_per_class
        self.sparsity = sparsity
        self.init_iter = init_iter
        self.max_iter = max_iter
        self.ridge = ridge
        self.readout = readout
        self.update = update
        self.random_state = random_state
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class LCKSVDClassifier(CodingClassifier):
    """Label-consistent K-SVD with classification error (LC-KSVD2).

    Method `lcksvd1` and `lcksvd2` of the registry. Jiang, Lin, Davis: Label consistent K-SVD: learning a discriminative
    dictionary for recognition. IEEE TPAMI 2013.

    Parameters
    ----------
    variant : {1, 2}, default=2
        Which of the methods: 1: label-consistent K-SVD, label consistency only (LC-KSVD1); 2: label-consistent K-SVD
        with classification error (LC-KSVD2).
    alpha : float, default=0.01
        Weight of label consistency. A number > 0.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class; `auto` is 10, or the number of samples of a smaller class. Auto or a whole number >= 1.
    sparsity : int or {"auto"} or None, default="auto"
        Most atoms in the code of a sample; `auto` is a tenth of the features, from 5 to 30. Auto or a whole number >=
        1.
    init_iter : int, default=5
        Iterations of K-SVD within each class that make the first dictionary. A whole number >= 0.
    code_iter : int, default=0
        Iterations of K-SVD on all classes for the codes that `W` starts from; its dictionary is thrown away. A whole
        number >= 0.
    max_iter : int, default=15
        Iterations with labels. A whole number >= 0.
    ridge : float, default=0.1
        Weight of the squared norm of the classifier. A number > 0.
    readout : {"refit", "joint"}, default="refit"
        The classifier: fitted on codes made as for new samples, or on the joint codes, as published.
    rescale_codes : bool, default=False
        With `readout = joint`: scale the joint codes to the final atoms; the published code does not. True or False.
        Only for `lcksvd1`.
    update : {"approximate", "exact"}, default="approximate"
        How an atom is fitted: one alternation, or the leading singular pair.
    random_state : int or RandomState or None, default=0
        Seed of the choice of samples that become the first atoms. None draws one from numpy.
    beta : float, default=0.2
        Weight of the classification term. A number > 0. Only for `lcksvd2`.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.

    Notes
    -----
    Presets, for `from_preset`:

    - `small-weights`: the defaults: chosen by cross-validation
    - `published`: settings of the authors' package for Extended Yale B
    """

    _methods = {
        "lcksvd1": (
            "alpha",
            "atoms_per_class",
            "sparsity",
            "init_iter",
            "code_iter",
            "max_iter",
            "ridge",
            "readout",
            "rescale_codes",
            "update",
            "seed",
        ),
        "lcksvd2": (
            "alpha",
            "beta",
            "atoms_per_class",
            "sparsity",
            "init_iter",
            "code_iter",
            "max_iter",
            "ridge",
            "readout",
            "update",
            "seed",
        ),
    }

    def __init__(
        self,
        *,
        variant: Literal[1, 2] = 2,
        alpha: float = 0.01,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        sparsity: int | Literal["auto"] | None = "auto",
        init_iter: int = 5,
        code_iter: int = 0,
        max_iter: int = 15,
        ridge: float = 0.1,
        readout: Literal["refit", "joint"] = "refit",
        rescale_codes: bool = False,
        update: Literal["approximate", "exact"] = "approximate",
        random_state: int | np.random.RandomState | None = 0,
        beta: float = 0.2,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.variant = variant
        self.alpha = alpha
        self.atoms_per_class = atoms_per_class
        self.sparsity = sparsity
        self.init_iter = init_iter
        self.code_iter = code_iter
        self.max_iter = max_iter
        self.ridge = ridge
        self.readout = readout
        self.rescale_codes = rescale_codes
        self.update = update
        self.random_state = random_state
        self.beta = beta
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class ODLClassifier(IncrementalClassifier):
    """Online dictionary learning with a ridge classifier (ODL).

    Method `odl` of the registry. Mairal, Bach, Ponce, Sapiro: Online learning for matrix factorization and sparse
    coding. JMLR 2010.

    Parameters
    ----------
    lam : float, default=0.01
        Weight of the sum of magnitudes of a code against half the squared residual. Called `lambda` in the paper and on
        the command line. A number > 0.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class, which start as its samples but belong to no class; `auto` is 10, or the number of samples of a
        smaller class. Auto or a whole number >= 1.
    batch_size : int, default=64
        Samples of a batch: the dictionary changes after each. A whole number >= 1.
    forgetting : float, default=2.0
        How fast older batches lose weight: batch s of t weighs `(s / t)^forgetting`; 0 keeps all alike. A number >= 0.
    replace : bool, default=True
        From the second pass on, a sample's new code replaces its last one in the sums, and nothing is forgotten any
        more. True or False.
    max_iter : int, default=10
        Maximum number of passes over the samples. A whole number >= 0.
    tol : float, default=0.001
        Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early. A
        number >= 0.
    ridge : float, default=0.01
        Weight of the squared norm of the classifier. A number > 0.
    random_state : int or RandomState or None, default=0
        Seed of the choice of samples that become the first atoms, and of their order in every pass. None draws one from
        numpy.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.

    Notes
    -----
    Presets, for `from_preset`:

    - `default`: the defaults
    - `paper`: as in the experiments of the paper: all batches weigh the same, 512 samples each, one pass
    """

    _methods = {
        "odl": ("lambda", "atoms_per_class", "batch_size", "forgetting", "replace", "max_iter", "tol", "ridge", "seed"),
    }

    def __init__(
        self,
        *,
        lam: float = 0.01,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        batch_size: int = 64,
        forgetting: float = 2.0,
        replace: bool = True,
        max_iter: int = 10,
        tol: float = 0.001,
        ridge: float = 0.01,
        random_state: int | np.random.RandomState | None = 0,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.lam = lam
        self.atoms_per_class = atoms_per_class
        self.batch_size = batch_size
        self.forgetting = forgetting
        self.replace = replace
        self.max_iter = max_iter
        self.tol = tol
        self.ridge = ridge
        self.random_state = random_state
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class FDDLClassifier(CodingClassifier):
    """Fisher discrimination dictionary learning (FDDL).

    Method `fddl` of the registry. Yang, Zhang, Feng, Zhang: Sparse representation based Fisher discrimination
    dictionary learning for image classification. IJCV 2014.

    Parameters
    ----------
    lambda1 : float, default=0.005
        Weight of the sum of magnitudes of the codes. A number > 0.
    lambda2 : float, default=0.05
        Weight of the Fisher criterion. A number >= 0.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class; `auto` is 10, or the size of the class or one less than the features if that is less. Auto or a
        whole number >= 1.
    scaling : {"original", "dictol"}, default="original"
        What lambda1, gamma and gamma1 weigh against: squares (original) or half of them (dictol).
    constraint : {"sphere", "ball"}, default="sphere"
        Atoms of norm one, one sweep per iteration (original), or at most one, swept until settled.
    rule : {"global", "local"}, default="global"
        Decide by one code over all atoms, or by one code per class.
    gamma : float, default=0.005
        Global rule: weight of the sum of magnitudes of a sample's code. A number > 0.
    w : float, default=0.5
        Global rule: weight of the distance between a sample's code and the class mean. A number >= 0.
    gamma1 : float, default=0.005
        Local rule: weight of the sum of magnitudes. A number > 0.
    gamma2 : float, default=0.01
        Local rule: weight of the distance to the class mean. A number >= 0.
    max_iter : int, default=15
        Maximum number of iterations of code step and dictionary step. A whole number >= 1.
    tol : float, default=0.001
        Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early. A
        number >= 0.
    code_iter : int, default=300
        Most accelerated gradient steps of a code step. A whole number >= 1.
    code_tol : float, default=0.001
        End a code step when the codes move by less than this fraction of their norm. A number >= 0.
    refit : bool, default=True
        Solve the codes again after the last dictionary step, so that class means fit the final atoms. True or False.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "fddl": (
            "lambda1",
            "lambda2",
            "atoms_per_class",
            "scaling",
            "constraint",
            "rule",
            "gamma",
            "w",
            "gamma1",
            "gamma2",
            "max_iter",
            "tol",
            "code_iter",
            "code_tol",
            "refit",
        ),
    }

    def __init__(
        self,
        *,
        lambda1: float = 0.005,
        lambda2: float = 0.05,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        scaling: Literal["original", "dictol"] = "original",
        constraint: Literal["sphere", "ball"] = "sphere",
        rule: Literal["global", "local"] = "global",
        gamma: float = 0.005,
        w: float = 0.5,
        gamma1: float = 0.005,
        gamma2: float = 0.01,
        max_iter: int = 15,
        tol: float = 0.001,
        code_iter: int = 300,
        code_tol: float = 0.001,
        refit: bool = True,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.atoms_per_class = atoms_per_class
        self.scaling = scaling
        self.constraint = constraint
        self.rule = rule
        self.gamma = gamma
        self.w = w
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.max_iter = max_iter
        self.tol = tol
        self.code_iter = code_iter
        self.code_tol = code_tol
        self.refit = refit
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class DLSIClassifier(CodingClassifier):
    """Dictionary learning with structured incoherence (DLSI).

    Method `dlsi` of the registry. Ramirez, Sprechmann, Sapiro: Classification and clustering via dictionary learning
    with structured incoherence and shared features. CVPR 2010.

    Parameters
    ----------
    lam : float, default=0.001
        Weight of the sum of magnitudes of the codes, against half the squared residual. Called `lambda` in the paper
        and on the command line. A number > 0.
    eta : float, default=0.01
        Weight of the overlap between atoms of different classes. A number >= 0.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class; `auto` is 10, or the size of the class or one less than the features if that is less. Auto or a
        whole number >= 1.
    rule : {"global", "local"}, default="global"
        Decide by one code over all atoms, or by one code per class.
    gamma : float, default=0.001
        Weight of the sum of magnitudes of a new sample's code. A number > 0.
    max_iter : int, default=20
        Maximum number of iterations of code step and dictionary step. A whole number >= 1.
    tol : float, default=0.001
        Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early. A
        number >= 0.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.

    Notes
    -----
    Presets, for `from_preset`:

    - `dictol`: The DICTOL toolbox on Extended Yale B: code per class, 100 iterations
    """

    _methods = {
        "dlsi": ("lambda", "eta", "atoms_per_class", "rule", "gamma", "max_iter", "tol"),
    }
    _poor_score = True

    def __init__(
        self,
        *,
        lam: float = 0.001,
        eta: float = 0.01,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        rule: Literal["global", "local"] = "global",
        gamma: float = 0.001,
        max_iter: int = 20,
        tol: float = 0.001,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.lam = lam
        self.eta = eta
        self.atoms_per_class = atoms_per_class
        self.rule = rule
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class COPARClassifier(CodingClassifier):
    """Particularity and commonality dictionaries (COPAR).

    Method `copar` of the registry. Kong, Wang: A dictionary learning approach for classification: separating the
    particularity and the commonality. ECCV 2012.

    Parameters
    ----------
    lam : float, default=0.001
        Weight of the sum of magnitudes of the codes; half of it stands against halves of squares. Called `lambda` in
        the paper and on the command line. A number > 0.
    eta : float, default=0.01
        Weight of the overlap between atoms of different classes, and with the shared ones. A number >= 0.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class; `auto` is 10, or the size of the class or one less than the features if that is less. Auto or a
        whole number >= 1.
    shared_atoms : int or {"auto"} or None, default="auto"
        Atoms that all classes share; `auto` is five, or fewer where they would span all features with those of a class.
        Auto or a whole number >= 0.
    rule : {"global", "local", "local-dictol"}, default="global"
        Decide by one code over all atoms, or by one code per class with its attained minimum or with DICTOL's cost.
    gamma : float, default=0.001
        Weight of the sum of magnitudes of a new sample's code. A number > 0.
    max_iter : int, default=10
        Maximum number of iterations of code step and dictionary step. A whole number >= 1.
    tol : float, default=0.001
        Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early. A
        number >= 0.
    accelerate : bool, default=True
        Find the codes for atoms that lead on where the last iteration went, as long as that is lower. True or False.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.

    Notes
    -----
    Presets, for `from_preset`:

    - `dictol`: The DICTOL toolbox on Extended Yale B: code per class and its cost
    """

    _methods = {
        "copar": ("lambda", "eta", "atoms_per_class", "shared_atoms", "rule", "gamma", "max_iter", "tol", "accelerate"),
    }
    _poor_score = True

    def __init__(
        self,
        *,
        lam: float = 0.001,
        eta: float = 0.01,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        shared_atoms: int | Literal["auto"] | None = "auto",
        rule: Literal["global", "local", "local-dictol"] = "global",
        gamma: float = 0.001,
        max_iter: int = 10,
        tol: float = 0.001,
        accelerate: bool = True,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.lam = lam
        self.eta = eta
        self.atoms_per_class = atoms_per_class
        self.shared_atoms = shared_atoms
        self.rule = rule
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.accelerate = accelerate
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class LRSDLClassifier(CodingClassifier):
    """Low-rank shared dictionary learning (LRSDL).

    Method `lrsdl` of the registry. Vu, Monga: Fast low-rank shared dictionary learning for image classification. IEEE
    TIP 2017.

    Parameters
    ----------
    lambda1 : float, default=0.001
        Weight of the sum of magnitudes of the codes, against half the squared residual. A number > 0.
    lambda2 : float, default=0.01
        Weight of the Fisher criterion and of the spread of shared codes. A number >= 0.
    lambda3 : float, default=0.02
        Weight of the nuclear norm of the shared atoms. A number >= 0.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class; `auto` is 10, or the size of the class or one less than the features if that is less. Auto or a
        whole number >= 1.
    shared_atoms : int or {"auto"} or None, default="auto"
        Atoms that all classes share; `auto` is five, or fewer where they would span all features with those of a class.
        Auto or a whole number >= 0.
    constraint : {"sphere", "ball"}, default="ball"
        Class atoms of norm one, one sweep per iteration, or at most one, swept until settled; shared ones are at most
        one.
    rule : {"global", "local"}, default="global"
        Decide by one code over all atoms, or by one code per class.
    gamma : float, default=0.001
        Weight of the sum of magnitudes of a new sample's code. A number > 0.
    gamma0 : float, default=0.01
        Global rule: weight of the distance between a sample's shared code and the mean of shared codes. A number >= 0.
    w : float, default=1.0
        Global rule: weight of the distance between a sample's code and the class mean. A number >= 0.
    max_iter : int, default=15
        Maximum number of iterations of code step and dictionary steps. A whole number >= 1.
    tol : float, default=0.001
        Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early. A
        number >= 0.
    code_iter : int, default=300
        Most accelerated gradient steps of a code step. A whole number >= 1.
    code_tol : float, default=0.001
        End a code step when the codes move by less than this fraction of their norm. A number >= 0.
    refit : bool, default=True
        Solve the codes again after the last dictionary step, so that class means fit the final atoms. True or False.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.

    Notes
    -----
    Presets, for `from_preset`:

    - `dictol`: The DICTOL toolbox on Extended Yale B
    """

    _methods = {
        "lrsdl": (
            "lambda1",
            "lambda2",
            "lambda3",
            "atoms_per_class",
            "shared_atoms",
            "constraint",
            "rule",
            "gamma",
            "gamma0",
            "w",
            "max_iter",
            "tol",
            "code_iter",
            "code_tol",
            "refit",
        ),
    }

    def __init__(
        self,
        *,
        lambda1: float = 0.001,
        lambda2: float = 0.01,
        lambda3: float = 0.02,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        shared_atoms: int | Literal["auto"] | None = "auto",
        constraint: Literal["sphere", "ball"] = "ball",
        rule: Literal["global", "local"] = "global",
        gamma: float = 0.001,
        gamma0: float = 0.01,
        w: float = 1.0,
        max_iter: int = 15,
        tol: float = 0.001,
        code_iter: int = 300,
        code_tol: float = 0.001,
        refit: bool = True,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.lambda3 = lambda3
        self.atoms_per_class = atoms_per_class
        self.shared_atoms = shared_atoms
        self.constraint = constraint
        self.rule = rule
        self.gamma = gamma
        self.gamma0 = gamma0
        self.w = w
        self.max_iter = max_iter
        self.tol = tol
        self.code_iter = code_iter
        self.code_tol = code_tol
        self.refit = refit
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class MFLClassifier(CodingClassifier):
    """Metaface learning (MFL).

    Method `mfl` of the registry. Yang, Zhang, Yang, Zhang: Metaface learning for sparse representation based face
    recognition. ICIP 2010.

    Parameters
    ----------
    lam : float, default=0.002
        Weight of the sum of magnitudes of the codes, against the squared residual. Called `lambda` in the paper and on
        the command line. A number > 0.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class; `auto` is 10, or the size of the class or one less than the features if that is less. Auto or a
        whole number >= 1.
    rule : {"global", "local"}, default="global"
        Decide by one code over all atoms, or by one code per class.
    gamma : float, default=0.002
        Weight of the sum of magnitudes of a new sample's code. A number > 0.
    max_iter : int, default=20
        Maximum number of iterations of code step and dictionary step. A whole number >= 1.
    tol : float, default=0.001
        Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early. A
        number >= 0.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "mfl": ("lambda", "atoms_per_class", "rule", "gamma", "max_iter", "tol"),
    }
    _poor_score = True

    def __init__(
        self,
        *,
        lam: float = 0.002,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        rule: Literal["global", "local"] = "global",
        gamma: float = 0.002,
        max_iter: int = 20,
        tol: float = 0.001,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.lam = lam
        self.atoms_per_class = atoms_per_class
        self.rule = rule
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class CADLClassifier(CodingClassifier):
    """Class-aware analysis dictionary learning (CADL).

    Method `cadl` of the registry. Wang, Guo, Guo, Luo, Kong: Class-aware analysis dictionary learning for pattern
    classification. IEEE Signal Processing Letters 2017.

    Parameters
    ----------
    lambda1 : float, default=0.005
        Weight of the responses of a class's atoms to the samples of all other classes. A number >= 0.
    lambda2 : float, default=0.0005
        Weight of the SVM in the codes. A number >= 0.
    lambda3 : float, default=0.0005
        Ridge on the atoms. A number >= 0.
    theta : float, default=5.0
        Weight of the SVM's loss against its norm. A number > 0.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class; `auto` is dimensions of the samples / classes, rounded up. Auto or a whole number >= 1.
    max_iter : int, default=10
        Maximum number of iterations. A whole number >= 1.
    tol : float, default=0.001
        Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early. A
        number >= 0.
    updates : {"published", "exact"}, default="published"
        The published steps, or exact minimisation in each.
    refit : bool, default=True
        Fit the SVM once more to the codes of the final dictionary. True or False.
    random_state : int or RandomState or None, default=0
        Seed of the random start. None draws one from numpy.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.

    Notes
    -----
    Presets, for `from_preset`:

    - `default`: The defaults: the published AR demo
    - `ar`: AR, as printed in the paper
    - `scene15`: Scene15, as printed in the paper
    - `caltech101`: Caltech101, as printed in the paper
    - `ucf50`: UCF50, as printed in the paper
    """

    _methods = {
        "cadl": (
            "lambda1",
            "lambda2",
            "lambda3",
            "theta",
            "atoms_per_class",
            "max_iter",
            "tol",
            "updates",
            "refit",
            "seed",
        ),
    }

    def __init__(
        self,
        *,
        lambda1: float = 0.005,
        lambda2: float = 0.0005,
        lambda3: float = 0.0005,
        theta: float = 5.0,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        max_iter: int = 10,
        tol: float = 0.001,
        updates: Literal["published", "exact"] = "published",
        refit: bool = True,
        random_state: int | np.random.RandomState | None = 0,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.lambda3 = lambda3
        self.theta = theta
        self.atoms_per_class = atoms_per_class
        self.max_iter = max_iter
        self.tol = tol
        self.updates = updates
        self.refit = refit
        self.random_state = random_state
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class SADLClassifier(CodingClassifier):
    """Structured analysis dictionary learning (SADL).

    Method `sadl` of the registry. Tang, Panahi, Krim, Dai: Analysis dictionary learning based classification: structure
    for robustness. IEEE Transactions on Image Processing 2019.

    Parameters
    ----------
    lambda1 : float, default=0.001
        Weight of the absolute values of the codes. A number >= 0.
    lambda2 : float, default=0.0003
        Ridge on the analysis dictionary; the parameter that matters. A number > 0.
    rho : float, default=10.0
        Weight of the misfit of structure and labels. A number > 0.
    delta : float, default=0.001
        Ridge on the structuring map and on the classifier. A number > 0.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class; `auto` is the mean number of samples of a class, at most 10. Auto or a whole number >= 1.
    rows_per_class : int or {"auto"} or None, default="auto"
        Rows of structure for each class; auto: as many as atoms, at most 4. Auto or a whole number >= 1.
    normalize_rows : bool, default=False
        Scale the atoms to length 1 in every iteration. True or False.
    solver : {"linearized-admm", "block-descent"}, default="linearized-admm"
        How the objective is minimised.
    max_iter : int, default=300
        Maximum number of iterations. A whole number >= 1.
    tol : float, default=0.001
        Stop at this relative misfit of the constraints (ADMM) or ten times the relative decrease (block descent). A
        number >= 0.
    random_state : int or RandomState or None, default=0
        Seed of the random start. None draws one from numpy.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "sadl": (
            "lambda1",
            "lambda2",
            "rho",
            "delta",
            "atoms_per_class",
            "rows_per_class",
            "normalize_rows",
            "solver",
            "max_iter",
            "tol",
            "seed",
        ),
    }

    def __init__(
        self,
        *,
        lambda1: float = 0.001,
        lambda2: float = 0.0003,
        rho: float = 10.0,
        delta: float = 0.001,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        rows_per_class: int | Literal["auto"] | None = "auto",
        normalize_rows: bool = False,
        solver: Literal["linearized-admm", "block-descent"] = "linearized-admm",
        max_iter: int = 300,
        tol: float = 0.001,
        random_state: int | np.random.RandomState | None = 0,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.rho = rho
        self.delta = delta
        self.atoms_per_class = atoms_per_class
        self.rows_per_class = rows_per_class
        self.normalize_rows = normalize_rows
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class DPLClassifier(CodingClassifier):
    """Projective dictionary pair learning (DPL).

    Method `dpl` of the registry. Gu, Zhang, Zuo, Feng: Projective dictionary pair learning for pattern classification.
    NIPS 2014.

    Parameters
    ----------
    tau : float, default=0.05
        Weight of the fit of the projections to the codes. A number > 0.
    lam : float, default=0.003
        Weight of the projections of other classes. Called `lambda` in the paper and on the command line. A number >= 0.
    gamma : float, default=0.0001
        Ridge on the analysis dictionary. A number >= 0.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class; `auto` is as many as it has samples. Auto or a whole number >= 1.
    max_iter : int, default=20
        Maximum number of iterations. A whole number >= 1.
    tol : float, default=0.0001
        Training ends when an iteration lowers the objective by less than this, relatively; 0 never ends it early. A
        number >= 0.
    random_state : int or RandomState or None, default=0
        Seed of the random start. None draws one from numpy.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.

    Notes
    -----
    Presets, for `from_preset`:

    - `eyaleb`: Extended Yale B, as printed in the paper; the defaults
    - `ar`: AR, as printed in the paper
    - `caltech101`: Caltech101, as printed in the paper
    - `ucf50`: UCF50, as printed in the paper
    """

    _methods = {
        "dpl": ("tau", "lambda", "gamma", "atoms_per_class", "max_iter", "tol", "seed"),
    }
    _poor_score = True

    def __init__(
        self,
        *,
        tau: float = 0.05,
        lam: float = 0.003,
        gamma: float = 0.0001,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        max_iter: int = 20,
        tol: float = 0.0001,
        random_state: int | np.random.RandomState | None = 0,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.tau = tau
        self.lam = lam
        self.gamma = gamma
        self.atoms_per_class = atoms_per_class
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class DPLSVClassifier(CodingClassifier):
    """Projective dictionary pair learning with support vectors (DPL-SV).

    Method `dpl-sv` of the registry. this project: the objective of DPL (Gu, Zhang, Zuo, Feng. NIPS 2014) with the
    support vector term of SVGDL (Cai, Zuo, Zhang, Feng, Wang. ECCV 2014).

    Parameters
    ----------
    tau : float, default=0.05
        Weight of the fit of the projections to the codes. A number > 0.
    lam : float, default=0.003
        Weight of the projections of other classes. Called `lambda` in the paper and on the command line. A number >= 0.
    gamma : float, default=0.0001
        Ridge on the analysis dictionary. A number > 0.
    lambda2 : float, default=0.001
        Weight of the SVM term; with 0 the dictionaries are those of DPL. A number >= 0.
    theta : float, default=5.0
        Weight of the loss against the squared norm inside the SVM term. A number > 0.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Atoms per class; `auto` is as many as it has samples. Auto or a whole number >= 1.
    max_iter : int, default=20
        Maximum number of iterations. A whole number >= 1.
    tol : float, default=0.0001
        Training ends when an iteration lowers the objective by less than this, relatively; 0 never ends it early. A
        number >= 0.
    rule : {"residual", "svm"}, default="residual"
        Decision: by the residuals of the pairs, or by the SVMs.
    random_state : int or RandomState or None, default=0
        Seed of the random start. None draws one from numpy.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "dpl-sv": ("tau", "lambda", "gamma", "lambda2", "theta", "atoms_per_class", "max_iter", "tol", "rule", "seed"),
    }
    _poor_score = True

    def __init__(
        self,
        *,
        tau: float = 0.05,
        lam: float = 0.003,
        gamma: float = 0.0001,
        lambda2: float = 0.001,
        theta: float = 5.0,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        max_iter: int = 20,
        tol: float = 0.0001,
        rule: Literal["residual", "svm"] = "residual",
        random_state: int | np.random.RandomState | None = 0,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.tau = tau
        self.lam = lam
        self.gamma = gamma
        self.lambda2 = lambda2
        self.theta = theta
        self.atoms_per_class = atoms_per_class
        self.max_iter = max_iter
        self.tol = tol
        self.rule = rule
        self.random_state = random_state
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class DADLClassifier(CodingClassifier):
    """Discriminative analysis dictionary learning (DADL).

    Method `dadl` of the registry. Guo, Guo, Kong, Zhang, He: Discriminative analysis dictionary learning. AAAI 2016.

    Parameters
    ----------
    lambda1 : float, default=10.0
        Weight of the target codes. A number >= 0.
    lambda2 : float, default=0.001
        Weight of the graph of samples. A number >= 0.
    lambda3 : float, default=0.1
        Ridge on the analysis dictionary. A number > 0.
    sigma : float, default=10.0
        Width of the correntropy kernel. A number > 0.
    knn : int, default=7
        Nearest samples that each sample is joined to. A whole number >= 1.
    threshold : bool, default=False
        Keep only the T0 largest entries of the codes that are compared, as in training. True or False.
    max_iter : int, default=6
        Maximum number of iterations. A whole number >= 1.
    tol : float, default=0.0001
        Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early. A
        number >= 0.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.

    Notes
    -----
    Presets, for `from_preset`:

    - `faces`: Extended Yale B and AR, as printed in the paper; the defaults
    - `caltech101`: Caltech101, as printed in the paper
    - `scene15`: Scene15, as printed in the paper
    """

    _methods = {
        "dadl": ("lambda1", "lambda2", "lambda3", "sigma", "knn", "threshold", "max_iter", "tol"),
    }

    def __init__(
        self,
        *,
        lambda1: float = 10.0,
        lambda2: float = 0.001,
        lambda3: float = 0.1,
        sigma: float = 10.0,
        knn: int = 7,
        threshold: bool = False,
        max_iter: int = 6,
        tol: float = 0.0001,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.lambda3 = lambda3
        self.sigma = sigma
        self.knn = knn
        self.threshold = threshold
        self.max_iter = max_iter
        self.tol = tol
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class LCTLClassifier(CodingClassifier):
    """Label consistent transform learning (LCTL).

    Method `lctl` of the registry. Yin et al.: Label consistent transform learning for pattern classification. Journal
    of Algorithms and Computational Technology 2019.

    Parameters
    ----------
    alpha : float, default=0.1
        Weight of label consistency. A number >= 0.
    mu : float, default=0.05
        Weight of the logarithms that keep rows apart. A number > 0.
    epsilon : float, default=0.05
        Ridge on the transform. A number > 0.
    lam : float, default=0.001
        Ridge on the codes. Called `lambda` in the paper and on the command line. A number >= 0.
    delta : float, default=1.0
        Ridge on the map from codes to classes. A number > 0.
    atoms_per_class : int or {"auto"} or None, default="auto"
        Rows of the transform per class; `auto` is the mean number of samples of a class, at most 10. Auto or a whole
        number >= 1.
    max_iter : int, default=10
        Maximum number of iterations. A whole number >= 1.
    tol : float, default=0.001
        Training ends when an iteration changes the transform by less than this, relatively; 0 never ends it early. A
        number >= 0.
    ridge : float, default=0.001
        Weight of the squared norm of the classifier. A number > 0.
    random_state : int or RandomState or None, default=0
        Seed of the random start. None draws one from numpy.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.

    Notes
    -----
    Presets, for `from_preset`:

    - `tuned`: the defaults
    - `published`: settings of the published demonstration on Scene-15
    """

    _methods = {
        "lctl": ("alpha", "mu", "epsilon", "lambda", "delta", "atoms_per_class", "max_iter", "tol", "ridge", "seed"),
    }

    def __init__(
        self,
        *,
        alpha: float = 0.1,
        mu: float = 0.05,
        epsilon: float = 0.05,
        lam: float = 0.001,
        delta: float = 1.0,
        atoms_per_class: int | Literal["auto"] | None = "auto",
        max_iter: int = 10,
        tol: float = 0.001,
        ridge: float = 0.001,
        random_state: int | np.random.RandomState | None = 0,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.alpha = alpha
        self.mu = mu
        self.epsilon = epsilon
        self.lam = lam
        self.delta = delta
        self.atoms_per_class = atoms_per_class
        self.max_iter = max_iter
        self.tol = tol
        self.ridge = ridge
        self.random_state = random_state
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class AnalysisKSVDClassifier(CodingClassifier):
    """Analysis K-SVD with a linear SVM on its codes.

    Method `analysis-ksvd` of the registry. Rubinstein, Peleg, Elad: Analysis K-SVD: a dictionary-learning algorithm for
    the analysis sparse model. IEEE Transactions on Signal Processing 2013.

    Parameters
    ----------
    rows : int or {"auto"} or None, default="auto"
        Rows of the analysis dictionary; auto: twice the features, or twice the samples where these are fewer, at most
        400. Auto or a whole number >= 1.
    cosparsity : int or {"auto"} or None, default="auto"
        Rows that a sample is made orthogonal to; auto: a tenth of them, and fewer than features for the greedy pursuit.
        Auto or a whole number >= 1.
    pursuit : {"threshold", "backward-greedy"}, default="threshold"
        How these are found: by the smallest products, or greedily one after the other, as published.
    max_iter : int, default=5
        Maximum number of iterations. A whole number >= 0.
    tol : float, default=0.001
        Training ends when an iteration changes the rows by less than this, relatively; 0 never ends it early. A number
        >= 0.
    threshold : float, default=0.25
        Threshold of the codes, as a multiple of the root mean square of the products of rows and training samples. A
        number >= 0.
    theta : float, default=20.0
        Weight of the loss against the squared norm in the SVM. A number > 0.
    random_state : int or RandomState or None, default=0
        Seed of the random rows. None draws one from numpy.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, after preprocessing.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.

    Notes
    -----
    Presets, for `from_preset`:

    - `thresholding`: the defaults
    - `published`: the greedy pursuit of the paper
    """

    _methods = {
        "analysis-ksvd": ("rows", "cosparsity", "pursuit", "max_iter", "tol", "threshold", "theta", "seed"),
    }

    def __init__(
        self,
        *,
        rows: int | Literal["auto"] | None = "auto",
        cosparsity: int | Literal["auto"] | None = "auto",
        pursuit: Literal["threshold", "backward-greedy"] = "threshold",
        max_iter: int = 5,
        tol: float = 0.001,
        threshold: float = 0.25,
        theta: float = 20.0,
        random_state: int | np.random.RandomState | None = 0,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.rows = rows
        self.cosparsity = cosparsity
        self.pursuit = pursuit
        self.max_iter = max_iter
        self.tol = tol
        self.threshold = threshold
        self.theta = theta
        self.random_state = random_state
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class OneHotRidgeClassifier(LinearClassifier):
    """Ridge regression on one-hot labels.

    Method `ridge` of the registry. Hoerl, Kennard: Ridge regression. Technometrics 1970.

    Parameters
    ----------
    lam : float or {"auto"} or None, default="auto"
        Weight of the squared norm of `W`; `auto` chooses it by exact leave-one-out on the training samples. Called
        `lambda` in the paper and on the command line. Auto or a number > 0.
    class_weight : dict or {"balanced"} or None, default=None
        Weights of the samples of a class, 1 for classes that a dict does not name; `balanced` gives all classes the
        same weight in total. They multiply the `sample_weight` of `fit`.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "ridge": ("lambda",),
    }
    _sparse = "csr"
    _from_sums = True

    def __init__(
        self,
        *,
        lam: float | Literal["auto"] | None = "auto",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.lam = lam
        self.class_weight = class_weight
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class LinearSVMClassifier(LinearClassifier):
    """Linear SVM, one against the rest.

    Method `linear-svm` of the registry. Fan et al.: LIBLINEAR: a library for large linear classification. JMLR 2008
    (the objective; the solver is our own).

    Parameters
    ----------
    theta : float or {"auto"} or None, default="auto"
        Weight of the loss against the squared norm; twice LIBLINEAR's C; `auto` chooses it by leave-one-out on the
        training samples. Auto or a number > 0.
    class_weight : dict or {"balanced"} or None, default=None
        Weights of the samples of a class, 1 for classes that a dict does not name; `balanced` gives all classes the
        same weight in total. They multiply the `sample_weight` of `fit`.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "linear-svm": ("theta",),
    }
    _sparse = "csr"

    def __init__(
        self,
        *,
        theta: float | Literal["auto"] | None = "auto",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.theta = theta
        self.class_weight = class_weight
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class RBFSVMClassifier(WeightedClassifier, SparseClassifier):
    """SVM with a Gaussian kernel, one against the rest.

    Method `rbf-svm` of the registry. Boser, Guyon, Vapnik: A training algorithm for optimal margin classifiers. COLT
    1992 (here with squared hinge loss).

    Parameters
    ----------
    theta : float or {"auto"} or None, default="auto"
        Weight of the loss against the squared norm; twice the usual C; `auto` chooses it by leave-one-out on the
        training samples. Auto or a number > 0.
    gamma : float or {"auto"} or None, default="auto"
        Width of the kernel; `auto` is `gamma_scale` over the median squared distance of training samples, or, if that
        is `auto` too, chosen by leave-one-out. Auto or a number > 0.
    gamma_scale : float or {"auto"} or None, default="auto"
        Multiplies `gamma`: the handle for tuning around the median distance. Auto or a number > 0.
    class_weight : dict or {"balanced"} or None, default=None
        Weights of the samples of a class, 1 for classes that a dict does not name; `balanced` gives all classes the
        same weight in total. They multiply the `sample_weight` of `fit`.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "rbf-svm": ("theta", "gamma", "gamma_scale"),
    }

    def __init__(
        self,
        *,
        theta: float | Literal["auto"] | None = "auto",
        gamma: float | Literal["auto"] | None = "auto",
        gamma_scale: float | Literal["auto"] | None = "auto",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.theta = theta
        self.gamma = gamma
        self.gamma_scale = gamma_scale
        self.class_weight = class_weight
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class LDAClassifier(LinearClassifier):
    """Linear discriminant analysis with shrinkage.

    Method `lda` of the registry. Ledoit, Wolf: A well-conditioned estimator for large-dimensional covariance matrices.
    J. Multivariate Analysis 2004 (the shrinkage).

    Parameters
    ----------
    shrinkage : float or {"ledoit-wolf"} or {"auto"} or None, default="auto"
        Share of the identity in the covariance matrix; `auto` chooses it by exact leave-one-out on the training
        samples, `ledoit-wolf` is the formula of Ledoit and Wolf. Auto or ledoit-wolf or a number from 0 to 1.
    class_weight : dict or {"balanced"} or None, default=None
        Weights of the samples of a class, 1 for classes that a dict does not name; `balanced` gives all classes the
        same weight in total. They multiply the `sample_weight` of `fit`.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "lda": ("shrinkage",),
    }
    _from_sums = True

    def __init__(
        self,
        *,
        shrinkage: float | Literal["ledoit-wolf"] | Literal["auto"] | None = "auto",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.shrinkage = shrinkage
        self.class_weight = class_weight
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


class KNNClassifier(DictionaryClassifier):
    """Nearest neighbours.

    Method `knn` of the registry. Cover, Hart: Nearest neighbor pattern classification. IEEE Transactions on Information
    Theory 1967.

    Parameters
    ----------
    k : int, default=1
        Number of neighbours; never more than there are training samples. A whole number >= 1.
    prep : str, default="unit"
        Preprocessing, a comma list of steps fitted on the training samples and applied in order: `center`, `standard`,
        `pca:300`, `pca:98%`, `pca-uncentered:300`, `random:540`, `kernel:rbf:auto`, `unit` or `none`.
    probability : bool, default=False
        Fit what `predict_proba` needs; costs `calibration_cv` more fits.
    calibration_cv : int, default=5
        Folds of the calibration; fewer where the smallest class has fewer samples.
    n_threads : int or None, default=None
        Threads to use. None is as many as there are processors, within the limits of `OMP_NUM_THREADS`, threadpoolctl
        and joblib. Results do not depend on it.
    verbose : int, default=0
        Print a line per iteration if not 0.
    callback : callable or None, default=None
        Called with a `Step` after every iteration; a true answer ends the fit with the model as it stands.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the samples had any.
    n_iter_ : int
        Iterations; 0 for a method that does not iterate.
    objective_ : ndarray of shape (n_iter_,)
        The objective after every iteration, nan where unknown.
    history_ : list of Step
        Every iteration with the terms of the objective.
    fit_seconds_ : float
        Wall time of preprocessing and training in the core; not kept in model files.
    model_ : object
        The model in the core.
    """

    _methods = {
        "knn": ("k",),
    }

    def __init__(
        self,
        *,
        k: int = 1,
        prep: str = "unit",
        probability: bool = False,
        calibration_cv: int = 5,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.k = k
        self.prep = prep
        self.probability = probability
        self.calibration_cv = calibration_cv
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback


# The class of every method.
ESTIMATORS: dict[str, type[DictionaryClassifier]] = {
    "auto": AutoClassifier,
    "lcdl-sv": LCDLSVClassifier,
    "svgdl": SVGDLClassifier,
    "lcle-dl": LCLEDLClassifier,
    "ledl": LEDLClassifier,
    "src": SRCClassifier,
    "crc": CRCClassifier,
    "procrc": ProCRCClassifier,
    "lrc": LRCClassifier,
    "ksvd": KSVDClassifier,
    "dksvd": DKSVDClassifier,
    "lcksvd1": LCKSVDClassifier,
    "lcksvd2": LCKSVDClassifier,
    "odl": ODLClassifier,
    "fddl": FDDLClassifier,
    "dlsi": DLSIClassifier,
    "copar": COPARClassifier,
    "lrsdl": LRSDLClassifier,
    "mfl": MFLClassifier,
    "cadl": CADLClassifier,
    "sadl": SADLClassifier,
    "dpl": DPLClassifier,
    "dpl-sv": DPLSVClassifier,
    "dadl": DADLClassifier,
    "lctl": LCTLClassifier,
    "analysis-ksvd": AnalysisKSVDClassifier,
    "ridge": OneHotRidgeClassifier,
    "linear-svm": LinearSVMClassifier,
    "rbf-svm": RBFSVMClassifier,
    "lda": LDAClassifier,
    "knn": KNNClassifier,
}
