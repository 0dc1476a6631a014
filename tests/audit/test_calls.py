"""Calls: arguments against what the target defines."""

from __future__ import annotations

import pytest

from tests.audit.builders import said

BASE = {
    "pkg/__init__.py": "",
    "pkg/ops.py": """
        from functools import cache, wraps

        import triton


        def gather(a, b, *, scale=1.0):
            return a, b


        def strict(a, /, b):
            return a


        def anything(*args, **kwargs):
            return args


        @cache
        def cached(a):
            return a


        def timed(f):
            @wraps(f)
            def inner(*args, **kwargs):
                return f(*args, **kwargs)

            return inner


        @timed
        def wrapped(a):
            return a


        @triton.jit
        def kernel(out, seq_lens, BLOCK):
            pass
        """,
    "pkg/layers.py": """
        from abc import ABC, abstractmethod
        from dataclasses import dataclass, field, KW_ONLY
        from typing import ClassVar, NamedTuple

        import torch.nn as nn


        def register(name):
            def decorator(cls):
                return cls

            return decorator


        class Base(nn.Module):
            def __init__(self, size, *, prefix=""):
                super().__init__()

            def forward(self, x, positions=None):
                return x

            def prepare(self, q, kv):
                return q, kv


        @register("layer")
        class Layer(Base):
            pass


        class Wide(Base):
            def forward(self, x, positions=None, extra=None):
                return x


        @dataclass
        class Meta:
            kind: ClassVar[str] = "meta"
            size: int
            names: list = field(default_factory=list)
            total: int = field(default=0, init=False)
            _: KW_ONLY
            scale: float = 1.0


        class Pair(NamedTuple):
            a: int
            b: int = 0


        class Plain:
            pass
        """,
}

HEAD = """\
import functools
from functools import partial

from pkg.layers import Base, Layer, Meta, Pair, Plain
from pkg.ops import anything, cached, gather, kernel, strict, wrapped


class Mine(Base):
    def __init__(self):
        super().__init__(1)
        self.child = Layer(2)

"""
FIRST = HEAD.count("\n") + 1

FAULTS = {
    "an argument left out": ("gather(1)", "missing-argument gather(b)"),
    "a keyword that is not taken": (
        "gather(1, 2, positions=3)",
        "unexpected-keyword gather(positions)",
    ),
    "too many by place": ("gather(1, 2, 3)", "too-many-arguments gather()"),
    "one by place and by keyword": ("gather(1, 2, a=3)", "repeated-argument gather(a)"),
    "a keyword for a positional-only parameter": (
        "strict(b=1, a=2)",
        "missing-argument strict(a)",
    ),
    "a known decorator keeps the signature": ("cached(1, 2)", "too-many-arguments cached()"),
    "a keyword beside **": ("gather(1, 2, x=1, **{})", "unexpected-keyword gather(x)"),
    "a constructor": ("Layer(1, rank=2)", "unexpected-keyword Layer(rank)"),
    "a constructor of a class without one": ("Plain(1)", "too-many-arguments Plain()"),
    "a dataclass": ("Meta(1, rope=2)", "unexpected-keyword Meta(rope)"),
    "a dataclass field that is not for the constructor": (
        "Meta(1, total=2)",
        "unexpected-keyword Meta(total)",
    ),
    "a keyword-only dataclass field by place": ("Meta(1, [], 2.0)", "too-many-arguments Meta()"),
    "a named tuple": ("Pair(1, c=2)", "unexpected-keyword Pair(c)"),
    "a method of a child": (
        "self.child.prepare(1)",
        "missing-argument Base.prepare(kv)",
    ),
    "a child that is called": (
        "self.child(1, mask=2)",
        "unexpected-keyword Layer(mask)",
    ),
    "a keyword that is handed on": (
        "partial(gather, scal=1)",
        "unexpected-keyword gather(scal)",
    ),
    "a keyword that is handed on to a method": (
        "functools.partial(self.child.prepare, 1, rank=2)",
        "unexpected-keyword Base.prepare(rank)",
    ),
    "too many that are handed on": (
        "partial(gather, 1, 2, 3)",
        "too-many-arguments gather()",
    ),
    "a launch without an argument": (
        "kernel[(1,)](1, BLOCK=2)",
        "missing-argument kernel(seq_lens)",
    ),
    "a launch with a keyword too many": (
        "kernel[(1,)](1, 2, BLOCK=2, num_warps=4, HAS_START=1)",
        "unexpected-keyword kernel(HAS_START)",
    ),
}

