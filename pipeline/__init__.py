"""tracemill: verified agentic training data."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("tracemill")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0.0.0"

__all__ = ["__version__"]
