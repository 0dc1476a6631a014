"""Custom ops: fakes, calls, registrations."""

from __future__ import annotations

import pytest

from tests.audit.builders import said

ATTN = """\
import torch
from eng.reg import direct_register_custom_op


def attn_out(q, kv, output, layer_name, output_scale=None{impl}):
    output[:] = q


def attn_out_fake(q, kv, output, layer_name, output_scale=None{fake}):
    return None


direct_register_custom_op(
    op_name="attn_out",
    op_func=attn_out,
    mutates_args=["output"],
    fake_impl=attn_out_fake,
)
"""
BASE = {
    "eng/__init__.py": "",
    "eng/reg.py": """
        from torch.library import Library

        lib = Library("eng", "FRAGMENT")


        def direct_register_custom_op(op_name, op_func, mutates_args=None, fake_impl=None):
            lib.define(op_name)
        """,
    "eng/attn.py": ATTN.format(impl="", fake=""),
    "eng/ext.py": """
        import torch


        @torch.library.custom_op("eng::pad", mutates_args=())
        def pad(x: torch.Tensor, size: int) -> torch.Tensor:
            return x


        @pad.register_fake
        def _(x, size):
            return x


        @torch.library.register_fake("_C::norm")
        def norm_fake(out, x, epsilon):
            return None
        """,
    "csrc/bindings.cpp": """
        TORCH_LIBRARY_FRAGMENT(_C, ops) {
          // Normalise.
          ops.def(
              "norm(Tensor! out, Tensor x, "  // in place
              "float epsilon) -> ()");
          ops.def("cast.dtype(Tensor x, *, int kind=0) -> Tensor");
          ops.impl("norm", torch::kCUDA, &norm);
        }
        TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, rocm_ops) {
          rocm_ops.def("skinny(Tensor a, Tensor b) -> Tensor");
        }
        """,
}

FAKES = {
    "an implementation that gains an argument": (
        {"impl": ", positions=None", "fake": ""},
        "attn_out(positions)",
    ),
    "a fake that gains one": ({"impl": "", "fake": ", positions=None"}, "attn_out(positions)"),
    "another name": ({"impl": ", a=None", "fake": ", b=None"}, "attn_out(a)"),
    "another default": ({"impl": ", a=1", "fake": ", a=2"}, "attn_out(a=)"),
    "another order": ({"impl": ", a=1, b=1", "fake": ", b=1, a=1"}, "attn_out(order)"),
}


@pytest.mark.parametrize(("parts", "symbol"), FAKES.values(), ids=FAKES.keys())
def test_a_fake_that_differs(parts: dict[str, str], symbol: str) -> None:
    assert said(BASE, {"eng/attn.py": ATTN.format(**parts)}) == [
        f"eng/attn.py:13 fake-differs {symbol}"
    ]


def test_a_fake_that_is_changed_along() -> None:
    both = ATTN.format(impl=", positions=None", fake=", positions=None")
    assert said(BASE, {"eng/attn.py": both}) == []


def test_a_fake_that_differed_before_is_not_the_stack_s_fault() -> None:
    base = BASE | {"eng/attn.py": ATTN.format(impl=", a=1", fake=", a=2")}
    change = base["eng/attn.py"].replace("output[:] = q", "output[:] = q + 0")
    assert said(base, {"eng/attn.py": change}) == []


def test_a_fake_of_a_decorated_op() -> None:
    change = BASE["eng/ext.py"].replace("size: int)", "size: int, value: float = 0.0)")
    assert said(BASE, {"eng/ext.py": change}) == ["eng/ext.py:11 fake-differs pad(value)"]


def test_a_fake_of_a_binding() -> None:
    change = BASE["csrc/bindings.cpp"].replace('"float epsilon)', '"float epsilon, int size)')
    assert said(BASE, {"csrc/bindings.cpp": change}) == ["eng/ext.py:16 fake-differs norm(size)"]


def test_the_names_of_a_binding_are_its_own() -> None:
    change = BASE["csrc/bindings.cpp"].replace('"float epsilon)', '"float eps)')
    assert said(BASE, {"csrc/bindings.cpp": change}) == []


