"""One Python file cut down to its record, in one pass over its statements.

Expressions are looked at only where a statement binds something: that is all that
other files can see, and it keeps the table of a large tree cheap.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from backport.audit.bodies import blocks, read_function, targets
from backport.audit.facts import ClassFacts, FileFacts, Names, import_binding
from backport.audit.functions import Definition, decorator_term
from backport.audit.guards import expects_failure, is_typing_test
from backport.audit.records import (
    CONDITIONAL,
    FALLIBLE,
    TYPING,
    UNREADABLE,
    Binding,
    Class,
    Field,
    Record,
)
from backport.audit.served import adds_globals, served_names
from backport.audit.terms import Term, annotation_term, base_term, instance, unquoted, value_term

_OPERATORS = re.compile(rb"torch\.ops\.(\w+)\.(\w+)")
_COMPUTED = rb"(?!\s|[\"']\w+[\"']\s*[,)])"  # no whole name in quotes comes next
_FILLED = re.compile(rb"setattr(?:__)?\(\s*(\w+)\s*,\s*" + _COMPUTED)
SHORTEST_WORD = 3
_WORDS = re.compile(rb"[A-Za-z_]\w{%d,}" % (SHORTEST_WORD - 1))
_NAMED = re.compile(rb"""\(\s*(?:([\w.\[\]]+)\s*,\s*)?["'](\w+)["']""")
_PUT = re.compile(rb"(?:\.__dict__|vars\([\w.]+\))\[[\"'](\w+)[\"']\]\s*=[^=]")
_LAST_WORD = re.compile(rb"\.?\w+\Z")
_LONGEST_WORD = 80  # bytes that are looked at for the function's name
_OWN = (b"register_buffer", b"register_parameter", b"register_module", b"add_module")
_REPLACERS = (b"setattr", b"delattr", b"object", b"spy")  # as methods: of pytest, of mock
_SETTERS = (b"attr", b"param", b"buffer", b"module", b"register")
_OBJECTS = frozenset({b"self", b"cls", b"layer", b"module", b"model"})
_OPEN_CLASS = re.compile(
    rb"(?:self|cls)\.__dict__(?:\.update|\s*=[^=]|\[)|vars\(self\)(?:\.update|\[)"
    rb"|(?:locals|vars)\(\)(?:\.update|\[[^\]]*\]\s*=[^=])"
    rb"|setattr(?:__)?\(\s*(?:self|cls)\s*,\s*"
    + _COMPUTED
    + rb"|self\.(?:register_(?:buffer|parameter|module)|add_module)\(\s*"
    + _COMPUTED
)
_OPENERS = (b"__dict__", b"vars(", b"locals(", b"setattr", b"register_", b"add_module")
_OPEN_MODULE = re.compile(
    rb"vars\(\)(?:\.update|\[[^\]]*\]\s*=[^=])"
    rb"|sys\.modules\[__name__\](?:\s*=[^=]|\.__class__|\s*,\s*(?![\"']))"
)


def extract(source: bytes) -> Record:
    """The record of a file's content; `UNREADABLE` where it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read_module(ast.parse(source), source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return UNREADABLE


def mentions(source: bytes) -> frozenset[str]:
    """Every word in the file but the shortest, to find who may use a name."""
    return frozenset(word.decode() for word in set(_WORDS.findall(source)))


def read_module(tree: ast.Module, source: bytes) -> Record:
    """The record of a parsed file."""
    file = FileFacts()
    opened = list(_opened(source))
    block = Block(file, opened)
    read_block(tree.body, block)
    for name in file.globals - block.names.keys():
        block.bind(name, Binding(CONDITIONAL, 0))
    given, probed = _by_name(source)
    for name in given:
        file.loosen(name, None)
    served, serves_any = served_names(tree)
    return Record(
        _frozen(block.names),
        tuple(block.stars),
        _exported(block, tree),
        served,
        serves_any or bool(_OPEN_MODULE.search(source)) or adds_globals(tree, source),
        tuple((level, name, tuple(sorted(s))) for (level, name), s in file.imports.items()),
        tuple(file.registrations),
        {name: tuple(terms) for name, terms in file.loose.items()},
        tuple(sorted(probed)),
        tuple(sorted({(a.decode(), b.decode()) for a, b in _OPERATORS.findall(source)})),
        tuple(sorted({name.decode() for name in _FILLED.findall(source)} - {"self", "cls"})),
    )


@dataclass(slots=True)
class Block:
    """A module or class body while it is read; branches of it share its names."""

    file: FileFacts
    opened: list[int]
    guard: int = 0
    cls: ClassFacts | None = None
    names: Names = field(default_factory=dict)
    stars: list[tuple[int, str]] = field(default_factory=list)

    def under(self, guard: int) -> Block:
        return replace(self, guard=self.guard | guard)

    def bind(self, name: str, binding: Binding) -> None:
        self.names.setdefault(name, []).append(binding)


def read_block(body: list[ast.stmt], block: Block) -> None:
    """Bind what the statements of a module or class body bind."""
    for node in body:
        for expression in _walruses(node):
            _assign(expression.target, value_term(expression.value), block)
        _STATEMENTS.get(type(node), _other)(node, block)


def _walruses(node: ast.stmt) -> Iterator[ast.NamedExpr]:
    """The names that a condition or value binds by `:=`."""
    for part in (getattr(node, "test", None), getattr(node, "value", None)):
        if isinstance(part, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.NamedExpr | ast.Call):
            yield from (n for n in ast.walk(part) if isinstance(n, ast.NamedExpr))


def read_class(node: ast.ClassDef, block: Block) -> Class:
    """The record of a class."""
    facts = ClassFacts()
    inner = Block(block.file, block.opened, cls=facts)
    read_block(node.body, inner)
    for slot in _slots(node):
        facts.assign(slot, None)
    end = node.end_lineno or node.lineno
    return Class(
        node.name,
        node.lineno,
        tuple(base_term(base) for base in node.bases),
        tuple((k.arg or "**", value_term(k.value)) for k in node.keywords),
        tuple((decorator_term(d), _options(d)) for d in node.decorator_list),
        _frozen(inner.names),
        {name: tuple(dict.fromkeys(terms)) for name, terms in facts.attributes.items()},
        tuple(
            _field(statement.target.id, statement)
            for statement in node.body
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        ),
        any(node.lineno <= line <= end for line in block.opened),
    )


def _function(node: Definition, block: Block) -> None:
    function = read_function(node, block.file, block.guard, block.cls)
    block.bind(node.name, Binding(block.guard, node.lineno, function=function))


def _class(node: ast.ClassDef, block: Block) -> None:
    block.bind(node.name, Binding(block.guard, node.lineno, cls=read_class(node, block)))


def _imported(node: ast.Import | ast.ImportFrom, block: Block) -> None:
    block.file.note_import(node)
    for alias in node.names:
        if alias.name == "*" and isinstance(node, ast.ImportFrom):
            block.stars.append((node.level, node.module or ""))
        else:
            name, target = import_binding(node, alias)
            block.bind(name, Binding(block.guard, node.lineno, module=target))


def _if(node: ast.If, block: Block) -> None:
    if is_typing_test(node.test):
        read_block(node.body, block.under(TYPING))
        read_block(node.orelse, block)
    else:
        read_block(node.body, block.under(CONDITIONAL))
        read_block(node.orelse, block.under(CONDITIONAL))


def _try(node: ast.Try | ast.TryStar, block: Block) -> None:
    read_block(node.body, block.under(FALLIBLE) if expects_failure(node) else block)
    for handler in node.handlers:
        read_block(handler.body, block.under(FALLIBLE))
    read_block(node.orelse + node.finalbody, block)


def _assignment(node: ast.Assign, block: Block) -> None:
    term = value_term(node.value)
    for target in node.targets:
        _assign(target, term, block)
    block.file.note_call(node.value, block.guard, getattr(node.targets[0], "id", ""))


def _annotated(node: ast.AnnAssign, block: Block) -> None:
    term = instance(annotation_term(node.annotation))
    _assign(node.target, term, block, declared=node.value is None)


def _expression(node: ast.Expr, block: Block) -> None:
    block.file.note_call(node.value, block.guard)


def _other(node: ast.stmt, block: Block) -> None:
    for target in targets(node):
        _assign(target, None, block)
    inner = block.under(CONDITIONAL) if isinstance(node, ast.While | ast.Match) else block
    for body in blocks(node):
        read_block(body, inner)
    if isinstance(getattr(node, "name", None), ast.Name):  # type X = ..., from Python 3.12
        _assign(node.name, None, block)  # type: ignore[attr-defined]


def _assign(target: ast.expr, term: Term, block: Block, *, declared: bool = False) -> None:
    if isinstance(target, ast.Name):
        binding = Binding(block.guard, target.lineno, value=term, declared=declared)
        block.bind(target.id, binding)
    elif isinstance(target, ast.Attribute):
        block.file.loosen(target.attr, term)
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            _assign(element, None, block)
    elif isinstance(target, ast.Starred):
        _assign(target.value, None, block)


_STATEMENTS: dict[type, Callable[..., None]] = {
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _imported,
    ast.ImportFrom: _imported,
    ast.If: _if,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Assign: _assignment,
    ast.AnnAssign: _annotated,
    ast.Expr: _expression,
}


def _frozen(names: Names) -> dict[str, tuple[Binding, ...]]:
    return {name: tuple(bindings) for name, bindings in names.items()}


def _options(node: ast.expr) -> tuple[str, ...]:
    """The keywords of a call, `name=True` and `name=False` told apart from the rest; the
    empty string stands for positional arguments."""
    if not isinstance(node, ast.Call):
        return ()
    options = [""] if node.args else []
    for keyword in node.keywords:
        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else ""
        options.append(f"{keyword.arg}={value!s}")
    return tuple(options)


def _field(name: str, node: ast.AnnAssign) -> Field:
    annotation, value = unquoted(node.annotation), node.value
    outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    marker = value_term(outer)
    specifier = decorator_term(value) if isinstance(value, ast.Call) else None
    options = _options(value) if value is not None else ()
    return Field(name, marker, value is not None, specifier, options)


def _slots(node: ast.ClassDef) -> list[str]:
    """The names in a literal `__slots__`."""
    for statement in node.body:
        if isinstance(statement, ast.Assign) and any(
            getattr(target, "id", "") == "__slots__" for target in statement.targets
        ):
            parts = getattr(statement.value, "elts", [statement.value])
            return [p.value for p in parts if isinstance(getattr(p, "value", None), str)]
    return []


def _opened(source: bytes) -> Iterator[int]:
    """The lines that give a class attributes nobody can list; to restore a pickled object
    gives it those that it had."""
    if not any(word in source for word in _OPENERS):
        return
    for match in _OPEN_CLASS.finditer(source):
        method = source.rfind(b"def ", 0, match.start()) + len("def ")
        if not source.startswith((b"__setstate__", b"__deepcopy__", b"__copy__"), method):
            yield source.count(b"\n", 0, match.start()) + 1


def _by_name(source: bytes) -> tuple[set[str], set[str]]:
    """The attributes that calls like `setattr` give by name, and those they only ask for.

    What a test replaces must be there already, unless the call says that it need not.
    """
    replaces = b"raising=False" not in source and b"create=True" not in source
    given = {name.decode() for name in _PUT.findall(source)}
    probed: set[str] = set()
    for match in _NAMED.finditer(source):  # that it starts with a bracket makes it fast
        called = _LAST_WORD.search(source[max(0, match.start() - _LONGEST_WORD) : match.start()])
        function, (owner, name) = called[0] if called else b"", match.groups()
        if replaces and function.startswith(b".") and function[1:] in _REPLACERS:
            continue
        if owner is None:
            if function.endswith(_OWN):
                given.add(name.decode())
        elif function.endswith((b"getattr", b"hasattr")):
            probed.add(name.decode())
        elif function and (owner in _OBJECTS or any(word in function for word in _SETTERS)):
            given.add(name.decode())
    return given, probed


def _exported(block: Block, tree: ast.Module) -> tuple[str, ...] | None:
    """The names in `__all__`; None without one, or where it is computed."""
    if "__all__" not in block.names:
        return None
    names: list[str] = []
    for node in tree.body:
        value = _all_value(node)
        if value is None:
            continue
        elements = getattr(value, "elts", None)
        if elements is None or not all(isinstance(e, ast.Constant) for e in elements):
            return None
        names += [e.value for e in elements]
    return tuple(names)


def _all_value(node: ast.stmt) -> ast.expr | None:
    if isinstance(node, ast.Assign):
        return node.value if any(getattr(t, "id", "") == "__all__" for t in node.targets) else None
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        return node.value if getattr(node.target, "id", "") == "__all__" else None
    return None
