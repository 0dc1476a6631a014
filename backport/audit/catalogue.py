"""The checks by name, in the order in which they report."""

from __future__ import annotations

from backport.audit.checks import (
    attributes,
    calls,
    compiling,
    duplicates,
    fixtures,
    flags,
    imports,
    landing,
    markers,
    names,
    newer,
    opinions,
    ops,
    overrides,
    references,
    removed,
    requirements,
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
    "fakes": ops.FAKES,
    "ops": ops.CALLS,
    "duplicates": duplicates.CHECK,
    "removed": removed.CHECK,
    "references": references.CHECK,
    "fixtures": fixtures.CHECK,
    "stdlib": newer.CHECK,
    "landing": landing.CHECK,
    "reverted": reverted.CHECK,
    "requires": requirements.CHECK,
    "ruff": opinions.RUFF_CHECK,
    "ty": opinions.TY_CHECK,
}

STALE = Rule(
    "stale-acceptance",
    "the manifest accepts a finding that the audit does not make",
    "take the entry out: what it accepted is gone, or has another symbol",
)

RULES: dict[str, Rule] = {
    rule.code: rule for rule in (*(r for c in CHECKS.values() for r in c.rules), STALE)
}
