"""Patches as Mercurial and StGit export them, brought into the form of a mail.

Each line stands where it stood, so that a problem below names its true line.
"""

from __future__ import annotations

import re
from contextlib import suppress

_HG = b"# HG changeset patch"
_HG_START = re.compile(rb"^# HG changeset patch$", re.MULTILINE)
_HG_DATE = re.compile(rb"# Date +(\d+) (-?\d+)$")
_STGIT = re.compile(rb"(?!(?:From|Subject|Date):)\S.*\n\n(?:From|Author|Date):", re.IGNORECASE)
_STGIT_HEADER = re.compile(rb"(From|Author|Date): *(.*)$", re.IGNORECASE)
_PASSED_OVER = b"X-Export: "  # a header that nobody reads


def split_changesets(data: bytes) -> list[int]:
    """Where each changeset of an `hg export` begins; none where it is not one."""
    if not data.lstrip().startswith(_HG):
        return []
    return [found.start() for found in _HG_START.finditer(data)]


def as_mail(data: bytes) -> bytes:
    """The export as a mail with author, date and subject; anything else comes back as it is."""
    if data.startswith(_HG):
        return _of_changeset(data.split(b"\n"))
    return _of_stgit(data.split(b"\n")) if _STGIT.match(data) else data


def _of_changeset(lines: list[bytes]) -> bytes:
    """`# User`, `# Date` and their like, then the message, its first line the subject."""
    head = []
    for line in lines:
        if line and not line.startswith(b"# "):
            break
        head.append(_hg_header(line))
    subject, *body = lines[len(head) :] or [b""]
    return _joined(head, subject, body)


def _hg_header(line: bytes) -> bytes:
    if found := _HG_DATE.match(line):
        with suppress(ValueError, OverflowError):
            return b"Date: " + mail_date(int(found[1]), -int(found[2])).encode()
    if line.startswith(b"# User "):
        return b"From: " + line[len(b"# User ") :]
    return _PASSED_OVER + line


def _of_stgit(lines: list[bytes]) -> bytes:
    """The subject, a blank line, `From:` (or `Author:`) and `Date:`, then the message."""
    subject, _, *rest = lines
    head = [_PASSED_OVER]
    while rest and (found := _STGIT_HEADER.match(rest[0])):
        key = b"Date" if found[1].lower() == b"date" else b"From"
        head.append(key + b": " + found[2])
        rest.pop(0)
    return _joined(head, subject, rest)


def _joined(head: list[bytes], subject: bytes, body: list[bytes]) -> bytes:
    """The mail; where no blank line ends the headers, one takes the place of one passed over."""
    if body and body[0].strip():
        head.remove(next(line for line in head if line.startswith(_PASSED_OVER)))
        body.insert(0, b"")
    return b"\n".join([*head, b"Subject: [PATCH] " + subject, *body])


def mail_date(seconds: int, east: int) -> str:
    """A time, in seconds since 1970, as git writes it into a mail; `east` of Greenwich in seconds.

    Raises ValueError or OverflowError for a time or zone that no calendar has.
    """
    from datetime import datetime, timedelta, timezone
    from email.utils import format_datetime

    when = datetime.fromtimestamp(seconds, timezone(timedelta(seconds=east)))
    return format_datetime(when).replace(", 0", ", ")  # git writes days without a zero
