"""Every target's stacks in its real tree, the way `backport parity` asks about them."""

from __future__ import annotations

import json

import pytest

from backport.cli import run
from backport.core.outcomes import Status
from backport.parity import as_check, run_parity
from backport.parity.values import ParityResult
from tests.parity.trees import LIBRARY, patched

pytestmark = pytest.mark.vllm
RESULTS: dict[str, ParityResult] = {}


def result_of(target: str) -> ParityResult:
    """The target's result, computed once; targets without stacks are skipped."""
    tree = patched(target)
    if not tree.stacks:
        pytest.skip("no stack is applied to this target")
    if target not in RESULTS:
        RESULTS[target] = run_parity(tree.base, tree.changes, tree.stacks)
    return RESULTS[target]


every_target = pytest.mark.parametrize("target", LIBRARY.manifests)


@every_target
def test_all_cases_ran_in_the_tree_and_passed(target: str) -> None:
    result = result_of(target)
    assert [as_check(result).findings, result.not_run] == [(), ()]
    assert result.status is Status.PASSED
    in_tree = {(m.stack, m.case) for m in result.measurements if m.in_tree}
    wanted = {(s.name, case) for s in patched(target).stacks for case in s.parity}
    assert in_tree == wanted


@every_target
def test_the_fused_kernels_were_launched_from_the_tree(target: str) -> None:
    for stack in patched(target).stacks:
        runs = [m for m in result_of(target).measurements if m.in_tree and m.figures]
        assert sum(m.launches for m in runs if m.stack == stack.name) > 0


def test_the_command_prints_json_and_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    stack = "sparse-index-remap"
    assert run(["parity", "--target", "v0.28.0", "--stack", stack, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["status"] == "passed"
    assert {m["stack"] for m in content["measurements"]} == {stack}


def test_a_stack_that_is_not_applied_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["parity", "--target", "v0.33.0", "--stack", "sparse-index-remap"]) == 2
    assert "is not applied here: contained upstream" in capsys.readouterr().err
