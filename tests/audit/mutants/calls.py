"""Kinds of faults in calls and launches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from tests.audit.mutants.files import (
    FUNCTION,
    GONE,
    File,
    Found,
    add_keyword,
    is_plain,
    is_self,
    name_of,
    named_parameters,
    required,
    takes_only_named,
    without_keyword,
)


def function_keyword(file: File) -> Found:
    for call in file.calls:
        if is_plain(call) and takes_only_named(file.definition(name_of(call.func))):
            yield add_keyword(file, call)


def function_argument(file: File) -> Found:
    """A required first argument left out."""
    for call in file.calls:
        found = file.definition(name_of(call.func)) or file.functions.get(name_of(call.func))
        if not isinstance(found, FUNCTION) or not takes_only_named(found) or found.args.vararg:
            continue
        places = found.args.posonlyargs + found.args.args
        if len(call.args) == 1 and is_plain(call) and len(places) > len(found.args.defaults):
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
        return takes_only_named(inits[0])
    return any("dataclass" in ast.unparse(decorator) for decorator in cls.decorator_list)


def constructor_keyword(file: File) -> Found:
    for call in file.calls:
        if is_plain(call) and _rejects(file.definition(name_of(call.func))):
            yield add_keyword(file, call)


def function_excess(file: File) -> Found:
    for call in file.calls:
        found = file.functions.get(name_of(call.func))
        if found is not None and takes_only_named(found) and not found.args.vararg and call.args:
            extra = len(found.args.args) + len(found.args.posonlyargs) + 1
            begin = file.span(call.args[0])[0]
            yield call.lineno, file.replaced(begin, begin, "None, " * extra)


def super_init_keyword(file: File) -> Found:
    for call in file.calls:
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr != "__init__" or not is_plain(call):
            continue
        cls = file.around(call, ast.ClassDef)
        bases = cls.bases if isinstance(cls, ast.ClassDef) else []
        by_super = isinstance(func.value, ast.Call) and name_of(func.value.func) == "super"
        if by_super and len(bases) == 1 and _rejects(file.definition(name_of(bases[0]))):
            yield add_keyword(file, call)


def _launches(file: File) -> Iterator[ast.Call]:
    jitted = {
        name
        for name, node in file.functions.items()
        if [ast.unparse(d) for d in node.decorator_list] == ["triton.jit"]
    }
    for call in file.calls:
        kernel = call.func.value if isinstance(call.func, ast.Subscript) else None
        if name_of(kernel) in jitted and is_plain(call):
            yield call


def launch_argument(file: File) -> Found:
    for call in _launches(file):
        if len(call.args) > 1:
            begin, end = file.span(call.args[0])[0], file.span(call.args[1])[0]
            yield call.lineno, file.replaced(begin, end, "")


def launch_keyword(file: File) -> Found:
    yield from (add_keyword(file, call) for call in _launches(file))


def unpacking(file: File) -> Found:
    for node in file.nodes:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        call = node.value if isinstance(node, ast.Assign) else None
        if not isinstance(target, ast.Tuple) or not isinstance(call, ast.Call):
            continue
        function = file.functions.get(name_of(call.func))
        returned = [n for n in ast.walk(function) if isinstance(n, ast.Return)] if function else []
        if returned and all(isinstance(n.value, ast.Tuple) for n in returned):
            begin = file.span(target.elts[0])[0]
            yield target.lineno, file.replaced(begin, begin, "_gone, ")


def launch_keyword_dropped(file: File) -> Found:
    for call in _launches(file):
        kernel = file.functions[name_of(call.func.value)]  # type: ignore[attr-defined]
        for keyword in call.keywords:
            if keyword.arg in required(kernel):
                yield without_keyword(file, call, keyword)


def keyword_dropped(file: File) -> Found:
    """A keyword that the function needs left out of a call."""
    for call in file.calls:
        found = file.definition(name_of(call.func)) or file.functions.get(name_of(call.func))
        if takes_only_named(found) and is_plain(call):
            for keyword in call.keywords:
                if keyword.arg in required(found):
                    yield without_keyword(file, call, keyword)


def parameter_renamed(file: File) -> Found:
    """A parameter under another name, while another file passes it by the old one."""
    for name, node in file.functions.items():
        if not takes_only_named(node):
            continue
        texts = [file.project.texts[path] for path in file.importers(name)]
        for parameter in named_parameters(node):
            used = re.compile(rf"(?<![\w.]){name}\([^()]*\b{parameter}=")
            if any(used.search(text) for text in texts):
                yield _with_renamed(file, node, parameter)


def _with_renamed(file: File, node: ast.FunctionDef, parameter: str) -> tuple[int, str]:
    """The file with a parameter of a function renamed, in its body too."""
    begin, end = file.span(node)
    body = file.text.encode()[begin:end].decode()
    changed = re.sub(rf"(?<![\w.]){parameter}\b", f"{parameter}{GONE}", body)
    return node.lineno, file.replaced(begin, end, changed)


def parameters_swapped(file: File) -> Found:
    """Two parameters in each other's place, while another file passes one of them by place."""
    for name, node in file.functions.items():
        places = node.args.args[: len(node.args.args) - len(node.args.defaults)]
        if not takes_only_named(node) or node.args.posonlyargs:
            continue
        passed = {each for path in file.importers(name) for each in _by_place(file, path, name)}
        for number, (one, other) in enumerate(pairwise(places)):
            if {(number, one.arg), (number + 1, other.arg)} & passed:
                begin, end = file.span(one)[0], file.span(other)[1]
                text = f"{ast.unparse(other)}, {ast.unparse(one)}"
                yield node.lineno, file.replaced(begin, end, text)


