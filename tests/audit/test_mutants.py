"""Single faults in real releases: nearly all are found, of every kind but those known."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from backport.audit import Auditor
from tests.audit.mutants import KINDS, Mutant, caught, mutants

pytestmark = pytest.mark.vllm

SEED = 20
AT_LEAST = 40
SHARE = 0.9


def chosen(auditor: Callable[[str], Auditor]) -> Iterator[tuple[Auditor, Mutant]]:
    """A mutant of every kind, of two releases in turn."""
    names = list(KINDS)
    for version, kinds in (("0.28.0", names[::2]), ("0.33.0", names[1::2])):
        pristine = auditor(version)
        yield from ((pristine, mutant) for mutant in mutants(pristine.base, SEED, 1, kinds))


def test_most_single_faults_are_found(auditor: Callable[[str], Auditor]) -> None:
    found = {mutant.kind: caught(pristine, mutant) for pristine, mutant in chosen(auditor)}
    missed = {kind for kind, codes in found.items() if not codes}
    said = "\n".join(f"{kind:24} {', '.join(codes) or 'missed'}" for kind, codes in found.items())
    assert found.keys() == KINDS.keys()
    assert len(found) >= AT_LEAST
    assert len(missed) <= (1 - SHARE) * len(found), said
    assert not any("syntax" in codes for codes in found.values()), "each one compiles"
