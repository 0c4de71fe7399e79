"""One model file for Python and the command line; pickles carry the same bytes."""

import copy
import csv
import json
import pickle
import subprocess

import atomlearn
import numpy as np
import pytest
from atomlearn import LCDLSVClassifier, LCKSVDClassifier, load
from sklearn.base import clone

KEYS = sorted(atomlearn._estimators.ESTIMATORS)


def run(command_line, *arguments):
    done = subprocess.run([command_line, "--quiet", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def scores_by_command_line(command_line, model, data):
    rows = list(csv.reader(run(command_line, "predict", model, data, "--scores").splitlines()))
    return [row[1] for row in rows[1:]], np.array([[float(v) for v in row[2:]] for row in rows[1:]])


def write(path, X, y):
    np.savez(path, X=X, y=y)
    return path


@pytest.mark.parametrize("key", KEYS)
def test_command_line_and_python_score_with_the_same_bits_both_ways(key, digits, command_line, tmp_path):
    X, y, X_test, y_test = digits
    train, test = write(tmp_path / "train.npz", X, y), write(tmp_path / "test.npz", X_test, y_test)
    prep = "pca:40,unit"

    run(command_line, "train", train, "--method", key, "--prep", prep, "-o", tmp_path / "from_cli")
    there = load(tmp_path / "from_cli")
    labels, scores = scores_by_command_line(command_line, tmp_path / "from_cli", test)
    assert there.prep == prep and there.n_features_in_ == 64
    assert there.predict(X_test).tolist() == [int(label) for label in labels]
    assert np.array_equal(there.decision_function(X_test), scores)

    estimator = atomlearn._estimators.ESTIMATORS[key](prep=prep)
    here = (estimator.set_params(variant=int(key[-1])) if "variant" in estimator.get_params() else estimator).fit(X, y)
    here.save(tmp_path / "from_python")
    labels, scores = scores_by_command_line(command_line, tmp_path / "from_python", test)
    assert here.predict(X_test).tolist() == [int(label) for label in labels]
    assert np.array_equal(here.decision_function(X_test), scores)
    # The same training, too.
    assert np.array_equal(here.decision_function(X_test), there.decision_function(X_test))


def test_command_line_evaluates_and_inspects_models_from_python(digits, command_line, tmp_path):
    X, y, X_test, y_test = digits
    model = LCDLSVClassifier(lambda1=0.01, probability=True).fit(X, y)
    model.save(tmp_path / "model")
    seen = json.loads(run(command_line, "inspect", tmp_path / "model", "--json"))
    assert (seen["method"], seen["params"]["lambda1"]) == ("lcdl-sv", 0.01)
    assert seen["info"]["n_iter"] == model.n_iter_ and seen["info"]["objective"] == model.objective_[-1]
    run(command_line, "inspect", tmp_path / "model")
    found = json.loads(
        run(command_line, "evaluate", tmp_path / "model", write(tmp_path / "t.npz", X_test, y_test), "--json")
    )
    assert found["accuracy"] == model.score(X_test, y_test)


def test_what_is_loaded_is_the_estimator_that_was_saved(digits, tmp_path):
    X, y, X_test, _ = digits
    model = LCKSVDClassifier(variant=1, sparsity=5, probability=True, prep="center,unit").fit(X, y)
    model.save(tmp_path / "model")
    back = load(tmp_path / "model")
    assert type(back) is LCKSVDClassifier and back.get_params() == model.get_params()
    assert np.array_equal(back.predict_proba(X_test), model.predict_proba(X_test))
    assert np.array_equal(back.components_, model.components_) and back.n_iter_ == model.n_iter_
    back.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("key", KEYS)
def test_pickles_and_copies_score_with_the_same_bits(key, digits):
    X, y, X_test, _ = digits
    model = atomlearn._estimators.ESTIMATORS[key]().fit(X, y)
    expected = model.decision_function(X_test)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(other.decision_function(X_test), expected)
        assert other.get_params() == model.get_params() and other.n_iter_ == model.n_iter_
    assert not hasattr(clone(model), "model_")


def test_bad_files_are_refused(digits, tmp_path):
    X, y, *_ = digits
    with pytest.raises(FileNotFoundError, match="none"):
        load(tmp_path / "none")
    path = tmp_path / "model"
    LCDLSVClassifier(max_iter=1).fit(X, y).save(path)
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 1
    path.write_bytes(whole)
    with pytest.raises(ValueError, match="altered or damaged"):
        load(path)
    with pytest.raises(OSError):
        LCDLSVClassifier(max_iter=1).fit(X, y).save(tmp_path / "no such folder" / "model")
