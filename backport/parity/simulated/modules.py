"""Modules that exist inside a block only."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from typing import Any


@contextmanager
def installed(root: str, provided: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """`root` and everything below it are these modules with these names, and nothing else."""
    made = _modules(root, provided)
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if _below(root, name)}
    sys.modules.update(made)
    try:
        yield
    finally:
        for name in made:
            sys.modules.pop(name, None)
        sys.modules.update(before)


def _modules(root: str, provided: Mapping[str, Mapping[str, Any]]) -> dict[str, types.ModuleType]:
    made: dict[str, types.ModuleType] = {}

    def make(name: str) -> types.ModuleType:
        if name not in made:
            made[name] = types.ModuleType(name)
            made[name].__path__ = []
            made[name].__spec__ = ModuleSpec(name, None, is_package=True)
            parent, _, leaf = name.rpartition(".")
            if parent:
                setattr(make(parent), leaf, made[name])
        return made[name]

    make(root)
    for name, names in provided.items():
        vars(make(name)).update(names)
    return made


def _below(root: str, name: str) -> bool:
    return name == root or name.startswith(f"{root}.")
