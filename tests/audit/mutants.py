"""Single faults over real files: each compiles, and each breaks something at run time.

A kind of mutant finds its places by syntax alone, without the resolution under test: a
function imported by name from the project and called by that name, a method of the
class the call stands in, a child built in `__init__`. Among them a seeded choice is made.

    python -m tests.audit.mutants 0.28.0 0.33.0
"""

from __future__ import annotations

import ast
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from backport.audit import Options, audit
from backport.core.outcomes import Status
from backport.core.trees import REGULAR, Entry, Tree
from tests.audit.releases import release

FOLDERS = (
    "vllm/model_executor/layers/",
    "vllm/model_executor/models/",
    "vllm/models/",
    "vllm/v1/",
    "vllm/_aiter_ops.py",
    "vllm/platforms/",
    "vllm/config/",
    "vllm/distributed/",
    "vllm/compilation/",
)
GONE = "_gone"
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
OWN = frozenset(
    {"compile", "markers", "names", "imports", "attributes", "flags", "calls", "overrides"}
    | {"fakes", "ops", "duplicates", "removed", "references", "fixtures", "stdlib"}
)
"""The audit's own checks: no other tool helps."""


class Mutant(NamedTuple):
    """One fault: the kind, the file, the line, and the file's new text."""

    kind: str
    path: str
    line: int
    text: str


@dataclass
class File:
    """A source file with what the kinds ask of it."""

    path: str
    text: str
    read: Callable[[str], ast.Module | None]
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
        tree = self.read(f"{module}.py") or self.read(f"{module}/__init__.py")
        found = [n for n in (tree.body if tree else ()) if getattr(n, "name", "") == name]
        return found[0] if len(found) == 1 else None

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


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _is_loaded(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Load)


def _name(node: ast.AST | None) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _is_plain(call: ast.Call) -> bool:
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    return not starred and all(keyword.arg for keyword in call.keywords)


def _takes_only_named(node: ast.AST | None) -> bool:
    return isinstance(node, FUNCTION) and not node.args.kwarg and not node.decorator_list


def _add_keyword(file: File, call: ast.Call) -> tuple[int, str]:
    end = file.span(call)[1] - 1
    comma = "" if file.text.encode()[:end].rstrip().endswith((b",", b"(")) else ", "
    return call.lineno, file.replaced(end, end, f"{comma}keyword_gone=None")


def _rename_end(file: File, node: ast.expr) -> tuple[int, str]:
    end = file.span(node)[1]
    return node.lineno, file.replaced(end, end, GONE)


def _remove(file: File, node: ast.stmt) -> tuple[int, str]:
    return node.lineno, file.replaced(
        file.line(node.lineno), file.line((node.end_lineno or node.lineno) + 1), ""
    )


def undefined_name(file: File) -> Found:
    own = {node.name for node in file.tree.body if isinstance(node, (*FUNCTION, ast.ClassDef))}
    for node in file.nodes:
        if _name(node) in own and _is_loaded(node) and file.around(node, *FUNCTION):
            yield _rename_end(file, node)  # type: ignore[arg-type]


def removed_constant(file: File) -> Found:
    used = {_name(n) for n in file.nodes if _is_loaded(n) and file.around(n, *FUNCTION)}
    for node in file.tree.body:
        target = _name(node.targets[0]) if isinstance(node, ast.Assign) else ""
        if target.isupper() and target in used:
            yield _remove(file, node)


def removed_function(file: File) -> Found:
    used = {_name(n) for n in file.nodes if _is_loaded(n) and file.around(n, *FUNCTION)}
    for name, node in file.functions.items():
        if name in used and not node.decorator_list:
            yield _remove(file, node)


def _imports(file: File, *, lazy: bool) -> Iterator[tuple[ast.ImportFrom, ast.alias]]:
    for node in file.nodes:
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("vllm."):
            continue
        inside = file.around(node, *FUNCTION) is not None
        if inside == lazy and file.around(node, ast.Try, ast.If) is None:
            yield from ((node, alias) for alias in node.names if alias.name != "*")


