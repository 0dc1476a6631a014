"""Names that a module serves through its own `__getattr__`.

A module-level `__getattr__` over the keys of a dict literal is a table: a name
that is not a key of it does not exist. Any other `__getattr__` may answer anything.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

Dicts = dict[str, set[str] | None]


def served_names(tree: ast.Module) -> tuple[tuple[str, ...] | None, bool]:
    """The names served by a table, and whether the module may serve any other name."""
    hooks = [node for node in _definitions(tree.body) if node.name == "__getattr__"]
    if not hooks:
        return None, False
    tables = _literal_tables(tree)
    names: set[str] = set()
    for hook in hooks:
        found = _served(hook, tables)
        if found is None:
            return None, True
        names |= found
    return tuple(sorted(names)), False


def _definitions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.If | ast.Try):
            yield from _definitions([*node.body, *node.orelse])


def _served(hook: ast.FunctionDef, tables: Dicts) -> set[str] | None:
    """The names that one `__getattr__` answers for; None where that cannot be told."""
    if not hook.args.args or not _raises_attribute_error(hook):
        return None
    asked = hook.args.args[0].arg
    names: set[str] = set()
    for test in _tests(hook.body, asked):
        found = _names_in(test, tables)
        if found is None:
            return None
        names |= found
    return names if names and _all_guarded(hook.body, asked) else None


def _raises_attribute_error(hook: ast.FunctionDef) -> bool:
    raised = (node.exc for node in ast.walk(hook) if isinstance(node, ast.Raise))
    return any(
        isinstance(exc, ast.Call) and getattr(exc.func, "id", "") == "AttributeError"
        for exc in raised
    )


def _tests(body: list[ast.stmt], asked: str) -> Iterator[ast.expr]:
    for node in body:
        if isinstance(node, ast.If):
            if _mentions(node.test, asked):
                yield node.test
            yield from _tests(node.orelse, asked)


def _names_in(test: ast.expr, tables: Dicts) -> set[str] | None:
    """The names for which `name == "x"`, `name in ("x", "y")` or `name in TABLE` holds."""
    if isinstance(test, ast.UnaryOp):
        test = test.operand
    if isinstance(test, ast.BoolOp):
        test = test.values[0]
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    other = test.comparators[0]
    if isinstance(other, ast.Name):
        return tables.get(other.id)
    if isinstance(other, ast.Call) and getattr(other.func, "id", "") == "globals":
        return set()  # those names are there anyway
    constants = other.elts if isinstance(other, ast.Tuple | ast.List | ast.Set) else [other]
    names = {c.value for c in constants if isinstance(c, ast.Constant)}
    return {n for n in names if isinstance(n, str)} if len(names) == len(constants) else None


def _all_guarded(body: list[ast.stmt], asked: str) -> bool:
    """No answer is given outside a test of the asked name, or after a test that raised."""
    tested = False
    for node in body:
        if isinstance(node, ast.If) and _mentions(node.test, asked):
            tested = True
        elif not tested and any(isinstance(inner, ast.Return) for inner in ast.walk(node)):
            return False
    return True


def _mentions(node: ast.expr, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))


def _literal_tables(tree: ast.Module) -> Dicts:
    """The module's dicts, lists and sets of literal keys by name; None for computed ones."""
    tables: Dicts = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and node.value is not None:
                    tables[target.id] = _keys(node.value)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            _update(node.value, tables)
    return tables


def _update(call: ast.Call, tables: Dicts) -> None:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "update":
        return
    name = getattr(call.func.value, "id", "")
    known, added = tables.get(name), _keys(call.args[0]) if call.args else None
    if name in tables:
        tables[name] = None if known is None or added is None else known | added


def _keys(node: ast.expr) -> set[str] | None:
    if isinstance(node, ast.Dict):
        parts: list[ast.expr | None] = list(node.keys)
    elif isinstance(node, ast.List | ast.Tuple | ast.Set):
        parts = list(node.elts)
    else:
        return None
    keys = {part.value for part in parts if isinstance(part, ast.Constant)}
    literal = all(isinstance(part, ast.Constant) for part in parts)
    return {key for key in keys if isinstance(key, str)} if literal else None


def adds_globals(tree: ast.Module, source: bytes) -> bool:
    """True where the module makes names of its own through `globals()`: to set one that
    `globals()` is known to hold already makes none."""
    return b"globals()" in source and _adds(tree, checked=False)


def _adds(node: ast.AST, *, checked: bool) -> bool:
    if isinstance(node, ast.Attribute) and node.attr in ("update", "setdefault"):
        return _is_globals(node.value)
    if _hands_over(node):
        return True
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return _is_globals(node.value) and not checked
    if isinstance(node, ast.If):
        inside = checked or any(_is_globals(n) for n in ast.walk(node.test))
        return any(_adds(n, checked=inside) for n in node.body) or any(
            _adds(n, checked=checked) for n in node.orelse
        )
    return any(_adds(child, checked=checked) for child in ast.iter_child_nodes(node))


def _hands_over(node: ast.AST) -> bool:
    """True where somebody else gets the module's own dict, and may fill it."""
    if isinstance(node, ast.Assign):
        return _is_globals(node.value)
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") in _READERS:
        return False
    return any(map(_is_globals, (*node.args, *(keyword.value for keyword in node.keywords))))


_READERS = frozenset({"LazyLoader", "dict", "eval", "len", "list", "set", "sorted", "tuple"})


def _is_globals(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "globals"
