"""The fuzzing in small, and inputs that it has found; `make fuzz` runs it in full."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backport.core import mail
from tests.faults import fuzz


@pytest.mark.parametrize("seed", range(3))
def test_no_input_crashes_a_parser(seed: int) -> None:
    counts = fuzz.fuzz(seconds=10, seed=seed, inputs=300)
    assert counts.total() > 0


@given(st.sampled_from(sorted(fuzz.TARGETS)), st.binary(max_size=200))
def test_no_bytes_crash_a_parser(name: str, data: bytes) -> None:
    fuzz.feed(name, data)


def test_a_parser_that_crashes_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "_subject", lambda raw: raw.encode("ascii").decode()[0])
    with pytest.raises((IndexError, UnicodeError)):
        fuzz.fuzz(seconds=20, seed=1)
