"""Take a change that a person made on an emitted branch back into the library, or refuse.

What is written is proved first: with it, applying again gives every tree of the
branch. Patches are changed where they are written, on the stack's home; a
manifest's entries say what differs on the one target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from backport.ancestry import earlier_tips
from backport.checkout import Checkout
from backport.commit_tree import CommitTree
from backport.core.applying import apply_stack
from backport.core.evaluating import evaluate
from backport.core.manifest_format import read_manifest
from backport.core.manifests import Adaptation, Manifest
from backport.core.messages import (
    digests_of_message,
    reworded,
    squash_message,
    stack_of_message,
)
from backport.core.objects import GitObject
from backport.core.outcomes import HunkResult
from backport.core.parsing import parse_diff
from backport.core.patches import FilePatch, Patch
from backport.core.paths import decode
from backport.core.preimages import Sources
from backport.core.stack_format import read_stack
from backport.core.stacks import Stack
from backport.core.trees import Entry, Overlay, Tree
from backport.errors import BackportError, BadInput
from backport.git_diffs import difference as diff_between
from backport.library import Library
from backport.report.taking import Reworded
from backport.workflows.preimages import preimages

Changes = Mapping[str, Entry | None]


class CannotSay(BackportError):
    """A change that cannot be written the way that was asked for; nothing is written then."""


class Amendment(NamedTuple):
    """A stack whose commit is not what applying gives: what lies under it, and what it left."""

    stack: Stack
    under: CommitTree
    wanted: CommitTree
    changed: tuple[FilePatch, ...]  # from what applying gives to what is wanted
    foreign: tuple[str, ...]  # commits of other people that are counted to it


@dataclass(slots=True)
class Refresh:
    """What would be written: stacks with other patches, and a manifest's new text and patches."""

    branch: str
    base: CommitTree
    sources: Sources
    trees: tuple[str, ...]  # of the branch's stacks, oldest first
    foreign: bool  # the branch holds commits without a `Stack:` line
    amendments: tuple[Amendment, ...] = ()
    reworded: tuple[Reworded, ...] = ()
    files: dict[str, bytes | None] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)  # other targets that it does not suit
    made: list[Adaptation] = field(default_factory=list)  # entries of the manifest


# ---------------------------------------------------------------- what was amended


def find(library: Library, manifest: Manifest, checkout: Checkout, branch: str) -> Refresh:
    """The stacks whose commits on the branch are not what applying gives on top of those below.

    Raises BadInput where the branch does not have the shape that `apply` leaves.
    """
    tip = checkout.branch_tip(branch)
    if tip is None:
        raise BadInput(f"{checkout.shown} has no branch {branch}; make it with `backport apply`")
    base = checkout.base(manifest.base)
    made = checkout.history(tip, base)
    if made is None:
        raise BadInput(f"branch {branch} does not start from {manifest.base}")
    groups = _groups(branch, list(reversed(made)))
    tree = checkout.tree(base)
    sources = preimages(checkout, library.stacks)
    evaluation = evaluate(manifest, library.stacks, tree, sources)
    expected = [step.result.stack for step in evaluation.steps if step.result.changes]
    if [name for name, _ in groups] != expected:
        raise BadInput(_other_stacks(branch, groups, expected))
    under = tree
    amendments, trees = [], []
    for name, commits in groups:
        wanted = checkout.tree(commits[-1])
        stack = library.stacks[name]
        changed = _difference(checkout, under, wanted, stack, manifest, sources)
        if changed:
            _be_current(checkout, branch, stack, manifest, commits[0])
            amendments.append(Amendment(stack, under, wanted, changed, tuple(commits[1:])))
        under = wanted
        trees.append(wanted.id)
    foreign = any(len(commits) > 1 for _, commits in groups)
    hunks = {result.stack: result.hunks for result in evaluation.results}
    told = (
        _reworded(checkout, library.stacks[name], manifest, hunks[name], commits[0])
        for name, commits in groups
    )
    words = tuple(each for each in told if each)
    return Refresh(branch, tree, sources, tuple(trees), foreign, tuple(amendments), words)


