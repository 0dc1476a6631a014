"""Binary changes: git's literals and deltas are read, damaged ones are told apart."""

from __future__ import annotations

import base64
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backport.core.binary import BinaryError, patched, read_binary
from backport.core.patches import Binary


def packed(kind: str, data: bytes, says: int | None = None) -> list[bytes]:
    """The lines of one direction, as git writes them, the empty one at the end included."""
    text = zlib.compress(data)
    lines = [f"{kind} {len(data) if says is None else says}".encode()]
    for at in range(0, len(text), 52):
        piece = text[at : at + 52]
        letter = len(piece) + (64 if len(piece) <= 26 else 70)
        lines.append(bytes([letter]) + base64.b85encode(piece, pad=True))
    return [*lines, b""]


def delta(before: int, after: int, *instructions: bytes) -> bytes:
    """A git delta for sizes below 128."""
    return bytes([before, after]) + b"".join(instructions)


def refusal(lines: list[bytes]) -> str:
    with pytest.raises(BinaryError) as caught:
        read_binary(lines)
    return str(caught.value)


# written by git itself: `abc\0def\n` became `xyz\0\1\2\n`
BY_GIT = [b"literal 7", b"Ocmb=ZtYTnf;sO8&m;reJ", b"", b"literal 8", b"PcmYdHN@hq&P2&Op3#9^J", b""]


def test_a_literal_that_git_wrote_is_read() -> None:
    binary, used = read_binary([*BY_GIT, b"diff --git a/g b/g"])
    assert (binary.data, binary.delta, used) == (b"xyz\0\1\2\n", False, 6)
    assert binary.text == b"".join(line + b"\n" for line in BY_GIT)


def test_one_direction_is_enough() -> None:
    assert read_binary(BY_GIT[:3])[1] == 3


def test_what_follows_the_data_is_not_read() -> None:
    assert read_binary([*BY_GIT[:3], b"-- ", b"2.39.5"])[1] == 3


@given(st.binary(max_size=2000))
def test_any_content_survives(data: bytes) -> None:
    binary, _ = read_binary(packed("literal", data))
    assert patched(binary, b"whatever was there") == data


@pytest.mark.parametrize(
    ("instructions", "after"),
    [
        ([b"\x03new"], b"new"),
        ([b"\x90\x04"], b"0123"),
        ([b"\x91\x06\x04"], b"6789"),
        ([b"\x91\x08\x02", b"\x01-", b"\x90\x02"], b"89-01"),
    ],
    ids=["insert", "copy from the start", "copy from an offset", "all together"],
)
def test_a_delta_copies_and_inserts(instructions: list[bytes], after: bytes) -> None:
    lines = packed("delta", delta(10, len(after), *instructions))
    assert patched(read_binary(lines)[0], b"0123456789") == after


def test_a_delta_reads_offsets_and_sizes_of_several_bytes() -> None:
    source = bytes(range(256)) * 300
    sizes = b"\x80\xd8\x04" + b"\x80\xa0\x04"  # 76,800 and 69,632, seven bits a byte
    copies = b"\x80" + b"\xb3\x01\x01\x00\x10"  # 65,536 bytes from 0, 4,096 from 257
    change = Binary(sizes + copies, delta=True, text=b"")
    assert patched(change, source) == source[:65536] + source[257 : 257 + 4096]


BAD_DELTAS = {
    "made for another content": (delta(9, 3, b"\x03new"), "the delta was made for another content"),
    "reads past the end": (delta(10, 4, b"\x91\x08\x04"), "the delta reads past the old content"),
    "gives less than it says": (
        delta(10, 9, b"\x03new"),
        "the delta gives another size than it says",
    ),
    "gives more than it says": (
        delta(10, 2, b"\x03new"),
        "the delta gives another size than it says",
    ),
    "holds the reserved instruction": (delta(10, 3, b"\x00"), "the delta is damaged"),
    "inserts more than follows": (delta(10, 5, b"\x05new"), "the delta is damaged"),
    "ends within an instruction": (delta(10, 4, b"\x91"), "the delta ends early"),
    "has no sizes": (b"", "the delta ends early"),
}


@pytest.mark.parametrize(("data", "why"), BAD_DELTAS.values(), ids=BAD_DELTAS.keys())
def test_a_delta_that_does_not_fit_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(BinaryError) as caught:
        patched(Binary(data, delta=True, text=b""), b"0123456789")
    assert str(caught.value) == why


def test_a_small_delta_cannot_fill_the_memory() -> None:
    source = bytes(0x10000)
    copies_of_all = b"\x80" * 100_000  # 6.5 GB, were they all made
    with pytest.raises(BinaryError, match="another size than it says"):
        patched(Binary(b"\x80\x80\x04\x01" + copies_of_all, delta=True, text=b""), source)


BAD_LINES = {
    "nothing": ([], "neither literal nor delta data follow"),
    "another word": ([b"figurative 3", b""], "neither literal nor delta data follow"),
    "no size": ([b"literal", b""], "neither literal nor delta data follow"),
    "a size that is no number": ([b"literal -3", b""], "neither literal nor delta data follow"),
    "a size over the limit": (
        [b"literal 67108865", b""],
        "67,108,865 bytes are over the limit of 67,108,864",
    ),
    "no empty line at the end": (BY_GIT[:2], "the data end early"),
    "a letter outside base 85": (
        [b"literal 7", b"Ocmb=ZtYTnf;sO8&m; eJ", b""],
        "a line is not base 85",
    ),
    "a line shorter than it says": (
        [b"literal 7", b"Zcmb=Z", b""],
        "a line has another length than it says",
    ),
    "a line longer than it says": (
        [b"literal 7", b"Acmb=ZtYTnf;sO8&m;reJ", b""],
        "a line has another length than it says",
    ),
    "data that zlib refuses": ([b"literal 7", b"D00000", b""], "the data are damaged"),
    "more data than it says": (packed("literal", b"abc", 2), "the data have 3 bytes, not 2"),
    "less data than it says": (packed("literal", b"abc", 4), "the data have 3 bytes, not 4"),
    "a damaged way back": (
        [*BY_GIT[:3], *packed("literal", b"abc", 4)],
        "the data have 3 bytes, not 4",
    ),
}


@pytest.mark.parametrize(("lines", "why"), BAD_LINES.values(), ids=BAD_LINES.keys())
def test_damaged_data_are_refused(lines: list[bytes], why: str) -> None:
    assert refusal(lines) == why
