"""Mailboxes as maintainers meet them: many mails, odd encodings, and mails that are no patch.

What the library holds is plain and read by `mail`; here each mail of a mailbox is
first brought into that plain form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from email import message_from_bytes
from email.message import Message
from typing import NamedTuple

from backport.core.cursors import PatchError
from backport.core.exports import as_mail, split_changesets
from backport.core.mail import HTML, parse_patch
from backport.core.patches import Patch
from backport.core.paths import decode_as, encode

_SEPARATOR = re.compile(
    rb"^From \S.*\b\d{1,2}:\d\d(?::\d\d)?\b.*\b(?:19|20)\d\d\b.*\r?$", re.MULTILINE
)
_GIT_SEPARATOR = re.compile(rb"From ([0-9a-f]{40,64}) Mon Sep 17 00:00:00 2001")
_DIFF = re.compile(
    rb"^(?:---$|diff --git |diff --cc |diff --combined |--- \S|Index: )", re.MULTILINE
)
_CHANGES = re.compile(rb"^(?:diff --|@@ -|--- \S)", re.MULTILINE)
_A_DIFF = re.compile(rb"diff --git |@@ -\d")  # wherever it stands among tags
_COVER = re.compile(r"\[[^\]]*\b0+/\d+[^\]]*\]")
_IN_BODY = re.compile(rb"(From|Date|Subject): ?(.+)$", re.IGNORECASE)
_ENCODED = ("base64", "quoted-printable")
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_SAME_AS_UTF8 = ("", "utf-8", "utf8", "us-ascii", "ascii")
_PATCH_TYPES = ("text/x-patch", "text/x-diff", "application/x-patch", "application/octet-stream")


class Letter(NamedTuple):
    """One mail of a mailbox: the patch in it, or why there is none (`cover`, `empty`).

    `commit` is the full id that git noted for it, where it is not all zeros; `line` the
    line of `source`, the mailbox, that it starts on; `id` its Message-ID.
    """

    patch: Patch | None
    kind: str
    subject: str
    body: str
    commit: str
    source: str
    line: int
    id: str = ""

    @property
    def where(self) -> str:
        """The place to tell a person."""
        return f"{self.source}:{self.line}"


def first_twice(letters: Sequence[Letter]) -> tuple[Letter, Letter] | None:
    """The first mail that is there a second time, behind the one that it repeats.

    A series may make one change twice, where it was taken back in between: those are two mails
    with ids of their own, and between them one that changes the same files.
    """
    for at, letter in enumerate(letters):
        for before, other in enumerate(letters[:at]):
            if letter.patch and other.patch and letter.patch.files == other.patch.files:
                same_id = (letter.id and letter.id == other.id) or (
                    letter.commit and letter.commit == other.commit
                )
                between = letters[before + 1 : at]
                if same_id or not any(_paths(letter) & _paths(found) for found in between):
                    return other, letter
    return None


def _paths(letter: Letter) -> set[str]:
    files = letter.patch.files if letter.patch else ()
    return {path for file in files for path in (file.old_path, file.new_path) if path}


def read_mailbox(data: bytes, source: str) -> list[Letter]:
    """Every mail of the mailbox, in order; a file that is a bare diff is one of them.

    Raises PatchError, with the line of the mailbox, for what cannot be read.
    """
    return [_letter(mail, source, line) for line, mail in _split(data)]


def _split(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The mails and their first lines; a separator stands first or below a blank line."""
    starts = split_changesets(data) or [
        found.start()
        for found in _SEPARATOR.finditer(data)
        if found.start() == 0
        or data[: found.start()].endswith((b"\n\n", b"\n\r\n", b"-- \n"))
        or _GIT_SEPARATOR.match(found.group())
    ]
    if not starts or data[: starts[0]].strip():
        starts.insert(0, 0)
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        yield data.count(b"\n", 0, start) + 1, data[start:end]


def _letter(mail: bytes, source: str, line: int) -> Letter:
    plain = plain_mail(mail, line)
    noted = _GIT_SEPARATOR.match(plain)
    commit = noted.group(1).decode() if noted else ""
    commit = "" if not commit.strip("0") else commit
    head = message_from_bytes(plain.partition(b"\n")[2] if plain.startswith(b"From ") else plain)
    is_mail = bool(head.get("Subject") or head.get("From"))
    if is_mail and not _CHANGES.search(plain):
        subject, body = _words(plain)
        kind = "cover" if _COVER.search(str(head.get("Subject", ""))) else "empty"
        return Letter(None, kind, subject, body, commit, source, line)
    patch = parse_patch(plain, "patch", source, line)
    told = str(head.get("Message-ID", "")).strip()
    return Letter(patch, "patch", patch.subject, patch.body, commit, source, line, told)


_A_CHANGE = b"---\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n"


