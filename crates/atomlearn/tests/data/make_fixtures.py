"""Writes the small files that the reader tests use, all with the same 4 samples of 3 features.

    pip install numpy scipy h5py pandas pyarrow pillow
    python make_fixtures.py

Every file holds X(sample, feature) = 10 * sample + feature - 1.5 (or 10 * sample + feature, where it is of whole
numbers), classes b a b c, in whatever orientation and number type the file is about.
"""

from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse
from PIL import Image

HERE = Path(__file__).parent
WHOLE = 10 * np.arange(4)[:, None] + np.arange(3)[None, :]
X = WHOLE - 1.5
NUMBERS = np.array([2, 1, 2, 3])
WORDS = np.array(["b", "a", "b", "c"])


def cell(strings):
    out = np.empty((1, len(strings)), dtype=object)
    out[0, :] = list(strings)
    return out


def mat5():
    save = scipy.io.savemat
    save(HERE / "plain.mat", {"X": X.T, "y": NUMBERS.astype(np.uint8)})
    save(
        HERE / "full.mat",
        {
            "X": WHOLE.T.astype(np.int16),
            "y": NUMBERS.astype(float),
            "scale": 0.5,
            "is_train": np.array([1, 0, 1, 0], np.uint8),
            "class_names": cell(["a", "b", "c"]),
            "names": cell(["n0", "n1", "n2", "n\u00e4"]),
            "rows": 3.0,
            "cols": 1.0,
            "info": {"depth": 1, "list": [1, 2]},
            "remark": "some text",
            "flag": np.array([[True, False]]),
            "phase": np.array([[1 + 2j]]),
        },
        do_compression=True,
    )
    save(HERE / "words.mat", {"fea": X.astype(np.float32), "gnd": np.array(["b ", "a ", "b ", "c "])})
    save(HERE / "sparse.mat", {"X": scipy.sparse.csc_matrix(WHOLE.T.astype(float)), "y": NUMBERS}, do_compression=True)
    save(HERE / "stack.mat", {"X": WHOLE.T.astype(np.uint8).reshape(3, 1, 4, order="F"), "y": NUMBERS})


def mat73():
    """As MATLAB lays files out: a 512-byte block first, sizes backwards, text as UTF-16 numbers, cells as references."""
    with h5py.File(HERE / "v73.mat", "w", userblock_size=512) as f:

        def put(name, value, matlab_class, **options):
            dataset = f.create_dataset(name, data=value, **options)
            dataset.attrs["MATLAB_class"] = np.bytes_(matlab_class)
            return dataset

        def text(name, string):
            put(name, np.array([[ord(c)] for c in string], np.uint16), "char").attrs["MATLAB_int_decode"] = np.int32(2)

        put("X", WHOLE.astype(np.int16), "int16", chunks=(2, 3), compression="gzip", shuffle=True)
        put("y", NUMBERS.astype(float)[:, None], "double")
        put("scale", np.array([[0.5]]), "double")
        put("is_train", np.array([[1], [0], [1], [0]], np.uint8), "logical").attrs["MATLAB_int_decode"] = np.int32(1)
        for k, name in enumerate(["a", "b", "c"]):
            text(f"#refs#/{k}", name)
        references = [[f[f"#refs#/{k}"].ref] for k in range(3)]
        put("class_names", np.array(references, dtype=h5py.ref_dtype), "cell")
        group = f.create_group("info")
        group.attrs["MATLAB_class"] = np.bytes_("struct")
        group["depth"] = 1.0
        sparse = scipy.sparse.csc_matrix(WHOLE.T.astype(float))
        group = f.create_group("S")
        group.attrs["MATLAB_class"] = np.bytes_("double")
        group.attrs["MATLAB_sparse"] = np.uint64(3)
        group["ir"] = sparse.indices.astype(np.uint64)
        group["jc"] = sparse.indptr.astype(np.uint64)
        group["data"] = sparse.data
    with open(HERE / "v73.mat", "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file".ljust(116) + bytes(8) + b"\x00\x02IM")
    with h5py.File(HERE / "plain.h5", "w") as f:
        f["X"] = X
        f["y"] = np.array(list(WORDS), dtype=h5py.string_dtype())


def numpy_files():
    np.save(HERE / "rows.npy", X.astype(np.float32))
    np.save(HERE / "fortran.npy", np.asfortranarray(X))
    np.save(HERE / "labels.npy", NUMBERS)
    (HERE / "labels.txt").write_text("label\nb\na\nb\nc\n")
    np.savez(HERE / "stored.npz", X=X, y=WORDS, junk=np.array([{"a": 1}], dtype=object))
    np.savez_compressed(
        HERE / "packed.npz",
        X=WHOLE.T.astype(">i4"),
        y=NUMBERS - 1,
        class_names=np.array(["a", "b", "c"]),
        scale=0.5,
        is_train=np.array([True, False, True, False]),
        image_shape=[1, 3],
        names=np.array(["n0", "n1", "n2", "n\u00e4"]),
    )
    np.savez_compressed(HERE / "stack.npz", X=WHOLE.reshape(4, 3, 1).astype(np.uint8), y=NUMBERS)


def tables():
    frame = pd.DataFrame(X, columns=["f0", "f1", "f2"])
    frame.insert(1, "class", WORDS)
    frame["is_train"] = [1, 0, 1, 0]
    frame.to_csv(HERE / "header.csv", index=False)
    frame.to_parquet(HERE / "table.parquet")
    numbers = pd.DataFrame(WHOLE.astype(np.uint8), columns=["f0", "f1", "f2"], index=["n0", "n1", "n2", "n\u00e4"])
    numbers["target"] = NUMBERS
    numbers.to_csv(HERE / "index.tsv", sep="\t")
    numbers.to_parquet(HERE / "zstd.parquet", compression="zstd")
    bare = pd.DataFrame(X)
    bare["w"] = WORDS
    bare.to_csv(HERE / "bare.csv", header=False, index=False)
    lines = (f"{y} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v) for y, row in zip(NUMBERS, X))
    (HERE / "data.libsvm").write_text("\n".join(lines) + "\n")


def images():
    suffixes = {"a": ["png"], "b": ["pgm", "tif"], "c": ["bmp"], "d": ["jpg"]}
    for k, (name, endings) in enumerate(suffixes.items()):
        folder = HERE / "images" / name
        folder.mkdir(parents=True, exist_ok=True)
        for ending in endings:
            grey = np.full((2, 3), 40 * k, np.uint8) + np.arange(6, dtype=np.uint8).reshape(2, 3)
            Image.fromarray(grey).save(folder / f"one.{ending}")


if __name__ == "__main__":
    mat5()
    mat73()
    numpy_files()
    tables()
    images()
