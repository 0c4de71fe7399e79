"""Odd but valid files are read as the packages that own their formats read them, and what cannot be is refused."""

import warnings
import zipfile

import atomlearn
import h5py
import numpy as np
import odd_files
import pytest
from atomlearn import _atomlearn
from odd_files.arrays import array_bytes
from odd_files.common import WORDS, X, Y
from PIL import Image


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Every family of files, by its name."""
    folder = tmp_path_factory.mktemp("odd")
    with warnings.catch_warnings():
        # The packages warn about names that occur twice and about palettes.
        warnings.simplefilter("ignore")
        return {name: odd_files.write(name, folder) for name in odd_files.FAMILIES}


def difference(case):
    """What is wrong with the reading of a file, or nothing."""
    try:
        samples, labels = _atomlearn.read(case.path, **case.options)
    except ValueError as error:
        return f"refused: {error}"
    if samples.shape != case.samples.shape:
        return f"{samples.shape} instead of {case.samples.shape}"
    differs = ~(np.abs(samples - case.samples) <= case.tolerance)
    if differs.any():
        place = np.unravel_index(np.argmax(differs), samples.shape)
        return f"{samples[place]!r} instead of {case.samples[place]!r} at {place}"
    return None if labels == case.labels else f"labels {labels} instead of {case.labels}"


@pytest.mark.parametrize("family", odd_files.FAMILIES)
def test_values_and_labels_are_those_of_the_reference_package(family, corpus):
    wrong = {case.path.name: difference(case) for case in corpus[family]}
    wrong = {name: why for name, why in wrong.items() if why}
    assert not wrong, "\n".join(f"{name}: {why}" for name, why in wrong.items())


def test_the_corpus_is_large(corpus):
    paths = {case.path for cases in corpus.values() for case in cases}
    assert len(paths) >= 200 and all(path.exists() for path in paths)


def h5_of(kind):
    def write(path):
        with h5py.File(path, "w") as file:
            there = h5py.h5d.create(file.id, b"X", kind, h5py.h5s.create_simple(X.shape))
            there.write(h5py.h5s.ALL, h5py.h5s.ALL, X)
            file["y"] = Y

    return write


def wide_exponent():
    kind = h5py.h5t.IEEE_F64LE.copy()
    kind.set_fields(63, 48, 15, 0, 48)
    kind.set_ebias(16383)
    return kind


def images_of_floats(path):
    for label in "ab":
        (path / label).mkdir(parents=True)
        Image.fromarray(np.full((4, 5), 100, "f4")).save(path / label / "1.tiff")


def table(labels):
    return lambda path: path.write_text("f0,f1,label\n" + "".join(f"1,2,{label}\n" for label in labels))


REFUSED = {
    "wide.h5": (h5_of(wide_exponent()), "15 of them exponent"),
    "long.h5": (h5_of(h5py.h5t.py_create(np.dtype("longdouble"))), "numbers of 16 bytes"),
    "floats": (images_of_floats, "1.tiff"),
    "twice.libsvm": (lambda path: path.write_text("1 1:1\n2 1:1 1:5\n"), "line 2: index 1 occurs twice"),
    "empty.npz": (lambda path: np.savez(path, X=X, y=np.where(WORDS == "a", "", WORDS)), "sample 0 "),
    "nan.npz": (lambda path: np.savez(path, X=X, y=np.where(Y == 1, np.nan, Y)), "sample 0 "),
    "names.npz": (lambda path: np.savez(path, X=X, y=Y, class_names=["a", "b", "c"]), "first_class"),
    **{f"{i}.csv": (table(["a", marker]), marker) for i, marker in enumerate(["NA", "null", "None", "nan"])},
    "empty.csv": (table(["a", ""]), "sample 1 "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_rightly_is_refused(name, tmp_path):
    write, part = REFUSED[name]
    write(tmp_path / name)
    with pytest.raises(ValueError) as error:
        atomlearn.read(tmp_path / name)
    assert part in str(error.value)


def test_read_gives_arrays(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    samples, labels = atomlearn.read(tmp_path / "a.npz")
    assert np.array_equal(samples, X) and np.array_equal(labels, Y) and labels.dtype.kind == "i"
    np.savez(tmp_path / "b.npz", Z=X.T, w=WORDS)
    samples, labels = atomlearn.read(str(tmp_path / "b.npz"), x="Z", y="w", samples="columns")
    assert np.array_equal(samples, X) and np.array_equal(labels, WORDS)
    np.save(tmp_path / "c.npy", X)
    assert atomlearn.read(tmp_path / "c.npy")[1] is None
    with pytest.raises(ValueError, match="samples"):
        atomlearn.read(tmp_path / "a.npz", samples="diagonal")
    with pytest.raises(FileNotFoundError):
        atomlearn.read(tmp_path / "nowhere.npz")


def test_labels_of_python_and_of_files_have_the_same_names(tmp_path):
    labels = np.array([1e23, 2.0**60, -0.0, 7.0] * 3)
    np.savez(tmp_path / "a.npz", X=X, y=labels)
    assert _atomlearn.read(tmp_path / "a.npz")[1] == atomlearn._labels.names_of(labels[:4]) * 3


def test_the_last_of_two_members_is_read_as_numpy_reads_it(tmp_path):
    path = tmp_path / "a.npz"
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as file:
        warnings.simplefilter("ignore")
        for name, array in [("X", X), ("y", Y), ("X", 2 * X), ("y", Y[::-1])]:
            file.writestr(f"{name}.npy", array_bytes(array))
    there = np.load(path)
    samples, labels = atomlearn.read(path)
    assert np.array_equal(samples, there["X"]) and np.array_equal(labels, there["y"])