def _reworded(
    checkout: Checkout,
    stack: Stack,
    manifest: Manifest,
    hunks: tuple[HunkResult, ...],
    commit: str,
) -> Reworded | None:
    """What a person changed in the message of a stack's commit, if anything."""
    if checkout.is_as_made(commit):
        return None
    message = squash_message(stack, manifest, hunks, checkout.author(commit))
    lines = reworded(checkout.message(commit), message)
    return Reworded(stack.name, commit, lines[0]) if lines else None


def uncommitted(checkout: Checkout, branch: str) -> list[str]:
    """The files with uncommitted changes in the work tree that is on the branch, if one is."""
    held = checkout.checked_out(branch)
    if held is None or not held.is_dir():
        return []
    with Checkout.open(held) as there:
        return there.dirty()


def _be_current(
    checkout: Checkout, branch: str, stack: Stack, manifest: Manifest, commit: str
) -> None:
    """Raises BadInput where the branch was made of other patches than the library holds now,
    or with other decisions.

    What differs then is not what a person amended, and taking it back would undo them.
    """
    made, decided = digests_of_message(checkout.message(commit))
    mend = _to_keep(checkout, branch, manifest, commit)
    if made != stack.digest:
        raise BadInput(
            f"branch {branch} was made of {stack.name}@{made}, which is {stack.digest} now, and "
            f"differs from it; {mend}"
        )
    if decided and decided != manifest.decides(stack.name):
        raise BadInput(
            f"{manifest.source} decides otherwise about {stack.name} than when branch {branch} was "
            f"made, and the branch differs from it; {mend}"
        )


def _to_keep(checkout: Checkout, branch: str, manifest: Manifest, commit: str) -> str:
    """How to get a branch of what the library holds now, without losing what was amended."""
    anew = f"backport apply --target {manifest.name}"
    if checkout.is_as_made(commit):
        return f"make it anew with `{anew}`, and amend that"
    made = next(filter(checkout.is_as_made, earlier_tips(checkout, branch)), "")
    taken = f"git diff {made[:12]} parked | git apply -3" if made else "git cherry-pick -n parked"
    return (
        f"to keep what was amended: `git branch parked {branch}`, `{anew} --force --checkout`, "
        f"`{taken}`, `git commit --amend --no-edit`, and refresh then"
    )


def _other_stacks(
    branch: str, groups: Sequence[tuple[str, list[str]]], expected: Sequence[str]
) -> str:
    there = ", ".join(name for name, _ in groups) or "none"
    told = f"branch {branch} holds the stacks {there}; applying gives {', '.join(expected)}"
    bare = [(commits[1], name) for name, commits in groups if len(commits) > 1]
    if bare:
        commit, name = bare[0]
        return f"{told}; {commit[:12]} has lost its `Stack:` line, so it counts to {name}"
    return f"{told}: the manifest's list and its skip entries say which stacks there are"


