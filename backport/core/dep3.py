"""What stands above the diff of a patch in a quilt series: DEP-3 fields, or free text.

The fields are those of https://dep-team.pages.debian.net/deps/dep3/: the first line of
`Description` (or `Subject`) says what the patch does, the lines below it why.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from backport.core.paths import decode

_DIFF = re.compile(rb"^(?:---$|--- \S|diff |Index: |=====)", re.MULTILINE)
_FIELD = re.compile(r"([A-Za-z][A-Za-z-]*):(?: (.*))?")
_OWN = ("description", "author", "origin", "forwarded", "bug", "last-update", "applied-upstream")


class Heading(NamedTuple):
    """A patch's subject, the text below it, and its author as a mail address ("": not said)."""

    subject: str
    body: str
    author: str = ""


def read_heading(data: bytes) -> Heading | None:
    """What the text above the diff says, or None where there is none or it is a mail's."""
    found = _DIFF.search(data)
    lines = decode(data[: found.start()] if found else b"").rstrip().split("\n")
    fields, rest = _fields(lines)
    if any(key.lower().startswith(_OWN) for key, _ in fields):
        return _of_fields(fields, rest)
    if fields or not lines[0].strip() or lines[0].startswith("From "):
        return None
    return Heading(lines[0].strip(), "\n".join(lines[1:]).strip("\n"))


def _fields(lines: list[str]) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """Each field with its lines, and the free text below them."""
    fields: list[tuple[str, list[str]]] = []
    for number, line in enumerate(lines):
        field = _FIELD.fullmatch(line)
        if field:
            fields.append((field[1], [(field[2] or "").strip()]))
        elif fields and line[:1] in (" ", "\t") and line.strip():
            fields[-1][1].append("" if line.strip() == "." else line[1:].rstrip())
        else:
            return fields, lines[number:]
    return fields, []


def _of_fields(fields: list[tuple[str, list[str]]], rest: list[str]) -> Heading:
    known: dict[str, list[str]] = {}
    kept = []
    for key, lines in fields:
        name = {"subject": "description", "from": "author"}.get(key.lower(), key.lower())
        if name in ("description", "author") and name not in known:
            known[name] = lines
        else:
            key = "Co-authored-by" if name == "author" else key  # noqa: PLW2901
            kept.append(f"{key}: {' '.join(lines)}")
    said = [*known.get("description", []), *rest]
    first = next((i for i, line in enumerate(said) if line.strip()), len(said))
    text = "\n".join(said[first + 1 :]).strip("\n")
    body = "\n\n".join(part for part in (text, "\n".join(kept)) if part)
    return Heading(
        "".join(said[first : first + 1]).strip(), body, " ".join(known.get("author", []))
    )
