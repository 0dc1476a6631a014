"""Names that nothing binds, or nothing binds in time."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

from backport.audit import tolerance
from backport.audit.scopes import Bind, Scope
from backport.audit.source import Site
from backport.audit.subject import Check, Rule, Subject, finding
from backport.core.outcomes import Finding

UNDEFINED = Rule(
    "undefined-name",
    "a name is read that no scope around it, no import and no builtin binds",
    "carry the hunk that defines it, or use what the target has in its place",
)
EARLY = Rule(
    "used-before-definition",
    "a name is read where the only statements that bind it come later",
    "move the definition above its first use: a hunk landed too low or too high",
)
TYPING_ONLY = Rule(
    "typing-only-name",
    "a name that is imported for type checkers alone is read at run time",
    "import it outside `if TYPE_CHECKING`, or quote the annotation",
)
EXPORT = Rule(
    "undefined-export",
    "`__all__` lists a name that the module does not have",
    "carry the definition, or take the name out of `__all__`",
)

_MODULE = frozenset(
    {"__file__", "__path__", "__builtins__", "__annotations__", "__version__", "__class__"}
    | {"__module__", "__qualname__", "__firstlineno__", "__static_attributes__"}
)
_KNOWN = frozenset(dir(builtins)) | frozenset(
    {"_", "WindowsError", "reveal_type", "ExceptionGroup"}
)


def check(subject: Subject) -> Iterator[Finding]:
    """Undefined, too early and type-checking-only names of one file."""
    source = subject.file.source
    record = subject.table.record(source.path)
    if record is None:
        return
    for site in source.names:
        rule = _fault(subject, site, site.node.id)
        if rule is not None and not source.is_excused(site.node):
            yield finding(source.path, site.node, rule, _MESSAGES[rule](site.node.id), site.node.id)
    for name in record.exported or ():
        if subject.resolver.member(source.path, name) is None:
            message = f"`__all__` lists `{name}`, which the module does not define"
            yield finding(source.path, None, EXPORT, message, name)


CHECK = Check(check, (UNDEFINED, EARLY, TYPING_ONLY, EXPORT))

_MESSAGES = {
    UNDEFINED: "name `{}` is not defined".format,
    EARLY: "name `{}` is read before the statement that defines it".format,
    TYPING_ONLY: "name `{}` is imported for type checkers only, but read at run time".format,
}


def _fault(subject: Subject, site: Site[Any], name: str) -> Rule | None:
    if site.guard & (tolerance.NAMES | tolerance.VERSION):
        return None
    holder = site.scope.holder(name)
    if holder is None:
        known = name in _KNOWN or name in _MODULE or (name.startswith("__") and name in _DUNDERS)
        return (
            None if known or may_be_global(subject, subject.file.source.path, name) else UNDEFINED
        )
    binds = holder.binds[name]
    if _is_early(site, holder, binds):
        return None if name in _KNOWN and holder.kind == "module" else EARLY
    if holder.kind == "module" and _for_typing_only(binds) and not site.guard & _UNEVALUATED:
        return (
            None
            if name in _KNOWN or may_be_global(subject, subject.file.source.path, name)
            else TYPING_ONLY
        )
    return None


_DUNDERS = frozenset({"__name__", "__doc__", "__spec__", "__loader__", "__package__", "__debug__"})
_UNEVALUATED = tolerance.LAZY | tolerance.TYPING


def may_be_global(subject: Subject, path: str, name: str) -> bool:
    """True where the module may get the name by other ways than a statement."""
    record = subject.table.record(path)
    if record is None or record.open:
        return True
    return bool(record.stars) and subject.resolver.member(path, name) is not None


def _for_typing_only(binds: list[Bind]) -> bool:
    return all(bind.guard & tolerance.TYPING for bind in binds)


def _is_early(site: Site[Any], holder: Scope, binds: list[Bind]) -> bool:
    """True where the read surely runs before every statement that binds the name."""
    if site.guard & _UNEVALUATED or not _same_run(site.scope, holder):
        return False
    return all(
        site.statement < bind.statement and bind.line and not (bind.loop and bind.loop == site.loop)
        for bind in binds
    )


def _same_run(scope: Scope, holder: Scope) -> bool:
    """True where a read in `scope` runs in the course of the statements of `holder`."""
    if holder.kind == "module":
        return scope.runs_on_import
    return scope is holder and holder.kind == "function"
