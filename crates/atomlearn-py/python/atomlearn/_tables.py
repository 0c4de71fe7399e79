"""Frames for models that the command line trained on a table: columns are found by name and encoded as in training."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


class TableWarning(UserWarning):
    """Something in a frame is not as in the table that the model was trained on."""


def encoded(model, X) -> np.ndarray | None:
    """The samples of a frame, if the model knows the table it was trained on and the frame has names; else None."""
    if model.columns is None:
        return None
    names = _names(X)
    # A frame of the encoded features themselves is no such table.
    if names is None or (names == model.feature_names and names != model.columns):
        return None
    samples, notes = model.encode(names, lambda place: _cells(_column(X, place)))
    for note in notes:
        warnings.warn(note, TableWarning, stacklevel=4)
    return samples


def _names(X) -> list[str] | None:
    """Names of the columns of a pandas or polars frame; None for anything else, and for columns that are numbered."""
    if not (hasattr(X, "iloc") or hasattr(X, "get_columns")) or not hasattr(X, "columns"):
        return None
    names = list(X.columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def _column(X, place: int) -> Any:
    # By place, since names may come twice.
    return X.iloc[:, place] if hasattr(X, "iloc") else X.get_columns()[place]


def _cells(column) -> np.ndarray | list[str | None]:
    """Numbers with NaN where they are missing, or texts with None there."""
    if _is_numeric(column.dtype):
        if hasattr(column, "iloc"):
            return column.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(column.cast(float).to_numpy(), dtype=np.float64)
    return [None if _is_missing(value) else _text(value) for value in column.to_list()]


def _is_numeric(dtype) -> bool:
    if hasattr(dtype, "is_numeric"):  # polars
        return dtype.is_numeric() or str(dtype) == "Boolean"
    return getattr(dtype, "kind", "O") in "biuf"


def _is_missing(value) -> bool:
    # None, NaN, NaT and pandas' NA, of which only the first two compare.
    return value is None or value is getattr(_pandas(), "NA", None) or bool(value != value)


def _text(value) -> str:
    """A cell as a file would have it; whole numbers among texts have no point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _pandas() -> Any:
    import sys

    return sys.modules.get("pandas")
