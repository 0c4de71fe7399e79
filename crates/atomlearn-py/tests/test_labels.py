"""Labels of every kind come back as they were given, and scores are in their order."""

import numpy as np
import pytest
from atomlearn import CRCClassifier, LCDLSVClassifier, LinearSVMClassifier, load

KINDS = {
    "int": np.array([-3, 7, 20]),
    "uint8": np.array([1, 2, 200], dtype=np.uint8),
    "float": np.array([0.0, 1.0, 2.0]),
    "text": np.array(["anna", "bert", "carl"]),
    "numbers as text": np.array(["10", "2", "33"]),  # the core sorts these by value, numpy by letter
    "object": np.array(["x", "yy", "zzz"], dtype=object),
}


@pytest.mark.parametrize("kind", KINDS)
def test_labels_keep_their_kind_and_order(kind, digits, tmp_path):
    X, y, X_test, y_test = digits
    few, few_test = y < 3, y_test < 3
    classes = KINDS[kind]
    model = LinearSVMClassifier().fit(X[few], classes[y[few]])
    assert np.array_equal(model.classes_, np.unique(classes)) and model.classes_.dtype == np.unique(classes).dtype
    found = model.predict(X_test[few_test])
    assert np.mean(found == classes[y_test[few_test]]) > 0.9
    scores = model.decision_function(X_test[few_test])
    assert np.array_equal(model.classes_[scores.argmax(axis=1)], found)

    model.save(tmp_path / "model")
    back = load(tmp_path / "model")
    assert np.array_equal(back.classes_, model.classes_)
    assert np.array_equal(back.predict(X_test[few_test]), found)
    assert np.array_equal(back.decision_function(X_test[few_test]), scores)


def test_bool_labels_and_two_classes(digits, tmp_path):
    X, y, X_test, y_test = digits
    for estimator in (LCDLSVClassifier(), CRCClassifier()):
        model = estimator.fit(X, y < 5)
        decision = model.decision_function(X_test)
        assert decision.shape == (500,) and model.classes_.tolist() == [False, True]
        assert np.array_equal(model.predict(X_test), decision > 0)
        model.save(tmp_path / "model")
        assert load(tmp_path / "model").predict(X_test).dtype == bool
