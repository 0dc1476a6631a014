"""A table on disk: one file per tree, written whole or not at all, checked when read.

A file starts with a digest of all that follows. One that is damaged, cut short or of
another version reads as absent, and the table is built again.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import sys
import tempfile
import zlib
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from backport.audit.codec import decode
from backport.audit.index import Index, Postings
from backport.audit.records import Record, Registration

_MAKERS = (
    *("bodies", "codec", "extract", "facts", "functions", "guards", "index", "paths", "records"),
    *("registrations", "schemas", "served", "store", "terms", "worker"),
)
"""The modules that decide what a table holds: a table of other code is of no use."""


def _code() -> bytes:
    digest = hashlib.blake2b(digest_size=8)
    for name in _MAKERS:
        with contextlib.suppress(OSError):
            digest.update(Path(__file__).with_name(f"{name}.py").read_bytes())
    return digest.hexdigest().encode()


_MAGIC = b"backport-audit %s %d.%d\n" % (_code(), *sys.version_info[:2])
_DIGEST = 20
_KEPT = 8


@dataclass(frozen=True)
class Stored:
    """The table of one tree: encoded records in one run of bytes, and its index."""

    blobs: Mapping[str, str]
    ends: memoryview[int]
    data: bytes
    index: Index
    postings: Postings

    def raw(self, number: int) -> bytes:
        """The compressed record of the file with this number (its place in `blobs`)."""
        start = self.ends[number - 1] if number else 0
        return self.data[start : self.ends[number]]

    def record(self, number: int) -> Record:
        return decode(zlib.decompress(self.raw(number)))


def stored(
    blobs: Mapping[str, str], raws: Iterable[bytes], index: Index, postings: Postings
) -> Stored:
    """A table in memory, ready to be written."""
    kept = list(raws)
    ends, total = array("I"), 0
    for raw in kept:
        total += len(raw)
        ends.append(total)
    return Stored(blobs, memoryview(ends), b"".join(kept), index, postings)


def key_of(blobs: Mapping[str, str]) -> str:
    """A name for exactly these files: the same for equal trees, whatever made them."""
    text = "\n".join(f"{blob} {path}" for path, blob in sorted(blobs.items()))
    data = text.encode("utf-8", "surrogateescape")
    return hashlib.blake2b(_MAGIC + data, digest_size=_DIGEST).hexdigest()


def load(folder: Path, key: str) -> Stored | None:
    """The table of that key; None where there is none that can be trusted."""
    try:
        return _read((folder / f"{key}.table").read_bytes())
    except (OSError, ValueError, EOFError, TypeError, KeyError):
        return None


def newest(folder: Path) -> Stored | None:
    """The table written last: most files of a neighbouring release are the same."""
    with contextlib.suppress(OSError):
        for path in sorted(folder.glob("*.table"), key=_written, reverse=True):
            return load(folder, path.stem)
    return None


def save(folder: Path, key: str, table: Stored) -> None:
    """Write the table; a folder that cannot be written to is no reason to fail."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(_parts(table))
            Path(temporary).replace(folder / f"{key}.table")
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        _forget(folder)


def _parts(table: Stored) -> list[bytes]:
    registrations = {p: tuple(map(tuple, r)) for p, r in table.index.registrations.items()}
    head = marshal.dumps(
        (
            dict(table.blobs),
            table.ends.tobytes(),
            (table.index.extends, table.index.defined, table.index.loose, table.index.test_loose),
            registrations,
            (table.index.operators, table.index.filled),
            (table.postings.words, table.postings.starts, table.postings.files),
        )
    )
    body = [len(head).to_bytes(8, "big"), head, table.data]
    return [_MAGIC, _digest(*body), *body]


def _read(data: bytes) -> Stored | None:
    view = memoryview(data)
    start = len(_MAGIC) + _DIGEST
    if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC) : start] != _digest(view[start:]):
        return None
    size = int.from_bytes(view[start : start + 8], "big")
    head = view[start + 8 : start + 8 + size]
    blobs, ends, sums, registrations, operators, postings = marshal.loads(head)  # noqa: S302
    restored = {p: tuple(map(Registration._make, r)) for p, r in registrations.items()}
    return Stored(
        blobs,
        memoryview(ends).cast("I"),
        data[start + 8 + size :],
        Index(sums[0], sums[1], sums[2], sums[3], restored, *operators),
        Postings(*postings),
    )


def _digest(*parts: bytes | memoryview) -> bytes:
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for part in parts:
        digest.update(part)
    return digest.digest()


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _forget(folder: Path) -> None:
    """Keep the tables used last; the rest is quickly built again."""
    for path in sorted(folder.glob("*.table"), key=_written, reverse=True)[_KEPT:]:
        path.unlink(missing_ok=True)
