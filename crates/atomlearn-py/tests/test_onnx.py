"""Exported graphs in onnxruntime against the models they come from."""

import json
import os
from pathlib import Path

import atomlearn
import numpy as np
import pytest
from atomlearn._estimators import ESTIMATORS
from scipy.io import loadmat

onnxruntime = pytest.importorskip("onnxruntime")

EXPORTED = [
    "auto",
    "lcdl-sv",
    "svgdl",
    "crc",
    "procrc",
    "lrc",
    "cadl",
    "sadl",
    "dpl",
    "dpl-sv",
    "lcle-dl",
    "lctl",
    "analysis-ksvd",
    "ridge",
    "linear-svm",
    "rbf-svm",
    "lda",
]
PREPS = [
    "unit",
    "pca:30,unit",
    "standard,pca-uncentered:40,unit",
    "random:40,center",
    "unit,kernel:rbf:auto:60",
    "kernel:poly:2:50,unit",
    "kernel:laplacian:auto:40",
    "kernel:chi2:auto:40",
    "views(left@1-32=standard,unit|right@40-50+64=pca:5)",
]


@pytest.fixture(scope="module")
def faces():
    """Extended Yale B, 20 images per person to train on."""
    path = Path(os.environ.get("ATOMLEARN_DATA", ".")) / "EYaleB_54x48.mat"
    if not path.exists():
        pytest.skip("no real data: set ATOMLEARN_DATA to the folder that holds EYaleB_54x48.mat")
    data = loadmat(path)
    x, y = data["X"].T.astype(np.float64), data["y"].ravel().astype(int)
    train = np.concatenate([np.flatnonzero(y == c)[:20] for c in np.unique(y)])
    return x, y, train, np.setdiff1d(np.arange(len(y)), train)


def agree(estimator, x, path):
    estimator.to_onnx(path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    label, scores = session.run(["label", "scores"], {"x": np.ascontiguousarray(x, dtype=np.float64)})
    expected = estimator.model_.scores(np.ascontiguousarray(x, dtype=np.float64), 1)
    finite = np.isfinite(expected)
    assert (finite == np.isfinite(scores)).all()
    assert np.abs(scores - expected)[finite].max() < 1e-5
    assert list(label) == [str(found) for found in estimator.predict(x)]
    one = session.run(["label"], {"x": x[:1].astype(np.float64)})[0]
    assert one[0] == label[0]
    return session


@pytest.mark.parametrize("key", EXPORTED)
def test_every_closed_form_agrees_with_predict(key, digits, tmp_path):
    x, y, new, _ = digits
    estimator = ESTIMATORS[key](prep="pca:40,unit").fit(x, y)
    session = agree(estimator, new, tmp_path / "model.onnx")
    metadata = session.get_modelmeta().custom_metadata_map
    assert metadata["atomlearn.method"] == key
    assert json.loads(metadata["classes"]) == [str(c) for c in estimator.classes_]


def kernels(estimator):
    """Which kinds of kernel an `auto` model has chosen: a row per reading, with its gamma in the third place."""
    return {"linear" if gamma == 0 else "gaussian" for gamma in estimator.model_.parts()["chosen"][:, 2]}


def blobs(n, n_features, n_classes, spread):
    """Classes around means that lie far from zero, so that lengths and features differ."""
    rng = np.random.default_rng(4)
    y = np.arange(n) % n_classes
    scales = 10.0 ** rng.uniform(-2, 2, n_features)
    means = 3 + rng.normal(size=(n_classes, n_features))
    return scales * (means[y] + spread * rng.normal(size=(n, n_features))), y


@pytest.mark.parametrize("views", ["both", "unit", "standard", "given"])
def test_views_of_auto(views, digits, tmp_path):
    """Codes over a few hundred samples, of pixels and of few features."""
    x, y, new, _ = digits
    estimator = atomlearn.AutoClassifier(views=views).fit(x, y)
    agree(estimator, new, tmp_path / "pixels.onnx")
    few, labels = blobs(300, 6, 3, 1.0)
    other = atomlearn.AutoClassifier(views=views).fit(few[:150], labels[:150])
    agree(other, few[150:], tmp_path / "few.onnx")
    assert "gaussian" in kernels(estimator) | kernels(other)
    single = atomlearn.AutoClassifier(views=views, max_readings=1).fit(few[:150], labels[:150])
    agree(single, few[150:], tmp_path / "single.onnx")


def test_auto_of_many_samples(tmp_path):
    """Above 4000 samples codes are over features, Gaussian kernels by landmarks."""
    # So many that landmarks are few and training takes seconds; classes are shells, which no linear kernel separates.
    x = np.random.default_rng(4).normal(size=(60_000, 5))
    y = np.digitize((x**2).sum(axis=1), [3, 6])
    estimator = atomlearn.AutoClassifier(views="standard").fit(x, y)
    assert "samples" not in estimator.model_.parts() and "gaussian" in kernels(estimator)
    agree(estimator, x[:200], tmp_path / "many.onnx")


@pytest.mark.parametrize("rule", ["residual", "svm", "fused"])
def test_the_three_rules_of_lcdl_sv(rule, digits, tmp_path):
    x, y, new, _ = digits
    agree(atomlearn.LCDLSVClassifier(rule=rule, max_iter=3).fit(x, y), new, tmp_path / "model.onnx")


@pytest.mark.parametrize("prep", PREPS)
def test_every_preprocessing_step(prep, digits, tmp_path):
    x, y, new, _ = digits
    agree(ESTIMATORS["ridge"](prep=prep).fit(x, y), new, tmp_path / "model.onnx")


def test_zero_samples(digits, tmp_path):
    x, y, *_ = digits
    agree(atomlearn.LCDLSVClassifier(max_iter=1).fit(x, y), np.zeros((2, x.shape[1])), tmp_path / "model.onnx")


@pytest.mark.parametrize("key", EXPORTED)
def test_faces_behind_principal_directions(key, faces, tmp_path):
    x, y, train, test = faces
    iterations = {"max_iter": 2} if "max_iter" in ESTIMATORS[key]().get_params() else {}
    estimator = ESTIMATORS[key](prep="pca-uncentered:300,unit", **iterations).fit(x[train], y[train])
    agree(estimator, x[test], tmp_path / "faces.onnx")


@pytest.mark.parametrize("rule", ["residual", "svm", "fused"])
def test_the_three_rules_of_lcdl_sv_on_faces(rule, faces, tmp_path):
    x, y, train, test = faces
    estimator = atomlearn.LCDLSVClassifier(rule=rule, max_iter=2, prep="pca-uncentered:300,unit").fit(
        x[train], y[train]
    )
    agree(estimator, x[test], tmp_path / "faces.onnx")


@pytest.mark.parametrize("key", sorted(set(ESTIMATORS) - set(EXPORTED)))
def test_searches_are_refused_with_the_reason(key, digits, tmp_path):
    x, y, *_ = digits
    variant = {"variant": int(key[-1])} if key.startswith("lcksvd") else {}
    estimator = ESTIMATORS[key](prep="pca:20,unit", **variant).fit(x[::4], y[::4])
    with pytest.raises(ValueError, match="standard operators"):
        estimator.to_onnx(tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()
