"""A stack on a target that differs: hunks merged with their pre-image, or proposed."""

from __future__ import annotations

from backport.core.applying import apply_stack
from backport.core.outcomes import Outcome, StackOutcome
from backport.core.parsing import parse_diff
from backport.core.placing import place
from backport.core.preimages import Preimages, Sources
from backport.core.stacks import Stack, below
from backport.core.texts import Target
from backport.core.trees import Tree
from tests.builders import diff, numbered, regular, stack, tree

BASE = "def f():\n    one = 1\n    two = 2\n    return one + two\n"
OURS = BASE.replace("one = 1", "one = 3")
THEIRS = BASE.replace("two = 2", "two = one")
BOTH = OURS.replace("two = 2", "two = one")


def at_home(home: Tree | None, blobs: dict[str, bytes] | None = None) -> Sources:
    def sources(one: Stack) -> Preimages:
        return Preimages(one, (blobs or {}).get, lambda: home)

    return sources


def test_a_hunk_whose_neighbour_changed_is_merged_and_told_with_its_rule() -> None:
    made = stack(diff("a.py", BASE, THEIRS, index=True))
    home = tree({"a.py": BASE})
    found = apply_stack(made, {}, tree({"a.py": OURS}), at_home(home))
    (hunk,) = found.hunks
    assert found.outcome is StackOutcome.APPLIED
    assert found.changes == {"a.py": regular(BOTH)}
    assert (hunk.outcome, hunk.line, hunk.added, hunk.removed) == (Outcome.MERGED, 3, 1, 1)
    assert hunk.detail == "rule adjacent at f 2"


def test_without_preimages_it_stays_the_conflict_that_it_was() -> None:
    made = stack(diff("a.py", BASE, THEIRS, index=True))
    found = apply_stack(made, {}, tree({"a.py": OURS}))
    assert [hunk.outcome for hunk in found.hunks] == [Outcome.CONFLICT]


def test_a_text_that_is_not_at_hand_is_said_to_be_missing() -> None:
    made = stack(diff("a.py", BASE, THEIRS, index=True))
    for home in (None, tree({}), tree({"a.py": OURS})):
        found = apply_stack(made, {}, tree({"a.py": OURS}), at_home(home))
        assert found.hunks[0].outcome is Outcome.CONFLICT
        assert found.hunks[0].detail.endswith("is not at hand, so nothing could be merged")


def test_the_pre_image_of_a_later_patch_is_home_with_the_earlier_ones() -> None:
    later = THEIRS.replace("return one + two", "return two")
    made = stack(diff("a.py", BASE, THEIRS, index=True), diff("a.py", THEIRS, later, index=True))
    found = apply_stack(made, {}, tree({"a.py": OURS}), at_home(tree({"a.py": BASE})))
    assert found.changes == {"a.py": regular(BOTH.replace("return one + two", "return two"))}


def test_the_pre_image_of_a_stack_on_top_of_others_is_home_with_all_of_those() -> None:
    second = THEIRS.replace("return one + two", "return two")
    third = second.replace("def f():", "def f(x):")
    low = stack(diff("a.py", BASE, THEIRS, index=True))._replace(name="low", after=("top",))
    middle = stack(diff("a.py", THEIRS, second, index=True))._replace(name="middle", after=("low",))
    top = stack(diff("a.py", second, third, index=True))._replace(name="top", after=("middle",))
    under = below(top, {one.name: one for one in (top, middle, low)})
    assert [one.name for one in under] == ["low", "middle"]
    found = Preimages(top, lambda _: None, lambda: tree({"a.py": BASE}), under)
    patch = top.patches[0]
    assert found.find(patch, patch.files[0]) == second.encode()


def test_the_object_store_is_asked_first() -> None:
    made = stack(diff("a.py", BASE, THEIRS, index=True))
    blobs = {made.patches[0].files[0].old_blob: BASE.encode()}
    found = apply_stack(made, {}, tree({"a.py": OURS}), at_home(None, blobs))
    assert found.hunks[0].outcome is Outcome.MERGED


