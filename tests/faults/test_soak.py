"""The soak in small; `make soak` runs it in full."""

from __future__ import annotations

import pytest

from backport import checkout
from tests.faults.soak import soak


def test_nothing_is_lost_under_load() -> None:
    counts = soak(applies=40, seconds=8, seed=1)
    assert counts["applies"] >= 3
    assert counts["done"] + counts["killed"] + counts["gave way to another"] == counts["applies"]


def test_the_soak_sees_a_branch_that_moves_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    def meddle(self: checkout.Checkout, branch: str, new: str, old: str | None, why: str) -> None:
        real(self, branch, self.base("v1.0.0"), old, why)  # not what was computed

    real = checkout.Checkout.move_branch
    monkeypatch.setattr(checkout.Checkout, "move_branch", meddle)
    with pytest.raises(AssertionError):
        soak(applies=3, seconds=8, seed=1)
