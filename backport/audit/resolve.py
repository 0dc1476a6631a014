"""Names to values: imports, re-exports, star imports, aliases, annotations, attributes.

Everything goes through one table. A name that may be bound in several ways has all
of their values; what cannot be told is unknown, and what cannot be there is None.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from backport.audit.forms import annotated, evaluate_form
from backport.audit.modules import Kind, Target
from backport.audit.records import TYPING, Binding, Record
from backport.audit.terms import Term, dotted
from backport.audit.values import UNKNOWN, Sort, Type, Value, either, external

if TYPE_CHECKING:
    from backport.audit.classes import Classes
    from backport.audit.table import Table

_LIMIT = 60
_BUILTINS = frozenset(dir(builtins))


class Env(Protocol):
    """Where a term was written: what its names and `self` mean there."""

    @property
    def path(self) -> str:
        """The file."""

    @property
    def instance(self) -> Value | None:
        """What `self` is, if anything."""

    def lookup(self, name: str) -> Type:
        """The values of a bare name."""


@dataclass(frozen=True, slots=True)
class ModuleEnv:
    """The top level of a file, or a method's view of it."""

    resolver: Resolver
    path: str
    instance: Value | None = None

    def lookup(self, name: str) -> Type:
        return self.resolver.name(self.path, name)


