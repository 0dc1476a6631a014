"""Git's object formats: ids, trees, commits and packs, computed without git.

Ids that are known before anything is written are what lets `check` and `apply`
be the same computation: the one reports them, the other also stores them.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from backport.core.paths import decode, decode_as, encode
from backport.core.trees import DIRECTORY

_TYPES = {"commit": 1, "tree": 2, "blob": 3}


class GitObject(NamedTuple):
    """One object: its kind (blob, tree or commit) and its content without header."""

    kind: str
    data: bytes

    def id(self, algorithm: str = "sha1") -> str:
        """Its name in a repository with that object format."""
        summed = _hash(algorithm)
        summed.update(b"%s %d\0" % (self.kind.encode(), len(self.data)))
        summed.update(self.data)
        return str(summed.hexdigest())


def _hash(algorithm: str) -> Any:
    return hashlib.new(algorithm, usedforsecurity=False)


@lru_cache(maxsize=128)
def blob_id(data: bytes, algorithm: str = "sha1") -> str:
    """The id that git gives this content."""
    return GitObject("blob", data).id(algorithm)


def parse_tree(data: bytes, algorithm: str = "sha1") -> dict[bytes, tuple[str, str]]:
    """The entries of a raw tree object: name -> (mode of six digits, object id)."""
    width = 20 if algorithm == "sha1" else 32
    entries = {}
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        null = data.index(b"\0", space)
        raw = data[null + 1 : null + 1 + width]
        entries[data[space + 1 : null]] = (data[at:space].decode().zfill(6), raw.hex())
        at = null + 1 + width
    return entries


def render_tree(entries: dict[bytes, tuple[str, str]]) -> GitObject:
    """The tree object of these entries, in git's order (folders sort as if they ended in `/`)."""

    def key(item: tuple[bytes, tuple[str, str]]) -> bytes:
        return item[0] + b"/" if item[1][0] == DIRECTORY else item[0]

    parts = [
        b"%s %s\0%s" % (mode.lstrip("0").encode(), name, bytes.fromhex(object_id))
        for name, (mode, object_id) in sorted(entries.items(), key=key)
    ]
    return GitObject("tree", b"".join(parts))


class Identity(NamedTuple):
    """A name and an address, and git's raw date: seconds since 1970 and the zone."""

    name: str
    email: str
    date: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}> {self.date}"


def render_commit(
    tree: str, parents: Iterable[str], author: Identity, committer: Identity, message: str
) -> GitObject:
    """The commit object; the message is kept byte for byte."""
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"author {author}", f"committer {committer}", "", message]
    return GitObject("commit", encode("\n".join(lines)))


def commit_text(data: bytes) -> tuple[str, str]:
    """Header and message of a commit object, by the encoding that it names, as git shows them.

    One that is unknown, wrong or no superset of ASCII changes nothing: the bytes survive.
    """
    head, _, message = data.partition(b"\n\n")
    named = re.search(rb"^encoding (.+)$", head, re.MULTILINE)
    charset = decode(named[1]) if named else ""
    if decode_as(b"tree", charset) != "tree":
        charset = ""
    return decode_as(head, charset), decode_as(message, charset)


def render_pack(objects: Iterable[GitObject], algorithm: str = "sha1") -> Iterator[bytes]:
    """A pack of whole objects, piece by piece, to be checked and indexed by git itself."""
    items = list(objects)
    summed = _hash(algorithm)
    head = b"PACK" + struct.pack(">II", 2, len(items))
    summed.update(head)
    yield head
    for item in items:
        piece = _pack_header(item) + zlib.compress(item.data, 1)
        summed.update(piece)
        yield piece
    yield summed.digest()


def _pack_header(item: GitObject) -> bytes:
    size = len(item.data)
    byte = (_TYPES[item.kind] << 4) | (size & 15)
    size >>= 4
    out = bytearray()
    while size:
        out.append(byte | 128)
        byte = size & 127
        size >>= 7
    out.append(byte)
    return bytes(out)
