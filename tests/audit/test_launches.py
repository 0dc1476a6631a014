"""Triton kernels: launches, calls and autotuners that cannot be meant."""

from __future__ import annotations

import pytest

from tests.audit.builders import said

KERNEL = """\
import triton


{decorators}
def kernel(out, n, BLOCK):
    pass


@triton.jit
def part(x):
    return x


{caller}
"""
JIT = "@triton.jit"
LAUNCH = "def go(x):\n    kernel[(1,)](x, 1, BLOCK=16)"
TUNED = (
    '@triton.autotune(configs=[triton.Config({{"BLOCK": 16}}), {more}], key=[{key}])\n@triton.jit'
)


def tuned(more: str = 'triton.Config({"BLOCK": 32}, num_warps=8)', key: str = '"n"') -> str:
    return TUNED.format(more=more, key=key)


FAULTS = {
    "a launch of a plain function": ("", LAUNCH, "kernel"),
    "a launch in a method": (
        "",
        f"class A:\n    {LAUNCH}".replace("    kernel", " " * 8 + "kernel"),
        "kernel",
    ),
    "a call without a grid": (JIT, "def go(x):\n    kernel(x, 1, 16)", "kernel()"),
    "a call of a tuned kernel": (tuned(), "def go(x):\n    kernel(x, 1, 16)", "kernel()"),
    "a call in a lambda": (JIT, "go = lambda x: part(x)", "part()"),
    "a key that is no parameter": (tuned(key='"n", "m"'), "", "kernel(m)"),
    "a keyword of every configuration": (tuned(), LAUNCH, "kernel(BLOCK)"),
    "a place of every configuration": (tuned(), LAUNCH.replace("BLOCK=", ""), "kernel(BLOCK)"),
    "configurations of a loop": (
        tuned().replace("configs=[", "configs=[triton.Config({'BLOCK': b}) for b in (1, 2)], x=["),
        LAUNCH,
        "kernel(BLOCK)",
    ),
}


@pytest.mark.parametrize(("decorators", "caller", "symbol"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(decorators: str, caller: str, symbol: str) -> None:
    text = KERNEL.format(decorators=decorators, caller=caller)
    found = said({}, {"k.py": text})
    assert [line.partition(" ")[2] for line in found] == [f"kernel-launch {symbol}"]


SOUND = {
    "a launch": (JIT, LAUNCH),
    "a launch of a tuned kernel": (tuned(), LAUNCH.replace(", BLOCK=16", "")),
    "what one configuration leaves open": (tuned("triton.Config({})"), LAUNCH),
    "configurations from elsewhere": (tuned("*more()"), LAUNCH),
    "keys from elsewhere": (tuned(key="*keys()"), ""),
    "a function that is made a kernel": ("", f"kernel = triton.jit(kernel)\n\n\n{LAUNCH}"),
    "a function that is made a kernel later": (
        "", f"{LAUNCH}\n\n\ndef make():\n    global kernel\n    kernel = triton.jit(kernel)"
    ),
    "a function that is replaced from outside": (
        "", f"{LAUNCH}\n\n\ndef make(module):\n    module.kernel = triton.jit(module.kernel)"
    ),
    "a launcher of the project's own": ("@launcher", LAUNCH),
    "a kernel that calls another": (JIT, "@triton.jit\ndef go(x):\n    return part(x)"),
    "a helper that is made a kernel": (
        JIT, "def go(x):\n    return part(x)\n\n\nmade = triton.jit(go)"
    ),
    "a helper under another decorator": (JIT, "@device\ndef go(x):\n    return part(x)"),
    "a call that is expected to fail": (
        JIT, "def go(x):\n    try:\n        part(x)\n    except TypeError:\n        pass"
    ),
    "another triton": (
        JIT,
        "def go(triton):\n    @triton.jit\n    def inner(x):\n        return x\n\n    inner(1)",
    ),
    "a method of a kernel": (JIT, "def go(x):\n    kernel.warmup(x, 1, 16, grid=(1,))"),
}  # fmt: skip


@pytest.mark.parametrize(("decorators", "caller"), SOUND.values(), ids=SOUND.keys())
def test_silence(decorators: str, caller: str) -> None:
    text = KERNEL.format(decorators=decorators, caller=caller)
    assert said({}, {"k.py": text}, checks=frozenset({"launches"})) == []


def test_a_decorator_that_the_stack_takes_away() -> None:
    kernel = KERNEL.format(decorators=JIT, caller="")
    base = {"k.py": kernel, "use.py": f"from k import kernel\n\n\n{LAUNCH}\n"}
    change = kernel.replace("@triton.jit\ndef kernel", "def kernel")
    assert said(base, {"k.py": change}) == ["use.py:5 kernel-launch kernel"]
