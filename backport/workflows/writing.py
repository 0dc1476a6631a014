"""Write several files of the library, so that what one of them names is never missing."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from backport.errors import EnvironmentProblem


def write_files(root: Path, files: Mapping[str, bytes | None]) -> list[Path]:
    """Write the files beside their places, then put them there in this order; None deletes one,
    once all others stand.

    Raises EnvironmentProblem where one cannot be written; every old file is whole then, and
    none is gone.
    """
    parts: list[tuple[Path, Path]] = []
    path = root
    try:
        for name, data in files.items():
            path = root / name
            if data is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                parts.append((path.with_name(f"{path.name}.part"), path))
                parts[-1][0].write_bytes(data)
        for part, path in parts:
            part.replace(path)
        for name, data in files.items():
            if data is None:
                path = root / name
                path.unlink(missing_ok=True)
    except OSError as error:
        with contextlib.suppress(OSError):
            for part, _ in parts:
                part.unlink(missing_ok=True)
        raise EnvironmentProblem(f"{path}: cannot be written: {error.strerror}") from None
    return [root / name for name in files]
