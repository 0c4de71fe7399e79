"""Folders with a model and its card, as hubs of models have them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ._atomlearn import __version__
from ._files import load

MODEL, CARD, CONFIG = "model.atomlearn", "README.md", "config.json"


def save_pretrained(estimator: Any, folder: str | os.PathLike[str]) -> None:
    """Writes three files; each is replaced as a whole or not at all, and only if it is one of this kind."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    model = estimator.model_
    config = {
        "library_name": "atomlearn",
        "atomlearn_version": __version__,
        "estimator": type(estimator).__name__,
        "method": model.method,
        "prep": model.prep,
        "params": json.loads(model.params),
        "n_features": model.n_features,
        "feature_names": model.feature_names,
        "classes": model.classes,
    }
    config_file = place / CONFIG
    if config_file.exists() and not _is_ours(config_file):
        raise ValueError(f"{config_file} is not of atomlearn: remove it, or name another folder")
    model.write_card(place / CARD, MODEL)
    model.save(place / MODEL)
    partial = place / (CONFIG + ".partial")
    partial.write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(partial, config_file)


def _is_ours(config_file: Path) -> bool:
    try:
        config = json.loads(config_file.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return isinstance(config, dict) and config.get("library_name") == "atomlearn"


def from_pretrained(wanted: type, folder: str | os.PathLike[str]) -> Any:
    """The estimator of a folder, which must be of the wanted class."""
    path = Path(folder) / MODEL
    if not path.is_file():
        raise FileNotFoundError(f"{folder} holds no {MODEL}: it was not written by save_pretrained")
    estimator = load(path)
    if not isinstance(estimator, wanted):
        raise ValueError(f"{folder} holds a {type(estimator).__name__}, not a {wanted.__name__}")
    return estimator
