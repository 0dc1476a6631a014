"""How a claim about a tree is stated."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

from backport.parity.intree.extract import Module
from backport.parity.values import Mismatch


def claim(holds: bool, broken: str) -> None:
    """Raise Mismatch where it does not hold."""
    if not holds:
        raise Mismatch(broken)


def same(name: str, first: torch.Tensor, second: torch.Tensor) -> None:
    """Raise Mismatch unless both tensors have one shape, dtype and content, bit by bit."""
    alike = first.shape == second.shape and first.dtype == second.dtype
    alike = alike and torch.equal(_bytes(first), _bytes(second))
    claim(alike, f"{name}: the patched tree gives something else than the pristine one")


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    dense = tensor.contiguous()
    return dense.view(torch.uint8) if dense.dim() else dense.reshape(1).view(torch.uint8)


def raises(kind: type[BaseException], call: Callable[[], Any], otherwise: str) -> None:
    """Raise Mismatch unless the call raises an exception of this kind."""
    try:
        call()
    except kind:
        return
    raise Mismatch(otherwise)


def one_signature(module: Module, op: str, fake: str) -> None:
    """An op and its fake take the same parameters in the same order, with one schema."""
    first, second = (inspect.signature(module.function(name)) for name in (op, fake))
    ours, theirs = (list(s.parameters.values()) for s in (first, second))
    for a, b in zip(ours, theirs, strict=False):
        claim(str(a) == str(b), f"{op} takes `{a}` where {fake} takes `{b}`")
    claim(len(ours) == len(theirs), f"{fake} takes {len(theirs)} parameters, {op} {len(ours)}")
