"""Custom-op schemas, as torch writes them, and the C++ bindings that hold them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from backport.audit.records import (
    CONDITIONAL,
    EITHER,
    KEYWORD,
    UNREADABLE,
    Parameter,
    Record,
    Registration,
)

_LIBRARY = re.compile(
    r"\w*TORCH_LIBRARY(?:_FRAGMENT|_EXPAND)*\s*\(\s*([^;{]*?),\s*(\w+)\s*\)\s*\{", re.DOTALL
)
_LITERAL = r'"(?:[^"\\\n]|\\.)*"|R"(?P<tag>\w*)\(.*?\)(?P=tag)"'
_ARGUMENT = re.compile(rf"(?:\s|//[^\n]*\n|/\*.*?\*/)*({_LITERAL})", re.DOTALL)
_SCHEMA = re.compile(r"^\s*(?:(\w+)::)?(\w+)(?:\.\w+)?\s*\((.*)\)\s*->", re.DOTALL)


def parameters(schema: str) -> tuple[Parameter, ...] | None:
    """The parameters that a schema declares; None where it cannot be read."""
    match = _SCHEMA.match(schema)
    return None if match is None else tuple(_parameters(match[3]))


def returned(schema: str) -> int | None:
    """How many values a schema says the op returns; None where their number is open."""
    match = _SCHEMA.match(schema)
    if match is None:
        return None
    given = schema[match.end() :].strip()
    if given.startswith("(") and given.endswith(")"):
        return sum(bool(part) for part in split(given[1:-1]))
    return None if not given or given.endswith("]") else 1


def native_record(source: bytes) -> Record:
    """The record of a C++ file: the ops that its library blocks define."""
    if b"TORCH_LIBRARY" not in source:
        return UNREADABLE
    text = source.decode("utf-8", "replace")
    found = tuple(r for block in _LIBRARY.finditer(text) for r in _definitions(text, block))
    return UNREADABLE._replace(registrations=found)


def _parameters(text: str) -> Iterator[Parameter]:
    kind = EITHER
    for part in split(text):
        if part == "*":
            kind = KEYWORD
        elif part:
            declared, equals, default = part.partition("=")
            name = declared.split()[-1] if declared.split() else ""
            yield Parameter(name, kind, default.strip() if equals else None, None)


def split(text: str) -> Iterator[str]:
    """The parts between the commas that lie in no bracket."""
    depth, start = 0, 0
    for place, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == "," and not depth:
            yield text[start:place].strip()
            start = place + 1
    yield text[start:].strip()


def _definitions(text: str, block: re.Match[str]) -> Iterator[Registration]:
    library = block[1].strip()
    known = library if library.isidentifier() and "EXTENSION_NAME" not in library else None
    end = text.find("\n}", block.end())
    body = text[block.end() : end if end != -1 else len(text)]
    for call in re.finditer(rf"\b{re.escape(block[2])}\.def\(", body):
        schema = literals(body, call.end())
        line = text.count("\n", 0, block.end() + call.start()) + 1
        name, found, _ = schema.partition("(")
        if schema:
            op = name.strip().rpartition("::")[2]
            whole = schema if found else None
            yield Registration("define", known, op, whole, None, None, CONDITIONAL, line)


def literals(text: str, start: int) -> str:
    """Adjacent string literals joined, as the C++ compiler joins them."""
    parts: list[str] = []
    while match := _ARGUMENT.match(text, start):
        literal, tag = match[1], match["tag"]
        raw = tag is not None
        parts.append(literal.partition("(")[2][: -len(tag) - 2] if raw else literal[1:-1])
        start = match.end()
    return "".join(parts)
