"""What shows on the target why a hunk has no place there: the evidence of an entry to paste.

Every statement that is offered has been found true of the target's own files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from backport.core.evaluating import Evaluation
from backport.core.evidence import stale
from backport.core.evidencing import hunk_evidence
from backport.core.manifests import Evidence
from backport.core.outcomes import HunkResult, Outcome, StackOutcome
from backport.core.patches import MODULE_SCOPE, FilePatch, Hunk
from backport.core.paths import decode
from backport.core.stacks import Stack
from backport.core.trees import Tree

MOST = 200  # letters of a line that is evidence


def with_evidence(evaluation: Evaluation, stacks: Mapping[str, Stack], base: Tree) -> Evaluation:
    """The evaluation, each hunk of a conflict with a statement that is true of the base."""
    stood = [stacks[step.result.stack] for step in evaluation.steps]
    steps = []
    for step, stack in zip(evaluation.steps, stood, strict=True):
        result = step.result
        if result.outcome is StackOutcome.CONFLICT:
            written = {str(key): (file, at) for key, _, file, at in stack.hunks()}
            hunks = (_shown(hunk, written.get(str(hunk.id)), stood, base) for hunk in result.hunks)
            result = result._replace(hunks=tuple(hunks))
        steps.append(step._replace(result=result))
    return evaluation._replace(steps=tuple(steps))


def _shown(
    result: HunkResult,
    written: tuple[FilePatch, int] | None,
    stacks: Sequence[Stack],
    base: Tree,
) -> HunkResult:
    if written is None or not (result.outcome.failed or result.outcome is Outcome.ALREADY):
        return result
    file, at = written
    hunk = file.hunks[at] if at >= 0 else None
    if result.outcome is Outcome.ALREADY:
        found = hunk_evidence(result.path, hunk, base, None) if hunk else None
    else:
        found = next(
            (each for each in _absent(file, hunk, stacks) if not stale((each,), base)), None
        )
    return result._replace(evidence=str(found)) if found else result


def _absent(file: FilePatch, hunk: Hunk | None, stacks: Sequence[Stack]) -> Iterator[Evidence]:
    """What may be absent, the greatest first: the file, the scope, a line that the hunk needs.

    What one of the target's stacks makes itself says nothing about the base.
    """
    path = file.old_path
    files = [made for stack in stacks for patch in stack.patches for made in patch.files]
    if path is None or any(made.creates or made.renames for made in files if made.new_path == path):
        return
    yield Evidence(False, path)
    if hunk is None:
        return
    added = {line.strip() for made in files for each in made.hunks for line in each.added}
    scope = hunk.scope or MODULE_SCOPE
    if scope != MODULE_SCOPE and not _defined(scope.rpartition(".")[2].encode(), added):
        yield Evidence(False, path, symbol=scope)
    for line in hunk.before.split(b"\n"):
        text = decode(line).strip()
        says = any(map(str.isalnum, text)) and text.isprintable() and len(text) <= MOST
        if says and line.strip() not in added:
            yield Evidence(False, path, text=text)


def _defined(name: bytes, lines: set[bytes]) -> bool:
    starts = tuple(word + name for word in (b"def ", b"class ", b"async def "))
    return any(line.startswith(starts) for line in lines)
