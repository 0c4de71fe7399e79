"""Writes the files `hostile-*` of the corpus: `python make_hostile.py FOLDER`, one sub-folder per target.

    pip install numpy h5py pyarrow

Each is small, and would take minutes, gigabytes or the stack of a reader that believes what it says. See the table in
docs/measurements/reliability.md.
"""

import io
import json
import struct
import sys
import zipfile
import zlib
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GZIP = {"compression": "gzip", "compression_opts": 9}


# MATLAB, version 5


def element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + b"\0" * (-len(data) % 8)


def variable(name, kind, sizes, *parts):
    """One compressed variable; `parts` are type and bytes."""
    body = element(6, struct.pack("<II", kind, 10)) + element(5, struct.pack(f"<{len(sizes)}i", *sizes))
    body += element(1, name.encode()) + b"".join(element(*part) for part in parts)
    packed = zlib.compress(struct.pack("<II", 14, len(body)) + body, 9)
    return struct.pack("<II", 15, len(packed)) + packed


def mat5(*variables):
    return b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM" + b"".join(variables)


def zigzag(n):
    """Column starts that visit all entries in every second column."""
    starts = np.zeros(n + 1, "<u4")
    starts[1::2] = n
    return starts


def mat5_files():
    for n in (50_000, 8_000_000):
        parts = (5, np.zeros(n, "<i4").tobytes()), (5, zigzag(n).tobytes()), (2, b"\1" * n)
        yield f"sparse-zigzag-{n}", mat5(variable("X", 5, (1, n), *parts))
    n = 4_000_000
    samples = variable("X", 9, (1, 2), (2, b"\0\0"))
    yield "cells", mat5(variable("y", 1, (n, 1), *[(14, b"")] * n), samples)
    n = 40_000_000
    yield "text", mat5(variable("y", 4, (n, 1), (2, b"a" * n)), samples)
    yield "zeros", mat5(variable("X", 9, (100, 400_000), (2, b"\0" * n)))


# HDF5 and MATLAB, version 7.3


def hdf5(fill, **options):
    out = io.BytesIO()
    with h5py.File(out, "w", **options) as file:
        fill(file)
    return out.getvalue()


def mat73_files():
    def sparse(file):
        n = 2_000_000
        group = file.create_group("X")
        group.attrs["MATLAB_class"], group.attrs["MATLAB_sparse"] = np.bytes_("double"), np.uint64(1)
        for name, data in {"ir": np.zeros(n, "u4"), "jc": zigzag(n), "data": np.ones(n, "u1")}.items():
            group.create_dataset(name, data=data, chunks=data.shape, **GZIP)

    def references(n, length):
        def fill(file):
            file.create_dataset("X", data=np.zeros((n, 2)), chunks=(n, 2), **GZIP)
            text = file.create_group("#refs#").create_dataset(
                "a", data=np.full((length, 1), 65, "u2"), chunks=(length, 1), **GZIP
            )
            text.attrs["MATLAB_class"] = np.bytes_("char")
            cells = np.array([text.ref] * n, dtype=h5py.ref_dtype)[None]
            file.create_dataset("y", data=cells, chunks=(1, n), **GZIP).attrs["MATLAB_class"] = np.bytes_("cell")

        return fill

    def shared_text(n, length):
        def fill(file):
            file.create_dataset("X", data=np.zeros((n, 1), "i1"), chunks=(n, 1), **GZIP)
            one = file.create_dataset("z", data=["A" * length], dtype=h5py.string_dtype(), chunks=(1,))
            file.flush()
            entry = one.id.read_direct_chunk((0,))[1]
            labels = file.create_dataset("y", shape=(n,), dtype=h5py.string_dtype(), chunks=(n,), **GZIP)
            labels.id.write_direct_chunk((0,), zlib.compress(entry * n, 9))

        return fill

    def wide_text(file):
        file.create_dataset("X", data=np.zeros((8000, 1), "i1"))
        file.create_dataset("y", data=np.full(8000, b"a" * 20_000, "S20000"), chunks=(8000,), **GZIP)

    yield "sparse-zigzag", hdf5(sparse, libver="earliest")
    yield "references-long", hdf5(references(20_000, 200_000))
    yield "references-many", hdf5(references(400_000, 20))
    yield "shared-text-long", hdf5(shared_text(20_000, 20_000))
    yield "shared-text-many", hdf5(shared_text(4_000_000, 1))
    yield "wide-text", hdf5(wide_text)
    yield "index-tree", index_tree(64, 1, 12)
    yield "same-chunk", index_tree(1 << 20, 1 << 20, 1, **GZIP)


