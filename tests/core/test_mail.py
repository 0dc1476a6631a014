"""Patch files as mail: message, author and diff, and a clear word for what is no patch."""

from __future__ import annotations

import base64
import quopri

import pytest

from backport.core.cursors import PatchError
from backport.core.mail import parse_patch, split_mbox
from backport.core.patches import Author, Patch
from tests.builders import diff, mail

DIFF = diff("f.txt", "a\n", "b\n")


def read(data: bytes) -> Patch:
    return parse_patch(data, "a-name", "patches/s/a-name.patch")


def refusal(data: bytes, first_line: int = 1) -> tuple[int, str]:
    with pytest.raises(PatchError) as caught:
        parse_patch(data, "a-name", first_line=first_line)
    return caught.value.line, caught.value.message


def test_a_mail_is_read_in_full() -> None:
    patch = read(mail("[PATCH] Fix it", DIFF, "Why it\nwas broken.\n\nHow it is fixed."))
    assert (patch.name, patch.source) == ("a-name", "patches/s/a-name.patch")
    assert patch.subject == "Fix it"
    assert patch.body == "Why it\nwas broken.\n\nHow it is fixed."
    assert patch.author == Author("Dev One", "dev1@example.com", "Mon, 16 Jun 2025 00:00:00 +0000")
    assert [file.path for file in patch.files] == ["f.txt"]


def test_the_lines_of_the_file_are_those_of_the_mail() -> None:
    (file,) = read(mail("[PATCH] x", DIFF, "two\nlines")).files
    assert (file.at, file.hunks[0].at) == (9, 12)


def test_a_diff_alone_has_no_message_and_no_author() -> None:
    patch = read(DIFF)
    assert (patch.subject, patch.body, patch.author) == ("", "", Author())


def test_words_above_a_lone_diff_are_its_message() -> None:
    assert read(b"Fix it all.\n\n" + DIFF).body == "Fix it all."


# ---------------------------------------------------------------- subjects

SUBJECTS = {
    "[PATCH] x": "x",
    "[PATCH 2/7] x": "x",
    "[PATCH v3 02/07] x": "x",
    "[RFC PATCH] x": "x",
    "[PATCH vllm] x": "x",
    "[patch] x": "x",
    "x": "x",
    "[PATCH] [ROCm][Perf] Fuse the KV gather [MI355X] (#123)": (
        "[ROCm][Perf] Fuse the KV gather [MI355X] (#123)"
    ),
    "[PATCH][ROCm] x": "[ROCm] x",
    "[ROCm][PATCH 1/2] x": "[ROCm] x",
    "[ROCm] x [PATCH]": "[ROCm] x",
    "[ROCm] [PATCH] [Perf] x": "[ROCm] [Perf] x",
    "[ROCm] x": "[ROCm] x",
    "[DISPATCH] x": "[DISPATCH] x",
    "[PATCHES] x": "[PATCHES] x",
    "PATCH the loader": "PATCH the loader",
    "[PATCH] #16 keeps its number sign": "#16 keeps its number sign",
    "[PATCH] list[int]  with  two spaces": "list[int]  with  two spaces",
    "[PATCH] fix url.split(/[/?#]/) [red]x": "fix url.split(/[/?#]/) [red]x",
    "[PATCH] key: value: more": "key: value: more",
    "Re: [PATCH v2 3/10] x": "x",
    "RE: re:[PATCH] [ROCm] x": "[ROCm] x",
    "[vllm-dev] Re: [PATCH 1/2] x": "[vllm-dev] x",
    "Re: [ROCm] x": "[ROCm] x",
    "Re: x": "x",
    "[PATCH] Re: what the author wrote": "Re: what the author wrote",
    "Return: x": "Return: x",
    "x Re: y": "x Re: y",
}


@pytest.mark.parametrize(("header", "subject"), SUBJECTS.items())
def test_only_the_patch_tag_leaves_the_subject(header: str, subject: str) -> None:
    assert read(mail(header, DIFF)).subject == subject


def test_a_folded_subject_is_one_line() -> None:
    header = "[PATCH] [ROCm] a subject\n that goes on\n\tand on"
    assert read(mail(header, DIFF)).subject == "[ROCm] a subject that goes on and on"


ENCODED = {
    "quoted-printable": "=?UTF-8?q?Gr=C3=B6=C3=9Fere=20Bl=C3=B6cke?=",
    "base64": "=?utf-8?b?R3LDtsOfZXJlIEJsw7Zja2U=?=",
    "another charset": "=?iso-8859-1?q?Gr=F6=DFere=20Bl=F6cke?=",
    "folded between two words": "=?UTF-8?q?Gr=C3=B6=C3=9Fere=20?=\n =?UTF-8?q?Bl=C3=B6cke?=",
    "not encoded": "Größere Blöcke",
}


@pytest.mark.parametrize("header", ENCODED.values(), ids=ENCODED.keys())
def test_an_encoded_subject_is_decoded_tags_kept(header: str) -> None:
    assert read(mail(f"[PATCH] [ROCm] {header}", DIFF)).subject == "[ROCm] Größere Blöcke"


