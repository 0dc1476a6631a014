"""The walk over one file that finds its scopes and sites."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from backport.audit import tolerance
from backport.audit.facts import import_binding
from backport.audit.functions import Definition
from backport.audit.guards import is_typing_test, mentions_version
from backport.audit.source import Source, excused_lines
from backport.audit.terms import dotted, value_term
from backport.audit.walking import Walk

_NARROWING = frozenset({"isinstance", "issubclass", "type", "callable"})

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def parse(path: str, data: bytes) -> Source | None:
    """The file read closely; None where it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
            reader = _Reader(path, tree, excused_lines(data))
            reader.block(tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return reader.source


class _Reader(Walk):
    """The handlers that bind names and gather sites."""

    def annotation(self, node: ast.expr | None) -> None:
        if node is not None:
            with self.under(self.lazy):
                self.annotated(node)

    def annotated(self, node: ast.AST) -> None:
        """The names of an annotation; quoted ones count, unless they are literal strings."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.quoted(node, node.value)
        elif isinstance(node, ast.Subscript):
            self.visit(node.value)
            last = dotted(value_term(node.value)).rpartition(".")[2]
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            for place, part in enumerate(parts if last != "Literal" else ()):
                self.visit(part) if place and last == "Annotated" else self.annotated(part)
        elif isinstance(node, ast.BinOp | ast.List | ast.Tuple):
            for child in ast.iter_child_nodes(node):
                self.annotated(child)
        else:
            self.visit(node)

    def quoted(self, node: ast.Constant, text: str) -> None:
        try:
            inner = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            return
        for part in ast.walk(inner):
            ast.copy_location(part, node)
        with self.under(tolerance.LAZY):
            self.annotated(inner)

    def function(self, node: Definition) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.defaults(node.args)
        self.bind(node.name, "function", node, node.lineno)
        with self.type_parameters(node):
            for arg in _arguments(node.args):
                self.annotation(arg.annotation)
            self.annotation(node.returns)
            with self.inside("function", node):
                self.parameters(node.args)
                self.block(node.body)

    def class_(self, node: ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.bind(node.name, "class", node, node.lineno)
        with self.type_parameters(node):
            for base in node.bases:
                self.annotated(base) if isinstance(base, ast.Subscript) else self.visit(base)
            for keyword in node.keywords:
                self.visit(keyword.value)
            with self.inside("class", node):
                self.block(node.body)

    @contextmanager
    def type_parameters(self, node: ast.AST) -> Iterator[None]:
        found = getattr(node, "type_params", None)
        if not found:
            yield
            return
        with self.inside("parameters", found[0]):
            for parameter in found:
                self.bind(parameter.name, "other", None, parameter.lineno)
                self.visit(getattr(parameter, "bound", None))
            yield

    def lambda_(self, node: ast.Lambda) -> None:
        self.defaults(node.args)
        with self.inside("lambda", node):
            self.parameters(node.args)
            self.visit(node.body)

    def defaults(self, args: ast.arguments) -> None:
        for default in (*args.defaults, *args.kw_defaults):
            self.visit(default)

    def parameters(self, args: ast.arguments) -> None:
        for arg in _arguments(args):
            variadic = arg is args.vararg or arg is args.kwarg
            self.bind(arg.arg, "other" if variadic else "parameter", arg, arg.lineno)

    def comprehension(self, node: Comprehension) -> None:
        self.visit(node.generators[0].iter)
        with self.inside("comprehension", node):
            for place, generator in enumerate(node.generators):
                if place:
                    self.visit(generator.iter)
                self.target(generator.target, "item", generator.iter)
                for test in generator.ifs:
                    self.visit(test)
            for part in ("key", "value", "elt"):
                self.visit(getattr(node, part, None))

    def assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.target(target, "assign", node.value)
            if isinstance(target, ast.Tuple | ast.List):
                self.source.unpackings.append(self.site(node))

    def annotated_assign(self, node: ast.AnnAssign) -> None:
        with self.under(tolerance.LAZY if self.scope.kind == "function" else 0):
            self.annotation(node.annotation)  # those of local variables are never evaluated
        self.visit(node.value)
        self.target(node.target, "annotation", node.annotation)

    def augmented(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            self.source.names.append(self.site(read))
            self.bind(node.target.id, "augmented", None, node.lineno)
        else:
            self.target(node.target, "other", None)

    def named(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        scope = self.scope
        while self.scope.kind == "comprehension" and self.scope.parent is not None:
            self.scope = self.scope.parent
        self.bind(node.target.id, "assign", node.value, node.lineno)
        self.scope = scope

    def import_(self, node: ast.Import | ast.ImportFrom) -> None:
        self.source.imports.append(self.site(node))
        for alias in node.names:
            if alias.name != "*":
                self.bind(import_binding(node, alias)[0], "import", node, node.lineno)

    def outside(self, node: ast.Global | ast.Nonlocal) -> None:
        where = "global" if isinstance(node, ast.Global) else "nonlocal"
        self.scope.outer.update(dict.fromkeys(node.names, where))
        if where == "global":
            for name in node.names:
                self.bind(name, "other", None, 0)

    def for_(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        outer, self.loop = self.loop, self.loop or node.lineno
        self.target(node.target, "item" if isinstance(node, ast.For) else "other", node.iter)
        self.block(node.body)
        self.loop = outer
        self.block(node.orelse)

    def while_(self, node: ast.While) -> None:
        outer, self.loop = self.loop, self.loop or node.lineno
        self.visit(node.test)
        self.block(node.body)
        self.loop = outer
        self.block(node.orelse)

    def with_(self, node: ast.With | ast.AsyncWith) -> None:
        guard = 0
        for item in node.items:
            self.visit(item.context_expr)
            guard |= tolerance.of_context(item.context_expr)
            if item.optional_vars is not None:
                self.target(item.optional_vars, "other", None)
        with self.under(guard):
            self.block(node.body)

    def if_(self, node: ast.If) -> None:
        self.visit(node.test)
        versioned = tolerance.VERSION if mentions_version(node.test) else 0
        with self.under(versioned | (tolerance.TYPING if is_typing_test(node.test) else 0)):
            self.block(node.body)
        with self.under(versioned):
            self.block(node.orelse)

    def try_(self, node: ast.Try | ast.TryStar) -> None:
        with self.under(tolerance.of_try(node)):
            self.block(node.body)
        for handler in node.handlers:
            self.statement = handler.lineno
            self.visit(handler.type)
            if handler.name:
                self.bind(handler.name, "other", None, handler.lineno)
            self.block(handler.body)
        self.block(node.orelse)
        self.block(node.finalbody)

    def match(self, node: ast.Match) -> None:
        self.scope.narrowed.add(dotted(value_term(node.subject)))
        self.children(node)

    def capture(self, node: ast.MatchAs | ast.MatchStar | ast.MatchMapping) -> None:
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if name:
            self.bind(name, "other", None, node.lineno)
        self.children(node)

    def type_alias(self, node: ast.AST) -> None:
        name, value = node.name, node.value  # type: ignore[attr-defined]
        self.bind(name.id, "other", None, name.lineno)
        with self.type_parameters(node), self.under(tolerance.LAZY):
            self.annotated(value)

    def name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.source.names.append(self.site(node))

    def attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Load):
            self.source.attributes.append(self.site(node))
        elif isinstance(node.ctx, ast.Store):
            self.source.stores.append(self.site(node))
        self.visit(node.value)

    def await_(self, node: ast.Await) -> None:
        self.source.awaited.add(node.value)
        self.visit(node.value)

    def expression(self, node: ast.Expr) -> None:
        self.source.dropped.add(node.value)
        self.visit(node.value)

    def call(self, node: ast.Call) -> None:
        self.source.calls.append(self.site(node))
        name = dotted(value_term(node.func)).rpartition(".")[2]
        if name in _NARROWING and node.args:
            self.scope.narrowed.add(dotted(value_term(node.args[0])))
        if name == "cast" and len(node.args) > 1:
            self.annotation(node.args[0])
            self.visit(node.args[1])
        else:
            self.children(node)


def _arguments(args: ast.arguments) -> list[ast.arg]:
    found = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    return found + [arg for arg in (args.vararg, args.kwarg) if arg is not None]


def _look_away(_reader: _Reader, _node: ast.AST) -> None:
    """Nothing in it binds or reads."""


_Reader.handlers = {
    ast.Name: _Reader.name,
    ast.Attribute: _Reader.attribute,
    ast.Call: _Reader.call,
    ast.Constant: _look_away,
    ast.Await: _Reader.await_,
    ast.Expr: _Reader.expression,
    ast.Assign: _Reader.assign,
    ast.AnnAssign: _Reader.annotated_assign,
    ast.AugAssign: _Reader.augmented,
    ast.NamedExpr: _Reader.named,
    ast.ClassDef: _Reader.class_,
    ast.Lambda: _Reader.lambda_,
    ast.While: _Reader.while_,
    ast.If: _Reader.if_,
    ast.Match: _Reader.match,
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef), _Reader.function),
    **dict.fromkeys(
        (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), _Reader.comprehension
    ),
    **dict.fromkeys((ast.Import, ast.ImportFrom), _Reader.import_),
    **dict.fromkeys((ast.Global, ast.Nonlocal), _Reader.outside),
    **dict.fromkeys((ast.For, ast.AsyncFor), _Reader.for_),
    **dict.fromkeys((ast.With, ast.AsyncWith), _Reader.with_),
    **dict.fromkeys((ast.Try, ast.TryStar), _Reader.try_),
    **dict.fromkeys((ast.MatchAs, ast.MatchStar, ast.MatchMapping), _Reader.capture),
}
if sys.version_info >= (3, 12):
    _Reader.handlers[ast.TypeAlias] = _Reader.type_alias
