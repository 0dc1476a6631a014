"""A manifest carried to another base: what is kept, what goes, and what is left to a person."""

from __future__ import annotations

from backport.core.manifests import Adaptation, Anchor, Drop, Evidence, Manifest, Reanchor, Skip
from backport.core.outcomes import Outcome, StackOutcome
from backport.core.porting import Ported, port
from backport.core.stacks import Stack
from tests.builders import diff, stack, tree

OLD = "import os\n\n\ndef first():\n    return 1\n\n\ndef last():\n    return 9\n"
NEW = OLD.replace("return 1\n", "return fused_first()\n")
BOTH = NEW.replace("return 9\n", "return fused_last()\n")
CHANGE = stack(diff("a.py", OLD, NEW), diff("a.py", NEW, BOTH), name="fuse")
FIRST, LAST = (str(found[0]) for found in CHANGE.hunks())


def ported(
    base: str | None,
    *entries: Adaptation | Skip,
    was: str | None = OLD,
    change: Stack = CHANGE,
) -> Ported:
    """The one stack's port from a tree with `was` as its file to one with `base`."""
    old = Manifest(
        "me/v1",
        "v1",
        "me/v1",
        (change.name,),
        tuple(entry for entry in entries if not isinstance(entry, Skip)),
        tuple(entry for entry in entries if isinstance(entry, Skip)),
    )
    new = Manifest("me/v2", "v2", "me/v2", (change.name,))
    here, before = (tree({} if text is None else {"a.py": text}) for text in (base, was))
    return port(old, new, {change.name: change}, here, before)


def drop(hunk: str, *when: Evidence) -> Drop:
    found = next(found[0] for found in CHANGE.hunks() if str(found[0]) == hunk)
    return Drop("left out", when, "m:7", found)


ABSENT = Evidence(False, "a.py", text="nothing like it")
STALE = Evidence(True, "a.py", text="nothing like it")


def test_a_stack_that_fits_needs_nothing() -> None:
    found = ported("# moved\n" + OLD)
    assert [hunk.outcome for hunk in found.results[0].hunks] == [Outcome.MOVED, Outcome.MOVED]
    assert (found.kept, found.made, found.gone, found.undecided) == ((), (), (), ())


def test_an_entry_whose_evidence_holds_is_kept() -> None:
    entry = drop(LAST, ABSENT)
    found = ported(OLD, entry)
    assert (found.kept, found.gone) == ((entry,), ())
    assert found.manifest.adaptations == (entry,)


def test_a_stale_entry_goes_and_says_that_its_hunk_fits_now() -> None:
    entry = drop(LAST, STALE)
    found = ported(OLD, entry)
    (gone,) = found.gone
    assert gone.entry == entry
    assert gone.why == (
        "not needed any more: the hunk is exact at line 9 "
        "(present a.py: nothing like it: it is not there)"
    )
    assert found.manifest.adaptations == ()
    assert found.undecided == ()


def test_a_stale_entry_of_a_hunk_without_a_place_is_left_to_a_person() -> None:
    entry = drop(LAST, STALE)
    found = ported(OLD.replace("return 9", "return 10"), entry)
    (item,) = found.undecided
    assert (str(item.hunk.id), item.hunk.outcome, item.before) == (LAST, Outcome.CONFLICT, entry)


def test_a_place_that_is_gone_is_no_place_though_its_evidence_holds() -> None:
    hunk = next(found[0] for found in CHANGE.hunks())
    entry = Reanchor("r", (ABSENT,), "m:3", hunk, Anchor.parse("in gone_function"))
    found = ported(OLD, entry)
    (gone,) = found.gone
    assert gone.why.startswith("not needed any more: the hunk is exact at line 5 (belongs in gone")
    broken = ported(OLD.replace("return 1", "return 2"), entry)
    assert [item.before for item in broken.undecided] == [entry]


def test_what_upstream_took_in_part_is_dropped_with_the_line_that_shows_it() -> None:
    found = ported(NEW)
    (entry,) = found.made
    assert isinstance(entry, Drop)
    assert str(entry.hunk) == FIRST
    assert entry.reason == "contained in v2"
    assert entry.when == (Evidence(True, "a.py", text="return fused_first()"),)
    outcomes = [hunk.outcome for hunk in found.results[0].hunks]
    assert outcomes == [Outcome.DROPPED, Outcome.EXACT]
    assert found.results[0].outcome is StackOutcome.APPLIED


def test_a_stack_that_upstream_took_is_skipped_with_evidence() -> None:
    kept = drop(LAST, ABSENT)
    found = ported(BOTH, kept)
    assert found.results[0].outcome is StackOutcome.SKIPPED
    (entry,) = found.manifest.skips
    assert (entry.stack, entry.reason) == ("fuse", "contained in v2")
    assert entry.when == (Evidence(True, "a.py", text="return fused_first()"),)
    assert [gone.why for gone in found.gone] == ["the whole stack stands on v2"]


def test_a_result_that_stood_before_as_well_is_no_evidence() -> None:
    """The old base has the same line elsewhere: nothing tells the two apart."""
    lines = ("fused_first()", "fused_last()", "1", "9")
    same = "def other():\n" + "".join(f"    return {text}\n" for text in lines) + "\n\n"
    found = ported(same + BOTH, was=same + OLD)
    assert found.made == ()
    assert found.results[0].outcome is StackOutcome.ALREADY


def test_a_skip_is_kept_or_goes_by_its_evidence() -> None:
    kept = Skip("not needed", (ABSENT,), "m:1", "fuse")
    found = ported(OLD, kept)
    assert (found.kept, found.results[0].outcome) == ((kept,), StackOutcome.SKIPPED)
    gone = Skip("not needed", (STALE,), "m:1", "fuse")
    found = ported(OLD, gone)
    assert found.results[0].outcome is StackOutcome.APPLIED
    assert found.gone[0].why.startswith("its evidence no longer holds: present a.py")


def test_a_stack_that_upstream_has_in_another_form_is_pointed_out() -> None:
    change = stack(
        diff("a.py", OLD, OLD + "\n\ndef fused_kernel():\n    return os\n"),
        diff("a.py", OLD, OLD.replace("return 1", "return 2")),
        name="fuse",
    )
    theirs = OLD.replace("return 1", "return 3") + "\n\ndef fused_kernel(more):\n    return more\n"
    found = ported(theirs, change=change)
    assert found.taken == {"fuse": Evidence(True, "a.py", symbol="fused_kernel")}
    assert found.results[0].outcome is StackOutcome.CONFLICT


def test_later_stacks_are_placed_on_top_of_earlier_ones() -> None:
    later = stack(diff("a.py", BOTH, BOTH + "# end\n"), name="later")
    old = Manifest("me/v1", "v1", "me/v1", ("fuse", "later"))
    new = old._replace(name="me/v2", base="v2")
    both = {"fuse": CHANGE, "later": later}
    found = port(old, new, both, tree({"a.py": OLD}), None)
    assert [result.outcome for result in found.results] == [StackOutcome.APPLIED] * 2