@pytest.mark.parametrize("word", ["=?no-such-charset?q?x?=", "=?utf-8?b?A?=", "=?utf-8?q?=FF?="])
def test_a_word_that_cannot_be_decoded_stays_as_it_is(word: str) -> None:
    assert read(mail(f"[PATCH] {word}", DIFF)).subject == word


def test_control_characters_of_a_subject_are_kept() -> None:
    assert read(mail("[PATCH] a\x1b[2Jb\rc\u202ed", DIFF)).subject == "a\x1b[2Jb\rc\u202ed"


# ---------------------------------------------------------------- authors

AUTHORS = {
    "Dev One <dev1@example.com>": ("Dev One", "dev1@example.com"),
    '"Doe, John" <j@example.com>': ("Doe, John", "j@example.com"),
    '"J. \\"X\\" D" <j@example.com>': ('J. "X" D', "j@example.com"),
    'John "X" Doe <j@example.com>': ('John "X" Doe', "j@example.com"),
    "=?UTF-8?q?Zo=C3=AB=20M=C3=BCller=20=E6=9D=8E=E9=9B=B7?= <z@example.com>": (
        "Zoë Müller 李雷",
        "z@example.com",
    ),
    "Zoë <z@example.com>": ("Zoë", "z@example.com"),
    "bot[bot] <1+bot[bot]@users.noreply.example.com>": (
        "bot[bot]",
        "1+bot[bot]@users.noreply.example.com",
    ),
    "j@example.com": ("j@example.com", "j@example.com"),
    "j@example.com (John Doe)": ("John Doe", "j@example.com"),
    "<j@example.com>": ("", "j@example.com"),
    "nobody at all": ("nobody at all", ""),
}


@pytest.mark.parametrize(("header", "expected"), AUTHORS.items())
def test_the_author_is_read(header: str, expected: tuple[str, str]) -> None:
    author = read(mail("[PATCH] x", DIFF, author=header)).author
    assert (author.name, author.email) == expected


# ---------------------------------------------------------------- bodies


def test_lines_with_a_number_sign_stay_in_the_message() -> None:
    body = "#16 [ROCm] one\n# two\n    # three"
    assert read(mail("[PATCH] x", DIFF, body)).body == body


def test_the_message_ends_at_the_line_of_three_dashes() -> None:
    data = mail("[PATCH] x", b" f.txt | 2 +-\n 1 file changed\n\n" + DIFF, "the message")
    assert read(data).body == "the message"


def test_a_message_without_three_dashes_ends_at_the_diff() -> None:
    data = mail("[PATCH] x", DIFF, "the message").replace(b"---\ndiff", b"\ndiff")
    assert read(data).body == "the message"


def test_a_message_keeps_bytes_that_are_not_utf8() -> None:
    assert read(mail("[PATCH] x", DIFF, "caf\udce9")).body == "caf\udce9"


PLAIN = mail("[PATCH] x", DIFF + diff("g", "=\n\n" + "long" * 40 + "\n", "é \n"), "The body: é")
HEAD, _, BODY = PLAIN.partition(b"\n\n")


def transferred(
    encoding: bytes, body: bytes, content: bytes = b"text/plain; charset=UTF-8"
) -> bytes:
    mime = b"\nContent-Type: %s\nContent-Transfer-Encoding: %s\n\n" % (content, encoding)
    return HEAD + mime + body


@pytest.mark.parametrize(
    "data",
    [
        transferred(b"quoted-printable", quopri.encodestring(BODY)),
        transferred(b"Quoted-Printable", quopri.encodestring(BODY)),
        transferred(b"base64", base64.encodebytes(BODY)),
        transferred(b"8bit", BODY),
        transferred(b"8bit", BODY, b"text/plain; charset=us-ascii"),
    ],
    ids=["quoted-printable", "in capitals", "base64", "8bit", "8bit with a wrong charset"],
)
def test_a_transfer_encoding_is_undone(data: bytes) -> None:
    expected, patch = read(PLAIN), read(data)
    assert patch.files == expected.files
    assert patch.files[1].hunks[0].added == ("é \n".encode(),)
    assert patch.body == "The body: é"


def test_a_refusal_inside_an_encoded_mail_counts_from_its_body() -> None:
    data = transferred(b"quoted-printable", b"---\n--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n-a\n")
    assert refusal(data) == (
        13,
        "f hunk 1 ends early: its counts ask for 1 more old and 1 more new lines",
    )


def test_a_mail_in_html_is_refused() -> None:
    line, problem = refusal(transferred(b"8bit", BODY, b"text/html; charset=UTF-8"))
    assert problem.startswith("the mail is HTML, which writes < and & otherwise than the files")
    assert line == 8


