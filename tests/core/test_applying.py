"""Applying a stack: whole files and hunks together, all or nothing, every outcome told."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping

import pytest

from backport.core.applying import apply_stack
from backport.core.manifests import Adaptation, Anchor, Drop, Evidence, Reanchor, Replace
from backport.core.objects import blob_id
from backport.core.outcomes import HunkResult, Outcome, StackOutcome, StackResult
from backport.core.parsing import parse_diff
from backport.core.patches import HunkId, Patch
from backport.core.stacks import Stack
from backport.core.trees import Entry
from tests.builders import (
    DictTree,
    diff,
    executable,
    git_blob_id,
    numbered,
    patch,
    raw,
    regular,
    stack,
    symlink,
    tree,
)

HOME = numbered(1, 20)
TEN = HOME.replace("line 10\n", "ten\n")
TEN_DIFF = diff("f", HOME, TEN)
SUBMODULE = Entry("160000", b"")


def apply(change: Stack | bytes, base: DictTree, *entries: Adaptation) -> StackResult:
    made = change if isinstance(change, Stack) else stack(change)
    return apply_stack(made, {str(entry.hunk): entry for entry in entries}, base)


def changes(result: StackResult) -> dict[str, str | None]:
    """The changed files as texts."""
    return {
        path: None if entry is None else entry.data.decode()
        for path, entry in result.changes.items()
    }


def outcomes(result: StackResult) -> list[Outcome]:
    return [hunk.outcome for hunk in result.hunks]


def details(result: StackResult) -> list[str]:
    return [hunk.detail for hunk in result.hunks]


def applied(change: Stack | bytes, files: Mapping[str, str | Entry]) -> Mapping[str, Entry | None]:
    result = apply(change, tree(files))
    assert result.outcome is StackOutcome.APPLIED
    return result.changes


def conflict(change: Stack | bytes, files: Mapping[str, str | Entry]) -> str:
    """What the last hunk says in a stack that must be a conflict and change nothing."""
    result = apply(change, tree(files))
    assert (result.outcome, result.changes) == (StackOutcome.CONFLICT, {})
    return result.hunks[-1].detail


def already(change: Stack | bytes, files: Mapping[str, str | Entry]) -> str:
    """What the last hunk says in a stack that must be on the target already."""
    result = apply(change, tree(files))
    assert (result.outcome, result.changes) == (StackOutcome.ALREADY, {})
    assert set(outcomes(result)) == {Outcome.ALREADY}
    return result.hunks[-1].detail


# ---------------------------------------------------------------- one file


def test_a_hunk_result_tells_all_of_its_hunk() -> None:
    change = patch("p1", diff("pkg/f.txt", HOME, TEN))
    named = Patch("p1", "x", change.files, source="patches/stack/p1.patch")
    result = apply(stack(named), tree({"pkg/f.txt": "new\n" + HOME}))
    assert result.hunks == (
        HunkResult(
            HunkId("stack", "p1", "pkg/f.txt", 1, change.files[0].hunks[0].digest),
            "pkg/f.txt",
            Outcome.MOVED,
            line=11,
            offset=1,
            source="patches/stack/p1.patch:4",
            added=1,
            removed=1,
        ),
    )
    assert changes(result) == {"pkg/f.txt": "new\n" + TEN}


def test_the_mode_of_a_changed_file_is_the_target_s() -> None:
    made = applied(diff("f", HOME, TEN), {"f": executable(HOME)})
    assert made == {"f": executable(TEN)}


def test_every_hunk_of_a_file_is_placed_in_the_text_before_the_patch() -> None:
    home = numbered(1, 30)
    after = "zero\n" + home.replace("line 15\n", "").replace("line 30\n", "end\n")
    result = apply(diff("f", home, after), tree({"f": home}))
    assert [hunk.line for hunk in result.hunks] == [1, 15, 30]
    assert changes(result) == {"f": after}


def test_two_equal_hunks_do_not_go_into_one_place() -> None:
    block = "a\nb\nc\nold\nd\ne\nf\n"
    home = block + "between\n" + block
    after = home.replace("old\n", "old\nnew\n")
    detail = conflict(diff("f", home, after), {"f": block + "between\n"})
    assert detail == "two hunks of this file need the same lines of the target"


def test_a_hunk_does_not_rest_on_a_line_that_another_changes() -> None:
    home = "a\nb\nc\nx\nd\ne\nf\ng\na\nb\nc\nx\nd\ne\nf\nh\n"
    after = home.replace("c\nx\nd\ne\nf\ng", "c\ny\nd\ne\nf\ng").replace("x\nd\ne\nf\nh", "x\nz\nh")
    target = "a\nb\nc\nx\nd\ne\nf\nh\n"  # the two places have become one
    assert conflict(diff("f", home, after), {"f": target})


def test_a_hunk_s_own_line_says_nothing_in_a_text_that_is_not_the_patch_s() -> None:
    twin = numbered(1, 9)
    home = twin + "between\n" + twin
    after = twin + "between\n" + twin.replace("line 5\n", "five\n")
    change = diff("f", home, after, index=True)
    assert applied(change, {"f": home}) == {"f": regular(after)}
    moved_down = "one more line\n" * 10 + home  # the first twin stands where the second was
    assert conflict(change, {"f": moved_down}).startswith("fits at lines 15, 25")


def test_a_file_that_is_not_there_is_a_conflict_that_names_look_alikes() -> None:
    files = {
        "engine/selector.py": "",
        "other/selector.py": "",
        "engine/v2/selector.py": "",
        "tests/a/selector.py": "",
        "engine/v1/selector.pyi": "",
    }
    detail = conflict(diff("engine/v1/selector.py", HOME, TEN), files)
    assert detail == (
        "the target has no engine/v1/selector.py; "
        "is it engine/selector.py or engine/v2/selector.py or other/selector.py?"
    )


def test_a_file_that_is_not_there_and_has_no_look_alike_is_a_conflict() -> None:
    assert conflict(diff("f", HOME, TEN), {"g": HOME}) == "the target has no f"


@pytest.mark.parametrize(
    ("files", "detail"),
    [
        ({"f": SUBMODULE}, "f is a submodule on the target"),
        ({"f": symlink(HOME)}, "f is of another kind on the target"),
        ({"f/x": HOME}, "f is a folder on the target"),
    ],
    ids=["a submodule", "a link", "a folder"],
)
def test_a_text_change_of_something_else_is_a_conflict(
    files: dict[str, str | Entry], detail: str
) -> None:
    assert conflict(diff("f", HOME, TEN, index=True), files) == detail


# ---------------------------------------------------------------- created files


def test_a_file_is_created() -> None:
    result = apply(diff("pkg/new.py", None, "x = 1\n"), tree({}))
    assert result.changes == {"pkg/new.py": regular("x = 1\n")}
    assert [(hunk.outcome, hunk.line) for hunk in result.hunks] == [(Outcome.EXACT, 1)]


def test_an_empty_file_is_created() -> None:
    assert applied(diff("pkg/__init__.py", None, ""), {}) == {"pkg/__init__.py": regular("")}


def test_an_executable_file_is_created() -> None:
    change = diff("run.sh", None, "#!/bin/sh\n", mode="100755")
    assert applied(change, {}) == {"run.sh": executable("#!/bin/sh\n")}


def test_a_symbolic_link_is_created() -> None:
    change = diff("pkg/link", None, "../there", mode="120000")
    assert applied(change, {"pkg/x": ""}) == {"pkg/link": symlink("../there")}


def test_a_created_file_that_is_there_is_already_created() -> None:
    change = diff("f", None, "x\n")
    assert already(change, {"f": "x\n"}) == "the file is there with this content"


@pytest.mark.parametrize(
    ("there", "detail"),
    [
        (regular("y\n"), "f is there already, with other content"),
        (regular(""), "f is there already, with other content"),
        (regular("x"), "f is there already, with mode 100644 instead of 120000"),
        (executable("x"), "f is there already, with mode 100755 instead of 120000"),
        (SUBMODULE, "f is a submodule on the target"),
    ],
    ids=["another text", "an empty file", "a file, no link", "an executable", "a submodule"],
)
def test_a_created_link_does_not_go_over_something_else(there: Entry, detail: str) -> None:
    assert conflict(diff("f", None, "x", mode="120000"), {"f": there}) == detail


def test_a_created_file_does_not_go_over_one_with_another_mode() -> None:
    change = diff("f", None, "x\n", mode="100755")
    assert conflict(change, {"f": "x\n"}) == (
        "f is there already, with mode 100644 instead of 100755"
    )


def test_a_created_file_does_not_go_over_a_folder() -> None:
    assert conflict(diff("f", None, "x\n"), {"f/g": "y\n"}) == "f is a folder on the target"


def test_a_created_file_does_not_go_over_a_folder_that_the_stack_makes() -> None:
    change = stack(diff("f/g", None, "x\n"), diff("f", None, "y\n"))
    assert conflict(change, {}) == "f is a folder that an earlier patch makes"


def test_a_file_may_go_where_the_stack_took_a_folder_away() -> None:
    made = stack(diff("f/g", None, "x\n"), diff("f/g", "x\n", None), diff("f", None, "y\n"))
    assert applied(made, {}) == {"f": regular("y\n")}


PARENTS = {
    "a link": (symlink(".."), "unsafe path: ln is a symbolic link on the target"),
    "a file": (regular("x\n"), "ln is a file on the target"),
    "a submodule": (SUBMODULE, "ln is a file on the target"),
}


@pytest.mark.parametrize(("there", "detail"), PARENTS.values(), ids=PARENTS.keys())
@pytest.mark.parametrize("path", ["ln/f", "ln/deep/er/f"])
def test_nothing_is_written_below_what_is_no_folder(path: str, there: Entry, detail: str) -> None:
    found = conflict(diff(path, None, "x\n"), {"ln": there})
    assert found == f"{detail}, so nothing can be written below it"


def test_nothing_is_written_below_a_link_that_an_earlier_patch_makes() -> None:
    change = stack(diff("ln", None, "..", mode="120000"), diff("ln/f", None, "owned\n"))
    assert "nothing can be written below it" in conflict(change, {})


def test_nothing_is_renamed_below_a_link() -> None:
    change = b"diff --git a/f b/ln/f\nrename from f\nrename to ln/f\n"
    assert "nothing can be written below it" in conflict(change, {"f": "x", "ln": symlink("..")})


# ---------------------------------------------------------------- deleted files


def test_a_file_is_deleted() -> None:
    assert applied(diff("f", HOME, None), {"f": HOME, "g": ""}) == {"f": None}


def test_an_empty_file_is_deleted() -> None:
    assert applied(diff("f", "", None), {"f": ""}) == {"f": None}


def test_a_file_that_is_not_there_is_already_deleted() -> None:
    assert already(diff("f", HOME, None), {}) == "the file is not there"


def test_a_file_with_a_fix_of_the_branch_is_not_deleted() -> None:
    detail = conflict(diff("f", HOME, None), {"f": HOME + "branch fix\n"})
    assert detail == "f has other content than the patch deletes"


@pytest.mark.parametrize(
    "files",
    [{"f/x": "content\n"}, {"f": SUBMODULE}, {"f": symlink("")}],
    ids=["a folder", "a submodule", "a link"],
)
def test_deleting_an_empty_file_deletes_nothing_else(files: dict[str, str | Entry]) -> None:
    assert conflict(diff("f", "", None), files) == "f is of another kind on the target"


def test_a_deleted_link_must_be_a_link() -> None:
    change = diff("f", "there", None, mode="120000")
    assert conflict(change, {"f": "there"}) == "f is of another kind on the target"
    assert applied(change, {"f": symlink("there")}) == {"f": None}


def test_a_deleted_file_must_have_its_mode() -> None:
    assert conflict(diff("f", "x\n", None), {"f": executable("x\n")}) == (
        "f has mode 100755, not 100644"
    )


def test_a_file_becomes_a_link_and_a_link_a_file() -> None:
    change = diff("f", "x\n", None) + diff("f", None, "there", mode="120000")
    assert applied(change, {"f": "x\n"}) == {"f": symlink("there")}


# ---------------------------------------------------------------- renames and copies


def moved(verb: str, hunks: bytes = b"", blobs: str = "") -> bytes:
    index = f"index {blobs} 100644\n" if blobs else ""
    head = f"diff --git a/old b/new\n{verb} from old\n{verb} to new\n{index}"
    return raw(head) + (b"--- a/old\n+++ b/new\n" + hunks if hunks else b"")


TEN_HUNK = diff("x", HOME, TEN)[diff("x", HOME, TEN).index(b"@@") :]
BLOBS = f"{git_blob_id(raw(HOME))}..{git_blob_id(raw(TEN))}"


def test_a_file_is_renamed_with_its_mode() -> None:
    made = applied(moved("rename"), {"old": executable("x\n")})
    assert made == {"old": None, "new": executable("x\n")}


def test_a_file_is_renamed_and_changed() -> None:
    made = applied(moved("rename", TEN_HUNK), {"old": "top\n" + HOME})
    assert made == {"old": None, "new": regular("top\n" + TEN)}


def test_a_hunk_of_a_renamed_file_tells_where_its_text_came_from() -> None:
    result = apply(moved("rename", TEN_HUNK), tree({"old": HOME}))
    assert (result.hunks[0].path, result.hunks[0].origin) == ("new", "old")
    assert apply(TEN_DIFF, tree({"f": HOME})).hunks[0].origin == ""


def test_a_file_is_copied_and_the_copy_changed() -> None:
    assert applied(moved("copy", TEN_HUNK), {"old": HOME}) == {"new": regular(TEN)}


def test_a_rename_stops_where_the_new_name_is_taken() -> None:
    detail = conflict(moved("rename"), {"old": "x\n", "new": "x\n"})
    assert detail == "new is there already, beside old"


def test_a_rename_of_a_missing_file_is_a_conflict() -> None:
    assert conflict(moved("rename", TEN_HUNK), {"other": HOME}) == "the target has no old"


def test_a_rename_that_was_made_is_already_made() -> None:
    assert already(moved("rename"), {"new": "x\n"})
    detail = already(moved("rename", TEN_HUNK, BLOBS), {"new": TEN})
    assert detail == "new is there with this content"


@pytest.mark.parametrize(
    ("digits", "detail"),
    [(7, "new is there with this content"), (6, "the whole stack can be taken off the base again")],
)
def test_a_shortened_blob_id_proves_a_content_from_seven_digits_on(
    digits: int, detail: str
) -> None:
    short = "..".join(blob[:digits] for blob in BLOBS.split(".."))
    assert already(moved("rename", TEN_HUNK, short), {"new": TEN}) == detail


def test_a_blob_id_of_sixty_four_digits_is_of_the_other_object_format() -> None:
    long = "..".join(blob_id(raw(text), "sha256") for text in (HOME, TEN))
    assert already(moved("rename", TEN_HUNK, long), {"new": TEN}) == (
        "new is there with this content"
    )


def test_a_rename_to_other_content_is_not_already_made() -> None:
    assert conflict(moved("rename", TEN_HUNK, BLOBS), {"new": HOME})


def test_a_copy_that_was_made_is_already_made() -> None:
    detail = already(moved("copy", TEN_HUNK), {"old": HOME, "new": TEN})
    assert detail == "new is there with this content"


def test_a_copy_does_not_go_over_other_content() -> None:
    detail = conflict(moved("copy", TEN_HUNK), {"old": HOME, "new": HOME})
    assert detail == "new is there already, beside old"


@pytest.mark.parametrize("verb", ["copy", "rename"])
def test_a_copy_starts_from_the_file_as_the_patch_found_it(verb: str) -> None:
    first = diff("old", HOME, HOME.replace("line 1\n", "one\n"))
    made = applied(first + moved(verb, TEN_HUNK), {"old": HOME})
    assert made["new"] == regular(TEN)


def test_a_copy_starts_from_what_earlier_patches_made() -> None:
    change = stack(diff("old", HOME, TEN), moved("copy"))
    assert applied(change, {"old": HOME}) == {"old": regular(TEN), "new": regular(TEN)}


def test_a_later_patch_sees_the_renamed_file() -> None:
    change = stack(moved("rename"), diff("new", HOME, TEN))
    assert applied(change, {"old": HOME}) == {"old": None, "new": regular(TEN)}


def renamed(old: str, new: str, hunks: bytes = b"") -> bytes:
    names = f"--- a/{old}\n+++ b/{new}\n" if hunks else ""
    head = f"diff --git a/{old} b/{new}\nrename from {old}\nrename to {new}\n{names}"
    return head.encode() + hunks


ROUND = {
    "two names are exchanged": (
        renamed("a", "b") + renamed("b", "a"),
        {"a": "1\n", "b": executable("2\n")},
        {"a": executable("2\n"), "b": regular("1\n")},
    ),
    "three names go round": (
        renamed("c", "a") + renamed("a", "b") + renamed("b", "c"),
        {"a": "1\n", "b": "2\n", "c": "3\n"},
        {"a": regular("3\n"), "b": regular("1\n"), "c": regular("2\n")},
    ),
    "one moves up where another has left": (
        renamed("a", "b") + renamed("b", "c"),
        {"a": "1\n", "b": "2\n"},
        {"a": None, "b": regular("1\n"), "c": regular("2\n")},
    ),
    "a new file takes the name of one that moves": (
        diff("a", None, "new\n") + renamed("a", "b"),
        {"a": "1\n"},
        {"a": regular("new\n"), "b": regular("1\n")},
    ),
    "exchanged and changed": (
        renamed("a", "b", TEN_HUNK) + renamed("b", "a"),
        {"a": HOME, "b": "2\n"},
        {"a": regular("2\n"), "b": regular(TEN)},
    ),
    "exchanged though they are equal": (
        renamed("a", "b") + renamed("b", "a"),
        {"a": "1\n", "b": "1\n", "x": "x\n"},
        {},
    ),
    "one moves to the name of one that is deleted": (
        renamed("a", "b") + diff("b", "2\n", None),
        {"a": "1\n", "b": "2\n"},
        {"a": None, "b": regular("1\n")},
    ),
    "a file moves into a folder of its name": (
        renamed("a", "a/b"),
        {"a": "1\n"},
        {"a": None, "a/b": regular("1\n")},
    ),
    "a file moves out of a folder of its name": (
        renamed("a/b", "a"),
        {"a/b": "1\n"},
        {"a": regular("1\n"), "a/b": None},
    ),
    "a file takes the place of a folder that is deleted": (
        diff("a", None, "1\n") + diff("a/b", "2\n", None),
        {"a/b": "2\n"},
        {"a": regular("1\n"), "a/b": None},
    ),
}


@pytest.mark.parametrize(("change", "files", "expected"), ROUND.values(), ids=ROUND.keys())
def test_what_a_patch_takes_away_makes_room_for_its_other_files(
    change: bytes, files: dict[str, str | Entry], expected: dict[str, Entry | None]
) -> None:
    assert applied(change, files) == expected


def test_a_folder_that_keeps_a_file_makes_no_room() -> None:
    change = diff("a", None, "1\n") + diff("a/b", "2\n", None)
    result = apply(change, tree({"a/b": "2\n", "a/c": "3\n"}))
    assert result.outcome is StackOutcome.CONFLICT
    assert details(result)[0] == "a is a folder on the target"


def test_exchanged_names_do_not_hide_a_file_that_stays() -> None:
    change = renamed("a", "b") + renamed("b", "c")
    files = {"a": "1\n", "b": "2\n", "c": "3\n"}
    assert conflict(change, files) == "c is there already, beside b"


# ---------------------------------------------------------------- modes


def remoded(old: str, new: str) -> bytes:
    return f"diff --git a/f b/f\nold mode {old}\nnew mode {new}\n".encode()


def test_a_mode_changes_and_the_content_stays() -> None:
    assert applied(remoded("100644", "100755"), {"f": "x\n"}) == {"f": executable("x\n")}


def test_a_mode_that_is_set_is_already_set() -> None:
    already(remoded("100644", "100755"), {"f": executable("x\n")})


def test_a_mode_change_of_another_mode_is_a_conflict() -> None:
    assert conflict(remoded("100644", "100755"), {"f": symlink("x")}) == (
        "f is of another kind on the target"
    )


def test_a_mode_and_the_content_change_together() -> None:
    change = remoded("100644", "100755") + b"--- a/f\n+++ b/f\n" + TEN_HUNK
    assert applied(change, {"f": HOME}) == {"f": executable(TEN)}


MODES = "old mode 100644\nnew mode 100755\n"
NAMES = "rename from f\nrename to g\n"


def half(lines: str, there: Mapping[str, str | Entry], hunk: bytes = TEN_HUNK) -> StackResult:
    """A patch of which the content stands on the target, and the name or mode does not."""
    new = "g" if "to g" in lines else "f"
    index = f"index {BLOBS}\n" if hunk else ""
    head = raw(f"diff --git a/f b/{new}\n{lines}{index}")
    named = raw(f"--- a/f\n+++ b/{new}\n") + hunk if hunk else b""
    return apply(head + named, tree(there))


@pytest.mark.parametrize(
    ("lines", "there", "made"),
    [
        (MODES, {"f": TEN}, {"f": executable(TEN)}),
        (MODES + NAMES, {"g": TEN}, {"g": executable(TEN)}),
        (MODES + NAMES, {"f": TEN}, {"f": None, "g": executable(TEN)}),
        (NAMES, {"f": TEN}, {"f": None, "g": regular(TEN)}),
    ],
)
def test_a_name_or_mode_that_is_not_there_is_made_though_the_content_stands(
    lines: str, there: dict[str, str], made: dict[str, Entry | None]
) -> None:
    result = half(lines, there)
    assert (result.outcome, result.changes) == (StackOutcome.APPLIED, made)
    assert outcomes(result) == [Outcome.EXACT]
    named = {"f", "g"} <= made.keys()
    what = "it gets the name g" if named else "only its mode changes, to 100755"
    assert details(result) == [f"the content is there; {what}"]
    assert (result.hunks[0].added, result.hunks[0].removed) == (0, 0)


def test_a_rename_of_a_file_that_has_the_mode_already_is_made() -> None:
    result = half(MODES + NAMES, {"f": executable(TEN)}, hunk=b"")
    assert (outcomes(result), details(result)) == ([Outcome.EXACT], [""])
    assert result.changes == {"f": None, "g": executable(TEN)}


def test_a_mode_is_made_where_only_the_lines_tell_that_the_content_stands() -> None:
    change = raw(f"diff --git a/f b/f\n{MODES}--- a/f\n+++ b/f\n") + TEN_HUNK
    assert applied(change, {"f": "top\n" + TEN}) == {"f": executable("top\n" + TEN)}


def test_a_binary_file_whose_content_stands_gets_its_mode() -> None:
    change = binary(b"\0old", b"\0new").replace(b"index", raw(MODES) + b"index")
    change = change.replace(b" 100644\nGIT", b"\nGIT")
    assert applied(change, {"t": "\0new"}) == {"t": executable("\0new")}


def test_a_rename_that_was_made_without_its_mode_is_told() -> None:
    result = half(MODES + NAMES, {"g": HOME}, b"")
    assert (result.outcome, details(result)) == (StackOutcome.CONFLICT, ["the target has no f"])
    already(raw(f"diff --git a/f b/g\n{MODES}{NAMES}"), {"g": executable(HOME)})


def test_a_link_with_the_content_of_a_renamed_file_is_not_that_file() -> None:
    result = half(MODES + NAMES, {"g": symlink(TEN)})
    assert details(result) == ["g is of another kind on the target"]


# ---------------------------------------------------------------- binary files


def binary(old: bytes, new: bytes, kind: str = "literal", data: bytes | None = None) -> bytes:
    """A binary change of at most 26 packed bytes, as git writes it."""
    content = new if data is None else data
    packed = zlib.compress(content)
    line = bytes([64 + len(packed)]) + base64.b85encode(packed, pad=True)
    head = f"diff --git a/t b/t\nindex {git_blob_id(old)}..{git_blob_id(new)} 100644\n"
    return raw(f"{head}GIT binary patch\n{kind} {len(content)}\n") + line + b"\n\n"


def test_binary_content_is_replaced() -> None:
    assert applied(binary(b"\0old", b"\0new"), {"t": "\0old"}) == {"t": regular("\0new")}


def test_binary_content_is_changed_by_a_delta() -> None:
    change = binary(b"\0old", b"\0older", "delta", b"\x04\x06\x90\x04\x02er")
    assert applied(change, {"t": "\0old"}) == {"t": regular("\0older")}


def test_a_damaged_delta_is_a_conflict() -> None:
    change = binary(b"\0old", b"\0older", "delta", b"\x09\x06\x90\x04\x02er")
    assert conflict(change, {"t": "\0old"}) == "the delta was made for another content"


def test_other_binary_content_is_a_conflict() -> None:
    assert conflict(binary(b"\0old", b"\0new"), {"t": "\0mine"}) == (
        "the target has other binary content than the patch was made on"
    )


def test_binary_content_that_is_there_is_already_there() -> None:
    assert already(binary(b"\0old", b"\0new"), {"t": "\0new"}) == "the file has this content"


def test_a_binary_file_is_created() -> None:
    change = binary(b"", b"\0new").replace(b"index", b"new file mode 100755\nindex")
    assert applied(change.replace(b" 100644\n", b"\n"), {}) == {"t": executable("\0new")}


def test_only_the_binary_file_that_is_meant_is_deleted() -> None:
    change = binary(b"\0old", b"").replace(b"index", b"deleted file mode 100644\nindex")
    assert applied(change, {"t": "\0old"}) == {"t": None}
    assert conflict(change, {"t": "\0mine"}) == "t has other content than the patch deletes"


@pytest.mark.parametrize(
    "change",
    [
        diff("sub", "Subproject commit 1\n", "Subproject commit 2\n", index=True, mode="160000"),
        diff("sub", None, "Subproject commit 2\n", mode="160000"),
        diff("sub", "Subproject commit 1\n", None, mode="160000"),
    ],
    ids=["moved", "added", "removed"],
)
@pytest.mark.parametrize("files", [{}, {"sub": SUBMODULE}], ids=["absent", "there"])
def test_a_submodule_is_never_carried(change: bytes, files: dict[str, Entry]) -> None:
    text = diff("f", HOME, TEN)
    detail = conflict(text + change, {"f": HOME, **files})
    assert detail == "sub is a submodule; its commit is not a text that can be carried over"


# ---------------------------------------------------------------- the whole stack


def test_later_patches_see_what_earlier_ones_made() -> None:
    again = TEN.replace("ten\n", "ten\nand more\n")
    change = stack(diff("f", HOME, TEN), diff("f", TEN, again))
    result = apply(change, tree({"f": HOME}))
    assert (outcomes(result), changes(result)) == ([Outcome.EXACT] * 2, {"f": again})


def test_a_later_patch_changes_a_file_that_an_earlier_one_creates() -> None:
    change = stack(diff("f", None, HOME), diff("f", HOME, TEN))
    assert applied(change, {}) == {"f": regular(TEN)}


def test_a_file_that_ends_as_it_began_is_no_change() -> None:
    assert applied(stack(diff("f", HOME, TEN), diff("f", TEN, HOME)), {"f": HOME}) == {}
    assert applied(stack(diff("g", None, "x\n"), diff("g", "x\n", None)), {}) == {}


def test_one_hunk_out_of_place_leaves_everything_as_it_was() -> None:
    change = stack(diff("a", HOME, TEN) + diff("b", HOME, TEN), diff("c", HOME, TEN))
    result = apply(change, tree({"a": HOME, "b": "other\n", "c": HOME}))
    assert (result.outcome, result.changes) == (StackOutcome.CONFLICT, {})
    assert outcomes(result) == [Outcome.EXACT, Outcome.CONFLICT, Outcome.EXACT]


def test_one_hunk_out_of_place_leaves_its_file_to_the_later_patches_as_it_was() -> None:
    both = HOME.replace("line 3\n", "three\n").replace("line 17\n", "seventeen\n")
    change = stack(diff("f", HOME, both), diff("f", both, both.replace("three\n", "drei\n")))
    result = apply(change, tree({"f": HOME.replace("line 16\n", "other\n")}))
    assert outcomes(result) == [Outcome.EXACT, Outcome.CONFLICT, Outcome.CONFLICT]


def test_a_stack_that_stands_already_is_already_there() -> None:
    change = stack(diff("a", HOME, TEN) + diff("new", None, "x\n"), diff("gone", "y\n", None))
    assert already(change, {"a": "top\n" + TEN, "new": "x\n"})


def test_a_patch_that_stands_in_the_stack_twice_is_applied_once() -> None:
    for more in (TEN_DIFF, TEN_DIFF + diff("new", None, "x\n")):
        result = apply(stack(more, TEN_DIFF), tree({"f": HOME}))
        assert result.outcome is StackOutcome.APPLIED
        assert changes(result)["f"] == TEN
        assert (result.hunks[-1].outcome, result.hunks[-1].detail) == (
            Outcome.ALREADY,
            "an earlier patch of the stack has made it",
        )


def test_a_hunk_of_another_context_is_not_repeated_but_there_in_part() -> None:
    block = numbered(1, 9)
    first, second = (
        diff("f", top + block, top + block.replace("line 5\n", "five\n"), context=5)
        for top in ("one\n", "two\n")
    )
    there = "one\n" + block + "two\n" + block.replace("line 5\n", "five\n")
    result = apply(stack(first, second), tree({"f": there}))
    assert (result.outcome, outcomes(result)) == (
        StackOutcome.CONFLICT,
        [Outcome.EXACT, Outcome.ALREADY],
    )


def test_equal_hunks_that_all_stand_are_already_there() -> None:
    block = numbered(1, 9)
    before, after = block + "between\n" + block, block.replace("line 5\n", "five\n")
    change = stack(diff("f", before, after + "between\n" + after))
    result = apply_stack(change, {}, tree({"f": "a fix\n" + after + "between\n" + after}))
    assert (result.outcome, [hunk.outcome for hunk in result.hunks]) == (
        StackOutcome.ALREADY,
        [Outcome.ALREADY] * 2,
    )


def test_a_result_that_stands_twice_does_not_make_a_stack_already_there() -> None:
    block = numbered(1, 9)
    change = stack(diff("f", "top\n" + block, "top\n" + block.replace("line 5\n", "five\n")))
    there = block.replace("line 5\n", "five\n")
    result = apply_stack(change, {}, tree({"f": there + "between\n" + there}))
    assert (result.outcome, result.hunks[0].outcome) == (StackOutcome.CONFLICT, Outcome.AMBIGUOUS)


def test_a_stack_that_stands_in_part_is_a_conflict_that_says_which_part() -> None:
    change = stack(diff("a", HOME, TEN), diff("b", HOME, TEN), diff("c", HOME, TEN))
    result = apply(change, tree({"a": HOME, "b": TEN, "c": HOME}))
    assert (result.outcome, result.changes) == (StackOutcome.CONFLICT, {})
    assert outcomes(result) == [Outcome.EXACT, Outcome.ALREADY, Outcome.EXACT]


def test_a_stack_whose_patches_build_on_each_other_is_found_by_taking_it_off() -> None:
    middle = HOME.replace("line 10\n", "line 10\na\nb\n")
    final = middle.replace("a\nb\n", "a\nbetween\nb\n")
    change = stack(diff("f", HOME, middle), diff("f", middle, final))
    result = apply(change, tree({"f": "top\n" + final}))
    assert (result.outcome, result.changes) == (StackOutcome.ALREADY, {})
    assert details(result) == [
        "the whole stack can be taken off the base again",
        "its result stands at line 13",
    ]


def test_a_stack_that_was_half_taken_back_is_a_conflict() -> None:
    middle = HOME.replace("line 10\n", "line 10\na\nb\n")
    final = middle.replace("a\nb\n", "a\nbetween\nb\n")
    change = stack(diff("f", HOME, middle), diff("f", middle, final))
    assert conflict(change, {"f": final.replace("a\nbetween\n", "between\n")})


BODY = "    a = 1\n    b = 2\n    c = 3\n    d = 4\n    e = 5\n    f = 6\n"
NEW = BODY.replace("d = 4\n", "d = 4\n    new = 0\n")


def function(name: str, body: str) -> str:
    return f"def {name}():\n{body}"


def in_sparse(before: str, after: str) -> bytes:
    home = "import os\n\n\n"
    return diff(
        "m.py",
        home + function("sparse", before),
        home + function("sparse", after),
        section="sparse",
    )


def test_a_sibling_with_the_change_does_not_make_the_stack_already_there() -> None:
    assert conflict(in_sparse(BODY, NEW), {"m.py": function("dense", NEW)})


def test_a_sibling_with_a_later_change_does_not_make_the_stack_already_there() -> None:
    later = NEW.replace("new = 0", "new = 9")
    change = stack(in_sparse(BODY, NEW), in_sparse(NEW, later))
    assert conflict(change, {"m.py": function("dense", later)})
    assert already(change, {"m.py": function("sparse", later)})


@pytest.mark.parametrize(
    ("before", "after"),
    [(BODY, NEW), (NEW, BODY), (BODY, BODY.replace("d = 4", "d = 5"))],
    ids=["inserted", "deleted", "changed"],
)
def test_a_stack_is_taken_off_within_its_scope(before: str, after: str) -> None:
    later = after.replace("c = 3\n", "c = 3\n    later = 0\n")
    change = stack(in_sparse(before, after), in_sparse(after, later))
    both = function("dense", before) + "\n\n" + function("sparse", later)
    assert already(change, {"m.py": both})


def test_a_file_that_became_a_link_is_taken_off_in_the_other_order() -> None:
    change = diff("f", "x\n", None) + diff("f", None, "there", mode="120000")
    already(change, {"f": symlink("there")})


def test_a_stack_that_removes_a_function_is_taken_off_again() -> None:
    one = "import os\n\n\ndef f():\n    a = 1\n\n\ndef g():\n    pass\n\n\ndef h():\n    pass\n"
    two = one.replace("def g():\n    pass\n\n\n", "")
    three = two.replace("a = 1", "a = 2")
    change = stack(diff("m.py", one, two, section="g"), diff("m.py", two, three, section="f"))
    found = apply(change, tree({"m.py": "# top\n" + three}))
    assert (outcomes(found), found.outcome) == ([Outcome.ALREADY] * 2, StackOutcome.ALREADY)
    assert details(found)[0] == "the whole stack can be taken off the base again"
    assert [(hunk.added, hunk.removed) for hunk in found.hunks] == [(0, 0)] * 2


def test_a_stack_of_new_functions_is_taken_off_again() -> None:
    one = "import os\n\n\ndef f():\n    pass\n"
    two = one + "\n\ndef g():\n    x = 1\n    y = 2\n    return x\n"
    three = two.replace("    y = 2\n", "    y = 2\n    z = 3\n")
    change = stack(diff("m.py", one, two, section="f"), diff("m.py", two, three, section="g"))
    assert already(change, {"m.py": "# top\n" + three})


# ---------------------------------------------------------------- what a manifest says


def entry_for(change: Stack, number: int) -> HunkId:
    return change.hunks()[number][0]


def because(reason: str = "the release lacks it") -> tuple[str, tuple[Evidence, ...], str]:
    return reason, (), "manifests/o/v1.toml:9"


def test_a_dropped_hunk_is_left_out_with_its_reason() -> None:
    after = TEN.replace("line 1\n", "one\n")
    change = stack(diff("f", HOME, after))
    result = apply(change, tree({"f": HOME}), Drop(*because(), entry_for(change, 0)))
    assert (result.outcome, changes(result)) == (StackOutcome.APPLIED, {"f": TEN})
    assert outcomes(result) == [Outcome.DROPPED, Outcome.EXACT]
    assert [hunk.reason for hunk in result.hunks] == ["the release lacks it", ""]
    assert [(hunk.added, hunk.removed) for hunk in result.hunks] == [(0, 0), (1, 1)]


def test_a_dropped_hunk_needs_no_place() -> None:
    change = stack(diff("missing", HOME, TEN) + diff("f", HOME, TEN))
    result = apply(change, tree({"f": HOME}), Drop(*because(), entry_for(change, 0)))
    assert (result.outcome, changes(result)) == (StackOutcome.APPLIED, {"f": TEN})


@pytest.mark.parametrize(
    "file",
    [
        diff("g", None, "x\n"),
        diff("g", None, ""),
        diff("g", "x\n", None),
        b"diff --git a/g b/h\nrename from g\nrename to h\n",
        b"diff --git a/g b/g\nold mode 100644\nnew mode 100755\n",
    ],
    ids=["created", "created empty", "deleted", "renamed", "re-moded"],
)
def test_a_whole_file_can_be_dropped(file: bytes) -> None:
    change = stack(file + diff("f", HOME, TEN))
    result = apply(change, tree({"f": HOME, "g": "y\n"}), Drop(*because(), entry_for(change, 0)))
    assert (result.outcome, changes(result)) == (StackOutcome.APPLIED, {"f": TEN})


RENAMED = (
    b"diff --git a/old.txt b/new.txt\nsimilarity index 90%\nrename from old.txt\n"
    b"rename to new.txt\n--- a/old.txt\n+++ b/new.txt\n@@ -9,3 +9,3 @@\n"
    b" line 9\n-line 10\n+ten\n line 11\n"
)
MADE_EXECUTABLE = (
    b"diff --git a/old.txt b/old.txt\nold mode 100644\nnew mode 100755\n"
    b"--- a/old.txt\n+++ b/old.txt\n@@ -9,3 +9,3 @@\n line 9\n-line 10\n+ten\n line 11\n"
)


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        (RENAMED, {"old.txt": None, "new.txt": regular(HOME)}),
        (MADE_EXECUTABLE, {"old.txt": executable(HOME)}),
    ],
    ids=["rename", "mode"],
)
def test_dropping_every_hunk_of_a_file_keeps_its_new_name_and_mode(
    file: bytes, changes: dict[str, Entry | None]
) -> None:
    (hunk_id,) = [found[0] for found in stack(file).hunks()]
    result = apply(file, tree({"old.txt": HOME}), Drop("no", (), "m:1", hunk_id))
    assert result.changes == changes
    dropped, header = result.hunks
    assert (dropped.outcome, header.outcome, header.id.ordinal) == (
        Outcome.DROPPED,
        Outcome.EXACT,
        0,
    )


def test_a_rename_that_cannot_be_made_is_told_though_every_hunk_is_dropped() -> None:
    (hunk_id,) = [found[0] for found in stack(RENAMED).hunks()]
    result = apply(RENAMED, tree({"other.txt": HOME}), Drop("no", (), "m:1", hunk_id))
    assert result.outcome is StackOutcome.CONFLICT


def test_an_entry_that_gives_no_place_is_the_one_to_mend() -> None:
    change = diff("a.py", "def f():\n    pass\n", "def f():\n    pass\n\n\nx = 1\n")
    (hunk_id,) = [found[0] for found in stack(change).hunks()]
    entry = Reanchor("r", (), "manifests/me/v1.toml:12", hunk_id, Anchor.parse("after gone"))
    (told,) = apply(change, tree({"a.py": "def f():\n    pass\n"}), entry).hunks
    assert told.detail.endswith("; mend its entry at manifests/me/v1.toml:12")


def test_what_is_dropped_does_not_count_as_missing_from_a_stack_that_is_there() -> None:
    after = TEN.replace("line 1\n", "one\n")
    change = stack(diff("f", HOME, after))
    result = apply(change, tree({"f": TEN}), Drop(*because(), entry_for(change, 0)))
    assert (result.outcome, result.changes) == (StackOutcome.ALREADY, {})


def test_a_reanchored_hunk_goes_where_the_manifest_says() -> None:
    change = stack(diff("m.py", "x = 1\n", "x = 1\ny = 2\n"))
    target = "@d\ndef f():\n    pass\n"
    entry = Reanchor(*because(), entry_for(change, 0), Anchor("before", "f"))
    result = apply(change, tree({"m.py": target}), entry)
    assert changes(result) == {"m.py": "y = 2\n" + target}
    (hunk,) = result.hunks
    assert (hunk.outcome, hunk.line, hunk.reason) == (Outcome.REANCHORED, 1, entry.reason)
    assert (hunk.added, hunk.removed) == (1, 0)


def test_hunks_anchored_at_one_place_stand_in_the_order_of_the_patch() -> None:
    home = numbered(1, 30)
    after = home.replace("line 5\n", "line 5\na = 1\n").replace("line 25\n", "line 25\nb = 2\n")
    change = stack(diff("m.py", home, after))
    entries = [
        Reanchor(*because(), entry_for(change, number), Anchor("before", "f")) for number in (0, 1)
    ]
    result = apply(change, tree({"m.py": "def f():\n    pass\n"}), *entries)
    assert changes(result) == {"m.py": "a = 1\nb = 2\ndef f():\n    pass\n"}


def test_a_reanchored_hunk_of_an_applied_stack_is_not_added_again() -> None:
    change = stack(diff("m.py", "x = 1\n", "x = 1\ny = 2\n"))
    entry = Reanchor(*because(), entry_for(change, 0), Anchor("before", "f"))
    result = apply(change, tree({"m.py": "y = 2\ndef f():\n    pass\n"}), entry)
    assert (result.outcome, result.changes) == (StackOutcome.ALREADY, {})


def test_a_replaced_hunk_has_other_text_here() -> None:
    change = stack(diff("f", HOME, TEN))
    target = HOME.replace("line 9\n", "neun\n")
    text = target.replace("line 10\n", "zehn\nand more\n").replace("line 20\n", "twenty\n")
    entry = Replace(
        *because(), entry_for(change, 0), "other.patch", parse_diff(diff("f", target, text))
    )
    result = apply(change, tree({"f": target}), entry)
    assert (result.outcome, changes(result)) == (StackOutcome.APPLIED, {"f": text})
    (hunk,) = result.hunks
    assert (hunk.outcome, hunk.line, hunk.reason) == (Outcome.REPLACED, 10, entry.reason)
    assert (hunk.added, hunk.removed) == (3, 2)
    assert hunk.id == entry_for(change, 0)


@pytest.mark.parametrize("target", [HOME, "other\n"], ids=["replaced", "no place"])
def test_a_replaced_hunk_is_told_at_its_own_line_of_the_patch(target: str) -> None:
    made = patch("p1", diff("a", "1\n", "2\n"), TEN_DIFF)._replace(source="p1.patch")
    change = stack(made)
    files = parse_diff(b"a mail's header\n\n" + TEN_DIFF)
    result = apply(
        change,
        tree({"a": "1\n", "f": target}),
        Replace(*because(), entry_for(change, 1), "other.patch", files),
    )
    assert result.hunks[1].source == f"p1.patch:{made.files[1].hunks[0].at}"


@pytest.mark.parametrize(
    ("target", "outcome", "detail"),
    [
        ("other\n", Outcome.CONFLICT, "the replacement other.patch: the target has no line"),
        (
            HOME + "-\n" + HOME,
            Outcome.AMBIGUOUS,
            "the replacement other.patch: fits at lines 5, 26",
        ),
        (
            HOME.replace("line 5\n", "fünf\n"),
            Outcome.CONFLICT,
            "the replacement other.patch: its result stands at line 5",
        ),
    ],
    ids=["no place", "two places", "already there"],
)
def test_a_replacement_must_have_its_one_place(target: str, outcome: Outcome, detail: str) -> None:
    change = stack(diff("f", HOME, TEN))
    files = parse_diff(diff("f", HOME, HOME.replace("line 5\n", "fünf\n")))
    entry = Replace(*because(), entry_for(change, 0), "other.patch", files)
    result = apply(change, tree({"f": target}), entry)
    assert (result.outcome, outcomes(result)) == (StackOutcome.CONFLICT, [outcome])
    assert result.hunks[0].detail.startswith(detail)


def test_an_entry_of_another_hunk_changes_nothing() -> None:
    change = stack(diff("f", HOME, TEN))
    other = HunkId("stack", "p1", "f", 1, "00000000")
    result = apply(change, tree({"f": HOME}), Drop(*because(), other))
    assert changes(result) == {"f": TEN}


def test_with_entries_a_conflict_is_never_taken_for_a_stack_that_is_there() -> None:
    middle = HOME.replace("line 10\n", "line 10\na\nb\n")
    final = middle.replace("a\nb\n", "a\nbetween\nb\n")
    change = stack(diff("f", HOME, middle), diff("f", middle, final), diff("g", HOME, TEN))
    result = apply(
        change, tree({"f": "top\n" + final, "g": TEN}), Drop(*because(), entry_for(change, 2))
    )
    assert (result.outcome, result.changes) == (StackOutcome.CONFLICT, {})


def test_a_text_that_has_both_the_old_lines_and_the_new_ones_does_not_hold_the_stack() -> None:
    old = numbered(7, 13)
    new = old.replace("line 10\n", "ten\n")
    result = apply(TEN_DIFF, tree({"f": f"first\n{old}between\n{new}last\n"}))
    assert (outcomes(result), result.outcome) == ([Outcome.AMBIGUOUS], StackOutcome.CONFLICT)


def test_where_removed_lines_still_stand_a_stack_in_part_is_not_there() -> None:
    block = "a\nb\nc\n"
    change = diff("f", block + "old\n" + block, block + "new\n" + block) + diff("g", HOME, TEN)
    both = block + "new\n" + block + "old\n" + block
    result = apply(change, tree({"f": f"first\n{both}last\n", "g": TEN}))
    assert result.outcome is StackOutcome.CONFLICT
    assert outcomes(result) == [Outcome.MOVED, Outcome.ALREADY]
