"""What holds for every text: nothing is changed that a patch does not name."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from backport.core.applying import apply_stack
from backport.core.outcomes import Outcome, StackOutcome, StackResult
from backport.core.parsing import parse_diff
from backport.core.patches import Hunk, Patch
from backport.core.placing import place
from backport.core.reversing import reverse
from backport.core.stacks import Stack
from backport.core.texts import Target, splice
from backport.core.trees import Overlay, Tree
from tests.builders import DictTree, diff, lines_of, patch, stack, tree

few_lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n"]), max_size=9)
# few different lines, so that look-alikes are the rule and not the exception
repetitive = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n"]), max_size=14).map(b"".join)
any_text = st.one_of(st.binary(max_size=60), repetitive, repetitive.map(lambda text: text[:-1]))


def after(result: StackResult, base: DictTree, path: str = "f") -> bytes | None:
    entry = result.changes[path] if path in result.changes else base.entry(path)
    return entry.data if entry else None


# ---------------------------------------------------------------- one hunk


@st.composite
def hunks(draw: st.DrawFn) -> Hunk:
    context = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n"]), max_size=3)
    changed = st.lists(st.sampled_from([b"a\n", b"c\n", b"\n"]), max_size=2)
    above, gone, new, below = draw(context), draw(changed), draw(changed), draw(context)
    if not gone and not new:
        new = [b"c\n"]
    parts = ((b" ", above), (b"-", gone), (b"+", new), (b" ", below))
    lines = tuple(sign + line for sign, part in parts for line in part)
    return Hunk(draw(st.integers(1, 5)), 1, lines)


def fits(block: list[bytes], target: list[bytes], hunk: Hunk) -> list[int]:
    """Every line (from 0) where the block stands, as far as the ends of the file allow."""
    if not block:
        return [] if target else [0]
    return [
        at
        for at in range(len(target) - len(block) + 1)
        if target[at : at + len(block)] == block
        and (hunk.leading or at == 0)
        and (hunk.trailing or at + len(block) == len(target))
    ]


@given(hunks(), few_lines)
def test_a_hunk_is_placed_only_where_one_reading_is_left(hunk: Hunk, target: list[bytes]) -> None:
    before, result = (lines_of(side) for side in (hunk.before, hunk.after))
    places = fits(before, target, hunk)
    made = fits(result, target, hunk) if result else []
    if len(places) == 1:
        ends = places[0] + len(before)
        made = [
            at for at in made if not hunk.removed or at + len(result) <= places[0] or at >= ends
        ]
    found = place(hunk, Target("f.txt", b"".join(target)))
    if len(places) == 1 and not made:
        assert found.outcome in (Outcome.EXACT, Outcome.MOVED)
        assert found.edit is not None
        expected = [*target[: places[0]], *result, *target[places[0] + len(before) :]]
        assert splice(b"".join(target), [found.edit]) == b"".join(expected)
        assert found.line == places[0] + 1 + len(hunk.leading)
    else:
        there = Outcome.ALREADY if len(made) == 1 else Outcome.AMBIGUOUS
        wrong = Outcome.AMBIGUOUS if places else there if made else Outcome.CONFLICT
        assert (found.outcome, found.edit) == (wrong, None)


# ---------------------------------------------------------------- one file


@given(any_text, any_text)
def test_a_change_on_its_own_base_gives_its_own_result(before: bytes, changed: bytes) -> None:
    if before != changed:
        base = tree({"f": before})
        result = apply_stack(stack(diff("f", before, changed, index=True)), {}, base)
        assert result.outcome is StackOutcome.APPLIED
        assert {hunk.outcome for hunk in result.hunks} == {Outcome.EXACT}
        assert after(result, base) == changed


@given(any_text, any_text)
def test_a_change_without_blob_ids_gives_its_own_result_or_none(
    before: bytes, changed: bytes
) -> None:
    if before != changed:
        base = tree({"f": before})
        result = apply_stack(stack(diff("f", before, changed)), {}, base)
        done = result.outcome is StackOutcome.APPLIED
        assert after(result, base) == (changed if done else before)


@given(any_text, any_text)
def test_what_was_applied_is_already_there(before: bytes, changed: bytes) -> None:
    if before != changed:
        base = tree({"f": changed})
        result = apply_stack(stack(diff("f", before, changed, index=True)), {}, base)
        assert (result.outcome, result.changes) == (StackOutcome.ALREADY, {})


@given(any_text, any_text)
def test_a_change_taken_back_leaves_the_base(before: bytes, changed: bytes) -> None:
    if before != changed:
        (file,) = parse_diff(diff("f", before, changed, index=True))
        base = tree({"f": changed})
        result = apply_stack(stack(Patch("back", "back", (reverse(file),))), {}, base)
        assert after(result, base) == before


@given(any_text, any_text)
def test_a_change_reversed_twice_is_the_change(before: bytes, changed: bytes) -> None:
    for file in parse_diff(diff("f", before, changed, index=True)) if before != changed else ():
        assert reverse(reverse(file)) == file


@given(repetitive, repetitive, repetitive)
def test_on_any_target_exactly_the_named_lines_change(
    before: bytes, changed: bytes, target: bytes
) -> None:
    files = parse_diff(diff("f", before, changed)) if before != changed else ()
    for file in files:
        base = tree({"f": target})
        result = apply_stack(stack(Patch("p", "p", (file,))), {}, base)
        lines = Counter(lines_of(target))
        if result.outcome is StackOutcome.APPLIED:
            for hunk in file.hunks:
                lines.subtract(hunk.removed)
                lines.update(hunk.added)
        text = after(result, base) or b""
        assert Counter(lines_of(text)) == +lines
        assert min(lines.values(), default=0) >= 0


@st.composite
def drifted(draw: st.DrawFn) -> tuple[bytes, bytes, bytes, bytes]:
    """A text, a change of it, the text with foreign lines in it, and the change on that one."""
    size = draw(st.integers(1, 40))
    changes = draw(st.dictionaries(st.integers(0, size - 1), st.sampled_from("drit"), min_size=1))
    foreign = draw(st.dictionaries(st.integers(0, size), st.integers(1, 30), max_size=3))
    # far enough from each change to lie outside of its context
    foreign = {at: n for at, n in foreign.items() if all(abs(at - c) > 4 for c in changes)}
    texts: list[list[str]] = [[], [], [], []]
    for number in range(size + 1):
        extra = [f"foreign {number} {n}\n" for n in range(foreign.get(number, 0))]
        old = [f"line {number}\n"] if number < size else []
        kind = changes.get(number, "")
        new = {
            "d": [],
            "r": [f"changed {number}\n"],
            "i": [f"new {number}\n", *old],
            "t": [f"one {number}\n", f"two {number}\n"],
        }.get(kind, old)
        for text, part in zip(texts, (old, new, extra + old, extra + new), strict=True):
            text.extend(part)
    home, changed, target, expected = ("".join(text).encode() for text in texts)
    return home, changed, target, expected


@given(drifted())
def test_foreign_lines_outside_of_the_context_stay_where_they_are(
    texts: tuple[bytes, bytes, bytes, bytes],
) -> None:
    home, changed, target, expected = texts
    base = tree({"f": target})
    result = apply_stack(stack(diff("f", home, changed)), {}, base)
    assert result.outcome is StackOutcome.APPLIED
    assert after(result, base) == expected


# ---------------------------------------------------------------- several patches and stacks


@given(st.lists(any_text, min_size=2, max_size=5))
def test_each_patch_sees_what_the_ones_before_it_made(texts: list[bytes]) -> None:
    steps = [(old, new) for old, new in pairwise(texts) if old != new]
    change = stack(*(diff("f", old, new, index=True) for old, new in steps))
    base = tree({"f": texts[0]})
    assert after(apply_stack(change, {}, base), base) == texts[-1]


def in_order(stacks: list[Stack], base: Tree) -> dict[str, bytes | None]:
    overlay = Overlay(base)
    for change in stacks:
        overlay.changes.update(apply_stack(change, {}, overlay).changes)
    return {path: entry.data if entry else None for path, entry in overlay.changes.items()}


@given(drifted(), drifted())
def test_the_order_of_stacks_in_other_files_does_not_matter(
    one: tuple[bytes, bytes, bytes, bytes], two: tuple[bytes, bytes, bytes, bytes]
) -> None:
    base = tree({"f": one[2], "g": two[2]})
    first, second = stack(diff("f", *one[:2])), stack(diff("g", *two[:2]))
    assert in_order([first, second], base) == in_order([second, first], base)


@given(drifted(), drifted())
def test_the_order_of_stacks_in_one_file_does_not_matter_where_they_are_apart(
    one: tuple[bytes, bytes, bytes, bytes], two: tuple[bytes, bytes, bytes, bytes]
) -> None:
    between = b"".join(b"between %d\n" % number for number in range(9))
    two_home, two_changed, two_target, two_expected = (
        text.replace(b"line", b"row") for text in two
    )
    base = tree({"f": one[2] + between + two_target})
    first = stack(diff("f", one[0] + between, one[1] + between))
    second = stack(diff("f", between + two_home, between + two_changed))
    expected = {"f": one[3] + between + two_expected}
    for change in (first, second):  # a hunk at an end of its own text is none in the longer one
        if apply_stack(change, {}, base).outcome is not StackOutcome.APPLIED:
            return
    assert in_order([first, second], base) == expected
    assert in_order([second, first], base) == expected


@given(st.lists(st.tuples(any_text, any_text), min_size=1, max_size=3))
def test_a_stack_with_one_hunk_out_of_place_changes_nothing(
    changes: list[tuple[bytes, bytes]],
) -> None:
    whole = [
        patch(f"good-{number}", diff(f"f{number}", old, new, index=True))
        for number, (old, new) in enumerate(changes)
        if old != new
    ]
    base = tree({f"f{number}": old for number, (old, _) in enumerate(changes)})
    lost = patch("lost", diff("missing", "a\n", "b\n"))
    result = apply_stack(stack(*whole, lost), {}, base)
    assert (result.outcome, result.changes) == (StackOutcome.CONFLICT, {})
