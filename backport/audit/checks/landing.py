"""Hunks that came to lie in another scope than the one they name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from backport.audit.subject import Check, Landing, Rule, Subject
from backport.core.outcomes import Finding, Severity

OTHER = Rule(
    "other-scope",
    "a hunk lies in another class or function than the one that its header names",
    "compare the code around it with the patch; re-anchor the hunk by scope if it is wrong",
)

_NAMED = re.compile(r"^\s*(?:async\s+def|def|class)\s+(\w+)")


def check(subject: Subject) -> Iterator[Finding]:
    """Hunks whose named scope exists in the file, but not around them."""
    for landing in subject.options.landings or ():
        named = _NAMED.match(landing.section)
        entry = subject.entry(landing.path)
        if named is None or entry is None or not landing.path.endswith(".py"):
            continue
        try:
            tree = ast.parse(entry.data)
        except (SyntaxError, ValueError):
            continue
        yield from _misplaced(landing, named[1], tree)


def needs(subject: Subject) -> str:
    return "" if subject.options.landings is not None else "nobody says where the hunks lie"


CHECK = Check(check, (OTHER,), per_file=False, needs=needs, compared=False)


def _misplaced(landing: Landing, name: str, tree: ast.Module) -> Iterator[Finding]:
    """git names the last definition above a hunk: that one, or one around it, must lie above."""
    scopes = [
        (node.lineno, node.end_lineno or node.lineno, node.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    around = {scope for first, last, scope in scopes if first <= landing.line <= last + 1}
    above = [scope for scope in sorted(scopes) if scope[0] <= landing.line]
    before = {above[-1][2]} if above else set()
    outermost = [s for first, _, s in above if not any(
        a < first <= b for a, b, _ in scopes)]  # fmt: skip
    if name in around | before | set(outermost[-1:]):
        return
    if any(scope == name for _, _, scope in scopes):
        where = above[-1][2] if above else "the top of the file"
        message = f"a hunk for `{name}` lies at `{where}`"
        yield Finding(
            landing.path, landing.line, 1, Severity.ERROR, OTHER.code, message, name, OTHER.mend
        )
