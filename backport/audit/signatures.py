"""What a resolved value takes when it is called; None wherever that is not sure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from backport.audit.binding import unbound
from backport.audit.externals import MODULES, TRANSPARENT
from backport.audit.records import (
    EITHER,
    KEYWORD,
    KEYWORDS,
    MAKES_SAME,
    SAME,
    VARIADIC,
    Class,
    Field,
    Function,
    Parameter,
)
from backport.audit.resolve import ModuleEnv, Resolver, without_overloads
from backport.audit.terms import Term, dotted
from backport.audit.values import Sort, Value

Parameters = tuple[Parameter, ...]

_DATACLASSES = frozenset({"dataclasses.dataclass", "pydantic.dataclasses.dataclass"})
_PASSING = frozenset(
    {"staticmethod", "classmethod", "abstractmethod", "override", "final", "cached", "overload"}
)
_KERNELS = frozenset({"triton.jit"})
_TUNERS = frozenset({"triton.autotune", "triton.heuristics"})
_ANYTHING = [VARIADIC, KEYWORDS]
_PLAIN_BASES = frozenset({"builtins.object", "abc.ABC", "typing.Generic"})


@dataclass(frozen=True, slots=True)
class Signatures:
    """Signatures of values over one resolver."""

    resolver: Resolver

    def of(self, value: Value) -> Parameters | None:
        """The parameters that a call of the value must fit."""
        if value.sort is Sort.FUNCTION:
            return self._function(value)
        if value.sort is Sort.CLASS:
            return self.constructor(value)
        if value.sort is Sort.INSTANCE:
            return self._called(value)
        return None

    def kernel(self, value: Value) -> Parameters | None:
        """The parameters of a kernel that is launched as `kernel[grid](...)`."""
        if value.function is None:
            return None
        names = {dotted(d) for d in value.function.decorators}
        return value.function.parameters if names <= _KERNELS and names else None

    def constructor(self, value: Value) -> Parameters | None:
        """The parameters of the constructor of a class."""
        chain = self.resolver.classes.chain(value)
        if not all(self._keeps_constructor(cls) for cls in chain.classes):
            return None
        for place, cls in enumerate(chain.order):
            if cls.cls is None:
                if cls.name not in _PLAIN_BASES:
                    return self._external(chain.order[place - 1], cls.name)
                continue
            if cls is not chain.order[0] and chain.open:
                return None
            if "__new__" in cls.cls.members and not _takes_anything(cls.cls, "__new__"):
                return None
            if "__init__" in cls.cls.members:
                return self._initializer(cls)
            if self.is_dataclass(cls):
                return self.fields(value)
        made = any("__new__" in cls.cls.members for cls in chain.order if cls.cls is not None)
        return None if chain.open or made else ()  # object's own ignores what a `__new__` takes

    def _external(self, value: Value, base: str) -> Parameters | None:
        """What the constructor of a known base of another project takes."""
        if base == "typing.NamedTuple" and value.cls is not None:
            return tuple(self._field_parameters(value))
        return () if base in MODULES else None

    def initializer(self, value: Value) -> Parameters | None:
        """The parameters of `super().__init__`, given what `super()` is."""
        chain = self.resolver.classes.chain(value)
        for cls in chain.order[1:]:
            if cls.cls is None:
                if cls.name not in _PLAIN_BASES:
                    return () if cls.name in MODULES else None
            elif "__init__" in cls.cls.members:
                return self._initializer(cls)
            elif self.is_dataclass(cls):
                return None
        return None

    def is_dataclass(self, value: Value) -> bool:
        """True where a decorator makes the constructor from the fields."""
        env = ModuleEnv(self.resolver, value.path)
        for term, options in value.record.decorators:
            if "init=False" in options:
                continue
            for found in self.resolver.evaluate(term, env):
                if found.name in _DATACLASSES or _transforms(found.function):
                    return True
        return False

    def _function(self, value: Value) -> Parameters | None:
        function = value.function
        if function is None or not self._transparent(function.decorators, value.path):
            return None
        return unbound(function.parameters, value.bound)

    def _initializer(self, cls: Value) -> Parameters | None:
        bindings = without_overloads(cls.record.members["__init__"])
        if len(bindings) != 1 or bindings[0].function is None:
            return None
        function = bindings[0].function
        if not self._transparent(function.decorators, cls.path):
            return None
        return unbound(function.parameters, bound=True)

    def _called(self, value: Value) -> Parameters | None:
        """The parameters of an object that is called: its `__call__`, or a module's `forward`."""
        classes = self.resolver.classes
        chain = classes.chain(value)
        name = "__call__"
        if any(e in MODULES for e in chain.externals) and not _defines(chain.classes, name):
            name = "forward"
        method = classes.method(value, name)
        return self._function(method) if method is not None else None

    def _keeps_constructor(self, value: Value) -> bool:
        """True where no metaclass and no decorator can change how the class is made."""
        env = ModuleEnv(self.resolver, value.path)
        for keyword, term in value.record.keywords:
            names = [v.name for v in self.resolver.evaluate(term, env)]
            if keyword == "metaclass" and names != ["abc.ABCMeta"]:
                return False
        if self.is_dataclass(value):
            return len(value.record.decorators) == 1
        return self._transparent(tuple(t for t, _ in value.record.decorators), value.path)

    def _transparent(self, decorators: tuple[Term, ...], path: str) -> bool:
        """True where what is decorated takes what it took before."""
        env = ModuleEnv(self.resolver, path)
        return all(self._passes(term, env) for term in decorators)

    def _passes(self, term: Term, env: ModuleEnv) -> bool:
        name = dotted(term)
        if name in _KERNELS or name in _PASSING:
            return True
        found = self.resolver.evaluate(term, env)
        return bool(found) and all(
            value.name in TRANSPARENT
            if value.sort is Sort.EXTERNAL
            else value.function is not None and bool(value.function.passes & (SAME | MAKES_SAME))
            for value in found
        )

    def fields(self, value: Value) -> Parameters | None:
        """The parameters that a dataclass or named tuple takes, those of its bases first;
        None where the options of one are not written out."""
        if "typing.NamedTuple" in self.resolver.classes.chain(value).externals:
            return tuple(self._field_parameters(value))
        found: dict[str, Parameter] = {}
        for cls in reversed(self.resolver.classes.chain(value).classes):
            if self.is_dataclass(cls):
                if _is_computed(cls.record):
                    return None
                for parameter in self._field_parameters(cls):
                    found[parameter.name] = parameter
                for field in cls.record.fields:
                    if self._is_excluded(cls, field):
                        found.pop(field.name, None)
        return tuple(found.values())

    def _field_parameters(self, value: Value) -> Iterator[Parameter]:
        cls = value.record
        keyword_only = any("kw_only=True" in options for _, options in cls.decorators)
        for field in cls.fields:
            if self._marker(value, field) == "KW_ONLY":
                keyword_only = True
            elif not self._is_excluded(value, field):
                only = keyword_only or "kw_only=True" in field.options
                only = only and "kw_only=False" not in field.options
                default = "..." if _has_default(cls, field) else None
                yield Parameter(field.name, KEYWORD if only else EITHER, default, None)

    def _is_excluded(self, value: Value, field: Field) -> bool:
        if "init=False" in field.options:
            return True
        return self._marker(value, field) in ("ClassVar", "KW_ONLY")

    def _marker(self, value: Value, field: Field) -> str:
        """The last name of what a field is annotated with, under whatever name it is imported."""
        env = ModuleEnv(self.resolver, value.path)
        found = self.resolver.evaluate(field.annotation, env)
        external = [v.name for v in found if v.sort is Sort.EXTERNAL]
        return (external[0] if external else dotted(field.annotation)).rpartition(".")[2]


