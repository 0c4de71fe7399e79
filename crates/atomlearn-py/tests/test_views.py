"""Samples of which there are several views, by the preprocessing step of that name."""

import atomlearn
import numpy as np
import pytest
from sklearn.datasets import load_digits

HALVES = "views(top@1-32=unit|bottom@33-64=pca:10,unit)"


def test_views_are_prepared_alone_and_weigh_alike(tmp_path):
    original, y = load_digits(return_X_y=True)
    X = original * np.where(np.arange(64) < 32, 1e6, 1.0)
    model = atomlearn.CRCClassifier(prep=HALVES).fit(X[:500], y[:500])
    assert model.score(X[500:], y[500:]) > 0.85
    # The scale of a view means nothing.
    plain = atomlearn.CRCClassifier(prep=HALVES).fit(original[:500], y[:500])
    assert np.allclose(plain.decision_function(original[500:]), model.decision_function(X[500:]), atol=1e-8)
    model.save(tmp_path / "model")
    assert np.array_equal(atomlearn.load(tmp_path / "model").decision_function(X), model.decision_function(X))


def test_views_that_cannot_be_are_refused():
    X, y = load_digits(return_X_y=True)
    for prep, why in [
        ("views(1-9=unit|8-20=unit)", "two places"),
        ("views(1-64=unit|65-70=unit)", "column 70"),
        ("views(1-64)", "COLUMNS=STEPS"),
    ]:
        with pytest.raises(ValueError, match=why):
            atomlearn.CRCClassifier(prep=prep).fit(X[:100], y[:100])
