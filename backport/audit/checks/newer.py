"""Parts of the standard library that the oldest supported Python does not have."""

from __future__ import annotations

from collections.abc import Iterator

from backport.audit.foreign import used
from backport.audit.stdlib import MODULES, SYMBOLS
from backport.audit.subject import Check, Rule, Subject, finding
from backport.core.outcomes import Finding

NEWER = Rule(
    "newer-stdlib",
    "a part of the standard library is used that the oldest supported Python lacks",
    "use what that Python has, or guard the use by version or by `except ImportError`",
)


def check(subject: Subject) -> Iterator[Finding]:
    """Uses in one file of what came after the tree's minimum Python."""
    minimum = subject.minimum
    if minimum is None:
        return
    source = subject.file.source
    for node, name in used(subject, _LAST.__contains__):
        since = MODULES.get(name) or SYMBOLS.get(name)
        if since is not None and since > minimum:
            shown = name.removeprefix("builtins.")
            versions = [".".join(map(str, version)) for version in (since, minimum)]
            message = f"`{shown}` is new in Python {versions[0]}, the tree supports {versions[1]}"
            yield finding(source.path, node, NEWER, message, shown)


def needs(subject: Subject) -> str:
    return "" if subject.minimum is not None else "the tree does not say which Python it requires"


CHECK = Check(check, (NEWER,), needs=needs)

_LAST = frozenset(name.rpartition(".")[2] for name in (*SYMBOLS, *MODULES))
