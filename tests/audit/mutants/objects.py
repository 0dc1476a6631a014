"""Kinds of faults in attributes, methods and classes."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tests.audit.mutants.files import (
    FUNCTION,
    File,
    Found,
    add_keyword,
    is_loaded,
    is_self,
    name_of,
    named_parameters,
    removed,
    rename_end,
    renamed,
    takes_only_named,
)

_FOREIGN = frozenset({"Module", "ABC", "object", "Enum", "Generic", "CustomOp", "Protocol"})


def _own_calls(file: File) -> Iterator[tuple[ast.Call, ast.Attribute]]:
    """Calls on `self` of plain methods of the class they stand in."""
    for call in file.calls:
        cls = file.around(call, ast.ClassDef)
        own = {n.name for n in getattr(cls, "body", ()) if takes_only_named(n)}
        func = call.func
        if isinstance(func, ast.Attribute) and is_self(func.value) and func.attr in own:
            yield call, func


def self_method(file: File) -> Found:
    yield from (rename_end(file, func) for _, func in _own_calls(file))


def self_method_keyword(file: File) -> Found:
    yield from (add_keyword(file, call) for call, _ in _own_calls(file))


def self_attribute(file: File) -> Found:
    for node in file.nodes:
        on_self = isinstance(node, ast.Attribute) and is_self(node.value)
        if on_self and is_loaded(node) and not file.is_called(node):
            yield rename_end(file, node)  # type: ignore[arg-type]


def assignment_dropped(file: File) -> Found:
    """`self.x = ...`, the only one in the file, while its class reads `self.x`."""
    for cls in file.classes:
        attributes = (node for node in ast.walk(cls) if isinstance(node, ast.Attribute))
        on_self = [node for node in attributes if is_self(node.value)]
        stored = Counter(node.attr for node in on_self if not is_loaded(node))
        read = {node.attr for node in on_self if is_loaded(node)}
        for node in on_self:
            parent = file.parents.get(node)
            alone = stored[node.attr] == 1 and node.attr in read
            if alone and isinstance(parent, ast.Assign) and parent.targets == [node]:
                body = getattr(file.parents[parent], "body", ())
                yield from [removed(file, parent)] if len(body) > 1 else []


def _children(file: File, cls: ast.ClassDef, *, called: bool = False) -> set[str]:
    """Attributes that are assigned once, from a class imported from the project (whose own
    `forward` names all that it takes, where the child is `called`)."""
    count: Counter[str] = Counter()
    made: set[str] = set()
    for node in ast.walk(cls):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Attribute) and is_self(target.value):
            count[target.attr] += 1
            value = node.value  # type: ignore[attr-defined]
            name = name_of(value.func) if isinstance(value, ast.Call) else ""
            made_of = file.definition(name)
            forward = [
                n for n in getattr(made_of, "body", ()) if getattr(n, "name", "") == "forward"
            ]
            if isinstance(made_of, ast.ClassDef) and (
                not called or (forward and takes_only_named(forward[0]))
            ):
                made.add(target.attr)
    return {name for name in made if count[name] == 1}


def child_attribute(file: File) -> Found:
    for cls in file.classes:
        children = _children(file, cls)
        for node in ast.walk(cls):
            owner = node.value if isinstance(node, ast.Attribute) and is_loaded(node) else None
            if isinstance(owner, ast.Attribute) and is_self(owner.value) and owner.attr in children:
                yield rename_end(file, node)  # type: ignore[arg-type]


def child_call_keyword(file: File) -> Found:
    for cls in file.classes:
        children = _children(file, cls, called=True)
        for node in ast.walk(cls):
            func = node.func if isinstance(node, ast.Call) else None
            if isinstance(func, ast.Attribute) and is_self(func.value) and func.attr in children:
                yield add_keyword(file, node)  # type: ignore[arg-type]


def _stands_alone(cls: ast.ClassDef) -> bool:
    """A class that gets no method of the project's from a base."""
    return all(ast.unparse(base).split("[")[0].split(".")[-1] in _FOREIGN for base in cls.bases)


def method_renamed(file: File) -> Found:
    """A method under another name, while the class itself calls it by the old one."""
    for cls in (cls for cls in file.classes if _stands_alone(cls)):
        funcs = (node.func for node in ast.walk(cls) if isinstance(node, ast.Call))
        called = {f.attr for f in funcs if isinstance(f, ast.Attribute) and is_self(f.value)}
        for node in cls.body:
            if isinstance(node, FUNCTION) and node.name in called:
                yield renamed(file, node, node.name)