def _symbol(file: File, alias: ast.alias) -> tuple[int, str]:
    begin, end = file.span(alias)
    name = alias.asname or alias.name
    return alias.lineno, file.replaced(begin, end, f"{alias.name}{GONE} as {name}")


def import_symbol(file: File) -> Found:
    yield from (_symbol(file, alias) for _, alias in _imports(file, lazy=False))


def lazy_import_symbol(file: File) -> Found:
    yield from (_symbol(file, alias) for _, alias in _imports(file, lazy=True))


def import_module(file: File) -> Found:
    for node, _ in (*_imports(file, lazy=False), *_imports(file, lazy=True)):
        end = file.place(node.lineno, node.col_offset) + len(f"from {node.module}")
        yield node.lineno, file.replaced(end, end, GONE)


def typing_import(file: File) -> Found:
    """An import that comes to stand under `if TYPE_CHECKING` alone."""
    called = {_name(call.func) for call in file.calls}
    for node in file.tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("vllm."):
            names = [alias.asname or alias.name for alias in node.names]
            if len(names) == 1 and names[0] in called:
                text = f"import typing\nif typing.TYPE_CHECKING:\n    {ast.unparse(node)}"
                yield node.lineno, file.replaced(*file.span(node), text)


def environment_flag(file: File) -> Found:
    for node in file.nodes:
        if isinstance(node, ast.Attribute) and _name(node.value) == "envs" and node.attr.isupper():
            yield _rename_end(file, node)


def _own_calls(file: File) -> Iterator[tuple[ast.Call, ast.Attribute]]:
    """Calls on `self` of plain methods of the class they stand in."""
    for call in file.calls:
        cls = file.around(call, ast.ClassDef)
        own = {n.name for n in getattr(cls, "body", ()) if _takes_only_named(n)}
        func = call.func
        if isinstance(func, ast.Attribute) and _is_self(func.value) and func.attr in own:
            yield call, func


def self_method(file: File) -> Found:
    yield from (_rename_end(file, func) for _, func in _own_calls(file))


def self_method_keyword(file: File) -> Found:
    yield from (_add_keyword(file, call) for call, _ in _own_calls(file))


def self_attribute(file: File) -> Found:
    for node in file.nodes:
        on_self = isinstance(node, ast.Attribute) and _is_self(node.value)
        if on_self and _is_loaded(node) and not file.is_called(node):
            yield _rename_end(file, node)  # type: ignore[arg-type]


def assignment_dropped(file: File) -> Found:
    """`self.x = ...`, the only one in the file, while its class reads `self.x`."""
    for cls in file.classes:
        attributes = (node for node in ast.walk(cls) if isinstance(node, ast.Attribute))
        on_self = [node for node in attributes if _is_self(node.value)]
        stored = Counter(node.attr for node in on_self if not _is_loaded(node))
        read = {node.attr for node in on_self if _is_loaded(node)}
        for node in on_self:
            parent = file.parents.get(node)
            alone = stored[node.attr] == 1 and node.attr in read
            if alone and isinstance(parent, ast.Assign) and parent.targets == [node]:
                body = getattr(file.parents[parent], "body", ())
                yield from [_remove(file, parent)] if len(body) > 1 else []


def _children(file: File, cls: ast.ClassDef, *, called: bool = False) -> set[str]:
    """Attributes that are assigned once, from a class imported from the project (whose own
    `forward` names all that it takes, where the child is `called`)."""
    count: Counter[str] = Counter()
    made: set[str] = set()
    for node in ast.walk(cls):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Attribute) and _is_self(target.value):
            count[target.attr] += 1
            value = node.value  # type: ignore[attr-defined]
            name = _name(value.func) if isinstance(value, ast.Call) else ""
            made_of = file.definition(name)
            forward = [
                n for n in getattr(made_of, "body", ()) if getattr(n, "name", "") == "forward"
            ]
            if isinstance(made_of, ast.ClassDef) and (
                not called or (forward and _takes_only_named(forward[0]))
            ):
                made.add(target.attr)
    return {name for name in made if count[name] == 1}


