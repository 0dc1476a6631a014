"""Results that are kept between runs, beside the repository that they are about.

A result is one file, written beside its place and moved there, so that two runs at
once never see half of one; the last to finish wins, and both are right. What cannot
be read is simply not there, and what cannot be written is simply not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from backport import __version__

KEPT = 512  # results; the oldest go first
LEFT_BEHIND = 3600  # seconds after which nobody can be writing a file any more


class ResultCache:
    """A folder of JSON values by key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def beside(cls, common_dir: Path) -> ResultCache:
        """The cache in a repository's git folder, or the user's where that cannot be written."""
        return cls(state_folder(common_dir) / "results")

    def read(self, key: str) -> dict[str, Any] | None:
        """The values kept under `key`, or None; damage counts as absence."""
        return read_values(self.folder / f"{key}.json", key)

    def write(self, key: str, values: Mapping[str, Any]) -> None:
        """Keep the values; a folder that cannot be written is no error."""
        write_values(self.folder / f"{key}.json", {**values, "key": key})

    def prune(self, kept: int = KEPT) -> None:
        """Take the oldest results away until `kept` are left, and what killed runs left behind."""
        with suppress(OSError):
            for part in self.folder.glob(".*.part"):
                if part.stat().st_mtime < time.time() - LEFT_BEHIND:
                    part.unlink(missing_ok=True)
            files = list(self.folder.glob("*.json"))
            if len(files) > kept:
                files.sort(key=lambda file: file.stat().st_mtime_ns)
                for file in files[: len(files) - kept]:
                    file.unlink(missing_ok=True)


def state_folder(common_dir: Path) -> Path:
    """Where the tool keeps what it knows about a repository: in its git folder if that is ours."""
    inside = common_dir / "backport"
    if os.access(inside if inside.is_dir() else common_dir, os.W_OK | os.X_OK):
        return inside
    from backport.sources import cache_dir

    name = hashlib.sha256(os.fsencode(common_dir)).hexdigest()[:16]
    return cache_dir() / "repositories" / name


def read_values(path: Path, key: str | None = None) -> dict[str, Any] | None:
    """The JSON object in a file, or None where it is absent, damaged or of another key."""
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(values, dict) or (key is not None and values.get("key") != key):
        return None
    return values


def write_values(path: Path, values: Mapping[str, Any]) -> bool:
    """Write the file in one step; False where that is not possible."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(values), "ascii")
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        return False
    return True


def digest(parts: Iterable[str | bytes]) -> str:
    """A hex name for these parts in this order."""
    summed = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        summed.update(b"%d:" % len(data))
        summed.update(data)
    return summed.hexdigest()[:40]


def tool_identity() -> str:
    """What computes the results: version, Python, and each source file's size and time.

    The version alone would let a working copy's own changes be answered by results
    of the code before them.
    """
    top = Path(__file__).parent
    files = []
    for folder, _, names in os.walk(top):
        for name in names:
            if name.endswith(".py"):
                stat = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118
                files.append(f"{folder}/{name} {stat.st_size} {stat.st_mtime_ns}")
    return digest([__version__, sys.version, *sorted(files)])
