"""Stand-ins for what the tested code merely passes by."""

from __future__ import annotations

from typing import Any


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
