"""Records as bytes and back: exact tuples, strings and numbers, by `marshal`.

`marshal` holds no code and runs none when it reads, and it is several times
faster than JSON. What it reads must be intact, so the cache checks a digest first.
"""

from __future__ import annotations

import marshal
from typing import Any

from backport.audit.records import (
    Binding,
    Class,
    Field,
    Function,
    Parameter,
    Record,
    Registration,
)

Bindings = dict[str, tuple[Binding, ...]]
Plain = Any


def encode(record: Record) -> bytes:
    """The bytes of a record."""
    plain = record._replace(
        names=_plain_bindings(record.names),
        registrations=tuple(map(tuple, record.registrations)),  # type: ignore[arg-type]
    )
    values: Plain = tuple[Plain, ...](plain)
    return marshal.dumps(values)


def decode(data: bytes) -> Record:
    """The record of `encode`'s bytes."""
    record = Record._make(marshal.loads(data))  # noqa: S302
    return record._replace(
        names=_bindings(record.names),
        registrations=tuple(map(Registration._make, record.registrations)),
    )


def _plain_bindings(bindings: Bindings) -> Plain:
    return {name: tuple(map(_plain_binding, found)) for name, found in bindings.items()}


def _plain_binding(binding: Binding) -> Plain:
    if binding.function is not None:
        return tuple(binding._replace(function=_plain_function(binding.function)))
    if binding.cls is not None:
        return tuple(binding._replace(cls=_plain_class(binding.cls)))
    return tuple(binding)


def _plain_function(function: Function) -> Plain:
    parameters: Plain = tuple(map(tuple, function.parameters))
    return tuple(function._replace(parameters=parameters))


def _plain_class(cls: Class) -> Plain:
    fields: Plain = tuple(map(tuple, cls.fields))
    return tuple(cls._replace(members=_plain_bindings(cls.members), fields=fields))


def _bindings(plain: Plain) -> Bindings:
    return {name: tuple(map(_binding, found)) for name, found in plain.items()}


def _binding(plain: Plain) -> Binding:
    binding = Binding._make(plain)
    if binding.function is not None:
        return binding._replace(function=_function(binding.function))
    if binding.cls is not None:
        return binding._replace(cls=_class(binding.cls))
    return binding


def _function(plain: Plain) -> Function:
    function = Function._make(plain)
    return function._replace(parameters=tuple(map(Parameter._make, function.parameters)))


def _class(plain: Plain) -> Class:
    cls = Class._make(plain)
    return cls._replace(members=_bindings(cls.members), fields=tuple(map(Field._make, cls.fields)))
