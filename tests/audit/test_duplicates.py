"""Duplicates: a second definition hides the first."""

from __future__ import annotations

import pytest

from tests.audit.builders import said

FAULTS = {
    "a function": (
        "def f():\n    return 1\n\n\ndef g():\n    return 2\n\n\ndef f():\n    return 1\n",
        "a.py:9 duplicate-definition f",
    ),
    "a method": (
        "class A:\n    def f(self):\n        return 1\n\n    def f(self):\n        return 1\n",
        "a.py:5 duplicate-definition A.f",
    ),
    "a class": ("class A:\n    pass\n\n\nclass A:\n    pass\n", "a.py:5 duplicate-definition A"),
    "a field": (
        "class A:\n    x: int = 1\n    y: int = 2\n    x: int = 1\n",
        "a.py:4 duplicate-definition A.x",
    ),
    "an import that a function shadows": (
        "from os import sep\n\n\ndef sep():\n    return 1\n",
        "a.py:4 duplicate-definition sep",
    ),
    "a key": ("T = {\n    'a': 1,\n    'b': 2,\n    'a': 3,\n}\n", "a.py:4 duplicate-key 'a'"),
    "a block": (
        (
            "def f(x):\n    if x:\n        x += 1\n        print(x)\n    if x:\n        x += 1\n"
            "        print(x)\n    return x\n"
        ),
        "a.py:5 repeated-block f: if x:",
    ),
    "a run of statements": (
        (
            "def f(x):\n    y = g(\n        x\n    )\n    g(y)\n    y = g(\n        x\n"
            "    )\n    g(y)\n"
            "    return y\n\n\ndef g(x):\n    return x\n"
        ),
        "a.py:6 repeated-block f: y = g(x)",
    ),
}

SOUND = {
    "branches": (
        "if len([]):\n    def f():\n        return 1\nelse:\n    def f():\n        return 2\n"
    ),
    "a fallback": (
        "try:\n    from fast import f\nexcept ImportError:\n    def f():\n        return 2\n"
    ),
    "overloads": (
        "from typing import overload\n\n\n@overload\ndef f(x: int) -> int: ...\n@overload\n"
        "def f(x: str) -> str: ...\ndef f(x):\n    return x\n"
    ),
    "a property and its setter": (
        "class A:\n    @property\n    def x(self):\n        return 1\n\n    @x.setter\n"
        "    def x(self, value):\n        pass\n"
    ),
    "dispatch": (
        "from functools import singledispatch\n\n\n@singledispatch\ndef f(x):\n    return x\n\n\n"
        "@f.register\ndef _(x: int):\n    return 1\n\n\n@f.register\ndef _(x: str):\n    return 2\n"
    ),
    "routes": (
        "def app(x):\n    return lambda f: f\n\n\n@app('/a')\ndef get():\n    return 1\n\n\n"
        "@app('/b')\ndef get():\n    return 2\n"
    ),
    "a definition that is used before it is replaced": (
        "def f():\n    return 1\n\n\ng = f\n\n\ndef f():\n    return g() + 1\n"
    ),
    "the same import again": "from os import sep\nfrom os import sep, path\n",
    "a declaration and its value": "class A:\n    x: int\n    x: int = 1\n",
    "short calls again": "def f(x):\n    x.step()\n    x.step()\n    return x\n",
    "two lines read by loops": (
        "def f(x):\n"
        + 2 * "    while True:\n        line = x.readline()\n        if line:\n            break\n"
        + "    return line\n"
    ),
    "computed keys": "a = 1\nT = {a: 1, a: 2}\n",
}


@pytest.mark.parametrize(("text", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(text: str, expected: str) -> None:
    assert said({}, {"a.py": text}) == [expected]


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND.keys())
def test_silence(text: str) -> None:
    assert said({}, {"a.py": text}, checks=frozenset({"duplicates"})) == []


def test_a_change_that_the_target_has_at_another_place() -> None:
    helper = "def expand(s):\n    return s.split(',')\n"
    tail = "def tail(a):\n    return a[-1]\n"
    base = {"ops.py": f"{helper}\n\n{tail}"}
    assert said(base, {"ops.py": f"{helper}\n\n{tail}\n\n{helper}"}) == [
        "ops.py:9 duplicate-definition expand"
    ]
