"""The version, as the package was installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("atomlearn")
except PackageNotFoundError:  # used from a source tree
    __version__ = "0+unknown"
