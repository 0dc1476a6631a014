"""Stand-ins for what the tested code merely passes by."""

from __future__ import annotations

from typing import Any

import torch


class Anything:
    """Answers every attribute and call with itself; refuses to be a condition.

    A branch of the tree that would depend on it is therefore noticed.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        vars(self).update(kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __bool__(self) -> bool:
        raise TypeError("a stand-in was asked to be a condition")


def unconstructed(kind: Any) -> Any:
    """An instance whose own constructor has not run; an nn.Module is made ready for attributes."""
    made = kind.__new__(kind)
    if isinstance(made, torch.nn.Module):
        torch.nn.Module.__init__(made)
    return made
