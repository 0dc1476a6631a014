"""When a candidate is close enough."""

from __future__ import annotations

import math

import pytest
import torch

from backport.parity.judging import error, judge
from backport.parity.values import EXACT, Error, Output, Tolerance

HALF = {"bfloat16": Tolerance(0.01, "a test's own number, for the sake of the rule")}


def floats(*values: float, unit: float = 0.0) -> Output:
    return Output(torch.tensor(values, dtype=torch.float64), "bfloat16", unit)


def integers(*values: int) -> Output:
    return Output(torch.tensor(values))


def verdict(reference: Output, baseline: Output, candidate: Output) -> bool:
    (figure,) = judge({"x": reference}, {"x": baseline}, {"x": candidate}, HALF)
    return figure.passed


@pytest.mark.parametrize(
    ("got", "passes"),
    [
        pytest.param(1.0, True, id="exact"),
        pytest.param(1.2, True, id="twice the baseline's error"),
        pytest.param(1.209, True, id="twice that and the floor"),
        pytest.param(1.22, False, id="more than twice that and the floor"),
        pytest.param(0.78, False, id="as far on the other side"),
        pytest.param(math.nan, False, id="not a number"),
        pytest.param(math.inf, False, id="infinite"),
    ],
)
def test_a_candidate_may_be_twice_as_wrong_as_the_path_it_replaces(
    got: float, passes: bool
) -> None:
    assert verdict(floats(1.0), floats(1.1), floats(got)) is passes


def test_one_wrong_element_among_many_right_ones_fails() -> None:
    right = torch.ones(10_000, dtype=torch.float64)
    wrong = right.clone()
    wrong[77] = 1.5
    reference, candidate = (Output(value, "bfloat16") for value in (right, wrong))
    assert not verdict(reference, reference, candidate)


def test_many_slightly_wrong_elements_fail_by_their_norm() -> None:
    right = torch.ones(100, dtype=torch.float64)
    one = right.clone()
    one[0] = 1.5  # the baseline has one outlier
    reference, baseline = Output(right, "bfloat16"), Output(one, "bfloat16")
    assert not verdict(reference, baseline, Output(right * 1.4, "bfloat16"))


def test_below_the_unit_an_error_counts_absolutely() -> None:
    assert error(floats(0.001), floats(0.0, unit=1.0)) == Error(0.001, 0.001)


def test_equal_infinities_are_no_error() -> None:
    assert error(floats(-math.inf, 1.0), floats(-math.inf, 1.0)) == Error(0.0, 0.0)


def test_integers_must_be_equal() -> None:
    assert verdict(integers(1, 2), integers(1, 2), integers(1, 2))
    assert not verdict(integers(1, 2), integers(1, 2), integers(1, 3))


def test_integers_without_a_reference_must_equal_the_baseline() -> None:
    (figure,) = judge({}, {"codes": integers(5)}, {"codes": integers(6)}, {})
    assert not figure.passed
    assert figure.dtype == EXACT
    assert figure.detail == "1 of 1 values differ"


def test_a_missing_output_fails_unless_it_is_optional() -> None:
    wanted = {"x": floats(1.0)}
    assert not judge(wanted, {}, {}, HALF)[0].passed
    assert judge(wanted, {}, {}, HALF, frozenset({"x"})) == ()


def test_another_shape_fails_and_says_so() -> None:
    (figure,) = judge({"x": floats(1.0)}, {}, {"x": floats(1.0, 1.0)}, HALF)
    assert figure.detail == "shape (2,), not (1,)"
