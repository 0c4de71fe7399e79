"""Tables: Parquet, CSV and TSV, LIBSVM."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_svmlight_file

from .common import INTEGERS, LARGE, UNICODE, UNSIGNED, WORDS, D, Family, X, Y, names, numbers, text_file


def parquet(family: Family) -> None:
    def save(name: str, table, **options) -> None:
        path = family.path(f"{name}.parquet")
        if isinstance(table, pd.DataFrame):
            table = pa.Table.from_pandas(table, preserve_index=False)
        pq.write_table(table, path, **options)
        frame = pd.read_parquet(path)
        labels = frame.pop("label")
        family.add(path, frame.to_numpy(dtype=float), names(labels))

    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(D)]).assign(label=Y)
    columns = {f"f{i}": X[:, i] for i in range(D)}
    for codec in ("none", "snappy", "gzip", "zstd"):
        save(codec, frame, compression=codec)
    for version in ("1.0", "2.4", "2.6"):
        for page in ("1.0", "2.0"):
            save(f"version-{version}-pages-{page}", frame, version=version, data_page_version=page)
    save("no-dictionary", frame, use_dictionary=False)
    save("row-groups", frame, row_group_size=5)
    save("row-groups-of-one", frame, row_group_size=1)
    save("small-pages", frame, data_page_size=8, write_batch_size=1)
    plain = {f"f{i}": "PLAIN" for i in range(D)}
    split = {f"f{i}": "BYTE_STREAM_SPLIT" for i in range(D)} | {"label": "PLAIN"}
    save("byte-stream-split", frame, use_dictionary=False, column_encoding=split)
    save("delta", frame, use_dictionary=False, column_encoding=plain | {"label": "DELTA_BINARY_PACKED"})
    for encoding in ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"):
        options = {"use_dictionary": False, "column_encoding": plain | {"label": encoding}}
        save(encoding.lower(), frame.assign(label=WORDS), **options)
    for kind in ["?", *INTEGERS, "f4", "f8"]:
        values = numbers(kind)
        save(f"X-{np.dtype(kind).name}", pa.table({f"f{i}": values[:, i] for i in range(D)} | {"label": Y}))
        labels = (Y > 1 if kind == "?" else Y).astype(kind)
        save(f"y-{np.dtype(kind).name}", pa.table(columns | {"label": labels}))
    unsigned = np.array([2**64 - 1, 2**63, 2**53 + 1] * 4, "u8")
    save("X-large-unsigned", frame.assign(f0=unsigned, f1=unsigned.astype("u4")))
    save("nullable", pa.table({f"f{i}": pa.array(X[:, i], pa.float64()) for i in range(D)} | {"label": pa.array(Y)}))
    for name, labels in {
        "text": pa.array(WORDS),
        "unicode": pa.array(UNICODE),
        "large-text": pa.array(WORDS, pa.large_string()),
        "binary": pa.array([word.encode() for word in WORDS]),
        "not-utf8": pa.array([[b"caf\xe9", b"caf\xe8", b"cafe"][i - 1] for i in Y]),
        "categories": pa.array(WORDS).dictionary_encode(),
        "number-categories": pa.array(Y).dictionary_encode(),
        "like-missing": pa.array(np.array(["NA", "None", "nan"])[Y - 1]),
        "large": LARGE,
        "large-unsigned": UNSIGNED,
        "halves": Y / 2,
        "singles": np.array([0.1, 0.2, 3], "f4")[Y - 1],
    }.items():
        save(f"labels-{name}", pa.table(columns | {"label": labels}))


def tables(family: Family) -> None:
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(D)]).assign(label=Y)
    plain = frame.to_csv(index=False)

    def save(name: str, text: str | bytes, ending: str = "csv", labels=None, **options) -> None:
        path = text_file(family.path(f"{name}.{ending}"), text)
        there = pd.read_csv(path, float_precision="round_trip", **options)
        found = there.pop("label") if "label" in there else there.pop(there.columns[-1])
        family.add(path, there.to_numpy(float), names(found if labels is None else labels))

    def relabelled(labels) -> str:
        return frame.assign(label=labels).to_csv(index=False, quoting=csv.QUOTE_MINIMAL)

    save("plain", plain)
    save("byte-order-mark", b"\xef\xbb\xbf" + plain.encode())
    first = frame[["label", *list(frame)[:D]]]
    save("byte-order-mark-label-first", b"\xef\xbb\xbf" + first.to_csv(index=False).encode())
    save("windows-lines", plain.replace("\n", "\r\n"))
    save("no-last-newline", plain.rstrip())
    save("blank-lines", plain.replace("\n", "\n\n"))
    save("quotes", frame.to_csv(index=False, quoting=csv.QUOTE_ALL))
    save("semicolons", frame.to_csv(index=False, sep=";"), sep=";")
    save("tabs", frame.to_csv(index=False, sep="\t"), ending="tsv", sep="\t")
    save("blanks-around", plain.replace(",", " , "), labels=Y, skipinitialspace=True)
    save("exponents", frame.to_csv(index=False, float_format="%.17e"))
    hard = [
        "9007199254740993",
        "0.1",
        "2.2250738585072011e-308",
        "4.9e-324",
        "1.7976931348623157e308",
        "3." + "1" * 5000,
    ]
    save("hard-numbers", frame.assign(f0=hard * 2).to_csv(index=False))
    save("short-numbers", frame.assign(f0=["1.", ".5", "+3", "-0", "1E2", "1e-2"] * 2).to_csv(index=False))
    save("words", relabelled(WORDS))
    save("unicode", relabelled(UNICODE))
    save("quoted-words", relabelled(np.array(["a,b", "c\nd", 'e"f'])[Y - 1]))
    save("true-false", relabelled(np.array(["true", "false", "maybe"])[Y - 1]))
    save("large-labels", relabelled(LARGE))
    save("large-unsigned-labels", relabelled(UNSIGNED))
    save("float-labels", relabelled(Y.astype(float)))
    save("half-labels", relabelled(Y / 2))
    save("labels-in-many-forms", relabelled(["1", "+1", "1.0", "1e0", "2", "2.", "+2.00", "20e-1", "3", "3", "3", "3"]))
    # A number keeps its name among words, where pandas has texts.
    among = ["1", "1.0", "+1", "1e0", *WORDS[4:]]
    save("numbers-among-words", relabelled(among), labels=["1", "1", "1", "1", *WORDS[4:]])
    save("lower-case-none", relabelled(np.array(["none", "na", "yes"])[Y - 1]))
    # Zeros in front make codes, which pandas has to be told.
    save("codes", relabelled(np.array(["007", "07", "7"])[Y - 1]), dtype={"label": str})


def libsvm(family: Family) -> None:
    def save(name: str, text: str | bytes, samples=None, labels=None) -> None:
        path = text_file(family.path(f"{name}.libsvm"), text)
        if samples is None:
            found, classes = load_svmlight_file(str(path), zero_based=False)
            samples, labels = found.toarray(), names(classes) if labels is None else labels
        family.add(path, samples, labels)

    full = [f"{label} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist())) for label, row in zip(Y, X)]
    save("full", "\n".join(full))
    save("sparse", "1 1:1 2:2\n2 1:3 3:4\n")
    save("signs", "+1 1:1\n-1 1:3\n")
    save("floats-as-labels", "1.0 1:1\n1e0 1:3\n+1 1:2\n2 1:4\n")
    save("half-labels", "0.5 1:1\n1.5 1:3\n")
    save("windows-lines", "1 1:1\r\n2 1:3\r\n")
    save("blank-lines", "\n1 1:1\n\n\n2 1:3\n\n")
    save("tabs", "1\t1:1\t2:5\n2\t1:3\n")
    save("comments", "# head\n1 1:1 # x 2:5\n2 1:3#y\n")
    save("no-entries", "1\n2 1:3\n")
    save("queries", "1 qid:3 1:1\n2 qid:4 1:3\n")
    save("exponents", "1 1:1e-3 2:-2.5E+2\n2 1:.5 2:3.\n")
    save("zeros-in-front", "1 01:1 002:4\n2 1:3\n")
    # scikit-learn refuses these, whose meaning is clear all the same.
    save("byte-order-mark", b"\xef\xbb\xbf1 1:1\n2 1:3\n", [[1], [3]], ["1", "2"])
    save("unsorted", "1 2:2 1:1\n2 3:4 1:3\n", [[1, 2, 0], [3, 0, 4]], ["1", "2"])
    save("words", "cat 1:1\ndog 1:3\n", [[1], [3]], ["cat", "dog"])
    save("several", "1,2 1:1\n2 1:3\n", [[1], [3]], ["1,2", "2"])
    save("large-labels", f"{2**60} 1:1\n{2**60 + 1} 1:3\n", [[1], [3]], [str(2**60), str(2**60 + 1)])
