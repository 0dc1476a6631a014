"""A whole manifest on one tree: every stack in its order, and what is checked of it."""

from __future__ import annotations

from backport.core.evaluating import evaluate
from backport.core.manifests import Drop, Evidence, Manifest, Skip
from backport.core.outcomes import Finding, Severity, StackOutcome, Status
from backport.core.stacks import Stack
from tests.builders import DictTree, diff, numbered, regular, stack, tree

HOME = numbered(1, 20)
TEN = HOME.replace("line 10\n", "ten\n")
ELEVEN = TEN.replace("ten\n", "ten\nand eleven\n")

FIRST = stack(diff("f", HOME, TEN), name="first")
SECOND = stack(diff("f", TEN, ELEVEN), name="second")
LOST = stack(diff("missing", HOME, TEN), name="lost")
LIBRARY: dict[str, Stack] = {change.name: change for change in (FIRST, SECOND, LOST)}


def manifest(*stacks: str, drops: tuple[Drop, ...] = (), skips: tuple[Skip, ...] = ()) -> Manifest:
    return Manifest("o/v1", "v1", "o/v1", stacks, drops, skips, (), "manifests/o/v1.toml")


def base() -> DictTree:
    return tree({"f": HOME, "g": "x\n"})


def test_a_later_stack_sees_what_earlier_ones_made() -> None:
    done = evaluate(manifest("first", "second"), LIBRARY, base())
    assert [result.outcome for result in done.results] == [StackOutcome.APPLIED] * 2
    assert [dict(step.changes) for step in done.steps] == [
        {"f": regular(TEN)},
        {"f": regular(ELEVEN)},
    ]
    assert done.changes == {"f": regular(ELEVEN)}
    assert [(check.name, check.status) for check in done.checks] == [
        ("evidence", Status.PASSED),
        ("content", Status.PASSED),
    ]


def test_the_order_is_the_manifest_s() -> None:
    done = evaluate(manifest("second", "first"), LIBRARY, base())
    assert [result.outcome for result in done.results] == [
        StackOutcome.CONFLICT,
        StackOutcome.APPLIED,
    ]


def test_a_conflict_leaves_the_other_stacks_alone() -> None:
    done = evaluate(manifest("first", "lost", "second"), LIBRARY, base())
    assert [result.outcome for result in done.results] == [
        StackOutcome.APPLIED,
        StackOutcome.CONFLICT,
        StackOutcome.APPLIED,
    ]
    assert [dict(step.changes) for step in done.steps] == [
        {"f": regular(TEN)},
        {"f": regular(TEN)},
        {"f": regular(ELEVEN)},
    ]


def test_a_skipped_stack_is_left_out_with_its_reason() -> None:
    skip = Skip("contained here", (Evidence(True, "g", text="x"),), "manifests/o/v1.toml:5", "lost")
    done = evaluate(manifest("lost", "first", skips=(skip,)), LIBRARY, base())
    skipped = done.results[0]
    assert (skipped.outcome, skipped.reason, skipped.hunks) == (
        StackOutcome.SKIPPED,
        "contained here",
        (),
    )
    assert done.changes == {"f": regular(TEN)}


def test_what_is_taken_back_is_no_change() -> None:
    back = stack(diff("f", TEN, HOME), name="back")
    done = evaluate(manifest("first", "back"), {**LIBRARY, "back": back}, base())
    assert dict(done.changes) == {}


def test_no_stack_is_no_change() -> None:
    assert evaluate(manifest(), LIBRARY, base()).changes == {}


def test_evidence_is_looked_up_on_the_pristine_tree() -> None:
    hunk = SECOND.hunks()[0][0]
    holds_before = Evidence(False, "f", text="ten")
    drop = Drop("why", (holds_before,), "manifests/o/v1.toml:7", hunk)
    done = evaluate(manifest("first", "second", drops=(drop,)), LIBRARY, base())
    assert done.checks[0].status is Status.PASSED


def test_stale_evidence_names_the_entry_and_what_was_found() -> None:
    hunk = FIRST.hunks()[0][0]
    drop = Drop("why", (Evidence(False, "g"), Evidence(True, "f")), "manifests/o/v1.toml:7", hunk)
    skip = Skip("why", (Evidence(True, "h"),), "manifests/o/v1.toml:12", "second")
    done = evaluate(manifest("first", "second", drops=(drop,), skips=(skip,)), LIBRARY, base())
    evidence = done.checks[0]
    mend = "look at the target again; correct the entry or delete it"
    assert (evidence.status, evidence.findings) == (
        Status.FAILED,
        (
            Finding(
                "manifests/o/v1.toml",
                7,
                1,
                Severity.ERROR,
                "stale-evidence",
                f"drop {hunk}: absent g: it is there",
                str(hunk),
                mend,
            ),
            Finding(
                "manifests/o/v1.toml",
                12,
                1,
                Severity.ERROR,
                "stale-evidence",
                "skip second: present h: it is not there",
                "second",
                mend,
            ),
        ),
    )


def test_a_stack_that_stands_already_changes_nothing_and_stops_nothing() -> None:
    done = evaluate(manifest("first", "second"), LIBRARY, tree({"f": TEN}))
    assert [result.outcome for result in done.results] == [
        StackOutcome.ALREADY,
        StackOutcome.APPLIED,
    ]
    assert done.changes == {"f": regular(ELEVEN)}
