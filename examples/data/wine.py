"""Writes the tables of the first tutorial from the wines that scikit-learn comes with.

    python examples/data/wine.py [FOLDER]                  a plain table
    python examples/data/wine.py [FOLDER] --spreadsheet    as an office program exports it: semicolons, decimal commas,
                                                           empty cells, names of the samples, remarks

`wine.csv` has 175 wines of three kinds, `new.csv` three more without their kind, `later.csv` the same three with it.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

NEW = (10, 95, 150)
KINDS = ("Barolo", "Grignolino", "Barbera")
REMARKS = ("", "", "", "repeated", "new instrument", "second bottle")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write wine.csv, new.csv and later.csv.")
    parser.add_argument("folder", nargs="?", default=".", type=Path)
    parser.add_argument("--spreadsheet", action="store_true", help="as an office program exports it")
    arguments = parser.parse_args()
    wines = load_wine()
    generator = np.random.default_rng(0)
    empty = generator.random(wines.data.shape) < 0.01
    rows = []
    for i, (values, kind) in enumerate(zip(wines.data, wines.target)):
        cells = ["" if arguments.spreadsheet and empty[i, j] else f"{value:g}" for j, value in enumerate(values)]
        if arguments.spreadsheet:
            remark = REMARKS[generator.integers(len(REMARKS))]
            rows.append([f"P-{1000 + i}", *(cell.replace(".", ",") for cell in cells), remark, KINDS[kind]])
        else:
            rows.append([*cells, KINDS[kind]])
    names = [name.replace("/", "_") for name in wines.feature_names]
    header = ["sample", *names, "remark", "kind"] if arguments.spreadsheet else [*names, "kind"]
    rest = [i for i in range(len(rows)) if i not in NEW]
    separator = ";" if arguments.spreadsheet else ","
    write(arguments.folder / "wine.csv", separator, [header, *(rows[i] for i in rest)])
    write(arguments.folder / "new.csv", separator, [header[:-1], *(rows[i][:-1] for i in NEW)])
    write(arguments.folder / "later.csv", separator, [header, *(rows[i] for i in NEW)])


def write(path: Path, separator: str, rows: list) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=separator).writerows(rows)


if __name__ == "__main__":
    main()
