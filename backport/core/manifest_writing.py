"""Write manifests and single entries in the form that people write them in."""

from __future__ import annotations

import re
from collections.abc import Sequence

from backport.core.manifests import (
    Accept,
    Adaptation,
    Evidence,
    Manifest,
    Reanchor,
    Replace,
    Skip,
)
from backport.core.patches import HunkId
from backport.core.stack_writing import quoted

Entry = Adaptation | Skip | Accept


def render_manifest(manifest: Manifest, remarks: Sequence[str] = ()) -> str:
    """The whole manifest: entries in the order of its stacks, and remarks as comments below."""
    head = [
        "schema = 1",
        f"base   = {quoted(manifest.base)}",
        f"branch = {quoted(manifest.branch)}",
        "stacks = [",
        *(f"  {quoted(name)}," for name in manifest.stacks),
        "]",
    ]
    blocks = [entry_lines(entry) for entry in _ordered(manifest)]
    lines = [*head, *(line for block in blocks for line in ["", *block])]
    if remarks:
        lines += ["", *(f"# {remark}".rstrip() for remark in remarks)]
    return "\n".join(lines) + "\n"


def _ordered(manifest: Manifest) -> list[Entry]:
    out: list[Entry] = []
    for name in manifest.stacks:
        skip = manifest.skip_of(name)
        out += [skip] if skip else []
        out += [entry for entry in manifest.adaptations if entry.hunk.stack == name]
    return [*out, *manifest.accepts]


def patch_file(hunk: HunkId) -> str:
    """The file, beside the manifest, for what a `replace` puts in a hunk's place."""
    file = re.sub(r"[^A-Za-z0-9_.]+", "-", hunk.path.rpartition("/")[2]).strip("-.")
    return f"{hunk.patch}-{file or 'hunk'}-{hunk.ordinal}.patch"


def entry_lines(entry: Entry) -> list[str]:
    """One entry as its lines of TOML."""
    if isinstance(entry, Accept):
        keys = ("code", "path", "symbol", "reason")
        return ["[[accept]]", *(f"{key:6} = {quoted(getattr(entry, key))}" for key in keys)]
    verb = type(entry).__name__.lower()
    lines = [f"[[{verb}]]"]
    if isinstance(entry, Skip):
        lines.append(f"stack  = {quoted(entry.stack)}")
    else:
        lines.append(f"hunk   = {quoted(str(entry.hunk))}")
    if isinstance(entry, Reanchor):
        lines.append(f"put    = {quoted(str(entry.put))}")
    if isinstance(entry, Replace):
        lines.append(f"patch  = {quoted(entry.patch)}")
    return [*lines, f"reason = {quoted(entry.reason)}", *when_lines(verb, entry.when)]


def when_lines(verb: str, when: Sequence[Evidence]) -> list[str]:
    """The evidence: on one line where it is one statement, else as a table of its own."""
    sides = {
        key: [statement_text(item) for item in when if item.present == (key == "present")]
        for key in ("present", "absent")
    }
    if len(when) == 1:
        key = "present" if when[0].present else "absent"
        return [f"when   = {{ {key} = {quoted(sides[key][0])} }}"]
    lines = [f"[{verb}.when]"]
    for key, texts in sides.items():
        if len(texts) == 1:
            lines.append(f"{key} = {quoted(texts[0])}")
        elif texts:
            lines += [f"{key} = [", *(f"  {quoted(text)}," for text in texts), "]"]
    return lines


def statement_text(statement: Evidence) -> str:
    """The statement as a manifest spells it, without its side."""
    return str(statement).partition(" ")[2]
