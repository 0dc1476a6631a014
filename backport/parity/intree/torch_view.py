"""torch as extracted code sees it: poisoned `empty`, the stand-ins' ops under `torch.ops`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from backport.parity.intree.extract import Namespace

POISON = 0x7F  # NaN in e4m3fn; in e4m3fnuz the NaN is 0x80


def poison_byte(dtype: torch.dtype) -> int:
    """A byte that reads as NaN in an fp8 format, and as a wild number in integers."""
    return 0x80 if dtype == torch.float8_e4m3fnuz else POISON


def poison(tensor: torch.Tensor) -> torch.Tensor:
    """Fill a dense tensor with values that no correct run leaves behind; returns it."""
    if tensor.dtype.is_floating_point and tensor.element_size() > 1:
        return tensor.fill_(float("nan"))
    if tensor.element_size() == 1:
        tensor.view(torch.uint8).fill_(poison_byte(tensor.dtype))
        return tensor
    return tensor.fill_(-(2**30))


def empty(*args: Any, **kwargs: Any) -> torch.Tensor:
    """`torch.empty`, poisoned: a row that nobody writes cannot look right by chance."""
    return poison(torch.empty(*args, **kwargs))


def torch_with(**ops: Any) -> Namespace:
    """torch with `torch.ops.vllm` holding these functions, and `empty` poisoned."""
    return Namespace(torch, empty=empty, ops=SimpleNamespace(vllm=SimpleNamespace(**ops)))
