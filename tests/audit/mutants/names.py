"""Kinds of faults in names, imports, flags and definitions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backport.audit.paths import with_conftests
from tests.audit.mutants.files import (
    FUNCTION,
    GONE,
    File,
    Found,
    is_loaded,
    name_of,
    removed,
    rename_end,
    renamed,
)


def undefined_name(file: File) -> Found:
    own = {node.name for node in file.tree.body if isinstance(node, (*FUNCTION, ast.ClassDef))}
    for node in file.nodes:
        if name_of(node) in own and is_loaded(node) and file.around(node, *FUNCTION):
            yield rename_end(file, node)  # type: ignore[arg-type]


def removed_constant(file: File) -> Found:
    used = {name_of(n) for n in file.nodes if is_loaded(n) and file.around(n, *FUNCTION)}
    for node in file.tree.body:
        target = name_of(node.targets[0]) if isinstance(node, ast.Assign) else ""
        if target.isupper() and target in used:
            yield removed(file, node)


def removed_function(file: File) -> Found:
    used = {name_of(n) for n in file.nodes if is_loaded(n) and file.around(n, *FUNCTION)}
    for name, node in file.functions.items():
        if name in used and not node.decorator_list:
            yield removed(file, node)


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
    called = {name_of(call.func) for call in file.calls}
    for node in file.tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("vllm."):
            names = [alias.asname or alias.name for alias in node.names]
            if len(names) == 1 and names[0] in called:
                text = f"import typing\nif typing.TYPE_CHECKING:\n    {ast.unparse(node)}"
                yield node.lineno, file.replaced(*file.span(node), text)


def environment_flag(file: File) -> Found:
    for node in file.nodes:
        if (
            isinstance(node, ast.Attribute)
            and name_of(node.value) == "envs"
            and node.attr.isupper()
        ):
            yield rename_end(file, node)


def duplicate_function(file: File) -> Found:
    for node in file.nodes:
        outer = isinstance(file.parents.get(node), ast.ClassDef | ast.Module)
        if outer and isinstance(node, ast.FunctionDef) and not node.decorator_list:
            begin, end = file.line(node.lineno), file.line((node.end_lineno or 0) + 1)
            copy = file.text.encode()[begin:end].decode()
            yield node.lineno, file.replaced(end, end, f"\n{copy}")


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


def missing_fixture(file: File) -> Found:
    yield from _asking(file, "fixture_gone")


def fixture_beside(file: File) -> Found:
    """A fixture of one conftest, asked for where only other conftests are above."""
    seen = {name for path in with_conftests(file.path) for name in file.project.fixtures(path)}
    for path in sorted(file.project.tree.paths()) if file.path.startswith("tests/") else ():
        if path.endswith("/conftest.py"):
            for name in sorted(file.project.fixtures(path) - seen):
                yield from _asking(file, name)


def _asking(file: File, fixture: str) -> Found:
    """Each test without arguments and marks, asking for a fixture."""
    for name, node in file.functions.items() if "/test_" in file.path else ():
        if name.startswith("test_") and not node.decorator_list and not node.args.args:
            begin = file.place(node.lineno, node.col_offset) + len(f"def {name}(")
            yield node.lineno, file.replaced(begin, begin, fixture)


def _patches(file: File, *functions: str) -> Iterator[ast.Call]:
    for call in file.calls:
        plain = call.args and not {"raising", "create"} & {k.arg for k in call.keywords}
        if plain and ast.unparse(call.func).endswith(functions):
            yield call


def _longer(file: File, node: ast.Constant) -> tuple[int, str]:
    end = file.span(node)[1] - len('"')
    return node.lineno, file.replaced(end, end, GONE)


def patched_path(file: File) -> Found:
    for call in _patches(file, "patch", ".setattr"):
        target = call.args[0]
        if isinstance(target, ast.Constant) and str(target.value).startswith("vllm."):
            yield _longer(file, target)


def patched_attribute(file: File) -> Found:
    for call in _patches(file, "patch.object", ".setattr"):
        named = file.imported.get(name_of(call.args[0]), "").startswith("vllm")
        if named and len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
            yield _longer(file, call.args[1])


def member_twice(file: File) -> Found:
    """A member of an enum that its class defines again."""
    for cls in file.classes:
        if any(name_of(base) in ("Enum", "IntEnum", "StrEnum") for base in cls.bases):
            for node in (n for n in cls.body if isinstance(n, ast.Assign)):
                end = file.span(node)[1]
                text = f"\n{' ' * node.col_offset}{ast.unparse(node)}"
                yield node.lineno, file.replaced(end, end, text)


def enum_member(file: File) -> Found:
    for node in file.nodes:
        owner = name_of(node.value) if isinstance(node, ast.Attribute) else ""
        cls = file.definition(owner)
        bases = [ast.unparse(base) for base in getattr(cls, "bases", ())]
        if any(base.endswith("Enum") for base in bases) and not file.is_called(node):
            yield rename_end(file, node)  # type: ignore[arg-type]


def static_method(file: File) -> Found:
    for call in file.calls:
        func = call.func
        if isinstance(func, ast.Attribute) and name_of(func.value) == "rocm_aiter_ops":
            yield rename_end(file, func)


def import_dropped(file: File) -> Found:
    used = {name_of(n) for n in file.nodes if is_loaded(n) and file.around(n, *FUNCTION)}
    for node in file.tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("vllm."):
            names = [alias.asname or alias.name for alias in node.names]
            if len(names) == 1 and names[0] in used:
                yield removed(file, node)


def imported_definition(file: File) -> Found:
    """A function or class under another name, while other files import it."""
    defined = [node for node in file.tree.body if isinstance(node, (*FUNCTION, ast.ClassDef))]
    for node in defined:
        if file.importers(node.name) and [n.name for n in defined].count(node.name) == 1:
            yield renamed(file, node, node.name)


def flag_entry(file: File) -> Found:
    """The entry of a flag's table gone, while the flag is read."""
    for node in file.nodes if file.path.endswith("/envs.py") else ():
        entries = zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ()
        for key, value in entries:
            flag = getattr(key, "value", None)
            if key is not None and flag in file.project.flags:
                begin, end = file.span(key)[0], file.span(value)[1]
                comma = file.text.encode().index(b",", end) + 1
                yield key.lineno, file.replaced(begin, comma, "")
