"""A hunk whose text stood more than once on its home goes to its own place or to none."""

from __future__ import annotations

import pytest

from backport.core.applying import apply_stack
from backport.core.outcomes import Outcome, StackOutcome, StackResult
from backport.core.parsing import parse_diff
from backport.core.placing import place
from backport.core.preimages import Preimages
from backport.core.stacks import Stack
from backport.core.texts import Edit, Target
from backport.core.twins import Doubt, Proof
from tests.builders import diff, git_blob_id, stack, tree

BODY = "a = 1\nb = 2\nc = 3\nport = 80\nd = 4\ne = 5\nf = 6\n"
HOME = f"[one]\n{BODY}[two]\n{BODY}"
CHANGE = diff("m.cfg", HOME, HOME.replace("port = 80", "port = 81", 1))
OTHER_FIRST = HOME.replace("b = 2", "b = 22", 1)  # around the true place
OTHER_SECOND = f"[one]\n{BODY}[two]\n{BODY.replace('b = 2', 'b = 22')}"
THERE_SECOND = f"[one]\n{BODY.replace('b = 2', 'b = 22')}[two]\n{BODY.replace('80', '81')}"


def doubted(target: str, home: str = HOME) -> Doubt | None:
    hunk = parse_diff(CHANGE)[0].hunks[0]
    found = place(hunk, Target("m.cfg", target.encode()))
    assert not found.outcome.failed
    return Proof(home.encode(), target.encode()).doubt(hunk, found.edit)


def test_the_only_fit_is_the_look_alike() -> None:
    found = doubted(OTHER_FIRST)
    assert found is not None
    assert found.merges
    assert "stand 2 times" in found.why


def test_the_only_fit_is_its_own_place() -> None:
    assert doubted(OTHER_SECOND) is None


def test_the_result_stands_at_the_look_alike() -> None:
    found = doubted(THERE_SECOND)
    assert found is not None
    assert found.merges


def test_the_true_place_is_gone() -> None:
    found = doubted(f"[two]\n{BODY}")
    assert found is not None
    assert not found.merges
    assert found.why.endswith("name the place in the manifest")


def test_lines_that_stood_once_are_not_doubted() -> None:
    home = f"[one]\n{BODY}"
    assert doubted(f"x = 0\n{home}", home) is None


def test_lines_that_only_end_alike_are_no_twins() -> None:
    assert doubted(f"x = 0\n[one]\n{BODY}", f"[one]\n{BODY}# {BODY}") is None


def test_twins_that_overlap_count() -> None:
    blank = "\n" * 4
    change = diff("m.cfg", blank, "\n\nx\n\n\n", context=1)
    hunk = parse_diff(change)[0].hunks[0]
    found = Proof(blank.encode(), blank.encode()).doubt(hunk, Edit(0, 0, b"x\n"))
    assert found is not None
    assert "stand 3 times" in found.why


def test_a_twin_at_the_top_of_the_text_counts() -> None:
    home = f"{BODY}[two]\n{BODY}"
    hunk = parse_diff(diff("m.cfg", home, home.replace("80", "81", 1)))[0].hunks[0]
    target = f"g = 1\n[two]\n{BODY}"
    found = place(hunk, Target("m.cfg", target.encode()))
    assert found.edit is not None
    assert Proof(home.encode(), target.encode()).doubt(hunk, found.edit) is not None


@pytest.mark.parametrize("above", ["", "x = 0\n", "x = 0\n" * 30])
def test_lines_above_move_both(above: str) -> None:
    hunk = parse_diff(CHANGE)[0].hunks[0]
    target = (above + HOME).encode()
    true = place(hunk, Target("m.cfg", (above + OTHER_SECOND).encode()))
    assert true.edit is not None
    assert Proof(HOME.encode(), target).doubt(hunk, true.edit) is None


# ---------------------------------------------------------------- a whole stack


INDEXED = diff("m.cfg", HOME, HOME.replace("port = 80", "port = 81", 1), index=True)
INSERTED = diff("m.cfg", HOME, HOME.replace("port = 80", "port = 80\nx = 1", 1), index=True)


