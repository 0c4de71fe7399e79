"""Whatever holds the samples, the result is the same; what cannot be used is refused by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from atomlearn import CRCClassifier, LCDLSVClassifier


def fortran(X, folder):
    return np.asfortranarray(X)


def read_only(X, folder):
    X = X.copy()
    X.flags.writeable = False
    return X


def memory_mapped(X, folder):
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


def strided(X, folder):
    wide = np.zeros((2 * len(X), 3 * X.shape[1]))
    wide[::2, ::3] = X
    return wide[::2, ::3]


def reversed_twice(X, folder):
    return X[::-1].copy()[::-1]


def big_endian(X, folder):
    return X.astype(">f8")


def unaligned(X, folder):
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(np.float64).reshape(X.shape)
    view[...] = X
    assert not view.flags.aligned
    return view


def float32(X, folder):  # digits are whole numbers, so nothing is lost
    return X.astype(np.float32)


def whole_numbers(X, folder):
    return X.astype(np.int16)


def nested_lists(X, folder):
    return X.tolist()


def pandas_frame(X, folder):
    return pd.DataFrame(X, columns=[f"pixel {i}" for i in range(X.shape[1])])


def polars_frame(X, folder):
    return pl.DataFrame(X, schema=[f"pixel {i}" for i in range(X.shape[1])])


LAYOUTS = [
    fortran, read_only, memory_mapped, strided, reversed_twice, big_endian, unaligned, float32, whole_numbers,
    nested_lists, pandas_frame, polars_frame,
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_bits(layout, digits, tmp_path):
    X, y, X_test, _ = digits
    expected = LCDLSVClassifier(max_iter=3).fit(X, y)
    model = LCDLSVClassifier(max_iter=3).fit(layout(X, tmp_path), y)
    assert np.array_equal(model.components_, expected.components_)
    found = model.decision_function(layout(X_test, tmp_path))
    assert np.array_equal(found, expected.decision_function(X_test))


def test_c_ordered_float64_is_not_copied(digits):
    X, y, X_test, _ = digits
    model = CRCClassifier().fit(X, y)
    for same in (X_test, X_test[10:200], read_only(X_test, None)):
        assert np.shares_memory(model._samples(same), same)


@pytest.mark.parametrize("layout", [pandas_frame, polars_frame])
def test_feature_names_are_kept_and_checked(layout, digits):
    X, y, X_test, _ = digits
    model = CRCClassifier().fit(layout(X, None), y)
    assert model.feature_names_in_[3] == "pixel 3"
    with pytest.raises(ValueError, match="[Ff]eature names"):
        model.predict(
            layout(X_test, None).rename({"pixel 3": "other"})
            if layout is polars_frame
            else layout(X_test, None).rename(columns={"pixel 3": "other"})
        )


def test_transform_gives_frames_on_request(digits):
    X, y, X_test, _ = digits
    codes = CRCClassifier().fit(X, y).set_output(transform="pandas").transform(X_test)
    assert codes.shape == (500, 200) and codes.columns[7] == "crcclassifier7"


def test_bad_samples_and_parameters_are_refused_by_name(digits):
    X, y, X_test, _ = digits
    broken = X.copy()
    broken[3, 5] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        CRCClassifier().fit(broken, y)
    with pytest.raises(ValueError, match="64 features as input"):
        CRCClassifier().fit(X, y).predict(X_test[:, :10])
    for params, message in [
        ({"lambda1": -1.0}, "parameter `lambda1` = -1.0: must be a number >= 0"),
        ({"lambda1": np.nan}, "parameter `lambda1` = nan: must be finite"),
        ({"knn": 1.5}, "parameter `knn` = 1.5: must be a whole number >= 1"),
        ({"rule": "both"}, 'parameter `rule` = "both": must be auto or residual | svm | fused'),
        ({"prep": "pca:30,unti"}, "unknown preprocessing step `unti` (did you mean `unit`?)"),
        ({"n_threads": 0}, "parameter `n_threads` = 0: must be None or a whole number >= 1"),
    ]:
        with pytest.raises(ValueError) as error:
            LCDLSVClassifier(**params).fit(X, y)
        assert str(error.value) == message
    with pytest.raises(ValueError, match="only one class"):
        CRCClassifier().fit(X[:20], y[:20])


def test_numpy_scalars_are_parameters_too(digits):
    X, y, *_ = digits
    plain = LCDLSVClassifier(max_iter=2, lambda1=1e-3).fit(X, y)
    numpy = LCDLSVClassifier(max_iter=np.int64(2), lambda1=np.float32(0.5) * np.float64(2e-3)).fit(X, y)
    assert np.array_equal(plain.components_, numpy.components_)
