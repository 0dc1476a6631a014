"""New paths that differ from others of the tree in case alone."""

from __future__ import annotations

from collections.abc import Iterator

from backport.audit.subject import Check, Rule, Subject, finding_at
from backport.core.outcomes import Finding
from backport.core.paths import parents

COLLISION = Rule(
    "case-collision",
    "a new path differs from another one in case alone: many file systems keep only one",
    "give the new file or folder another name, or spell it as the target does",
)


def check(subject: Subject) -> Iterator[Finding]:
    """Files and folders that the stack makes, against all others."""
    before = subject.before
    if before is None:
        return
    paths = subject.table.everything
    new = sorted(p for p in subject.touched if p in paths and p not in before.everything)
    known: dict[str, set[str]] = {}
    for path in paths if new else ():
        for part in (path, *parents(path)):
            known.setdefault(part.casefold(), set()).add(part)
    for path in new:
        for part in (*parents(path), path):
            others = known[part.casefold()] - {part}
            if others:
                message = f"`{part}` and `{min(others)}` differ in case alone"
                yield finding_at(path, 0, COLLISION, message, part, column=0)
                break


CHECK = Check(check, (COLLISION,), per_file=False)