def index_tree(rows, chunk, levels, **options):
    """A chunk index whose nodes all point, with every entry, to the next one: 64^levels ways to the leaf, and in it 64
    entries for one chunk."""

    def fill(file):
        file.create_dataset("X", data=np.ones((rows, 2)), chunks=(chunk, 2), **options)

    file = bytearray(hdf5(fill, libver="earliest"))
    root, key, entries = file.index(b"TREE\1"), 32, 64
    entry = key + 8
    size = 24 + entries * entry + key
    leaf = bytearray(file[root : root + size])
    leaf[6:8] = struct.pack("<H", entries)
    first, last = leaf[24 : 24 + entry], leaf[24 + entry : 24 + entry + key]
    leaf[24:] = first * entries + last
    addresses = [root] + [len(file) + i * size for i in range(levels)]
    for i, address in enumerate(addresses[:-1]):
        node = bytearray(leaf)
        node[5] = levels - i
        for k in range(entries):
            struct.pack_into("<Q", node, 24 + k * entry + key, addresses[i + 1])
        file[address : address + size] = node
    file += leaf
    struct.pack_into("<Q", file, 40, len(file))  # the end of the file, in the superblock
    return bytes(file)


# Parquet


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def thrift(*fields):
    """A struct of (number, value): whole numbers, (64-bit) text, lists and structs made here."""
    out, last = b"", 0
    for number, value in fields:
        if isinstance(value, int):
            kind, data = 5, varint(2 * value if value >= 0 else -2 * value - 1)
        elif isinstance(value, tuple):
            kind, data = 6, varint(2 * value[0])
        elif isinstance(value, str):
            kind, data = 8, varint(len(value)) + value.encode()
        elif isinstance(value, list):
            inner = 8 if isinstance(value, Text) else 12 if isinstance(value[0], bytes) else 5
            items = [varint(2 * item) if inner == 5 else item for item in value]
            kind, data = 9, bytes([0xF0 | inner]) + varint(len(items)) + b"".join(items)
        else:
            kind, data = 12, value
        out += bytes([(number - last) << 4 | kind]) + data
        last = number
    return out + b"\0"


class Text(list):
    """A list of one text."""

    def __init__(self, text):
        super().__init__([varint(len(text)) + text.encode()])


DOUBLE, BYTES = 5, 6


def parquet(rows, *columns, schema=None):
    """A table of one row group; a column is its type, its codec, and its pages."""
    file, chunks = b"PAR1", []
    for i, (kind, codec, pages) in enumerate(columns):
        body = b"".join(pages)
        meta = thrift(
            (1, kind),
            (2, [0]),
            (3, Text(f"c{i}")),
            (4, codec),
            (5, (rows,)),
            (6, (len(body),)),
            (7, (len(body),)),
            (9, (len(file),)),
        )
        chunks.append(thrift((2, (len(file),)), (3, meta)))
        file += body
    elements = schema or [thrift((4, "root"), (5, len(columns)))] + [
        thrift((1, kind), (3, 0), (4, f"c{i}")) for i, (kind, _, _) in enumerate(columns)
    ]
    group = thrift((1, chunks), (2, (len(file),)), (3, (rows,)))
    footer = thrift((1, 1), (2, elements), (3, (rows,)), (4, [group]))
    return file + footer + struct.pack("<I", len(footer)) + b"PAR1"


def page(rows, encoding, data, unpacked=None):
    head = thrift((1, rows), (2, encoding), (3, 3), (4, 3))
    return thrift((1, 0), (2, len(data) if unpacked is None else unpacked), (3, len(data)), (5, head)) + data


def dictionary(values, data):
    return thrift((1, 2), (2, len(data)), (3, len(data)), (7, thrift((1, values), (2, 0)))) + data


def deltas(count):
    """Delta coded lengths, all zero."""
    return varint(128) + varint(4) + varint(count) + varint(0) + varint(0) + b"\0" * 4


