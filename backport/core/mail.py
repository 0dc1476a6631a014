"""Patch files as mail: the header that `git format-patch` writes, read and written.

Plain headers and bodies, which is what the library holds, are read here; the
`email` package, which costs more than all the rest of a run, is imported only
for what is encoded.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from backport.core.cursors import PatchError, split_lines
from backport.core.parsing import parse_diff
from backport.core.patches import Author, Patch
from backport.core.paths import decode

_SEPARATOR = re.compile(rb"^From [0-9a-f]{40,64} Mon Sep 17 00:00:00 2001$", re.MULTILINE)
_HEADER = re.compile(rb"^([A-Za-z][A-Za-z0-9-]*): ?(.*)$")
_TAG = re.compile(r"\s*\[[^\]]*\bPATCH\b[^\]]*\]\s*", re.IGNORECASE)
_REPLY = re.compile(r"((?:\s*\[[^\]]*\])*)\s*re:\s*", re.IGNORECASE)
_ADDRESS = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|(.*?))\s*<([^<>]*)>\s*')
_BARE_ADDRESS = re.compile(r"\s*(\S+@\S+)\s*(?:\((.*)\)\s*)?")
HTML = (
    "the mail is HTML, which writes < and & otherwise than the files have them; "
    "fetch the .patch or the plain text"
)
MAX_HEADER = 16_384  # bytes; no mail program takes lines as long as that
_KINDS = (
    (b"", "it is empty"),
    (b"\x1f\x8b", "it is gzip data; unpack it first"),
    (b"PK\x03\x04", "it is a zip archive; unpack it first"),
    (b"\xff\xfe", "it is UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "it is UTF-16 text; save it as UTF-8"),
    (b"\xef\xbb\xbf", "it starts with a byte order mark; save it without"),
    (b"{", "it is JSON, not a patch (the answer of a web service?)"),
    (b"<", "it is HTML or XML, not a patch (a sign-in page?)"),
)


class _Mail(NamedTuple):
    """A mail's decoded headers, the line its body starts on, and the body."""

    headers: dict[str, str]
    body: bytes
    body_line: int


def split_mbox(data: bytes) -> list[tuple[int, bytes]]:
    """The mails of an mbox with the line each starts on; a lone diff is one mail."""
    starts = [found.start() for found in _SEPARATOR.finditer(data)]
    if not starts or data[: starts[0]].strip():
        starts.insert(0, 0)
    ends = [*starts[1:], len(data)]
    return [
        (data.count(b"\n", 0, start) + 1, data[start:end])
        for start, end in zip(starts, ends, strict=True)
    ]


def parse_patch(data: bytes, name: str, source: str = "", first_line: int = 1) -> Patch:
    """The one patch that `data` holds: message, author and diff.

    Raises PatchError with the line in the file for whatever cannot be read,
    a cover letter and a commit without changes included.
    """
    _refuse_other_kinds(data, first_line)
    if not data.startswith(b"From "):
        from backport.core.exports import as_mail

        data = as_mail(data)
    mail = _read_mail(data, first_line)
    if b"\0" in mail.body or any("\0" in value for value in mail.headers.values()):
        problem = "the mail holds an encoded NUL character, which no commit can hold; take it out"
        raise PatchError(first_line, problem)
    files = parse_diff(mail.body, mail.body_line)
    if not files:
        raise PatchError(first_line, _nothing_inside(mail))
    return Patch(
        name,
        _subject(mail.headers.get("subject", "")),
        files,
        _message(mail),
        _author(mail.headers),
        source,
    )


def _refuse_other_kinds(data: bytes, line: int) -> None:
    head = data[:512].lstrip()
    for magic, problem in _KINDS:
        if (head.startswith(magic) if magic else not head) and not data.startswith(b"diff "):
            raise PatchError(line, f"this is not a patch: {problem}")
    if b"\0" in data:
        raise PatchError(line, "this is not a patch: it holds NUL bytes")


def _nothing_inside(mail: _Mail) -> str:
    if re.match(r".*\[[^\]]*\b0+/\d+", mail.headers.get("subject", "")):
        return "this is a cover letter, not a patch; leave it out"
    if mail.headers:
        return "this mail holds no diff (an empty commit, or a file that was cut short?)"
    return "this is not a patch: no diff is in it"