def _by_place(file: File, path: str, name: str) -> Iterator[tuple[int, str]]:
    """The names that calls of a function in another file pass, with their places."""
    tree = file.project.read(path)
    for call in ast.walk(tree) if tree is not None else ():
        if isinstance(call, ast.Call) and name_of(call.func) == name and is_plain(call):
            yield from enumerate(map(name_of, call.args))


def await_dropped(file: File) -> Found:
    """The `await` of a call whose result nothing takes left out."""
    for node in file.nodes if "async def" in file.text else ():
        wait = node.value if isinstance(node, ast.Expr) else None
        call = wait.value if isinstance(wait, ast.Await) else None
        if not isinstance(wait, ast.Await) or not isinstance(call, ast.Call):
            continue
        if isinstance(_method_of(file, call), ast.AsyncFunctionDef):
            yield call.lineno, file.replaced(file.span(wait)[0], file.span(call)[0], "")


def await_added(file: File) -> Found:
    """A plain method that returns nothing, awaited."""
    for node in file.nodes if "async def" in file.text else ():
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(
            file.around(call, *FUNCTION), ast.AsyncFunctionDef
        ):
            continue
        method = _method_of(file, call)
        returned = [n for n in ast.walk(method) if isinstance(n, ast.Return)] if method else ()
        if isinstance(method, ast.FunctionDef) and not any(n.value for n in returned):
            begin = file.span(call)[0]
            yield call.lineno, file.replaced(begin, begin, "await ")


def _method_of(file: File, call: ast.Call) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The method that `self.name(...)` means, in the class around the call."""
    func, cls = call.func, file.around(call, ast.ClassDef)
    if not isinstance(func, ast.Attribute) or not is_self(func.value) or cls is None:
        return None
    methods = [n for n in cls.body if isinstance(n, FUNCTION)]  # type: ignore[attr-defined]
    found = [n for n in methods if n.name == func.attr and not n.decorator_list]
    return found[0] if len(found) == 1 else None


def option_twice(file: File) -> Found:
    """An option that its parser gets again in the next statement."""
    for node in file.nodes:
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(node, ast.Expr) or not isinstance(call, ast.Call):
            continue
        if getattr(call.func, "attr", "") != "add_argument":
            continue
        named = str(getattr(call.args[0], "value", "")) if call.args else ""
        if named.startswith("-") and {"help", "type", "action"} & {k.arg for k in call.keywords}:
            end = file.span(node)[1]
            text = f"\n{' ' * node.col_offset}{ast.unparse(node)}"
            yield node.lineno, file.replaced(end, end, text)
