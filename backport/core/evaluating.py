"""A whole manifest on one tree: every stack in order, the evidence, and the content check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from backport.core.applying import apply_stack
from backport.core.checking import check_content
from backport.core.evidence import stale
from backport.core.manifests import Adaptation, Manifest, Skip
from backport.core.outcomes import (
    CheckResult,
    Finding,
    Severity,
    StackOutcome,
    StackResult,
    Status,
)
from backport.core.stacks import Stack
from backport.core.trees import Entry, Overlay, Tree

if TYPE_CHECKING:
    from backport.core.preimages import Sources


class Step(NamedTuple):
    """A stack's result, and all that has changed against the base once it is applied."""

    result: StackResult
    changes: Mapping[str, Entry | None]


class Evaluation(NamedTuple):
    """What a manifest makes of a tree; `steps` follow the manifest's order."""

    steps: tuple[Step, ...]
    checks: tuple[CheckResult, ...]

    @property
    def changes(self) -> Mapping[str, Entry | None]:
        return self.steps[-1].changes if self.steps else {}

    @property
    def results(self) -> tuple[StackResult, ...]:
        return tuple(step.result for step in self.steps)

    def telling(self, results: Sequence[StackResult]) -> Evaluation:
        """The same with these results, which say more of the same outcomes."""
        told = zip(self.steps, results, strict=True)
        return self._replace(steps=tuple(step._replace(result=result) for step, result in told))


def evaluate(
    manifest: Manifest,
    stacks: Mapping[str, Stack],
    base: Tree,
    preimages: Sources | None = None,
) -> Evaluation:
    """Apply every stack of the manifest to `base`, later ones on top of earlier ones.

    `preimages` gives what a stack's patches were made on, for hunks without a place.
    """
    overlay = Overlay(base)
    steps = []
    for name in manifest.stacks:
        result = _one(manifest, stacks[name], overlay, preimages)
        overlay.changes.update(result.changes)
        changes = {
            path: entry for path, entry in overlay.changes.items() if entry != base.entry(path)
        }
        steps.append(Step(result, changes))
    done = Evaluation(tuple(steps), ())
    content = check_content(base, done.changes, done.results)
    return done._replace(checks=(check_evidence(manifest, base), content))


def _one(
    manifest: Manifest,
    stack: Stack,
    overlay: Overlay,
    preimages: Sources | None,
) -> StackResult:
    skip = manifest.skip_of(stack.name)
    if skip:
        return StackResult(stack.name, {}, (), StackOutcome.SKIPPED, skip.reason)
    adaptations = manifest.adaptations_of(stack.name)
    return apply_stack(stack, adaptations, overlay, preimages)


def check_evidence(manifest: Manifest, base: Tree) -> CheckResult:
    """Every entry's evidence on the pristine base; one that no longer holds is an error."""
    findings = [
        _stale_finding(entry, problem)
        for entry in (*manifest.adaptations, *manifest.skips)
        for problem in stale(entry.when, base)
    ]
    status = Status.FAILED if findings else Status.PASSED
    return CheckResult("evidence", status, tuple(findings))


def _stale_finding(entry: Adaptation | Skip, problem: str) -> Finding:
    file, _, line = entry.source.rpartition(":")
    name = entry.stack if isinstance(entry, Skip) else str(entry.hunk)
    return Finding(
        file,
        int(line),
        1,
        Severity.ERROR,
        "stale-evidence",
        f"{type(entry).__name__.lower()} {name}: {problem}",
        name,
        "look at the target again; correct the entry or delete it",
    )
