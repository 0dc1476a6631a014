"""Write patches in one canonical form, so that the same change is always the same bytes.

Zero commit, full blob ids, no stat, no mail signature, and after `@@` the
qualified name of the Python scope that holds the first change, which git ignores
and which later tells look-alike places apart.
"""

from __future__ import annotations

from backport.core.patches import FilePatch, Hunk, Patch
from backport.core.paths import encode, quote

ZERO_COMMIT = "0" * 40
_PREFIXES = {"old": b"a/", "new": b"b/"}


def render_patch(patch: Patch, commit: str = ZERO_COMMIT) -> bytes:
    """The patch as one mail of an mbox that `git am` takes."""
    head = [f"From {commit} Mon Sep 17 00:00:00 2001"]
    if patch.author.name or patch.author.email:
        head.append(f"From: {_header_word(patch.author.name)} <{patch.author.email}>")
    if patch.author.date:
        head.append(f"Date: {patch.author.date}")
    head += [f"Subject: [PATCH] {_header_word(patch.subject)}", *_mime(patch), ""]
    body = f"{patch.body}\n" if patch.body else ""
    return encode("\n".join(head) + f"\n{body}---\n") + render_diff(patch.files)


def _mime(patch: Patch) -> list[str]:
    if (patch.body + patch.subject + patch.author.name).isascii():
        return []
    return [
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=UTF-8",
        "Content-Transfer-Encoding: 8bit",
    ]


def _header_word(text: str) -> str:
    if text.isascii():
        return text
    from email.header import Header

    return Header(text, "utf-8", maxlinelen=10**6).encode()


def render_diff(files: tuple[FilePatch, ...]) -> bytes:
    """The diff of every file, in order, as git writes it."""
    return b"".join(b"".join(_file(file)) for file in files)


def _file(file: FilePatch) -> list[bytes]:
    old, new = (_side(file, side) for side in ("old", "new"))
    out = [b"diff --git %s %s\n" % (old, new), *_header(file)]
    if file.binary:
        return [*out, b"GIT binary patch\n", file.binary.text]
    if file.hunks:
        out.append(b"--- %s\n" % (b"/dev/null" if file.creates else _tabbed(old)))
        out.append(b"+++ %s\n" % (b"/dev/null" if file.deletes else _tabbed(new)))
        out += [_hunk(hunk) for hunk in file.hunks]
    return out


def _side(file: FilePatch, side: str) -> bytes:
    path = (file.old_path if side == "old" else file.new_path) or file.path
    quoted = quote(path)
    if quoted.startswith(b'"'):
        return b'"' + _PREFIXES[side] + quoted[1:]
    return _PREFIXES[side] + quoted


def _tabbed(name: bytes) -> bytes:
    """A name with a space ends in a tab, so that GNU patch reads it whole."""
    return name + b"\t" if b" " in name and not name.startswith(b'"') else name


def _header(file: FilePatch) -> list[bytes]:
    lines = []
    if file.creates:
        lines.append(f"new file mode {file.new_mode or '100644'}")
    elif file.deletes:
        lines.append(f"deleted file mode {file.old_mode or '100644'}")
    elif file.old_mode != file.new_mode:
        lines += [f"old mode {file.old_mode}", f"new mode {file.new_mode}"]
    out = [encode(line) + b"\n" for line in lines]
    if file.renames:
        verb = b"copy" if file.copy else b"rename"
        sides = ((b"from", file.old_path), (b"to", file.new_path))
        out += [b"%s %s %s\n" % (verb, word, quote(path or "")) for word, path in sides]
    if file.old_blob and (file.hunks or file.binary or file.creates or file.deletes):
        kept = f" {file.old_mode}" if file.old_mode and file.old_mode == file.new_mode else ""
        out.append(encode(f"index {file.old_blob}..{file.new_blob}{kept}\n"))
    return out


def _hunk(hunk: Hunk) -> bytes:
    old = _range(hunk.old_start, hunk.old_count)
    new = _range(hunk.new_start, hunk.new_count)
    section = f" {hunk.section}" if hunk.section else ""
    out = [encode(f"@@ -{old} +{new} @@{section}\n")]
    out += [
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
        for line in hunk.lines
    ]
    return b"".join(out)


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"
