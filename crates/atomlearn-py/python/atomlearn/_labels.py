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
