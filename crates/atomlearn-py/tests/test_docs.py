"""What the documents say works as written."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))


def snippets(path):
    return re.findall(r"^```python\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


def run(script, folder):
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("page, least", [("docs/tutorial/python.md", 9), ("docs/howto/export.md", 1), ("README.md", 1)])
def test_snippets_run_in_order(page, least, tmp_path):
    found = snippets(ROOT / page)
    assert len(found) >= least
    (tmp_path / "page.py").write_text("\n".join(found))
    run(tmp_path / "page.py", tmp_path)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(example, tmp_path):
    assert "accuracy" in (said := run(example, tmp_path)) or "test" in said
