"""Hunks, files and their ids: the change decides, context and place may drift."""

from __future__ import annotations

import hashlib

import pytest

from backport.core.parsing import parse_diff
from backport.core.patches import FilePatch, Hunk, HunkId, hunk_ids
from tests.builders import diff, numbered, patch, stack

HUNK = Hunk(
    10,
    12,
    (b" one\n", b" two\n", b"-three\n", b"+3\n", b" four\n", b"+4.5\n", b" five"),
    "A.forward",
)


def test_a_hunk_knows_both_its_sides() -> None:
    assert HUNK.before == b"one\ntwo\nthree\nfour\nfive"
    assert HUNK.after == b"one\ntwo\n3\nfour\n4.5\nfive"
    assert (HUNK.old_count, HUNK.new_count) == (5, 6)
    assert (HUNK.removed, HUNK.added) == ((b"three\n",), (b"3\n", b"4.5\n"))


def test_a_hunk_knows_its_context() -> None:
    assert HUNK.leading == (b"one\n", b"two\n")
    assert HUNK.trailing == (b"five",)
    bare = Hunk(1, 1, (b"-a\n", b"+b\n"))
    assert (bare.leading, bare.trailing) == ((), ())


@pytest.mark.parametrize(
    ("section", "scope"),
    [
        ("A.forward", "A.forward"),
        ("f", "f"),
        ("<module>", "<module>"),
        ("größe", "größe"),
        ("", None),
        ("def f(x):", None),
        ("class A", None),
        ("A.", None),
        ("1a", None),
        ("<lambda>", None),
    ],
)
def test_only_a_qualified_name_is_a_scope(section: str, scope: str | None) -> None:
    assert Hunk(1, 1, (b"-a\n",), section).scope == scope


def test_the_digest_is_over_the_changed_lines_alone() -> None:
    expected = hashlib.sha256(b"7:-three\n3:+3\n5:+4.5\n").hexdigest()[:8]
    assert HUNK.digest == expected
    elsewhere = Hunk(90, 99, (b"-three\n", b"+3\n", b" other\n", b"+4.5\n"), "B")
    assert elsewhere.digest == expected


@pytest.mark.parametrize(
    "lines",
    [
        (b"-three\n", b"+3\n", b"+4.5\n", b"+x\n"),
        (b"-three\n", b"+3\n"),
        (b"+three\n", b"-3\n", b"-4.5\n"),
        (b"-three\n", b"+4.5\n", b"+3\n"),
        (b"-three\n", b"+3\n", b"+4.5"),
        (b"-three\n+3\n", b"+4.5\n"),
    ],
    ids=["more", "fewer", "the other way", "another order", "no newline", "joined"],
)
def test_another_change_has_another_digest(lines: tuple[bytes, ...]) -> None:
    assert Hunk(10, 12, lines).digest != HUNK.digest


def test_another_context_width_that_joins_hunks_changes_the_ids() -> None:
    home = numbered(1, 30)
    after = home.replace("line 10\n", "ten\n").replace("line 18\n", "eighteen\n")
    narrow, wide = (parse_diff(diff("f", home, after, context=width))[0] for width in (3, 4))
    assert (len(narrow.hunks), len(wide.hunks)) == (2, 1)


def test_an_id_is_read_as_it_is_written() -> None:
    for text in (
        "fuse/first:vllm/a.py#1@0f3a9c1d",
        "s.1/p-2_x:a b/c#d:e@f.py#12@00000000",
        "s/p:E=1,block_shape=[128,128].json#0@ffffffff",
    ):
        assert str(HunkId.parse(text)) == text
    assert HunkId.parse("s/p:a:b#c#3@0f3a9c1d") == HunkId("s", "p", "a:b#c", 3, "0f3a9c1d")


@pytest.mark.parametrize(
    "text",
    [
        *("", "s/p:f#1", "s/p:f@00000000", "s:f#1@00000000", "s/p#1@00000000", "/p:f#1@00000000"),
        *("s/p:#1@00000000", "s/p:f#x@00000000", "s/p:f#1@0000000", "s/p:f#1@0000000G"),
        "s/p:f#1@000000000",
    ],
)
def test_what_is_no_id_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="a hunk id looks like stack/patch:path#ordinal@digest"):
        HunkId.parse(text)


def test_the_hunks_of_a_file_are_counted_from_one() -> None:
    home = numbered(1, 30)
    change = patch("p", diff("f", home, home.replace("line 2\n", "2\n").replace("line 25\n", "")))
    (file,) = change.files
    assert [str(found) for found in hunk_ids("s", change, file)] == [
        f"s/p:f#1@{file.hunks[0].digest}",
        f"s/p:f#2@{file.hunks[1].digest}",
    ]


HEADERS = [
    FilePatch("f", "f", (), "100644", "100755"),
    FilePatch("f", "f", (), "100755", "100644"),
    FilePatch("f", "g"),
    FilePatch("f", "g", copy=True),
    FilePatch(None, "f", (), "", "100644"),
    FilePatch("f", None, (), "100644"),
]


def test_a_file_without_hunks_has_one_id_over_what_its_header_says() -> None:
    change = patch("p", diff("f", "a\n", "b\n"))
    ids = [hunk_ids("s", change, file) for file in HEADERS]
    assert [len(found) for found in ids] == [1] * len(HEADERS)
    assert {found[0].ordinal for found in ids} == {0}
    assert len({found[0].digest for found in ids}) == len(HEADERS)


def test_the_blobs_around_a_change_are_not_in_its_id() -> None:
    plain, named = FilePatch("f", "g"), FilePatch("f", "g", old_blob="1" * 40, new_blob="2" * 40)
    assert plain.header_digest == named.header_digest


def test_a_stack_lists_its_hunks_and_paths_in_order() -> None:
    rename = b"diff --git a/old b/new\nrename from old\nrename to new\n"
    made = stack(
        diff("b", "x\n", "y\n") + rename,
        diff("a", None, "x\n") + diff("b", "y\n", None),
        name="s",
    )
    assert [str(found[0]).partition("@")[0] for found in made.hunks()] == [
        "s/p1:b#1",
        "s/p1:new#0",
        "s/p2:a#1",
        "s/p2:b#1",
    ]
    assert [found[3] for found in made.hunks()] == [0, -1, 0, 0]
    assert made.paths() == ["b", "old", "new", "a"]
