"""Write a stack's `stack.toml`, and note in one where a change that moved is now."""

from __future__ import annotations

import re
from collections.abc import Sequence

from backport.core.stacks import Stack
from backport.core.tables import parse_toml


def render_stack_toml(stack: Stack) -> str:
    """The text of a new stack's file; a person completes `why`."""
    up = stack.upstream
    lines = [
        "schema = 1",
        f"title  = {quoted(stack.title)}",
        f"kind   = {quoted(stack.kind)}",
        f"home   = {quoted(stack.home)}",
        f"why    = {quoted(stack.why)}  # say what it replaces, when it applies, its fallback",
    ]
    lines += [f"after  = {listed(stack.after)}"] if stack.after else []
    lines += [f"retire = {quoted(stack.retire)}"] if stack.retire else []
    origin = [f"repo     = {quoted(up.repo)}"] if up.repo else []
    if up.pull:
        origin += [f"pull     = {up.pull}", f"state    = {quoted(up.state)}"]
    origin.append(f"relation = {quoted(up.relation)}")
    origin += [f"commits  = {listed(up.commits)}"] if up.commits else []
    origin += [f"source   = {quoted(up.source)}"] if up.source else []
    origin += [f"imported = {listed(up.imported)}"] if up.imported else []
    return "\n".join([*lines, "", "[upstream]", *origin]) + "\n"


def with_origin(text: str, stack: Stack) -> str | None:
    """The text of a stack's file with the stack's home, commits, source and imported patches.

    All else is as it was, and what the stack does not know stays. None where these
    cannot be told from the rest; then a person has to write them.
    """
    before, source = parse_toml("stack.toml", text)
    if source.problems or not isinstance(before.get("upstream"), dict):
        return None
    up = stack.upstream
    known = {"commits": up.commits, "source": up.source, "imported": up.imported}
    origin = {key: list(v) if isinstance(v, tuple) else v for key, v in known.items() if v}
    head, header, rest = text.partition("\n[upstream]")
    new = _with_key(head, "home", stack.home, before.get("home"))
    table, mark, others = rest.partition("\n[")
    for key, value in origin.items():
        table = _with_key(table, key, value, before["upstream"].get(key))
    new += header + table + mark + others
    after, _ = parse_toml("stack.toml", new)
    expected = {**before, "home": stack.home, "upstream": {**before["upstream"], **origin}}
    return new if after == expected else None


def _with_key(table: str, key: str, value: str | Sequence[str], old: object) -> str:
    """The text of a table with this value of the key, at its place or else as the last one."""
    if value == old:
        return table
    said = quoted(value) if isinstance(value, str) else listed(value)
    place = re.compile(rf"^({key}\s*=\s*)(?:\[[^\]]*\]|\"[^\"\n]*\")", re.MULTILINE)
    if place.search(table):
        return place.sub(lambda found: found[1] + said, table, count=1)
    return f"{table.rstrip()}\n{key:8} = {said}\n" + "\n" * table.endswith("\n\n")


def listed(items: Sequence[str]) -> str:
    """A list of strings, on one line or one item a line where that is too long."""
    line = f"[{', '.join(map(quoted, items))}]"
    if len(line) <= 90:
        return line
    return "[\n" + "".join(f"  {quoted(item)},\n" for item in items) + "]"


def quoted(text: str) -> str:
    """The text as a TOML string; several lines stay several lines."""
    if "\n" in text:
        body = "".join(_escaped(char) if char != "\n" else char for char in text)
        return f'"""\n{body}\n"""'
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if 0xD800 <= ord(char) <= 0xDFFF:  # a byte that was not UTF-8, which TOML cannot hold
        return "\N{REPLACEMENT CHARACTER}"
    return char if char.isprintable() else f"\\U{ord(char):08x}"
