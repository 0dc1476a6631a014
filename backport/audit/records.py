"""What the table keeps of one file: plain tuples, and names for their places.

A record holds what other files can see of this one and nothing else. It does not
know its own path (equal contents share a record), and every reference in it is
a term that resolution looks up later.
"""

from __future__ import annotations

from typing import NamedTuple

from backport.audit.terms import Term

# Where a binding stands: what may keep it from being there at run time.
TYPING = 1  # under `if TYPE_CHECKING`
FALLIBLE = 2  # in a `try` that expects the import or attribute to fail
CONDITIONAL = 4  # under any other condition

# How a parameter takes its argument.
POSITIONAL, EITHER, VARIADIC, KEYWORD, KEYWORDS = range(5)

# What a decorator hands back.
SAME = 1  # its first argument, unchanged
MAKES_SAME = 2  # a decorator that does so


class Parameter(NamedTuple):
    """One parameter; `default` is its source text in short, None where it is required."""

    name: str
    kind: int
    default: str | None
    annotation: Term


class Function(NamedTuple):
    """A function or method.

    `arity` is the length of the tuple that every `return` gives, 0 where they
    differ or are no tuples. `passes` says whether what it decorates stays as it
    is: see `SAME` and `MAKES_SAME`.
    """

    name: str
    line: int
    parameters: tuple[Parameter, ...]
    returns: Term
    decorators: tuple[Term, ...]
    asynchronous: bool
    arity: int
    passes: int


class Field(NamedTuple):
    """An annotated name of a class body, as a dataclass or a named tuple reads it."""

    name: str
    annotation: Term
    default: bool
    specifier: Term
    options: tuple[str, ...]


class Binding(NamedTuple):
    """One thing that binds a name: exactly one of the middle fields says what."""

    guard: int
    line: int
    function: Function | None = None
    cls: Class | None = None
    module: tuple[int, str, str | None] | None = None
    value: Term = None
    declared: bool = False


class Class(NamedTuple):
    """A class: what its body binds, and what its methods assign on `self`."""

    name: str
    line: int
    bases: tuple[Term, ...]
    keywords: tuple[tuple[str, Term], ...]
    decorators: tuple[tuple[Term, tuple[str, ...]], ...]
    members: dict[str, tuple[Binding, ...]]
    attributes: dict[str, tuple[Term, ...]]
    fields: tuple[Field, ...]
    open: bool


class Registration(NamedTuple):
    """A custom op that this file defines, implements or gives a fake.

    `role` is "define", "both" (definition with implementation and fake), "impl",
    "fake" or "library" (a library object bound to the name `op`). `library` is the
    namespace, `$name` for that of a library object, None where the call says neither.
    `mutates` are the parameters that the call says the op writes to.
    """

    role: str
    library: str | None
    op: str
    schema: str | None
    implementation: Term
    fake: Term
    guard: int
    line: int
    mutates: tuple[str, ...] = ()


class Record(NamedTuple):
    """One Python file.

    `loose` are attributes given to objects of other files, `dynamic` those asked for by
    name, `operators` the custom ops used, `filled` the objects that get attributes of
    computed names.
    """

    names: dict[str, tuple[Binding, ...]]
    stars: tuple[tuple[int, str], ...]
    exported: tuple[str, ...] | None
    served: tuple[str, ...] | None
    open: bool
    imports: tuple[tuple[int, str, tuple[str, ...]], ...]
    registrations: tuple[Registration, ...]
    loose: dict[str, tuple[Term, ...]]
    dynamic: tuple[str, ...]
    operators: tuple[tuple[str, str], ...]
    filled: tuple[str, ...]


UNREADABLE = Record({}, (), None, None, True, (), (), {}, (), (), ())
"""The record of a file that does not parse here: nothing is known, so nothing is said."""

NOTHING = Record({}, (), None, None, False, (), (), {}, (), (), ())
"""The record of an empty file."""
