"""Say of each conflict what the hunk and its file alone do not tell: the commit behind it, and
where the symbol that it belongs to is now."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from backport import plumbing
from backport.checkout import Checkout
from backport.core.display import counted
from backport.core.evaluating import Evaluation, Step
from backport.core.lookalikes import (
    Definition,
    absent_scope,
    defined_at,
    definition_pattern,
    lookalike,
)
from backport.core.merging_results import NO_PREIMAGE
from backport.core.outcomes import HunkResult, StackResult
from backport.core.patches import FilePatch, Hunk, HunkId
from backport.core.paths import decode
from backport.core.stacks import Stack
from backport.core.texts import Target
from backport.core.trees import Entry, Overlay, Tree
from backport.errors import EnvironmentProblem
from backport.sources import plain_version
from backport.workflows.prerequisites import Behind, history_behind

_FOUND = re.compile(rb"[^:]*:([^\0]+)\0(\d+)\0(.*)")
_SHOWN = 3  # places of a symbol that has moved to other files

Written = Mapping[HunkId, tuple[FilePatch, Hunk]]


def explained(
    checkout: Checkout, commit: str, stacks: Mapping[str, Stack], evaluation: Evaluation
) -> Evaluation:
    """The evaluation with every conflict explained; `commit` is what the target starts from."""
    steps: list[Step] = []
    for step in evaluation.steps:
        under = steps[-1].changes if steps else {}
        stack = stacks[step.result.stack]
        steps.append(step._replace(result=explain(checkout, commit, stack, step.result, under)))
    return evaluation._replace(steps=tuple(steps))


def explain(
    checkout: Checkout,
    commit: str,
    stack: Stack,
    result: StackResult,
    under: Mapping[str, Entry | None],
) -> StackResult:
    """One stack's result with every conflict explained, as far as there is something to say.

    `under` is what the stacks below it change.
    """
    if not any(hunk.outcome.failed for hunk in result.hunks):
        return result
    written = {key: (file, file.hunks[at]) for key, _, file, at in stack.hunks() if at >= 0}
    tree = Overlay(checkout.tree(commit), dict(under))
    gone = _gone(result.hunks, written, tree)
    definitions = _definitions(checkout, commit, sorted({*gone.values()}))
    result = _without_home(checkout, stack, result)
    with history_behind(checkout, commit, stack.home) as behind:
        hunks = tuple(
            _told(hunk, written[hunk.id], gone.get(hunk.id, ""), tree, definitions, behind)
            if hunk.outcome.failed and hunk.id in written
            else hunk
            for hunk in result.hunks
        )
    return result._replace(hunks=hunks)


def _without_home(checkout: Checkout, stack: Stack, result: StackResult) -> StackResult:
    """The result with the reason why nothing could be merged, where that is the absent home."""
    if not stack.home or checkout.commit_id(stack.home):
        return result
    release = plain_version(stack.home)
    fetch = f" or `backport fetch {release}`" if release else ""
    why = f"its home {stack.home} is not in this repository; get it with `git fetch --tags`{fetch}"
    hunks = (
        hunk._replace(detail=f"{hunk.detail}: {why}") if NO_PREIMAGE in hunk.detail else hunk
        for hunk in result.hunks
    )
    return result._replace(hunks=tuple(hunks))


def _gone(hunks: Sequence[HunkResult], written: Written, tree: Tree) -> dict[HunkId, str]:
    """The scope that a conflict's hunk names and its file on the target does not have."""
    found = {}
    for hunk in hunks:
        if hunk.outcome.failed and hunk.id in written:
            file, change = written[hunk.id]
            scope = absent_scope(change, _target(file, tree))
            if scope:
                found[hunk.id] = scope
    return found


def _target(file: FilePatch, tree: Tree) -> Target:
    path = file.old_path or ""
    entry = tree.entry(path)
    return Target(path, entry.data if entry else b"")


def _definitions(checkout: Checkout, commit: str, scopes: Sequence[str]) -> list[Definition]:
    """The lines of the commit's Python files that define something of these last names."""
    if not scopes:
        return []
    words = ("grep", "--full-name", "-z", "-n", "-E", definition_pattern(scopes), commit)
    try:
        out = plumbing.run(checkout.git_dir, *words, "--", "*.py")
    except EnvironmentProblem:  # it found nothing, or cannot: a conflict is told all the same
        return []
    lines = (_FOUND.fullmatch(line) for line in out.split(b"\n"))
    return [Definition(decode(m[1]), int(m[2]), m[3]) for m in lines if m]


def _told(
    result: HunkResult,
    written: tuple[FilePatch, Hunk],
    gone: str,
    tree: Tree,
    definitions: Sequence[Definition],
    behind: Behind,
) -> HunkResult:
    file, hunk = written
    parts = [result.detail, *_symbol(file, hunk, gone, tree, definitions), behind(file, hunk)]
    return result._replace(detail="; ".join(part for part in parts if part))


def _symbol(
    file: FilePatch, hunk: Hunk, gone: str, tree: Tree, definitions: Sequence[Definition]
) -> Iterator[str]:
    """Where the absent symbol may be: another one of the file, or other files."""
    if not gone:
        return
    found = lookalike(hunk, _target(file, tree))
    places = [place for place in defined_at(gone, definitions) if place.path != file.old_path]
    if found:
        like = f"has {found.same} of its {counted(found.total, 'line')}"
        yield f"{gone} is not there, and {found.name} at line {found.line} {like}"
    elif places:
        listed = ", ".join(f"{place.path}:{place.line}" for place in places[:_SHOWN])
        more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        yield f"{gone} is not there; that name is defined at {listed}{more}"
    else:
        yield f"{gone} is not there, and nothing in the file looks like it"
