"""Verify a result statically: what a clean merge does not prove.

The audit reads the patched tree against a table of the target's symbols and reports
what the changes made worse: names, imports, attributes, calls, custom ops, flags,
fixtures. It says nothing where it cannot be sure.
"""

from __future__ import annotations

from collections.abc import Mapping

from backport.audit.auditing import Auditor
from backport.audit.catalogue import CHECKS, RULES
from backport.audit.dropped import names_defined
from backport.audit.subject import Commit, Options, Rule
from backport.core.outcomes import CheckResult, Finding
from backport.core.trees import Entry, Tree

__all__ = [
    "CHECKS",
    "Auditor",
    "Commit",
    "Options",
    "Rule",
    "audit",
    "audit_tree",
    "explain",
    "names_defined",
]


def audit(
    base: Tree, changes: Mapping[str, Entry | None], *, options: Options
) -> tuple[CheckResult, ...]:
    """One result per check for the tree with these changes, against the tree without them."""
    return Auditor(base, options).audit(changes)


def audit_tree(tree: Tree, options: Options) -> tuple[Finding, ...]:
    """Every finding of one tree, to judge a pristine one."""
    return Auditor(tree, options).standing()


def explain(code: str) -> Rule:
    """The rule of a finding's code; KeyError for an unknown one."""
    return RULES[code]
