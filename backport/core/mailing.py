"""Mails as others send them: what `git am` would change on the way is encoded."""

from __future__ import annotations

import re

from backport.core.mail import split_mbox

_CHANGED_ON_THE_WAY = re.compile(rb"=|\r|[ \t](?=\r?\n)")
_QUOTED = (
    b"MIME-Version: 1.0\n"
    b"Content-Type: text/plain; charset=UTF-8\n"
    b"Content-Transfer-Encoding: quoted-printable\n"
)
_MIME = re.compile(rb"^(?:MIME-Version|Content-Type|Content-Transfer-Encoding):.*\n", re.MULTILINE)


def keep_line_ends(mbox: bytes) -> bytes:
    """The mbox with each mail that holds CRLF in quoted-printable form.

    `git am` takes carriage returns off the lines of a plain mail, unless it is told
    not to, and then the patch of a CRLF file does not apply.
    """
    if b"\r\n" not in mbox:
        return mbox
    return b"".join(_quoted(mail) if b"\r\n" in mail else mail for _, mail in split_mbox(mbox))


def _quoted(mail: bytes) -> bytes:
    head, _, body = mail.partition(b"\n\n")
    head = _MIME.sub(b"", head + b"\n") + _QUOTED
    return head + b"\n" + _CHANGED_ON_THE_WAY.sub(_hex, body)


def _hex(found: re.Match[bytes]) -> bytes:
    return b"=%02X" % found.group()[0]
