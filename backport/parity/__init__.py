"""Does the fused path compute what the path it replaces computes, in the tree that is shipped?

torch is imported when a check starts, never before; without it the check is
`not_run`, with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from backport.core.outcomes import CheckResult, Finding, Severity, Status
from backport.core.trees import Entry, Overlay, Tree
from backport.parity.values import HARDWARE, Carried, Measurement, ParityResult

if TYPE_CHECKING:
    from backport.core.stacks import Stack


def check_parity(
    base: Tree,
    changes: Mapping[str, Entry | None],
    stacks: Sequence[Stack],
    *,
    device: str = "cpu",
) -> CheckResult:
    """Passed only if every case of every stack ran in the tree and held there."""
    return as_check(run_parity(base, changes, stacks, device=device))


def run_parity(
    base: Tree,
    changes: Mapping[str, Entry | None],
    stacks: Sequence[Stack],
    *,
    device: str = "cpu",
    boot: bool = False,
) -> ParityResult:
    """Every measurement of the stacks' cases on `base` with `changes` on top.

    With `boot`, the whole tree is also booted as a simulated ROCm machine: its layers
    run there, and the tests that the stacks carry.
    """
    problem = torch_problem(device) if stacks else "no stack is applied here"
    if problem:
        return ParityResult(device=device, problem=problem)
    from backport.parity.cases import CASES
    from backport.parity.intree.carried import not_asked
    from backport.parity.intree.extract import Source
    from backport.parity.running import one_thread, run_stack
    from backport.parity.values import World
    from backport.parity.versions import pinned

    start = time.perf_counter()
    pristine = Source(base)
    version = pinned(pristine)
    if version is None:
        return ParityResult(device=device, problem="the tree does not say which AITER it pins")
    patched = Source(Overlay(base, dict(changes)))
    world = World(pristine, patched, version, "cpu" if device == "cpu" else "cuda")
    with one_thread():
        found = [m for stack in stacks for m in run_stack(stack, world, CASES)]
    carried = not_asked(stacks, "not asked for (--boot)")
    if boot:
        from backport.parity.intree.boot import boot_tree

        whole, carried = boot_tree(base, changes, stacks, version)
        found += whole
    seconds = time.perf_counter() - start
    return ParityResult(tuple(found), version, device, seconds, carried=carried)


def torch_problem(device: str) -> str:
    """Why torch cannot be used on `device` here, or nothing."""
    try:
        import torch
    except ImportError as error:
        return f"torch cannot be imported ({error}); install the extra `parity`"
    wanted = {"cpu": True, "rocm": bool(torch.version.hip), "cuda": not torch.version.hip}
    if device != "cpu" and not (wanted.get(device) and torch.cuda.is_available()):
        return f"torch sees no {device} device"
    return ""


def as_check(result: ParityResult) -> CheckResult:
    """The result as one check; its note always says what did not run."""
    findings = tuple(_finding(m) for m in result.failed) + tuple(
        _carried_finding(c) for c in result.carried if c.status is Status.FAILED
    )
    reasons = dict.fromkeys(f"{m.stack}: {m.case}: {m.note}" for m in result.not_run)
    ran = sum(m.status is not Status.NOT_RUN for m in result.measurements)
    launches = sum(m.launches for m in result.measurements)
    parts = [result.problem, *reasons]
    if ran:
        parts.append(f"{ran} runs and claims, {launches} launches of simulated kernels")
    return CheckResult(
        "parity", result.status, findings, "; ".join(filter(None, (*parts, result.hardware)))
    )


def _finding(measured: Measurement) -> Finding:
    where = f" on {measured.inputs}" if measured.inputs else ""
    message = f"{measured.candidate}{where}: {describe(measured)}"
    symbol = f"{measured.case}/{measured.candidate}"
    return Finding(
        f"patches/{measured.stack}", 0, 0, Severity.ERROR, "parity", message, symbol,
        "look at the patch that this candidate runs through",
    )  # fmt: skip


def _carried_finding(carried: Carried) -> Finding:
    message = "; ".join(filter(None, (carried.problem, *carried.failed)))
    return Finding(
        f"patches/{carried.stack}", 0, 0, Severity.ERROR, "parity", f"{carried.path}: {message}",
        carried.path, "look at the patch that carries this test",
    )  # fmt: skip


def describe(measured: Measurement) -> str:
    """What went wrong: the note, and every output that is out of tolerance."""
    wrong = [
        f"{f.output} ({f.dtype}): "
        + (
            f.detail
            or f"error {f.error.largest:.2e}, rms {f.error.rms:.2e}; "
            f"allowed {f.allowed.largest:.2e}, rms {f.allowed.rms:.2e} ({f.origin})"
        )
        for f in measured.figures
        if not f.passed
    ]
    return "; ".join(filter(None, (measured.note, *wrong)))


__all__ = ["HARDWARE", "ParityResult", "as_check", "check_parity", "describe", "run_parity"]
