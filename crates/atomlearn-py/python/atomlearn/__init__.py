"""Discriminative dictionary learning: LCDL-SV and its peers as scikit-learn classifiers.

>>> from atomlearn import LCDLSVClassifier
>>> from sklearn.datasets import load_digits
>>> X, y = load_digits(return_X_y=True)
>>> model = LCDLSVClassifier(rule="svm").fit(X[:500], y[:500])
>>> bool(model.score(X[500:], y[500:]) > 0.85)
True
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ._atomlearn import __version__ as __version__

if TYPE_CHECKING:
    # Type checkers see every name; `__getattr__` would tell them that all others exist too.
    from . import mlflow as mlflow
    from . import scaleout as scaleout
    from ._estimators import *  # noqa: F403
    from ._public import *  # noqa: F403
else:
    # Importing scikit-learn takes seconds, and a Dask worker needs the native module alone: the rest waits to be
    # asked for.
    def __getattr__(name: str):
        if name.startswith("_") and name != "__all__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return getattr(import_module("._public", __name__), name)
        except AttributeError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None

    def __dir__() -> list[str]:
        return import_module("._public", __name__).__all__
