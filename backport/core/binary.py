"""Git's binary patches: zlib data in base 85, whole (`literal`) or as a delta."""

from __future__ import annotations

import zlib

from backport.core.patches import Binary

MAX_SIZE = 64 * 1024 * 1024


class BinaryError(ValueError):
    """A binary patch that cannot be read."""


def read_binary(lines: list[bytes]) -> tuple[Binary, int]:
    """The forward change at the start of `lines`, and how many lines both directions take."""
    data, delta, used = _block(lines)
    if used < len(lines) and lines[used].split(b" ")[0] in (b"literal", b"delta"):
        used += _block(lines[used:])[2]
    text = b"".join(line + b"\n" for line in lines[:used])
    return Binary(data, delta, text), used


def _block(lines: list[bytes]) -> tuple[bytes, bool, int]:
    kind, _, size = (lines[0] if lines else b"").partition(b" ")
    if kind not in (b"literal", b"delta") or not size.isdigit():
        raise BinaryError("neither literal nor delta data follow")
    if int(size) > MAX_SIZE:
        raise BinaryError(f"{int(size):,} bytes are over the limit of {MAX_SIZE:,}")
    packed = bytearray()
    used = 1
    while used < len(lines) and lines[used]:
        packed += _decode_line(lines[used])
        used += 1
    if used == len(lines):
        raise BinaryError("the data end early")
    return _inflate(bytes(packed), int(size)), kind == b"delta", used + 1


def _decode_line(line: bytes) -> bytes:
    import base64

    letter = line[0]
    length = letter - 64 if 65 <= letter <= 90 else letter - 70
    try:
        data = base64.b85decode(line[1:])
    except ValueError:
        raise BinaryError("a line is not base 85") from None
    if not 1 <= length <= len(data) <= length + 3:
        raise BinaryError("a line has another length than it says")
    return data[:length]


def _inflate(packed: bytes, size: int) -> bytes:
    try:
        data = zlib.decompressobj().decompress(packed, size + 1)
    except zlib.error:
        raise BinaryError("the data are damaged") from None
    if len(data) != size:
        raise BinaryError(f"the data have {len(data)} bytes, not {size}")
    return data


def patched(binary: Binary, before: bytes) -> bytes:
    """The content that the change leaves of `before`; raises BinaryError where it does not fit."""
    return _apply_delta(binary.data, before) if binary.delta else binary.data


def _apply_delta(delta: bytes, source: bytes) -> bytes:
    try:
        source_size, at = _varint(delta, 0)
        target_size, at = _varint(delta, at)
        if source_size != len(source) or target_size > MAX_SIZE:
            raise BinaryError("the delta was made for another content")
        out = bytearray()
        while at < len(delta):
            piece, at = _instruction(delta, at, source)
            out += piece
            if len(out) > target_size:
                break
    except IndexError:
        raise BinaryError("the delta ends early") from None
    if len(out) != target_size:
        raise BinaryError("the delta gives another size than it says")
    return bytes(out)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _instruction(delta: bytes, at: int, source: bytes) -> tuple[bytes, int]:
    code = delta[at]
    at += 1
    if code < 128:
        if not code or at + code > len(delta):
            raise BinaryError("the delta is damaged")
        return delta[at : at + code], at + code
    offset = size = 0
    for bit in range(4):
        if code & (1 << bit):
            offset |= delta[at] << (8 * bit)
            at += 1
    for bit in range(3):
        if code & (16 << bit):
            size |= delta[at] << (8 * bit)
            at += 1
    size = size or 0x10000
    if offset + size > len(source):
        raise BinaryError("the delta reads past the old content")
    return source[offset : offset + size], at