def child_attribute(file: File) -> Found:
    for cls in file.classes:
        children = _children(file, cls)
        for node in ast.walk(cls):
            owner = node.value if isinstance(node, ast.Attribute) and _is_loaded(node) else None
            if (
                isinstance(owner, ast.Attribute)
                and _is_self(owner.value)
                and owner.attr in children
            ):
                yield _rename_end(file, node)  # type: ignore[arg-type]


def child_call_keyword(file: File) -> Found:
    for cls in file.classes:
        children = _children(file, cls, called=True)
        for node in ast.walk(cls):
            func = node.func if isinstance(node, ast.Call) else None
            if isinstance(func, ast.Attribute) and _is_self(func.value) and func.attr in children:
                yield _add_keyword(file, node)  # type: ignore[arg-type]


def function_keyword(file: File) -> Found:
    for call in file.calls:
        if _is_plain(call) and _takes_only_named(file.definition(_name(call.func))):
            yield _add_keyword(file, call)


def function_argument(file: File) -> Found:
    """A required first argument left out."""
    for call in file.calls:
        found = file.definition(_name(call.func)) or file.functions.get(_name(call.func))
        if not isinstance(found, FUNCTION) or not _takes_only_named(found) or found.args.vararg:
            continue
        places = found.args.posonlyargs + found.args.args
        if len(call.args) == 1 and _is_plain(call) and len(places) > len(found.args.defaults):
            following = file.span(call.keywords[0].value)[0] if call.keywords else None
            begin, end = file.span(call.args[0])
            if following is None:
                yield call.lineno, file.replaced(begin, end, "")


def _rejects(cls: ast.stmt | None) -> bool:
    """A class whose own constructor, or whose dataclass fields, name all that it takes."""
    if not isinstance(cls, ast.ClassDef):
        return False
    inits = [n for n in cls.body if getattr(n, "name", "") == "__init__"]
    if inits:
        return _takes_only_named(inits[0])
    return any("dataclass" in ast.unparse(decorator) for decorator in cls.decorator_list)


def constructor_keyword(file: File) -> Found:
    for call in file.calls:
        if _is_plain(call) and _rejects(file.definition(_name(call.func))):
            yield _add_keyword(file, call)


def function_excess(file: File) -> Found:
    for call in file.calls:
        found = file.functions.get(_name(call.func))
        if found is not None and _takes_only_named(found) and not found.args.vararg and call.args:
            extra = len(found.args.args) + len(found.args.posonlyargs) + 1
            begin = file.span(call.args[0])[0]
            yield call.lineno, file.replaced(begin, begin, "None, " * extra)


def super_init_keyword(file: File) -> Found:
    for call in file.calls:
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr != "__init__" or not _is_plain(call):
            continue
        cls = file.around(call, ast.ClassDef)
        bases = cls.bases if isinstance(cls, ast.ClassDef) else []
        by_super = isinstance(func.value, ast.Call) and _name(func.value.func) == "super"
        if by_super and len(bases) == 1 and _rejects(file.definition(_name(bases[0]))):
            yield _add_keyword(file, call)


def _launches(file: File) -> Iterator[ast.Call]:
    jitted = {
        name
        for name, node in file.functions.items()
        if [ast.unparse(d) for d in node.decorator_list] == ["triton.jit"]
    }
    for call in file.calls:
        kernel = call.func.value if isinstance(call.func, ast.Subscript) else None
        if _name(kernel) in jitted and _is_plain(call):
            yield call


def launch_argument(file: File) -> Found:
    for call in _launches(file):
        if len(call.args) > 1:
            begin, end = file.span(call.args[0])[0], file.span(call.args[1])[0]
            yield call.lineno, file.replaced(begin, end, "")


