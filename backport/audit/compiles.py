"""Every changed Python file compiles, here and for the oldest Python the tree supports.

The verdict is that of `py_compile`, reached with `compile()` in this process: no
child, nothing written beside the sources, and no file judged twice. It says
little (a clean merge that is wrong nearly always compiles), so it is cheap.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import NamedTuple

from backport.core.outcomes import CheckResult, Finding, Severity, Status
from backport.core.trees import EXECUTABLE, REGULAR, Entry

Version = tuple[int, int]

_MENDS = {
    "syntax": "look at the hunks of this file: one of them landed inside another statement",
    "newer-syntax": "write it in the syntax of the oldest Python that the target supports",
}


_FIRST = (3, 0)
"""What Python 2 takes, no parser of today can tell."""


class Fault(NamedTuple):
    """What is wrong with one content, whatever path it has."""

    code: str
    line: int
    column: int
    message: str


Memo = MutableMapping[tuple[str, Version | None], tuple[Fault, ...]]
_memo: dict[tuple[str, Version | None], tuple[Fault, ...]] = {}


def compile_check(
    changes: Mapping[str, Entry | None], minimum: Version | None, *, memo: Memo = _memo
) -> CheckResult:
    """The check "compile": one finding per changed Python file that does not compile.

    `minimum` is the oldest Python of the tree (None: only the running one is
    asked). Verdicts are kept in `memo` by blob id.
    """
    findings = tuple(
        Finding(path, *_place(fault), Severity.ERROR, *_words(fault))
        for path, data in sorted(python_sources(changes))
        for fault in faults(data, minimum, memo)
    )
    if not findings:
        return CheckResult("compile", Status.PASSED)
    running = sys.version_info[:2]
    if minimum is not None and minimum > running:
        note = f"the tree wants Python {_dotted(minimum)}, this is {_dotted(running)}"
        return CheckResult("compile", Status.NOT_RUN, note=note)
    return CheckResult("compile", Status.FAILED, findings)


def python_sources(changes: Mapping[str, Entry | None]) -> Iterator[tuple[str, bytes]]:
    """Path and content of each changed Python file; a symbolic link has no source of its own."""
    for path, entry in changes.items():
        if entry is not None and path.endswith(".py") and entry.mode in (REGULAR, EXECUTABLE):
            yield path, entry.data


def faults(data: bytes, minimum: Version | None, memo: Memo = _memo) -> tuple[Fault, ...]:
    """What keeps this content from compiling; empty when nothing does."""
    key = (blob_id(data), minimum)
    if key not in memo:
        memo[key] = _judge(data, minimum)
    return memo[key]


def blob_id(data: bytes) -> str:
    """The id git gives this content."""
    head = b"blob %d\0" % len(data)
    return hashlib.sha1(head + data, usedforsecurity=False).hexdigest()


def _judge(data: bytes, minimum: Version | None) -> tuple[Fault, ...]:
    fault = _fault("syntax", lambda: compile(data, "<source>", "exec", dont_inherit=True))
    if fault is None and minimum is not None and _FIRST <= minimum < sys.version_info[:2]:
        fault = _fault("newer-syntax", lambda: ast.parse(data, feature_version=minimum))
    return () if fault is None else (fault,)


def _fault(code: str, attempt: Callable[[], object]) -> Fault | None:
    """The first error of the attempt; the same exceptions as `py_compile` counts."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            attempt()
    except SyntaxError as error:
        return Fault(code, error.lineno or 0, error.offset or 0, error.msg)
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        return Fault(code, 0, 0, str(error) or type(error).__name__)
    return None


def _place(fault: Fault) -> tuple[int, int]:
    return max(fault.line, 0), max(fault.column, 0)


def _words(fault: Fault) -> tuple[str, str, str, str]:
    return fault.code, fault.message, fault.code, _MENDS[fault.code]


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
