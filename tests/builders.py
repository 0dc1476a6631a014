"""Readable makers for what the tests feed in: diffs, mails, patches, stacks and trees.

Diffs are written here with difflib alone, so that no test checks the code
under test against itself.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from backport.core.parsing import parse_diff
from backport.core.patches import Patch
from backport.core.stacks import Stack
from backport.core.trees import DIRECTORY, EXECUTABLE, REGULAR, SYMLINK, Entry

Text = str | bytes


def raw(text: Text) -> bytes:
    """The bytes of a text; a test may give either."""
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def numbered(first: int, last: int, word: str = "line") -> str:
    """Distinct lines such as `line 1`, one for each number."""
    return "".join(f"{word} {number}\n" for number in range(first, last + 1))


def git_blob_id(data: bytes) -> str:
    """The id that git gives a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


# ---------------------------------------------------------------- trees


@dataclass
class DictTree:
    """A tree held in a dict: path -> entry; the folders follow from the paths."""

    files: dict[str, Entry] = field(default_factory=dict)

    def entry(self, path: str) -> Entry | None:
        if path in self.files:
            return self.files[path]
        below = any(name.startswith(f"{path}/") for name in self.files)
        return Entry(DIRECTORY, b"") if below else None

    def paths(self) -> Mapping[str, str]:
        return dict.fromkeys(self.files, "")


def tree(files: Mapping[str, Text | Entry] | None = None) -> DictTree:
    """A tree of regular files; give an Entry where the mode matters."""
    return DictTree(
        {
            path: content if isinstance(content, Entry) else Entry(REGULAR, raw(content))
            for path, content in (files or {}).items()
        }
    )


def regular(content: Text) -> Entry:
    return Entry(REGULAR, raw(content))


def executable(content: Text) -> Entry:
    return Entry(EXECUTABLE, raw(content))


def symlink(to: str) -> Entry:
    return Entry(SYMLINK, raw(to))


# ---------------------------------------------------------------- diffs


def lines_of(data: bytes) -> list[bytes]:
    """The lines with their `\\n`; nothing else ends a line."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def hunks(before: Text, after: Text, context: int = 3, section: str = "") -> bytes:
    """The hunks of a unified diff, each with `section` after its ranges."""
    old, new = lines_of(raw(before)), lines_of(raw(after))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    out = []
    for group in matcher.get_grouped_opcodes(context):
        ranges = _range("-", group[0][1], group[-1][2]), _range("+", group[0][3], group[-1][4])
        out.append(raw(f"@@ {' '.join(ranges)} @@{section and ' ' + section}\n"))
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                out += [_line(b" ", line) for line in old[old_from:old_to]]
            else:
                out += [_line(b"-", line) for line in old[old_from:old_to]]
                out += [_line(b"+", line) for line in new[new_from:new_to]]
    return b"".join(out)


def _range(sign: str, start: int, end: int) -> str:
    first = start + 1 if end > start else start  # an empty range names the line before it
    return f"{sign}{first}" if end - start == 1 else f"{sign}{first},{end - start}"


def _line(sign: bytes, line: bytes) -> bytes:
    mark = b"" if line.endswith(b"\n") else b"\n\\ No newline at end of file\n"
    return sign + line + mark


def diff(
    path: str,
    before: Text | None,
    after: Text | None,
    *,
    context: int = 3,
    section: str = "",
    index: bool = False,
    mode: str = REGULAR,
) -> bytes:
    """The git diff of one file; None is the side where it does not exist.

    With `index` it names the blobs, so that a target with the very pre-image is recognised.
    """
    old, new = (None if side is None else raw(side) for side in (before, after))
    out = [f"diff --git a/{path} b/{path}\n"]
    if old is None:
        out.append(f"new file mode {mode}\n")
    if new is None:
        out.append(f"deleted file mode {mode}\n")
    if index:
        ids = ["0" * 40 if side is None else git_blob_id(side) for side in (old, new)]
        out.append(f"index {ids[0]}..{ids[1]}{'' if None in (old, new) else ' ' + mode}\n")
    body = hunks(old or b"", new or b"", context, section)
    if body:
        out.append("--- /dev/null\n" if old is None else f"--- a/{path}\n")
        out.append("+++ /dev/null\n" if new is None else f"+++ b/{path}\n")
    return raw("".join(out)) + body


def mail(
    subject: str,
    diff: bytes,
    body: str = "",
    author: str = "Dev One <dev1@example.com>",
    headers: str = "",
) -> bytes:
    """A mail as `git format-patch` writes it; `subject` is the whole header, tags included."""
    head = (
        "From 1111111111111111111111111111111111111111 Mon Sep 17 00:00:00 2001\n"
        f"From: {author}\n"
        "Date: Mon, 16 Jun 2025 00:00:00 +0000\n"
        f"Subject: {subject}\n{headers}\n"
    )
    return raw(head + (f"{body}\n" if body else "") + "---\n") + diff + b"-- \n2.39.5\n\n"


# ---------------------------------------------------------------- patches and stacks


def patch(name: str, *diffs: bytes, subject: str = "") -> Patch:
    """A patch with these diffs, one or more files each."""
    return Patch(name, subject or f"Change {name}", parse_diff(b"".join(diffs)))


def stack(*patches: Patch | bytes, name: str = "stack", title: str = "A change") -> Stack:
    """A stack of patches; a bare diff stands for a patch named after its place, `p1` first."""
    made = tuple(
        patch(f"p{number}", item) if isinstance(item, bytes) else item
        for number, item in enumerate(patches, 1)
    )
    return Stack(name, title, "fork", "v1", "Why it is made.", made, digest="0123456789ab")
