"""Paths inside a tree: reading git's quoting, and refusing what must not be written."""

from __future__ import annotations

import re
from functools import lru_cache

_ESCAPES = {
    ord("a"): 7,
    ord("b"): 8,
    ord("t"): 9,
    ord("n"): 10,
    ord("v"): 11,
    ord("f"): 12,
    ord("r"): 13,
    ord('"'): 34,
    ord("\\"): 92,
}
_NAMES = {code: bytes([92, letter]) for letter, code in _ESCAPES.items()}
# code points that HFS+ leaves out when it compares names, so ".g\u200cit" is ".git" there
_IGNORED_BY_HFS = "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\ufeff" + "".join(
    map(chr, range(0x206A, 0x2070))
)


def decode(raw: bytes) -> str:
    """The text of a path or message; bytes that are not UTF-8 survive a round trip."""
    return raw.decode("utf-8", "surrogateescape")


def decode_as(raw: bytes, charset: str) -> str:
    """The text in a charset by name; as `decode` reads it where it is not what that claims."""
    try:
        text = raw.decode(charset or "utf-8")
        text.encode()  # UTF-7 can spell halves of characters, which no file can hold
    except (LookupError, ValueError):
        return decode(raw)
    return text


def encode(text: str) -> bytes:
    """The bytes that `decode` read."""
    return text.encode("utf-8", "surrogateescape")


def quote(path: str) -> bytes:
    """The path as git writes it in a diff header: quoted where it holds unusual bytes."""
    raw = encode(path)
    if all(32 <= byte < 127 and byte not in b'"\\' for byte in raw):
        return raw
    out = bytearray(b'"')
    for byte in raw:
        if byte in _NAMES:
            out += _NAMES[byte]
        elif 32 <= byte < 127:
            out.append(byte)
        else:
            out += b"\\%03o" % byte
    return bytes(out + b'"')


def unquote(raw: bytes) -> tuple[str, bytes]:
    """The path that a C-style quoted string names, and what follows the closing quote.

    Raises ValueError where the quoting is broken.
    """
    out = bytearray()
    at = 1
    while at < len(raw):
        byte = raw[at]
        if byte == 34:
            return decode(bytes(out)), raw[at + 1 :]
        if byte != 92:
            out.append(byte)
            at += 1
            continue
        octal = re.compile(rb"[0-3][0-7]{2}").match(raw, at + 1)
        if octal:
            out.append(int(octal.group(), 8))
            at += 4
        elif at + 1 < len(raw) and raw[at + 1] in _ESCAPES:
            out.append(_ESCAPES[raw[at + 1]])
            at += 2
        else:
            break
    raise ValueError("a quoted path is not closed or holds an unknown escape")


def unsafe(path: str) -> str | None:
    """Why `path` must not be written inside a repository, or None where it may be.

    Git refuses most of these itself, but only once it sees them, and GNU patch
    does not; so the answer is given before any of them runs.
    """
    if not path:
        return "it is empty"
    if path.startswith(("/", "\\")) or re.match(r"[A-Za-z]:[\\/]", path):
        return "it is absolute"
    if "\0" in path:
        return "it holds a NUL byte"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return f"it has the component {part!r}"
        if ".." in part.split("\\"):
            return f"the component {part!r} leads upwards on Windows"
        if means_git_folder(part):
            return f"the component {part!r} names git's own folder"
    return None


@lru_cache(maxsize=4096)  # the paths of one stack share their folders
def means_git_folder(part: str) -> bool:
    """True for `.git` and the names that some file system takes for it."""
    return any(alike(name) in (".git", "git~1") for name in part.split("\\"))


def alike(name: str) -> str:
    """The name as the least particular file system compares it: every spelling comes to one.

    Case does not count, HFS+ ignores some characters, and NTFS streams, trailing
    dots and spaces.
    """
    if not name.isascii():
        name = "".join(sign for sign in name if sign not in _IGNORED_BY_HFS)
    return name.lower().split(":", 1)[0].rstrip(" .")


def parents(path: str) -> list[str]:
    """Every folder above `path`, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]
