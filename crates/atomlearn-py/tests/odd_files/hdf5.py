"""Plain HDF5, as h5py writes it."""

from __future__ import annotations

import h5py
import numpy as np

from .common import LARGE, TYPES, UNICODE, UNSIGNED, WORDS, D, Family, N, X, Y, names, numbers


def hdf5(family: Family) -> None:
    def save(name: str, fill, labels=None, **options) -> None:
        path = family.path(f"{name}.h5")
        with h5py.File(path, "w", **options) as file:
            fill(file)
            if "y" not in file:
                file["y"] = Y
            if "X" not in file:
                file["X"] = X
        with h5py.File(path) as file:
            samples = read_double(file["X"])
            found = file["y"][()] if labels is None else labels
        samples = samples if len(samples) == N else samples.T
        family.add(path, samples.reshape(N, -1), names(found))

    def versions(name: str) -> tuple[str, str]:
        return (name, "latest" if name == "earliest" else name)

    def put(**variables):
        return lambda file: [file.create_dataset(name, data=value) for name, value in variables.items()]

    for kind in ["?", *TYPES]:
        name = f"{np.dtype(kind).name}{'-be' if kind[0] == '>' else ''}"
        save(f"X-{name}", put(X=numbers(kind)))
        save(f"y-{name}", put(y=(Y > 1 if kind == "?" else Y).astype(kind)))
    for version in ("earliest", "v108", "v110", "latest"):
        save(f"version-{version}", put(X=X), libver=versions(version))
    save("columns", put(X=X.T))
    save("column-labels", put(y=Y[:, None]))
    save("stack", put(X=np.arange(N * 6.0).reshape(N, 2, 3)))
    save("user-block", put(X=X), userblock_size=2048)
    save("labels-large", put(y=LARGE))
    save("labels-large-unsigned", put(y=UNSIGNED))
    save("labels-text", put(y=list(map(str, WORDS))))
    save("labels-unicode", put(y=list(map(str, UNICODE))))
    save("labels-fixed", put(y=WORDS.astype("S5")))

    def padded(file) -> None:
        kind = h5py.h5t.C_S1.copy()
        kind.set_size(5)
        kind.set_strpad(h5py.h5t.STR_SPACEPAD)
        there = h5py.h5d.create(file.id, b"y", kind, h5py.h5s.create_simple((N,)))
        there.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([word.ljust(5) for word in WORDS], "S5"), mtype=kind)

    save("labels-padded", padded, labels=WORDS)

    chunked = {
        "chunks": {},
        "gzip": {"compression": "gzip"},
        "shuffle": {"shuffle": True},
        "gzip-shuffle": {"compression": "gzip", "shuffle": True},
        "checksum": {"fletcher32": True},
        "gzip-shuffle-checksum": {"compression": "gzip", "shuffle": True, "fletcher32": True},
        "lzf": {"compression": "lzf"},
        "growing-rows": {"maxshape": (None, D)},
        "scaled": {"scaleoffset": 4},
    }
    # What the newest version of the library stores otherwise is refused: chunks of format 5, and trees of format 2.
    save("growing", lambda file: file.create_dataset("X", data=X, chunks=(5, 2), maxshape=(None, None)))
    for version in ("earliest", "v110"):
        for name, options in chunked.items():
            options = {"chunks": (5, 2), **options}
            save(f"{name}-{version}", lambda f, o=options: f.create_dataset("X", data=X, **o), libver=versions(version))
        save(f"one-by-one-{version}", lambda f: f.create_dataset("X", data=X, chunks=(1, 1)), libver=versions(version))

        def unwritten(file) -> None:
            file.create_dataset("X", shape=(N, D), dtype="f8", chunks=(4, 5), fillvalue=7.5)[:4] = X[:4]

        def shrunk(file) -> None:
            there = file.create_dataset("X", data=np.vstack([X, X * 9]), chunks=(5, 2), maxshape=(None, D))
            there.resize((N, D))

        def grown(file) -> None:
            there = file.create_dataset("X", data=X[:7], chunks=(5, 2), maxshape=(None, D))
            there.resize((N, D))
            there[7:] = X[7:]

        def never(file) -> None:
            file.create_dataset("X", shape=(N, D), dtype="f8", fillvalue=7.5)

        for fill in (unwritten, shrunk, grown, never):
            save(f"{fill.__name__}-{version}", fill, libver=versions(version))

    def compact(file) -> None:
        options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        options.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((N, D))
        there = h5py.h5d.create(file.id, b"X", h5py.h5t.IEEE_F64LE, space, dcpl=options)
        there.write(h5py.h5s.ALL, h5py.h5s.ALL, X)

    def hard_link(file) -> None:
        file["group/inner"] = X
        file["X"] = file["group/inner"]

    def committed(file) -> None:
        file["kind"] = np.dtype("f8")
        file.create_dataset("X", data=X, dtype=file["kind"])

    for fill in (compact, hard_link, committed):
        save(fill.__name__.replace("_", "-"), fill)

    for base in ("u1", "i1", "<i4", ">u2"):
        kind = h5py.enum_dtype({"a": 1, "b": 2, "c": 3}, basetype=base)
        name = f"{np.dtype(base).name}{'-be' if base[0] == '>' else ''}"
        save(f"y-enum-{name}", lambda f, k=kind, b=base: f.create_dataset("y", data=Y.astype(b), dtype=k))
        many = h5py.enum_dtype({f"v{i}": i for i in range(100)}, basetype=base)
        values = np.abs(20 * X).astype(base)
        save(f"X-enum-{name}", lambda f, k=many, v=values: f.create_dataset("X", data=v, dtype=k))

    def typed(name: str, kind, values: np.ndarray) -> None:
        def fill(file) -> None:
            there = h5py.h5d.create(file.id, b"X", kind, h5py.h5s.create_simple((N, D)))
            there.write(h5py.h5s.ALL, h5py.h5s.ALL, values)

        save(name, fill)

    for name, start, (sign, exponent, bits, mantissa), bias, size in [
        ("bfloat16", h5py.h5t.IEEE_F32LE, (15, 7, 8, 7), 127, 2),
        ("bfloat16-be", h5py.h5t.IEEE_F32BE, (15, 7, 8, 7), 127, 2),
        ("float8", h5py.h5t.IEEE_F32LE, (7, 2, 5, 2), 15, 1),
        ("float24", h5py.h5t.IEEE_F32LE, (23, 16, 7, 16), 63, 3),
        ("float32-bias-100", h5py.h5t.IEEE_F32LE, (31, 23, 8, 23), 100, 4),
        ("float63", h5py.h5t.IEEE_F64LE, (62, 52, 10, 52), 511, 8),
    ]:
        kind = start.copy()
        kind.set_fields(sign, exponent, bits, 0, mantissa)
        kind.set_ebias(bias)
        kind.set_precision(sign + 1)
        kind.set_size(size)
        typed(name, kind, X)
    for name, start, precision, offset in [
        ("uint16-12-bits-from-4", h5py.h5t.STD_U16LE, 12, 4),
        ("uint16-be-12-bits-from-4", h5py.h5t.STD_U16BE, 12, 4),
        ("int16-12-bits", h5py.h5t.STD_I16LE, 12, 0),
        ("int32-20-bits-from-3", h5py.h5t.STD_I32LE, 20, 3),
        ("int64-40-bits-from-8", h5py.h5t.STD_I64BE, 40, 8),
    ]:
        kind = start.copy()
        kind.set_precision(precision)
        kind.set_offset(offset)
        typed(name, kind, (100 * (np.abs(X) if name[0] == "u" else X)).astype("u2" if name[0] == "u" else "i2"))


def read_double(dataset: h5py.Dataset) -> np.ndarray:
    """The values as HDF5's own conversion makes them 64-bit floats, since NumPy has no type for some."""
    values = np.empty(dataset.shape)
    if dataset.dtype.kind in "b" or h5py.check_enum_dtype(dataset.dtype):
        return dataset[()].astype(float)
    dataset.id.read(h5py.h5s.ALL, h5py.h5s.ALL, values)
    return values
