"""AutoClassifier on samples of which there are several views."""

import atomlearn
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits


def test_views_are_columns_by_slice_place_or_name(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    halves = atomlearn.AutoClassifier(views=[slice(0, 32), slice(32, 64)]).fit(X, y)
    assert halves.model_.prep == "views(view1@1-32=none|view2@33-64=none)"
    assert {row["view"].split(" of ")[0] for row in halves.chosen_} <= {"unit", "standard", "given"}
    places = atomlearn.AutoClassifier(views={"top": list(range(32)), "bottom": range(32, 64)}).fit(X, y)
    assert np.array_equal(places.decision_function(X), halves.decision_function(X))
    frame = pd.DataFrame(X, columns=[f"p{i}" for i in range(64)])
    names = clone(places).set_params(views={"top": list(frame.columns[:32]), "bottom": list(frame.columns[32:])})
    assert np.array_equal(names.fit(frame, y).decision_function(frame), halves.decision_function(X))
    names.save(tmp_path / "model")
    assert np.array_equal(atomlearn.load(tmp_path / "model").decision_function(X), halves.decision_function(X))


def test_views_that_cannot_be_are_refused():
    X, y = load_digits(return_X_y=True)
    for views, why in [
        ([slice(0, 0)], "no column"),
        ([slice(0, 9), slice(8, 20)], "two places"),
        ({"a": ["p1"]}, "does not have"),
    ]:
        with pytest.raises(ValueError, match=why):
            atomlearn.AutoClassifier(views=views).fit(X[:100], y[:100])
