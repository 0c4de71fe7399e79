"""Between labels, which may be anything scikit-learn takes, and class names, which are text in model files."""

from __future__ import annotations

from typing import Any

import numpy as np

KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float"}


def kind_of(classes: np.ndarray) -> str:
    """What the labels are: bool, int, float or str."""
    if classes.dtype.kind != "O":
        return KINDS.get(classes.dtype.kind, "str")
    for kind, types in (("bool", (bool, np.bool_)), ("int", (int, np.integer)), ("float", (float, np.floating))):
        if all(isinstance(label, types) for label in classes):
            return kind
    return "str"


def checked(y: np.ndarray, where: str, like: np.dtype) -> np.ndarray:
    """The labels of a part of the samples, if they are such as ``fit`` takes in memory and of the kind of all others.

    Text and numbers are never one class, nor are a missing label or a measured value a class: all these are errors.
    """
    kind = y.dtype.kind
    if kind == "f":
        _refuse(~np.isfinite(y), y, where, "is missing or not finite")
        _refuse(y != np.floor(y), y, where, "is a measured value and not a class; round it, or give classes")
    elif kind == "O":
        text = np.fromiter((isinstance(label, str) for label in y), dtype=bool, count=len(y))
        missing = np.fromiter((_is_missing(label) for label in y), dtype=bool, count=len(y))
        _refuse(missing, y, where, "is missing")
        _refuse(~text, y, where, "is not text; of type object only text is taken, convert with y.astype(str) or (int)")
    elif kind not in "biuUT":
        raise ValueError(f"labels of {where} are of type {y.dtype}; give numbers or text")
    if _family(y.dtype) != _family(like):
        raise ValueError(f"labels of {where} are of type {y.dtype}, not {like} as the others; make them one type")
    return y


def _refuse(bad: np.ndarray, y: np.ndarray, where: str, why: str) -> None:
    if bad.any():
        sample = int(np.argmax(bad))
        label = y[sample : sample + 1].tolist()[0]
        raise ValueError(f"label {label!r} of {where}, sample {sample} (counted from 0), {why}")


def _is_missing(label: Any) -> bool:
    # NaN and NaT differ from themselves; pandas.NA does not say.
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def _family(dtype: np.dtype) -> str:
    return {"b": "bool", "i": "number", "u": "number", "f": "number"}.get(dtype.kind, "text")


def names_of(classes: np.ndarray) -> list[str]:
    """The name of every class; whole numbers are written without a point, as the command line does."""
    names = [_name(label) for label in classes.tolist()]
    if len(set(names)) < len(names):
        raise ValueError(f"labels that differ must also differ as text: {names}")
    return names


def _name(label: Any) -> str:
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def classes_of(names: list[str], kind: str | None) -> np.ndarray:
    """The labels behind class names; without a kind, numbers if all names are numbers."""
    if kind == "bool":
        return np.array([name == "True" for name in names])
    if kind == "int" or (kind is None and all(_is_whole(name) for name in names)):
        return np.array([int(name) for name in names])
    if kind == "float":
        return np.array([float(name) for name in names])
    return np.array(names)


def _is_whole(name: str) -> bool:
    return name.lstrip("-").isdigit() and name == str(int(name))
