"""Names of features: frames for models of the command line, tables for models from frames."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from atomlearn import CRCClassifier, TableWarning, load
from test_files import run, scores_by_command_line

NUMBERS = ["height", "width", "depth"]


def measured(n=60, seed=1):
    """Three classes; a flag, a color and one missing number in ten among the features."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 3
    frame = pd.DataFrame(rng.normal(classes[:, None], 0.6, (n, 3)), columns=NUMBERS)
    frame.loc[::10, "width"] = np.nan
    frame["wild"] = rng.random(n) < 0.5
    frame["color"] = np.array(["red", "green", "blue"])[rng.integers(0, 3, n)]
    frame["species"] = np.array(["ant", "bee", "cat"])[classes]
    return frame


@pytest.fixture(scope="module")
def mixed(command_line, tmp_path_factory):
    """A model of a table with categories and missing cells, and what the command line answers for another table."""
    folder = tmp_path_factory.mktemp("mixed")
    measured().to_csv(folder / "train.csv", index=False)
    test = measured(20, seed=2)
    test.to_csv(folder / "test.csv", index=False)
    run(
        command_line, "train", folder / "train.csv", "--method", "crc", "--prep", "standard,unit", "--impute", "median",
        "-o", folder / "model",
    )  # fmt: skip
    return load(folder / "model"), test, scores_by_command_line(command_line, folder / "model", folder / "test.csv")


def shuffled(frame):
    return frame[["color", "depth", "species", "wild", "height", "width"]]


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_frames_in_any_order_get_the_bits_of_the_command_line(mixed, convert):
    model, test, (labels, scores) = mixed
    encoded_names = [*NUMBERS, "wild", "color=blue", "color=green", "color=red"]
    assert model.feature_names_in_.tolist() == encoded_names and model.n_features_in_ == 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for frame in (test, shuffled(test), shuffled(test).drop(columns="species")):
            assert model.predict(convert(frame)).tolist() == labels
            assert np.array_equal(model.decision_function(convert(frame)), scores)
        encoded = pd.DataFrame(model._samples(convert(test)), columns=encoded_names)
        assert np.array_equal(model.decision_function(convert(encoded)), scores)
        assert model.transform(convert(shuffled(test))).shape[0] == len(test)
    # Arrays hold the encoded features; scikit-learn warns that they have no names.
    with pytest.warns(UserWarning, match="valid feature names"):
        assert np.array_equal(model.decision_function(encoded.to_numpy()), scores)


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_what_differs_from_the_training_table_is_told(mixed, convert):
    model, test, (_, scores) = mixed
    with pytest.raises(ValueError, match="2 of the 5 columns .* missing: `width`, `color`"):
        model.predict(convert(test.drop(columns=["color", "width"])))
    with pytest.warns(TableWarning, match="ignored: `zip`"):
        assert np.array_equal(model.decision_function(convert(test.assign(zip=1))), scores)
    with pytest.warns(TableWarning, match=r"`color` has values .* `pink` \(20 rows\)"):
        model.predict(convert(test.assign(color="pink")))
    broken = test.copy()
    broken.loc[3, "depth"] = np.inf
    with pytest.raises(ValueError, match="row 3 .* `depth` is inf"):
        model.predict(convert(broken))
    with pytest.raises(ValueError, match="row 0 .* `height` is `tall`, not a number"):
        model.predict(convert(test.assign(height="tall")))


def test_missing_cells_are_errors_if_training_did_not_fill_them(command_line, tmp_path):
    train, test = measured().dropna(), measured(20, seed=2)
    train[[*NUMBERS, "species"]].to_csv(tmp_path / "train.csv", index=False)
    run(command_line, "train", tmp_path / "train.csv", "--method", "crc", "-o", tmp_path / "model")
    model = load(tmp_path / "model")
    assert model.feature_names_in_.tolist() == NUMBERS
    for frame in (test[NUMBERS], test[NUMBERS[::-1]], pl.from_pandas(test[NUMBERS])):
        with pytest.raises(ValueError, match="row 0 .* `width` is missing"):
            model.predict(frame)


def test_cells_of_many_types_are_read_as_in_tables(mixed):
    model, test, (_, scores) = mixed
    for frame in (
        test.assign(color=test.color.astype("category"), wild=test.wild.astype(int)),
        test.assign(wild=test.wild.astype("boolean"), width=test.width.astype("Float64")),
        test.assign(wild=test.wild.astype(str), depth=test.depth.map(repr), width=test.width.astype(object)),
        test.convert_dtypes(),
    ):
        assert np.array_equal(model.decision_function(frame), scores)
    holes = test.assign(color=test.color.where(test.index != 4))
    filled = test.assign(color=test.color.where(test.index != 4, measured().color.mode()[0]))
    for convert in (lambda frame: frame, pd.DataFrame.convert_dtypes, pl.from_pandas):
        assert np.array_equal(model.decision_function(convert(holes)), model.decision_function(convert(filled)))
    twice = pd.concat([test, test[["height"]]], axis=1)
    with pytest.raises(ValueError, match="two columns are called `height`"):
        model.predict(twice)


def test_fits_forget_the_table(mixed, tmp_path):
    model, test, _ = mixed
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    again.fit(test[["height", "depth"]], test.species)
    assert again.feature_names_in_.tolist() == ["height", "depth"]
    with pytest.raises(ValueError, match="[Ff]eature names"):
        again.predict(test[["depth", "height"]])


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_models_from_frames_refuse_another_order_and_the_command_line_finds_the_names(convert, command_line, tmp_path):
    train, test = measured(), measured(20, seed=2).fillna(0.5)
    model = CRCClassifier(prep="standard,unit").fit(convert(train[NUMBERS].fillna(0.5)), train.species)
    model.save(tmp_path / "model")
    for estimator in (model, load(tmp_path / "model")):
        with pytest.raises(ValueError, match="[Ff]eature names must be in the same order"):
            estimator.predict(convert(test[NUMBERS[::-1]]))
    test[["color", "depth", "width", "height"]].to_csv(tmp_path / "test.csv", index=False)
    labels, scores = scores_by_command_line(command_line, tmp_path / "model", tmp_path / "test.csv")
    assert labels == model.predict(convert(test[NUMBERS])).tolist()
    assert np.array_equal(scores, model.decision_function(convert(test[NUMBERS])))
