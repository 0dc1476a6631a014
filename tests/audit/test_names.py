"""Names: what nothing binds, or nothing binds in time."""

from __future__ import annotations

import pytest

from tests.audit.builders import said

BASE = {"pkg/__init__.py": "", "pkg/ops.py": "def concat(a):\n    return a\n"}

FAULTS = {
    "a name that a dropped hunk defined": (
        "def f(x):\n    return x * _COS_SIN\n",
        "pkg/new.py:2 undefined-name _COS_SIN",
    ),
    "a name in a comprehension": (
        "def f(xs):\n    return [scale(x) for x in xs]\n",
        "pkg/new.py:2 undefined-name scale",
    ),
    "a name in an annotation": (
        "def f(x: Chunk):\n    return x\n",
        "pkg/new.py:1 undefined-name Chunk",
    ),
    "a name in a quoted annotation": (
        "def f(x: 'list[Chunk]'):\n    return x\n",
        "pkg/new.py:1 undefined-name Chunk",
    ),
    "a name of a class body read in its method": (
        "class A:\n    size = 1\n\n    def f(self):\n        return size\n",
        "pkg/new.py:5 undefined-name size",
    ),
    "a decorator": ("@cached\ndef f():\n    pass\n", "pkg/new.py:1 undefined-name cached"),
    "a base class defined below": (
        "class A(B):\n    pass\n\n\nclass B:\n    pass\n",
        "pkg/new.py:1 used-before-definition B",
    ),
    "a local name that is assigned later": (
        "def f(x):\n    y = x + scale\n    scale = 2\n    return y * scale\n",
        "pkg/new.py:2 used-before-definition scale",
    ),
    "an import for type checkers that is called": (
        (
            "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n"
            "    from pkg.ops import concat\n\n\n"
            "def f(x):\n    return concat(x)\n"
        ),
        "pkg/new.py:8 typing-only-name concat",
    ),
    "an export that is not defined": ("__all__ = ['f']\n", "pkg/new.py:0 undefined-export f"),
    "a name that a star import does not bring": (
        "from pkg.ops import *\n\n\ndef f(x):\n    return gather(x)\n",
        "pkg/new.py:5 undefined-name gather",
    ),
}

SOUND = {
    "builtins and module attributes": "print(__name__, __file__, len([]))\n",
    "a global that a function sets": (
        "def f():\n    global cache\n    cache = 1\n\n\ndef g():\n    return cache\n"
    ),
    "a name that a star import brings": (
        "from pkg.ops import *\n\n\ndef f(x):\n    return concat(x)\n"
    ),
    "a star import of another project": (
        "from torch import *\n\n\ndef f(x):\n    return tensor(x)\n"
    ),
    "a class used below its method": "def f():\n    return A()\n\n\nclass A:\n    pass\n",
    "a walrus in a condition": "def f(x):\n    if (y := x) and y > 1:\n        return y\n",
    "a walrus in a comprehension": "def f(xs):\n    return [y for x in xs if (y := x)]\n",
    "a name bound in a loop before": (
        "def f(xs):\n    for i, x in enumerate(xs):\n        if i:\n            use(last)\n"
        "        last = x\n\n\ndef use(x):\n    pass\n"
    ),
    "a name that may be missing": "try:\n    unicode\nexcept NameError:\n    unicode = str\n",
    "an except clause, a match and a with": (
        "def f(x):\n    try:\n        pass\n    except ValueError as e:\n        print(e)\n"
        "    with open(x) as g:\n        print(g)\n    match x:\n        case [a, *b]:\n"
        "            return a, b\n        case {'k': c, **d}:\n            return c, d\n"
    ),
    "a typing import in an annotation": (
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n\n"
        "if TYPE_CHECKING:\n    from pkg.ops import concat\n\n\n"
        "def f(x: concat) -> 'concat':\n    y: concat = x\n    return y\n"
    ),
    "a typing import with a run-time twin": (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from a import B\nelse:\n"
        "    B = object\n\n\ndef f():\n    return B()\n"
    ),
    "literal strings are no annotations": (
        "from typing import Literal\n\n\ndef f(x: Literal['auto', 'none']):\n    return x\n"
    ),
    "nonlocal and closures": (
        "def f():\n    n = 0\n\n    def g():\n        nonlocal n\n        n += 1\n"
        "        return n\n\n"
        "    return g\n"
    ),
    "a class body that reads its own names": (
        "class A:\n    x = 1\n    y = [x for _ in range(3)]\n    z = x\n"
    ),
    "__class__ in a method": "class A:\n    def f(self):\n        return __class__\n",
    "a line that tells linters to look away": "def f():\n    return reveal(1)  # noqa: F821\n",
    "names made by globals()": "globals().update(a=1)\n\n\ndef f():\n    return a\n",
    "a dotted import": "import os.path\n\n\ndef f():\n    return os.path.sep\n",
}


@pytest.mark.parametrize(("text", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(text: str, expected: str) -> None:
    assert said(BASE, {"pkg/new.py": text}) == [expected]


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND.keys())
def test_silence(text: str) -> None:
    assert said(BASE, {"pkg/new.py": text}) == []
