"""Types reach users through the public import."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT

EXAMPLE = ROOT / "examples" / "python" / "typed.py"
WRONG = """
import atomlearn
atomlearn.LCDLSVClassifier(max_iter="many")
atomlearn.nonsense
"""


def test_mypy_accepts_the_example_in_its_strict_mode_and_finds_what_is_wrong(tmp_path):
    pytest.importorskip("mypy")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)
    # Not in the repository's folder, whose settings are not those of users.
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        str(tmp_path / "cache"),
        str(EXAMPLE),
        str(wrong),
    ]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    errors = [line for line in said.splitlines() if ": error:" in line]
    assert len(errors) == 2 and all(line.startswith("wrong.py") or "/wrong.py" in line for line in errors), said
    assert "max_iter" in said and "nonsense" in said


def test_pyright_accepts_the_example_and_finds_what_is_wrong(tmp_path):
    pytest.importorskip("pyright")
    pyright = [sys.executable, "-m", "pyright"]
    if subprocess.run([*pyright, "--version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("pyright has not got Node.js, which it loads when it first runs")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)
    command = [*pyright, "--pythonpath", sys.executable, "--outputjson", str(EXAMPLE), str(wrong)]
    said = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout)
    errors = [entry for entry in said["generalDiagnostics"] if entry["severity"] == "error"]
    assert len(errors) == 2 and all(entry["file"].endswith("wrong.py") for entry in errors), errors
    assert "max_iter" in errors[0]["message"] and "nonsense" in errors[1]["message"]
