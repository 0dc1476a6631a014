"""Any change of a file that a patch has changed can be said as other text for its hunks."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from backport.core.amending import amended, runs_of
from backport.core.applying import apply_stack
from backport.core.manifests import Adaptation, Drop, Replace
from backport.core.outcomes import StackOutcome
from backport.core.parsing import parse_diff
from backport.core.patches import FilePatch
from tests.builders import diff, numbered, stack, tree

HOME = numbered(1, 40)
PATCHED = HOME.replace("line 10\n", "ten\nten more\n").replace("line 30\n", "")
CHANGE = stack(diff("f.txt", HOME, PATCHED))


Entries = dict[str, Adaptation]


def said(before: str, after: str, known: Entries | None = None) -> Entries:
    """The entries that say, for the stack on `before`, that the file is to be `after`."""
    (file,) = CHANGE.patches[0].files
    ids = [found[0] for found in CHANGE.hunks()]
    made = diff("f.txt", before, after) if before != after else b""
    hunks = parse_diff(made)[0].hunks if made else ()
    entries = [(known or {}).get(str(key)) for key in ids]
    out: Entries = dict(known or {})
    for item in amended(file, entries, before.encode(), hunks):
        key = ids[item.at]
        if item.hunks:
            files = (FilePatch("f.txt", "f.txt", item.hunks),)
            out[str(key)] = Replace("r", (), "m:1", key, "x.patch", files)
        else:
            out[str(key)] = Drop("r", (), "m:1", key)
    return out


def gives(before: str, after: str) -> Entries:
    """The entries, having proved that the stack gives the text with them."""
    entries = said(before, after)
    result = apply_stack(CHANGE, entries, tree({"f.txt": before}))
    assert not any(hunk.outcome.failed for hunk in result.hunks), result.hunks
    got = result.changes.get("f.txt")
    assert (got.data.decode() if got else before) == after
    return entries


def numbers(entries: Entries) -> dict[int, str]:
    return {entry.hunk.ordinal: type(entry).__name__ for entry in entries.values()}


def test_what_is_as_the_patch_left_it_needs_no_entry() -> None:
    assert gives(HOME, PATCHED) == {}
    assert gives("# on top\n" + HOME, "# on top\n" + PATCHED) == {}


def test_a_hunk_whose_lines_are_others_gets_them() -> None:
    assert numbers(gives(HOME, PATCHED.replace("ten more", "TEN"))) == {1: "Replace"}


def test_a_hunk_that_was_taken_back_is_dropped() -> None:
    assert numbers(gives(HOME, PATCHED.replace("ten\nten more\n", "line 10\n"))) == {1: "Drop"}
    assert numbers(gives(HOME, HOME)) == {1: "Drop", 2: "Drop"}


def test_a_change_elsewhere_goes_to_the_nearest_hunk() -> None:
    assert numbers(gives(HOME, PATCHED.replace("line 34\n", "34\n"))) == {2: "Replace"}
    assert numbers(gives(HOME, PATCHED.replace("line 2\n", "2\n"))) == {1: "Replace"}


def test_an_entry_that_is_still_right_stays() -> None:
    entries = said(HOME, PATCHED.replace("ten more", "TEN"))
    after = PATCHED.replace("ten more", "TEN").replace("line 34\n", "34\n")
    again = said(HOME, after, entries)
    first = next(key for key in entries)
    assert again[first] is entries[first]
    assert numbers(again) == {1: "Replace", 2: "Replace"}


def test_two_hunks_share_the_lines_between_them() -> None:
    assert numbers(gives(HOME, PATCHED.replace("line 15\n", "").replace("line 21\n", ""))) == {
        1: "Replace",
        2: "Replace",
    }


def test_changes_too_close_to_be_told_apart_go_to_one_hunk() -> None:
    after = PATCHED.replace("line 19\n", "").replace("line 21\n", "")
    assert list(numbers(gives(HOME, after)).values()) == ["Replace"]


def test_runs_are_the_changed_lines_with_their_places() -> None:
    (file,) = CHANGE.patches[0].files
    first, second = runs_of(file.hunks)
    assert (first.line, first.removed, first.added) == (
        10,
        (b"line 10\n",),
        (b"ten\n", b"ten more\n"),
    )
    assert (second.line, second.end, second.added) == (30, 31, ())


_LINES = PATCHED.splitlines(keepends=True)
_EDITS = st.lists(
    st.tuples(st.integers(0, len(_LINES) - 1), st.sampled_from(["", "new {}\n", "a {}\nb {}\n"])),
    max_size=6,
)


@given(_EDITS)
@settings(max_examples=60, deadline=None)
def test_any_amendment_can_be_said_and_gives_the_text(edits: list[tuple[int, str]]) -> None:
    lines = list(_LINES)
    for number, (at, text) in enumerate(edits):
        lines[at] = text.format(number, number)
    after = "".join(lines)
    if after:
        gives(HOME, after)


def test_a_stack_with_every_hunk_dropped_is_there_already() -> None:
    result = apply_stack(CHANGE, gives(HOME, HOME), tree({"f.txt": HOME}))
    assert result.outcome is StackOutcome.ALREADY
