"""Mailboxes as maintainers meet them, each form giving the same patch or a reason why not."""

from __future__ import annotations

import base64
import quopri

import pytest

from backport.core.cursors import PatchError
from backport.core.mailboxes import Letter, read_mailbox
from tests.builders import diff

GIT = "From 1111111111111111111111111111111111111111 Mon Sep 17 00:00:00 2001\n"
LORE = "From mboxrd@z Thu Jan  1 00:00:00 1970\n"
HEAD = (
    "From: Zoë Müller <zoe@example.com>\n"
    "Date: Mon, 16 Jun 2025 00:00:00 +0000\n"
    "Subject: [PATCH] [ROCm] Größere Blöcke\n"
)
CHANGE = diff("é.txt", "a = 1\nb\n", 'a = "=3D" \nb\n')
BODY = (
    "Why: ünïcode.\n\nCo-authored-by: A <a@b.c>\nSigned-off-by: Z <z@b.c>\n---\n".encode() + CHANGE
)


def mime(encoding: str, body: bytes, kind: str = "text/plain; charset=UTF-8") -> bytes:
    head = f"MIME-Version: 1.0\nContent-Type: {kind}\nContent-Transfer-Encoding: {encoding}\n\n"
    return (GIT + HEAD + head).encode() + body


def part(kind: str, body: bytes) -> bytes:
    return f"--X\nContent-Type: {kind}\nContent-Transfer-Encoding: 8bit\n\n".encode() + body


MESSAGE, _, _ = BODY.partition(b"---\n")
LATIN1 = MESSAGE.decode().encode("latin-1") + b"---\n" + CHANGE

FORMS = {
    "plain": (GIT + HEAD + "\n").encode() + BODY,
    "8bit": mime("8bit", BODY),
    "quoted-printable": mime("quoted-printable", quopri.encodestring(BODY)),
    "base64": mime("base64", base64.encodebytes(BODY)),
    "base64 with CRLF inside": mime("base64", base64.encodebytes(BODY.replace(b"\n", b"\r\n"))),
    "CRLF in the whole file": mime("8bit", BODY).replace(b"\n", b"\r\n"),
    "a charset that is claimed wrongly": mime("8bit", BODY, "text/plain; charset=us-ascii"),
    "a message in another charset": mime("8bit", LATIN1, "text/plain; charset=ISO-8859-1"),
    "an attached patch": mime(
        "8bit",
        part("text/plain; charset=UTF-8", MESSAGE + b"---\n")
        + part("text/html", b"<p>no</p>\n")
        + part("text/x-patch; name=x.patch", CHANGE)
        + b"--X--\n",
        "multipart/mixed; boundary=X",
    ),
    "without a separator": (HEAD + "\n").encode() + BODY,
    "with a signature": (GIT + HEAD + "\n").encode() + BODY + b"-- \n2.39.5\n\n",
    "with a signature that was cut": (GIT + HEAD + "\n").encode() + BODY + b"--\n2.39.5\n\n",
    "an archive's separator": (LORE + HEAD + "\n").encode() + BODY,
    "the author in the body": (
        GIT + HEAD.replace("Zoë Müller <zoe@example.com>", "List <l@b.c>") + "\n"
    ).encode()
    + "From: Zoë Müller <zoe@example.com>\n\n".encode()
    + BODY,
}


def only(data: bytes) -> Letter:
    (found,) = read_mailbox(data, "x.mbox")
    return found


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS.keys())
def test_every_form_gives_the_same_author_message_and_bytes(data: bytes) -> None:
    patch = only(data).patch
    assert patch is not None
    assert patch.subject == "[ROCm] Größere Blöcke"
    assert (patch.author.name, patch.author.email) == ("Zoë Müller", "zoe@example.com")
    assert patch.body == ("Why: ünïcode.\n\nCo-authored-by: A <a@b.c>\nSigned-off-by: Z <z@b.c>")
    (hunk,) = patch.files[0].hunks
    assert (hunk.removed, hunk.added) == ((b"a = 1\n",), (b'a = "=3D" \n',))
    assert patch.files[0].path == "é.txt"


@pytest.mark.parametrize("charset", ["klingon", "undefined", "hex", "utf-7", "euc-jp"])
def test_a_charset_that_is_unknown_or_wrong_loses_nothing(charset: str) -> None:
    body = b"+2AA- caf\xe9\n---\n" + CHANGE
    assert only(mime("8bit", body, f"text/plain; charset={charset}")).body == "+2AA- caf\udce9"


def test_a_crlf_file_in_a_plain_mail_keeps_its_line_ends() -> None:
    change = diff("x", "a\r\nb\r\n", "c\r\nb\r\n")
    patch = only((GIT + HEAD + "\n").encode() + b"---\n" + change).patch
    assert patch is not None
    assert patch.files[0].hunks[0].added == (b"c\r\n",)