def _is_computed(cls: Class) -> bool:
    """True where an option that decides about parameters is not a literal, or in a dict."""
    options = (*(given for _, given in cls.decorators), *(field.options for field in cls.fields))
    return any({"None=", "kw_only=", "init="} & set(given) for given in options)


def _has_default(cls: Class, field: Field) -> bool:
    """A value is a default, also one assigned later, unless it is a `field(...)` without one."""
    if not field.default:
        return any(not binding.declared for binding in cls.members.get(field.name, ()))
    if dotted(field.specifier).rpartition(".")[2].lower() != "field":
        return True
    given = {option.partition("=")[0] for option in field.options}
    return bool(given & {"default", "default_factory", "factory", "init", ""})


def _transforms(function: Function | None) -> bool:
    decorators = function.decorators if function is not None else ()
    return any(dotted(d).rpartition(".")[2] == "dataclass_transform" for d in decorators)


def _takes_anything(cls: Class, name: str) -> bool:
    """True for `(cls, *args, **kwargs)`, which leaves the arguments to `__init__`."""
    functions = (binding.function for binding in cls.members[name])
    return all(f is not None and [p.kind for p in f.parameters[1:]] == _ANYTHING for f in functions)


def _defines(classes: tuple[Value, ...], name: str) -> bool:
    return any(cls.cls is not None and name in cls.cls.members for cls in classes)
