"""What merging makes of a file whose hunks do not all have a place: outcomes, or proposals."""

from __future__ import annotations

from collections.abc import Sequence

from backport.core.merging_files import PYTHON, Merged, together
from backport.core.merging_hunks import LinesOn, merge_left, propose
from backport.core.merging_steps import Rule
from backport.core.outcomes import HunkResult, Outcome
from backport.core.patches import FilePatch, Patch
from backport.core.placing import first_line, scope_line
from backport.core.scopes import find_scope
from backport.core.texts import Target, split_keeping_ends

NO_PREIMAGE = "the text that the patch was made on is not at hand, so nothing could be merged"


def merged_file(
    patch: Patch,
    file: FilePatch,
    base: bytes | None,
    texts: tuple[bytes, bytes | None],
    results: Sequence[HunkResult],
) -> tuple[bytes | None, list[HunkResult]]:
    """The merged text and outcomes, or None and the failed hunks with their proposals.

    `texts` are the target's text and the same with the hunks that have a place
    (None where two of them want the same lines).
    """
    if base is None:
        return None, [_noted(result, NO_PREIMAGE) for result in results]
    target, ours = texts
    outcomes = [result.outcome for result in results]
    if ours is not None and Outcome.AMBIGUOUS not in outcomes:  # a person tells two places apart
        found = merge_left(file, base, ours, outcomes)
        if found is not None and found.rules == (Rule.THREE_WAY,):
            astray = _astray(file, base, ours, results)
            if astray:
                return None, astray
            if found.text == ours:
                return ours, [_as_already(result) for result in results]
        if found is not None and _stands(patch, found, ours):
            return found.text, _as_merged(file, base, ours, found, results)
    return None, _proposed(file, base, target, results)


def _stands(patch: Patch, found: Merged, ours: bytes) -> bool:
    """True where a merge is applied: its rules and the patch's other files allow it."""
    created = [other.path for other in patch.files if other.creates]
    return found.applied and found.text != ours and not together([found], created)


def _noted(result: HunkResult, note: str) -> HunkResult:
    if not result.outcome.failed:
        return result
    return result._replace(detail=f"{result.detail}; {note}")


def _astray(
    file: FilePatch, base: bytes, target: bytes, results: Sequence[HunkResult]
) -> list[HunkResult]:
    """The results, where the merge would take a hunk out of the scope that it names into one
    that is another thing: its own is here as well, or the other was there before."""
    if not file.path.endswith(PYTHON):
        return []
    old, new, on_target = Target(file.path, base), Target(file.path, target), LinesOn(base, target)
    out = list(results)
    for place, (hunk, result) in enumerate(zip(file.hunks, results, strict=True)):
        if not result.outcome.failed:
            continue
        line = scope_line(hunk, first_line(hunk))
        named, here = old.scope_at(line), new.scope_at(on_target(line))
        strays = None not in (named, here) and named != here
        if strays and (_has(new, named) or _has(old, here)):
            why = f"a merge would put it into {here}, and it is of {named}"
            out[place] = result._replace(detail=f"{result.detail}; {why}")
    return out if out != list(results) else []


def _has(text: Target, scope: str | None) -> bool:
    return bool(find_scope(text.scopes or (), scope or ""))


def _as_already(result: HunkResult) -> HunkResult:
    if not result.outcome.failed:
        return result
    detail = "rule three-way: the target has all that it changes"
    return result._replace(outcome=Outcome.ALREADY, detail=detail, candidates=())


def _as_merged(
    file: FilePatch, base: bytes, ours: bytes, found: Merged, results: Sequence[HunkResult]
) -> list[HunkResult]:
    out = []
    rules = ", ".join(found.rules)
    counted, on_target = _counted(ours, found.text or b""), LinesOn(base, ours)
    for index, result in enumerate(results):
        if not result.outcome.failed:
            out.append(result)
            continue
        was = file.hunks[index].old_start + len(file.hunks[index].leading)
        line = on_target(was)
        detail = f"rule {rules}{_places(found)}"
        out.append(
            result._replace(
                outcome=Outcome.MERGED,
                line=line,
                offset=line - was,
                detail=detail,
                candidates=(),
                added=counted[0],
                removed=counted[1],
            )
        )
        counted = 0, 0  # the merge is one; its first hunk stands for its lines
    return out


def _places(found: Merged) -> str:
    shown = [f"{step.scope or 'line'} {step.ours}" for step in found.steps if step.ours]
    return f" at {', '.join(shown[:3])}" if shown else ""


def _counted(old: bytes, new: bytes) -> tuple[int, int]:
    from backport.core.diffing import changes

    edits = changes(split_keeping_ends(old), split_keeping_ends(new))
    return sum(e.b1 - e.b0 for e in edits), sum(e.a1 - e.a0 for e in edits)


def _proposed(
    file: FilePatch, base: bytes, target: bytes, results: Sequence[HunkResult]
) -> list[HunkResult]:
    outcomes = [result.outcome for result in results]
    return [
        result._replace(proposal=propose(file, index, base, target, outcomes))
        if result.outcome is Outcome.CONFLICT
        else result
        for index, result in enumerate(results)
    ]
