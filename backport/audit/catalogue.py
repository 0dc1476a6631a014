"""The checks by name, in the order in which they report."""

from __future__ import annotations

from backport.audit.checks import attributes, calls, flags, imports, names
from backport.audit.subject import Check, Rule

CHECKS: dict[str, Check] = {
    "names": names.CHECK,
    "imports": imports.CHECK,
    "attributes": attributes.CHECK,
    "flags": flags.CHECK,
    "calls": calls.CHECK,
}

RULES: dict[str, Rule] = {rule.code: rule for check in CHECKS.values() for rule in check.rules}
