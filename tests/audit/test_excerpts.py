"""One function out of a file: the very tree that parsing the whole file gives."""

from __future__ import annotations

import ast
import inspect
import textwrap
import unittest.mock
from types import ModuleType

import pytest

from backport.audit.excerpts import function_at

SOURCE = '''
class A:
    @decorated
    def method(
        self,
    ) -> int:
        # words
    # further left
        text = """
over lines
"""
        return (
    1
)

    async def other(self): return 1


if True:
    def inner(): pass
    def beside(): pass
'''


def by_line(text: str) -> dict[int, ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = ast.walk(ast.parse(text))
    return {n.lineno: n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}


def bare(node: ast.FunctionDef | ast.AsyncFunctionDef | None) -> str:
    """What a function says, its decorators left out."""
    if node is None:
        return ""
    node.decorator_list = []
    return ast.dump(node)


@pytest.mark.parametrize("module", [inspect, textwrap, unittest.mock])
def test_functions_of_python_itself(module: ModuleType) -> None:
    text = inspect.getsource(module)
    wanted = {line: bare(node) for line, node in by_line(text).items()}
    assert wanted == {line: bare(function_at(text.encode(), line)) for line in wanted}


def test_lines_that_stand_further_left() -> None:
    found = {n: bare(function_at(SOURCE.encode(), n)) for n in range(1, 30)}
    assert {n: said for n, said in found.items() if said} == {
        line: bare(node) for line, node in by_line(SOURCE).items()
    }


def test_what_does_not_parse() -> None:
    assert function_at(b"def f(:\n", 1) is None
    assert function_at(b"\xff\n", 1) is None
