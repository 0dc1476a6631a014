"""Run cases: every candidate on every input, every decline, every claim about the tree."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from backport.core.outcomes import Status
from backport.core.stacks import Stack
from backport.parity import portable
from backport.parity.devices import where
from backport.parity.judging import judge
from backport.parity.simulated import ContractError
from backport.parity.values import (
    AnyCase,
    Binding,
    CannotRun,
    Case,
    Figure,
    I,
    Measurement,
    Mismatch,
    Outputs,
    Run,
    World,
)

FOUND_BY_CODE = (Exception,)  # whatever the tree's code raises is a finding, not a crash


@contextmanager
def one_thread() -> Iterator[None]:
    """torch on one thread: the tensors are small, and threads only wait for one another."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def run_stack(stack: Stack, world: World, cases: dict[str, AnyCase]) -> list[Measurement]:
    """Everything that a stack's cases say about the patched tree."""
    if not stack.parity:
        return [_not_run(stack.name, "", "the stack names no parity case")]
    out: list[Measurement] = []
    with torch.inference_mode():
        for name in stack.parity:
            if name not in cases:
                out.append(_not_run(stack.name, name, f"there is no case {name!r}"))
                continue
            out += run_case(stack.name, cases[name], world, bindings(cases[name], stack, world))
    return out


def bindings(case: AnyCase, stack: Stack, world: World) -> list[Binding[Any]]:
    """The case's bindings whose code this stack changes and this tree has."""
    paths = stack.paths()
    return [b for b in case.bindings if b.anchor.partition("::")[0] in paths and _has(world, b)]


def _has(world: World, binding: Binding[Any]) -> bool:
    path, _, name = binding.anchor.partition("::")
    return world.patched.has(path, name)


def run_case(
    stack: str, case: Case[I], world: World, found: Sequence[Binding[I]]
) -> list[Measurement]:
    """The kernels' candidates, the declines, and what the bindings reach in the tree."""
    here = replace(world, device="cpu")
    out = [
        *_candidates(stack, case, world, found),
        *_declines(stack, case, world),
        *(_claim(stack, case, b, n, here) for b in found for n in b.claims),
    ]
    if not found:
        out.append(_not_run(stack, case.name, "no code of this stack in the tree fits the case"))
    return out


def run_kernels_of(case: AnyCase, world: World) -> list[Measurement]:
    """The kernels' candidates and declines alone, on the world's device."""
    with torch.inference_mode():
        return [*_candidates("kernels", case, world, ()), *_declines("kernels", case, world)]


def _candidates(
    stack: str, case: Case[I], world: World, found: Sequence[Binding[I]]
) -> Iterator[Measurement]:
    """Kernels on the device asked for; the tree's code always on the CPU."""
    kernels = dict(case.candidates)
    if portable.reachable(world.device):
        kernels |= case.portable
    for made in case.inputs(world):
        with where(made):  # what a kernel or a reference makes anew lies there too
            truth = (case.reference(made), case.baseline(made))
            measured = [
                _measure(stack, case, name, run, False, world, made, *truth)
                for name, run in kernels.items()
            ]
        yield from measured
    here = replace(world, device="cpu")
    for made in case.inputs(here):
        fitting = [binding for binding in found if binding.fits(made)]
        if not fitting:
            continue
        truth = (case.reference(made), case.baseline(made))
        for binding in fitting:
            for name, run in binding.candidates.items():
                shown = f"{binding.name}: {name}"
                yield _measure(stack, case, shown, run, True, here, made, *truth)


def _measure(
    stack: str,
    case: Case[I],
    candidate: str,
    run: Run[I],
    in_tree: bool,
    world: World,
    made: I,
    reference: Outputs,
    baseline: Outputs,
) -> Measurement:
    def measured(
        status: Status, figures: tuple[Figure, ...] = (), launches: int = 0, note: str = ""
    ) -> Measurement:
        return Measurement(
            stack, case.name, candidate, made.label, status, in_tree, figures, launches, note
        )

    try:
        ran = run(world, made)
        figures = judge(reference, baseline, ran.outputs, case.tolerances, case.optional)
    except CannotRun as error:
        return measured(Status.NOT_RUN, note=str(error))
    except FOUND_BY_CODE as error:
        return measured(Status.FAILED, note=explain(error))
    note = ""
    if ran.launches != ran.expected:
        note = f"{ran.launches} launches of the fused kernel, not {ran.expected}"
    passed = not note and all(figure.passed for figure in figures)
    status = Status.PASSED if passed else Status.FAILED
    return measured(status, figures, ran.launches, note)


def _declines(stack: str, case: Case[I], world: World) -> Iterator[Measurement]:
    if not case.declines:
        return
    made = next(iter(case.inputs(world)))
    run = next(iter(case.candidates.values()))
    for name, decline in case.declines.items():
        status, note = Status.FAILED, f"accepted, though {decline.reason}"
        try:
            with where(made):
                run(world, decline.spoil(made))
        except ContractError:
            status, note = Status.PASSED, ""
        yield Measurement(
            stack, case.name, f"declines {name}", made.label, status, False, note=note
        )


def _claim(stack: str, case: Case[I], binding: Binding[I], name: str, world: World) -> Measurement:
    status, note = Status.PASSED, ""
    try:
        binding.claims[name](world)
    except CannotRun as error:
        status, note = Status.NOT_RUN, str(error)
    except FOUND_BY_CODE as error:
        status, note = Status.FAILED, explain(error)
    return Measurement(stack, case.name, f"{binding.name}: {name}", "", status, True, note=note)


def explain(error: Exception) -> str:
    """One line: what was raised, and the line of the tree's file that it came through last."""
    if isinstance(error, Mismatch):
        return str(error)
    text = f"{type(error).__name__}: {error}".split("\n")[0]
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{f.filename}:{f.lineno}" for f in frames if f.filename.startswith("vllm/")]
    return f"{text} ({places[-1]})" if places else text


def _not_run(stack: str, case: str, note: str) -> Measurement:
    return Measurement(stack, case, "", "", Status.NOT_RUN, False, note=note)
