"""Writes what fuzzing starts from: `python make_seeds.py FOLDER`, one sub-folder per target.

    pip install ./crates/atomlearn-py numpy onnx pillow

The data files are the fixtures of the reader tests; all others are made here.
"""

import io
import json
import shutil
import sys
from pathlib import Path

import atomlearn
import numpy as np
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

ROOT = Path(__file__).parents[2]
FIXTURES = {
    "mat5": ["plain.mat", "full.mat", "words.mat", "sparse.mat", "stack.mat"],
    "mat73": ["v73.mat", "plain.h5"],
    "npy": ["rows.npy", "fortran.npy", "labels.npy"],
    "npz": ["stored.npz", "packed.npz", "stack.npz"],
    "csv": ["header.csv", "index.tsv", "bare.csv", "labels.txt"],
    "libsvm": ["data.libsvm"],
    "parquet": ["table.parquet", "zstd.parquet"],
    "image": ["images/a/one.png", "images/b/one.pgm", "images/b/one.tif", "images/c/one.bmp", "images/d/one.jpg"],
}
PREPS = ["unit", "center,pca:2", "pca-uncentered:2,unit", "random:2", "standard", "kernel:rbf:auto:3"]


def models():
    """A small model of every class, the preprocessing in turn."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(8, 3)) + 3 * np.repeat(np.eye(2, 3), 4, axis=0), np.repeat(["a", "b"], 4)
    names = sorted(name for name in dir(atomlearn) if name.endswith("Classifier"))
    few = {"atoms_per_class": 2, "atoms": 4, "max_iter": 1}
    for i, name in enumerate(names):
        make = getattr(atomlearn, name)
        known = make().get_params()
        model = make(prep=PREPS[i % len(PREPS)], **{key: few[key] for key in few if key in known})
        try:
            model.fit(X, y)
        except ValueError:
            model = make().fit(X, y)
        model.save("model.tmp")
        yield name, Path("model.tmp").read_bytes()
    for kind in ({"kind": "pixels", "frame": {"rows": 1, "cols": 3, "fit": "stretch"}}, {"kind": "onnx"}):
        yield f"features-{kind['kind']}", with_features(Path("model.tmp").read_bytes(), kind)
    Path("model.tmp").unlink()


def with_features(model, spec):
    """The model with a feature map. Its digest is wrong then, and the target mends it."""
    length = int.from_bytes(model[:8], "little")
    head = json.loads(model[8 : 8 + length])
    own = json.loads(head["__metadata__"]["atomlearn"])
    own["features"] = {"format": "atomlearn.feature-map/1", "spec": spec, "dim": 3, "network": {"file": "n.onnx"}}
    head["__metadata__"]["atomlearn"] = json.dumps(own)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + model[8 + length :]


def network(*nodes, sides=("N", 3, 4, 4), **constants):
    """A network from `x` to `out`."""
    graph = helper.make_graph(
        [helper.make_node(op, inputs.split(), [out], **attributes) for op, inputs, out, attributes in nodes],
        "fuzz",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, sides)],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()


def networks():
    """Few operators each, so that a changed byte changes what they do."""
    ramp = np.arange(12, dtype=np.float32)
    whole = lambda *values: np.array(values, np.int64)  # noqa: E731
    flat = ("Flatten", "x", "flat", {})
    yield "dense", network(flat, ("MatMul", "flat w", "out", {}), w=np.resize(ramp, (48, 2)))
    yield "gemm", network(flat, ("Gemm", "flat w b", "out", {"alpha": 0.5}), w=np.resize(ramp, (48, 2)), b=ramp[:2])
    conv = ("Conv", "x w", "c", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]})
    pool = ("MaxPool", "c", "out", {"kernel_shape": [2, 2], "strides": [2, 2]})
    yield "conv", network(conv, pool, w=np.resize(ramp, (2, 3, 3, 3)))
    yield "norm", network(("BatchNormalization", "x s s s s", "out", {}), s=ramp[1:4])
    yield "reshape", network(("Reshape", "x shape", "out", {}), shape=whole(0, -1))
    yield "slice", network(("Slice", "x a b c", "out", {}), a=whole(0), b=whole(2), c=whole(3))
    yield "fill", network(("ConstantOfShape", "shape", "z", {}), ("Add", "x z", "out", {}), shape=whole(1, 3, 4, 4))
    yield "expand", network(("Expand", "x shape", "out", {}), shape=whole(1, 3, 4, 4))
    yield "tile", network(("Tile", "x r", "out", {}), r=whole(1, 1, 2, 1))
    yield "pad", network(("Pad", "x p", "out", {}), p=whole(0, 0, 1, 1, 0, 0, 1, 1))
    yield "transpose", network(("Transpose", "x", "out", {"perm": [0, 2, 3, 1]}), sides=("N", 4, 4, 3))
    yield "average", network(("GlobalAveragePool", "x", "g", {}), ("Softmax", "g", "out", {"axis": 1}))
    yield "gather", network(("Gather", "x i", "out", {"axis": 1}), i=whole(0, 2))
    yield "resize", network(("Resize", "x e s", "out", {}), e=ramp[:0], s=np.array([1, 1, 2, 2], np.float32))
    yield "lrn", network(("LRN", "x", "l", {"size": 3}), ("Clip", "l", "c", {}), ("Sigmoid", "c", "out", {}))
    yield "range", network(("Range", "a b c", "r", {}), ("Add", "x r", "out", {}), a=ramp[0], b=ramp[4], c=ramp[1])


def pictures():
    """Grey, colour, palette, 16 bit and bilevel, in every format that can hold them."""
    grey = Image.fromarray((np.arange(20).reshape(4, 5) * 12).astype(np.uint8))
    deep = Image.fromarray((np.arange(20).reshape(4, 5) * 3000).astype(np.uint16))
    kinds = {"grey": grey, "colour": grey.convert("RGB"), "palette": grey.convert("P"), "bits": grey.convert("1")}
    kinds |= {"alpha": grey.convert("RGBA"), "deep": deep}
    for kind, image in kinds.items():
        for name in ("png", "jpeg", "tiff", "bmp", "ppm"):
            out = io.BytesIO()
            try:
                image.save(out, name)
            except (OSError, ValueError):
                continue
            yield f"{kind}.{name}", out.getvalue()


def requests():
    """The first byte says which request it is; see requests.rs."""
    row = [round(0.1 * i, 1) for i in range(16)]
    array = io.BytesIO()
    np.save(array, np.array([row, row]))
    image = io.BytesIO()
    Image.fromarray(np.arange(16, dtype=np.uint8).reshape(4, 4)).save(image, "png")
    bodies = {
        0: [json.dumps([row, row]), json.dumps(row), json.dumps({"rows": [row]}), "[[1e400]]", "[[null]]"],
        1: [array.getvalue()],
        2: [image.getvalue()],
        3: ["x"],
    }
    for kind, list_of_bodies in bodies.items():
        for i, body in enumerate(list_of_bodies):
            body = body.encode() if isinstance(body, str) else body
            for more in (0, 4, 8, 12):
                yield f"{kind + more}-{i}", bytes([kind + more]) + body


def splits():
    """For ten samples of two classes."""
    even = {"train": [0, 1, 2, 3], "test": [4, 5, 6, 7, 8, 9]}
    yield "good", json.dumps({"schema": "atomlearn.splits/1", "splits": [even, even]}).encode()
    digest = "0" * 64
    text = {"schema": "atomlearn.splits/1", "data_sha256": digest, "splits": [{"train": [0, 0], "test": [-1]}]}
    yield "bad", json.dumps(text).encode()


def recipes():
    """The recipes themselves, and a file of parameters."""
    for path in sorted((ROOT / "crates" / "atomlearn-lab" / "recipes").glob("*.toml")):
        yield path.name, path.read_bytes()
    yield "params", b'method = "crc"\nprep = "unit"\n\n[params]\nkappa = 0.01\n'


def main(folder):
    made = {"model": models, "onnx": networks, "image": pictures, "request": requests}
    made |= {"splits": splits, "recipe": recipes}
    for target in FIXTURES.keys() | made.keys():
        (folder / target).mkdir(parents=True, exist_ok=True)
    for target, names in FIXTURES.items():
        for name in names:
            shutil.copy(ROOT / "crates" / "atomlearn" / "tests" / "data" / name, folder / target)
    for target, make in made.items():
        for name, content in make():
            (folder / target / name).write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
