"""The Triton kernels as candidates: on the GPU, or in the interpreter of a process of its own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest
import torch

from backport.parity.cases import CASES
from backport.parity.values import AnyCase, CannotRun

PORTABLE = {name: case for name, case in CASES.items() if case.portable}
needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None
    or importlib.util.find_spec("backport.parity.kernels") is None,
    reason="Triton or the kernels are not installed",
)

PROGRAM = """
import sys
from dataclasses import replace
import torch
from backport.core.outcomes import Status
from backport.parity import describe
from backport.parity.cases import CASES
from backport.parity.intree.extract import Source
from backport.parity.running import one_thread, run_case
from backport.parity.values import World
from tests.parity.worlds import EMPTY

world = World(Source(EMPTY), Source(EMPTY), "v0.1.19", sys.argv[1])
found = []
for name in sys.argv[2:]:
    made = list(CASES[name].inputs(world))
    few = made if world.device != "cpu" else [made[0], made[-1]]  # the interpreter is slow
    case = replace(CASES[name], declines={}, candidates={}, inputs=lambda _: iter(few))
    with one_thread(), torch.inference_mode():
        found += [m for m in run_case("stack", case, world, []) if m.candidate]
bad = [f"{m.candidate} [{m.inputs}]: {describe(m)}" for m in found if m.status != Status.PASSED]
print(len(found), *bad, sep="\\n")
sys.exit(bool(bad) or not found)
"""


@needs_triton
def test_portable_kernels_are_as_close_as_the_path_they_replace() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    surroundings = os.environ | ({"TRITON_INTERPRET": "1"} if device == "cpu" else {})
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, device, *PORTABLE],
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("case", PORTABLE.values(), ids=list(PORTABLE))
def test_without_triton_it_says_that_it_cannot_run(
    case: AnyCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    from backport.parity.intree.extract import Source
    from backport.parity.values import World
    from tests.parity.worlds import EMPTY

    monkeypatch.setitem(sys.modules, "triton", None)
    for name in [m for m in sys.modules if m.startswith("backport.parity.kernels")]:
        monkeypatch.delitem(sys.modules, name)
    world = World(Source(EMPTY), Source(EMPTY), "v0.1.19")
    (run,) = case.portable.values()
    with pytest.raises(CannotRun):
        run(world, next(iter(case.inputs(world))))
