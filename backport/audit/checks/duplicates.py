"""Definitions that a second one of the same name replaces unseen, as after applying twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backport.audit.bodies import blocks
from backport.audit.functions import Definition, decorator_term
from backport.audit.paths import is_test
from backport.audit.source import Source
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.terms import dotted
from backport.core.outcomes import Finding

DEFINITION = Rule(
    "duplicate-definition",
    "a scope defines one name twice, and nothing uses the first definition",
    "keep one: the target has the definition already, perhaps at another place",
)
KEY = Rule(
    "duplicate-key",
    "a dict literal has one key twice, and the last entry wins",
    "keep one entry: the target has the key already",
)
BLOCK = Rule(
    "repeated-block",
    "the same statements stand twice in a row",
    "keep one copy: a hunk that only adds lines was applied twice",
)

_PLAIN = frozenset(
    {"staticmethod", "classmethod", "property", "cached_property", "jit", "lru_cache", "cache"}
    | {"abstractmethod", "fixture", "no_grad", "inference_mode", "override", "dataclass", "final"}
    | {"parametrize", "skipif", "skip", "contextmanager", "torch_compile", "wraps", "compile"}
)
_RUN = 12
"""The longest run of statements that is compared with what follows it."""

_LONG = 3
"""So many lines must be repeated before a run of simple statements counts as a copy."""


def check(subject: Subject) -> Iterator[Finding]:
    """Duplicates in one file."""
    source = subject.file.source
    for scope, body in _bodies(source.tree, ""):
        yield from _definitions(source, scope, body)
        if not is_test(source.path):
            yield from _repeated(source, scope, body)
    for node in source.nodes:
        if isinstance(node, ast.Dict):
            yield from _keys(source, node)


CHECK = Check(check, (DEFINITION, KEY, BLOCK))


def _bodies(node: ast.AST, scope: str) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Every block of statements with the qualified name of the definition around it."""
    for body in blocks(node):
        yield scope, body
        for statement in body:
            named = isinstance(statement, Definition | ast.ClassDef)
            inner = f"{scope}{statement.name}." if named else scope  # type: ignore[attr-defined]
            yield from _bodies(statement, inner)


def _definitions(source: Source, scope: str, body: list[ast.stmt]) -> Iterator[Finding]:
    seen: dict[str, ast.stmt] = {}
    for node in body:
        for name in _defined(node):
            first = seen.get(name)
            if first is not None and _replaces(source, name, first, node):
                shown = f"`{scope}{name}` is defined twice in one scope"
                yield finding(source.path, node, DEFINITION, shown, f"{scope}{name}")
            seen[name] = node


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement is there to define."""
    if isinstance(node, Definition | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    if isinstance(node, ast.ImportFrom):
        return [a.asname or a.name for a in node.names if a.name != "*"]
    return []


def _replaces(source: Source, name: str, first: ast.stmt, second: ast.stmt) -> bool:
    """True where the second definition hides the first before anything used it."""
    both = (first, second)
    if name == "_" or not all(_is_plain(node, name) for node in both):
        return False
    if all(isinstance(node, ast.ImportFrom) for node in both):
        return False  # the same import twice does no harm
    if isinstance(first, ast.AnnAssign) and first.value is None:
        return False
    begin, end = first.lineno, second.lineno
    return not any(
        site.node.id == name and begin < site.node.lineno <= end for site in source.names
    )


def _is_plain(node: ast.stmt, name: str) -> bool:
    """False for a definition that a decorator may hand to somebody: a stub, a setter, a route."""
    for decorator in getattr(node, "decorator_list", ()):
        text = dotted(decorator_term(decorator))
        if text.rpartition(".")[2] not in _PLAIN or text.split(".")[0] == name:
            return False
    return True


def _keys(source: Source, node: ast.Dict) -> Iterator[Finding]:
    seen: set[object] = set()
    for key in node.keys:
        if isinstance(key, ast.Constant):
            if (type(key.value), key.value) in seen:
                message = f"the key {key.value!r} stands twice in one dict"
                yield finding(source.path, key, KEY, message, repr(key.value))
            seen.add((type(key.value), key.value))


def _repeated(source: Source, scope: str, body: list[ast.stmt]) -> Iterator[Finding]:
    """Runs of statements that are followed by themselves."""
    place = 0
    while place + 1 < len(body):
        size = _repeated_size(body, place)
        if size and _is_copy(body[place : place + size]):
            node = body[place + size]
            where = scope.rstrip(".") or "the module"
            message = f"statements stand twice in a row in `{where}`"
            yield finding(source.path, node, BLOCK, message, f"{where}: {_head(node)}")
        place += 2 * size or 1


def _repeated_size(body: list[ast.stmt], place: int) -> int:
    """How many statements from a place on are followed by the same ones."""
    shapes = [_shape(node) for node in body[place : place + 2 * _RUN]]
    for size in range(1, len(shapes) // 2 + 1):
        if shapes[:size] == shapes[size : 2 * size]:
            pairs = zip(body[place:], body[place + size : place + 2 * size], strict=False)
            if all(ast.dump(one) == ast.dump(other) for one, other in pairs):
                return size
    return 0


def _shape(node: ast.stmt) -> tuple[type, int, int]:
    """What two equal statements share, cheaply told."""
    last = node.end_lineno or node.lineno
    return type(node), last - node.lineno, node.end_col_offset or 0


def _is_copy(run: list[ast.stmt]) -> bool:
    """True where a run does the same again: what a `while` reads may be something else."""
    lines = (run[-1].end_lineno or run[-1].lineno) - run[0].lineno + 1
    compound = any(next(blocks(node), None) for node in run if not isinstance(node, ast.While))
    calls = len(run) > 1 and any(isinstance(node, ast.Assign) for node in run)
    return lines >= _LONG and (compound or calls)


def _head(node: ast.stmt) -> str:
    return ast.unparse(node).partition("\n")[0]
