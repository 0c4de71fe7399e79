"""The self-tuning classifier: what leave-one-out leaves behind, groups, probabilities, explanations."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from atomlearn import AutoClassifier, FitWarning, load
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, cross_val_score, train_test_split
from test_files import run, write

LEFT_BEHIND = ("loo_accuracy_", "loo_ci_", "loo_log_loss_", "loo_majority_", "loo_confusion_", "chosen_")


@pytest.fixture(scope="module")
def fitted(digits):
    X, y, *_ = digits
    return AutoClassifier().fit(X, y)


def same(a, b):
    assert all(np.array_equal(getattr(a, name), getattr(b, name)) for name in LEFT_BEHIND)
    assert np.array_equal(a.loo_predict_proba_, b.loo_predict_proba_, equal_nan=True)
    assert np.array_equal(a.suspicious_labels_, b.suspicious_labels_)


def test_leave_one_out_adds_up(fitted, digits):
    _, y, *_ = digits
    p = fitted.loo_predict_proba_
    assert p.shape == (len(y), 10) and np.allclose(p.sum(axis=1), 1)
    found = fitted.classes_[p.argmax(axis=1)]
    assert fitted.loo_accuracy_ == np.mean(found == y)
    low, high = fitted.loo_ci_
    assert 0 < low < fitted.loo_accuracy_ < high <= 1
    assert fitted.loo_log_loss_ == pytest.approx(log_loss(y, p), rel=1e-9)
    assert fitted.loo_majority_ == 0.1
    assert np.trace(fitted.loo_confusion_) == round(fitted.loo_accuracy_ * len(y))
    assert fitted.loo_confusion_.sum(axis=1).tolist() == [20] * 10
    assert fitted._poor_score is False


def test_the_estimates_hold_for_new_samples():
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, train_size=300, stratify=y, random_state=0)
    model = AutoClassifier().fit(X, y)
    low, high = model.loo_ci_
    assert low - 0.02 < model.score(X_test, y_test) < high + 0.02
    assert log_loss(y_test, model.predict_proba(X_test)) < model.loo_log_loss_ + 0.1


def test_what_was_chosen(fitted):
    assert 1 <= len(fitted.chosen_) <= 6
    for row in fitted.chosen_:
        assert list(row) == ["reading", "view", "kernel", "gamma", "kappa", "weight"]
        assert row["reading"] in ("residual", "ridge", "discriminant") and row["view"] in ("unit", "standard")
        assert (row["gamma"] is None) == (row["kernel"] == "linear") and row["weight"] >= 0


@pytest.mark.parametrize("kind", [int, str, object])
def test_wrong_labels_are_found_and_keep_their_type(kind, digits):
    X, y, *_ = digits
    wrong = np.random.default_rng(1).choice(len(y), 8, replace=False)
    given = y.copy()
    given[wrong] = (given[wrong] + 5) % 10
    names = given if kind is int else np.array([f"digit {c}" for c in given], dtype=kind)
    model = AutoClassifier().fit(X, names)
    found = model.suspicious_labels_
    assert found.dtype.names == ("sample", "label", "proba", "suggested")
    assert found["label"].dtype == model.classes_.dtype
    assert len(set(found["sample"][:8]) & set(wrong)) >= 7
    assert np.array_equal(found["label"], names[found["sample"]])
    assert (found["label"] != found["suggested"]).all() and (np.diff(found["proba"]) >= 0).all()
    place = {c: i for i, c in enumerate(model.classes_)}
    p = model.loo_predict_proba_
    for row in found:
        assert row["proba"] == pytest.approx(p[row["sample"], place[row["label"]]])
        assert row["suggested"] == model.classes_[p[row["sample"]].argmax()]
    assert list(pd.DataFrame(found)) == ["sample", "label", "proba", "suggested"]


def test_probabilities_need_no_parameter(fitted, digits):
    _, _, X_test, _ = digits
    p = fitted.predict_proba(X_test)
    assert np.allclose(p.sum(axis=1), 1) and np.allclose(np.log(p), fitted.predict_log_proba(X_test))
    assert np.array_equal(fitted.classes_[p.argmax(axis=1)], fitted.predict(X_test))
    assert "probability" not in fitted.get_params() and "calibration_cv" not in fitted.get_params()


def test_classes_come_in_the_order_of_classes_(digits):
    X, y, *_ = digits
    names = np.array(["10", "9", "8"])[y[y < 3]]  # another order in the core than in numpy
    model = AutoClassifier().fit(X[y < 3], names)
    assert model.classes_.tolist() == ["10", "8", "9"]
    p = model.loo_predict_proba_
    assert np.mean(model.classes_[p.argmax(axis=1)] == names) == model.loo_accuracy_ > 0.9
    assert np.trace(model.loo_confusion_) == round(model.loo_accuracy_ * len(names))
    assert np.array_equal(model.classes_[model.predict_proba(X[y < 3]).argmax(axis=1)], model.predict(X[y < 3]))


def test_groups_are_left_out_as_a_whole(digits):
    rng = np.random.default_rng(0)
    # People of two classes; several noisy pictures of each, which say who it is but little of the class. (Not nothing:
    # without the one who is left out, the other class has more people, and a guess from them is worse than a coin.)
    people = np.repeat(np.arange(24), 6)
    y = people % 2
    who = rng.normal(size=(24, 10))
    who[1::2, :2] += 1
    X = who[people] + 0.05 * rng.normal(size=(144, 10))
    names = np.array([f"person {p}" for p in people])
    alone, grouped = AutoClassifier().fit(X, y), AutoClassifier().fit(X, y, groups=names)
    assert alone.loo_accuracy_ > 0.95
    honest = cross_val_score(AutoClassifier(), X, y, groups=people, cv=GroupKFold(24)).mean()
    assert abs(grouped.loo_accuracy_ - honest) < 0.2 < alone.loo_accuracy_ - grouped.loo_accuracy_
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AutoClassifier().fit(X, y, groups=people[:-1])
    with pytest.raises(ValueError, match="all samples are in one group"):
        AutoClassifier().fit(X, y, groups=np.zeros(144))


def test_pickles_files_and_clones(fitted, digits, command_line, tmp_path):
    X, y, X_test, _ = digits
    same(pickle.loads(pickle.dumps(fitted)), fitted)
    fitted.save(tmp_path / "model")
    back = load(tmp_path / "model")
    assert type(back) is AutoClassifier and back.get_params() == fitted.get_params()
    same(back, fitted)
    assert np.array_equal(back.predict_proba(X_test), fitted.predict_proba(X_test))
    fresh = clone(fitted)
    for name in (*LEFT_BEHIND, "loo_predict_proba_", "suspicious_labels_"):
        assert not hasattr(fresh, name)
    # A model of the command line holds the same.
    run(command_line, "train", write(tmp_path / "train.npz", X, y), "-o", tmp_path / "there")
    same(load(tmp_path / "there"), fitted)


def test_explanations_are_contributions_of_readings(fitted, digits):
    _, _, X_test, _ = digits
    one = fitted.explain(X_test[0])
    total = np.sum([use.contributions for use in one.readings], axis=0)
    assert np.allclose(log_softmax(total), one.scores["fused"], atol=1e-9)
    assert np.allclose(one.probabilities, fitted.predict_proba(X_test[:1])[0])
    assert [use.kappa for use in one.readings] == [row["kappa"] for row in fitted.chosen_]
    text = repr(one)
    assert "probability" in text and "reading 1" in text and one.readings[0].reading in text
    assert json.loads(json.dumps(one.to_dict()))["readings"][0]["weight"] == fitted.chosen_[0]["weight"]


def test_one_sample_per_class_has_no_estimate():
    with pytest.warns(FitWarning, match="single sample"):
        model = AutoClassifier().fit(np.eye(3) + 0.1, ["a", "b", "c"])
    assert np.isnan(model.loo_accuracy_) and np.isnan(model.loo_ci_).all() and model.loo_confusion_.sum() == 0
    assert model.predict(np.eye(3)).tolist() == ["a", "b", "c"] and len(model.suspicious_labels_) == 0


def test_many_samples_leave_rows_without_an_estimate():
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 2200)
    model = AutoClassifier(views="unit").fit(rng.normal(size=(4400, 3)) + 2 * y[:, None], y)
    p = model.loo_predict_proba_
    judged = ~np.isnan(p).any(axis=1)
    assert p.shape == (4400, 2) and 3900 <= judged.sum() < 4400
    assert np.mean(p[judged].argmax(axis=1) == y[judged]) == pytest.approx(model.loo_accuracy_)
    same(pickle.loads(pickle.dumps(model)), model)


def test_missing_values_are_the_medians_of_their_features(digits, tmp_path):
    X, y, X_test, _ = digits
    rng = np.random.default_rng(0)
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    model = AutoClassifier().fit(holes, y)
    medians = np.nanmedian(holes, axis=0)
    filled = AutoClassifier().fit(np.where(np.isnan(holes), medians, holes), y)
    new = np.where(rng.random(X_test.shape) < 0.1, np.nan, X_test)
    expected = filled.predict_proba(np.where(np.isnan(new), medians, new))
    assert np.array_equal(model.predict_proba(new), expected)
    model.save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict_proba(new), expected)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(np.isnan(holes), np.inf, holes), y)
    holes[:, [3, 7]] = np.nan
    with pytest.raises(ValueError, match="3, 7"):
        model.fit(holes, y)