SOUND = {
    "all that fits": "gather(1, b=2, scale=3), strict(1, 2), cached(1), Layer(1, prefix='')",
    "what takes anything": "anything(1, 2, x=3)",
    "unpacked arguments": "gather(*args), gather(**kwargs), gather(*args, **kwargs)",
    "what a decorator may change": "wrapped(1, 2, 3)",
    "fields with defaults": "Meta(1), Meta(1, [], scale=2.0), Pair(1), Pair(1, 2)",
    "launch options": "kernel[(1,)](1, 2, 3, num_warps=4, waves_per_eu=1, enable_reflect_ftz=True)",
    "a child that is called": "self.child(1, positions=2)",
    "what an override takes": "base.forward(1, extra=2)",
    "a part of the arguments": (
        "partial(gather), partial(gather, scale=2), partial(strict, b=2), partial(anything, x=1), "
        "partial(*args), partial(gather, 1, **kwargs), partial(wrapped, x=1), partial(Layer, 1)"
    ),
    "another partial": "others.partial(gather, scal=1)",
    "other projects": "torch.empty(1, nonsense=2)",
}


def call(text: str) -> str:
    return f"{HEAD}    def f(self, base: Base, args=(), kwargs={{}}):\n        return {text}\n"


@pytest.mark.parametrize(("text", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(text: str, expected: str) -> None:
    found = said(BASE, {"pkg/new.py": call(text)})
    assert f"pkg/new.py:{FIRST + 1} {expected}" in found
    assert {line.split()[0] for line in found} == {f"pkg/new.py:{FIRST + 1}"}


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND.keys())
def test_silence(text: str) -> None:
    checks = frozenset({"calls"})
    assert said(BASE, {"pkg/new.py": call(text)}, checks=checks) == []


def test_super_init_of_a_class_and_of_torch() -> None:
    text = """
        from pkg.layers import Base
        import torch.nn as nn


        class A(Base):
            def __init__(self):
                super().__init__(1, rank=2)


        class B(nn.Module):
            def __init__(self):
                super().__init__(1)
        """
    assert said(BASE, {"pkg/new.py": text}) == [
        "pkg/new.py:8 unexpected-keyword A.super().__init__(rank)",
        "pkg/new.py:13 too-many-arguments B.super().__init__()",
    ]


def test_super_in_a_class_of_several_bases_may_be_another() -> None:
    text = """
        class A:
            def __init__(self):
                super().__init__(mark=1)


        class B:
            def __init__(self, mark):
                pass


        class C(A, B):
            pass
        """
    assert said(BASE, {"pkg/new.py": text}) == []


def test_a_type_error_that_is_expected() -> None:
    text = (
        "import pytest\n\nfrom pkg.ops import gather\n\n\ndef test_it():\n"
        "    with pytest.raises(TypeError):\n        gather()\n"
    )
    assert said(BASE, {"tests/test_new.py": text}) == []


def test_cls_makes_whatever_the_method_is_called_on() -> None:
    text = """
        class A:
            def __init__(self, a):
                pass

            @classmethod
            def make(cls):
                return cls(1, 2)


        class B(A):
            def __init__(self, a, b):
                pass
        """
    assert said(BASE, {"pkg/new.py": text}) == []


def test_results_that_do_not_unpack() -> None:
    text = (
        "from pkg.ops import gather\n\n\ndef f():\n    a, b, c = gather(1, 2)\n    return a, b, c\n"
    )
    assert said(BASE, {"pkg/new.py": text}) == ["pkg/new.py:5 unpack-mismatch gather"]
    text = "from pkg.ops import gather\n\n\ndef f():\n    a, *b = gather(1, 2)\n    return a, b\n"
    assert said(BASE, {"pkg/new.py": text}) == []


def test_a_signature_that_the_stack_makes_narrower_breaks_its_callers() -> None:
    base = BASE | {"pkg/use.py": "from pkg.ops import gather\n\nX = gather(1, 2, scale=3)\n"}
    change = {"pkg/ops.py": base["pkg/ops.py"].replace("*, scale=1.0", "*, factor=1.0")}
    assert said(base, change) == ["pkg/use.py:3 unexpected-keyword gather(scale)"]
    change = {"pkg/ops.py": base["pkg/ops.py"].replace("*, scale=1.0", "*, scale=1.0, more=2")}
    assert said(base, change) == []


STEP = """
class Base:
    def run(self, x):
        {names} = self.prepare(x)
        return a

    def prepare(self, x):
        {base}
"""
SUB = """
from eng.base import Base


class Sub(Base):
    def prepare(self, x):
        {sub}
"""


def step(names: str, base: str, sub: str, more: str = "") -> dict[str, str]:
    return {
        "eng/__init__.py": "",
        "eng/base.py": STEP.format(names=names, base=base),
        "eng/sub.py": SUB.format(sub=sub) + more,
    }


TWO = step("a, b", "return x, x", "return 1, 2")
MISFIT = "unpack-mismatch Sub.prepare"
OVERRIDES = {
    "base and caller move on": (TWO, ("a, b, c", "return x, x, x", "return 1, 2"), [MISFIT]),
    "an override moves on": (TWO, ("a, b", "return x, x", "return 1, 2, 3"), [MISFIT]),
    "one of its returns does": (
        TWO,
        ("a, b", "return x, x", "if x:\n            return 1, 2, 3\n        return 1, 2"),
        [],
    ),
    "it gives what nobody knows": (TWO, ("a, b, c", "return x, x, x", "return x"), []),
    "all of them do": (TWO, ("a, b, c", "return x, x, x", "return 1, 2, 3"), []),
    "the only one that is no stub": (
        step("a, b", "raise NotImplementedError", "return 1, 2"),
        ("a, b", "raise NotImplementedError", "return 1, 2, 3"),
        [MISFIT],
    ),
    "nothing does": (TWO, ("a, b", "return x + 1, x", "return 1, 2"), []),
    "it never fitted": (
        step("a, b, c", "return x", "return 1, 2"),
        ("a, b, c", "return x, x, x", "return 1, 2"),
        [],
    ),
    "it has a caller of its own": (
        TWO,
        ("a, b, c", "return x, x, x", "return 1, 2",
         "\n    def own(self, x):\n        a, b = self.prepare(x)\n        return a\n"),
        [],
    ),
    "it has its own version of the caller": (
        TWO,
        ("a, b, c", "return x, x, x", "return 1, 2", "\n    def run(self, x):\n        return x\n"),
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("base", "parts", "expected"), OVERRIDES.values(), ids=OVERRIDES.keys())
def test_an_override_that_returns_another_number_of_values(
    base: dict[str, str], parts: tuple[str, ...], expected: list[str]
) -> None:
    found = said(base, step(*parts))
    assert found == [f"eng/base.py:4 {code}" for code in expected]


def test_an_override_behind_an_object_of_a_known_class() -> None:
    use = (
        "from eng.base import Base\n\n\n"
        "def f(base: Base):\n    a, b = base.prepare(1)\n    return a\n"
    )
    change = {"eng/sub.py": SUB.format(sub="return 1, 2, 3")}
    asked = use.replace("    a, b", "    if isinstance(base, Base):\n        return 1\n    a, b")
    where = [f"eng/base.py:4 {MISFIT}"]
    assert said(TWO | {"use.py": use}, change) == [*where, f"use.py:5 {MISFIT}"]
    assert said(TWO | {"use.py": asked}, change) == where
    assert said(TWO | change, {"use.py": use}) == []


def test_overrides_of_which_one_moves_on_with_the_caller() -> None:
    parts = step("a, b", "raise NotImplementedError", "return 1, 2")
    base = parts | {"eng/one.py": parts["eng/sub.py"].replace("Sub", "One")}
    moved = {path: base[path].replace("1, 2", "1, 2, 3") for path in ("eng/one.py", "eng/sub.py")}
    change = {"eng/base.py": base["eng/base.py"].replace("a, b", "a, b, c")}
    one = {"eng/one.py": moved["eng/one.py"]}
    assert said(base, change | one) == [f"eng/base.py:4 {MISFIT}"]
    assert said(base, change | moved) == []


GROWN = {
    "eng/__init__.py": "",
    "eng/meta.py": """
        from typing import NamedTuple


        class Out(NamedTuple):
            a: int
            b: int


        def make():
            return Out(1, 2)


        def maybe(x) -> Out | None:
            return Out(1, 2) if x else None


        def either(x):
            if x:
                return None
            return Out(1, 2)
        """,
    "eng/use.py": """
        from eng.meta import Out, either, make, maybe


        def f(x):
            a, b = Out(1, 2)
            a, *b = make()
            a, b = either(x)
            a, b = x.make()
            return a + b
        """,
    "eng/made.py": "from eng.meta import make\n\n\ndef f():\n    a, b = make()\n    return a\n",
    "eng/given.py": "from eng.meta import maybe\n\n\ndef f():\n    a, b = maybe(1)\n    return a\n",
}


def test_a_named_tuple_that_grew() -> None:
    meta = GROWN["eng/meta.py"]
    grown = meta.replace("b: int\n", "b: int\n            c: int = 0\n")
    other = meta.replace("b: int", "c: int")
    listed = grown.replace(
        "= 0\n", "= 0\n\n            def __iter__(self):\n                pass\n"
    )
    checks = frozenset({"calls"})
    assert said(GROWN, {"eng/meta.py": grown}, checks=checks) == [
        "eng/given.py:5 unpack-mismatch Out",
        "eng/made.py:5 unpack-mismatch Out",
        "eng/use.py:6 unpack-mismatch Out",
    ]
    assert said(GROWN, {"eng/meta.py": other}, checks=checks) == []
    assert said(GROWN, {"eng/meta.py": listed}, checks=checks) == []


@pytest.mark.parametrize("own", ["from pkg import deep", "from . import deep"])
def test_a_submodule_that_its_package_imports_from_itself(own: str) -> None:
    base = {
        "pkg/__init__.py": f"{own}\n\nEngine = deep.Engine\n",
        "pkg/deep.py": "class Engine:\n    def step(self, name):\n        return name\n",
    }
    text = (
        "from pkg import deep as d\nimport pkg\n\nd.Engine().step(1, 2)\npkg.Engine().step(3, 4)\n"
    )
    found = [f"use.py:{line} too-many-arguments Engine.step()" for line in (4, 5)]
    assert said(base, {"use.py": text}) == found


@pytest.mark.parametrize("takes", ["a, b=1", "*args, **kwargs", "a, *rest"])
@pytest.mark.parametrize("used", ["One(1, b=2)", "Child(1, 2)", "One(1, 2, 3, c=4)"])
def test_a_class_that_makes_its_objects_itself(takes: str, used: str) -> None:
    """Without an `__init__`, that of object ignores what `__new__` takes."""
    base = {
        "pkg/one.py": f"""
            class One:
                def __new__(cls, {takes}):
                    return super().__new__(cls)


            class Child(One):
                pass
            """
    }
    assert said(base, {"use.py": f"from pkg.one import Child, One\n\nprint(Child, {used})\n"}) == []


def test_a_class_that_hands_on_what_it_is_made_with() -> None:
    base = {
        "pkg/one.py": """
            class One:
                def __new__(cls, *args, **kwargs):
                    return super().__new__(cls)

                def __init__(self, a):
                    self.a = a
            """
    }
    text = "from pkg.one import One\n\nOne(1, 2)\n"
    assert said(base, {"use.py": text}) == ["use.py:3 too-many-arguments One()"]
