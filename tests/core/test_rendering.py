"""Writing patches: one form for each change, and what was written is read back whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backport.core.mail import parse_patch
from backport.core.parsing import parse_diff
from backport.core.patches import Author, FilePatch, Hunk, Patch
from backport.core.paths import decode, unsafe
from backport.core.rendering import render_diff, render_patch
from tests.builders import diff, lines_of

FILE = FilePatch(
    "f.txt",
    "f.txt",
    (Hunk(1, 1, (b" one\n", b"-two\n", b"+2\n", b" three"), "scope.name"),),
    "100644",
    "100644",
    "1" * 40,
    "2" * 40,
)


def test_a_patch_has_one_form() -> None:
    patch = Patch(
        "name",
        "[ROCm] Fix it",
        (FILE,),
        "Why.\n\n# and how",
        Author("Dev One", "dev1@example.com", "Mon, 16 Jun 2025 00:00:00 +0000"),
    )
    assert render_patch(patch) == (
        b"From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
        b"From: Dev One <dev1@example.com>\n"
        b"Date: Mon, 16 Jun 2025 00:00:00 +0000\n"
        b"Subject: [PATCH] [ROCm] Fix it\n"
        b"\n"
        b"Why.\n"
        b"\n"
        b"# and how\n"
        b"---\n"
        b"diff --git a/f.txt b/f.txt\n"
        b"index 1111111111111111111111111111111111111111"
        b"..2222222222222222222222222222222222222222 100644\n"
        b"--- a/f.txt\n"
        b"+++ b/f.txt\n"
        b"@@ -1,3 +1,3 @@ scope.name\n"
        b" one\n"
        b"-two\n"
        b"+2\n"
        b" three\n"
        b"\\ No newline at end of file\n"
    )


def test_a_patch_without_author_and_body_is_short() -> None:
    head = render_patch(Patch("name", "Fix", (FILE,))).split(b"diff --git")[0]
    assert head == (
        b"From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
        b"Subject: [PATCH] Fix\n\n---\n"
    )


def test_text_beyond_ascii_is_declared_and_encoded_in_headers() -> None:
    text = render_patch(Patch("n", "Größe", (FILE,), "ünï", Author("Zoë", "z@example.com")))
    assert b"Subject: [PATCH] =?utf-8?b?R3LDtsOfZQ==?=\n" in text
    assert b"From: =?utf-8?q?Zo=C3=AB?= <z@example.com>\n" in text
    assert (
        b"MIME-Version: 1.0\n"
        b"Content-Type: text/plain; charset=UTF-8\n"
        b"Content-Transfer-Encoding: 8bit\n\n" + "ünï\n---\n".encode()
    ) in text


HEADERS: dict[str, tuple[dict[str, Any], bytes]] = {
    "a created file": (
        {"old_path": None, "new_mode": "100755"},
        b"diff --git a/f b/f\nnew file mode 100755\n",
    ),
    "a created file of unknown mode": (
        {"old_path": None},
        b"diff --git a/f b/f\nnew file mode 100644\n",
    ),
    "a deleted file": (
        {"new_path": None, "old_mode": "120000"},
        b"diff --git a/f b/f\ndeleted file mode 120000\n",
    ),
    "a mode change": (
        {"old_mode": "100644", "new_mode": "100755"},
        b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
    ),
    "a rename": (
        {"old_path": "old"},
        b"diff --git a/old b/f\nrename from old\nrename to f\n",
    ),
    "a copy": (
        {"old_path": "old", "copy": True},
        b"diff --git a/old b/f\ncopy from old\ncopy to f\n",
    ),
    "an odd name": (
        {"old_path": "o\td", "new_path": "café"},
        b'diff --git "a/o\\td" "b/caf\\303\\251"\nrename from "o\\td"\nrename to "caf\\303\\251"\n',
    ),
}


@pytest.mark.parametrize(("fields", "text"), HEADERS.values(), ids=HEADERS.keys())
def test_a_header_says_what_becomes_of_the_file(fields: dict[str, Any], text: bytes) -> None:
    file = FilePatch(**{"old_path": "f", "new_path": "f", **fields})
    assert render_diff((file,)) == text


def test_a_name_with_a_space_ends_in_a_tab_as_git_writes_it() -> None:
    text = render_diff(parse_diff(diff("a b", "1\n", "2\n")))
    assert b"--- a/a b\t\n+++ b/a b\t\n" in text


def test_a_count_of_one_is_left_out_and_one_of_zero_is_not() -> None:
    text = render_diff(parse_diff(diff("f", None, "a\n") + diff("g", "a\n", "b\n")))
    assert b"@@ -0,0 +1 @@\n" in text
    assert b"@@ -1 +1 @@\n" in text


# ---------------------------------------------------------------- there and back

WRITTEN_BY_GIT = {
    "a change": diff("f", "a\nb\nc\n", "a\nB\nc\n", index=True, section="def f(x):"),
    "two changes": diff("f", "x\n" * 20, "y\n" + "x\n" * 18 + "y\n", index=True),
    "no final newline": diff("f", "a\nb", "a\nb\n") + diff("g", "a\n", "a"),
    "a created file": diff("f", None, "a\n", index=True, mode="100755"),
    "an empty created file": diff("f", None, "", index=True),
    "a deleted file": diff("f", "a\n", None, index=True),
    "a symbolic link": diff("f", None, "../there", index=True, mode="120000"),
    "carriage returns": diff("f", "a\r\nb\r\n", "a\r\nc\rd\n"),
    "a mode change": b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
    "a pure rename": b"diff --git a/f b/g\nrename from f\nrename to g\n",
    "a copy with a change": (
        b"diff --git a/f b/g\ncopy from f\ncopy to g\nindex 1234567..89abcde 100644\n"
        b"--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n"
    ),
    "a mode change with hunks": (
        b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\nindex 1234567..89abcde\n"
        b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"
    ),
    "binary data": (
        b"diff --git a/t b/t\nindex 1234567..89abcde 100644\nGIT binary patch\n"
        b"literal 7\nOcmb=ZtYTnf;sO8&m;reJ\n\nliteral 8\nPcmYdHN@hq&P2&Op3#9^J\n\n"
    ),
    "a quoted name": b'diff --git "a/t\\303\\251" "b/t\\303\\251"\nnew file mode 100644\n',
}


@pytest.mark.parametrize("text", WRITTEN_BY_GIT.values(), ids=WRITTEN_BY_GIT.keys())
def test_what_git_wrote_is_written_again_byte_for_byte(text: bytes) -> None:
    assert render_diff(parse_diff(text)) == text


def test_several_files_are_written_in_their_order() -> None:
    text = b"".join(WRITTEN_BY_GIT.values())
    assert render_diff(parse_diff(text)) == text


names = st.binary(min_size=1).map(decode).filter(lambda path: unsafe(path) is None)


@given(names, st.binary(), st.binary())
def test_any_change_of_any_file_survives(path: str, before: bytes, after: bytes) -> None:
    hunks = parse_diff(diff("f", before, after))[0].hunks if before != after else ()
    file = FilePatch(path, path, hunks, "100644", "100755")
    assert parse_diff(render_diff((file,))) == (file,)


signs = st.sampled_from([b" ", b"-", b"+"])
contents = st.binary(max_size=8).map(lambda line: line.replace(b"\n", b"") + b"\n")


@given(st.lists(st.tuples(signs, contents), min_size=1), st.integers(1, 10**6))
def test_any_lines_of_a_hunk_survive(pairs: list[tuple[bytes, bytes]], start: int) -> None:
    lines = (b"-", b"gone\n"), *pairs
    hunk = Hunk(start, start, tuple(sign + line for sign, line in lines), "a.b")
    file = FilePatch("f", "f", (hunk,), "100644", "100644", "1234567", "89abcde")
    assert parse_diff(render_diff((file,))) == (file,)


@given(st.binary())
def test_any_created_file_survives(content: bytes) -> None:
    lines = tuple(b"+" + line for line in lines_of(content))
    hunks = (Hunk(0, 1, lines),) if lines else ()
    file = FilePatch(None, "f", hunks, "", "100644")
    assert parse_diff(render_diff((file,))) == (file,)


# texts as they come out of `decode`: any characters, and bytes that are not UTF-8
texts = st.one_of(st.text(st.characters(codec="utf-8")), st.binary().map(decode)).filter(
    lambda text: not {"\n", "\0"} & set(text)
)
header_text = texts.filter(lambda text: text and text == text.strip())
message_lines = st.lists(
    texts.filter(
        lambda line: line != "---" and not line.startswith(("diff -", "--- ", "Index: ", "@@"))
    )
).map(lambda lines: "\n".join(lines).strip("\n"))


@given(header_text, message_lines)
def test_any_message_survives(subject: str, body: str) -> None:
    patch = Patch("n", subject, (FILE,), body)
    read = parse_patch(render_patch(patch), "n")
    assert (read.subject, read.body, read.files) == (subject, body, (FILE,))


@given(header_text.filter(lambda name: not set('<>"()\\') & set(name)))
def test_any_author_survives(name: str) -> None:
    patch = Patch("n", "x", (FILE,), author=Author(name, "a@example.com", "today"))
    assert parse_patch(render_patch(patch), "n").author == patch.author


@pytest.mark.parametrize(
    "subject",
    ["é\u2028x", "é\rx", "é\x0cx", "caf\udce9", "=?utf-8?q?not_encoded?=", "é" * 200, "x\x0by"],
    ids=["U+2028", "CR", "FF", "no UTF-8", "looks encoded", "long", "VT"],
)
def test_a_subject_that_mail_would_break_survives(subject: str) -> None:
    read = parse_patch(render_patch(Patch("n", subject, (FILE,))), "n")
    assert read.subject == subject


def test_the_same_change_is_always_the_same_bytes() -> None:
    loose = b"noise\ndiff --git c/f w/f\nsimilarity index 90%\n--- c/f\n+++ w/f\n"
    tight = b"--- a/f\t2025-01-01\n+++ b/f\t2025-01-02\n"
    hunk = b"@@ -1,1 +1,1 @@\n-a\n+b\n"
    assert render_diff(parse_diff(loose + hunk)) == render_diff(parse_diff(tight + hunk))
