"""The test of `compare` is the one whose errors and power `bench/test_power.py` measures."""

import importlib.util
from pathlib import Path

import atomlearn
import numpy as np
import pytest

SCRIPT = Path(__file__).parents[3] / "bench" / "test_power.py"


@pytest.fixture(scope="module")
def power():
    spec = importlib.util.spec_from_file_location("test_power", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("layout", [{"train_per_class": 8, "repeats": 4}, {"folds": 5, "repeats": 2}])
def test_p_values_are_those_of_the_formula(digits, power, layout, tmp_path):
    import json

    X, y, *_ = digits
    records = tmp_path / "runs.jsonl"
    found = atomlearn.compare(X, y, ["knn", "ridge"], records=str(records), **layout)
    runs = [json.loads(line) for line in records.read_text().splitlines()]
    tables = {}
    for run in runs:
        right = np.array(run["rules"][0]["predictions"]) == np.array(run["truth"])
        tables.setdefault(run["method"], {})[run["split"]] = (np.array(run["tested"]), right)
    n, splits = len(y), sorted(tables["knn"])
    tested, difference = np.zeros((len(splits), n), bool), np.zeros((len(splits), n))
    for s, split in enumerate(splits):
        (places, a), (_, b) = tables["knn"][split], tables["ridge"][split]
        tested[s, places] = True
        difference[s, places] = a.astype(float) - b
    (test,) = found.tests
    assert test["test"] == "crossed"
    assert test["p"] == pytest.approx(power.crossed(difference, tested), rel=1e-9)
