"""Bring a change into the library as a stack's canonical patches, written on its home."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import NamedTuple

from backport.ancestry import tags
from backport.checkout import Checkout
from backport.commit_tree import CommitTree
from backport.core.applying import apply_stack
from backport.core.canonical import with_scopes
from backport.core.evaluating import evaluate
from backport.core.messages import stack_of_message
from backport.core.objects import GitObject
from backport.core.outcomes import HunkResult, StackOutcome
from backport.core.parsing import parse_diff
from backport.core.patches import FilePatch, Patch
from backport.core.stack_format import is_header_of_body
from backport.core.stacks import Stack, Upstream
from backport.core.trees import Entry, Overlay
from backport.errors import BackportError, BadInput
from backport.git_diffs import difference as diff_between
from backport.library import Library
from backport.workflows.incoming import STANDARD_INPUT, Incoming, text_at
from backport.workflows.preimages import preimages
from backport.workflows.stack_files import refuse_name


class Homeless(BackportError):
    """Patches that have no place at their home: what, and what to do about it."""


class Beneath(NamedTuple):
    """What a commit stands on: the release (or itself), and this tool's stacks in between."""

    base: str
    stacks: Mapping[str, frozenset[str]]  # name -> the paths that its commit changes


# ---------------------------------------------------------------- home


def beneath(checkout: Checkout, commit: str) -> Beneath:
    """The stacks that this tool put on a release and that the commit stands on, oldest first."""
    found: dict[str, frozenset[str]] = {}
    while name := stack_of_message(checkout.message(commit)):
        above, commit = commit, checkout.parent(commit)
        changed = parse_diff(diff_between(checkout, (), commit, above))
        found[name] = frozenset(_paths(changed))
    return Beneath(commit, dict(reversed(found.items())))


def _paths(files: Iterable[FilePatch]) -> set[str]:
    return {path for file in files for path in (file.old_path, file.new_path) if path}


def home_of(checkout: Checkout, commit: str) -> str:
    """What a stack that is written on the commit calls home: its tag, or its full id."""
    return next(iter(sorted(tags(checkout, commit))), commit)


def guess_home(checkout: Checkout, bases: Sequence[str], incoming: Incoming) -> str:
    """The one of the releases that the patches were written on: every hunk exact; newest first.

    Raises BadInput where there is none, because a home must be true.
    """
    for base in reversed(bases):
        commit = checkout.commit_id(base)
        if commit and _exact(checkout.tree(commit), incoming.patches):
            return base
    known = ", ".join(bases) or "none"
    raise BadInput(
        f"{incoming.source}: was not written on a release that the library knows ({known}); "
        "say with --home which release or commit it is for"
    )


def _exact(tree: CommitTree, patches: Sequence[Patch]) -> bool:
    result = apply_stack(_as_stack(patches), {}, tree)
    return result.outcome is StackOutcome.APPLIED and all(
        hunk.outcome == "exact" for hunk in result.hunks
    )


def _as_stack(patches: Sequence[Patch], name: str = "import") -> Stack:
    return Stack(name, "", "fork", "", "", tuple(patches))


def at_home(
    checkout: Checkout, commit: str, under: Mapping[str, Entry | None], incoming: Incoming
) -> tuple[Patch, ...]:
    """The patches written anew on a commit with these changes `under` them.

    Raises Homeless with every hunk that has no place there: nothing is written then.
    """
    tree = checkout.tree(commit)
    whole = apply_stack(_as_stack(incoming.patches), {}, Overlay(tree, dict(under)))
    if whole.outcome is StackOutcome.ALREADY:
        raise Homeless(f"{incoming.source}: the home has this change already; nothing was written")
    changes = dict(under)
    before, objects = tree.with_changes(changes)
    made: list[GitObject] = list(objects)
    out = []
    for patch in incoming.patches:
        overlay = Overlay(tree, dict(changes))
        result = apply_stack(_as_stack([patch]), {}, overlay)
        if result.outcome is not StackOutcome.APPLIED:
            raise Homeless("\n".join(_no_place(patch, result.hunks)))
        changes.update(result.changes)
        after, new = tree.with_changes(changes)
        made += new
        files = parse_diff(diff_between(checkout, made, before, after))
        scoped = tuple(with_scopes(file, partial(text_at, overlay)) for file in files)
        out.append(patch._replace(files=scoped))
        before = after
    return tuple(out)


def _no_place(patch: Patch, hunks: Sequence[HunkResult]) -> list[str]:
    told = [
        f"{hunk.source or patch.name}: {hunk.path}: {hunk.detail or hunk.outcome} [{hunk.outcome}]"
        for hunk in hunks
        if hunk.outcome.failed or hunk.outcome == "already"
    ]
    mend = (
        "nothing was written: the home does not take these patches; give the --home that they "
        "are written on, or --unplaced to keep them as they came"
    )
    return [*told, mend]


# ---------------------------------------------------------------- the stack


class Plan(NamedTuple):
    """An import that is ready to be written."""

    stack: Stack
    notes: tuple[str, ...] = ()

    def recorded_as(self, source: str) -> Plan:
        """The plan of a stack that came from a file or folder of that name ("": it did not)."""
        origin = self.stack.upstream
        stack = self.stack._replace(upstream=origin._replace(source=source or origin.source))
        return Plan(stack, self.notes)


class Wanted(NamedTuple):
    """What a person said of the stack: its name, home and origin.

    `unplaced` keeps patches that the home does not take as they came.
    """

    name: str
    home: str = ""
    upstream: Upstream = Upstream()
    unplaced: bool = False


