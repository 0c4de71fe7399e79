"""Nothing that Python writes destroys a file of another kind, as on the command line."""

import atomlearn
import numpy as np
import pytest
from atomlearn import CRCClassifier, load


@pytest.fixture(scope="module")
def model(digits):
    X, y, *_ = digits
    return CRCClassifier().fit(X, y)


@pytest.mark.parametrize("write, name", [("save", "a model"), ("to_onnx", "an ONNX file")])
def test_models_and_graphs_replace_their_own_kind_only(write, name, model, tmp_path):
    save = getattr(model, write)
    data = tmp_path / "data.csv"
    data.write_text("a,b,label\n1,2,x\n")
    with pytest.raises(FileExistsError, match=rf"exists and is not {name}.*force=True"):
        save(data)
    assert data.read_text() == "a,b,label\n1,2,x\n"
    save(data, force=True)
    assert data.read_bytes() != b"a,b,label\n1,2,x\n"
    save(data)
    (tmp_path / "empty").touch()
    save(tmp_path / "empty")
    with pytest.raises(ValueError, match="is a folder"):
        save(tmp_path, force=True)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        save(tmp_path / "none" / "file")


def test_links_are_followed(model, tmp_path):
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "notes")
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "link")
    assert (tmp_path / "notes").read_text() == "mine"


def test_other_kinds_are_named(model, tmp_path):
    model.save(tmp_path / "model")
    with pytest.raises(FileExistsError, match="is a model, not an ONNX file"):
        model.to_onnx(tmp_path / "model")
    load(tmp_path / "model")


def test_pages_and_records(digits, tmp_path):
    X, y, *_ = digits
    few = {"train_per_class": 3, "repeats": 1}
    records, page = tmp_path / "records.jsonl", tmp_path / "page.html"
    (tmp_path / "mine.html").write_text("<!doctype html>my own page")
    with pytest.raises(FileExistsError, match="not a report"):
        atomlearn.compare(X, y, ["crc"], report=tmp_path / "mine.html", **few)
    with pytest.raises(FileExistsError, match="nothing is appended"):
        atomlearn.compare(X, y, ["crc"], records=tmp_path / "mine.html", force=True, **few)
    with pytest.raises(ValueError, match="same file"):
        atomlearn.compare(X, y, ["crc"], records=records, report=records, **few)
    assert not records.exists()
    atomlearn.compare(X, y, ["crc"], records=records, report=page, **few)
    with pytest.raises(ValueError, match="same file as the input"):
        atomlearn.report(records, records, force=True)
    with pytest.raises(FileExistsError, match="not a report"):
        atomlearn.report(records, tmp_path / "mine.html")
    assert (tmp_path / "mine.html").read_text() == "<!doctype html>my own page"
    atomlearn.report(records, tmp_path / "mine.html", force=True)
    atomlearn.report(records, page)
    assert page.read_text() == (tmp_path / "mine.html").read_text()
    np.savez(tmp_path / "data.npz", X=X)
    with pytest.raises(FileExistsError):
        atomlearn.report(records, tmp_path / "data.npz")