def _groups(branch: str, made: Sequence[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """The commits by stack, oldest first; one without a `Stack:` line counts to the one below."""
    groups: list[tuple[str, list[str]]] = []
    for commit, message in made:
        name = stack_of_message(message)
        if name is not None:
            groups.append((name, [commit]))
        elif groups:
            groups[-1][1].append(commit)
        else:
            raise BadInput(
                f"branch {branch}: {commit[:12]} stands below the first stack's commit; "
                "a change of the base itself belongs in a stack of its own"
            )
    return groups


def _difference(
    checkout: Checkout,
    under: CommitTree,
    wanted: CommitTree,
    stack: Stack,
    manifest: Manifest,
    sources: Sources,
) -> tuple[FilePatch, ...]:
    """What a person changed: from the stack applied on what lies under it to what is wanted."""
    result = apply_stack(stack, manifest.adaptations_of(stack.name), under, sources)
    tree, objects = under.with_changes(result.changes)
    return () if tree == wanted.id else parse_diff(diff_between(checkout, objects, tree, wanted.id))


def difference(
    checkout: Checkout, base: CommitTree, before: Changes, after: Changes
) -> tuple[FilePatch, ...]:
    """The canonical diff between a tree with the one and with the other changes."""
    old, objects = base.with_changes(before)
    new, more = base.with_changes(after)
    both: list[GitObject] = [*objects, *more]
    return () if old == new else parse_diff(diff_between(checkout, both, old, new))


def states(
    stack: Stack,
    tree: Tree,
    under: Changes,
    manifest: Manifest | None,
    sources: Sources | None = None,
) -> list[Changes]:
    """All that has changed before the first patch and after each one of the stack.

    Raises CannotSay where a patch has no place.
    """
    entries = manifest.adaptations_of(stack.name) if manifest else {}
    known = sources(stack) if sources else None  # a later patch's needs the ones before it
    found = [dict(under)]
    for patch in stack.patches:
        overlay = Overlay(tree, dict(found[-1]))
        alone = stack._replace(patches=(patch,))
        result = apply_stack(alone, entries, overlay, (lambda _: known) if known else None)
        if result.outcome == "conflict":
            where = manifest.name if manifest else stack.home
            raise CannotSay(f"{stack.name}/{patch.name} has no place on {where} as it is now")
        found.append({**found[-1], **result.changes})
    return list(found)


def last_of(stack: Stack, path: str) -> tuple[int, Patch, FilePatch | None]:
    """The last patch that touches the path, else the last of all, and what it does there."""
    for index in range(len(stack.patches) - 1, -1, -1):
        patch = stack.patches[index]
        for file in patch.files:
            if path in (file.new_path, file.old_path):
                return index, patch, file
    return len(stack.patches) - 1, stack.patches[-1], None


# ---------------------------------------------------------------- prove and write


def renewed(library: Library, manifest: Manifest, found: Refresh) -> Library:
    """The library as it will be read once the files are written."""
    stacks = dict(library.stacks)
    problems: list[str] = []
    for name in {path.split("/")[1] for path in found.files if path.startswith("patches/")}:
        folder = f"patches/{name}"
        texts = _after(library.root, folder, found.files, ("stack.toml", "series"))
        stacks[name], told = read_stack(name, folder, texts)
        problems += told
    beside = manifest.source.removesuffix(".toml")
    text = _after(
        library.root, beside.rpartition("/")[0], found.files, (manifest.version + ".toml",)
    )
    again, told = read_manifest(
        manifest.name,
        manifest.source,
        decode(text[manifest.version + ".toml"]),
        stacks,
        _after(library.root, beside, found.files, ()),
    )
    if [*problems, *told]:
        raise CannotSay("\n".join([*problems, *told, "nothing was written"]))
    return library._replace(stacks=stacks, manifests={**library.manifests, manifest.name: again})


def _after(
    root: Path, folder: str, files: Mapping[str, bytes | None], names: Sequence[str]
) -> dict[str, bytes]:
    """The patches of a folder and the files named, as they will be once `files` are written."""
    there = {
        f"{folder}/{path.name}": path.read_bytes()
        for path in (root / folder).glob("*")
        if path.suffix == ".patch" or path.name in names
    }
    mine = {path: data for path, data in files.items() if path.rpartition("/")[0] == folder}
    return {
        path.rpartition("/")[2]: data
        for path, data in {**there, **mine}.items()
        if data is not None and (path.endswith(".patch") or path.rpartition("/")[2] in names)
    }


def prove(library: Library, manifest: Manifest, found: Refresh) -> None:
    """Raises CannotSay unless applying the library gives every tree of the branch again."""
    evaluation = evaluate(
        library.manifests[manifest.name], library.stacks, found.base, found.sources
    )
    trees = []
    for step in evaluation.steps:
        told = next((hunk for hunk in step.result.hunks if hunk.outcome.failed), None)
        if told:
            raise CannotSay(
                f"{told.id} would have no place ({told.detail}): the change cannot be written "
                "this way; nothing was written"
            )
        if step.result.changes:
            trees.append(found.base.with_changes(step.changes)[0])
    if tuple(trees) != found.trees:
        raise CannotSay(
            f"applying again would not give the trees of {found.branch}: the change cannot be "
            "written this way; nothing was written"
        )


def next_command(
    checkout: Checkout, manifest: Manifest, found: Refresh, places: Mapping[str, str | None]
) -> str:
    """What makes the target's branch, and its lock, of what was written.

    `places` are the options that a person gave to say where things are.
    """
    import shlex

    where = "".join(f" {key} {shlex.quote(said)}" for key, said in places.items() if said)
    here = str(checkout.checked_out(manifest.branch)) == checkout.shown
    held = " --checkout" * here
    force = " --force" * (found.foreign and found.branch == manifest.branch)
    return f"backport apply --target {manifest.name} --lock{held}{force}{where}"
