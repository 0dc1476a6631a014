"""Apply a stack to a tree: one pure function from texts to texts and outcomes.

Nothing is half applied: a stack with one hunk that has no place changes nothing,
and every hunk's outcome is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from backport.core.applying_files import apply_file
from backport.core.applying_steps import Adaptations, Step
from backport.core.outcomes import HunkResult, Outcome, StackOutcome, StackResult
from backport.core.patches import FilePatch, HunkId, Patch, hunk_ids
from backport.core.reversing import reverse
from backport.core.stacks import Stack
from backport.core.trees import Overlay, Tree

if TYPE_CHECKING:
    from backport.core.preimages import Preimages, Sources


def apply_stack(
    stack: Stack, adaptations: Adaptations, tree: Tree, preimages: Sources | None = None
) -> StackResult:
    """The stack on `tree`: the files it changes and each hunk's outcome.

    `adaptations` are the manifest's entries by hunk id. A stack whose hunks all
    stand already is `already`; one that stands only in part is a conflict, which
    a person settles by recording what is left out. Where `preimages` are given, a hunk
    that may have found a look-alike of its place has none, and hunks without a place
    are merged where the rules stand for it.
    """
    known = preimages(stack) if preimages else None
    result = _applied(stack, adaptations, tree, known, merges=False)
    if known and any(hunk.outcome.failed for hunk in result.hunks):
        return _applied(stack, adaptations, tree, known, merges=True)
    return result


def _applied(
    stack: Stack, adaptations: Adaptations, tree: Tree, preimages: Preimages | None, *, merges: bool
) -> StackResult:
    overlay = Overlay(tree)
    hunks: list[HunkResult] = []
    failed: set[str] = set()
    made: set[object] = set()
    repeated: list[HunkId] = []
    for patch in stack.patches:
        for step in _steps(stack.name, patch, adaptations, overlay, preimages):
            results = _apply_whole(step._replace(merges=merges))
            repeated += _repeated(step.file, results, made)
            hunks += _told(results, failed)
    hunks = [_as_repeated(result) if result.id in repeated else result for result in hunks]
    outcome = _stack_outcome([result for result in hunks if result.id not in repeated])
    split = outcome is StackOutcome.CONFLICT and not adaptations and not merges
    if split and _may_be_there(hunks, stack, tree):
        hunks = [_as_already(result) for result in hunks]
        outcome = StackOutcome.ALREADY
    changes = overlay.changes if outcome is StackOutcome.APPLIED else {}
    kept = {path: entry for path, entry in changes.items() if entry != tree.entry(path)}
    return StackResult(stack.name, kept, tuple(hunks), outcome)


def _apply_whole(step: Step) -> list[HunkResult]:
    """The outcomes of a file; one whose lines all stand, but not its name or mode, is placed."""
    path, tree = step.file.path, step.tree
    changed, known = path in tree.changes, tree.changes.get(path)
    results = apply_file(step)
    if {result.outcome for result in results} - {Outcome.DROPPED} != {Outcome.ALREADY}:
        return results
    now, before = tree.entry(path), known if changed else tree.base.entry(path)
    if now is None or now == before:
        return results
    what = f"only its mode changes, to {now.mode}" if before else f"it gets the name {path}"
    detail = f"the content is there; {what}"
    return [
        result._replace(outcome=Outcome.EXACT, detail=detail)
        if result.outcome is Outcome.ALREADY
        else result
        for result in results
    ]


def _repeated(file: FilePatch, results: list[HunkResult], made: set[object]) -> list[HunkId]:
    """The hunks that an earlier patch of the stack holds too, and has made.

    They stand on the target only since then, so that it does not hold the stack in part.
    """
    keys: list[object] = [(file.path, hunk.lines) for hunk in file.hunks]
    keys = keys or [(file.path, file.header_digest)]
    told = list(zip(keys, results, strict=False))  # a header that is left alone comes last
    found = [result.id for key, result in told if result.outcome is Outcome.ALREADY and key in made]
    made.update(key for key, result in told if result.outcome.placed)
    return found


def _as_repeated(result: HunkResult) -> HunkResult:
    return result._replace(detail="an earlier patch of the stack has made it")


def _told(results: list[HunkResult], failed: set[str]) -> list[HunkResult]:
    """The results, where a failure after an earlier one in the same file says so."""
    out = []
    for result in results:
        if result.outcome.failed and result.path in failed:
            after = "perhaps only because an earlier patch of the stack has no place in this file"
            result = result._replace(detail=f"{result.detail}; {after}")  # noqa: PLW2901
        out.append(result)
    failed.update(result.path for result in results if result.outcome.failed)
    return out


def _steps(
    stack: str,
    patch: Patch,
    adaptations: Adaptations,
    overlay: Overlay,
    preimages: Preimages | None = None,
) -> Iterator[Step]:
    """A step for each file of a patch; what the patch takes away makes room for its other files."""
    gone = (file.old_path for file in patch.files if file.deletes or file.moves)
    leaving = frozenset(path for path in gone if path)
    before = Overlay(overlay.base, dict(overlay.changes)) if _looks_back(patch) else overlay
    written: set[str] = set()
    for file in patch.files:
        ids = hunk_ids(stack, patch, file)
        yield Step(patch, file, ids, adaptations, overlay, preimages, before, leaving, written)


def _looks_back(patch: Patch) -> bool:
    """True where a file of the patch is read as it was before the patch."""
    return any(file.renames or file.deletes for file in patch.files)


def _stack_outcome(hunks: list[HunkResult]) -> StackOutcome:
    outcomes = {result.outcome for result in hunks} - {Outcome.DROPPED}
    if any(outcome.failed for outcome in outcomes):
        return StackOutcome.CONFLICT
    if Outcome.ALREADY not in outcomes:
        return StackOutcome.APPLIED if outcomes else StackOutcome.ALREADY
    return StackOutcome.ALREADY if len(outcomes) == 1 else StackOutcome.CONFLICT


def _as_already(result: HunkResult) -> HunkResult:
    if result.outcome is Outcome.ALREADY:
        return result
    return result._replace(
        outcome=Outcome.ALREADY,
        detail="the whole stack can be taken off the base again",
        candidates=(),
        added=0,
        removed=0,
    )


# ---------------------------------------------------------------- already there


def _may_be_there(hunks: list[HunkResult], stack: Stack, tree: Tree) -> bool:
    """True where the whole stack stands already, though not every hunk alone can tell.

    Where lines that a hunk removes still stand, its result may stand elsewhere by
    chance, and the stack is not there. No more is it where two places cannot be told apart,
    or a hunk was only found at a look-alike of its place.
    """
    undone = any(hunk.outcome.placed and not hunk.inserts for hunk in hunks)
    unsure = any(hunk.outcome is Outcome.AMBIGUOUS for hunk in hunks)
    return not undone and not unsure and _contained(stack, tree)


def _contained(stack: Stack, tree: Tree) -> bool:
    """True where the whole stack can be taken off the tree again, last patch first."""
    overlay = Overlay(tree)
    for patch in reversed(stack.patches):
        back = patch._replace(files=tuple(map(reverse, reversed(patch.files))))
        for step in _steps("", back, {}, overlay):
            if _lacks_mode(step) or any(not found.outcome.placed for found in apply_file(step)):
                return False
    return bool(stack.patches)


def _lacks_mode(step: Step) -> bool:
    """True where the file does not have the mode that the patch to be taken off gives it."""
    file = step.file
    there = step.tree.entry(file.old_path or "") if file.old_mode != file.new_mode else None
    return there is not None and file.old_mode not in ("", there.mode)
