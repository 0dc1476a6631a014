"""The checks by name, in the order in which they report."""

from __future__ import annotations

from backport.audit.checks import (
    abstract,
    attributes,
    calls,
    compiling,
    duplicates,
    fields,
    fixtures,
    flags,
    imports,
    markers,
    names,
    newer,
    opinions,
    ops,
    overrides,
    patched,
    references,
    removed,
    reverted,
)
from backport.audit.subject import Check, Rule

CHECKS: dict[str, Check] = {
    "compile": compiling.CHECK,
    "markers": markers.CHECK,
    "names": names.CHECK,
    "imports": imports.CHECK,
    "attributes": attributes.CHECK,
    "flags": flags.CHECK,
    "calls": calls.CHECK,
    "overrides": overrides.CHECK,
    "abstract": abstract.CHECK,
    "fields": fields.CHECK,
    "fakes": ops.FAKES,
    "ops": ops.CALLS,
    "duplicates": duplicates.CHECK,
    "removed": removed.CHECK,
    "references": references.CHECK,
    "patched": patched.CHECK,
    "fixtures": fixtures.CHECK,
    "stdlib": newer.CHECK,
    "reverted": reverted.CHECK,
    "ruff": opinions.RUFF_CHECK,
    "ty": opinions.TY_CHECK,
}

_ELSEWHERE = (
    Rule(
        "requirement-unmet",
        "the target pins a version of another project that the stack's requirement excludes",
        "raise the pin with the stack, or probe for the feature and fall back without it",
    ),
    Rule(
        "stale-accept",
        "the manifest accepts a finding that no check makes",
        "take the entry out: what it accepted is gone, or has another symbol",
    ),
)
"""What is told beside the audit, of the stacks and of the manifest."""

RULES: dict[str, Rule] = {
    rule.code: rule
    for rule in sorted((*(r for c in CHECKS.values() for r in c.rules), *_ELSEWHERE))
}
