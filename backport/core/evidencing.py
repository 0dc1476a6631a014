"""Find a statement that is true of one tree and was not of another: evidence for an entry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from backport.core.evidence import stale, symbols
from backport.core.manifests import Evidence
from backport.core.patches import FilePatch, Hunk
from backport.core.paths import decode
from backport.core.trees import Tree

_DEFINES = re.compile(rb"\s*(?:async\s+def|def|class)\s+(\w{6,})")  # short names say little


def hunk_evidence(path: str, hunk: Hunk, base: Tree, was: Tree | None) -> Evidence | None:
    """What shows that the hunk's result stands on `base`; false on `was`, where that is given.

    The line that it adds and that says most, else one that it takes away; None where no
    statement tells the two trees apart.
    """
    return _first(_of_hunk(path, hunk), base, was)


def taken_evidence(files: Sequence[FilePatch], base: Tree, was: Tree | None) -> Evidence | None:
    """A name that the stack defines, or a file that it makes, and that `base` has of its own."""
    ordered = sorted(files, key=lambda file: "test" in file.path)  # tests are the last to tell
    named = (
        Evidence(True, file.path, symbol=name)
        for file in ordered
        for name in _new_names(file, base)
    )
    created = (Evidence(True, file.path) for file in ordered if file.creates)
    return _first(named, base, was) or _first(created, base, was)


def stack_evidence(files: Sequence[FilePatch], base: Tree, was: Tree | None) -> Evidence | None:
    """What shows that a whole stack stands on `base`: a name that it defines, else a line."""
    lines = (found for file in files for hunk in file.hunks for found in _of_hunk(file.path, hunk))
    return taken_evidence(files, base, was) or _first(lines, base, was)


def place_evidence(
    path: str, lines: Iterable[bytes], base: Tree, was: Tree | None
) -> Evidence | None:
    """A line among these that stands on `base`, and if possible not on `was`."""
    found = [Evidence(True, path, text=text) for text in _telling(lines)]
    return _first(found, base, was) or _first(found, base, None)


def _first(found: Iterable[Evidence], base: Tree, was: Tree | None) -> Evidence | None:
    for statement in found:
        if not stale((statement,), base) and (was is None or stale((statement,), was)):
            return statement
    return None


def _of_hunk(path: str, hunk: Hunk) -> Iterator[Evidence]:
    yield from (Evidence(True, path, text=text) for text in _telling(hunk.added))
    yield from (Evidence(False, path, text=text) for text in _telling(hunk.removed))


def _telling(lines: Iterable[bytes]) -> list[str]:
    """The lines that can be evidence, those that say most first."""
    texts = dict.fromkeys(decode(line).strip() for line in lines)
    kept = [text for text in texts if text.isprintable() and sum(map(str.isalnum, text)) >= 6]
    return sorted(kept, key=lambda text: -len(text))


def _new_names(file: FilePatch, base: Tree) -> list[str]:
    """The qualified names on `base` that end in a name which the patch defines."""
    if not file.path.endswith((".py", ".pyi")):
        return []
    added = {
        decode(found.group(1))
        for hunk in file.hunks
        for line in hunk.added
        if (found := _DEFINES.match(line))
    }
    entry = base.entry(file.path)
    known = symbols(entry.data) if entry else None
    return sorted(name for name in known or () if name.rpartition(".")[2] in added)
