"""How one revision of a series differs from another, as `git range-diff` tells it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from backport.core.patches import FilePatch, Patch
from backport.core.paths import decode

ALIKE = 0.5  # of the changed lines, for a patch to be another revision of one by another name


class Revision(NamedTuple):
    """One patch in two revisions: `=` the same, `!` changed, `>` new, `<` gone.

    `hunks` counts its hunks that stayed, came and went; `lines` is the difference
    between the two, a line each.
    """

    mark: str
    old: str
    new: str
    hunks: tuple[int, int, int] = (0, 0, 0)
    lines: tuple[str, ...] = ()


def revisions(old: Sequence[Patch], new: Sequence[Patch]) -> Iterator[Revision]:
    """Every patch of the new series in order, each with its old one; then those that went."""
    pairs = _pairs(old, new)
    for patch in new:
        was = pairs.get(patch.name)
        yield (
            _revision(was, patch)
            if was
            else Revision(">", "", patch.name, (0, len(_digests(patch)), 0))
        )
    kept = {was.name for was in pairs.values()}
    for patch in old:
        if patch.name not in kept:
            yield Revision("<", patch.name, "", (0, 0, len(_digests(patch))))


def _pairs(old: Sequence[Patch], new: Sequence[Patch]) -> dict[str, Patch]:
    """The old patch of each new one: of the same name, else the one that is most alike."""
    by_name = {patch.name: patch for patch in old}
    found = {patch.name: by_name[patch.name] for patch in new if patch.name in by_name}
    left = [patch for patch in old if patch.name not in found]
    for patch in new:
        if patch.name in found or not left:
            continue
        best = max(left, key=lambda was: _likeness(was, patch))
        if _likeness(best, patch) >= ALIKE:
            found[patch.name] = best
            left.remove(best)
    return found


def _likeness(old: Patch, new: Patch) -> float:
    was, now = ([line for line in _text(patch) if line[:1] in "+-"] for patch in (old, new))
    return difflib.SequenceMatcher(None, was, now, autojunk=False).ratio()


def _revision(old: Patch, new: Patch) -> Revision:
    before, after = _digests(old), _digests(new)
    kept = [digest for digest in after if digest in before]
    counts = (len(kept), len(after) - len(kept), len([d for d in before if d not in after]))
    was, now = ([f"subject: {patch.subject}", *_text(patch)] for patch in (old, new))
    lines = tuple(difflib.unified_diff(was, now, lineterm="", n=2))[2:]
    return Revision("!" if lines else "=", old.name, new.name, counts, lines)


def _digests(patch: Patch) -> list[str]:
    return [
        f"{file.path}\0{digest}"
        for file in patch.files
        for digest in ([hunk.digest for hunk in file.hunks] or [file.header_digest])
    ]


def _text(patch: Patch) -> list[str]:
    """The patch without what only says where: line numbers and blob ids."""
    return [line for file in patch.files for line in _file(file)]


def _file(file: FilePatch) -> Iterator[str]:
    renamed = f" (from {file.old_path})" if file.renames else ""
    modes = f" mode {file.old_mode} to {file.new_mode}" if file.old_mode != file.new_mode else ""
    kind = " (new)" if file.creates else " (deleted)" if file.deletes else ""
    yield f"## {file.path}{renamed}{kind}{modes}"
    if file.binary:
        yield f"binary {file.header_digest}"
    for hunk in file.hunks:
        yield f"@@ {hunk.section}".rstrip()
        yield from (decode(line).rstrip("\n") for line in hunk.lines)
