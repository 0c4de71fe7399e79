"""What onnxruntime makes of pictures, to hold `atomlearn features --kind onnx` against.

    python bench/onnx_golden.py make NETWORKS > crates/atomlearn-features/tests/golden/onnx.json
    python bench/onnx_golden.py compare NETWORK LAYER IMAGES FEATURES.npz

`make` takes a picture that both sides draw by formula through `tiny_vgg.onnx` and `efficientnet_lite0.onnx` of the
folder NETWORKS. `compare` takes every image of a folder through a network and compares with a feature file that
`atomlearn features IMAGES --kind onnx --onnx NETWORK --layer LAYER --preset efficientnet-lite` wrote.

Needs numpy, Pillow, onnx and onnxruntime.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from PIL import Image


def network(path, layer):
    """A function from one input to the values of a layer, which need not be an output."""
    model = onnx.load(str(path))
    if layer not in [output.name for output in model.graph.output]:
        model.graph.output.append(onnx.helper.make_empty_tensor_value_info(layer))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    entry = session.get_inputs()[0]
    return entry.shape[2], lambda x: session.run([layer], {entry.name: x[None]})[0].reshape(-1)


def prepare(image, size):
    """Shorter side to 256/224 of the input, bicubic; the middle; (x - 127) / 128; channels first."""
    image = image.convert("RGB")
    shorter = size * 256 // 224
    width, height = (side * shorter // min(image.size) for side in image.size)
    image = image.resize((width, height), Image.Resampling.BICUBIC)
    left, top = round((width - size) / 2), round((height - size) / 2)
    image = image.crop((left, top, left + size, top + size))
    return ((np.asarray(image, np.float32) - 127) / 128).transpose(2, 0, 1).copy()


def pattern(width, height):
    """The picture that the tests draw, too."""
    r, c, k = np.meshgrid(np.arange(height), np.arange(width), np.arange(3), indexing="ij")
    return Image.fromarray((((r * r + 2 * c * c) // (50 + 20 * k) + r * c // 40) % 256).astype(np.uint8))


def make(folder):
    golden = {}
    for name, layer in [("tiny_vgg", "fc6"), ("efficientnet_lite0", "features")]:
        size, run = network(Path(folder) / f"{name}.onnx", layer)
        golden[f"{name} {layer}"] = [float(v) for v in run(prepare(pattern(300, 260), size))]
    print(json.dumps(golden, indent=0))


def compare(path, layer, images, features):
    size, run = network(path, layer)
    data = np.load(features)
    norms, largest = [], []
    for name, found in zip(data["names"], data["X"]):
        expected = run(prepare(Image.open(Path(images) / str(name)), size))
        norms.append(np.linalg.norm(found - expected) / np.linalg.norm(expected))
        largest.append(np.abs(found - expected).max() / np.abs(expected).max())
    for title, values in [("|a - b| / |b|", norms), ("max |a - b| / max |b|", largest)]:
        middle, high = np.median(values), np.max(values)
        print(f"{len(values)} images, {title}: median {middle:.2e}, largest {high:.2e}")


if __name__ == "__main__":
    {"make": make, "compare": compare}[sys.argv[1]](*sys.argv[2:])
