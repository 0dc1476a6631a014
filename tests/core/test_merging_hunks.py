"""Hunks merged with their pre-image: what is told of them, and the patch that is proposed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backport.core.merging_hunks import LinesOn, merge_left, patch_between, propose
from backport.core.merging_results import NO_PREIMAGE, merged_file
from backport.core.outcomes import HunkResult, Outcome
from backport.core.parsing import parse_diff
from backport.core.patches import FilePatch, HunkId, Patch
from backport.core.rendering import render_diff
from backport.core.texts import split_keeping_ends
from tests.builders import diff, git_blob_id, lines_of, numbered, patch

BASE = b"def f():\n    one = 1\n    two = 2\n    return one + two\n"
OURS = BASE.replace(b"one = 1", b"one = 3")
THEIRS = BASE.replace(b"two = 2", b"two = one")
BOTH = OURS.replace(b"two = 2", b"two = one")

MOVED, ALREADY, CONFLICT = Outcome.MOVED, Outcome.ALREADY, Outcome.CONFLICT
texts = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n"]), max_size=30).map(b"".join)


def made(before: bytes, after: bytes, path: str = "a.py") -> FilePatch:
    (file,) = parse_diff(diff(path, before, after, index=True))
    return file


# ---------------------------------------------------------------- patches between two texts


@given(texts, texts)
def test_a_patch_between_two_texts_is_a_diff_of_them(old: bytes, new: bytes) -> None:
    found = patch_between(FilePatch("f.txt", "f.txt", old_mode="100644"), old, new)
    before, after = lines_of(old), lines_of(new)
    at = 0
    text: list[bytes] = []
    for hunk in found.hunks:
        start = hunk.old_start - bool(hunk.old_count)
        text += before[at:start]
        assert hunk.new_start - bool(hunk.new_count) == len(text)
        assert len(hunk.leading) == min(3, start + len(hunk.leading))
        assert before[start : start + hunk.old_count] == lines_of(hunk.before)
        text += lines_of(hunk.after)
        at = start + hunk.old_count
        assert len(hunk.trailing) == min(3, len(before) - at + len(hunk.trailing))
    assert text + before[at:] == after


def test_a_patch_between_two_texts_is_read_back_as_it_is() -> None:
    old = raw_numbered(30)
    new = old.replace(b"line 3\n", b"three\n").replace(b"line 20\n", b"")
    file = FilePatch("old", "f.txt", old_mode="100755")
    found = patch_between(file, old, new)
    assert parse_diff(render_diff((found,))) == (found,)
    assert (found.old_path, found.new_path) == ("old", "old")
    assert (found.old_mode, found.new_mode) == ("100755", "100755")
    assert (found.old_blob, found.new_blob) == (git_blob_id(old), git_blob_id(new))
    assert [hunk.section for hunk in found.hunks] == ["", ""]


def raw_numbered(last: int) -> bytes:
    return numbered(1, last).encode()


def test_changes_with_six_lines_between_them_share_a_hunk() -> None:
    old = raw_numbered(30)
    near = old.replace(b"line 10\n", b"ten\n").replace(b"line 17\n", b"new\n")
    far = old.replace(b"line 10\n", b"ten\n").replace(b"line 18\n", b"new\n")
    file = FilePatch("f", "f")
    assert len(patch_between(file, old, near).hunks) == 1
    assert len(patch_between(file, old, far).hunks) == 2


def test_a_patch_between_python_texts_names_the_scopes() -> None:
    for path in ("a.py", "a.pyi"):
        (hunk,) = patch_between(FilePatch(path, path), BASE, THEIRS).hunks
        assert hunk.section == "f"
    (hunk,) = patch_between(FilePatch("a.py", "a.py"), b"print 1\n", b"print 2\n").hunks
    assert hunk.section == ""


def test_a_line_of_the_pre_image_is_found_on_the_target() -> None:
    base = b"a\nb\nc\nd\n"
    assert [LinesOn(base, b"a\nx\ny\nb\nd\n")(line) for line in (1, 2, 3, 4)] == [1, 4, 5, 5]
    assert LinesOn(base, b"d\n")(4) == 1
    assert LinesOn(b"a\n", b"")(1) == 1
    assert LinesOn(b"a\nb\n", b"x\nb\n")(2) == 2


# ---------------------------------------------------------------- all that is left at once

BELOW = b"\n\n\n\n\n\n\ndef g():\n    three = 3\n"
SPOTS = made(BASE + BELOW, THEIRS + BELOW.replace(b"3", b"4"))


def test_hunks_with_a_place_stand_on_both_sides_of_the_merge() -> None:
    ours = OURS + BELOW.replace(b"3", b"4")
    for placed in (MOVED, ALREADY):
        found = merge_left(SPOTS, BASE + BELOW, ours, [CONFLICT, placed])
        assert found is not None
        assert found.text == BOTH + BELOW.replace(b"3", b"4")
        assert [step.rule for step in found.steps] == ["adjacent"]


def test_a_hunk_that_is_dropped_is_in_neither_side() -> None:
    found = merge_left(SPOTS, BASE + BELOW, OURS + BELOW, [CONFLICT, Outcome.DROPPED])
    assert found is not None
    assert found.text == BOTH + BELOW


def test_in_its_pre_image_a_hunk_goes_to_its_own_line_though_its_lines_stand_twice() -> None:
    twice = BELOW + BASE + BELOW
    file = made(BASE + twice, THEIRS + twice)
    found = merge_left(file, BASE + twice, OURS + twice, [CONFLICT])
    assert found is not None
    assert found.text == BOTH + twice


def test_hunks_that_do_not_fit_their_pre_image_are_not_merged() -> None:
    other = BASE.replace(b"two = 2", b"two = 5")
    above = b"\n" + BASE + BELOW  # the lines stand, but lower
    for base in (other + BELOW, above, BASE + BELOW.replace(b"3", b"5")):
        assert merge_left(SPOTS, base, OURS + BELOW, [CONFLICT, CONFLICT]) is None
        assert merge_left(SPOTS, base, OURS + BELOW, [CONFLICT, MOVED]) is None


# ---------------------------------------------------------------- one hunk, proposed


def test_a_proposal_is_a_patch_of_the_target_as_it_stands() -> None:
    found = propose(SPOTS, 0, BASE + BELOW, OURS + BELOW, [CONFLICT, MOVED])
    assert found is not None
    (file,) = parse_diff(found.patch.encode())
    assert file == patch_between(SPOTS, OURS + BELOW, BOTH + BELOW)
    assert (found.rules, found.why, found.same, found.cases) == (("adjacent",), "", 45, 52)


def test_what_is_there_already_is_no_part_of_a_proposal() -> None:
    ours = OURS + BELOW.replace(b"3", b"4")
    found = propose(SPOTS, 0, BASE + BELOW, ours, [CONFLICT, ALREADY])
    assert found is not None
    (file,) = parse_diff(found.patch.encode())
    assert file == patch_between(SPOTS, ours, BOTH + BELOW.replace(b"3", b"4"))
    assert found.rules == ("adjacent",)


def test_where_nothing_would_change_or_parse_nothing_is_proposed() -> None:
    same = BASE.replace(b"two = 2", b"two = 5")
    file = made(BASE, THEIRS)
    assert propose(file, 0, BASE, same, [CONFLICT]) is None
    broken = made(BASE, BASE.replace(b"two = 2", b"two = (2"))
    assert propose(broken, 0, BASE, OURS, [CONFLICT]) is None
    assert propose(file, 0, same, OURS, [CONFLICT]) is None
    assert propose(SPOTS, 0, BASE + BELOW[1:], OURS, [CONFLICT, ALREADY]) is None


# ---------------------------------------------------------------- what is told


def results(*outcomes: Outcome) -> list[HunkResult]:
    return [
        HunkResult(HunkId("s", "p", "a.py", n, "0" * 8), "a.py", outcome, 1, 5, candidates=(1,))
        for n, outcome in enumerate(outcomes, 1)
    ]


def merged(
    file: FilePatch,
    base: bytes | None,
    target: bytes,
    outcomes: list[Outcome],
    ours: bytes | None = None,
    others: tuple[FilePatch, ...] = (),
) -> tuple[bytes | None, list[HunkResult]]:
    return merged_file(
        Patch("p", "p", (file, *others)), file, base, (target, ours), results(*outcomes)
    )


def test_a_missing_pre_image_is_told_where_a_hunk_has_no_place() -> None:
    text, told = merged(SPOTS, None, OURS, [CONFLICT, MOVED])
    assert text is None
    assert [result.detail for result in told] == [f"; {NO_PREIMAGE}", ""]


def test_a_hunk_with_a_place_keeps_what_was_told_of_it() -> None:
    ours = OURS + BELOW.replace(b"3", b"4")
    text, told = merged(SPOTS, BASE + BELOW, OURS + BELOW, [CONFLICT, MOVED], ours)
    assert text == BOTH + BELOW.replace(b"3", b"4")
    assert told[0].outcome is Outcome.MERGED
    assert told[1] == results(CONFLICT, MOVED)[1]


def test_the_lines_of_a_merge_are_counted_at_its_first_hunk() -> None:
    _, told = merged(SPOTS, BASE + BELOW, OURS + BELOW, [CONFLICT, CONFLICT], OURS + BELOW)
    assert [(one.outcome, one.added, one.removed) for one in told] == [
        (Outcome.MERGED, 2, 2),
        (Outcome.MERGED, 0, 0),
    ]


def test_a_merge_tells_where_it_stood() -> None:
    target = b"# top\n" + OURS
    text, told = merged(made(BASE, THEIRS), BASE, target, [CONFLICT], target)
    assert text == b"# top\n" + BOTH
    (result,) = told
    assert (result.outcome, result.line, result.offset) == (Outcome.MERGED, 4, 1)
    assert (result.added, result.removed, result.candidates) == (1, 1, ())
    assert result.detail == "rule adjacent at f 3"
    assert result.proposal is None


def test_two_places_are_never_merged_and_get_no_proposal() -> None:
    text, told = merged(made(BASE, THEIRS), BASE, OURS, [Outcome.AMBIGUOUS], OURS)
    assert (text, told[0].outcome, told[0].proposal) == (None, Outcome.AMBIGUOUS, None)


def test_hunks_that_want_the_same_lines_are_proposed_only() -> None:
    text, told = merged(made(BASE, THEIRS), BASE, OURS, [CONFLICT])
    assert text is None
    assert told[0].proposal is not None


def test_beside_a_file_of_python_that_the_patch_creates_a_merge_is_proposed_only() -> None:
    new = patch("p", diff("b.py", None, "x = 1\n")).files
    text, told = merged(made(BASE, THEIRS), BASE, OURS, [CONFLICT], OURS, new)
    assert text is None
    assert told[0].proposal is not None
    other = patch("p", diff("b.py", "x = 1\n", "x = 2\n")).files
    assert merged(made(BASE, THEIRS), BASE, OURS, [CONFLICT], OURS, other)[0] == BOTH


def test_three_places_of_a_merge_are_told() -> None:
    def text(one: int, two: object) -> bytes:
        return b"".join(
            b"def f%d():\n    one = %d\n    two = %s\n\n\n" % (n, one, str(two).encode())
            for n in range(4)
        )

    base, ours = text(1, 2), text(3, 2)
    file = made(base, text(1, "one"))
    _, told = merged(file, base, ours, [CONFLICT] * len(file.hunks), ours)
    assert told[0].detail == "rule adjacent at f0 2, f1 7, f2 12"
    assert [(one.added, one.removed) for one in told] == [(4, 4), *[(0, 0)] * (len(told) - 1)]


def test_a_merge_of_git_s_own_has_no_places() -> None:
    base = raw_numbered(30)
    ours = base.replace(b"line 13\n", b"other\n") + b"more\nlines\n"
    file = made(base, base.replace(b"line 15\n", b""), "f.txt")
    text, told = merged(file, base, ours, [CONFLICT], ours)
    assert text == ours.replace(b"line 15\n", b"")
    assert told[0].detail == "rule three-way"
    assert (told[0].added, told[0].removed, told[0].line) == (0, 1, 15)
    assert len(split_keeping_ends(text)) == 31
