"""On real releases: the whole difference of two gives the second, and git agrees."""

from __future__ import annotations

import os
import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from backport import plumbing
from backport.checkout import Checkout
from backport.core.applying import apply_stack
from backport.core.outcomes import Outcome, StackOutcome, StackResult
from backport.core.parsing import parse_diff
from backport.core.patches import FilePatch, Patch
from backport.core.rendering import render_diff
from backport.core.stacks import Stack
from backport.core.trees import EXECUTABLE, Entry, Tree

pytestmark = pytest.mark.vllm

PAIRS = [("v0.28.0", "v0.29.0"), ("v0.29.0", "v0.30.0")]
SAMPLE = 300


@pytest.fixture(scope="module")
def checkout(released: Path) -> Iterator[Checkout]:
    with Checkout.open(released) as opened:
        yield opened


@pytest.fixture(scope="module")
def differences(checkout: Checkout) -> dict[str, list[FilePatch]]:
    """Every text file that differs between two releases, as git's diff tells it, by the first."""
    words = ("diff-tree", "-r", "-p", "--no-renames", "--full-index", "--binary")
    found = {}
    for before, after in PAIRS:
        diff = plumbing.run(checkout.git_dir, *words, before, after)
        found[before] = [file for file in parse_diff(diff) if not file.binary]
        assert len(found[before]) > 1900
    return found


def tree(checkout: Checkout, release: str, files: list[FilePatch]) -> Tree:
    """A release's tree with these files read in one go."""
    found = checkout.tree(checkout.base(release))
    found.prefetch([file.path for file in files])
    return found


def applied(file: FilePatch, to: Tree) -> StackResult:
    """One file's change, as a stack of its own."""
    patch = Patch("patch", "Change", (file,))
    return apply_stack(Stack("stack", "Change", "fork", "home", "why", (patch,)), {}, to)


def without_ids(file: FilePatch) -> FilePatch:
    """The change without the blob ids that tell which very text it was made on."""
    return parse_diff(_no_index(render_diff((file,))))[0]


def _no_index(diff: bytes) -> bytes:
    head, _, rest = diff.partition(b"\nindex ")
    return head + b"\n" + rest.partition(b"\n")[2] if rest else diff


@pytest.mark.parametrize(("before", "after"), PAIRS, ids="..".join)
def test_the_difference_of_two_releases_gives_the_second_byte_for_byte(
    before: str, after: str, checkout: Checkout, differences: dict[str, list[FilePatch]]
) -> None:
    files = differences[before]
    first, second = tree(checkout, before, files), tree(checkout, after, files)
    for file in files:
        result = applied(file, first)
        assert result.outcome is StackOutcome.APPLIED, file.path
        assert result.changes == {file.path: second.entry(file.path)}


@pytest.mark.parametrize(("before", "after"), PAIRS, ids="..".join)
def test_on_a_text_that_is_not_known_a_change_is_right_or_refused_as_ambiguous(
    before: str, after: str, checkout: Checkout, differences: dict[str, list[FilePatch]]
) -> None:
    files = differences[before]
    first, second = tree(checkout, before, files), tree(checkout, after, files)
    outcomes: Counter[StackOutcome] = Counter()
    for file in files:
        result = applied(without_ids(file), first)
        outcomes[result.outcome] += 1
        if result.outcome is StackOutcome.APPLIED:
            assert result.changes == {file.path: second.entry(file.path)}
        else:
            failed = {hunk.outcome for hunk in result.hunks if hunk.outcome.failed}
            assert failed == {Outcome.AMBIGUOUS}, file.path
    assert set(outcomes) == {StackOutcome.APPLIED, StackOutcome.CONFLICT}
    assert outcomes[StackOutcome.CONFLICT] / outcomes.total() < 0.04


def test_where_git_apply_and_we_both_carry_a_change_to_an_older_release_the_bytes_agree(
    checkout: Checkout, differences: dict[str, list[FilePatch]], tmp_path: Path
) -> None:
    """A sample with a fixed seed; strict `git apply`, outside any repository."""
    files = random.Random(0).sample(differences["v0.29.0"], SAMPLE)  # noqa: S311
    older = tree(checkout, "v0.28.0", files)
    both: Counter[tuple[bool, bool]] = Counter()
    for number, file in enumerate(files):
        ours = applied(file, older)
        theirs = git_apply(file, older.entry(file.path), tmp_path / str(number))
        both[ours.outcome is StackOutcome.APPLIED, theirs is not None] += 1
        if ours.outcome is StackOutcome.APPLIED:
            assert theirs is not None, f"{file.path}: git refuses what we place"
            entry = ours.changes.get(file.path)
            assert (entry.data if entry else b"") == theirs, file.path
    assert both[True, True] > SAMPLE / 2
    assert both[False, True] < SAMPLE / 50


def git_apply(file: FilePatch, before: Entry | None, folder: Path) -> bytes | None:
    """What git makes of one file, b"" for a deleted one; None where it refuses the change."""
    path = folder / file.path
    path.parent.mkdir(parents=True)
    if before:
        path.write_bytes(before.data)
        path.chmod(0o755 if before.mode == EXECUTABLE else 0o644)
    done = subprocess.run(
        ["git", "apply", "-"],
        input=render_diff((file,)),
        cwd=folder,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
        capture_output=True,
        check=False,
    )
    if done.returncode:
        return None
    return path.read_bytes() if path.exists() else b""