def _read_mail(data: bytes, first_line: int) -> _Mail:
    """Headers and body; where there are no headers everything is body."""
    lines = data.split(b"\n")
    at = 1 if lines[0].startswith(b"From ") else 0
    headers: dict[str, str] = {}
    last = ""
    while at < len(lines):
        found = _HEADER.match(lines[at].removesuffix(b"\r"))
        if found:
            last = decode(found.group(1)).lower()
            headers[last] = decode(found.group(2))
        elif last and lines[at][:1] in (b" ", b"\t") and lines[at].strip():
            headers[last] += " " + decode(lines[at].strip())
        else:
            break
        if len(headers[last]) > MAX_HEADER:
            problem = f"the header {last!r} is longer than {MAX_HEADER:,} bytes"
            raise PatchError(first_line + at, problem)
        at += 1
    if not headers or at >= len(lines) or lines[at].strip():
        return _Mail({}, data, first_line)
    body = b"\n".join(lines[at + 1 :])
    return _decoded(_Mail(headers, body, first_line + at + 1), data)


def _decoded(mail: _Mail, data: bytes) -> _Mail:
    """The mail with encoded words and transfer encodings undone."""
    headers = {key: _decode_words(value) for key, value in mail.headers.items()}
    content = headers.get("content-type", "").lower()
    if "format=flowed" in content:
        raise PatchError(
            mail.body_line, "the mail is format=flowed, which breaks patches; ask for plain text"
        )
    if content.startswith("text/html"):
        raise PatchError(mail.body_line, HTML)
    if content.startswith("multipart/"):
        problem = "the mail has several parts; `backport import` takes the patch out of it"
        raise PatchError(mail.body_line, problem)
    encoding = headers.get("content-transfer-encoding", "").lower()
    if encoding in ("quoted-printable", "base64"):
        from email import message_from_bytes

        head = data.partition(b"\n")[2] if data.startswith(b"From ") else data
        body = message_from_bytes(head).get_payload(decode=True)
        if isinstance(body, bytes):
            return _Mail(headers, body, mail.body_line)
    return _Mail(headers, mail.body, mail.body_line)


def _decode_words(value: str) -> str:
    if "=?" not in value:
        return value
    from email.errors import MessageError
    from email.header import decode_header, make_header

    try:
        return str(make_header(decode_header(value)))
    except (LookupError, ValueError, MessageError):
        return value


def _subject(raw: str) -> str:
    """The subject without the `[PATCH ...]` tag in any place; other tags are the author's.

    A `Re:` above the tag is the mail program's; below it, which is where this tool writes
    subjects, it is the author's.
    """
    found = _TAG.search(raw)
    if not found:
        return _without_reply(raw).strip()
    return f"{_without_reply(raw[: found.start()]).rstrip()} {raw[found.end() :]}".strip()


def _without_reply(text: str) -> str:
    while found := _REPLY.match(text):
        text = f"{found.group(1)} {text[found.end() :]}"
    return text


def _author(headers: dict[str, str]) -> Author:
    sender, date = headers.get("from", ""), headers.get("date", "")
    found = _ADDRESS.fullmatch(sender)
    if found:
        quoted, plain, email = found.groups()
        name = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        return Author(name.strip(), email.strip(), date)
    bare = _BARE_ADDRESS.fullmatch(sender)
    if bare:
        return Author(bare.group(2) or bare.group(1), bare.group(1), date)
    return Author(sender.strip(), "", date)


def _message(mail: _Mail) -> str:
    """The body of the commit message: what stands above the `---` line or the diff."""
    kept = []
    for line in split_lines(mail.body):
        if line == b"---" or line.startswith((b"diff --git ", b"--- ", b"Index: ")):
            break
        if line.startswith(b"diff -r ") and re.match(rb"diff -r [0-9a-f]{12} ", line):
            break  # so Mercurial begins a diff
        kept.append(decode(line))
    return "\n".join(kept).strip("\n")
