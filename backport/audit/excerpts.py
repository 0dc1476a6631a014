"""One function out of a file, parsed without the rest of it."""

from __future__ import annotations

import ast
import re
import warnings

from backport.audit.functions import Definition
from backport.core.paths import decode

_LATER = re.compile(r"[)\]}#]|$")
"""What begins a line that may stand further left than the body that it belongs to."""


def function_at(data: bytes, line: int) -> Definition | None:
    """The function whose `def` stands at a line, from 1; None where there is none.

    Only its own lines are parsed, up to the first that stands no further right than the `def`;
    the whole file is where these make no sense alone, as with texts over several lines.
    """
    lines = decode(data).split("\n")
    head = lines[line - 1] if line <= len(lines) else ""
    indent = len(head) - len(head.lstrip())
    end = line
    while end < len(lines) and _belongs(lines[end], indent):
        end += 1
    own = _parsed("\n".join(["if True:" if indent else "", *lines[line - 1 : end]]))
    return _at(own, 2) if own is not None else _at(_parsed(data), line)


def _at(tree: ast.Module | None, line: int) -> Definition | None:
    functions = (n for n in ast.walk(tree or ast.Pass()) if isinstance(n, Definition))
    return next((node for node in functions if node.lineno == line), None)


def _belongs(line: str, indent: int) -> bool:
    text = line.lstrip()
    return len(line) - len(text) > indent or _LATER.match(text) is not None


def _parsed(source: str | bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
