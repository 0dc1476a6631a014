"""Classes over modules: their chains of bases, their descendants, what their objects have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from backport.audit.externals import METACLASSES, TRANSPARENT, on_classes, own_attributes, provided
from backport.audit.index import class_records
from backport.audit.paths import is_test
from backport.audit.records import Binding, Class, Function
from backport.audit.resolve import ModuleEnv, without_overloads
from backport.audit.terms import Term, dotted
from backport.audit.values import UNKNOWN, Sort, Type, Value, either

if TYPE_CHECKING:
    from backport.audit.resolve import Resolver

_PROPERTIES = frozenset({"property", "cached_property", "abstractproperty", "lazy_property"})
_HOOKS = frozenset({"__getattr__", "__getattribute__"})
_MAKERS = _HOOKS | {"__new__", "__init__", "__prepare__"}


@dataclass(frozen=True, slots=True)
class Chain:
    """A class with its bases, nearest first, those of other projects included.

    `open` means that the chain has parts nobody knows: any attribute may be there. `torn`
    means that it cannot even be told what some base is.
    """

    order: tuple[Value, ...]
    open: bool
    torn: bool = False

    @property
    def classes(self) -> tuple[Value, ...]:
        """The classes of the tree."""
        return tuple(value for value in self.order if value.sort is Sort.CLASS)

    @property
    def externals(self) -> tuple[str, ...]:
        """The bases of other projects, by name."""
        return tuple(value.name for value in self.order if value.sort is Sort.EXTERNAL)


@dataclass(slots=True)
class Classes:
    """Questions about classes, answered once."""

    resolver: Resolver
    _chains: dict[Value, Chain] = field(default_factory=dict)
    _families: dict[Value, tuple[Value, ...]] = field(default_factory=dict)
    _attributes: dict[tuple[Value, str], Type | None] = field(default_factory=dict)

    def chain(self, value: Value) -> Chain:
        """The chain of a class, given the class or an instance of it."""
        cls = value.as_class()
        if cls not in self._chains:
            self._chains[cls] = Chain((cls,), open=True, torn=True)  # what a cycle of bases gets
            self._chains[cls] = self._chain(cls)
        return self._chains[cls]

    def descendants(self, value: Value) -> tuple[Value, ...]:
        """The classes of the tree that extend this one, those of tests left out
        (unless the class is one of them)."""
        cls = value.as_class()
        if cls not in self._families:
            self._families[cls] = ()
            self._families[cls] = tuple(self._descendants(cls))
        return self._families[cls]

    def attribute(self, value: Value, name: str) -> Type | None:
        """What an object of the class has under this name; None where nothing ever gives it."""
        key = (value, name)
        if key not in self._attributes:
            self._attributes[key] = UNKNOWN
            self._attributes[key] = self._attribute(value, name)
        return self._attributes[key]

    def definitions(self, value: Value, name: str) -> Iterator[tuple[Value, tuple[Binding, ...]]]:
        """The classes of the chain whose body binds the name, nearest first, up to a base of
        another project that has it."""
        order = self.chain(value).order
        for cls in order[1:] if value.sort is Sort.SUPER else order:
            if cls.sort is Sort.EXTERNAL and name in own_attributes(cls.name):
                return
            if cls.cls is not None and name in cls.cls.members:
                yield cls, without_overloads(cls.cls.members[name])

    def method(self, value: Value, name: str) -> Value | None:
        """The one function that a method name means on a value, bound where it is; else None."""
        for cls, bindings in self.definitions(value, name):
            if len(bindings) != 1 or bindings[0].function is None:
                return None
            return self._method(value, cls, bindings[0].function)
        return None

    def assigned(self, value: Value, name: str) -> bool:
        """True where a method of the chain assigns the name on the instance."""
        return any(name in c.record.attributes for c in self.chain(value).classes)

    def is_open(self, value: Value) -> bool:
        """True where a class of the chain says itself that it may have any attribute."""
        return any(_is_open(cls.record) for cls in self.chain(value).classes)

    def lacks(self, value: Value, name: str) -> bool:
        """True where no class of the chain or below it gives the attribute, and every base
        of the chain is known."""
        chain = self.chain(value)
        if chain.open or any(name in (provided(e) or ()) for e in chain.externals):
            return False
        family = (value.as_class(), *self.descendants(value))
        if any(self.resolver.is_filled(cls) for cls in chain.classes):
            return False
        return not any(self._gives(cls, name) for cls in family)

    def _chain(self, cls: Value) -> Chain:
        found, opened, torn = [cls], _is_open(cls.record), False
        env = ModuleEnv(self.resolver, cls.path)
        for term in cls.record.bases:
            bases = self.resolver.evaluate(term, env)
            torn |= len(bases) != 1
            for base in bases:
                if base.sort is Sort.CLASS:
                    chain = self.chain(base)
                    found += chain.order
                    opened |= chain.open
                    torn |= chain.torn
                else:
                    found.append(base)
                    torn |= base.sort is not Sort.EXTERNAL
                    opened |= provided(base.name) is None or base.name in METACLASSES
        last = {value: place for place, value in enumerate(found)}
        order = (cls, *(v for n, v in enumerate(found) if last[v] == n and v != cls))
        opened |= any(self._opens(keyword, term, env) for keyword, term in cls.record.keywords)
        opened |= any(self._alters(term, env) for term, _ in cls.record.decorators)
        return Chain(order, opened or torn, torn)

    def _by_metaclass(self, value: Value, name: str) -> bool:
        """True where a class has what its objects have not: `Y.mro`, a metaclass's attribute."""
        chain = self.chain(value)
        metaclasses = [
            found
            for cls in chain.classes
            for keyword, term in cls.record.keywords
            if keyword == "metaclass"
            for found in self.resolver.evaluate(term, ModuleEnv(self.resolver, cls.path))
        ]
        ours = [cls for m in metaclasses if m.cls is not None for cls in self.chain(m).classes]
        if any(name in c.record.members or name in c.record.attributes for c in ours):
            return True
        externals = ("builtins.type", *chain.externals, *(m.name for m in metaclasses))
        return any(_is_open(c.record) for c in ours) or any(
            name in on_classes(e) for e in externals
        )

    def _opens(self, keyword: str, term: Term, env: ModuleEnv) -> bool:
        """A metaclass of unknown make may add anything."""
        if keyword != "metaclass":
            return keyword == "**"
        found = self.resolver.evaluate(term, env)
        return not found or any(self._is_open_metaclass(value) for value in found)

    def _is_open_metaclass(self, value: Value) -> bool:
        if value.cls is None:
            return value.name not in METACLASSES
        chain = self.chain(value)
        ours = any(hook in c.record.members for c in chain.classes for hook in _MAKERS)
        return ours or any(name not in METACLASSES for name in chain.externals)

    def _alters(self, term: Term, env: ModuleEnv) -> bool:
        """A decorator of another project, unless it is known, may add anything."""
        found = self.resolver.evaluate(term, env)
        return any(v.sort is Sort.EXTERNAL and v.name not in TRANSPARENT for v in found)

    def _descendants(self, cls: Value) -> Iterator[Value]:
        table = self.resolver.table
        seen = {cls}
        for path, qualified in table.extending(cls.name.rpartition(".")[2]):
            if is_test(path) and not is_test(cls.path):
                continue
            record = table.record(path)
            for name, found in class_records(record.names) if record else ():
                child = Value(Sort.CLASS, path, name, found.line, cls=found)
                if name == qualified and child not in seen and self._extends(child, cls):
                    seen.add(child)
                    yield child
                    yield from (v for v in self.descendants(child) if v not in seen)

    def _extends(self, child: Value, cls: Value) -> bool:
        return cls in self.chain(child).classes

    def _attribute(self, value: Value, name: str) -> Type | None:
        found = self._own(value, name)
        if found is not None:
            return found
        if self._elsewhere(value, name):
            return UNKNOWN
        return None

    def _own(self, value: Value, name: str) -> Type | None:
        """The attribute as the chain itself gives it; None where it does not."""
        bound = next(self.definitions(value, name), None)
        if bound is not None and bound[1][0].function is not None:
            return self._functions(value, *bound)
        if bound is not None and bound[1][0].cls is not None:
            cls, bindings = bound
            return self.resolver.bound(bindings, ModuleEnv(self.resolver, cls.path), name)
        chain = self.chain(value).classes
        if bound is None and not any(name in c.record.attributes for c in chain):
            return None
        if value.sort is Sort.CLASS:
            return UNKNOWN
        return self._typed(value, name)

    def _functions(self, value: Value, cls: Value, bindings: tuple[Binding, ...]) -> Type:
        types: list[Type] = []
        for binding in bindings:
            function = binding.function
            if function is None:
                return UNKNOWN
            last = {dotted(d).rpartition(".")[2] for d in function.decorators}
            method = self._method(value, cls, function)
            if last & _PROPERTIES:
                types.append(self.resolver.annotated_in(method, function.returns))
            elif last & {"setter", "deleter"}:
                continue
            else:
                types.append((method,))
        return either(types)

    def _method(self, value: Value, cls: Value, function: Function) -> Value:
        last = {dotted(d).rpartition(".")[2] for d in function.decorators}
        on_object = value.sort in (Sort.INSTANCE, Sort.SUPER)
        special = function.name in ("__new__", "__init_subclass__", "__class_getitem__")
        bound = "staticmethod" not in last and (on_object or "classmethod" in last) and not special
        name = f"{cls.name}.{function.name}"
        return Value(
            Sort.FUNCTION, cls.path, name, function.line, bound, function=function, owner=value
        )

    def _typed(self, value: Value, name: str) -> Type:
        """The type of a data attribute: for each class of the family what it declares, or
        else everything that it assigns; and what other code gives to any object."""
        types: list[Type] = []
        is_declared = False
        for cls in (*self.chain(value).classes, *self.descendants(value)):
            terms = list(_terms(cls, name))
            declared = [term for term in terms if term is not None and term[0] == "@"]
            is_declared |= bool(declared)
            env = ModuleEnv(self.resolver, cls.path, cls.as_instance())
            types += [self.resolver.evaluate(term, env) for term in declared or terms]
        for path, term in () if is_declared else self.resolver.table.given(name):
            types.append(self.resolver.evaluate(term, ModuleEnv(self.resolver, path)))
        return either(types)

    def _elsewhere(self, value: Value, name: str) -> bool:
        """True where the attribute may come from outside the chain."""
        chain = self.chain(value)
        if chain.open or any(name in (provided(e) or ()) for e in (*chain.externals, "object")):
            return True
        if name.startswith("__") and name.endswith("__"):
            return True
        if value.sort is Sort.CLASS and self._by_metaclass(value, name):
            return True
        if self.resolver.table.is_loose(name):
            return True
        if any(self._gives(child, name) for child in self.descendants(value)):
            return True
        return any(self.resolver.is_filled(cls) for cls in chain.classes)

    def _gives(self, child: Value, name: str) -> bool:
        chain = self.chain(child)
        return chain.open or any(
            name in c.record.members or name in c.record.attributes for c in chain.classes
        )


def _is_open(cls: Class) -> bool:
    return cls.open or any(hook in cls.members for hook in _HOOKS)


def _terms(cls: Value, name: str) -> Iterator[Term]:
    yield from cls.record.attributes.get(name, ())
    yield from (binding.value for binding in cls.record.members.get(name, ()))
