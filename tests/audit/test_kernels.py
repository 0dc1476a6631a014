"""Globals that a Triton kernel reads."""

from __future__ import annotations

import pytest

from tests.audit.builders import said

HEAD = "import math\nimport triton\nimport triton.language as tl\n"
BASE = {
    "k.py": HEAD,
    "values.py": "import triton.language as tl\nPLAIN = 1.5\nWRAPPED = tl.constexpr(2)\n",
    "passed.py": "from values import PLAIN\n",
}

FAULTS = {
    "a number": ("SIZE = 128", "SIZE"),
    "a negative one": ("SIZE = -1", "SIZE"),
    "a computed one": ("SIZE = 2**31 - 1", "SIZE"),
    "a text": ("SIZE = 'ieee'", "SIZE"),
    "a tuple": ("SIZE = (1, 2)", "SIZE"),
    "one of two numbers": ("SIZE = 1\nSIZE = 2", "SIZE"),
    "imported": ("from values import PLAIN", "PLAIN"),
    "imported under another name": ("from values import PLAIN as SIZE", "SIZE"),
    "passed on": ("from passed import PLAIN", "PLAIN"),
}

SOUND = {
    "a constant of the compiler": ("SIZE = tl.constexpr(128)", "SIZE"),
    "one under a condition": ("SIZE = tl.constexpr(128) if triton else 128", "SIZE"),
    "one in another branch": (
        "try:\n    SIZE = tl.constexpr(1)\nexcept ImportError:\n    SIZE = 1", "SIZE",
    ),
    "an annotated one, as older compilers take it": ("SIZE: tl.constexpr = 128", "SIZE"),
    "what a call gives": ("SIZE = math.prod((1, 2))", "SIZE"),
    "another name": ("OTHER = 1\nSIZE = tl.float32", "SIZE"),
    "a kernel": ("@triton.jit\ndef SIZE(x):\n    return x", "SIZE"),
    "imported as one": ("from values import WRAPPED", "WRAPPED"),
    "imported from elsewhere": ("from other import SIZE", "SIZE"),
    "a module": ("import values as SIZE", "SIZE"),
}  # fmt: skip

KERNEL = "\n\n\n@triton.jit\ndef kernel(x):\n    tl.store(x, {name})\n"


def spoken(text: str) -> list[str]:
    return said(BASE, {"k.py": HEAD + text}, checks={"kernels"})


@pytest.mark.parametrize(("text", "name"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(text: str, name: str) -> None:
    (found,) = spoken(text + KERNEL.format(name=name))
    assert found.endswith(f" kernel-global kernel({name})")


@pytest.mark.parametrize(("text", "name"), SOUND.values(), ids=SOUND.keys())
def test_silence(text: str, name: str) -> None:
    assert spoken(text + KERNEL.format(name=name)) == []


TUNED = """SIZE = 128


@triton.autotune(configs=[triton.Config({{}}, num_warps=SIZE)], key=[])
@triton.jit
def kernel(x, n: tl.constexpr = SIZE):
    tl.store(x, {value})


def host(x):
    kernel[(SIZE,)](x)
"""


def test_the_host_and_what_stands_above_the_body_may_read_any() -> None:
    assert spoken(TUNED.format(value="n")) == []
    assert spoken(TUNED.format(value="SIZE")) == ["k.py:10 kernel-global kernel(SIZE)"]


def test_a_local_name_hides_the_global() -> None:
    text = "SIZE = 128\n\n\n@triton.jit\ndef kernel(x, SIZE):\n    tl.store(x, SIZE)\n"
    assert spoken(text) == []


def test_what_the_target_reads_itself_is_its_own() -> None:
    text = HEAD + "SIZE = 128" + KERNEL.format(name="SIZE")
    assert said({"k.py": text}, {"k.py": f"{text}\n\nX = 1\n"}, checks={"kernels"}) == []
