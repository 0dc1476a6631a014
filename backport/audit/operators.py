"""The custom ops of a tree: who defines each one, with what signature, and who fakes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from backport.audit.paths import is_test
from backport.audit.records import Function, Parameter, Registration
from backport.audit.resolve import ModuleEnv, Resolver
from backport.audit.schemas import parameters as schema_parameters
from backport.audit.terms import Term, dotted
from backport.audit.values import Sort, Value, present

Parameters = tuple[Parameter, ...]

_SURE = 3
_DEFINING = ("define", "both")


@dataclass(frozen=True, slots=True)
class Operator:
    """One definition of a custom op; `parameters` is None where its signature is not known,
    `value` where no function in Python is."""

    path: str
    registration: Registration
    parameters: Parameters | None
    value: Value | None = None

    @property
    def function(self) -> Function | None:
        return self.value.function if self.value is not None else None


@dataclass(frozen=True)
class Operators:
    """The ops that a tree registers."""

    resolver: Resolver

    def find(self, library: str, op: str) -> list[Operator]:
        """The definitions that `torch.ops.<library>.<op>` may mean."""
        return [
            Operator(path, registration, self._parameters(path, registration))
            for path, registration in self._by_name.get(op, ())
            if registration.role in _DEFINING and self._may_mean(path, registration, library)
        ]

    def owns(self, library: str) -> bool:
        """True where the tree defines the ops of this library: one that it lacks is missing.

        The library of C++ bindings is often named by the build alone; it is the tree's where
        most of the ops that the tree uses of it are among those that the tree binds.
        """
        return library in self._libraries or library in self._built

    def is_completed_elsewhere(self, library: str) -> bool:
        """True where a tree uses several ops of a library that it does not define: another
        project adds to the library, so that one more is no sign of a fault."""
        used = {op for ops in self.resolver.table.index.operators.values() for lib, op in ops
                if lib == library}  # fmt: skip
        return sum(not self.find(library, op) for op in used) >= _SURE

    def users(self, library: str, op: str) -> Iterator[str]:
        """The files that use an op."""
        for path, used in self.resolver.table.index.operators.items():
            if (library, op) in used:
                yield path

    def fakes(self) -> Iterator[tuple[Operator, Operator]]:
        """Each definition whose signature is known, with each fake of it."""
        for registrations in self._by_name.values():
            for path, registration in registrations:
                if is_test(path):
                    continue
                parameters = self._parameters(path, registration)
                if registration.role not in _DEFINING or parameters is None:
                    continue
                made = self.implementation(path, registration)
                real = Operator(path, registration, parameters, made)
                for place, fake in self._fakes_of(path, registration):
                    found = self._function(place, fake.fake)
                    if found is not None:
                        yield real, Operator(place, fake, _taken(found), found)

    def definitions(self) -> Iterator[tuple[str, Registration]]:
        """Every definition of an op in Python, with its file."""
        for registrations in self._by_name.values():
            yield from (
                (path, r) for path, r in registrations
                if r.role in _DEFINING and path.endswith(".py")
            )  # fmt: skip

    def implementation(self, path: str, registration: Registration) -> Value | None:
        """The function that a registration names as what the op does."""
        return self._function(path, registration.implementation)

    def _fakes_of(self, path: str, real: Registration) -> Iterator[tuple[str, Registration]]:
        if real.fake is not None:
            yield path, real
            return  # one of another library may have the same name
        for place, other in self._by_name.get(real.op, ()):
            libraries = {self._library(place, other), self._library(path, real)}
            if other.role == "fake" and other.op == real.op and len(libraries - {None}) < 2:
                yield place, other
        name = dotted(real.implementation)
        for place, other in self._by_name.get(name, ()) if name != real.op else ():
            if other.role == "fake" and other.library is None and place == path:
                yield place, other

    def _parameters(self, path: str, registration: Registration) -> Parameters | None:
        if registration.schema is not None:
            return schema_parameters(registration.schema)
        found = self.implementation(path, registration)
        return None if found is None else _taken(found)

    def _function(self, path: str, term: Term) -> Value | None:
        """The one function that a term of a file names."""
        found = present(self.resolver.evaluate(term, ModuleEnv(self.resolver, path)))
        if len(found) != 1 or found[0].sort is not Sort.FUNCTION or found[0].function is None:
            return None
        return found[0]

    @cached_property
    def _by_name(self) -> dict[str, list[tuple[str, Registration]]]:
        found: dict[str, list[tuple[str, Registration]]] = {}
        for path, registration in self.resolver.table.registrations():
            base = registration.op.partition(".")[0]
            found.setdefault(base, []).append((path, registration))
        return found

    def _may_mean(self, path: str, registration: Registration, library: str) -> bool:
        named = self._library(path, registration)
        if named is None and not path.endswith(".py"):
            return library in self._built or library in self._bound
        return named in (None, library)

    def _library(self, path: str, registration: Registration) -> str | None:
        """The library of a registration; None where nobody says."""
        name = registration.library
        if name is None or not name.startswith("$"):
            return name
        objects = self.resolver.table.index.registrations.get(path, ())
        named = (r.library for r in objects if r.role == "library" and r.op == name[1:])
        return next(named, None)

    @cached_property
    def _libraries(self) -> frozenset[str]:
        owned = ("library", *_DEFINING)
        return frozenset(
            r.library
            for found in self._by_name.values()
            for path, r in found
            if r.library and not r.library.startswith("$") and r.role in owned and not is_test(path)
        )

    @cached_property
    def _built(self) -> frozenset[str]:
        """The libraries that bindings without a namespace of their own seem to go to."""
        unnamed = {op for op, found in self._by_name.items() if any(_is_unnamed(*f) for f in found)}
        used: dict[str, set[str]] = {}
        for operators in self.resolver.table.index.operators.values():
            for library, op in operators:
                used.setdefault(library, set()).add(op)
        return frozenset(
            library
            for library, ops in used.items()
            if library not in self._libraries and len(ops & unnamed) > max(_SURE, len(ops) / 2)
        )

    @cached_property
    def _bound(self) -> frozenset[str]:
        """The libraries that C++ bindings name."""
        return frozenset(
            r.library
            for found in self._by_name.values()
            for path, r in found
            if r.library and not path.endswith(".py")
        )


def _taken(value: Value) -> Parameters:
    function = value.function
    return function.parameters[1 if value.bound else 0 :] if function is not None else ()


def _is_unnamed(path: str, registration: Registration) -> bool:
    return registration.library is None and not path.endswith(".py")
