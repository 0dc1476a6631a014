"""Whether a decision fits is tried just as applying it would be: with the pre-images."""

from __future__ import annotations

from backport.core.applying import apply_stack
from backport.core.manifests import Manifest, Replace
from backport.core.outcomes import Outcome
from backport.core.parsing import parse_diff
from backport.core.preimages import Preimages
from backport.core.stacks import Stack
from backport.core.trees import Overlay
from backport.workflows.memory import _Trial
from tests.builders import diff, git_blob_id, stack, tree

HOME = "def f():\n    a = 1\n    b = 2\n    c = 3\n    return a\n\n\ndef tail():\n    return 0\n"
FIRST = HOME.replace("    c = 3\n", "    c = 3\n    new = a + b\n")
SECOND = FIRST.replace("    new = a + b\n", "    new = a + b\n    more = new\n")


def here(text: str) -> str:
    return text.replace("a = 1", "a = 10")


def test_a_decision_about_a_patch_on_top_of_one_that_is_merged_fits() -> None:
    made = stack(diff("a.py", HOME, FIRST, index=True), diff("a.py", FIRST, SECOND, index=True))
    blobs = {git_blob_id(text.encode()): text.encode() for text in (HOME, FIRST)}

    def sources(one: Stack) -> Preimages:
        return Preimages(one, blobs.get, lambda: None)

    key = made.hunks()[1][0]
    files = parse_diff(diff("a.py", here(FIRST), here(SECOND).replace("= new", "= new + 1")))
    entry = Replace("r", (), "m:1", key, "x.patch", files)
    target = tree({"a.py": here(HOME)})
    hunk = apply_stack(made, {str(key): entry}, target, sources).hunks[1]
    assert hunk.outcome is Outcome.REPLACED
    trial = _Trial(made, Manifest("m", "v1", "m", ()), Overlay(target), target, sources)
    assert trial.fits(hunk, entry)
