"""Comparisons from Python are those of the command line."""

import json
import subprocess

import atomlearn
import numpy as np
import pytest
from atomlearn import CRCClassifier, LCDLSVClassifier


def test_compare_equals_the_command_line(digits, command_line, tmp_path):
    X, y, *_ = digits
    found = atomlearn.compare(X, y, ["lcdl-sv", CRCClassifier(kappa=0.01)], train_per_class=10, repeats=2, seed=3)
    np.savez(tmp_path / "d.npz", X=X, y=y)
    arguments = ["--methods", "lcdl-sv,crc", "--set", "crc.kappa=0.01", "--train-per-class", "10", "--repeats", "2"]
    done = subprocess.run(
        [command_line, "--quiet", "--json", "compare", str(tmp_path / "d.npz"), *arguments, "--seed", "3"],
        capture_output=True,
        text=True,
    )
    there = json.loads(done.stdout)
    assert found.to_dict()["schema"] == there["schema"] == "atomlearn.compare/1"
    pick = lambda results: [(r["method"], r["rule"], r["accuracy"], r["params"]) for r in results]  # noqa: E731
    assert pick(found.results) == pick(there["results"])
    assert [r["rule"] for r in found.results] == ["residual", "svm", "fused", "residual"]


def test_auto_has_its_own_views_unless_preprocessing_is_given(digits, command_line, tmp_path):
    X, y, *_ = digits
    found = atomlearn.compare(X, y, ["auto", "ridge"], train_per_class=10, repeats=2)
    np.savez(tmp_path / "d.npz", X=X, y=y)
    line = ["compare", str(tmp_path / "d.npz"), "--methods", "auto,ridge", "--train-per-class", "10", "--repeats", "2"]
    done = subprocess.run([command_line, "--quiet", "--json", *line], capture_output=True, text=True)
    there = json.loads(done.stdout)["results"]
    assert [r["accuracy"] for r in found.results] == [r["accuracy"] for r in there]
    auto, ridge = found.results
    assert (auto["prep"], auto["params"]["views"], "prep" in ridge) == ("none", None, False)
    given = atomlearn.compare(X, y, ["auto"], train_per_class=10, repeats=1, prep="unit").results[0]
    assert "prep" not in given and given["params"]["views"] == "given"


def test_cross_validation_is_the_default(digits, command_line, tmp_path):
    X, y, *_ = digits
    found = atomlearn.compare(X, y, ["ridge"])
    protocol = found.to_dict()["protocol"]
    assert (protocol["folds"], protocol["repeats"], protocol["train_per_class"]) == (5, 2, None)
    assert len(found.results[0]["accuracy"]) == 10 and np.sum(found.results[0]["confusion"]) == 2 * len(y)
    np.savez(tmp_path / "d.npz", X=X, y=y)
    line = [command_line, "--quiet", "--json", "compare", str(tmp_path / "d.npz"), "--methods", "ridge"]
    there = json.loads(subprocess.run(line, capture_output=True, text=True).stdout)
    assert there["results"][0]["accuracy"] == found.results[0]["accuracy"]
    assert len(atomlearn.compare(X, y, ["ridge"], folds=3, repeats=1).results[0]["accuracy"]) == 3
    with pytest.raises(ValueError, match="not both"):
        atomlearn.compare(X, y, ["ridge"], folds=3, train_per_class=5)


