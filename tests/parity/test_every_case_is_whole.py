"""A case that lacks a part, or a stack without a case, is an error of the library."""

from __future__ import annotations

import pytest
import torch

from backport.parity.cases import CASES
from backport.parity.intree.extract import Source
from backport.parity.values import EXACT, AnyCase, World
from tests.parity.trees import LIBRARY
from tests.parity.worlds import EMPTY

WORLD = World(Source(EMPTY), Source(EMPTY), "v0.1.19")
every_case = pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))


@pytest.mark.parametrize("name", LIBRARY.stacks)
def test_every_stack_names_a_case_that_exists(name: str) -> None:
    parity = LIBRARY.stacks[name].parity
    assert parity, f"{name} has no parity case"
    assert not set(parity) - set(CASES)


@every_case
def test_a_case_has_its_name_and_all_its_parts(case: AnyCase) -> None:
    assert CASES[case.name] is case
    assert case.title
    assert case.candidates
    assert case.declines
    assert case.bindings


@every_case
def test_a_case_covers_more_than_one_input_each_with_a_label_of_its_own(case: AnyCase) -> None:
    labels = [made.label for made in case.inputs(WORLD)]
    assert len(labels) > 1
    assert len(set(labels)) == len(labels)


@every_case
def test_every_dtype_that_is_left_behind_has_a_tolerance_with_an_origin(case: AnyCase) -> None:
    with torch.inference_mode():
        made = next(iter(case.inputs(WORLD)))
        outputs = {**case.baseline(made), **case.reference(made)}
    dtypes = {output.dtype for output in outputs.values()} - {EXACT}
    assert dtypes <= set(case.tolerances)
    for tolerance in case.tolerances.values():
        assert tolerance.floor >= 0
        assert len(tolerance.origin) > 20


@every_case
def test_every_decline_says_why(case: AnyCase) -> None:
    assert all(decline.reason for decline in case.declines.values())


@every_case
def test_every_binding_checks_a_guard_and_counts_launches(case: AnyCase) -> None:
    for binding in case.bindings:
        path, _, name = binding.anchor.partition("::")
        assert path.startswith("vllm/")
        assert name
        assert binding.candidates
        assert binding.claims


@every_case
def test_the_same_inputs_come_again(case: AnyCase) -> None:
    with torch.inference_mode():
        first, second = (case.baseline(next(iter(case.inputs(WORLD)))) for _ in range(2))
    for name, output in first.items():
        torch.testing.assert_close(output.value, second[name].value, rtol=0, atol=0, equal_nan=True)
