"""MATLAB's files of version 5 to 7, and of version 7.3."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

import h5py
import numpy as np
import scipy.io
import scipy.sparse

from .common import INTEGERS, LARGE, UNICODE, UNSIGNED, WORDS, D, Family, N, X, Y, names, numbers, text_file
from .hdf5 import read_double


def mat5_bytes(variables: list[tuple], order: str = "<", packed: bool = False) -> bytes:
    """A file by hand: name, class, sizes, stored type and bytes of every variable."""

    def element(kind: int, content: bytes) -> bytes:
        return struct.pack(order + "II", kind, len(content)) + content + bytes(-len(content) % 8)

    mark = b"IM" if order == "<" else b"MI"
    file = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(order + "H", 0x0100) + mark
    for name, kind, sizes, stored, content in variables:
        body = element(6, struct.pack(order + "II", kind, 0)) + element(5, struct.pack(order + "ii", *sizes))
        body += element(1, name.encode()) + element(stored, content)
        whole = struct.pack(order + "II", 14, len(body)) + body
        if packed:
            squeezed = zlib.compress(whole)
            whole = struct.pack(order + "II", 15, len(squeezed)) + squeezed
        file += whole
    return file


def cell(strings: Iterable[str]) -> np.ndarray:
    strings = list(strings)
    out = np.empty((1, len(strings)), dtype=object)
    out[0, :] = strings
    return out


def mat5(family: Family) -> None:
    def add(path: Path, samples=None, labels=None) -> None:
        there = scipy.io.loadmat(path)
        if samples is None:
            samples = there["X"].toarray() if scipy.sparse.issparse(there["X"]) else there["X"]
            samples = samples if len(samples) == N else samples.T
        if labels is None:
            labels = [label.rstrip() if isinstance(label, str) else label for label in np.ravel(there["y"])]
            labels = [label[0] if isinstance(label, np.ndarray) else label for label in labels]
        family.add(path, samples, names(labels))

    def save(name: str, samples=None, labels=None, packed: bool = False, **variables) -> None:
        path = family.path(f"{name}.mat")
        scipy.io.savemat(path, {"X": X.T, "y": Y, **variables}, do_compression=packed)
        add(path, samples, labels)

    for kind in ["?", *INTEGERS, "f4", "f8"]:
        for packed in (False, True):
            name = f"{np.dtype(kind).name}{'-packed' if packed else ''}"
            save(f"X-{name}", X=numbers(kind).T, packed=packed)
        save(f"y-{np.dtype(kind).name}", y=(Y > 1 if kind == "?" else Y).astype(kind))
    save("rows", X=X)
    save("column-labels", y=Y[:, None])
    save("long-name", **{"a" * 31: 1})
    positive = np.where(X > 0, X, 0)
    for name, sparse in {
        "sparse": scipy.sparse.csc_matrix(positive.T),
        "sparse-rows": scipy.sparse.csr_matrix(positive),
        "sparse-full": scipy.sparse.csc_matrix(X.T),
        "sparse-logical": scipy.sparse.csc_matrix(X.T > 0),
        "sparse-sums": scipy.sparse.coo_matrix(([1.0, 2.0, 3.0], ([0, 0, 1], [0, 0, 2])), shape=(N, D)),
    }.items():
        save(name, X=sparse)
        save(f"{name}-packed", X=sparse, packed=True)
    for name, labels in {
        "char": WORDS,
        "char-unicode": np.array(["ä", "日本", "ccc"])[Y - 1],
        "char-emoji": np.array(["😀", "日本", "ccc"])[Y - 1],
        "cell": cell(WORDS),
        "cell-unicode": cell(UNICODE),
        "cell-emoji": cell(np.array(["😀", "😁", "x"])[Y - 1]),
        "large": LARGE,
        "large-unsigned": UNSIGNED,
        "halves": Y / 2,
    }.items():
        save(f"labels-{name}", y=labels)
    classes = np.array(["ant", "bee", "cat"])
    save("class-names", labels=classes[Y - 1], class_names=cell(classes))
    some = np.repeat([1, 2], 6)
    save("class-names-some", labels=classes[some - 1], y=some, class_names=cell(classes))
    save("class-names-from-0", labels=classes[some], y=some, class_names=cell(classes), first_class=0)
    save("scale", numbers("i1") * 0.5, X=numbers("i1").T, scale=0.5)
    save("scale-of-doubles", X=np.round(50 * X).T, scale=0.5)
    images = np.arange(2 * 3 * N).reshape(2, 3, N)
    save("stack", images.reshape(6, N, order="F").T, X=images)

    labels = ("y", 6, (1, N), 2, bytes(Y.astype("u1")))
    for order in "<>":
        for packed in (False, True):
            name = f"by-hand-{'little' if order == '<' else 'big'}{'-packed' if packed else ''}.mat"
            variables = [("X", 6, (D, N), 9, X.astype(order + "f8").tobytes()), labels]
            add(text_file(family.path(name), mat5_bytes(variables, order, packed)))
        small = (50 * X).astype(order + "i2").tobytes()
        variables = [("X", 6, (D, N), 3, small), ("y", 12, (1, N), 5, Y.astype(order + "i4").tobytes())]
        name = f"doubles-stored-small-{'little' if order == '<' else 'big'}.mat"
        add(text_file(family.path(name), mat5_bytes(variables, order)))
    doubled = ("X", 6, (D, N), 9, (X * 2).tobytes())
    variables = [doubled, ("X", 6, (D, N), 9, X.tobytes()), labels]
    # SciPy warns that it takes the last, and with one array of that name alone it reads the same.
    family.add(text_file(family.path("X-twice.mat"), mat5_bytes(variables)), X, names(Y))


def mat73(family: Family) -> None:
    """As MATLAB lays files out: sizes backwards, text as UTF-16 numbers, cells as references."""

    def save(name: str, fill=None, labels=None, samples=None, X=X, kind="double", **options) -> None:
        path = family.path(f"{name}.mat")
        with h5py.File(path, "w", userblock_size=512) as file:
            if fill is not None:
                fill(file)
            if "X" not in file:
                put(file, "X", X, kind, **options)
            if "y" not in file:
                put(file, "y", Y[:, None].astype(float), "double")
        with h5py.File(path) as file:
            samples = read_double(file["X"]) if samples is None else samples
            found = file["y"][()] if labels is None else labels
        with path.open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file".ljust(116) + bytes(8) + b"\x00\x02IM")
        samples = samples if len(samples) == N else samples.T
        family.add(path, samples, names(found))

    def put(file, name: str, value, kind: str, **options):
        there = file.create_dataset(name, data=value, **options)
        there.attrs["MATLAB_class"] = np.bytes_(kind)
        return there

    def text(file, name: str, string: str) -> h5py.Dataset:
        units = np.frombuffer(string.encode("utf-16-le"), "<u2")[:, None]
        there = put(file, name, units, "char")
        there.attrs["MATLAB_int_decode"] = np.int32(2)
        return there

    for kind in INTEGERS + ["f4", "f8"]:
        name = {"f4": "single", "f8": "double"}.get(kind, np.dtype(kind).name)
        save(f"X-{name}", X=numbers(kind), kind=name)
        save(f"X-{name}-packed", X=numbers(kind), kind=name, chunks=(5, 2), compression="gzip", shuffle=True)
    save("rows", X=X.T)
    save("logical", X=(X > 0).astype("u1"), kind="logical")
    save("labels-large", lambda f: put(f, "y", LARGE[:, None], "int64"))
    save("labels-unsigned", lambda f: put(f, "y", UNSIGNED[:, None], "uint64"))

    def cells(words: Iterable[str]):
        def fill(file) -> None:
            inner = [text(file, f"#refs#/{i}", str(word)).ref for i, word in enumerate(words)]
            put(file, "y", np.array(inner, dtype=h5py.ref_dtype)[None], "cell")

        return fill

    save("labels-cell", cells(WORDS), labels=WORDS)
    save("labels-cell-unicode", cells(UNICODE), labels=UNICODE)
    emoji = np.array(["😀", "😁", "x"])[Y - 1]
    save("labels-cell-emoji", cells(emoji), labels=emoji)

    def char_rows(file) -> None:
        codes = np.array([[ord(letter) for letter in word.ljust(3)] for word in WORDS], "u2").T
        put(file, "y", codes, "char").attrs["MATLAB_int_decode"] = np.int32(2)

    save("labels-char", char_rows, labels=WORDS)
    for kind in ("f8", "u1"):
        sparse = scipy.sparse.csc_matrix(np.where(X > 0, X, 0).T if kind == "f8" else (X.T > 0).astype(kind))

        def group(file, sparse=sparse) -> None:
            there = file.create_group("X")
            there.attrs["MATLAB_class"] = np.bytes_("double" if sparse.dtype == float else "logical")
            there.attrs["MATLAB_sparse"] = np.uint64(D)
            there["ir"], there["jc"] = sparse.indices.astype("u8"), sparse.indptr.astype("u8")
            there["data"] = sparse.data

        save(f"sparse-{kind}", group, samples=sparse.toarray().astype(float).T)
