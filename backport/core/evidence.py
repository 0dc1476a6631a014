"""Check what a manifest claims about its target, on the pristine tree."""

from __future__ import annotations

import ast
import re
import warnings
from functools import lru_cache

from backport.core.manifests import Evidence
from backport.core.outlines import Outline
from backport.core.paths import encode
from backport.core.trees import DIRECTORY, Tree

_WORD = rb"[\w\x80-\xff]"  # a letter outside of ASCII is more than one byte


def stale(evidence: tuple[Evidence, ...], tree: Tree) -> list[str]:
    """The statements that no longer hold on `tree`, each with what was found instead."""
    out = []
    for statement in evidence:
        problem = _problem(statement, tree)
        if problem:
            out.append(problem)
    return out


def _problem(statement: Evidence, tree: Tree) -> str | None:
    entry = tree.entry(statement.path)
    if not statement.symbol and not statement.text:
        there = entry is not None
    elif entry is None or entry.mode == DIRECTORY:
        return f"{statement}: the file is not there"  # proves nothing of what it would hold
    elif statement.symbol:
        found = _has(entry.data, statement.symbol)
        if found is None:
            return f"{statement}: the file does not parse as Python"
        there = found
    else:
        there = _holds(entry.data, encode(statement.text))
    if there == statement.present:
        return None
    return f"{statement}: it is {'there' if there else 'not there'}"


def _has(text: bytes, symbol: str) -> bool | None:
    """True where a Python file defines the name, None where it takes a parser and none reads it."""
    if encode(symbol.rpartition(".")[2]) not in text:
        return False
    if Outline(text).defines(symbol):
        return True
    names = symbols(text)
    return None if names is None else symbol in names


def _holds(data: bytes, text: bytes) -> bool:
    """True where a line holds the text as whole words: `x = 1` does not stand in `max = 12`."""
    before = b"(?<!%s)" % _WORD if re.match(_WORD, text[:1]) else b""
    behind = b"(?!%s)" % _WORD if re.match(_WORD, text[-1:]) else b""
    return re.search(before + re.escape(text) + behind, data) is not None


@lru_cache(maxsize=256)
def symbols(text: bytes) -> frozenset[str] | None:
    """Every qualified name that a Python file defines, or None where it does not parse.

    Classes, functions, parameters' owners aside: also names bound by assignment or
    import in a module or class body, and attributes that methods set on `self`.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
        names: set[str] = set()
        _define(module, "", "", names)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return frozenset(names)


def _define(node: ast.AST, prefix: str, owner: str, names: set[str]) -> None:
    """Collect under `prefix`; `owner` is the class whose methods are being read."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            names.add(prefix + child.name)
            _define(child, f"{prefix}{child.name}.", f"{prefix}{child.name}", names)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(prefix + child.name)
            _define(child, f"{prefix}{child.name}.", owner, names)
        elif isinstance(child, ast.Import | ast.ImportFrom):
            bound = ((alias.asname or alias.name).split(".")[0] for alias in child.names)
            names.update(prefix + name for name in bound)
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            names.add(prefix + child.id)
        elif isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
            if owner and isinstance(child.value, ast.Name) and child.value.id == "self":
                names.add(f"{owner}.{child.attr}")
        else:
            _define(child, prefix, owner, names)
