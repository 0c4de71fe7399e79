"""NumPy's own files."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import numpy as np

from .common import LARGE, TYPES, UNICODE, UNSIGNED, WORDS, Family, N, X, Y, names, numbers, text_file


def npy(family: Family) -> None:
    labels = family.path("labels.npy")
    np.save(labels, Y)

    def add(path: Path) -> None:
        family.add(path, np.load(path), names(np.load(labels)), {"labels": labels})

    for kind in ["?", *TYPES]:
        for order in "CF":
            path = family.path(f"{np.dtype(kind).str[1:]}{'be' if kind[0] == '>' else ''}-{order}.npy")
            np.save(path, np.asarray(numbers(kind), order=order))
            add(path)

    def header(name: str, text: str, version: int = 1) -> None:
        text += "\n"
        length = struct.pack("<H" if version == 1 else "<I", len(text))
        head = b"\x93NUMPY" + bytes([version, 0]) + length + text.encode()
        add(text_file(family.path(f"header-{name}.npy"), head + X.tobytes()))

    plain = "{'descr': '<f8', 'fortran_order': False, 'shape': (12, 5), }"
    for version in (1, 2, 3):
        header(f"version-{version}", plain, version)
    header("blanks", "{ 'shape':(12,5),'fortran_order'  :  True ,'descr':'<f8'}")
    header("double-quotes", plain.replace("'", '"'))
    header("plus", plain.replace("12", "+12"))
    header("native", plain.replace("<f8", "=f8"))
    header("shape-twice", plain.replace("}", "'shape': (5, 12), 'shape': (12, 5)}"))
    header("type-twice", "{'descr': '<i8', 'fortran_order': True, 'shape': (12, 5), 'descr': '<f8'}")


def array_bytes(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(family: Family) -> None:
    def add(path: Path, samples=None, labels=None) -> None:
        there = np.load(path)
        samples = there["X"].reshape(N, -1) if samples is None else samples
        family.add(path, samples, names(there["y"] if labels is None else labels))

    def save(name: str, samples=None, labels=None, packed: bool = False, **variables) -> None:
        path = family.path(f"{name}.npz")
        (np.savez_compressed if packed else np.savez)(path, **{"X": X, "y": Y, **variables})
        add(path, samples, labels)

    for place, kind in enumerate(["?", *TYPES]):
        name = f"{np.dtype(kind).name}-{'be' if kind[0] == '>' else 'le'}"
        save(f"X-{name}", X=numbers(kind), packed=place % 2 == 1)
        save(f"y-{name}", y=(Y > 1 if kind == "?" else Y).astype(kind), packed=place % 2 == 0)
    save("columns", X, X=X.T)
    save("fortran", X=np.asfortranarray(X))
    save("fortran-columns", X, X=np.asfortranarray(X.T))
    save("strided", X=np.repeat(X, 2, axis=0)[::2])
    save("stack", X=np.arange(N * 6.0).reshape(N, 2, 3))
    for name, labels in {
        "words": WORDS,
        "unicode": UNICODE,
        "unicode-be": UNICODE.astype(">U4"),
        "emoji": np.array(["😀", "😁", "x"])[Y - 1],
        "bytes": WORDS.astype("S5"),
        "not-utf8": np.array([b"caf\xe9", b"caf\xe8", b"cafe"])[Y - 1],
        "blanks": np.array([" a", "a b", "a"])[Y - 1],
        "like-numbers": np.array(["1.0", "1", "+1"])[Y - 1],
        "like-missing": np.array(["NA", "None", "nan"])[Y - 1],
        "large": LARGE,
        "large-unsigned": UNSIGNED,
        "large-big-endian": LARGE.astype(">i8"),
        "halves": Y / 2,
        "singles": np.array([0.1, 0.2, 3], "f4")[Y - 1],
        "negative-zero": np.array([-0.0, 1, 2])[Y - 1],
        "huge": np.array([1e15 + 1, 2.0**70, 1e23])[Y - 1],
        "column": Y[:, None],
        "row": Y[None, :],
    }.items():
        save(f"labels-{name}", y=labels)
    classes = np.array(["ant", "bee", "cat"])
    save("class-names", labels=classes[Y - 1], y=Y - 1, class_names=classes)
    some = np.repeat([1, 2], 6)
    save("class-names-some", labels=classes[some], y=some, class_names=classes)
    save("class-names-from-1", labels=classes[some - 1], y=some, class_names=classes, first_class=1)
    save("scale", numbers("i4") * 0.5, X=numbers("i4"), scale=0.5)
    save("other-names", samples=X, X=X, data=X * 2, fea=X * 3)

    def archive(name: str, members: list[tuple[str, bytes]], comment: bytes = b"", wide: bool = False) -> None:
        path = family.path(f"{name}.npz")
        with zipfile.ZipFile(path, "w") as file:
            file.comment = comment
            for member, content in members:
                with file.open(member, "w", force_zip64=wide) as out:
                    out.write(content)
        add(path)

    good = [("X.npy", array_bytes(X)), ("y.npy", array_bytes(Y))]
    archive("wide", good, wide=True)
    archive("comment", good, comment=b"c" * 3000)
    archive("other-members", [("readme.txt", b"hello"), *good, ("a/X.npy", array_bytes(X * 2))])
    archive("longer-than-declared", [("X.npy", array_bytes(X) + bytes(8)), good[1]])
    archive("X-twice", [("X.npy", array_bytes(X * 2)), *good])
    archive("y-twice", [("y.npy", array_bytes(Y[::-1])), *good])
