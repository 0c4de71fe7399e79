"""Discriminative dictionary learning: LCDL-SV and its peers as scikit-learn classifiers.

>>> from atomlearn import LCDLSVClassifier
>>> from sklearn.datasets import load_digits
>>> X, y = load_digits(return_X_y=True)
>>> model = LCDLSVClassifier(rule="svm").fit(X[:500], y[:500])
>>> bool(model.score(X[500:], y[500:]) > 0.85)
True
"""

from . import _estimators, kit, plot
from ._atomlearn import __version__
from ._base import FitWarning, methods
from ._estimators import *  # noqa: F403
from ._experiments import Comparison, compare, report
from ._explain import AtomUse, Explanation
from ._files import load
from ._progress import ProgressBar, Step

__all__ = [
    *_estimators.__all__,
    "AtomUse",
    "Comparison",
    "Explanation",
    "FitWarning",
    "ProgressBar",
    "Step",
    "__version__",
    "compare",
    "kit",
    "load",
    "methods",
    "plot",
    "report",
]
