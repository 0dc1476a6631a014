"""Import a change that has moved since: what is different, and what manifests say of it still."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from backport.core.manifests import Adaptation, Manifest
from backport.core.patches import HunkId, Patch, hunk_ids
from backport.core.revisions import Revision, revisions
from backport.core.stack_writing import with_commits
from backport.core.stacks import Stack
from backport.library import Library
from backport.workflows.importing import planned, write


class Kept(NamedTuple):
    """A manifest entry for the stack, and whether its hunk is still the same change.

    `now` is the hunk at its place in the new revision where it is not ("": none).
    """

    entry: Adaptation
    holds: bool
    now: str = ""


class Update(NamedTuple):
    """What a new revision of a stack is, against the one in the library."""

    stack: Stack
    revisions: tuple[Revision, ...]
    entries: tuple[Kept, ...]

    @property
    def moved(self) -> bool:
        return any(revision.mark != "=" for revision in self.revisions)


def compare(library: Library, new: Stack) -> Update:
    """The new revision against the library's; nothing is written yet."""
    old = library.stack(new.name)
    return Update(
        new, tuple(revisions(old.patches, new.patches)), tuple(_entries(library.manifests, new))
    )


def _entries(manifests: Mapping[str, Manifest], new: Stack) -> Iterable[Kept]:
    there = [found for patch in new.patches for found in _ids(new.name, patch)]
    for manifest in manifests.values():
        for entry in manifest.adaptations:
            if entry.hunk.stack == new.name:
                yield _kept(entry, there)


def _ids(stack: str, patch: Patch) -> list[HunkId]:
    return [found for file in patch.files for found in hunk_ids(stack, patch, file)]


def _kept(entry: Adaptation, there: Sequence[HunkId]) -> Kept:
    now = hunk_now(entry.hunk, there)
    if now and now.digest == entry.hunk.digest:
        return Kept(entry, True)
    return Kept(entry, False, str(now or ""))


def hunk_now(hunk: HunkId, there: Sequence[HunkId]) -> HunkId | None:
    """The same change in a new revision of its patch, else the one that is at its place."""
    near = [found for found in there if (found.patch, found.path) == (hunk.patch, hunk.path)]
    same = (found for found in near if found.digest == hunk.digest)
    return next(same, None) or next((f for f in near if f.ordinal == hunk.ordinal), None)


def write_update(root: Path, update: Update, dry_run: bool) -> tuple[list[Path], str]:
    """Write the new revision; the paths, and the line to change by hand ("": none)."""
    written = (planned if dry_run else write)(root, update.stack, force=True)
    toml = root / "patches" / update.stack.name / "stack.toml"
    commits = update.stack.upstream.commits
    if not commits:
        return written, ""
    text = toml.read_text("utf-8")
    new = with_commits(text, commits)
    if new is None:
        return written, "note the new commits in stack.toml: " + ", ".join(commits)
    if new != text:
        written.append(toml)
    if new != text and not dry_run:
        toml.write_text(new, "utf-8")
    return written, ""
