"""The documentation site is whole and loads nothing from elsewhere; `--strict` checks links and anchors."""

import re
import subprocess
import sys

import atomlearn
import pytest
from conftest import ROOT

pytest.importorskip("material", reason="MkDocs is not installed")

# What makes a browser fetch something by itself; links that people click are free to lead anywhere.
FETCHES = re.compile(
    r"""<(?:script|img|iframe|source|audio|video|embed)\b[^>]*?\bsrc=["']?(?:https?:)?//"""
    r"""|<link\b(?![^>]*rel=["']?canonical)[^>]*?\bhref=["']?(?:https?:)?//"""
    r"""|url\(["']?(?:https?:)?//|@import\s+["']?(?:url\()?["']?(?:https?:)?//""",
    re.IGNORECASE,
)


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_nothing_is_loaded_from_elsewhere(site):
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(pages) > 40
    assert FETCHES.search('<script src="https://example.org/x.js">') and FETCHES.search("url(//example.org/font)")
    for page in pages:
        assert not (found := FETCHES.search(page.read_text())), (page, found)


def test_every_method_and_class_has_its_place(site):
    methods = (ROOT / "docs/methods/README.md").read_text()
    for method in atomlearn.methods():
        assert re.search(rf"\[`{re.escape(method['key'])}`\]\([\w-]+\.md\)", methods), method["key"]
    api = (site / "reference/python.html").read_text()
    tutorial = (ROOT / "docs/tutorial/python.md").read_text()
    for name in set(atomlearn.__all__) - {"__version__", "kit", "plot"}:
        assert re.search(rf'id="atomlearn\.\w+\.{name}"', api), name
        if name.endswith("Classifier"):
            assert f"`{name}" in tutorial, name
