"""One file made into a compressed record and its words; also run as a child process.

Children get file contents through their standard input and hand everything back at
the end. They are started afresh rather than forked: the caller may have threads,
and may be a script without an importable name.
"""

from __future__ import annotations

import gc
import marshal
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from backport.audit.codec import encode
from backport.audit.extract import extract, mentions
from backport.audit.records import UNREADABLE
from backport.audit.schemas import native_record

NATIVE = (".cpp", ".cc", ".cu", ".cxx", ".hip")

_HEAD = struct.Struct(">I?I")
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]);from backport.audit.worker import serve; serve()"
)


class Reading(NamedTuple):
    """What reading one file gives: its compressed record, and its words on one line each."""

    raw: bytes
    words: str


NOTHING = Reading(zlib.compress(encode(UNREADABLE), 1), "")
"""What a file gives that has no source: a symbolic link, a submodule."""


def read(native: bool, data: bytes) -> Reading:
    """Read one file: a C++ file for its schemas, any other as Python."""
    if native:
        return Reading(zlib.compress(encode(native_record(data)), 1), "")
    return Reading(zlib.compress(encode(extract(data)), 1), "\n".join(mentions(data)))


@contextmanager
def started() -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """A child process that reads files: its input and its output."""
    root = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-I", "-S", "-c", _START, root]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as child:
        if child.stdin is not None and child.stdout is not None:
            yield child.stdin, child.stdout


def send(stream: IO[bytes], number: int, native: bool, data: bytes) -> None:
    """Give a child one file."""
    stream.write(_HEAD.pack(number, native, len(data)))
    stream.write(data)


def receive(stream: IO[bytes]) -> dict[int, Reading]:
    """All that a child has read, by the numbers it was given."""
    return {number: Reading(*reading) for number, *reading in marshal.loads(stream.read())}  # noqa: S302


def serve() -> None:
    """The child: read files until the input ends, then hand back everything."""
    gc.disable()
    found = []
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while head := source.read(_HEAD.size):
        number, native, size = _HEAD.unpack(head)
        found.append((number, *read(native, source.read(size))))
    sink.write(marshal.dumps(found))
