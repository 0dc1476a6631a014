"""Write an amendment into the stack's own patches, where they are written: on its home."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from backport.checkout import Checkout
from backport.commit_tree import CommitTree
from backport.core.applying import apply_stack
from backport.core.canonical import with_scopes
from backport.core.manifests import Manifest
from backport.core.outcomes import StackOutcome
from backport.core.patches import Patch
from backport.core.rendering import render_patch
from backport.core.stacks import Stack
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


def into_patches(library: Library, checkout: Checkout, found: Refresh) -> dict[str, Stack]:
    """The stacks with the amendments in their patches, and the files to write in `found`.

    Raises CannotSay where the amended lines are not those of the home, and where an entry
    of a manifest names a hunk that would be another one.
    """
    stacks = {}
    for amendment in found.amendments:
        old = amendment.stack
        new = _amended(library, checkout, amendment)
        _refuse_dangling(library.manifests.values(), old, new)
        stacks[old.name] = new
        folder = f"patches/{old.name}"
        for patch in old.patches:
            found.files[f"{folder}/{patch.name}.patch"] = None
        for patch in new.patches:
            found.files[f"{folder}/{patch.name}.patch"] = render_patch(patch)
        if len(new.patches) != len(old.patches):
            found.files[f"{folder}/series"] = _series(library, old, new)
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
    overlay = Overlay(home)
    for name in stack.after:
        result = apply_stack(library.stack(name), {}, overlay)
        overlay.changes.update(result.changes)
    return overlay.changes


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


def _refuse_dangling(manifests: Iterable[Manifest], old: Stack, new: Stack) -> None:
    ids = {str(found[0]) for found in new.hunks()}
    for manifest in manifests:
        for key, entry in manifest.adaptations_of(old.name).items():
            if key not in ids:
                raise CannotSay(
                    f"{entry.source}: names {key}, which this would change into another hunk; "
                    "use --into manifest, or change the entry first"
                )


def worse_elsewhere(
    library: Library, stacks: dict[str, Stack], manifest: Manifest, checkout: Checkout
) -> list[str]:
    """A line for each other target on which a stack has no place any more, or was not tried."""
    from backport.core.evaluating import evaluate

    lines = []
    sources = preimages(checkout)
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
