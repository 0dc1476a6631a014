"""Attributes: reads of what no class of the chain gives."""

from __future__ import annotations

import pytest

from tests.audit.builders import said

BASE = {
    "pkg/__init__.py": "",
    "pkg/base.py": """
        import torch.nn as nn


        class Layer(nn.Module):
            kind = "layer"

            def __init__(self, size: int):
                super().__init__()
                self.size = size
                self.register_buffer("scales", None)

            def forward(self, x):
                return x

            @property
            def twice(self) -> int:
                return 2 * self.size


        class Attention(Layer):
            def __init__(self):
                super().__init__(1)
                self.rank = 2
        """,
    "pkg/config.py": """
        from dataclasses import dataclass, field
        from enum import Enum


        @dataclass
        class Config:
            size: int = 1
            names: list[str] = field(default_factory=list)


        class Mode(Enum):
            FAST = 1
            SLOW = 2
        """,
    "pkg/open.py": """
        from elsewhere import Unknown


        class Far(Unknown):
            pass


        class Hook:
            def __getattr__(self, name):
                return 1


        class Bag:
            def __init__(self, **kwargs):
                for name, value in kwargs.items():
                    setattr(self, name, value)
        """,
}

HEAD = """\
from pkg.base import Attention, Layer
from pkg.config import Config, Mode
from pkg.open import Bag, Far, Hook


class Mine(Layer):
    def __init__(self, config: Config):
        super().__init__(1)
        self.child = Attention()
        self.config = config
        self.layers = [Layer(1)]

    def own(self):
        return 1

"""
FIRST = HEAD.count("\n") + 1

FAULTS = {
    "on self, never assigned": (
        "    def f(self):\n        return self._fused_possible\n",
        f"{FIRST + 1} unknown-attribute Mine._fused_possible",
    ),
    "a method on self": (
        "    def f(self):\n        return self.owns()\n",
        f"{FIRST + 1} unknown-attribute Mine.owns",
    ),
    "on a child": (
        "    def f(self):\n        return self.child.hisparse_cache\n",
        f"{FIRST + 1} unknown-attribute Attention.hisparse_cache",
    ),
    "on a child through a local name": (
        "    def f(self):\n        attn = self.child\n        return attn.hisparse_cache\n",
        f"{FIRST + 2} unknown-attribute Attention.hisparse_cache",
    ),
    "on an annotated parameter": (
        "    def f(self, c: Config | None):\n        return c.rope\n",
        f"{FIRST + 1} unknown-attribute Config.rope",
    ),
    "on a parameter that was stored": (
        "    def f(self):\n        return self.config.rope\n",
        f"{FIRST + 1} unknown-attribute Config.rope",
    ),
    "on an element of a list": (
        "    def f(self, cs: list[Config]):\n        return [c.rope for c in cs]\n",
        f"{FIRST + 1} unknown-attribute Config.rope",
    ),
    "on an enum": (
        "    def f(self):\n        return Mode.FASTER\n",
        f"{FIRST + 1} unknown-attribute Mode.FASTER",
    ),
    "on a class": (
        "    def f(self):\n        return Config.from_file()\n",
        f"{FIRST + 1} unknown-attribute Config.from_file",
    ),
    "through super()": (
        "    def f(self):\n        return super().prepare()\n",
        f"{FIRST + 1} unknown-attribute Mine.prepare",
    ),
    "on a constructed object": (
        "    def f(self):\n        return Config().rope\n",
        f"{FIRST + 1} unknown-attribute Config.rope",
    ),
}

SOUND = {
    "of the class, its bases and torch": (
        "    def f(self):\n        return self.own(), self.size, self.kind, self.twice, "
        "self.training, self.state_dict()\n"
    ),
    "registered by name": "    def f(self):\n        return self.scales\n",
    "of a child, its bases and torch": (
        "    def f(self):\n        return self.child.rank, self.child.size, self.child.eval()\n"
    ),
    "of a dataclass and an enum": (
        "    def f(self):\n        return self.config.names, Mode.FAST.value, Mode['FAST'].name\n"
    ),
    "where the chain leaves the tree": "    def f(self, x: Far):\n        return x.anything\n",
    "where a hook answers": "    def f(self, x: Hook):\n        return x.anything\n",
    "where names are computed": "    def f(self, x: Bag):\n        return x.anything\n",
    "guarded by hasattr": (
        "    def f(self):\n        if hasattr(self, 'maybe'):\n            return self.maybe\n"
    ),
    "asked for by getattr elsewhere": (
        "    def f(self):\n        x = getattr(self.child, 'later', None)\n"
        "        return x and self.child.later\n"
    ),
    "after isinstance": (
        "    def f(self, x: Layer):\n        if isinstance(x, Attention):\n"
        "            return x.rope\n"
    ),
    "of a subclass that a mixin is made for": (
        "    def f(self):\n        return self.given\n\n\nclass Child(Mine):\n    given = 1\n"
    ),
    "given from outside": (
        "    def f(self):\n        return self.child.tag\n\n\ndef tag(layer):\n    layer.tag = 1\n"
    ),
    "expected to be missing": (
        "    def f(self):\n        try:\n            return self.gone\n"
        "        except AttributeError:\n            return None\n"
    ),
    "on a line that tells type checkers to look away": (
        "    def f(self):\n        return self.child.gone  # type: ignore[attr-defined]\n"
    ),
    "of a name that is two things": (
        "    def f(self, flag):\n        x = Config() if flag else unknown()\n"
        "        return x.rope\n\n\ndef unknown():\n    return object()\n"
    ),
    "set by a nested function": (
        "    def f(self):\n        def g():\n            self.late = 1\n\n        g()\n"
        "        return self.late\n"
    ),
}


