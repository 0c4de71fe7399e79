"""Every public name of the package but those of `atomlearn.scaleout`."""

from . import _estimators, kit, plot
from ._atomlearn import __version__
from ._base import FitWarning, methods
from ._coders import KSVD, LassoCoder, OMPCoder, RidgeCoder
from ._estimators import *  # noqa: F403
from ._experiments import Comparison, compare, report
from ._explain import AtomUse, Explanation, ReadingUse
from ._files import load, read
from ._progress import ProgressBar, Step
from ._tables import TableWarning
from ._tracking import MlflowCallback, TensorBoardCallback

__all__ = [
    "KSVD",
    "AtomUse",
    "Comparison",
    "Explanation",
    "FitWarning",
    "LassoCoder",
    "MlflowCallback",
    "OMPCoder",
    "ProgressBar",
    "ReadingUse",
    "RidgeCoder",
    "Step",
    "TableWarning",
    "TensorBoardCallback",
    "__version__",
    "compare",
    "kit",
    "load",
    "methods",
    "plot",
    "read",
    "report",
]
# In this form pyright follows it.
__all__ += _estimators.__all__