def plan(library: Library, checkout: Checkout, incoming: Incoming, wanted: Wanted) -> Plan:
    """The stack that the incoming patches make, written on its home; nothing is written yet.

    Raises Homeless where the home does not take them, BadInput where it cannot be told.
    """
    refuse_name(wanted.name)
    if incoming.start:
        return _from_repository(checkout, incoming, wanted)
    bases = list(dict.fromkeys(manifest.base for manifest in library.manifests.values()))
    home = wanted.home or guess_home(checkout, bases, incoming)
    if wanted.unplaced:
        return Plan(describe(wanted.name, incoming, home, (), wanted.upstream), incoming.notes)
    after: list[str] = []
    try:
        placed = at_home(checkout, checkout.base(home), {}, incoming)
    except Homeless as problem:
        asked = wanted._replace(home=home)
        placed, after = _above_stacks(library, checkout, incoming, asked, problem)
    stack = describe(wanted.name, incoming._replace(patches=placed), home, after, wanted.upstream)
    needs = f"fits {home} only on top of {', '.join(after)}: `after` in stack.toml says so"
    return Plan(stack, (*incoming.notes, *[needs] * bool(after)))


def _above_stacks(
    library: Library, checkout: Checkout, incoming: Incoming, wanted: Wanted, problem: Homeless
) -> tuple[tuple[Patch, ...], list[str]]:
    """The patches on top of the stacks that change the same files in a target of that home.

    A stack that is imported again needs neither itself nor what a target lists after it.
    Raises the problem that the bare home had where they do not fit there either.
    """
    touched = _paths(file for patch in incoming.patches for file in patch.files)
    commit = checkout.base(wanted.home)
    for manifest in library.manifests.values():
        if manifest.base != wanted.home:
            continue
        listed = takewhile(lambda name: name != wanted.name, manifest.stacks)
        below = manifest._replace(stacks=tuple(listed))
        evaluation = evaluate(
            below, library.stacks, checkout.tree(commit), preimages(checkout, library.stacks)
        )
        results = [result for result in evaluation.results if touched & result.changes.keys()]
        paths = {path for result in results for path in result.changes}
        under = {path: entry for path, entry in evaluation.changes.items() if path in paths}
        try:
            placed = at_home(checkout, commit, under, incoming)
        except Homeless:
            continue
        return placed, [result.stack for result in results]
    raise problem


def _from_repository(checkout: Checkout, incoming: Incoming, wanted: Wanted) -> Plan:
    _refuse_own_commits(checkout, incoming)
    under = beneath(checkout, incoming.start)
    if wanted.name in under.stacks:
        raise BadInput(
            f"{incoming.source}: stands on {wanted.name} itself, as `apply` made it; take a change "
            "of it back with `backport refresh`, or start the range below"
        )
    touched = _paths(file for patch in incoming.patches for file in patch.files)
    after = [name for name, paths in under.stacks.items() if paths & touched]
    home = wanted.home or home_of(checkout, under.base)
    commit = checkout.base(home)
    kept = incoming
    if not wanted.unplaced and commit != under.base:
        kept = incoming._replace(patches=at_home(checkout, commit, {}, incoming))
    stack = describe(wanted.name, kept, home, after, wanted.upstream)
    return Plan(stack, (*incoming.notes, *_on_top(under, after)))


def _refuse_own_commits(checkout: Checkout, incoming: Incoming) -> None:
    for commit in incoming.commits:
        name = stack_of_message(checkout.message(commit))
        if name:
            raise BadInput(
                f"{incoming.source}: {commit[:12]} is the stack {name} as `apply` made it; start "
                "the range above it, or take a change of it back with `backport refresh`"
            )


def _on_top(under: Beneath, after: Sequence[str]) -> list[str]:
    if not under.stacks:
        return []
    others = [name for name in under.stacks if name not in after]
    told = f"written on top of {', '.join(under.stacks)}; "
    if not after:
        return [told + "it changes no file of theirs, so it needs none of them"]
    needs = f"it needs {', '.join(after)}, whose files it changes: `after` in stack.toml says so"
    return [told + needs + (f" (and not {', '.join(others)})" if others else "")]


def describe(name: str, incoming: Incoming, home: str, after: Sequence[str], up: Upstream) -> Stack:
    """The stack that the incoming patches make."""
    title = " ".join((incoming.title or incoming.patches[-1].subject).split()) or name
    repo = up.repo if up.pull or up.repo else ""
    origin = up._replace(
        repo=repo,
        relation="cherry-pick",
        commits=incoming.commits,
        source="" if incoming.source == STANDARD_INPUT else incoming.source,
    )
    retire = f"when {repo}#{up.pull} is in the base" if repo and up.pull else ""
    kind = "upstream" if repo else "fork"
    why = _mailable(incoming.why) or title
    return Stack(
        name, title, kind, home, why, incoming.patches, origin, after=tuple(after), retire=retire
    )


def _mailable(why: str) -> str:
    """A cover letter's text up to what git adds to it, or what would end a mail.

    Lines at its top that would be headers of the mail are left out.
    """
    kept: list[str] = []
    for line in why.strip("\n").split("\n"):
        if not kept and is_header_of_body(line):
            continue
        if line.startswith(("---", "diff -", "Index: ", "From ", "From:")):
            break
        kept.append(line.rstrip())
    return "\n".join(kept).strip("\n")
