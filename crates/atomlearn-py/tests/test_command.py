"""The command that the wheel brings along does what the binary does."""

import os
import signal
import subprocess
import sys
import time

import pytest

TABLE = "a,b,kind\n" + "".join(f"{i % 7},{i % 5 + 9 * (i % 2)},{'xy'[i % 2]}\n" for i in range(40))
MODULE = [sys.executable, "-m", "atomlearn"]


@pytest.fixture
def place(tmp_path):
    (tmp_path / "data.csv").write_text(TABLE)
    (tmp_path / "no model").write_bytes(b"nothing")
    return tmp_path


def run(program, words, place, **more):
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    return subprocess.run([*program, *words], cwd=place, env=environment, capture_output=True, timeout=120, **more)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        (["compare", "--help"], 0),
        (["methods", "crc"], 0),
        (["--json", "inspect", "data.csv"], 0),
        (["cite", "auto"], 0),
        ([], 2),
        (["trian", "data.csv"], 2),
        (["train", "data.csv", "--method", "crcc"], 2),
        (["predict", "no model", "data.csv"], 3),
        (["inspect", "not there.csv"], 3),
        (["inspect", "h\u00f6he.csv"], 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_same_words_same_answer(words, code, place, command_line):
    binary, module = (run(program, words, place) for program in ([command_line], MODULE))
    assert (module.returncode, module.stdout, module.stderr) == (code, binary.stdout, binary.stderr)
    assert binary.returncode == code


def test_models_are_the_same_to_the_bit(place, command_line):
    for program, name in (([command_line], "binary"), (MODULE, "module")):
        done = run(program, ["train", "data.csv", "--method", "crc", "-o", name], place)
        assert done.returncode == 0, done.stderr
    assert (place / "binary").read_bytes() == (place / "module").read_bytes()


def test_records_name_the_command_that_was_typed(place):
    done = run(MODULE, ["--json", "compare", "data.csv", "--methods", "crc", "--records", "runs.jsonl"], place)
    assert done.returncode == 0, done.stderr
    assert '"command":"atomlearn --json compare data.csv' in (place / "runs.jsonl").read_text()


def test_standard_input_and_a_reader_that_leaves(place):
    assert run(MODULE, ["train", "-", "--method", "crc", "-o", "piped"], place, input=TABLE.encode()).returncode == 0
    shell = subprocess.run(
        ["bash", "-c", f"set -o pipefail; '{sys.executable}' -m atomlearn methods --json | head -c 1"],
        cwd=place, capture_output=True, timeout=120,
    )  # fmt: skip
    assert (shell.returncode, shell.stderr) == (0, b"")


def test_closed_streams_lead_nowhere(place):
    line = f"'{sys.executable}' -m atomlearn train data.csv --method crc -o made >&- 2>&-"
    assert subprocess.run(["bash", "-c", line], cwd=place, timeout=120).returncode == 0
    assert run(MODULE, ["inspect", "made"], place).returncode == 0


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for other processes")
def test_interrupted_at_once_with_the_code_of_the_binary(place):
    words = ["train", "data.csv", "--method", "ksvd", "--set", "max_iter=1000000", "--checkpoint", "state", "-o", "m"]
    child = subprocess.Popen([*MODULE, *words], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (place / "state").exists():
        assert child.poll() is None and time.monotonic() < deadline, child.stderr.read()
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=20) == 130
    assert b"Traceback" not in child.stderr.read()
