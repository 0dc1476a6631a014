"""Write a stack's `stack.toml`, and note the commits of a moved pull request in one."""

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
    return "\n".join([*lines, "", "[upstream]", *origin]) + "\n"


def with_commits(text: str, commits: Sequence[str]) -> str | None:
    """The text of a stack's file with these upstream commits and all else as it was.

    None where there is no list of commits that can be told from the rest; then a
    person has to write it.
    """
    before, source = parse_toml("stack.toml", text)
    if source.problems:
        return None
    found = re.search(r"^commits\s*=\s*\[[^\]]*\]", text, re.MULTILINE)
    if not found:
        return None
    new = text[: found.start()] + f"commits = {listed(commits)}" + text[found.end() :]
    after, _ = parse_toml("stack.toml", new)
    expected = {**before, "upstream": {**before.get("upstream", {}), "commits": list(commits)}}
    return new if after == expected else None


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
