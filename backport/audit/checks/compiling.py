"""Touched files that do not compile, here or for the oldest Python of the tree."""

from __future__ import annotations

from collections.abc import Iterator

from backport.audit.compiles import compile_check
from backport.audit.subject import Check, Rule, Subject
from backport.core.outcomes import Finding

SYNTAX = Rule(
    "syntax",
    "a file does not compile",
    "look at the hunks of this file: one of them landed inside another statement",
)
NEWER = Rule(
    "newer-syntax",
    "a file uses syntax that the oldest supported Python does not know",
    "write it in the syntax of the oldest Python that the target supports",
)


def check(subject: Subject) -> Iterator[Finding]:
    """What keeps the touched files from compiling."""
    changes = {path: subject.entry(path) for path in subject.touched}
    yield from compile_check(changes, subject.minimum).findings


CHECK = Check(check, (SYNTAX, NEWER), per_file=False)
