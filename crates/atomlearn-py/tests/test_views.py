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


def test_auto_weighs_views_against_each_other():
    X, y = load_digits(return_X_y=True)
    noise = np.random.default_rng(0).normal(size=X.shape)
    both = np.hstack([noise, X])
    prep = "views(1-64=unit|65-128=unit)"
    late = atomlearn.AutoClassifier(prep=prep).fit(both[:300], y[:300])
    assert max(late.chosen_, key=lambda reading: reading["weight"])["view"] == "view 2"
    assert "view 1" not in {reading["view"] for reading in late.chosen_}
    early = atomlearn.AutoClassifier(prep=prep, views="together").fit(both[:300], y[:300])
    assert {reading["view"] for reading in early.chosen_} == {"given"}
    assert late.score(both[300:], y[300:]) > early.score(both[300:], y[300:]) + 0.02
