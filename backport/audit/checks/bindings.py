"""Custom ops that one C++ file binds twice, which torch refuses when the library is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from backport.audit.schemas import literals, split
from backport.audit.subject import Check, Rule, Subject, finding_at
from backport.audit.worker import NATIVE
from backport.core.outcomes import Finding
from backport.core.paths import decode

TWICE = Rule(
    "op-bound-twice",
    "a C++ file defines a custom op twice in one library, or implements it twice for one backend",
    "keep one: the target binds the op already",
)

_BLOCK = re.compile(
    r"\w*TORCH_LIBRARY(?P<impl>_IMPL)?(?:_FRAGMENT|_EXPAND)*"
    r"\s*\(\s*(?P<library>[^;{]*?),\s*(?P<object>\w+)\s*\)\s*\{"
)
_SKIPPED = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|R"(?P<tag>\w*)\(.*?\)(?P=tag)"|"(?:[^"\\\n]|\\.)*"', re.DOTALL
)
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(if|el|endif)(\w*)(.*)")
_IMPLEMENTED = re.compile(r'\s*"([\w.:]+)"\s*,([^;]*)\)\s*;', re.DOTALL)

Branch = tuple[tuple[str, int], ...]
"""The conditions of the preprocessor around a line, each with the number of its branch."""


class Bound(NamedTuple):
    """An op that a call defines, or implements for a backend by a function."""

    library: str
    op: str
    backend: str | None
    function: str
    line: int
    branch: Branch


class _Block(NamedTuple):
    """The body of a `TORCH_LIBRARY` block, by its places in the file."""

    library: str
    backend: str
    object: str
    begin: int
    end: int


def check(subject: Subject) -> Iterator[Finding]:
    """Ops that one of the changed C++ files binds twice, where one build has both."""
    for path in sorted(subject.touched):
        entry = subject.entry(path) if path.endswith(NATIVE) else None
        if entry is not None and b"TORCH_LIBRARY" in entry.data:
            yield from (_found(path, bound) for bound in twice(decode(entry.data)))


CHECK = Check(check, (TWICE,), per_file=False)


def twice(text: str) -> Iterator[Bound]:
    """Each definition of an op behind another one, and each implementation for a backend behind
    one by another function, which is dead."""
    known: dict[tuple[str, str, str | None], list[Bound]] = {}
    for bound in _bindings(text):
        earlier = known.setdefault(bound[:3], [])
        together = [e for e in earlier if _both_run(e.branch, bound.branch)]
        if any(bound.backend is None or e.function != bound.function for e in together):
            yield bound
        earlier.append(bound)


def _found(path: str, bound: Bound) -> Finding:
    """Torch fails to load the first kind, and warns of the second."""
    symbol = f"{bound.library}::{bound.op}"
    if bound.backend is None:
        return finding_at(path, bound.line, TWICE, f"`{symbol}` is defined a second time", symbol)
    message = f"`{symbol}` is implemented for {bound.backend or 'any backend'} a second time"
    return finding_at(path, bound.line, TWICE, message, f"{symbol}({bound.backend})", warns=True)


def _bindings(text: str) -> Iterator[Bound]:
    """What the library blocks of a file bind, not under conditions of the block's own code."""
    bare, branches = _SKIPPED.sub(_blank, text), _branches(text)
    code = _SKIPPED.sub(lambda m: _blank(m) if m["comment"] else m[0], text)
    for block in _blocks(bare):
        calls = re.compile(rf"\b{block.object}\.(def|impl)\(")
        for call in calls.finditer(bare, block.begin, block.end):
            inside = bare[block.begin : call.start()]
            line = text.count("\n", 0, call.start())
            named = _named(code, call, block) if inside.count("{") == inside.count("}") else None
            if named is not None:
                yield Bound(block.library, *named, line + 1, branches[line])


def _blocks(bare: str) -> Iterator[_Block]:
    for match in _BLOCK.finditer(bare):
        library, _, backend = match["library"].rpartition(",")
        if not match["impl"]:
            library, backend = match["library"], ""
        end = bare.find("\n}", match.end())
        names = (" ".join(library.split()), backend.strip(), match["object"])
        yield _Block(*names, match.end(), end if end != -1 else len(bare))


def _named(code: str, call: re.Match[str], block: _Block) -> tuple[str, str | None, str] | None:
    """The op, the backend and the function of a call; None where it names them otherwise."""
    if call[1] == "def":
        op = literals(code, call.end()).partition("(")[0].strip()
        return (op.rpartition("::")[2], None, "") if op else None
    match = _IMPLEMENTED.match(code, call.end())
    given = [" ".join(part.split()) for part in split(match[2])] if match else []
    if match is None or not 0 < len(given) < 3:
        return None
    backend = given[0].rpartition("::k")[2] if len(given) > 1 else block.backend
    return match[1].rpartition("::")[2], backend, given[-1]


def _blank(match: re.Match[str]) -> str:
    """As many blanks, and the ends of lines."""
    return re.sub(r"[^\n]", " ", match[0])


def _branches(text: str) -> list[Branch]:
    """The branch of each line."""
    around: list[tuple[str, int]] = []
    found = []
    for line in text.split("\n"):
        match = _DIRECTIVE.match(line)
        if match is not None and match[1] == "if":
            around.append((f"{match[2]} {match[3].strip()}", 0))
        elif match is not None and around:
            condition, number = around.pop()
            around += [(condition, number + 1)] if match[1] == "el" else []
        found.append(tuple(around))
    return found


def _both_run(first: Branch, second: Branch) -> bool:
    """True where whatever build has the deeper of two lines has the other one as well."""
    shared = min(len(first), len(second))
    return first[:shared] == second[:shared]