def launch_keyword(file: File) -> Found:
    yield from (_add_keyword(file, call) for call in _launches(file))


def fake_parameter(file: File) -> Found:
    """An implementation that gains a parameter, without its fake."""
    named = set()
    for call in file.calls:
        given = {keyword.arg: _name(keyword.value) for keyword in call.keywords}
        if given.get("op_func") and given.get("fake_impl"):
            named.add(given["op_func"])
    for name in sorted(named & file.functions.keys()):
        args = file.functions[name].args
        if args.args and not args.kwonlyargs:
            last = args.defaults[-1] if args.defaults else args.args[-1]
            end = file.span(last)[1]
            yield last.lineno, file.replaced(end, end, ", positions_gone: int = 0")


def _operators(file: File) -> Iterator[ast.Attribute]:
    for node in file.nodes:
        text = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if re.fullmatch(r"torch\.ops\.vllm\.\w+", text):
            yield node  # type: ignore[misc]


def operator_name(file: File) -> Found:
    yield from (_rename_end(file, node) for node in _operators(file))


def operator_keyword(file: File) -> Found:
    for node in _operators(file):
        if file.is_called(node):
            yield _add_keyword(file, file.parents[node])  # type: ignore[arg-type]


def registration_dropped(file: File) -> Found:
    for node in file.nodes:
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call) or _name(call.func) != "direct_register_custom_op":
            continue
        op = {keyword.arg: keyword.value for keyword in call.keywords}.get("op_name")
        body = getattr(file.parents.get(node), "body", ())
        if len(body) > 1 and f"torch.ops.vllm.{getattr(op, 'value', '')}(" in file.text:
            yield _remove(file, node)  # type: ignore[arg-type]


def duplicate_function(file: File) -> Found:
    for node in file.nodes:
        outer = isinstance(file.parents.get(node), ast.ClassDef | ast.Module)
        if outer and isinstance(node, ast.FunctionDef) and not node.decorator_list:
            begin, end = file.line(node.lineno), file.line((node.end_lineno or 0) + 1)
            copy = file.text.encode()[begin:end].decode()
            yield node.lineno, file.replaced(end, end, f"\n{copy}")


def enum_member(file: File) -> Found:
    for node in file.nodes:
        owner = _name(node.value) if isinstance(node, ast.Attribute) else ""
        cls = file.definition(owner)
        bases = [ast.unparse(base) for base in getattr(cls, "bases", ())]
        if any(base.endswith("Enum") for base in bases) and not file.is_called(node):
            yield _rename_end(file, node)  # type: ignore[arg-type]


def static_method(file: File) -> Found:
    for call in file.calls:
        func = call.func
        if isinstance(func, ast.Attribute) and _name(func.value) == "rocm_aiter_ops":
            yield _rename_end(file, func)


def registry_entry(file: File) -> Found:
    for node in file.nodes if file.path.endswith("registry.py") else ():
        texts = [getattr(e, "value", None) for e in getattr(node, "elts", ())]
        if len(texts) == 2 and all(isinstance(text, str) for text in texts):
            end = file.span(node.elts[1])[1] - 1  # type: ignore[attr-defined]
            yield node.lineno, file.replaced(end, end, GONE)  # type: ignore[attr-defined]


def newer_library(file: File) -> Found:
    imports = [node for node in file.tree.body if isinstance(node, ast.Import)]
    for node in imports[:1]:
        begin = file.span(node)[0]
        yield node.lineno, file.replaced(begin, begin, "from compression import zstd\n")


def unpacking(file: File) -> Found:
    for node in file.nodes:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        call = node.value if isinstance(node, ast.Assign) else None
        if not isinstance(target, ast.Tuple) or not isinstance(call, ast.Call):
            continue
        function = file.functions.get(_name(call.func))
        returned = [n for n in ast.walk(function) if isinstance(n, ast.Return)] if function else []
        if returned and all(isinstance(n.value, ast.Tuple) for n in returned):
            begin = file.span(target.elts[0])[0]
            yield target.lineno, file.replaced(begin, begin, "_gone, ")