CALLS = {
    "an op that nobody registers": (
        "torch.ops.eng.fused_gather(1)",
        "unregistered-op eng::fused_gather",
    ),
    "an op that no binding defines": ("torch.ops._C.rope(1)", "unregistered-op _C::rope"),
    "an argument that an op does not take": (
        "torch.ops.eng.attn_out(1, 2, 3, 4, positions=5)",
        "op-arguments eng::attn_out(positions)",
    ),
    "an argument that an op needs": (
        "torch.ops.eng.attn_out(1, 2, 3)",
        "op-arguments eng::attn_out(layer_name)",
    ),
    "arguments of a binding": ("torch.ops._C.norm(1, 2)", "op-arguments _C::norm(epsilon)"),
    "the default overload": (
        "torch.ops._C.norm.default(1, 2)",
        "op-arguments _C::norm(epsilon)",
    ),
}


@pytest.mark.parametrize(("text", "expected"), CALLS.values(), ids=CALLS.keys())
def test_a_call_that_does_not_fit(text: str, expected: str) -> None:
    source = f"import torch\n\n\ndef f():\n    return {text}\n"
    assert said(BASE, {"eng/new.py": source}) == [f"eng/new.py:5 {expected}"]


SOUND = {
    "calls that fit": (
        "torch.ops.eng.attn_out(1, 2, 3, layer_name=4), torch.ops._C.norm(1, 2, 3), "
        "torch.ops._C.cast(1, kind=2), torch.ops.eng.pad(1, 2)"
    ),
    "libraries of others": "torch.ops.aten.anything(1), torch.ops.aiter.gather(1)",
    "an op that is asked for first": (
        "torch.ops._C.rope(1) if hasattr(torch.ops._C, 'rope') else None"
    ),
}


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND.keys())
def test_silence(text: str) -> None:
    source = f"import torch\n\n\ndef f():\n    return {text}\n"
    assert said(BASE, {"eng/new.py": source}) == []


def test_an_op_of_two_modules() -> None:
    text = (
        "from eng.reg import direct_register_custom_op\n\n\ndef attn_out(x):\n    return x\n\n\n"
        'direct_register_custom_op(op_name="attn_out", op_func=attn_out, fake_impl=attn_out)\n'
    )
    assert said(BASE, {"eng/quant.py": text}) == ["eng/quant.py:8 op-registered-twice attn_out"]


def test_an_op_of_two_branches_is_registered_once() -> None:
    text = (
        "from eng.reg import direct_register_custom_op\n\n\ndef quant(x):\n    return x\n\n\n"
        "if quant:\n    direct_register_custom_op('quant', quant)\n"
        "else:\n    direct_register_custom_op('quant', quant)\n"
    )
    assert said(BASE, {"eng/quant.py": text}) == []


def test_a_registration_that_the_stack_removes() -> None:
    base = BASE | {
        "eng/use.py": "import torch\n\n\ndef f():\n    return torch.ops.eng.attn_out(1, 2, 3, 4)\n"
    }
    kept = BASE["eng/attn.py"].split("direct_register_custom_op(\n")[0]
    assert said(base, {"eng/attn.py": kept}) == ["eng/use.py:5 unregistered-op eng::attn_out"]


def test_the_fake_of_another_library_s_op_is_not_meant() -> None:
    base = {
        "csrc/b.cpp": 'TORCH_LIBRARY(_C, m) {\n  m.def("gemm(Tensor a, Tensor? c) -> Tensor");\n}\n'
    }
    new = """
        import torch
        from torch.library import register_fake
        from utils import direct_register_custom_op

        @register_fake("_C::gemm")
        def _c_fake(a, c):
            return a

        def _gemm(a):
            return a

        def _gemm_fake(a):
            return a

        direct_register_custom_op("gemm", _gemm, fake_impl=_gemm_fake)
        """
    utils = {
        "utils.py": "def direct_register_custom_op(op_name, op_func, fake_impl=None):\n    ...\n"
    }
    assert said(base | utils, {"ops.py": new}) == []