@dataclass(slots=True)
class Resolver:
    """Resolution over one table; results are kept, cycles are unknown."""

    table: Table
    classes: Classes = field(init=False)
    _members: dict[tuple[str, str, bool], Type | None] = field(default_factory=dict)
    _active: set[tuple[str, str, bool]] = field(default_factory=set)
    _depth: int = 0
    _filled: frozenset[tuple[str, str]] | None = None

    def __post_init__(self) -> None:
        from backport.audit.classes import Classes

        self.classes = Classes(self)

    def member(self, path: str, name: str, *, runtime: bool = True) -> Type | None:
        """What `name` is at the top level of a file; None where it is surely not there.

        With `runtime`, what only a type checker sees is not there.
        """
        key = (path, name, runtime)
        if key in self._members:
            return self._members[key]
        if key in self._active:
            return UNKNOWN
        self._active.add(key)
        try:
            found = self._member(path, name, runtime)
        finally:
            self._active.discard(key)
        self._members[key] = found
        return found

    def name(self, path: str, name: str) -> Type:
        """What a bare name means at the top level of a file, builtins included."""
        found = self.member(path, name, runtime=False)
        if found is None and name in _BUILTINS:
            return (external(f"builtins.{name}"),)
        return found or UNKNOWN

    def imported(self, importer: str, level: int, module: str, symbol: str | None) -> Type:
        """What an import binds; unknown where it fails."""
        target = self.table.modules.find(importer, level, module)
        if target.kind is Kind.EXTERNAL:
            return (external(f"{module}.{symbol}" if symbol else module),)
        if target.kind not in (Kind.FILE, Kind.FOLDER):
            return UNKNOWN
        if symbol is None:
            return (Value(Sort.MODULE, target.path, module),)
        if target.path == importer:  # `from . import name` in the package itself
            return _module_type(self.table.modules.submodule(importer, symbol))
        return self.symbol(target, symbol) or UNKNOWN

    def symbol(self, target: Target, name: str, *, runtime: bool = False) -> Type | None:
        """What a module offers under a name, submodules included."""
        if target.kind is Kind.FOLDER:
            found = self.table.modules.submodule(target.path, name)
            return None if found is None else _module_type(found)
        return self.member(target.path, name, runtime=runtime)

    def evaluate(self, term: Term, env: Env) -> Type:
        """Every value that a term can have where it was written."""
        if term is None or self._depth > _LIMIT:
            return UNKNOWN
        if isinstance(term, str):
            return env.lookup(term)
        self._depth += 1
        try:
            return evaluate_form(self, term, env)
        finally:
            self._depth -= 1

    def attribute(self, value: Value, name: str) -> Type | None:
        """What `value.name` is; None where it surely does not exist."""
        if value.sort is Sort.MODULE:
            kind = Kind.FOLDER if value.path.endswith("/") else Kind.FILE
            return self.symbol(Target(kind, value.path), name, runtime=True)
        if value.sort is Sort.EXTERNAL:
            return (external(f"{value.name}.{name}"),)
        if value.sort in (Sort.CLASS, Sort.INSTANCE, Sort.SUPER):
            return self.classes.attribute(value, name)
        return UNKNOWN

    def annotated_in(self, function: Value, annotation: Term) -> Type:
        """The values of an annotation in the signature of a function."""
        owner = function.owner
        env = ModuleEnv(self, function.path, owner.as_instance() if owner else None)
        return annotated(self, annotation, env)

    def _member(self, path: str, name: str, runtime: bool) -> Type | None:
        record = self.table.record(path)
        if record is None:
            return UNKNOWN
        bindings = visible(record, name, runtime=runtime)
        if bindings:
            return self.bound(bindings, ModuleEnv(self, path), name)
        if record.served is not None and name in record.served:
            return UNKNOWN
        if name.startswith("__") and name.endswith("__"):
            return UNKNOWN
        found = self._starred(record, path, name, runtime)
        if found is not None:
            return found
        submodule = self.table.modules.submodule(path, name)
        if submodule is not None:
            return _module_type(submodule)
        return UNKNOWN if record.open or self.is_filled(Value(Sort.MODULE, path)) else None

    def is_filled(self, value: Value) -> bool:
        """True for a module or class that some code gives attributes of computed names, as
        registries do."""
        if self._filled is None:
            self._filled = frozenset[tuple[str, str]]()  # what the look-ups below may ask for
            found = (
                _place(value)
                for path, names in self.table.index.filled.items()
                for name in names
                for value in self.name(path, name)
                if value.sort in (Sort.MODULE, Sort.CLASS)
            )
            self._filled = frozenset(found)
        return _place(value) in self._filled

    def bound(self, bindings: tuple[Binding, ...], env: Env, prefix: str) -> Type:
        """The union of what several bindings give to one name."""
        return either([self.binding(binding, env, prefix) for binding in bindings])

    def binding(self, binding: Binding, env: Env, qualified: str) -> Type:
        """What one binding gives to its name."""
        if binding.function is not None:
            function = binding.function
            return (Value(Sort.FUNCTION, env.path, qualified, binding.line, function=function),)
        if binding.cls is not None:
            return (Value(Sort.CLASS, env.path, qualified, binding.line, cls=binding.cls),)
        if binding.module is not None:
            return self.imported(env.path, *binding.module)
        return self.evaluate(binding.value, env)

    def _starred(self, record: Record, path: str, name: str, runtime: bool) -> Type | None:
        """What `from x import *` brings under a name."""
        unsure = False
        for level, module in record.stars:
            target = self.table.modules.find(path, level, module)
            if target.kind is not Kind.FILE:
                unsure = True
                continue
            other = self.table.record(target.path)
            exported = other.exported if other is not None else None
            if name in exported if exported is not None else not name.startswith("_"):
                found = self.member(target.path, name, runtime=runtime)
                if found is not None:
                    return found
        return UNKNOWN if unsure else None


def _place(value: Value) -> tuple[str, str]:
    """A module by its file, a class by its name there too."""
    return value.path, "" if value.sort is Sort.MODULE else value.name


def visible(record: Record, name: str, *, runtime: bool) -> tuple[Binding, ...]:
    """The bindings of a name that count: without `overload` stubs, and at run time
    without what stands under `if TYPE_CHECKING`."""
    bindings = record.names.get(name, ())
    if runtime:
        bindings = tuple(b for b in bindings if not b.guard & TYPING)
    return without_overloads(bindings)


def without_overloads(bindings: tuple[Binding, ...]) -> tuple[Binding, ...]:
    """The bindings less the stubs that `typing.overload` marks."""
    real = tuple(binding for binding in bindings if not _is_overload(binding))
    return real or bindings


def _is_overload(binding: Binding) -> bool:
    decorators = binding.function.decorators if binding.function is not None else ()
    return "overload" in {dotted(d).rpartition(".")[2] for d in decorators}


def _module_type(target: Target | None) -> Type:
    if target is not None and target.kind in (Kind.FILE, Kind.FOLDER):
        return (Value(Sort.MODULE, target.path),)
    return UNKNOWN
