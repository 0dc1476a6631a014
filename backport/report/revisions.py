"""What moved between two revisions of a stack, and what manifests still say rightly of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from backport.core.display import counted
from backport.core.manifests import Adaptation
from backport.core.revisions import Revision


class Kept(Protocol):
    """A manifest entry and whether its hunk is still the same change."""

    @property
    def entry(self) -> Adaptation: ...
    @property
    def holds(self) -> bool: ...
    @property
    def now(self) -> str: ...


def update_text(revisions: Sequence[Revision], entries: Sequence[Kept]) -> str:
    """A line for each patch, the lines that differ below it, and the manifests' entries."""
    lines = [line for revision in revisions for line in _revision(revision)]
    if all(revision.mark == "=" for revision in revisions):
        lines.append("nothing moved")
    lines += [line for entry in entries for line in _entry(entry)]
    return "\n".join(lines) + "\n"


def _revision(revision: Revision) -> Iterator[str]:
    name = revision.new or revision.old
    was = (
        f" (was {revision.old})" if revision.old and revision.new not in ("", revision.old) else ""
    )
    kept, new, gone = revision.hunks
    counts = (
        f": {counted(kept, 'hunk')} kept, {new} new, {gone} gone" if revision.mark == "!" else ""
    )
    yield f"{revision.mark} {name}{was}{counts}"
    yield from (f"    {line}" for line in revision.lines)


def _entry(kept: Kept) -> Iterator[str]:
    entry = kept.entry
    verb = type(entry).__name__.lower()
    if kept.holds:
        yield f"{entry.source}: note: {verb} {entry.hunk} still holds"
        return
    there = f"the hunk there now is {kept.now}" if kept.now else "nothing is there now"
    yield f"{entry.source}: error: {verb} {entry.hunk}: the hunk is gone; {there}"
