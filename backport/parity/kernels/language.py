# ruff: noqa: N803, RET505  # upper case and both branches: what is decided at compile time
"""What the kernels share with Triton: a typed `jit`, names for annotations, launches.

Triton's decorator carries no types and its interpreter is chosen when Triton is
imported, so both facts live here and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
import triton
import triton.language as tl

if TYPE_CHECKING:
    Tile: TypeAlias = Any  # a value inside a kernel: a scalar or a block of them
    Pointer: TypeAlias = Any  # a tensor as a kernel sees it
    constexpr: TypeAlias = Any  # a compile-time argument
else:  # Triton looks annotations up and accepts names of its own alone
    Tile = Pointer = tl.tensor
    constexpr = tl.constexpr

INTERPRETED = tl.constexpr(os.environ.get("TRITON_INTERPRET") == "1")


@dataclass(slots=True)
class Launches:
    """How many kernels were launched while this counter was active."""

    count: int = 0


_active: ContextVar[Launches | None] = ContextVar("launches", default=None)


@contextmanager
def counted_launches() -> Iterator[Launches]:
    """A counter of the kernels that `launch` starts inside the `with` block."""
    launches = Launches()
    token = _active.set(launches)
    try:
        yield launches
    finally:
        _active.reset(token)


def jit(function: Callable[..., object]) -> Any:
    """`function` as a Triton kernel, or as an interpreted one with TRITON_INTERPRET=1."""
    return triton.jit(function)


def launch(kernel: Any, programs: int, *arguments: object, **options: object) -> None:
    """Start `programs` instances of `kernel`; none are started, or counted, for zero."""
    if programs == 0:
        return
    active = _active.get()
    if active is not None:
        active.count += 1
    kernel[(programs,)](*arguments, **options)


def require(condition: bool, contract: str) -> None:
    """Raise ValueError with the broken `contract`; a kernel would read wrong memory instead."""
    if not condition:
        raise ValueError(contract)


def blocks(count: int, size: int) -> int:
    """How many blocks of `size` cover `count`."""
    return -(-count // size)


def usable(device: torch.device) -> bool:
    """Whether kernels of this process can run on tensors of `device`."""
    return bool(INTERPRETED.value) if device.type == "cpu" else not INTERPRETED.value


@jit
def rounded(x: Tile, DTYPE: constexpr) -> Tile:
    """Float32 `x` as DTYPE, to nearest even; Triton's interpreter would truncate to bfloat16."""
    if INTERPRETED and tl.bfloat16 == DTYPE:
        bits = x.to(tl.uint32, bitcast=True)
        upper = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        return upper.to(tl.uint16).to(tl.bfloat16, bitcast=True)
    else:
        return x.to(DTYPE)