def applied(change: bytes, target: str, *, known: bool = True, home: str = HOME) -> StackResult:
    def sources(one: Stack) -> Preimages:
        return Preimages(one, {git_blob_id(home.encode()): home.encode()}.get, lambda: None)

    return apply_stack(stack(change), {}, tree({"m.cfg": target}), sources if known else None)


def test_with_the_pre_image_the_change_goes_to_its_own_place() -> None:
    result = applied(INDEXED, OTHER_FIRST)
    assert [hunk.outcome for hunk in result.hunks] == [Outcome.MERGED]
    entry = result.changes["m.cfg"]
    assert entry is not None
    assert entry.data.decode() == OTHER_FIRST.replace("port = 80", "port = 81", 1)


def test_without_it_nobody_can_tell() -> None:
    assert applied(INDEXED, OTHER_FIRST, known=False).hunks[0].outcome is Outcome.MOVED


def test_its_own_place_stays_what_it_was() -> None:
    (hunk,) = applied(INDEXED, OTHER_SECOND).hunks
    assert (hunk.outcome, hunk.line) == (Outcome.EXACT, 5)


def test_where_nothing_tells_a_person_does() -> None:
    result = applied(INDEXED, f"[two]\n{BODY}")
    (hunk,) = result.hunks
    assert (hunk.outcome, hunk.candidates) == (Outcome.AMBIGUOUS, (5,))
    assert result.outcome is StackOutcome.CONFLICT


@pytest.mark.parametrize("change", [INDEXED, INSERTED], ids=["changed", "inserted"])
def test_a_stack_that_stands_at_the_look_alike_is_not_there(change: bytes) -> None:
    new = "port = 81" if change == INDEXED else "port = 80\nx = 1"
    first = BODY.replace("b = 2", "b = 22")
    target = f"[one]\n{first}[two]\n{BODY.replace('port = 80', new)}"
    result = applied(change, target)
    assert result.outcome is StackOutcome.APPLIED
    entry = result.changes["m.cfg"]
    assert entry is not None
    assert entry.data.decode().count(new) == 2


def test_one_that_stands_at_its_own_place_is_there() -> None:
    there = OTHER_SECOND.replace("port = 80", "port = 81", 1)
    assert applied(INDEXED, there).outcome is StackOutcome.ALREADY


OTHER, WITHOUT = BODY.replace("80", "81"), BODY.replace("port = 80\n", "")


@pytest.mark.parametrize(
    ("mine", "beside", "new"),
    [(BODY, WITHOUT, WITHOUT), (WITHOUT, BODY, BODY), (BODY, OTHER, OTHER)],
    ids=["removed", "inserted", "changed"],
)
def test_what_stood_at_another_place_before_is_not_done(mine: str, beside: str, new: str) -> None:
    """The patch makes one block like the one beside it."""
    home = f"[one]\n{mine}[two]\n{beside}"
    change = diff("m.cfg", home, f"[one]\n{new}[two]\n{beside}", index=True)
    target = home.replace("b = 2", "b = 22", 1)
    result = applied(change, target, home=home)
    assert result.outcome is StackOutcome.APPLIED
    entry = result.changes["m.cfg"]
    assert entry is not None
    assert entry.data.decode() == f"[one]\n{new}[two]\n{beside}".replace("b = 2", "b = 22", 1)


def test_a_copy_that_the_target_made_is_not_its_place() -> None:
    home = f"[one]\n{BODY}"
    change = diff("m.cfg", home, home.replace("80", "81"), index=True)
    near = f"[one]\n{BODY.replace('f = 6', 'f = 66')}[two]\n{BODY}"
    result = applied(change, near, home=home)
    entry = result.changes["m.cfg"]
    assert entry is not None
    assert entry.data.decode() == near.replace("80", "81", 1)


@pytest.mark.parametrize("line", ["port = 99", "port = 99\nmine = 0", "x\nport = 98\nport = 99"])
@pytest.mark.parametrize(
    ("above", "first"), [("", 2), ("x = 0\n" * 3, 5), ("x = 0\n", 3)], ids=["", "three", "one"]
)
def test_a_copy_does_not_take_what_the_true_place_cannot(line: str, above: str, first: int) -> None:
    """The target changed the very line and has a copy as it was before."""
    home = f"[one]\n{BODY}"
    patch = diff("m.cfg", home, home.replace("80", "81"), index=True)
    target = f"{above}{home.replace('port = 80', line)}[two]\n{BODY}"
    (hunk,) = applied(patch, target, home=home).hunks
    assert hunk.outcome is Outcome.AMBIGUOUS
    assert f"are still at line {first} where others" in hunk.detail
    assert hunk.candidates == (target.splitlines().index("port = 80") + 1,)