RETURNS = """\
from torch import Tensor
from eng.reg import direct_register_custom_op


def pack(q: Tensor) {real}


def pack_fake(q: Tensor) {fake}


direct_register_custom_op("pack", pack, fake_impl=pack_fake)
"""
PAIR = "-> tuple[Tensor, Tensor]:\n    return q, q"
ONE, UNANNOTATED = "-> Tensor:\n    return q", ":\n    return q, q"
NOTHING = "-> None:\n    q.zero_()"

RETURNING = {
    "one of two": (PAIR, ONE),
    "two of one": (ONE, PAIR),
    "two of one, without an annotation": (ONE, UNANNOTATED),
    "nothing, though it says one": (ONE, "-> Tensor | None:\n    return None"),
    "nothing of one": (ONE, NOTHING),
    "one of nothing": (NOTHING, ONE),
    "three of two": (PAIR, "-> tuple[Tensor, Tensor]:\n    return q, q, q"),
}


@pytest.mark.parametrize(("real", "fake"), RETURNING.values(), ids=RETURNING.keys())
def test_a_fake_that_returns_another_number(real: str, fake: str) -> None:
    text = RETURNS.format(real=real, fake=fake)
    line = text.count("\n")
    base = BASE | {"eng/pack.py": RETURNS.format(real=real, fake=real)}
    assert said(base, {"eng/pack.py": text}) == [f"eng/pack.py:{line} fake-differs pack(returns)"]


UNSURE = {
    "the same": (PAIR, PAIR),
    "what a helper returns": (PAIR, ":\n    return q.pair()"),
    "now two and now one": (ONE, ":\n    if q:\n        return q, q\n    return q"),
    "a body that raises": (ONE, "-> None:\n    raise NotImplementedError"),
    "a list": ("-> list[Tensor]:\n    return [q]", PAIR),
    "a tuple of any length": ("-> tuple[Tensor, ...]:\n    return q", PAIR),
    "two annotated, a name returned": (PAIR, "-> tuple[Tensor, Tensor]:\n    return q"),
    "an inner function that returns": (
        NOTHING, "-> None:\n    def inner():\n        return q\n    inner()"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("real", "fake"), UNSURE.values(), ids=UNSURE.keys())
def test_a_fake_whose_number_fits_or_is_open(real: str, fake: str) -> None:
    assert said(BASE, {"eng/pack.py": RETURNS.format(real=real, fake=fake)}) == []


def test_what_a_schema_says_that_an_op_returns() -> None:
    change = BASE["csrc/bindings.cpp"].replace('epsilon) -> ()"', 'epsilon) -> (Tensor, Tensor)"')
    assert said(BASE, {"csrc/bindings.cpp": change}) == ["eng/ext.py:16 fake-differs norm(returns)"]
    for text in ("-> Tensor[]", "-> Tensor(a!)[]"):
        change = BASE["csrc/bindings.cpp"].replace("epsilon) -> ()", f"epsilon) {text}")
        assert said(BASE, {"csrc/bindings.cpp": change}) == []


def test_an_op_that_writes_to_what_it_does_not_take() -> None:
    change = BASE["eng/attn.py"].replace('mutates_args=["output"]', 'mutates_args=["out"]')
    assert said(BASE, {"eng/attn.py": change}) == ["eng/attn.py:13 op-mutates attn_out(out)"]
    change = BASE["eng/ext.py"].replace("mutates_args=()", 'mutates_args=("y",)')
    assert said(BASE, {"eng/ext.py": change}) == ["eng/ext.py:6 op-mutates pad(y)"]


@pytest.mark.parametrize(
    "text", ['"unknown"', 'list("x")', '["x"]', '("y",), schema="(Tensor y) -> Tensor"']
)
def test_an_op_that_may_write(text: str) -> None:
    change = BASE["eng/ext.py"].replace("mutates_args=()", f"mutates_args={text}")
    assert said(BASE, {"eng/ext.py": change}) == []
