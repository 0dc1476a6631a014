"""Assignments that the class of the object refuses; Python itself is asked for each case."""

from __future__ import annotations

import runpy
from pathlib import Path
from textwrap import dedent

import pytest

from tests.audit.builders import said

BASE = {"pkg/__init__.py": "", "pkg/bases.py": ""}

KINDS = """
    from abc import ABC
    from dataclasses import dataclass, field
    from functools import cached_property
    from typing import Generic, TypeVar

    T = TypeVar("T")


    @dataclass(frozen=True)
    class Frozen:
        size: int = 1
        late: int = field(default=0, init=False)

        def __post_init__(self):
            object.__setattr__(self, "late", 2)

        @property
        def double(self):
            return self.size * 2


    @dataclass(frozen=True)
    class Below(Frozen):
        more: int = 1


    class Plain(Frozen):
        pass


    @dataclass(frozen=True)
    class Iced:
        size: int = 1


    class Melted(Iced):
        pass


    class Thawed(Frozen):
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)


    @dataclass
    class Loose:
        size: int = 1


    @dataclass(slots=True)
    class Narrow:
        size: int = 1


    class Bare:
        __slots__ = ("size", "_more")


    class Wide(Bare):
        __slots__ = ("width",)


    class Typed(ABC, Generic[T]):
        __slots__ = ["size"]


    class One:
        __slots__ = "size"


    class Opened:
        __slots__ = ("size", "__dict__")


    class Free(Bare):
        pass


    class Hooked:
        __slots__ = ("size",)

        def __setattr__(self, name, value):
            pass


    class Read:
        def __init__(self):
            self._size = 1

        @property
        def size(self):
            return self._size

        @property
        def both(self):
            return self._size

        @both.setter
        def both(self, value):
            self._size = value

        @cached_property
        def kept(self):
            return 1


    class Written(Read):
        @Read.size.setter
        def size(self, value):
            self._size = value


    class Computed:
        __slots__ = tuple("ab")


    class Meant:
        __slots__ = ("size",)
        kind = property(lambda self: 1, lambda self, value: None)
    """

FAULTS = {
    "a field of a frozen dataclass": ("Below().more = 2", "Below.more"),
    "one that is inherited": ("Below().size = 2", "Below.size"),
    "of no class below, any name": ("Below().other = 2", "Below.other"),
    "by an operator": ("Below().size += 2", "Below.size"),
    "one of several": ("Loose().size, Below().late = 2, 3", "Below.late"),
    "one of a plain class below": ("Plain().size = 2", "Plain.size"),
    "beside slots": ("Wide().height = 1", "Wide.height"),
    "of a dataclass with slots": ("Narrow().other = 1", "Narrow.other"),
    "one slot, as a text": ("One().other = 1", "One.other"),
    "slots under bases without a dict": ("Typed().other = 1", "Typed.other"),
}

SOUND = {
    "a field of another dataclass": "Loose().size = 2",
    "a slot": "Bare().size = 2",
    "a slot of a base": "Wide()._more = 2",
    "a slot of a dataclass": "Narrow().size = 2",
    "slots with a dict": "Opened().other = 2",
    "a class below without slots": "Free().other = 2",
    "a class that sets for itself": "Hooked().other = 2",
    "what a class below without slots takes": (
        "def put(bare: Bare):\n    bare.other = 2\nput(Free())"
    ),
    "what a plain class below a frozen one takes": "Plain().other = 2",
    "what a frozen one takes that classes extend": (
        "def put(iced: Iced):\n    iced.other = 2\nput(Melted())"
    ),
    "what a class below sets for itself": (
        "def put(frozen: Frozen):\n    frozen.size = 2\nput(Thawed())"
    ),
    "a property with a setter": "Read().both = 2",
    "a property that is kept": "Read().kept = 2",
    "a property that gets a setter below": "Written().size = 2",
    "slots that are computed": "Computed().a = 2",
    "a property made by a call": "Meant().kind = 2",
    "a failure that is expected": (
        "import dataclasses\ntry:\n    Frozen().size = 2\n"
        "except dataclasses.FrozenInstanceError:\n    pass"
    ),
}


def source(text: str) -> str:
    return f"{dedent(KINDS)}\n\n{text}\n"


def run(text: str, folder: Path) -> None:
    """What Python makes of it."""
    file = folder / "new.py"
    file.write_text(source(text))
    runpy.run_path(str(file))


def spoken(text: str) -> list[str]:
    return said(BASE, {"pkg/new.py": source(text)}, checks={"assigned"})


@pytest.mark.parametrize(("text", "symbol"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(text: str, symbol: str, tmp_path: Path) -> None:
    line = source(text).rstrip("\n").count("\n") + 1
    assert spoken(text) == [f"pkg/new.py:{line} refused-assignment {symbol}"]
    with pytest.raises(AttributeError):
        run(text, tmp_path)


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND.keys())
def test_silence(text: str, tmp_path: Path) -> None:
    assert spoken(text) == []
    run(text, tmp_path)


METHODS = """
    from dataclasses import dataclass


    {decorator}
    class Meta:
        size: int = 1
        {members}

        def grow(self):
            self.size = 2
            self.other = 3
    """


def methods(decorator: str = "@dataclass", members: str = "pass") -> dict[str, str]:
    return {"pkg/a.py": METHODS.format(decorator=decorator, members=members)}


def test_methods_of_a_class_that_the_stack_freezes() -> None:
    frozen = methods("@dataclass(frozen=True)")
    assert said(methods(), frozen, checks={"assigned"}) == [
        "pkg/a.py:11 refused-assignment Meta.size",
        "pkg/a.py:12 refused-assignment Meta.other",
    ]


def test_methods_of_a_class_that_gets_slots() -> None:
    slotted = methods("@dataclass(slots=True)")
    assert said(methods(), slotted, checks={"assigned"}) == [
        "pkg/a.py:12 refused-assignment Meta.other"
    ]


GETTER = "from pkg.a import Reader\n\n\ndef run(reader: Reader):\n    reader.size = 2\n"
FIELD = "class Reader:\n    size: int = 1\n"
ATTRIBUTE = "class Reader:\n    def __init__(self):\n        self.size = 1\n"
PROPERTY = "class Reader:\n    @property\n    def size(self):\n        return 1\n"
TORCH = f"import torch.nn as nn\n\n\n{PROPERTY.replace('Reader', 'Reader(nn.Module)')}"
BELOW = f"{PROPERTY}\n\nclass Below(Reader):\n    size = 1\n"


@pytest.mark.parametrize("data", [ATTRIBUTE, FIELD])
def test_data_that_becomes_a_property(data: str) -> None:
    base = {"pkg/a.py": data, "pkg/b.py": GETTER, "tests/test_b.py": GETTER}
    assert said(base, {"pkg/a.py": PROPERTY}, checks={"assigned"}) == [
        "pkg/b.py:5 refused-assignment Reader.size"
    ]
    assert said(base, {"pkg/a.py": TORCH}, checks={"assigned"}) == []
    assert said(base, {"pkg/a.py": BELOW}, checks={"assigned"}) == []


def test_what_the_target_refuses_itself_is_its_own() -> None:
    base = {"pkg/a.py": PROPERTY, "pkg/b.py": GETTER}
    assert said(base, {"pkg/b.py": f"{GETTER}\nX = 1\n"}, checks={"assigned"}) == []