def test_blank_lines_and_signs_that_are_left_tell_nothing() -> None:
    body = "{\n\n}\n{\n\nport = 80\n\n}\nd = 4\n{\n}\n"
    home = f"[one]\n{body}[two]\nx = 1\n"
    change = diff("m.cfg", home, home.replace("80", "81"), index=True, context=5)
    target = "[one]\n{\n\n}\n{\n\n\n}\n{\n}\n[two]\nx = 1\n" + "y = 1\n" * 30 + body
    (hunk,) = applied(change, target, home=home).hunks
    assert hunk.outcome is Outcome.MOVED


ODD = "a = 1\nb = 2\nc = 3\nport = 80\nd = 4\n\né\n"  # six that tell something
FAR = "x = 1\n" * 30


@pytest.mark.parametrize(("left", "at"), [("abc", 0), ("abcd", 2), ("abcé", 2)])
@pytest.mark.parametrize("above", ["", "x = 0\n", "x = 0\n" * 3])
def test_a_copy_has_left_most_lines_behind(left: str, at: int, above: str) -> None:
    """Of six lines; where the copy is all that fits together, git merges into it."""
    home = f"[one]\n{ODD}[two]\n"
    hunk = parse_diff(diff("m.cfg", home, home.replace("80", "81")))[0].hunks[0]
    mine = "".join(line for line in ODD.splitlines(keepends=True) if line[0] in left)
    target = f"{above}[one]\n{mine}[two]\n{FAR}{ODD}{FAR}"
    found = place(hunk, Target("m.cfg", target.encode()))
    doubt = Proof(home.encode(), target.encode()).doubt(hunk, found.edit)
    assert (doubt is not None) == bool(at)
    assert doubt is None or f"are still at line {at + above.count(chr(10))} where" in doubt.why


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("h = 8", "x = 1\nh = 8", 2),
        ("g = 7\n[one]", "g = 7\nx = 1\n[one]", 3),
        ("g = 7\n[one]", "x = 1\n[one]", 2),
        ("g = 7\n[one]", "[one]", 1),
        ("[one]\n", "[one]\nx = 1\n", None),  # right above, and inside, and right below
        ("[one]", "[1]", None),
        ("b = 2\nc", "b = 2\nx = 1\nc", None),
        ("f = 6\n[two]", "f = 6\nx = 1\n[two]", None),
        ("[two]", "[2]", None),
    ],
)
def test_own_place(old: str, new: str, line: int | None) -> None:
    home = f"g = 7\n[one]\n{BODY}[two]\nh = 8\n"
    hunk = parse_diff(diff("m.cfg", home, home.replace("80", "81")))[0].hunks[0]
    target = home.replace(old, new)
    at = Proof(home.encode(), target.encode()).own_place(hunk)
    assert (at is None) == (line is None)
    assert at is None or target[:at].count("\n") == line
    assert at is None or target[at:].startswith(BODY)


def test_a_hunk_that_does_not_lie_in_the_text_has_left_nothing_there() -> None:
    home = f"[one]\n{BODY}"
    hunk = parse_diff(diff("m.cfg", home, home.replace("80", "81")))[0].hunks[0]
    target = f"[one]\n{BODY.replace('80', '99')}{FAR}{BODY}"
    found = place(hunk, Target("m.cfg", target.encode()))
    assert Proof(home.encode(), target.encode()).doubt(hunk, found.edit) is not None
    assert Proof(f"y\n{home}".encode(), target.encode()).doubt(hunk, found.edit) is None


