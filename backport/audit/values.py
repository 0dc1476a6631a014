"""What an expression may be: a few kinds of value, and sets of them.

A `Type` is every value that an expression can have, or empty: unknown. Checks speak
only where all alternatives are known and all of them are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias

from backport.audit.records import Class, Function


class Sort(Enum):
    """The kinds of value that resolution tells apart."""

    MODULE = auto()  # path is the file, or the folder with its final slash
    CLASS = auto()
    INSTANCE = auto()
    FUNCTION = auto()
    SUPER = auto()  # super() in a method of the class
    CONTAINER = auto()  # something whose elements are known
    OPERATORS = auto()  # a namespace of custom ops below torch.ops
    EXTERNAL = auto()  # something of another project, by its dotted name
    NONE = auto()


@dataclass(frozen=True, slots=True)
class Value:
    """One thing that an expression may be.

    `path` is the file that defines it, `name` its qualified or dotted name there. A
    method knows its `owner`, and is `bound` when its first argument is given already.
    """

    sort: Sort
    path: str = ""
    name: str = ""
    line: int = 0
    bound: bool = False
    cls: Class | None = field(default=None, compare=False)
    function: Function | None = field(default=None, compare=False)
    owner: Value | None = field(default=None, compare=False)
    items: Type = field(default=())

    @property
    def record(self) -> Class:
        """The record of a class, or of the class of an instance."""
        if self.cls is None:
            raise TypeError(f"{self.name} is no class")
        return self.cls

    def as_instance(self) -> Value:
        return Value(Sort.INSTANCE, self.path, self.name, self.line, cls=self.cls)

    def as_class(self) -> Value:
        return Value(Sort.CLASS, self.path, self.name, self.line, cls=self.cls)


Type: TypeAlias = "tuple[Value, ...]"

UNKNOWN: Type = ()
NONE = Value(Sort.NONE)


def external(name: str) -> Value:
    """Something of another project."""
    return Value(Sort.EXTERNAL, name=name)


def either(types: list[Type]) -> Type:
    """The union of these types; unknown as soon as one of them is."""
    if not all(types):
        return UNKNOWN
    return tuple(dict.fromkeys(value for values in types for value in values))


def present(values: Type) -> Type:
    """The alternatives that are not None: reading anything of None fails for its own reasons."""
    return tuple(value for value in values if value.sort is not Sort.NONE)