@pytest.mark.parametrize(
    ("header", "subject"),
    [
        (
            "[PATCH] A subject that\n is folded\n\tover three lines",
            "A subject that is folded over three lines",
        ),
        ("=?UTF-8?q?[PATCH]_Gr=C3=B6=C3=9Fere?=\n =?UTF-8?q?_Bl=C3=B6cke?=", "Größere Blöcke"),
        ("=?utf-8?b?R3LDtsOfZXJl?=", "Größere"),
        ("[PATCH v3 02/10] [ROCm] x", "[ROCm] x"),
    ],
    ids=["folded", "folded and encoded", "base64", "numbered"],
)
def test_a_subject_is_read_whole(header: str, subject: str) -> None:
    data = f"{GIT}From: A <a@b.c>\nSubject: {header}\n\n---\n".encode() + CHANGE
    assert only(data).subject == subject


def test_quoted_separators_are_undone_in_the_messages_of_archives_alone() -> None:
    body = b">From here on\n>>From there\n---\n" + CHANGE
    archived = only((LORE + HEAD + "\n").encode() + body)
    assert archived.body == "From here on\n>From there"
    assert only((GIT + HEAD + "\n").encode() + body).body == ">From here on\n>>From there"


def test_many_mails_are_told_apart_and_keep_their_commits() -> None:
    first = (GIT + HEAD + "\n").encode() + BODY + b"-- \n2.39.5\n\n"
    second = (GIT.replace("1" * 40, "0" * 40) + HEAD + "\n").encode() + BODY
    third = (LORE + HEAD + "\n").encode() + BODY
    found = read_mailbox(first + second + b"\n" + third, "x.mbox")
    assert [letter.commit for letter in found] == ["1" * 40, "", ""]
    assert [letter.line for letter in found] == [
        1,
        1 + first.count(b"\n"),
        2 + (first + second).count(b"\n"),
    ]
    assert all(letter.kind == "patch" for letter in found)


def test_a_line_of_prose_that_begins_like_a_separator_ends_no_mail() -> None:
    data = (GIT + HEAD + "\n").encode() + b"See\nFrom x at 10:00 in 2024\n" + BODY
    assert only(data).body.startswith("See\nFrom x at 10:00 in 2024\nWhy")


def test_a_cover_letter_and_an_empty_mail_are_named() -> None:
    cover = f"{GIT}From: A <a@b.c>\nSubject: [PATCH 0/2] Fuse it\n\nWhy.\n\n-- \n2.39\n".encode()
    empty = f"{GIT}From: A <a@b.c>\nSubject: [PATCH] Nothing\n\nNo change.\n---\n".encode()
    one, two = read_mailbox(cover + b"\n" + empty, "x")
    assert (one.kind, one.subject, one.body) == ("cover", "Fuse it", "Why.")
    assert (two.kind, two.subject, two.patch) == ("empty", "Nothing", None)


@pytest.mark.parametrize(
    "data",
    [
        mime("8bit", BODY, "text/plain; charset=UTF-8; format=flowed"),
        mime("base64", base64.encodebytes(BODY), "text/plain; format=flowed; delsp=yes"),
        mime(
            "8bit",
            part("text/plain; format=flowed", BODY) + b"--X--\n",
            "multipart/mixed; boundary=X",
        ),
    ],
    ids=["plain", "encoded", "in a part"],
)
def test_flowed_text_is_refused_with_the_reason(data: bytes) -> None:
    with pytest.raises(PatchError, match="format=flowed, which breaks patches; ask for plain text"):
        read_mailbox(data, "x")


PAGE = b"<html><pre>\n" + BODY.replace(b"<", b"&lt;") + b"</pre></html>\n"
ALTERNATIVE = "multipart/alternative; boundary=X"


@pytest.mark.parametrize(
    "data",
    [
        mime("8bit", PAGE, "text/html; charset=utf-8"),
        mime("8bit", PAGE.replace(b"\n", b"<br>"), "text/html"),
        mime("base64", base64.encodebytes(PAGE), "text/html"),
        mime("8bit", part("text/html", PAGE) + b"--X--\n", ALTERNATIVE),
    ],
    ids=["plain", "on one line", "encoded", "the only part"],
)
def test_a_patch_that_is_there_as_html_alone_is_refused(data: bytes) -> None:
    with pytest.raises(PatchError, match=r"the mail is HTML, .*; fetch the \.patch or the plain"):
        read_mailbox(data, "x")


def test_beside_its_html_the_plain_text_is_taken() -> None:
    data = part("text/plain; charset=UTF-8", BODY) + part("text/html", PAGE) + b"--X--\n"
    patch = only(mime("8bit", data, ALTERNATIVE)).patch
    assert patch is not None
    assert patch.files[0].hunks[0].added == (b'a = "=3D" \n',)


def test_a_reply_in_html_is_a_mail_without_a_patch() -> None:
    assert only(mime("8bit", b"<p>Nice.</p>\n", "text/html")).kind == "empty"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "it is empty"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"<!doctype html>", "HTML"),
        (b'{"message": "Not Found"}', "JSON"),
        (b"just words\n", "no diff is in it"),
    ],
)
def test_what_is_no_mailbox_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(PatchError, match=problem):
        read_mailbox(data, "x")
