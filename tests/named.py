"""Tests by name, so that a document or a table that leans on one breaks when it goes."""

from __future__ import annotations

import ast
from functools import cache

from tests.repos import PROJECT


def exists(name: str) -> bool:
    """True where `tests/file.py::test_name` (or `::Class::test_name`) is a test that can fail."""
    path, _, test = name.partition("::")
    return test in _tests(path)


@cache
def _tests(path: str) -> frozenset[str]:
    file = PROJECT / path
    if not file.is_file():
        return frozenset()
    found = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        above = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        found |= {
            f"{above}{item.name}"
            for item in inner
            if isinstance(item, ast.FunctionDef) and item.name.startswith("test_")
        }
    return frozenset(found)
