"""How a call can be wrong: the real kernel stops, or it reads the wrong bytes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch


class ContractError(AssertionError):
    """A call that the real kernel refuses, or (unless `misread`) would misread."""


def require(holds: bool, broken: str) -> None:
    """Raise ContractError where the real kernel checks and stops."""
    if not holds:
        raise ContractError(broken)


def without(function: Callable[..., Any], parameter: str) -> Callable[..., Any]:
    """The function as an older build has it: `parameter` is neither shown nor accepted."""
    signature = inspect.signature(function)
    kept = [p for name, p in signature.parameters.items() if name != parameter]
    older = signature.replace(parameters=kept)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        bound = older.bind(*args, **kwargs)
        return function(*bound.args, **bound.kwargs)

    vars(called)["__signature__"] = older
    return called


def packed(tensor: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """The memory behind `tensor` read as if it were dense: what a kernel without strides sees."""
    return memory(tensor, tensor.dtype)[: _size(shape)].view(shape)


def memory(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """All that lies from the tensor's first element to the end of its storage, as `dtype`, flat."""
    storage = tensor.untyped_storage()
    start = tensor.storage_offset() * tensor.element_size()
    raw = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)[start:]
    size = torch.empty(0, dtype=dtype).element_size()
    usable = raw[: raw.numel() // size * size]
    if usable.data_ptr() % size:
        usable = usable.clone()
    return usable.view(dtype)


def _size(shape: tuple[int, ...]) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total
