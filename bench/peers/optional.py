"""Peers that may not be installed."""

from __future__ import annotations

import importlib
from typing import Any


class Missing:
    """Stands in for a module; whoever uses it fails by name, and the table says so."""

    def __init__(self, name: str, reason: Exception) -> None:
        self._name, self._reason = name, reason

    def __getattr__(self, attribute: str) -> Any:
        raise ImportError(f"{self._name} is not installed ({self._reason})")


def peer(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        return Missing(name, error)
