"""Requirements that a stack raises on a branch whose users have the older versions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from backport.audit.requirements import canonical, is_read, oldest
from backport.audit.subject import Check, Rule, Subject, finding_at
from backport.core.outcomes import Finding
from backport.core.paths import decode

RAISED = Rule(
    "raised-requirement",
    "a stack asks for a newer version of another project than the target's users have",
    "look whether the change needs it: leave the requirement as the target has it, "
    "or record with `[[accept]]` that it is meant",
)

_NAMED = re.compile(r"([A-Za-z0-9][\w.-]*?)(?:_BRANCH|\[[^\]\n]*\])?\s*(?:[~=!<>]=|[<>=])")


def check(subject: Subject) -> Iterator[Finding]:
    """Lower bounds in one of the changed requirement files that the pristine tree's lie below."""
    had = subject.had
    if had is None:
        return
    for path in sorted(filter(is_read, subject.touched)):
        entry = subject.entry(path)
        text = decode(entry.data) if entry is not None else ""
        lines = {canonical(m[1]): text.count("\n", 0, m.start()) + 1 for m in _NAMED.finditer(text)}
        for project, line in lines.items():
            was = oldest(project, [path], had, subject.minimum)
            now = oldest(project, [path], subject.entry, subject.minimum)
            if was and now and now.release > was.release:
                message = f"`{project}` is asked for from {now.number}, not from {was.number}"
                yield finding_at(path, line, RAISED, message, project, warns=True)


CHECK = Check(check, (RAISED,), per_file=False, compared=False)
