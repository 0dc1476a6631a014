"""Files that a build file or a list in the code names, and that are not there.

A native kernel whose source is left out, or listed where the target does not have it,
fails only when the project is built.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from backport.audit.cmake import listed
from backport.audit.subject import Check, Rule, Subject, finding, finding_at
from backport.core.outcomes import Finding
from backport.core.paths import decode

MISSING = Rule(
    "missing-file",
    "a list of the tree's files names one that is not there",
    "carry the file, or take it out of the list",
)

_BUILD_FILE = re.compile(r"(.*/)?(CMakeLists\.txt|[^/]+\.cmake)")
_PATH = re.compile(r"[\w.+-]+(?:/[\w.+-]+)+")
_FEWEST = 2
"""A list of paths is one of the tree's files where so many, and more than not, are there."""


def check_sources(subject: Subject) -> Iterator[Finding]:
    """Sources that CMake files list, where the stack changes such a file or removes any."""
    every = subject.before is None or any(subject.entry(path) is None for path in subject.touched)
    build_files = filter(_BUILD_FILE.fullmatch, subject.table.everything)
    exists = _exists(subject)
    for path in sorted(build_files):
        entry = subject.entry(path) if every or path in subject.touched else None
        if entry is None:
            continue
        text = decode(entry.data)
        for named in listed(text):
            if not exists(path, named.path):
                line, column = text.count("\n", 0, named.place) + 1, named.place
                column -= text.rfind("\n", 0, named.place)
                message = _message(named.path)
                yield finding_at(path, line, MISSING, message, named.path, column=column)


def check(subject: Subject) -> Iterator[Finding]:
    """Paths in one Python file's lists that name nothing, where the others name files.

    A path in a folder that is not there either may be one of what is made later, or no path
    at all; what a call is given may be what it is to make.
    """
    source = subject.file.source
    exists = _exists(subject)
    for node in _literals(source.tree):
        if len(node.elts) <= _FEWEST:
            continue
        texts = [e for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
        paths = [e for e in texts if _PATH.fullmatch(str(e.value))]
        lacking = [e for e in paths if not exists(source.path, str(e.value))]
        if len(paths) - len(lacking) < max(_FEWEST, len(lacking) + 1):
            continue
        for each in lacking:
            path = str(each.value)
            if exists(source.path, path.rpartition("/")[0]):
                yield finding(source.path, each, MISSING, _message(path), path)


SOURCES = Check(check_sources, (MISSING,), per_file=False)
CHECK = Check(check, (MISSING,))


def _literals(node: ast.AST) -> Iterator[ast.List | ast.Tuple | ast.Set]:
    """The literal lists below a node that are no part of a call."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.List | ast.Tuple | ast.Set):
            yield child
        if not isinstance(child, ast.Call):
            yield from _literals(child)


def _exists(subject: Subject) -> Callable[[str, str], bool]:
    """Whether a path that a file names is one of the tree, from its root or from beside it."""
    present = subject.table.everything
    folders: set[str] = set()

    def is_there(path: str) -> bool:
        if path in present or subject.ignored.covers(path):
            return True
        if not folders:
            folders.update(place.rpartition("/")[0] for place in present)
        return any(folder == path or folder.startswith(f"{path}/") for folder in folders)

    def exists(origin: str, path: str) -> bool:
        beside = origin.rpartition("/")[0]
        return is_there(path) or (bool(beside) and is_there(f"{beside}/{path}"))

    return exists


def _message(path: str) -> str:
    return f"`{path}` is not in the tree"
