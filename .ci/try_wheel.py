"""Installs the newest wheel of a folder into a new environment, and uses it as somebody does who has nothing else.

python .ci/try_wheel.py FOLDER [--largest MEGABYTES]
"""

import argparse
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

TABLE = "a,b,kind\n" + "".join(f"{i % 7},{i % 5 + 9 * (i % 2)},{'xy'[i % 2]}\n" for i in range(40))
PYTHON = "import atomlearn; print(atomlearn.load('m').predict([[1, 12], [1, 2]]).tolist())"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--largest", type=float, default=20, help="most megabytes that a wheel may have")
    args = parser.parse_args()
    wheel = max(args.folder.glob("*.whl"), key=lambda path: path.stat().st_mtime)
    megabytes = wheel.stat().st_size / 1e6
    print(f"{wheel.name}: {megabytes:.1f} MB")
    if megabytes > args.largest:
        sys.exit(f"larger than {args.largest} MB")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.monotonic()
        venv.create(folder / "venv", with_pip=True)
        programs = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")

        def run(program: str, *words: str) -> None:
            print("$", program, *words, flush=True)
            subprocess.run([programs / program, *words], cwd=folder, check=True)

        run("python", "-m", "pip", "install", "--quiet", str(wheel.resolve()))
        print(f"installed in {time.monotonic() - began:.0f} s")
        (folder / "data.csv").write_text(TABLE)
        run("atomlearn", "--version")
        run("atomlearn", "auto", "data.csv", "-o", "m")
        run("atomlearn", "predict", "m", "data.csv", "-o", "answers.csv")
        run("python", "-c", PYTHON)


if __name__ == "__main__":
    main()
