"""The command ``atomlearn``: what the binary of the same name does, from the native module."""

import os
import sys

from ._atomlearn import run_command


def main() -> int:
    """Runs the command line with the words of this process and gives the exit code."""
    # A stream that the caller has closed must lead nowhere, not into the next file that is opened.
    for stream in (0, 1, 2):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    return run_command(sys.argv[1:])