@pytest.mark.parametrize(("text", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(text: str, expected: str) -> None:
    assert said(BASE, {"pkg/new.py": HEAD + text}) == [f"pkg/new.py:{expected}"]


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND.keys())
def test_silence(text: str) -> None:
    assert said(BASE, {"pkg/new.py": HEAD + text}) == []


def test_a_rename_leaves_users_behind_in_and_out_of_the_file() -> None:
    layer = """
        class L:
            def __init__(self):
                self.{0} = 2

            def forward(self, x):
                return x * self.{0}

            def old_forward(self, x):
                return x + self.scale
        """
    base = {
        "layer.py": layer.format("scale"),
        "dump.py": "from layer import L\n\n\ndef dump(l: L):\n    return l.scale\n",
    }
    assert said(base, {"layer.py": layer.format("_scale")}) == [
        "dump.py:5 unknown-attribute L.scale",
        "layer.py:10 unknown-attribute L.scale",
    ]


EXTENDING = {
    "a class in a function": (
        "def make(base):\n    class T({}, base):\n        val = 1\n\n    return T\n",
        True,
    ),
    "type()": ("T = type('T', ({}, list), {{'val': 1}})\n", True),
    "computed bases": ("class T(*({}, list)):\n    val = 1\n", True),
    "a list of bases": ("bases = ({},)\n\n\nclass T(*bases):\n    val = 1\n", True),
    "a class that the table knows": ("class T({}):\n    pass\n", False),
    "an argument of a generic": ("class T(list[{}]):\n    pass\n", False),
    "a class inside of it": ("class T({}.Inner):\n    pass\n", False),
}


@pytest.mark.parametrize(("text", "silent"), EXTENDING.values(), ids=EXTENDING.keys())
def test_what_extends_a_class_out_of_sight(text: str, *, silent: bool) -> None:
    own = (
        "class Own:\n    class Inner:\n        pass\n\n    def f(self):\n        return self.val\n"
    )
    found = said({}, {"a.py": f"{own}\n\n{text.format('Own')}"}, checks={"attributes"})
    assert found == ([] if silent else ["a.py:6 unknown-attribute Own.val"])


def test_a_mixin_that_nobody_mixes() -> None:
    own = "class {}:\n    def f(self):\n        return self.val\n"
    assert said({}, {"a.py": own.format("TestMixin")}) == []
    assert said({}, {"a.py": own.format("Mixer")}) == ["a.py:3 unknown-attribute Mixer.val"]


def test_a_dropped_assignment_is_missed_although_others_assign_that_name() -> None:
    base = {
        "a.py": "class A:\n    def __init__(self):\n        self.w = 1\n        self.b = 2\n\n"
        "    def f(self):\n        return self.w + self.b\n",
        "b.py": "def tag(layer):\n    layer.w = 1\n",
    }
    change = {"a.py": base["a.py"].replace("        self.w = 1\n", "")}
    assert said(base, change) == ["a.py:6 unknown-attribute A.w"]


def test_the_amd_copy_of_a_class_is_another_class() -> None:
    text = "class Attn:\n    def __init__(self):\n        self.{} = 1\n"
    base = {
        "nv/__init__.py": "",
        "nv/attn.py": text.format("plan"),
        "amd/__init__.py": "",
        "amd/attn.py": text.format("page"),
    }
    use = "from {}.attn import Attn\n\n\ndef f(a: Attn):\n    return a.page\n"
    assert said(base, {"amd/use.py": use.format("amd")}) == []
    assert said(base, {"nv/use.py": use.format("nv")}) == [
        "nv/use.py:5 unknown-attribute Attn.page"
    ]


def test_attributes_that_a_loop_puts_one_after_the_other() -> None:
    text = """
        from tools import replace_parameter

        class L:
            def load(self, a, b):
                for name, value in (("w_k", a), ("w_v", b)):
                    {}(self, name, value)

            def forward(self, x):
                return x * self.w_k * self.w_v
        """
    assert said({}, {"layer.py": text.format("replace_parameter")}) == []
    assert said({}, {"layer.py": text.format("getattr")}) == [
        "layer.py:10 unknown-attribute L.w_k",
        "layer.py:10 unknown-attribute L.w_v",
    ]


def test_a_class_that_only_joins_a_base_and_a_protocol_may_be_any_class() -> None:
    base = {
        "face.py": "from typing import Protocol\n\n\nclass Face(Protocol):\n    flag = True\n",
        "base.py": "class Base:\n    size = 1\n",
    }
    text = (
        "from base import Base\nfrom face import Face\n\n\n"
        "class Both(Base, Face):\n    {}\n\n\ndef f(b: Both):\n    return b.other\n"
    )
    assert said(base, {"use.py": text.format("...")}) == []
    assert said(
        {**base, "face.py": "class Face:\n    flag = True\n"}, {"use.py": text.format("...")}
    )


FAR = {"pkg/a.py": "from elsewhere import Unknown\n\n\nclass A(Unknown):\n    pass\n"}


@pytest.mark.parametrize(
    ("name", "elsewhere", "expected"),
    [
        ("_made", "", ["pkg/b.py:6 unknown-attribute B._made"]),
        ("made", "", []),  # a public name is what a base of another project is there for
        ("__made__", "", []),
        ("_m", "", []),  # too short to be looked up
        ("_made", "OLD = '_made'\n", []),  # the tree knows it, if only in a text
        ("_made", "def f(x):\n    x._made = 1\n", []),
    ],
)
def test_a_private_name_that_the_tree_never_said(
    name: str, elsewhere: str, expected: list[str]
) -> None:
    text = f"from pkg.a import A\n\n\nclass B(A):\n    def f(self):\n        return self.{name}\n"
    assert said(BASE | FAR | {"pkg/old.py": elsewhere}, {"pkg/b.py": text}) == expected


def test_a_private_name_that_the_stack_itself_gives() -> None:
    text = "from pkg.a import A\n\n\nclass B(A):\n    def f(self):\n        return self._made\n"
    change = {"pkg/b.py": text, "pkg/c.py": "def g(b):\n    b._made = 1\n"}
    assert said(BASE | FAR, change) == []


OWN = {
    "pkg/meta.py": """
        import enum
        import threading
        from abc import ABC
        from typing import NamedTuple, Protocol


        class Meta(type):
            shared = 1

            def made(cls):
                return cls.on_the_class


        class Y(metaclass=Meta):
            on_the_class = 1


        class Child(Y):
            pass


        class N(NamedTuple):
            x: int


        class Colour(enum.Enum):
            RED = 1


        class Face(ABC):
            pass


        class Filled:
            pass


        class Bits(enum.IntFlag):
            ONE = 1


        class Frozen:
            def __init__(self, values):
                for name in values:
                    object.__setattr__(self, name, 1)


        class Listed:
            if (walrus := len("ab")) > 1:
                for name in ("third", "fourth"):
                    locals()[name] = 1


        class Walrus:
            if (walrus := len("ab")) > 1:
                pass


        class Worker(threading.Thread):
            pass


        for name in ("first", "second"):
            setattr(Filled, name, 1)
        """
}


@pytest.mark.parametrize(
    "read",
    [
        "N(1)._replace(x=2)", "N(1)._asdict()", "N._fields", "N._make([1])", "N._field_defaults",
        "Colour._member_map_", "Colour._value2member_map_", "Colour.__members__", "Face._abc_impl",
        "Face.register(int)", "Y.mro()", "Y.shared", "Child.shared", "Child.made()",
        "Bits._flag_mask_", "Bits._boundary_", "Frozen([]).any", "Listed.third", "Walrus.walrus",
        "Filled.first", "Filled().second", "Worker()._target",
    ],
)  # fmt: skip
def test_what_python_itself_or_a_metaclass_gives(read: str) -> None:
    names = "from pkg.meta import *\n\n\n"
    assert said(BASE | OWN, {"pkg/new.py": f"{names}def f():\n    return {read}\n"}) == []


@pytest.mark.parametrize(
    ("read", "symbol"),
    [
        ("N(1)._replaced(x=2)", "N._replaced"),
        ("Y().mro()", "Y.mro"),
        ("Y().shared", "Y.shared"),
        ("Y.other", "Y.other"),
        ("Y.register(int)", "Y.register"),
    ],
)
def test_what_neither_gives(read: str, symbol: str) -> None:
    names = "from pkg.meta import N, Y\n\n\n"
    found = said(BASE | OWN, {"pkg/new.py": f"{names}def f():\n    return {read}\n"})
    assert found == [f"pkg/new.py:5 unknown-attribute {symbol}"]


_READ = "    def f(self):\n        return self._made\n"


@pytest.mark.parametrize(
    "text",
    [
        f"class B(A):\n{_READ}\n\nmake(B, _made=1)\n",
        f"class B(A):\n    NAMES = ['_made']\n\n{_READ}",
        f"from pkg._C import C\n\n\nclass B(C):\n{_READ}",
        f"from queue import Queue\n\n\nclass B(Queue):\n{_READ}",
        f"class B(A):\n{_READ}\n\nfor n in 'ab':\n    setattr(B, '_' + n, 1)\n",
    ],
    ids=["a keyword", "a text", "a base that is compiled", "a base of Python", "a filled class"],
)
def test_a_private_name_that_something_may_give(text: str) -> None:
    base = BASE | FAR | {"pkg/_C.pyi": ""}
    change = {"pkg/b.py": f"from pkg.a import A\nfrom elsewhere import make\n\n\n{text}"}
    assert said(base, change) == []