def test_what_is_not_sure_is_proposed_and_nothing_changes() -> None:
    theirs = BASE.replace("two = 2", "two = fresh")
    made = stack(diff("a.py", BASE, theirs, index=True))
    found = apply_stack(made, {}, tree({"a.py": OURS}), at_home(tree({"a.py": BASE})))
    (hunk,) = found.hunks
    assert (found.outcome, found.changes) == (StackOutcome.CONFLICT, {})
    assert hunk.proposal is not None
    assert (hunk.proposal.rules, hunk.proposal.why) == (("adjacent",), "fresh is new to the file")
    (file,) = parse_diff(hunk.proposal.patch.encode())
    placed = place(file.hunks[0], Target("a.py", OURS.encode()))
    assert placed.edit is not None
    assert placed.edit.text == b"    two = fresh\n"


def test_lines_that_no_hunk_names_stay_as_they_are() -> None:
    base = numbered(1, 40)
    ours = base.replace("line 19\n", "other 19\n").replace("line 35\n", "other 35\n")
    made = stack(diff("a.txt", base, base.replace("line 22\n", "new 22\n"), index=True))
    found = apply_stack(made, {}, tree({"a.txt": ours}), at_home(tree({"a.txt": base})))
    assert found.changes == {"a.txt": regular(ours.replace("line 22\n", "new 22\n"))}


def test_a_stack_that_is_there_already_is_not_merged_again() -> None:
    made = stack(diff("a.py", BASE, THEIRS, index=True))
    found = apply_stack(made, {}, tree({"a.py": THEIRS}), at_home(tree({"a.py": BASE})))
    assert found.outcome is StackOutcome.ALREADY


BODY = "    a = 1\n    b = 2\n    c = 3\n    d = 4\n    e = 5\n"
SPARSE = f"def sparse():\n{BODY}"


def into(target: str, change: bytes) -> tuple[StackOutcome, str, str]:
    """The stack's outcome, the first hunk's detail, and the text that it leaves."""
    found = apply_stack(stack(change), {}, tree({"a.py": target}), at_home(tree({"a.py": SPARSE})))
    entry = found.changes.get("a.py")
    return found.outcome, found.hunks[0].detail, entry.data.decode() if entry else target


def test_a_merge_does_not_take_a_hunk_into_another_function() -> None:
    change = diff("a.py", SPARSE, SPARSE.replace("c = 3", "c = 4"), index=True, section="sparse")
    other = "def sparse():\n    return 0\n\n\n" + SPARSE.replace("sparse", "dense")
    outcome, detail, text = into(other, change)
    assert (outcome, text) == (StackOutcome.CONFLICT, other)
    assert detail.endswith("a merge would put it into dense, and it is of sparse")


def test_a_function_that_was_renamed_is_the_same_function() -> None:
    change = diff("a.py", SPARSE, SPARSE.replace("c = 3", "c = 4"), index=True, section="sparse")
    renamed = SPARSE.replace("sparse", "dense")
    assert into(renamed, change)[::2] == (StackOutcome.APPLIED, renamed.replace("c = 3", "c = 4"))


def test_what_a_merge_leaves_nothing_to_do_for_is_there_already() -> None:
    change = diff("a.py", SPARSE, SPARSE.replace("c = 3", "c = 4"), index=True, section="sparse")
    there = SPARSE.replace("c = 3", "c = 4").replace("a = 1", "a = 10")
    outcome, detail, text = into(there, change)
    assert (outcome, text) == (StackOutcome.ALREADY, there)
    assert detail == "rule three-way: the target has all that it changes"


def test_a_target_that_does_not_parse_gets_proposals_only() -> None:
    broken = OURS + "def g(:\n"
    made = stack(diff("a.py", BASE, THEIRS, index=True))
    found = apply_stack(made, {}, tree({"a.py": broken}), at_home(tree({"a.py": BASE})))
    assert (found.outcome, found.changes) == (StackOutcome.CONFLICT, {})
    assert found.hunks[0].proposal is not None
    assert found.hunks[0].proposal.why == "the target is not Python that parses"
