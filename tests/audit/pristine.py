"""What the audit says of releases as they are, against the list in which each finding is judged.

    python -m tests.audit.pristine 0.28.0 0.33.0

tells what is said and not listed, and what is listed and not said.
"""

from __future__ import annotations

import gc
import re
import sys
from pathlib import Path
from typing import NamedTuple

from backport.audit import Auditor
from backport.core.outcomes import Severity

LIST = Path(__file__).parents[2] / "docs" / "audit-pristine.md"
_ROW = re.compile(
    r"^\| ([\d., ]+) \| `([\w-]+)` \| `([^`]+)` \| `([^`]+)` \| (true|false) \| (.+) \|$"
)


class Judged(NamedTuple):
    """A finding of a release, known by code, path and symbol, and what a person says of it."""

    code: str
    path: str
    symbol: str
    is_true: bool
    reason: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.code, self.path, self.symbol


def judged(version: str) -> list[Judged]:
    """The listed findings of a release, of its package."""
    found = []
    for line in LIST.read_text().splitlines():
        row = _ROW.match(line)
        if row is not None and version in row[1].split(", "):
            found.append(Judged(row[2], row[3], row[4], row[5] == "true", row[6]))
    return found


def said(pristine: Auditor, paths: list[str]) -> set[tuple[str, str, str]]:
    """The errors that the audit finds in some files of a tree."""
    found = pristine.standing(paths)
    return {(f.code, f.path, f.symbol) for f in found if f.severity is Severity.ERROR}


def main(versions: list[str]) -> int:
    """Compare the list with the whole package of each release."""
    from tests.audit.releases import auditor

    gc.disable()
    differs = False
    for version in versions:
        pristine = auditor(version)
        paths = [path for path in pristine.base.paths() if path.startswith("vllm/")]
        found, listed = said(pristine, paths), {entry.key for entry in judged(version)}
        for word, keys in (("not listed", found - listed), ("not said", listed - found)):
            differs |= bool(keys)
            for key in sorted(keys):
                sys.stdout.write(f"{version} {word}: {' '.join(key)}\n")
        false = sum(not entry.is_true for entry in judged(version))
        sys.stdout.write(f"{version}: {len(found)} findings, {false} of the listed are false\n")
    return int(differs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
