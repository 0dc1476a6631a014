"""Where the tensors of a case lie."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import torch

T = TypeVar("T")


def on(device: str, made: T) -> T:
    """The same dataclass with all its tensors on a device; inputs are always drawn on the CPU."""
    moved: dict[str, Any] = {
        field.name: value.to(device)
        for field in dataclasses.fields(made)  # type: ignore[arg-type]
        if isinstance(value := getattr(made, field.name), torch.Tensor)
    }
    return dataclasses.replace(made, **moved)  # type: ignore[type-var]


def where(made: object) -> torch.device:
    """Where the tensors of a case's inputs lie; rules on indices stay on the CPU."""
    values = (getattr(made, field.name) for field in dataclasses.fields(made))  # type: ignore[arg-type]
    found = (value.device for value in values if isinstance(value, torch.Tensor))
    return next(found, torch.device("cpu"))
