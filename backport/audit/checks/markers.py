"""Conflict markers that a merge left behind, in any text file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from backport.audit.subject import Check, Rule, Subject, finding_at
from backport.core.outcomes import Finding

MARKER = Rule(
    "conflict-marker",
    "a file holds the markers of a merge that nobody finished",
    "resolve the conflict and take the markers out",
)

_MARKER = re.compile(rb"^(<{7}|>{7}|\|{7})(?: [^\n]*)?\r?$", re.MULTILINE)
_FENCES = frozenset({b"<<<<<<<", b">>>>>>>"})
_HEAD = 8000


def check(subject: Subject) -> Iterator[Finding]:
    """Markers in the files that the stack touches."""
    for path in sorted(subject.touched):
        entry = subject.entry(path)
        if entry is None or b"\0" in entry.data[:_HEAD]:
            continue
        found = list(_MARKER.finditer(entry.data))
        if not {match[1] for match in found} >= _FENCES:
            continue  # one kind alone is an underline or a quotation
        for match in found:
            line = entry.data.count(b"\n", 0, match.start()) + 1
            message = f"conflict marker `{match[1].decode()}`"
            yield finding_at(path, line, MARKER, message, "marker")


CHECK = Check(check, (MARKER,), per_file=False)
