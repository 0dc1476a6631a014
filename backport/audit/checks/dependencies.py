"""Parts of other projects that the versions which the target takes may not have yet."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache

from backport.audit.foreign import used
from backport.audit.paths import is_test
from backport.audit.requirements import canonical, is_for_tests, is_read, oldest
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.table import Table
from backport.audit.versions import Version, oldest_python
from backport.core.outcomes import Finding

NEWER = Rule(
    "newer-dependency",
    "a part of another project is used that nothing in the target uses, and the target takes "
    "older versions of that project than the patch's home does",
    "look whether the oldest version has it; if not, do without, guard the use or raise the "
    "requirement; if so, record with `[[accept]]` where it is",
)

_FAR = 2
"""So many releases apart it is a fault until somebody has looked; one apart it is worth a word."""

_OPERATORS = "torch.ops."
"""Custom operators, which have checks of their own: the tree registers them itself."""


def check(subject: Subject) -> Iterator[Finding]:
    """First uses in one file of other projects, of which the target takes older versions."""
    path = subject.file.source.path
    homes = subject.options.homes.get(path, ())
    if subject.before is None or not homes:
        return
    told: list[str] = []  # how the parts of what was told begin

    @cache
    def bounds(project: str) -> tuple[Version | None, Version | None]:
        """The oldest version that the target takes, and the highest of the homes' oldest."""
        for is_meant in (is_for_tests, is_read) if is_test(path) else (is_read,):
            mine = filter(is_meant, subject.table.everything)
            here = oldest(project, mine, subject.entry, subject.minimum)
            asked = (
                oldest(project, filter(is_meant, home.paths()), home.entry, oldest_python(home))
                for home in (homes if here else ())
            )
            ahead = max(filter(None, asked), default=None)
            if ahead is not None:
                return here, ahead
        return None, None

    for node, name in _first_uses(subject, subject.before):
        project, _, part = name.partition(".")
        if not part or f"{name}.".startswith((_OPERATORS, *told)) or _is_python(project):
            continue
        here, ahead = bounds(canonical(project))
        steps = _steps(here, ahead) if here and ahead else 0
        if here is None or ahead is None or not steps:
            continue
        told += [f"{name}.", f"{name}("]
        message = _message(name, canonical(project), here, ahead)
        yield finding(path, node, NEWER, message, name, warns=steps < _FAR)


def _is_python(project: str) -> bool:
    return project == "builtins" or project in sys.stdlib_module_names


def needs(subject: Subject) -> str:
    return "" if subject.options.homes else "no release that a patch was made on is at hand"


CHECK = Check(check, (NEWER,), needs=needs)


def _first_uses(subject: Subject, before: Table) -> list[tuple[ast.AST, str]]:
    """Uses of what the pristine tree never says, of projects that are not its own, by name."""

    @cache
    def is_fresh(last: str) -> bool:
        return not before.says(last) and not subject.table.is_loose(last)

    return sorted(used(subject, is_fresh), key=lambda use: (use[1], getattr(use[0], "lineno", 0)))


def _steps(here: Version, ahead: Version) -> int:
    """How many releases that may have new parts lie between the two: from 1.0 on, those that
    change the third number have none."""
    parts = 2 if here.release[0] else 3
    old, new = ((*v.release, 0, 0)[:parts] for v in (here, ahead))
    if new <= old:
        return 0
    return new[-1] - old[-1] if new[:-1] == old[:-1] else _FAR


def _message(name: str, project: str, here: Version, ahead: Version) -> str:
    return (
        f"`{name}` is used nowhere in the target, which takes {project} from "
        f"{here.number}; the patch's home takes it from {ahead.number}"
    )
