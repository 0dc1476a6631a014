"""What the stacks require of other projects, against what the target's own image pins."""

from __future__ import annotations

from collections.abc import Sequence

from backport.audit.requirements import IMAGE, Pin, canonical, pins
from backport.audit.versions import satisfies
from backport.core.outcomes import CheckResult, Finding, Severity, Status
from backport.core.paths import decode
from backport.core.stacks import Stack
from backport.core.trees import Tree


def check_requires(tree: Tree, stacks: Sequence[Stack]) -> CheckResult:
    """Each stack's `[requires]` against the version that the target's own image pins.

    `not_run` where a stack requires a project whose pin the tree does not tell, or in
    words that cannot be compared. `tree` is the patched one: a stack may raise a pin.
    """
    findings, unknown, asked = [], [], False
    for stack in stacks:
        for project, wanted in stack.requires.items():
            asked = True
            pin = _pin(tree, project)
            meets = satisfies(pin.version, wanted) if pin else None
            if pin is None or meets is None:
                unknown.append(project)
            elif not meets:
                findings.append(_unmet(stack, project, wanted, pin))
    if findings:
        return CheckResult("requires", Status.FAILED, tuple(findings))
    if unknown or not asked:
        said = f"the target does not tell its {', '.join(sorted(set(unknown)))}"
        note = said if unknown else "no stack requires anything of another project"
        return CheckResult("requires", Status.NOT_RUN, note=note)
    return CheckResult("requires", Status.PASSED)


def _pin(tree: Tree, project: str) -> Pin | None:
    """What the target's ROCm image pins of a project."""
    entry = tree.entry(IMAGE)
    return pins(decode(entry.data) if entry else "").get(canonical(project))


def _unmet(stack: Stack, project: str, wanted: str, pin: Pin) -> Finding:
    message = f"{stack.name} requires {project} {wanted}, the target pins {pin.tag}"
    return Finding(
        IMAGE,
        pin.line,
        1,
        Severity.ERROR,
        "requirement-unmet",
        message,
        stack.name,
        "raise the pin with the stack, skip it, or record with [[accept]] why it is harmless",
    )
