"""Arguments by place that another parameter takes, since its signature has another order."""

from __future__ import annotations

import pytest

from tests.audit.builders import Texts, files, said

USER = """
    from ops import Layer, Meta, attend, kernel
    from unittest.mock import Mock


    def run(q, out, scale, layer: Layer, grid, extra):
        attend(q, scale)
        layer.attend(q, scale)
        layer(q, scale)
        Layer(q, scale)
        Meta(q, scale)
        kernel[grid](q, out, scale)


    class Deep(Layer):
        def __init__(self, q):
            super().__init__(q, self.scale)
    """

OPS = """
    from dataclasses import dataclass

    import torch.nn as nn
    import triton


    def attend(q, {scale}): ...


    class Layer(nn.Module):
        scale = 1.0

        def __init__(self, q, {scale}): ...

        def attend(self, q, {scale}): ...

        def forward(self, q, {scale}): ...


    @dataclass
    class Meta:
        q: int
        {fields}


    @triton.jit
    def kernel(q, out, {scale}): ...
    """


def ops(scale: str) -> str:
    fields = scale.replace("=", ": int = ").replace(", ", "\n        ")
    return OPS.format(scale=scale, fields=fields)


HAD, HAS = ops("scale=1"), ops("extra=0, scale=1")

EVERY = [
    "user.py:7 shifted-argument attend(scale)",
    "user.py:8 shifted-argument Layer.attend(scale)",
    "user.py:9 shifted-argument Layer(scale)",
    "user.py:10 shifted-argument Layer(scale)",
    "user.py:11 shifted-argument Meta(scale)",
    "user.py:12 shifted-argument kernel(scale)",
    "user.py:17 shifted-argument Deep.super().__init__(scale)",
]


def test_callers_that_the_stack_leaves_alone() -> None:
    assert said({"ops.py": HAD, "user.py": USER}, {"ops.py": HAS}) == EVERY


def test_callers_that_it_changes_elsewhere() -> None:
    changed = {"ops.py": HAS, "user.py": f"{USER}\n\n    other = 1\n"}
    assert said({"ops.py": HAD, "user.py": USER}, changed) == EVERY


def test_callers_written_for_the_home() -> None:
    home = files({"ops.py": HAD})
    assert said({"ops.py": HAS}, {"user.py": USER}, homes={"user.py": (home,)}) == EVERY


def test_what_the_target_has_itself_is_its_own() -> None:
    base = {"ops.py": HAS, "user.py": USER}
    changed = {"user.py": f"{USER}\n\n    other = 1\n"}
    assert said(base, changed, homes={"user.py": (files({"ops.py": HAD}),)}) == []


def test_nothing_is_known_without_what_the_caller_was_written_for() -> None:
    assert said({"ops.py": HAS}, {"user.py": USER}) == []


SWAPS = {
    "two that change places": ("def fun(a, b): ...", "def fun(b, a): ...", "fun(a, b)"),
    "an attribute": ("def fun(a, b): ...", "def fun(b, a): ...", "fun(self.a, 1)"),
    "one put before": ("def fun(a, b=1): ...", "def fun(new=None, a=0, b=1): ...", "fun(a)"),
    "one that is now by keyword alone": (
        "def fun(a, b): ...", "def fun(a, new=1, *, b=0): ...", "fun(1, b)",
    ),
    "by functools.partial": (
        "def fun(a, b): ...", "def fun(a, c=1, b=2): ...", "partial(fun, a, b)",
    ),
}  # fmt: skip

SOUND = {
    "a parameter renamed": ("def fun(a, b): ...", "def fun(a, c): ...", "fun(a, b)"),
    "one put at the end": ("def fun(a, b): ...", "def fun(a, b, c=1): ...", "fun(a, b)"),
    "by keyword": ("def fun(a, b): ...", "def fun(b, a): ...", "fun(a=a, b=b)"),
    "other names": ("def fun(a, b): ...", "def fun(b, a): ...", "fun(x, y)"),
    "names of neither": ("def fun(a, b): ...", "def fun(a, c=1, b=2): ...", "fun(a, other)"),
    "names out of place before": ("def fun(a, b): ...", "def fun(b, a): ...", "fun(b, a)"),
    "behind a star": ("def fun(a, b): ...", "def fun(a, c=1, b=2): ...", "fun(*x, b)"),
    "a function of anything": ("def fun(a, b): ...", "def fun(*args): ...", "fun(a, b)"),
    "a decorator that changes what is taken": (
        "def fun(a, b): ...", "@wrap\n\ndef fun(a, c=1, b=2): ...", "fun(a, b)",
    ),
    "a type that is asked for": (
        "def fun(a, b): ...", "def fun(b, a): ...", "fun(a, b)  # type: ignore",
    ),
}  # fmt: skip


def spoken(old: str, new: str, call: str) -> list[str]:
    head = "from functools import partial\nfrom ops import fun\n\n\n"
    user = f"{head}def g(self, a, b, x, y, other):\n    {call}\n"
    base: Texts = {"ops.py": f"{old}\n", "user.py": user}
    found = said(base, {"ops.py": f"{new}\n"}, checks={"calls"})
    return [line for line in found if "shifted" in line]


@pytest.mark.parametrize(("old", "new", "call"), SWAPS.values(), ids=SWAPS.keys())
def test_fault(old: str, new: str, call: str) -> None:
    assert len(spoken(old, new, call)) == 1


@pytest.mark.parametrize(("old", "new", "call"), SOUND.values(), ids=SOUND.keys())
def test_silence(old: str, new: str, call: str) -> None:
    assert spoken(old, new, call) == []


METHODS = """
    class Base:
        def fun(self, a, {more}b=1): ...


    class Child(Base):
        def fun(self, a, b=1): ...


    class Other:
        def __init__(self, a, {more}b=1): ...

        @classmethod
        def make(cls, a, b):
            return cls(a, b)


    class Below(Other):
        def __init__(self, a, b=1): ...
    """


def test_an_override_in_the_order_of_the_call_may_be_meant() -> None:
    user = "from ops import Base\n\n\ndef g(x: Base, a, b):\n    x.fun(a, b)\n"
    base = {"ops.py": METHODS.format(more=""), "user.py": user}
    assert said(base, {"ops.py": METHODS.format(more="new=0, ")}, checks={"calls"}) == []


def test_a_class_below_may_be_made() -> None:
    base = {"ops.py": METHODS.format(more="")}
    assert said(base, {"ops.py": METHODS.format(more="new=0, ")}, checks={"calls"}) == []


OPS_CPP = 'TORCH_LIBRARY(_C, m) {{\n  m.def("rotate(Tensor q, {0}float scale=1.0) -> ()");\n}}\n'
OPS_USER = "import torch\n\n\ndef run(q, x, scale):\n    torch.ops._C.rotate({})\n"


@pytest.mark.parametrize(
    ("had", "has", "passed", "expected"),
    [
        ("", "Tensor? x=None, ", "q, scale", ["user.py:5 shifted-argument _C::rotate(scale)"]),
        ("Tensor x, ", "", "q, x, scale", ["user.py:5 op-arguments _C::rotate()"]),
        ("", "Tensor? x=None, ", "q, scale=scale", []),
        ("", "Tensor? x=None, ", "q, None, scale", []),
        ("", "Tensor? y=None, ", "q, x", []),
    ],
)
def test_custom_ops(had: str, has: str, passed: str, expected: list[str]) -> None:
    base = {"csrc/a.cpp": OPS_CPP.format(had), "user.py": OPS_USER.format(passed)}
    assert said(base, {"csrc/a.cpp": OPS_CPP.format(has)}, checks={"ops"}) == expected