def parquet_files():
    word = struct.pack("<I", 1) + b"a"
    numbers = (DOUBLE, 0, [page(2, 0, bytes(16))])
    out = io.BytesIO()
    n = 20_000
    labels = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, "i4")), pa.array(["A" * 200_000]))
    table = pa.table({"f0": np.zeros(n), "label": labels})
    pq.write_table(table, out, compression="zstd", write_statistics=False, store_schema=False)
    yield "shared-label", out.getvalue()
    yield "page-size", parquet(2, numbers, (BYTES, 1, [page(2, 0, word * 2, unpacked=2**31 - 1)]))
    yield "dictionary-size", parquet(2, numbers, (BYTES, 0, [dictionary(2**31 - 1, word), page(2, 8, b"\1\4\0")]))
    yield "delta-lengths", parquet(2, numbers, (BYTES, 0, [page(2, 6, deltas(2**40))]))
    yield "delta-prefixes", parquet(2, numbers, (BYTES, 0, [page(2, 7, deltas(2) + deltas(2**40))]))
    bad = varint(128) + varint(4) + varint(2) + varint(2 * 99) + varint(0) + b"\0" * 4
    yield "delta-outside", parquet(2, numbers, (BYTES, 0, [page(2, 6, bad)]))
    packed = pa.Codec("zstd").compress(bytes(100 << 20), asbytes=True)
    yield "empty-pages", parquet(2, numbers, (BYTES, 6, [page(0, 0, packed, unpacked=100 << 20)] * 4))
    deep = (
        [thrift((4, ""), (5, 1))] + [thrift((3, 0), (4, ""), (5, 1))] * 20_000 + [thrift((1, DOUBLE), (3, 0), (4, ""))]
    )
    yield "schema-depth", parquet(2, numbers, schema=deep)


# NumPy


def npz_files():
    def archive(*members):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
            for name, shape, kind in members:
                text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
                head = b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text
                file.writestr(f"{name}.npy", head + bytes(int(np.prod(shape)) * np.dtype(kind).itemsize))
        return out.getvalue()

    yield "zeros", archive(("X", (60_000, 1000), "|i1"))
    yield "labels", archive(("X", (16_000_000, 1), "|i1"), ("y", (16_000_000,), "|i1"))
    yield "names", archive(("X", (16_000_000, 1), "|i1"), ("names", (16_000_000,), "|S1"))
    yield "text", archive(("X", (20_000, 1), "|i1"), ("y", (20_000,), "<U2000"))


# Pictures and models


def image_files():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 3, 8, 0, 0, 0, 0))
    profile = chunk(b"iCCP", b"k\0\0" + zlib.compress(bytes(160 << 20), 9))
    rows = chunk(b"IDAT", zlib.compress(bytes(15)))
    yield "profile", b"\x89PNG\r\n\x1a\n" + head + profile + rows + chunk(b"IEND", b"")


def model_files():
    """The digest is wrong, and the target puts it right."""

    def model(classes, prep, atoms, **parts):
        counts = [float(atoms // len(classes))] * len(classes)
        parts = {"dictionary": (atoms, [1.0] * atoms), "atom_counts": (len(classes), counts)} | parts
        own = {"sha256": "0" * 64, "format": "atomlearn.model/1", "method": "crc", "params": {}, "classes": classes}
        own |= {"prep": prep, "n_features": 1, "info": {}}
        head, data = {"__metadata__": {"atomlearn": json.dumps(own, separators=(",", ":"))}}, b""
        for name, (columns, values) in parts.items():
            shape = [columns, len(values) // columns if columns else 1]
            begin, data = len(data), data + np.array(values, "<f8").tobytes()
            head[name] = {"dtype": "F64", "shape": shape, "data_offsets": [begin, len(data)]}
        text = json.dumps(head).encode()
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text + data

    yield "empty-shift", model(["a", "b"], "center", 2, **{"prep.0.shift": (0, [])})
    yield "empty-basis", model(["a", "b"], "random:1", 2, **{"prep.0.basis": (0, [])})
    yield "class-twice", model(["a", "a"], "none", 2)
    yield "long-class", model(["a", "b" * 100_000], "none", 2)
    yield "many-atoms", model(["a", "b"], "none", 12_000)


def main(folder):
    made = {"mat5": mat5_files, "mat73": mat73_files, "parquet": parquet_files, "npz": npz_files}
    made |= {"image": image_files, "model": model_files}
    for target, make in made.items():
        (folder / target).mkdir(parents=True, exist_ok=True)
        for name, content in make():
            (folder / target / f"hostile-{name}").write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
