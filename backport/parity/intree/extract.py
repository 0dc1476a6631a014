"""Run single functions and methods of a tree's file without importing vLLM.

The file is parsed, the wanted definitions are compiled on their own, and names
that they use are looked up in this order: what the caller supplied, the top
level of the same file (compiled when first asked for; of its imports only those
of Python's own library), Python's builtins. A name that is in none of them is a
NameError, as it would be in the tree.
"""

from __future__ import annotations

import ast
import builtins
import functools
import sys
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, SimpleNamespace
from typing import Any

from backport.core.trees import DIRECTORY, Tree

KEPT_DECORATORS = ("property", "staticmethod", "classmethod", "dataclass")
Definition = ast.FunctionDef | ast.ClassDef


class Missing(LookupError):
    """The tree has no such file or definition."""


class Source:
    """The Python files of a tree, parsed when first asked for."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._parsed: dict[str, ast.Module] = {}
        self._compiled: dict[object, CodeType] = {}

    def exists(self, path: str) -> bool:
        """True where the tree has a file at `path`."""
        entry = self.tree.entry(path)
        return entry is not None and entry.mode != DIRECTORY

    def text(self, path: str) -> str:
        """The file's text; raises Missing."""
        entry = self.tree.entry(path)
        if entry is None:
            raise Missing(f"the tree has no {path}")
        return entry.data.decode()

    def parse(self, path: str) -> ast.Module:
        """The file's syntax tree; raises Missing or SyntaxError."""
        if path not in self._parsed:
            self._parsed[path] = ast.parse(self.text(path), path)
        return self._parsed[path]

    def has(self, path: str, name: str) -> bool:
        """True where the file defines the qualified name."""
        try:
            self.node(path, name)
        except Missing:
            return False
        return True

    def node(self, path: str, name: str) -> Definition:
        """The definition of a qualified name (`Class.method`); raises Missing."""
        body: Iterable[ast.stmt] = self.parse(path).body
        found: Definition | None = None
        for part in name.split("."):
            found = _defined(body, part)
            if found is None:
                raise Missing(f"{path} does not define {name}")
            body = found.body
        if found is None:
            raise Missing("an empty name")
        return found

    def compile(self, path: str, key: object, make: Callable[[], ast.stmt]) -> CodeType:
        """The code of one statement of the file; `key` tells it from the file's others."""
        if (path, key) not in self._compiled:
            future = ast.parse("from __future__ import annotations").body
            module = ast.fix_missing_locations(ast.Module([*future, make()], []))
            self._compiled[path, key] = compile(module, path, "exec")
        return self._compiled[path, key]

    def parameters(self, path: str, name: str) -> list[tuple[str, str]]:
        """Names and annotations of a function's parameters, in order."""
        node = self.node(path, name)
        if not isinstance(node, ast.FunctionDef):
            raise Missing(f"{path}: {name} is no function")
        every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        return [(a.arg, ast.unparse(a.annotation) if a.annotation else "") for a in every]

    def module(self, path: str, **supplied: Any) -> Module:
        """The file as a lazily compiled module over the supplied names."""
        return Module(self, path, supplied)


class Module(dict[str, Any]):
    """The global names of one file; a definition is compiled when it is first used."""

    def __init__(self, source: Source, path: str, supplied: Mapping[str, Any]) -> None:
        super().__init__(supplied)
        self["__builtins__"] = builtins
        self["__name__"] = __name__  # dataclasses look their module up
        self.source = source
        self.path = path

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name) or name.startswith("__"):
            raise KeyError(name)
        for node in self.source.parse(self.path).body:
            if isinstance(node, Definition) and node.name == name:
                return self._run(("bare", name), name, functools.partial(_bare, node))
            if _assigns(node, name) or _imports_stdlib(node, name):
                return self._run(("value", name), name, functools.partial(_itself, node))
        raise KeyError(name)

    def function(self, name: str) -> Callable[..., Any]:
        """A top-level function of the file, or `Class.method` as a plain function."""
        node = self.source.node(self.path, name)
        function: Callable[..., Any] = self._run(
            ("function", name), node.name, lambda: _undecorated(node)
        )
        return function

    def cut(self, name: str, methods: Iterable[str] | None = None, base: type = object) -> type:
        """A class with these methods (None: all) and the constants of the real one, on a base."""
        node = self.source.node(self.path, name)
        if not isinstance(node, ast.ClassDef):
            raise Missing(f"{self.path}: {name} is no class")
        every = [n.name for n in node.body if isinstance(n, ast.FunctionDef)]
        wanted = every if methods is None else list(methods)
        kept = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name in wanted]
        absent = set(wanted) - {n.name for n in kept}
        if absent:
            raise Missing(f"{self.path}: {name} does not define {', '.join(sorted(absent))}")
        self["_base"] = base
        made: type = self._run(("class", name, *wanted), name, lambda: _class(node, kept))
        return made

    def _run(self, key: object, name: str, make: Callable[[], ast.stmt]) -> Any:
        exec(self.source.compile(self.path, key, make), self)  # noqa: S102 - the tree's code is the point
        return self[name]


def _class(node: ast.ClassDef, methods: Iterable[ast.FunctionDef]) -> ast.ClassDef:
    body = [n for n in node.body if _is_constant(n)] + [_bare(n) for n in methods]
    fields = {name: getattr(node, name) for name in node._fields}
    fields.update(bases=[ast.Name("_base", ast.Load())], keywords=[], decorator_list=[])
    return ast.copy_location(ast.ClassDef(**(fields | {"body": body or [ast.Pass()]})), node)


def _itself(node: ast.stmt) -> ast.stmt:
    return node


class Namespace(SimpleNamespace):
    """A module stand-in: some names replaced, all others taken from the real one."""

    def __init__(self, real: Any, **replaced: Any) -> None:
        super().__init__(**replaced)
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _defined(body: Iterable[ast.stmt], name: str) -> Definition | None:
    found = [n for n in body if isinstance(n, Definition) and n.name == name]
    return found[-1] if found else None


def _bare(node: Definition) -> Definition:
    """The definition without decorators that need the rest of the package."""
    kept = [d for d in node.decorator_list if _decorator(d) in KEPT_DECORATORS]
    return _with_decorators(node, kept)


def _undecorated(node: Definition) -> Definition:
    return _with_decorators(node, [])


def _with_decorators(node: Definition, decorators: list[ast.expr]) -> Definition:
    fields = {name: getattr(node, name) for name in node._fields}
    fields["decorator_list"] = decorators
    return ast.copy_location(type(node)(**fields), node)


def _decorator(node: ast.expr) -> str:
    call = node.func if isinstance(node, ast.Call) else node
    return call.id if isinstance(call, ast.Name) else ""


def _is_constant(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    try:
        ast.literal_eval(node.value)
    except ValueError:
        return False
    return True


def _imports_stdlib(node: ast.stmt, name: str) -> bool:
    """True for an import of `name` that needs nothing but Python."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return False
    bound = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    given = [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
    roots = {(module or "").partition(".")[0] for module in given}
    return name in bound and roots <= sys.stdlib_module_names


def _assigns(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.Assign):
        return any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    return (
        isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id == name
        and node.value is not None
    )
