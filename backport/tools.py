"""Other tools that a result may depend on: where they are, and which ones."""

from __future__ import annotations

import sys
from pathlib import Path

UNFINISHED = "did not run to its end"  # what a check says that no later run is bound to say again


def found(tool: str) -> str | None:
    """The tool on the path, or beside the Python that runs this."""
    from shutil import which

    return which(tool) or which(tool, path=str(Path(sys.executable).parent))


def fingerprint(tool: str) -> str:
    """The tool's file with its size and time, which another version does not share; "" if none."""
    path = found(tool)
    if path is None:
        return ""
    try:
        stat = Path(path).stat()
    except OSError:  # it went away just now
        return ""
    return f"{path} {stat.st_size} {stat.st_mtime_ns}"


def has_torch() -> bool:
    """True where torch can be imported; it is not, since that takes seconds."""
    from importlib.util import find_spec

    return find_spec("torch") is not None
