"""Odd but valid data files, and what the packages that own their formats read from them.

``python -m odd_files FOLDER`` writes them all. Every file holds 12 samples of 5 features in 3 classes, unless it is
about something else. What is expected is always what NumPy, SciPy, h5py, pandas, scikit-learn or Pillow reads back from
the finished file, never what was meant to be written.
"""

from __future__ import annotations

from pathlib import Path

from .arrays import npy, npz
from .common import Case, Family
from .hdf5 import hdf5
from .images import images
from .matlab import mat5, mat73
from .tables import libsvm, parquet, tables

FAMILIES = {
    "npy": npy,
    "npz": npz,
    "mat5": mat5,
    "hdf5": hdf5,
    "mat73": mat73,
    "parquet": parquet,
    "tables": tables,
    "libsvm": libsvm,
    "images": images,
}


def write(name: str, folder: Path) -> list[Case]:
    """Writes the files of one family."""
    family = Family(folder / name)
    FAMILIES[name](family)
    return family.cases