def missing_fixture(file: File) -> Found:
    for name, node in file.functions.items() if "/test_" in file.path else ():
        if name.startswith("test_") and not node.decorator_list and not node.args.args:
            begin = file.place(node.lineno, node.col_offset) + len(f"def {name}(")
            yield node.lineno, file.replaced(begin, begin, "fixture_gone")


KINDS: dict[str, Kind] = {
    kind.__name__.replace("_", " "): kind
    for kind in (
        *(undefined_name, removed_constant, removed_function, import_symbol, import_module),
        *(lazy_import_symbol, typing_import, environment_flag, self_method, self_attribute),
        *(assignment_dropped, child_attribute, child_call_keyword, function_keyword),
        *(constructor_keyword, function_argument, function_excess, self_method_keyword),
        *(super_init_keyword, launch_argument, launch_keyword, fake_parameter, operator_name),
        *(operator_keyword, registration_dropped, duplicate_function, enum_member),
        *(static_method, registry_entry, newer_library, unpacking, missing_fixture),
    )
}


def mutants(tree: Tree, seed: int, each: int) -> Iterator[Mutant]:
    """Up to `each` mutants of every kind, no two in one file, in files chosen by the seed."""
    chance = random.Random(seed)  # noqa: S311 - a choice that can be repeated is wanted
    folders = (*FOLDERS, "tests/")
    paths = [p for p in sorted(tree.paths()) if p.startswith(folders) and p.endswith(".py")]
    files: dict[str, File | None] = {}
    trees: dict[str, ast.Module | None] = {}

    def read(path: str) -> ast.Module | None:
        if path not in trees:
            entry = tree.entry(path)
            trees[path] = ast.parse(entry.data) if entry is not None else None
        return trees[path]

    for name, kind in KINDS.items():
        chance.shuffle(paths)
        left = each
        for path in (p for p in paths if p.startswith("tests/") == (kind is missing_fixture)):
            if path not in files:
                files[path] = _file(tree, path, read)
            found = list(kind(file)) if (file := files[path]) is not None else []
            line, text = chance.choice(found) if found else (0, "")
            if line and _compiles(text):
                left -= 1
                yield Mutant(name, path, line, text)
            if not left:
                break


def caught(tree: Tree, mutant: Mutant, cache: Path) -> list[str]:
    """The codes of the errors that the audit finds in a mutant."""
    changes = {mutant.path: Entry(REGULAR, mutant.text.encode())}
    results = audit(tree, changes, options=Options(cache=cache, checks=OWN))
    return [f.code for r in results if r.status is Status.FAILED for f in r.findings]


def _file(tree: Tree, path: str, read: Callable[[str], ast.Module | None]) -> File | None:
    entry = tree.entry(path)
    if entry is None or entry.mode != REGULAR or b"\r" in entry.data:
        return None
    return File(path, entry.data.decode(), read)


def _compiles(text: str) -> bool:
    try:
        compile(text, "<mutant>", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def main(versions: list[str], each: int = 4, seed: int = 20) -> None:
    """List what is missed, and count by kind."""
    total: Counter[str] = Counter()
    hit: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for version in versions:
            tree = release(version)
            for mutant in mutants(tree, seed, each):
                codes = caught(tree, mutant, Path(folder))
                total[mutant.kind] += 1
                hit[mutant.kind] += bool(codes)
                if not codes:
                    place = f"{mutant.path}:{mutant.line}"
                    sys.stdout.write(f"missed {version} {mutant.kind}: {place}\n")
    for kind in total:
        sys.stdout.write(f"{kind:24} {hit[kind]:3} of {total[kind]:3}\n")
    sys.stdout.write(f"{'all':24} {hit.total():3} of {total.total():3}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
