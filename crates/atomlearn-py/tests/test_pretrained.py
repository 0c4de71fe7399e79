"""Folders with a model, its card and its configuration."""

import json

import numpy as np
import pytest
from atomlearn import AutoClassifier, LDAClassifier, OneHotRidgeClassifier


def test_a_folder_comes_back_as_the_estimator_that_it_was(digits, tmp_path):
    X, y, X_test, _ = digits
    model = AutoClassifier().fit(X, y)
    folder = tmp_path / "hub" / "digits"
    model.save_pretrained(folder)
    back = AutoClassifier.from_pretrained(folder)
    assert np.array_equal(back.predict_proba(X_test), model.predict_proba(X_test))
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "config.json", "model.atomlearn"]
    card = (folder / "README.md").read_text()
    assert card.startswith("---\n") and 'atomlearn.load("model.atomlearn")' in card
    assert "operator set 17" in card and '"proba"' in card
    config = json.loads((folder / "config.json").read_text())
    assert config["estimator"] == "AutoClassifier" and config["n_features"] == 64
    # Written again, over itself.
    LDAClassifier().fit(X, y).save_pretrained(folder)
    assert isinstance(LDAClassifier.from_pretrained(folder), LDAClassifier)


def test_other_classes_folders_and_files_are_refused(digits, tmp_path):
    X, y, *_ = digits
    model = OneHotRidgeClassifier().fit(X, y)
    model.save_pretrained(tmp_path / "a")
    with pytest.raises(ValueError, match="OneHotRidgeClassifier, not a LDAClassifier"):
        LDAClassifier.from_pretrained(tmp_path / "a")
    with pytest.raises(FileNotFoundError, match="model.atomlearn"):
        LDAClassifier.from_pretrained(tmp_path)
    for name, error in [("README.md", FileExistsError), ("config.json", ValueError)]:
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).write_text("mine")
        with pytest.raises(error):
            model.save_pretrained(folder)
        assert (folder / name).read_text() == "mine" and len(list(folder.iterdir())) <= 2
