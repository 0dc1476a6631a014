"""Write an amendment into the stack's own patches, where they are written: on its home."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from backport.checkout import Checkout
from backport.commit_tree import CommitTree
from backport.core.applying import apply_stack
from backport.core.canonical import with_scopes
from backport.core.manifests import Adaptation, Manifest
from backport.core.outcomes import StackOutcome
from backport.core.patches import Patch
from backport.core.preimages import on_top_of
from backport.core.rendering import render_patch
from backport.core.stacks import Stack, below
from backport.core.trees import Entry, Overlay
from backport.errors import BackportError
from backport.library import Library
from backport.workflows.incoming import text_at
from backport.workflows.preimages import preimages
from backport.workflows.refresh import (
    Amendment,
    CannotSay,
    Changes,
    Refresh,
    difference,
    last_of,
    states,
)
from backport.workflows.updating import hunk_now


def into_patches(
    library: Library, manifest: Manifest, checkout: Checkout, found: Refresh
) -> dict[str, Stack]:
    """The stacks with the amendments in their patches, and the files to write in `found`.

    Raises CannotSay where the amended lines are not those of the home, and where an entry
    of a manifest names a hunk that would be another one.
    """
    stacks = {}
    for amendment in found.amendments:
        old = amendment.stack
        new = _amended(library, checkout, amendment)
        stacks[old.name] = new
        folder = f"patches/{old.name}"
        for patch in old.patches:
            found.files[f"{folder}/{patch.name}.patch"] = None
        for patch in new.patches:
            found.files[f"{folder}/{patch.name}.patch"] = render_patch(patch)
        if len(new.patches) != len(old.patches):
            found.files[f"{folder}/series"] = _series(library, old, new)
    _refuse_dangling(manifest, stacks, _dangling(library, stacks))
    return stacks


def _series(library: Library, old: Stack, new: Stack) -> bytes:
    """The series without the patches of which nothing is left; comments stay."""
    path = library.root / "patches" / old.name / "series"
    left = {patch.name for patch in new.patches}
    gone = {patch.name for patch in old.patches} - left
    kept = [
        line
        for line in path.read_text("utf-8").splitlines(keepends=True)
        if line.partition("#")[0].strip().removesuffix(".patch") not in gone
    ]
    return "".join(kept).encode()


def _amended(library: Library, checkout: Checkout, amendment: Amendment) -> Stack:
    stack = amendment.stack
    home = checkout.tree(checkout.base(stack.home))
    before = states(stack, home, _under(library, stack, home), None)
    wanted = _at_home(home, before[-1], amendment)
    after = [dict(state) for state in before]
    for path, entry in wanted.items():
        index, _, _ = last_of(stack, path)
        for state in after[index + 1 :]:
            state[path] = entry
    patches = [
        _rewritten(checkout, home, patch, after[index], after[index + 1])
        if after[index + 1] != before[index + 1] or after[index] != before[index]
        else patch
        for index, patch in enumerate(stack.patches)
    ]
    return stack._replace(patches=tuple(patch for patch in patches if patch.files))


def _under(library: Library, stack: Stack, home: CommitTree) -> Changes:
    """What the stacks that it needs change at its home."""
    return on_top_of(below(stack, library.stacks), home).changes


def _at_home(home: CommitTree, state: Changes, amendment: Amendment) -> dict[str, Entry | None]:
    """The amended files as they are at home: the same change, placed by the usual rules."""
    change = amendment.stack._replace(
        patches=(Patch("amendment", "", amendment.changed),), after=()
    )
    result = apply_stack(change, {}, Overlay(home, dict(state)))
    if result.outcome is not StackOutcome.APPLIED:
        told = next((h for h in result.hunks if h.outcome.failed), result.hunks[0])
        raise CannotSay(
            f"{amendment.stack.name}: {told.path}: the amended lines are not those of its home "
            f"{amendment.stack.home} ({told.detail or told.outcome}); use --into manifest"
        )
    return dict(result.changes)


def _rewritten(
    checkout: Checkout, home: CommitTree, patch: Patch, before: Changes, after: Changes
) -> Patch:
    files = difference(checkout, home, before, after)
    read = partial(text_at, Overlay(home, dict(before)))
    return patch._replace(files=tuple(with_scopes(file, read) for file in files))


def _dangling(library: Library, stacks: Mapping[str, Stack]) -> list[Adaptation]:
    """The entries of all manifests whose hunk is not in the new patches."""
    ids = {str(found[0]) for stack in stacks.values() for found in stack.hunks()}
    return [
        entry
        for manifest in library.manifests.values()
        for entry in manifest.adaptations
        if entry.hunk.stack in stacks and str(entry.hunk) not in ids
    ]


def _refuse_dangling(
    manifest: Manifest, stacks: Mapping[str, Stack], entries: Sequence[Adaptation]
) -> None:
    """Raises CannotSay for entries that would lose their hunk, with the way round it."""
    if not entries:
        return
    there = [found[0] for stack in stacks.values() for found in stack.hunks()]
    lines = []
    for entry in entries:
        now = hunk_now(entry.hunk, there)
        then = f"which would be {now} then" if now else "which would be gone then"
        lines.append(f"{entry.source}: names {entry.hunk}, {then}")
    mend = f"nothing was written: use --into manifest, so that {manifest.name} alone changes"
    if not any(entry in manifest.adaptations for entry in entries):
        mend += (
            "; or take the entry out, with the patch file of a replace, refresh, and put it back "
            "with the hunk's new id where it is still right"
        )
    raise CannotSay("\n".join([*lines, mend]))


def worse_elsewhere(
    library: Library, stacks: dict[str, Stack], manifest: Manifest, checkout: Checkout
) -> list[str]:
    """A line for each other target on which a stack has no place any more, or was not tried."""
    from backport.core.evaluating import evaluate

    lines = []
    sources = preimages(checkout, library.stacks)
    for other in library.manifests.values():
        mine = [name for name in stacks if name in other.stacks and not other.skip_of(name)]
        if other.name == manifest.name or not mine:
            continue
        try:
            tree = checkout.tree(checkout.base(other.base))
        except BackportError:
            lines.append(f"{other.name} was not tried: its base is not in this repository")
            continue
        now = {r.stack: r.outcome for r in evaluate(other, library.stacks, tree, sources).results}
        new = {**library.stacks, **stacks}
        lines += [
            f"{other.name}: {result.stack} has no place there any more"
            for result in evaluate(other, new, tree, sources).results
            if result.outcome == "conflict" and now[result.stack] != "conflict"
        ]
    return lines
