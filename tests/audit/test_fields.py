"""Fields: an order of dataclass fields that Python refuses when the class is made."""

from __future__ import annotations

import pytest

from tests.audit.builders import said

BASE = {
    "pkg/__init__.py": "",
    "pkg/a.py": """
        from dataclasses import dataclass


        @dataclass
        class Base:
            size: int
            scale: float = 1.0
        """,
}
HEAD = """\
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, NamedTuple

from pkg.a import Base


"""
FAULTS = {
    "a field at the end": "@dataclass\nclass A:\n    x: int = 1\n    y: int\n",
    "field() without one": "@dataclass\nclass A:\n    x: int = 1\n    y: int = field(repr=True)\n",
    "behind a field() with a factory": (
        "@dataclass\nclass A:\n    x: list = field(default_factory=list)\n    y: int\n"
    ),
    "behind those of the base": "@dataclass\nclass A(Base):\n    y: int\n",
    "of a frozen one": "@dataclass(frozen=True)\nclass A:\n    x: int = 1\n    y: int\n",
    "of a named tuple": "class A(NamedTuple):\n    x: int = 1\n    y: int\n",
}
SOUND = {
    "in order": "@dataclass\nclass A:\n    y: int\n    x: int = 1\n",
    "for keywords only": "@dataclass(kw_only=True)\nclass A:\n    x: int = 1\n    y: int\n",
    "behind KW_ONLY": "@dataclass\nclass A:\n    x: int = 1\n    _: KW_ONLY\n    y: int\n",
    "a keyword field": "@dataclass\nclass A:\n    x: int = 1\n    y: int = field(kw_only=True)\n",
    "no parameter": "@dataclass\nclass A:\n    x: int = 1\n    y: int = field(init=False)\n",
    "a class variable": "@dataclass\nclass A:\n    x: int = 1\n    y: ClassVar[int]\n",
    "a class variable in quotes": "@dataclass\nclass A:\n    x: int = 1\n    y: 'ClassVar[int]'\n",
    "a default that is assigned later": (
        "@dataclass\nclass A:\n    x: int = 1\n    y: int\n    y = 3\n"
    ),
    "field() with options from a dict": (
        "kw = {'default': 1}\n@dataclass\nclass A:\n    x: int = 1\n    y: int = field(**kw)\n"
    ),
    "a decorator with options from a dict": (
        "@dataclass(**{'kw_only': True})\nclass A:\n    x: int = 1\n    y: int\n"
    ),
    "an option from a variable": (
        "K = True\n@dataclass(kw_only=K)\nclass A:\n    x: int = 1\n    y: int\n"
    ),
    "behind KW_ONLY of another name": (
        "from dataclasses import KW_ONLY as K\n"
        "@dataclass\nclass A:\n    x: int = 1\n    _: K\n    y: int\n"
    ),
    "a default for the base's field": (
        "@dataclass\nclass A(Base):\n    size: int = 2\n    y: int = 3\n"
    ),
    "no dataclass": "class A:\n    x: int = 1\n    y: int\n",
    "an unknown base": "@dataclass\nclass A(Unknown):\n    x: int = 1\n    y: int\n",
}


@pytest.mark.parametrize("text", FAULTS.values(), ids=FAULTS)
def test_fault(text: str) -> None:
    assert [s.split()[1:] for s in said(BASE, {"pkg/b.py": HEAD + text})] == [
        ["field-order", "A.y"]
    ]


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_silence(text: str) -> None:
    found = said(BASE, {"pkg/b.py": HEAD + text}, checks=frozenset({"fields"}))
    assert found == []


def run(text: str) -> None:
    base = "from dataclasses import KW_ONLY, dataclass, field\n"
    base += "from typing import ClassVar, NamedTuple\n"
    base += "@dataclass\nclass Base:\n    size: int\n    scale: float = 1.0\n"
    code = compile(base + text, "m", "exec", dont_inherit=True)
    exec(code, {"__name__": "typing"})  # noqa: S102  (where `ClassVar` in quotes is looked up)


@pytest.mark.parametrize("text", FAULTS.values(), ids=FAULTS)
def test_python_refuses_it(text: str) -> None:
    with pytest.raises(TypeError, match="default"):
        run(text)


@pytest.mark.parametrize("text", [t for t in SOUND.values() if "Unknown" not in t])
def test_python_takes_it(text: str) -> None:
    run(text)


def test_a_base_that_gets_a_default_breaks_the_classes_below_it() -> None:
    base = BASE | {"pkg/b.py": HEAD + "@dataclass\nclass A(Base):\n    scale: float\n    y: int\n"}
    base["pkg/a.py"] = base["pkg/a.py"].replace("scale: float = 1.0", "scale: float")
    change = {
        "pkg/a.py": base["pkg/a.py"]
        .replace("size: int", "size: int = 1")
        .replace("scale: float", "scale: float = 2")
    }
    assert said(base, change) == ["pkg/b.py:8 field-order A.scale"]
