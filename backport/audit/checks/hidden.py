"""A module and a package of one name side by side: only one of them can be imported."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from backport.audit.subject import Check, Rule, Subject, finding_at
from backport.core.outcomes import Finding
from backport.core.paths import parents

HIDDEN = Rule(
    "hidden-module",
    "a module and a package of one name stand side by side: only one of them is ever imported",
    "put the new file where the target has the module or the package",
)

_INIT = "__init__.py"


def check(subject: Subject) -> Iterator[Finding]:
    """Python files that the stack makes, and what they hide or are hidden by."""
    paths = subject.table.everything
    new = subject.touched & paths.keys()
    for path in sorted(new - subject.before.everything.keys() if subject.before else ()):
        clash = _clash(path, paths) if path.endswith(".py") else None
        if clash is not None:
            hidden, by = clash
            message = f"`{hidden}` cannot be imported: `{by}` has its name"
            yield finding_at(path, 0, HIDDEN, message, hidden, column=0)


CHECK = Check(check, (HIDDEN,), per_file=False)


def _clash(path: str, paths: Collection[str]) -> tuple[str, str] | None:
    """What can no longer be imported, and what stands in its way."""
    folder, _, leaf = path.rpartition("/")
    package = f"{path.removesuffix('.py')}/{_INIT}"
    if leaf == _INIT and f"{folder}.py" in paths:
        return f"{folder}.py", path
    if package in paths:
        return path, package
    for above in parents(path):
        outer = above.rpartition("/")[0]
        inside = f"{outer}/{_INIT}" in paths
        if inside and f"{above}.py" in paths and f"{above}/{_INIT}" not in paths:
            return path, f"{above}.py"
    return None