@pytest.mark.parametrize("left", ["", "a = 1\n", "\n\n", "e = 5\nf = 6\n"])
def test_what_the_target_moved_takes_the_change_with_it(left: str) -> None:
    home = f"[one]\n{BODY}[two]\nx = 1\n"
    change = diff("m.cfg", home, home.replace("80", "81"), index=True)
    target = f"[one]\n{left}[two]\n" + "x = 1\n" * 30 + BODY
    (hunk,) = applied(change, target, home=home).hunks
    assert hunk.outcome is Outcome.MOVED


def test_a_shortened_id_proves_a_place_as_well() -> None:
    whole = git_blob_id(HOME.encode())
    change = INDEXED.replace(whole.encode(), whole[:7].encode())

    def sources(one: Stack) -> Preimages:
        return Preimages(one, lambda _: None, lambda: tree({"m.cfg": HOME}))

    result = apply_stack(stack(change), {}, tree({"m.cfg": OTHER_FIRST}), sources)
    assert [hunk.outcome for hunk in result.hunks] == [Outcome.MERGED]


@pytest.mark.parametrize(
    ("target", "line"),
    [
        (f"x = 0\n{HOME}", 6),  # both are there, and nothing touches them
        (f"x = 0\n[one]\n{BODY}[two]\n{BODY}[three]\n{BODY}", 0),  # one more than there was
        (f"x = 0\n[one]\n{BODY}[two]\n{OTHER}", 0),
    ],
    ids=["as at home", "a copy more", "the other one changed"],
)
def test_of_two_places_that_fit_its_own_is_taken_where_that_is_sure(target: str, line: int) -> None:
    (hunk,) = applied(INDEXED, target).hunks
    assert hunk.line == line
    assert hunk.outcome is (Outcome.MOVED if line else Outcome.AMBIGUOUS)
    (blind,) = applied(INDEXED, target, known=False).hunks
    assert blind.outcome is Outcome.AMBIGUOUS


@pytest.mark.parametrize("new", [WITHOUT, OTHER], ids=["removed", "changed"])
def test_what_stood_further_up_before_is_not_done(new: str) -> None:
    home = f"[one]\n{new}[two]\n{BODY}"
    change = diff("m.cfg", home, f"[one]\n{new}[two]\n{new}", index=True)
    first, second = home.split("[two]")
    target = f"{first}[two]{second.replace('b = 2', 'b = 22')}"
    result = applied(change, target, home=home)
    assert result.outcome is StackOutcome.APPLIED
    entry = result.changes["m.cfg"]
    assert entry is not None
    assert entry.data.decode() == f"{first}[two]\n{new.replace('b = 2', 'b = 22')}"


def test_a_result_that_nobody_can_tell_from_one_of_home_is_doubted() -> None:
    home = f"[one]\n{BODY}[two]\n{OTHER}"
    hunk = parse_diff(diff("m.cfg", home, home.replace("80", "81")))[0].hunks[0]
    target = f"[one]\n{BODY.replace('80', '99')}[two]\n{OTHER}"
    found = Proof(home.encode(), target.encode()).doubt(hunk, None)
    assert found is not None
    assert not found.merges
    assert found.why.startswith("its result stands 1 time in the text that it was made on")


def test_a_result_that_is_new_to_the_file_is_not_at_home() -> None:
    hunk = parse_diff(CHANGE)[0].hunks[0]
    target = f"[one]\n{BODY}[two]\n{OTHER}"
    found = Proof(HOME.encode(), target.encode()).doubt(hunk, None)
    assert found is not None
    assert found.why == "its result stands here where another place of that text was"


def test_the_very_top_of_a_text_is_a_place() -> None:
    hunk = parse_diff(diff("m.cfg", BODY, BODY.replace("b = 2", "b = 3")))[0].hunks[0]
    assert Proof(BODY.encode(), f"{BODY}x = 1\n".encode()).own_place(hunk) == 0


def test_a_result_that_is_new_beside_a_place_in_conflict_is_not_doubted() -> None:
    """Where no merge tells and home has nothing like it, the result that stands counts."""
    home = f"[one]\n{BODY}"
    hunk = parse_diff(diff("m.cfg", home, home.replace("80", "81")))[0].hunks[0]
    target = f"[one]\n{BODY.replace('80', '99')}{FAR}{BODY.replace('80', '81')}"
    assert Proof(home.encode(), target.encode()).doubt(hunk, None) is None
