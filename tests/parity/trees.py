"""Real releases with the library's stacks on them, and mutants of the result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
import torch

from backport.core.evaluating import evaluate
from backport.core.outcomes import StackOutcome, Status
from backport.core.stacks import Stack
from backport.core.trees import Entry, Overlay, Tree
from backport.library import load
from backport.parity.cases import CASES
from backport.parity.intree.extract import Source
from backport.parity.running import bindings, one_thread, run_case
from backport.parity.values import Measurement, World
from backport.parity.versions import pinned
from backport.workflows.repositories import cached

ROOT = Path(os.environ.get("BACKPORT_ROOT", Path(__file__).parents[2]))


@dataclass(frozen=True)
class Patched:
    """A release's tree, what the manifest changes in it, and the stacks that it applies."""

    base: Tree
    changes: dict[str, Entry | None]
    stacks: tuple[Stack, ...]

    def only(self, *names: str) -> Patched:
        """With these of its stacks; the test is skipped where the target has none of them."""
        found = tuple(s for s in self.stacks if s.name in names)
        if not found:
            pytest.skip(f"the library applies no {' or '.join(names)} to this target")
        return replace(self, stacks=found)

    def edited(self, path: str, edits: Sequence[tuple[str, str]]) -> Patched:
        """The tree with texts of one file replaced; each must occur in it."""
        entry = Overlay(self.base, self.changes).entry(path)
        assert entry is not None, path
        text = entry.data.decode()
        for old, new in edits:
            assert old in text, f"{path} does not hold {old!r}"
            text = text.replace(old, new)
        return replace(self, changes=self.changes | {path: Entry(entry.mode, text.encode())})


LIBRARY = load(ROOT)


@cache
def patched(target: str) -> Patched:
    """The target's release with its stacks; the release is fetched when it is absent."""
    library = LIBRARY
    manifest = library.manifest(target)
    repository = cached([manifest.base], lambda what, done, total: None)
    base = repository.tree(repository.base(manifest.base))
    found = evaluate(manifest, library.stacks, base)
    applied = [r.stack for r in found.results if r.outcome is StackOutcome.APPLIED]
    return Patched(base, dict(found.changes), tuple(library.stacks[name] for name in applied))


def failures(tree: Patched, case: str, name: str) -> list[Measurement]:
    """What fails when only the candidate or claim of this name runs in the tree."""
    world = _world(tree)
    whole = CASES[case]
    (stack,) = (s for s in tree.stacks if case in s.parity)
    found = [
        replace(
            b,
            candidates={k: v for k, v in b.candidates.items() if k == name},
            claims={k: v for k, v in b.claims.items() if k == name},
        )
        for b in bindings(whole, stack, world)
    ]
    assert sum(len(b.candidates) + len(b.claims) for b in found) == 1, f"nothing is named {name!r}"
    narrow = replace(whole, candidates={}, declines={})
    with one_thread(), torch.inference_mode():
        measured = run_case(stack.name, narrow, world, found)
    return [m for m in measured if m.status is Status.FAILED]


def _world(tree: Patched) -> World:
    pristine = _source(tree.base)
    version = pinned(pristine)
    assert version is not None
    return World(pristine, Source(Overlay(tree.base, tree.changes)), version)


def _source(tree: Tree) -> Source:
    return _SOURCES.setdefault(id(tree), Source(tree))


_SOURCES: dict[int, Source] = {}
