"""Import a change that has moved since: what is different, and what manifests say of it still."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from backport.core.manifests import Adaptation, Manifest
from backport.core.patches import HunkId, Patch, hunk_ids
from backport.core.revisions import Revision, revisions
from backport.core.stacks import Stack
from backport.errors import BadInput
from backport.library import Library
from backport.workflows.stack_files import planned, stack_toml, with_imported, write
from backport.writing import write_files


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


def refuse_loss(library: Library, new: Stack) -> None:
    """Raises BadInput where the import would undo what was changed here since the last one.

    A stack that does not say what was imported, as older ones do not, is not judged.
    """
    old = library.stack(new.name)
    noted = _noted(old)
    here, coming = _noted(with_imported(old)), _noted(with_imported(new))
    lost = [
        name
        for name in {**noted, **here}
        if noted and here.get(name) not in (noted.get(name), coming.get(name))
    ]
    if lost:
        files = ", ".join(f"{name}.patch" for name in lost)
        raise BadInput(
            f"patches/{new.name}: {files}: changed here since the import, which would be undone; "
            "bring the change into the source first, or give --force to take the source as it is"
        )


def _noted(stack: Stack) -> dict[str, str]:
    """The digest of each imported patch by name."""
    parts = (patch.partition("@") for patch in stack.upstream.imported)
    return {name: digest for name, _, digest in parts}


def refuse_another(library: Library, new: Stack) -> None:
    """Raises BadInput where the recorded source is another change than the stack.

    It is the same one where a hunk is, or where a patch of one name changes a file as before.
    """
    old = library.stack(new.name)
    if not _changes(old) & _changes(new):
        raise BadInput(
            f"{new.upstream.source}: shares no change with {new.name}; give the SOURCE if it is "
            "the right one, or --force"
        )


def _changes(stack: Stack) -> set[tuple[str, ...]]:
    hunks = {("hunk", found.digest) for found, *_ in stack.hunks()}
    files = {(patch.name, file.path) for patch in stack.patches for file in patch.files}
    return {*hunks, *files}


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


def write_update(
    library: Library, update: Update, dry_run: bool, force: bool
) -> tuple[list[Path], str]:
    """Write the new revision, or its new origin alone where no line of it moved.

    Returns the paths, and the line to change by hand ("": none). Raises BadInput where a
    change that was made here would be lost and `force` is off.
    """
    stack, root = update.stack, library.root
    toml = root / "patches" / stack.name / "stack.toml"
    old = library.stack(stack.name)
    by_hand = ""
    if update.moved or stack.home != old.home:
        if not force:
            refuse_loss(library, stack)
        new = stack_toml(toml.parent, stack)
        paths = (planned if dry_run else write)(root, stack, force=True)
        if new is None and stack.upstream.commits not in ((), old.upstream.commits):
            by_hand = "note the new commits in stack.toml: " + ", ".join(stack.upstream.commits)
        return paths, by_hand
    text = stack_toml(toml.parent, stack._replace(patches=old.patches))
    if text is None:
        return [], ""
    if not dry_run:
        write_files(root, {f"patches/{stack.name}/stack.toml": text})
    return [toml], ""