def parameter_attribute(file: File) -> Found:
    """An attribute of a parameter that is annotated with a class of the project."""
    for function in (node for node in file.nodes if isinstance(node, FUNCTION)):
        typed = {
            arg.arg
            for arg in (*function.args.args, *function.args.kwonlyargs)
            if isinstance(file.definition(name_of(arg.annotation)), ast.ClassDef)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and is_loaded(node) and name_of(node.value) in typed:
                yield rename_end(file, node)


def callee_renamed(file: File) -> Found:
    """A method of an object of whatever class, called by a name that the project lacks."""
    own = {n.name for cls in file.classes for n in cls.body if isinstance(n, FUNCTION)}
    for call in file.calls:
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in own and not is_self(func.value):
            yield rename_end(file, func)


def field_renamed(file: File) -> Found:
    """A field of a dataclass under another name, while the file gives or reads the old one."""
    for cls in file.classes:
        if not any("dataclass" in ast.unparse(decorator) for decorator in cls.decorator_list):
            continue
        calls = [call for call in file.calls if name_of(call.func) == cls.name]
        given = {keyword.arg for call in calls for keyword in call.keywords}
        read = {n.attr for n in ast.walk(cls) if isinstance(n, ast.Attribute) and is_self(n.value)}
        for node in cls.body:
            if isinstance(node, ast.AnnAssign) and name_of(node.target) in given | read:
                yield rename_end(file, node.target)


def override_parameter(file: File) -> Found:
    """An override that lacks a parameter of the method, while the file passes it by name."""
    passed = {
        (call.func.attr, keyword.arg)
        for call in file.calls
        if isinstance(call.func, ast.Attribute)
        for keyword in call.keywords
    }
    for cls in file.classes:
        above = {node.name: node for node in _inherited(file, cls)}
        for node in cls.body:
            if not isinstance(node, FUNCTION) or node.args.kwarg or node.name not in above:
                continue
            read = {name_of(n) for n in ast.walk(node)}
            for arg in (*node.args.args, *node.args.kwonlyargs):
                shared = arg.arg in named_parameters(above[node.name])
                if shared and arg.arg not in read and (node.name, arg.arg) in passed:
                    yield _without(file, arg)


def _inherited(file: File, cls: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """The methods of a class's direct bases."""
    for name in map(name_of, cls.bases):
        base = file.definition(name) or _class(file, name)
        yield from (n for n in getattr(base, "body", ()) if isinstance(n, ast.FunctionDef))


def _decorators(node: ast.FunctionDef) -> str:
    return " ".join(map(ast.unparse, node.decorator_list))


def _class(file: File, name: str) -> ast.stmt | None:
    found = [cls for cls in file.tree.body if getattr(cls, "name", "") == name]
    return found[0] if len(found) == 1 else None


def _without(file: File, arg: ast.arg) -> tuple[int, str]:
    """A signature without one of its parameters."""
    begin, end = file.span(arg)
    comma = file.text.encode().find(b",", end)
    close = file.text.encode().find(b")", end)
    return arg.lineno, file.replaced(begin, comma + 1 if 0 < comma < close else end, "")


def abstract_method(file: File) -> Found:
    """A class without a method that its base declares abstract, while the file makes one."""
    made = {name_of(call.func) for call in file.calls}
    for cls in file.classes:
        abstract = {n.name for n in _inherited(file, cls) if "abstract" in _decorators(n)}
        for node in cls.body:
            if isinstance(node, FUNCTION) and node.name in abstract and cls.name in made:
                yield renamed(file, node, node.name)


def field_default(file: File) -> Found:
    """A dataclass field that loses its default behind another one that keeps it."""
    for cls in file.classes:
        plain = [ast.unparse(decorator) for decorator in cls.decorator_list] == ["dataclass"]
        fields = [node for node in cls.body if isinstance(node, ast.AnnAssign)]
        given = [node for node in fields if isinstance(node.value, ast.Constant)]
        for node in given[1:] if plain else ():
            begin, end = file.span(node.annotation)[1], file.span(node)[1]
            yield node.lineno, file.replaced(begin, end, "")


def dataclass_frozen(file: File) -> Found:
    """A dataclass that is frozen now, while a method assigns one of its fields."""
    for cls in file.classes:
        plain = [d for d in cls.decorator_list if name_of(d) == "dataclass"]
        fields = {name_of(n.target) for n in cls.body if isinstance(n, ast.AnnAssign)}
        stores = (n for n in ast.walk(cls) if isinstance(n, ast.Attribute) and is_self(n.value))
        assigned = {n.attr for n in stores if isinstance(n.ctx, ast.Store)}
        if plain and not cls.bases and fields & assigned:
            end = file.span(plain[0])[1]
            yield cls.lineno, file.replaced(end, end, "(frozen=True)")
