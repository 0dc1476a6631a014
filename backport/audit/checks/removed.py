"""Attributes and methods that the stack removes from the whole tree, and someone still reads.

Reads on objects of a known class are the matter of another check; here nobody
knows the class, but nothing in the tree defines the name any more.
"""

from __future__ import annotations

from collections.abc import Iterator

from backport.audit import tolerance
from backport.audit.externals import MODULES, provided
from backport.audit.impact import imports
from backport.audit.index import defined_names
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.values import Sort
from backport.core.outcomes import Finding

REMOVED = Rule(
    "removed-definition",
    "an attribute is read whose last definition in the tree the stack removes",
    "keep the definition or an alias of it, or change the reader with the stack",
)

_MOST = 20
"""A name that more files read is one of another project's as well."""


def check(subject: Subject) -> Iterator[Finding]:
    """Reads of attributes that nothing defines any more."""
    for name in sorted(_gone(subject)):
        readers = list(subject.table.mentioning(name))
        for path in readers if len(readers) <= _MOST else ():
            near = path in subject.touched or _knows(subject, path, name)
            places = subject.read(path)
            for site in places.source.attributes if places is not None else ():
                if site.node.attr != name or site.guard & tolerance.ATTRIBUTES or places is None:
                    continue
                found = places.type_of(site.node.value, site.scope)
                if any(value.sort is Sort.EXTERNAL for value in found):
                    continue
                message = f"`{name}` is read, but nothing in the tree defines it any more"
                yield finding(path, site.node, REMOVED, message, name, warns=not near)


def needs(subject: Subject) -> str:
    return "" if subject.before is not None else "nothing is changed"


CHECK = Check(check, (REMOVED,), per_file=False, needs=needs)


def _knows(subject: Subject, reader: str, name: str) -> bool:
    """True where a file imports one that the stack changes: another's attribute of that name
    is no more than likely to be the one that is gone."""
    return any(imports(subject.table, reader, path, name) for path in subject.touched)


def _gone(subject: Subject) -> Iterator[str]:
    if subject.before is None:
        return
    for path in subject.touched:
        for name in defined_names(subject.before.record(path)):
            known = any(name in (provided(e) or ()) for e in _COMMON)
            if name not in subject.table.index.defined and not known and len(name) > 2:
                yield name


_TYPES = ("dict", "list", "str", "bytes", "set", "tuple", "int", "float", "object")
_COMMON = (*MODULES, *(f"builtins.{name}" for name in _TYPES))
