"""What a kind of mutant asks of a source file, told from its syntax alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from backport.core.trees import Tree

GONE = "_gone"
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)

_FROM = re.compile(r"^\s*from (vllm[\w.]*) import (\([^)]*\)|[^\n(]+)", re.MULTILINE)
_FLAG = re.compile(r"\benvs\.([A-Z]\w+)")


@dataclass
class Project:
    """A tree whose files are read when they are asked for."""

    tree: Tree
    _trees: dict[str, ast.Module | None] = field(default_factory=dict)
    _files: dict[str, File | None] = field(default_factory=dict)

    def file(self, path: str) -> File | None:
        """A source file; None for one that is none, or has other line ends."""
        if path not in self._files:
            entry = self.tree.entry(path)
            text = entry.data.decode() if entry is not None and b"\r" not in entry.data else None
            self._files[path] = File(path, text, self) if text is not None else None
        return self._files[path]

    def read(self, path: str) -> ast.Module | None:
        """The syntax tree of a file, for its definitions."""
        found = self.file(path)
        return found.tree if found is not None else None

    def fixtures(self, path: str) -> set[str]:
        """The plain fixtures of a conftest."""
        tree = self.read(path)
        functions = (n for n in (tree.body if tree else ()) if isinstance(n, FUNCTION))
        marked = ((n.name, {ast.unparse(d) for d in n.decorator_list}) for n in functions)
        return {name for name, decorators in marked if "pytest.fixture" in decorators}

    @cached_property
    def texts(self) -> dict[str, str]:
        """The project's own source files."""
        wanted = (p for p in self.tree.paths() if p.startswith("vllm/") and p.endswith(".py"))
        entries = ((path, self.tree.entry(path)) for path in wanted)
        return {p: e.data.decode("utf-8", "replace") for p, e in entries if e is not None}

    @cached_property
    def importers(self) -> dict[tuple[str, str], list[str]]:
        """For a module and a name, the files that import the name from there."""
        found: dict[tuple[str, str], list[str]] = {}
        for path, text in self.texts.items():
            for module, names in _FROM.findall(text):
                for name in re.findall(r"\w+", re.sub(r"#.*|\bas\s+\w+", "", names)):
                    found.setdefault((module, name), []).append(path)
        return found

    @cached_property
    def flags(self) -> set[str]:
        """The environment flags that are read."""
        return {name for text in self.texts.values() for name in _FLAG.findall(text)}


@dataclass
class File:
    """A source file with what the kinds ask of it."""

    path: str
    text: str
    project: Project
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    @cached_property
    def tree(self) -> ast.Module:
        tree = ast.parse(self.text)
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
        return tree

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def calls(self) -> list[ast.Call]:
        return [node for node in self.nodes if isinstance(node, ast.Call)]

    @cached_property
    def classes(self) -> list[ast.ClassDef]:
        return [node for node in self.nodes if isinstance(node, ast.ClassDef)]

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        """The functions at the top of the file."""
        return {n.name: n for n in self.tree.body if isinstance(n, ast.FunctionDef)}

    @cached_property
    def imported(self) -> dict[str, str]:
        """Names imported from the project at the top of the file, with their module."""
        return {
            alias.asname or alias.name: node.module or ""
            for node in self.tree.body
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("vllm.")
            for alias in node.names
        }

    def definition(self, name: str) -> ast.stmt | None:
        """The definition of an imported name, where its module itself holds it."""
        module = self.imported.get(name, "").replace(".", "/")
        tree = self.project.read(f"{module}.py") or self.project.read(f"{module}/__init__.py")
        found = [n for n in (tree.body if tree else ()) if getattr(n, "name", "") == name]
        return found[0] if len(found) == 1 else None

    @property
    def module(self) -> str:
        """The dotted name of the file."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def importers(self, name: str) -> list[str]:
        """The files that import a name from this one."""
        return self.project.importers.get((self.module, name), [])

    def place(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def line(self, number: int) -> int:
        """Where a line begins."""
        return self._starts[number - 1]

    def span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self.place(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self.place(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def replaced(self, begin: int, end: int, text: str) -> str:
        data = self.text.encode()
        return (data[:begin] + text.encode() + data[end:]).decode()

    def around(self, node: ast.AST, *kinds: type[ast.AST]) -> ast.AST | None:
        found = self.parents.get(node)
        while found is not None and not isinstance(found, kinds):
            found = self.parents.get(found)
        return found

    def is_called(self, node: ast.AST) -> bool:
        parent = self.parents.get(node)
        return isinstance(parent, ast.Call) and parent.func is node

    @cached_property
    def _starts(self) -> list[int]:
        found = [0]
        for line in self.text.encode().split(b"\n"):
            found.append(found[-1] + len(line) + 1)
        return found


Found = Iterator[tuple[int, str]]
Kind = Callable[[File], Found]


def is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def is_loaded(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Load)


def name_of(node: ast.AST | None) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def is_plain(call: ast.Call) -> bool:
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    return not starred and all(keyword.arg for keyword in call.keywords)


def takes_only_named(node: ast.AST | None) -> bool:
    return isinstance(node, FUNCTION) and not node.args.kwarg and not node.decorator_list


def add_keyword(file: File, call: ast.Call) -> tuple[int, str]:
    end = file.span(call)[1] - 1
    comma = "" if file.text.encode()[:end].rstrip().endswith((b",", b"(")) else ", "
    return call.lineno, file.replaced(end, end, f"{comma}keyword_gone=None")


def rename_end(file: File, node: ast.expr) -> tuple[int, str]:
    end = file.span(node)[1]
    return node.lineno, file.replaced(end, end, GONE)


def removed(file: File, node: ast.stmt) -> tuple[int, str]:
    return node.lineno, file.replaced(
        file.line(node.lineno), file.line((node.end_lineno or node.lineno) + 1), ""
    )


def renamed(file: File, node: ast.stmt, name: str) -> tuple[int, str]:
    """A definition under another name."""
    begin = file.line(node.lineno)
    place = file.text.encode().index(name.encode(), begin + node.col_offset) + len(name.encode())
    return node.lineno, file.replaced(place, place, GONE)


def without_keyword(file: File, call: ast.Call, keyword: ast.keyword) -> tuple[int, str]:
    """A call that leaves out one of its keywords."""
    begin, end = file.span(keyword)
    after = re.match(rb"\s*,\s*", file.text.encode()[end:])
    return call.lineno, file.replaced(begin, end + (after.end() if after else 0), "")


def named_parameters(node: ast.stmt | None) -> list[str]:
    """The parameters that a caller may give by name."""
    args = node.args if isinstance(node, FUNCTION) else None
    return [arg.arg for arg in (*args.args, *args.kwonlyargs)] if args is not None else []


def required(node: ast.stmt | None) -> set[str]:
    """The parameters that have no default."""
    if not isinstance(node, FUNCTION):
        return set()
    plain = node.args.args[: len(node.args.args) - len(node.args.defaults)]
    pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return {arg.arg for arg in plain} | {arg.arg for arg, default in pairs if default is None}
