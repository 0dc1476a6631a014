"""Mercurial's and StGit's exports: author, date, title, message and lines are those of the file."""

from __future__ import annotations

import pytest

from backport.core.mail import parse_patch
from backport.core.mailboxes import read_mailbox
from backport.core.patches import Author, Patch
from tests.builders import diff

CHANGE = diff("f.txt", "a\n", "b\n")
HG_PLAIN = CHANGE.replace(
    b"diff --git a/f.txt b/f.txt", b"diff -r 0123456789ab -r ba9876543210 f.txt"
)
ZOE = Author("Zoë M", "zoe@example.com", "Sun, 1 Jun 2025 02:00:00 +0200")


def hg(message: str, change: bytes = CHANGE, date: str = "1748736000 -7200") -> bytes:
    head = (
        f"# HG changeset patch\n# User Zoë M <zoe@example.com>\n# Date {date}\n"
        "#      Sun Jun 01 02:00:00 2025 +0200\n# Node ID ba9876543210\n# Parent  0123456789ab\n"
    )
    return f"{head}{message}\n\n".encode() + change


def stgit(
    message: str, *, author: str = "From", date: str = "Date: Sun, 1 Jun 2025 02:00:00 +0200\n"
) -> bytes:
    subject, _, body = message.partition("\n\n")
    head = f"{subject}\n\n{author}: Zoë M <zoe@example.com>\n{date}\n{body}\n"
    return f"{head}---\n f.txt | 2 +-\n 1 file changed\n\n".encode() + CHANGE


def both(data: bytes) -> Patch:
    """The patch as a stack and as an import read it, which is one."""
    kept = parse_patch(data, "patch", "x")
    (letter,) = read_mailbox(data, "x")
    assert letter.patch == kept
    return kept


FORMS = {
    "Mercurial, git's diff": hg("[ROCm] Fuse it\n\nWhy.\n\nMore."),
    "Mercurial, its own diff": hg("[ROCm] Fuse it\n\nWhy.\n\nMore.", HG_PLAIN),
    "a message without a blank line": hg("[ROCm] Fuse it\nWhy.\n\nMore."),
    "StGit": stgit("[ROCm] Fuse it\n\nWhy.\n\nMore."),
    "StGit, of old": stgit("[ROCm] Fuse it\n\nWhy.\n\nMore.", author="Author"),
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS.keys())
def test_an_export_gives_author_title_and_message_at_their_true_lines(data: bytes) -> None:
    patch = both(data)
    assert (patch.subject, patch.body, patch.author) == ("[ROCm] Fuse it", "Why.\n\nMore.", ZOE)
    (file,) = patch.files
    first = b"--- a/f.txt" if HG_PLAIN in data else b"diff --git a/f.txt b/f.txt"
    assert data.split(b"\n")[file.at - 1] == first
    assert file.hunks[0].added == (b"b\n",)


@pytest.mark.parametrize(
    ("subject", "data"),
    [
        ("Re: what the author wrote", hg("Re: what the author wrote")),
        ("rocm: fuse it", stgit("rocm: fuse it\n\nWhy.")),
        ("rocm: fuse it", hg("rocm: fuse it")),
        ("#12 fuse it", hg("#12 fuse it")),
    ],
)
def test_a_title_is_kept_whatever_it_looks_like(subject: str, data: bytes) -> None:
    assert both(data).subject == subject


@pytest.mark.parametrize(
    ("date", "written"),
    [
        ("0 0", "Thu, 1 Jan 1970 00:00:00 +0000"),
        ("1748736000 25200", "Sat, 31 May 2025 17:00:00 -0700"),
        ("1748736000 -19800", "Sun, 1 Jun 2025 05:30:00 +0530"),
        ("99999999999999999999 0", ""),
        ("1748736000 -99999999", ""),
        ("yesterday", ""),
    ],
)
def test_a_date_counts_its_zone_westwards_and_none_is_made_up(date: str, written: str) -> None:
    assert both(hg("x", date=date)).author.date == written


def test_stgit_may_leave_the_date_out() -> None:
    assert both(stgit("x\n\nWhy.", date="")).author == ZOE._replace(date="")


def test_several_changesets_in_one_file_are_several_patches() -> None:
    first, second = hg("One"), hg("Two", diff("g.txt", "a\n", "b\n"))
    found = read_mailbox(first + second, "x")
    assert [(letter.subject, letter.line) for letter in found] == [
        ("One", 1),
        ("Two", 1 + first.count(b"\n")),
    ]


def test_a_changeset_in_a_mail_is_what_the_mail_says() -> None:
    head = b"From: list@example.com\nSubject: [PATCH 1 of 2] Fuse it\n\n"
    (letter,) = read_mailbox(head + hg("[ROCm] Fuse it\n\nWhy."), "x")
    assert letter.patch is not None
    assert (letter.subject, letter.body, letter.patch.author) == ("[ROCm] Fuse it", "Why.", ZOE)


def test_what_is_no_export_is_left_alone() -> None:
    mail = b"Subject: [PATCH] x\n\nFrom: Zo\xc3\xab M <zoe@example.com>\n\nWhy.\n---\n" + CHANGE
    (letter,) = read_mailbox(mail, "x")
    assert letter.patch is not None
    assert (letter.subject, letter.patch.author.name) == ("x", "Zoë M")
