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


# Pages whose snippets do not run, and why.
NOT_RUN = {"docs/howto/scale.md": "needs a cluster and a shared folder; test_scaleout.py has both"}

PAGES = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if snippets(path)]
NAMES = [path.relative_to(ROOT).as_posix() for path in PAGES]


def test_the_pages_with_snippets_are_known():
    assert {"README.md", "docs/tutorial/python.md", *NOT_RUN} <= set(NAMES)
    assert len(snippets(ROOT / "docs/tutorial/python.md")) >= 9


@pytest.mark.parametrize("page", [name for name in NAMES if name not in NOT_RUN])
def test_snippets_run_in_order(page, tmp_path):
    found = snippets(ROOT / page)
    (tmp_path / "page.py").write_text("\n".join(found))
    run(tmp_path / "page.py", tmp_path)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(example, tmp_path):
    assert "accuracy" in (said := run(example, tmp_path)) or "test" in said


def test_lines_are_short_and_headings_stand_apart():
    """Lines of at most 100 columns outside tables, code and single long words; an empty line above every heading."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("crates/*/README.md")]
    assert len(pages) > 50
    for page in pages:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        lines = text.splitlines()
        for above, line in zip(["", *lines], lines):
            code_or_table = line.startswith(("|", "    "))
            assert len(line) <= 100 or code_or_table or " " not in line.strip("-[] "), f"{page}: {line}"
            assert not (line.startswith("#") and above.strip() and not above.startswith("<!--")), f"{page}: {line}"
