"""Data that most tests share."""

import os
from pathlib import Path

# Without it scikit-learn skips one of its checks. scipy reads it when it is first imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from atomlearn import _estimators  # noqa: E402, F401  (tests reach it through the package, which loads it when asked)
from sklearn.datasets import load_digits  # noqa: E402

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def digits():
    """Twenty training samples per class, and 500 to test on."""
    X, y = load_digits(return_X_y=True)
    train = np.concatenate([np.flatnonzero(y == c)[:20] for c in range(10)])
    test = np.setdiff1d(np.arange(len(y)), train)[:500]
    return X[train], y[train], X[test], y[test]


@pytest.fixture(scope="session")
def command_line():
    """The program `atomlearn` that was built with the module under test."""
    path = Path(os.environ.get("ATOMLEARN_CLI", ROOT / "target" / "debug" / "atomlearn"))
    if not path.exists():
        pytest.skip(f"{path} is not built (cargo build)")
    return str(path)