def test_tables_frames_records_and_page(digits, tmp_path, capsys):
    X, y, *_ = digits
    records, page = tmp_path / "r.jsonl", tmp_path / "page.html"
    found = atomlearn.compare(
        X, y, ["crc", "ridge"], train_per_class=5, repeats=2, records=records, report=page, name="my digits", verbose=1
    )
    assert "run 4 of 4: ridge, split 1" in capsys.readouterr().err
    assert "crc" in repr(found) and len(found.to_frame()) == len(found.to_dataframe()) == 4
    assert "\\toprule" in found.to_latex() and "@inproceedings{crc," in found.to_latex()
    assert found._repr_html_().count("<tr>") == 2 + len(found.results)
    assert "my digits" in page.read_text() and len(records.read_text().splitlines()) == 4
    atomlearn.report(records, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text() == page.read_text()


def test_mistakes_are_named(digits, tmp_path):
    X, y, *_ = digits
    with pytest.raises(ValueError, match="did you mean `lcdl-sv`"):
        atomlearn.compare(X, y, ["lcdlsv"], train_per_class=5)
    with pytest.raises(ValueError, match="too few for 20 training samples"):
        atomlearn.compare(X, y, ["crc"], train_per_class=20)
    with pytest.raises(TypeError, match="list of keys"):
        atomlearn.compare(X, y, "crc", train_per_class=5)
    with pytest.raises(FileNotFoundError):
        atomlearn.report(tmp_path / "none", tmp_path / "page.html")


def test_presets():
    assert LCDLSVClassifier.from_preset("paper").theta == 0.2
    assert LCDLSVClassifier.from_preset("paper", theta=1.0).theta == 1.0
    with pytest.raises(ValueError, match="unknown preset `papre`: lcdl-sv has default, authors-code, paper"):
        LCDLSVClassifier.from_preset("papre")
    assert atomlearn.LCKSVDClassifier.from_preset("published", variant=1).alpha == 16.0


class NearestMean:
    """A user's own classifier: nothing of scikit-learn's in it."""

    def fit(self, X, y):
        self.labels = sorted(set(y))
        self.means = np.array([X[np.asarray(y) == label].mean(axis=0) for label in self.labels])
        return self

    def predict(self, X):
        away = ((X[:, None, :] - self.means[None]) ** 2).sum(axis=2)
        return np.array(self.labels)[away.argmin(axis=1)]


def test_any_classifier_takes_part_on_the_same_splits_in_one_report(digits, tmp_path):
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.svm import SVC

    X, y, *_ = digits
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    others = [LogisticRegression(max_iter=500), SVC(), ("mine", NearestMean())]
    page = tmp_path / "page.html"
    found = atomlearn.compare(X, y, ["crc", *others], splits=folds, report=page)
    by_name = {r["method"]: r for r in found.results}
    assert list(by_name) == ["crc", "LogisticRegression", "SVC", "mine"]
    for estimator, name in ((others[0], "LogisticRegression"), (others[1], "SVC")):
        np.testing.assert_allclose(by_name[name]["accuracy"], cross_val_score(estimator, X, y, cv=folds))
    own = [np.mean(NearestMean().fit(X[a], y[a]).predict(X[b]) == y[b]) for a, b in folds.split(X, y)]
    np.testing.assert_allclose(by_name["mine"]["accuracy"], own)
    assert by_name["LogisticRegression"]["log_loss"] and "log_loss" not in by_name["mine"]
    pairs = {frozenset((t["a"], t["b"])) for t in found.tests}
    assert len(pairs) == 6 and all(0 <= t["p_holm"] <= 1 for t in found.tests)
    text = page.read_text()
    assert "LogisticRegression(max_iter=500)" in text and "NearestMean object" in text
    assert all(name in text and name in repr(found) and name in found.to_latex() for name in by_name)
    assert set(found.to_dataframe()["method"]) == set(by_name)


def test_own_splits_groups_tuning_and_metric(digits):
    from sklearn.neighbors import KNeighborsClassifier

    X, y, *_ = digits
    halves = [
        (np.arange(0, len(y), 2), np.arange(1, len(y), 2)),
        (np.arange(len(y)) % 2 == 1, np.arange(len(y)) % 2 == 0),
    ]
    found = atomlearn.compare(X, y, ["ridge", KNeighborsClassifier(1), KNeighborsClassifier(3)], splits=halves)
    assert [r["method"] for r in found.results] == ["ridge", "KNeighborsClassifier", "KNeighborsClassifier 2"]
    assert [len(r["accuracy"]) for r in found.results] == [2, 2, 2]
    groups = np.arange(len(y)) // 4
    grouped = atomlearn.compare(X, y, ["ridge", KNeighborsClassifier()], groups=groups, folds=3, repeats=1)
    assert np.sum(grouped.results[0]["confusion"]) == len(y)
    tuned = atomlearn.compare(X, y, ["crc"], train_per_class=6, repeats=1, tune=2)
    assert list(tuned.results[0]["tuned"][0]) == ["kappa"]
    ranked = atomlearn.compare(X, y, ["crc", "ridge"], metric="macro-f1")
    assert [r["score"] for r in ranked.results] == [np.mean(r["macro_f1"]) for r in ranked.results]


def test_learning_curves_of_our_methods_and_of_others(digits, tmp_path):
    X, y, *_ = digits
    page = tmp_path / "page.html"
    methods = ["ridge", ("mine", NearestMean())]
    found = atomlearn.compare(X, y, methods, train_per_class=8, repeats=2, learning_curve=True, report=page)
    assert [len(r["accuracy"]) for r in found.results] == [2, 2]
    for name in ("ridge", "mine"):
        points = [point for point in found.learning_curve if point["method"] == name]
        assert [point["n_train"] for point in points] == [10, 20, 40, 80]
        (whole,) = (r for r in found.results if r["method"] == name)
        assert points[-1]["mean"] == whole["mean"] > points[0]["mean"]
        assert all(low <= point["mean"] <= high for point in points for low, high in [point["ci95"]])
    assert "40 samples" in repr(found) and "Would more samples help?" in page.read_text()
    plain = atomlearn.compare(X, y, methods, train_per_class=8, repeats=2)
    assert plain.learning_curve == [] and [r["mean"] for r in plain.results] == [r["mean"] for r in found.results]


def test_mistakes_with_own_classifiers_are_named(digits):
    X, y, *_ = digits

    class Broken(NearestMean):
        def predict(self, X):
            raise ZeroDivisionError("no luck")

    class Odd(NearestMean):
        def predict(self, X):
            return np.full(len(X), 77)

    with pytest.raises(RuntimeError, match=r"Broken, split 0 .*ZeroDivisionError: no luck"):
        atomlearn.compare(X, y, [Broken()], folds=2, repeats=1)
    with pytest.raises(RuntimeError, match="77, which is no class of y"):
        atomlearn.compare(X, y, [Odd()], folds=2, repeats=1)
    with pytest.raises(ValueError, match="is the key of a method"):
        atomlearn.compare(X, y, [("crc", NearestMean())], folds=2)
    with pytest.raises(TypeError, match="keys and classifiers"):
        atomlearn.compare(X, y, [NearestMean], folds=2)
    with pytest.raises(ValueError, match="leave out train_per_class"):
        atomlearn.compare(X, y, ["crc"], splits=[([0], [1])], folds=2)
    with pytest.raises(ValueError, match="metric must be one of"):
        atomlearn.compare(X, y, ["crc"], metric="auc")
    with pytest.raises(ValueError, match="has no training sample"):
        atomlearn.compare(X, y, ["crc"], splits=[([0, 1], [2])])