def test_a_flowed_mail_is_refused() -> None:
    data = transferred(b"8bit", BODY, b'text/plain; charset=UTF-8; format=flowed; delsp="yes"')
    assert refusal(data) == (
        8,
        "the mail is format=flowed, which breaks patches; ask for plain text",
    )


def test_carriage_returns_inside_base64_are_named() -> None:
    data = transferred(b"base64", base64.encodebytes(BODY.replace(b"\n", b"\r\n")))
    assert "CRLF line endings" in refusal(data)[1]


def test_a_patch_saved_with_crlf_is_refused_for_that() -> None:
    line, message = refusal(PLAIN.replace(b"\n", b"\r\n"))
    assert (line, message) == (
        8,
        "the patch file has CRLF line endings, in its headers too; save it with LF",
    )


# ---------------------------------------------------------------- what is no patch

NOT_A_PATCH = {
    "empty": (b"", "this is not a patch: it is empty"),
    "blank": (b" \n\n", "this is not a patch: it is empty"),
    "gzip": (b"\x1f\x8b\x08\0", "this is not a patch: it is gzip data; unpack it first"),
    "zip": (b"PK\x03\x04abc", "this is not a patch: it is a zip archive; unpack it first"),
    "UTF-16": (
        DIFF.decode().encode("utf-16"),
        "this is not a patch: it is UTF-16 text; save it as UTF-8",
    ),
    "UTF-16, the other order": (
        b"\xfe\xff" + DIFF.decode().encode("utf-16-be"),
        "this is not a patch: it is UTF-16 text; save it as UTF-8",
    ),
    "a byte order mark": (
        b"\xef\xbb\xbf" + DIFF,
        "this is not a patch: it starts with a byte order mark; save it without",
    ),
    "JSON": (
        b'{"message": "Not Found"}\n',
        "this is not a patch: it is JSON, not a patch (the answer of a web service?)",
    ),
    "HTML": (
        b"\n<!DOCTYPE html>\n<html></html>\n",
        "this is not a patch: it is HTML or XML, not a patch (a sign-in page?)",
    ),
    "NUL bytes": (DIFF + b"\0", "this is not a patch: it holds NUL bytes"),
    "an encoded NUL in the subject": (
        mail("=?utf-8?q?[PATCH]_a=00b?=", DIFF),
        "the mail holds an encoded NUL character, which no commit can hold; take it out",
    ),
    "words": (b"Please apply the fix.\n", "this is not a patch: no diff is in it"),
    "a cover letter": (
        mail("[PATCH 0/2] The series", b"", "*** BLURB ***\n\n f.txt | 2 +-"),
        "this is a cover letter, not a patch; leave it out",
    ),
    "a cover letter of many": (
        mail("[PATCH v2 00/12] The series", b""),
        "this is a cover letter, not a patch; leave it out",
    ),
    "an empty commit": (
        mail("[PATCH] metadata only", b""),
        "this mail holds no diff (an empty commit, or a file that was cut short?)",
    ),
}


@pytest.mark.parametrize(("data", "why"), NOT_A_PATCH.values(), ids=NOT_A_PATCH.keys())
def test_what_is_no_patch_is_refused_for_what_it_is(data: bytes, why: str) -> None:
    assert refusal(data, first_line=3) == (3, why)


def test_a_tenth_patch_is_no_cover_letter() -> None:
    assert read(mail("[PATCH 10/12] x", DIFF)).subject == "x"


def test_a_patch_cut_within_a_hunk_is_refused() -> None:
    cut = mail("[PATCH] x", diff("f", "1\n2\n3\n", "1\n4\n3\n"))[:-20]
    assert "ends early" in refusal(cut)[1]


# ---------------------------------------------------------------- several mails


def test_a_mail_of_several_parts_is_told() -> None:
    head = b"From: A <a@b.c>\nSubject: x\nContent-Type: multipart/mixed; boundary=part\n\n"
    diff = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"
    with pytest.raises(PatchError, match="several parts; `backport import` takes") as error:
        parse_patch(head + b"--part\n\n" + diff + b"--part--\n", "p")
    assert error.value.line == 5


def test_an_mbox_is_split_at_its_separators() -> None:
    first, second = mail("[PATCH 1/2] one", DIFF), mail("[PATCH 2/2] two", DIFF)
    assert split_mbox(first + second) == [(1, first), (first.count(b"\n") + 1, second)]


def test_a_lone_diff_is_one_mail() -> None:
    assert split_mbox(DIFF) == [(1, DIFF)]


def test_a_line_that_starts_with_from_splits_nothing() -> None:
    data = mail("[PATCH] x", DIFF, "From here on it is faster.\nFrom 1234 Mon Sep 17 00:00:00 2001")
    assert split_mbox(data) == [(1, data)]


def test_what_stands_before_the_first_separator_is_a_mail_too() -> None:
    second = mail("[PATCH] two", DIFF)
    assert split_mbox(DIFF + second) == [(1, DIFF), (DIFF.count(b"\n") + 1, second)]
    assert split_mbox(b"\n\n" + second) == [(3, second)]
