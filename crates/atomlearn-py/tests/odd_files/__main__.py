"""Writes all files into a folder, for a look at them."""

import sys
from pathlib import Path

from . import FAMILIES, write

for name in FAMILIES:
    print(f"{name}: {len(write(name, Path(sys.argv[1])))}")
