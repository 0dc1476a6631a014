"""Compare a target's branch with what applying its stacks gives now."""

from __future__ import annotations

from backport.checkout import Checkout
from backport.core.display import counted
from backport.core.evaluating import evaluate
from backport.core.manifests import Manifest
from backport.core.outcomes import CheckResult, Finding, Severity, Status
from backport.core.reports import StackReport, TargetReport
from backport.errors import BadInput
from backport.library import Library
from backport.workflows.preimages import preimages


def verify_branch(
    library: Library, manifest: Manifest, checkout: Checkout, branch: str
) -> TargetReport:
    """Apply again and compare every commit's tree with the branch's; writes nothing.

    Raises BadInput where the branch does not exist or does not start from the base.
    """
    tip = checkout.branch_tip(branch)
    if tip is None:
        raise BadInput(f"{checkout.shown} has no branch {branch}; make it with `backport apply`")
    commit = checkout.base(manifest.base)
    made = checkout.history(tip, commit)
    if made is None:
        raise BadInput(f"branch {branch} does not start from {manifest.base}")
    base = checkout.tree(commit)
    evaluation = evaluate(manifest, library.stacks, base, preimages(checkout, library.stacks))
    commits = [found for found, _ in reversed(made)]
    found = [base.id, *(checkout.tree(commit).id for commit in commits)]
    expected, stacks = [base.id], []
    for step in evaluation.steps:
        tree, _ = base.with_changes(step.changes)
        at = len(expected)
        changed = tree != expected[-1]
        stacks.append(StackReport(step.result, _at(commits, at - 1) if changed else None))
        if changed:
            expected.append(tree)
    names = [entry.result.stack for entry in stacks if entry.result.changes]
    return TargetReport(
        manifest.name,
        branch,
        commit,
        expected[-1],
        tuple(stacks),
        (*evaluation.checks, _compare(branch, names, expected, found)),
        repository=checkout.shown,
    )


def _at(commits: list[str], index: int) -> str | None:
    return commits[index] if index < len(commits) else None


def _compare(branch: str, names: list[str], expected: list[str], found: list[str]) -> CheckResult:
    """One finding for the first commit that differs, and one where the numbers do."""
    problems = []
    for name, want, have in zip(names, expected[1:], found[1:], strict=False):
        if want != have:
            problems.append(
                f"the commit of {name} has tree {have[:12]}, applying gives {want[:12]}"
            )
            break
    if len(expected) != len(found):
        problems.append(
            f"holds {counted(len(found) - 1, 'commit')}, applying gives {len(expected) - 1}"
        )
    findings = tuple(
        Finding(
            f"refs/heads/{branch}",
            0,
            0,
            Severity.ERROR,
            "branch-differs",
            problem,
            problem,
            "bring the change into the stacks or the manifest, or apply again",
        )
        for problem in problems
    )
    return CheckResult("branch", Status.FAILED if findings else Status.PASSED, findings)
