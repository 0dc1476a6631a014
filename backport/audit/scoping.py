"""What a name means at one place of a file read closely."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from backport.audit.extract import Block, read_class
from backport.audit.facts import FileFacts, import_binding
from backport.audit.forms import annotated
from backport.audit.functions import Definition, function_record
from backport.audit.index import class_records
from backport.audit.resolve import Resolver
from backport.audit.scopes import Bind, Scope
from backport.audit.source import Source
from backport.audit.terms import Term, annotation_term, value_term
from backport.audit.values import UNKNOWN, Sort, Type, Value, either


@dataclass(slots=True)
class Places:
    """Types of expressions in one file; results are kept per scope and text."""

    resolver: Resolver
    source: Source
    _types: dict[tuple[Scope, Any], Type] = field(default_factory=dict)
    _names: dict[tuple[Scope, str], Type] = field(default_factory=dict)
    _classes: dict[Scope, Value | None] = field(default_factory=dict)

    def type_of(self, node: ast.expr, scope: Scope) -> Type:
        """Every value that an expression can have; empty where that is unknown."""
        term = value_term(node)
        if term is None:
            return UNKNOWN
        key = (scope, term)
        if key not in self._types:
            self._types[key] = self.resolver.evaluate(term, ScopeEnv(self, scope))
        return self._types[key]

    def class_of(self, scope: Scope | None) -> Value | None:
        """The class whose body a scope is."""
        if scope is None or not isinstance(scope.node, ast.ClassDef):
            return None
        if scope not in self._classes:
            self._classes[scope] = self._class(scope.node)
        return self._classes[scope]

    def instance(self, scope: Scope) -> Value | None:
        """The object (or, in a class method, the class) that methods around work on."""
        cls = self.class_of(scope.cls)
        return cls.as_instance() if cls is not None else None

    def name(self, name: str, scope: Scope) -> Type:
        """The values of a name read in a scope."""
        holder = scope.holder(name)
        if holder is None or holder.kind == "module":
            return self.resolver.name(self.source.path, name)
        key = (holder, name)
        if key not in self._names:
            self._names[key] = UNKNOWN  # what a name defined by itself gets
            binds = [b for b in holder.binds[name] if b.form != "augmented"]
            self._names[key] = either([self._bound(name, bind, holder) for bind in binds])
        return self._names[key]

    def function(self, node: Definition) -> Value:
        """The value of a function that is defined inside another one."""
        record = function_record(node, [], {}, set())
        return Value(Sort.FUNCTION, self.source.path, node.name, node.lineno, function=record)

    def _bound(self, name: str, bind: Bind, holder: Scope) -> Type:
        node = bind.source
        env = ScopeEnv(self, holder)
        if bind.form == "parameter" and isinstance(node, ast.arg):
            return self._parameter(node, holder)
        if bind.form == "annotation" and isinstance(node, ast.expr):
            return annotated(self.resolver, annotation_term(node), env)
        if bind.form == "assign" and isinstance(node, ast.expr):
            return self.type_of(node, holder)
        if bind.form == "item" and isinstance(node, ast.expr):
            term: Term = value_term(node)
            return self.resolver.evaluate(("item", term), env) if term else UNKNOWN
        if bind.form == "import" and isinstance(node, ast.Import | ast.ImportFrom):
            targets = dict(import_binding(node, alias) for alias in node.names)
            return self.resolver.imported(self.source.path, *targets[name])
        if bind.form == "function" and isinstance(node, Definition):
            return (self.function(node),) if holder.kind != "class" else UNKNOWN
        if bind.form == "class" and isinstance(node, ast.ClassDef):
            value = self.class_of(self.source.scopes.get(node))
            return (value,) if value is not None else UNKNOWN
        return UNKNOWN

    def _parameter(self, arg: ast.arg, holder: Scope) -> Type:
        if arg.annotation is not None:
            outer = holder.parent or holder
            term = annotation_term(arg.annotation)
            return annotated(self.resolver, term, ScopeEnv(self, outer))
        owner = self.class_of(holder.parent)
        if owner is None or not isinstance(holder.node, Definition):
            return UNKNOWN
        arguments = holder.node.args.posonlyargs + holder.node.args.args
        if not arguments or arguments[0] is not arg:
            return UNKNOWN
        names = {getattr(d, "id", "") for d in holder.node.decorator_list}
        if "staticmethod" in names:
            return UNKNOWN
        on_class = "classmethod" in names or holder.node.name in _CLASS_METHODS
        return (owner if on_class else owner.as_instance(),)

    def _class(self, node: ast.ClassDef) -> Value:
        """The class as the table knows it; one made inside a function is read here."""
        record = self.resolver.table.record(self.source.path)
        for name, cls in class_records(record.names) if record else ():
            if cls.name == node.name and cls.line == node.lineno:
                return Value(Sort.CLASS, self.source.path, name, cls.line, cls=cls)
        cls = read_class(node, Block(FileFacts(), []))
        return Value(Sort.CLASS, self.source.path, f"<local>.{node.name}", node.lineno, cls=cls)


_CLASS_METHODS = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})


@dataclass(frozen=True, slots=True)
class ScopeEnv:
    """The view from one scope of a file."""

    places: Places
    scope: Scope

    @property
    def path(self) -> str:
        return self.places.source.path

    @property
    def instance(self) -> Value | None:
        return self.places.instance(self.scope)

    def lookup(self, name: str) -> Type:
        return self.places.name(name, self.scope)