def _words(plain: bytes) -> tuple[str, str]:
    """Subject and text of a mail without a patch, read as those of one with a patch."""
    text = plain.partition(b"\n---\n")[0].rstrip(b"\n")
    text = re.sub(rb"\n(?:-- \n.*|--\n\d[^\n]*)\Z", b"", text, flags=re.DOTALL)
    if b"\n\n" not in text:
        text += b"\n"
    patch = parse_patch(text + b"\n" + _A_CHANGE, "patch")
    return patch.subject, patch.body


# ---------------------------------------------------------------- into plain form


def plain_mail(mail: bytes, line: int = 1) -> bytes:
    """The mail with what was done to it on the way undone; a plain one comes back as it is.

    Carriage returns that stand at the end of every line, transfer encodings, charsets,
    parts, `>From `, and headers in the body that replace the sender's.
    """
    mail = as_mail(_without_transport_ends(mail))
    separator, newline, rest = mail.partition(b"\n")
    if not separator.startswith(b"From "):
        separator, newline, rest = b"", b"", mail
    parsed = message_from_bytes(rest)
    encoding = parsed.get("Content-Transfer-Encoding", "").lower()
    foreign = _charset(parsed) not in _SAME_AS_UTF8
    if _is_html(parsed) or parsed.is_multipart() or foreign or encoding in _ENCODED:
        rest = _rebuilt(parsed, line)
    if separator and not _GIT_SEPARATOR.match(separator):
        rest = _in_message(rest, lambda text: _QUOTED_FROM.sub(rb"\1", text))
    body = rest.partition(b"\n\n")[2].lstrip(b"\n")
    sent_by_hg = split_changesets(body) == [0]
    return separator + newline + (as_mail(body) if sent_by_hg else _with_headers_of_body(rest))


def _without_transport_ends(mail: bytes) -> bytes:
    """The mail with LF where every single line ends in CRLF: then the mail has it, not the file."""
    whole = mail.endswith(b"\n")
    lines = mail.split(b"\n")
    ends = lines[:-1] if whole else lines
    if all(text.endswith(b"\r") for text in ends) and ends:
        return mail.replace(b"\r\n", b"\n")
    return mail


def _is_html(parsed: Message) -> bool:
    return parsed.get_content_type() == "text/html"


def _charset(parsed: Message) -> str:
    return (parsed.get_content_charset() or "").lower()


def _rebuilt(parsed: Message, line: int) -> bytes:
    """The mail with one plain body: the text parts, decoded, the message in UTF-8."""
    texts = _parts(parsed, "text/plain", *_PATCH_TYPES)
    if not texts and any(_A_DIFF.search(_text(part)) for part in _parts(parsed, "text/html")):
        raise PatchError(line, HTML)
    if any(part.get_param("format", "") == "flowed" for part in texts):
        raise PatchError(
            line, "the mail is format=flowed, which breaks patches; ask for plain text"
        )
    body = b"\n".join(_text(part) for part in texts)
    kept = [
        (key, value)
        for key, value in parsed.raw_items()
        if not key.lower().startswith(("content-", "mime-version"))
    ]
    head = b"".join(_header(key, str(value)) for key, value in kept)
    return head + b"\n" + body


def _parts(parsed: Message, *kinds: str) -> list[Message]:
    return [part for part in parsed.walk() if part.get_content_type() in kinds]


def _header(key: str, value: str) -> bytes:
    return f"{key}: {value}\n".encode("utf-8", "surrogateescape")


def _text(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    data = _without_transport_ends(payload if isinstance(payload, bytes) else b"")
    charset = _charset(part)
    if charset in _SAME_AS_UTF8:
        return data
    return _split_message(data, lambda text: encode(decode_as(text, charset)))


def _split_message(body: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The body with its message changed; the diff's bytes are the files' own."""
    found = _DIFF.search(body)
    end = found.start() if found else len(body)
    return change(body[:end]) + body[end:]


def _in_message(mail: bytes, change: Callable[[bytes], bytes]) -> bytes:
    head, blank, body = mail.partition(b"\n\n")
    return head + blank + _split_message(body, change)


def _with_headers_of_body(mail: bytes) -> bytes:
    """The mail with the `From:` and `Subject:` at the top of its body as its own.

    Lists and forwarding people send patches so; git reads them the same way.
    """
    head, blank, body = mail.partition(b"\n\n")
    if not re.match(rb"(?i)[a-z-]+:", head):
        return mail
    lines = body.lstrip(b"\n").split(b"\n")
    own: dict[str, bytes] = {}
    while lines and (found := _IN_BODY.match(lines[0])):
        own[found.group(1).decode().lower()] = found.group(2)
        lines.pop(0)
    if not own or (lines and lines[0].strip()):
        return mail
    for key, value in own.items():
        head = _with_header(head, key.capitalize().encode(), value)
    return head + blank + b"\n".join(lines)


def _with_header(head: bytes, key: bytes, value: bytes) -> bytes:
    line = re.compile(rb"^%s:.*(?:\n[ \t].*)*" % key, re.IGNORECASE | re.MULTILINE)
    new = b"%s: %s" % (key, value)
    return line.sub(lambda _: new, head, count=1) if line.search(head) else head + b"\n" + new
