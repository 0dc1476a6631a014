"""The tests that stacks carry into the vLLM tree: collected there, and run as far as a CPU goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from backport.core.stacks import Stack
from backport.parity.intree.children import NEEDED, Unavailable, ask
from backport.parity.values import Carried

CHILD = "backport.parity.intree.collected"


def carried_files(stack: Stack) -> list[str]:
    """The test files that a stack adds or changes, sorted."""
    return sorted(
        path
        for path in stack.paths()
        if path.startswith("tests/") and Path(path).name.startswith("test_")
    )


def not_asked(stacks: Sequence[Stack], reason: str) -> tuple[Carried, ...]:
    """A row for every carried file, none of which was tried."""
    return tuple(
        Carried(stack.name, path, unavailable=reason)
        for stack in stacks
        for path in carried_files(stack)
    )


def run_carried(tree: Path, chip: str, stacks: Sequence[Stack]) -> tuple[Carried, ...]:
    """What became of the carried tests in a tree on disk; a target may leave a file out."""
    every = {path for stack in stacks for path in carried_files(stack)}
    files = sorted(path for path in every if (tree / path).is_file())
    if not files:
        return ()
    request = {"tree": str(tree), "chip": chip, "files": files}
    try:
        told = ask(CHILD, request, (*NEEDED, "pytest"))
    except Unavailable as error:
        return not_asked(stacks, f"unavailable: {error}")
    return tuple(
        _row(stack.name, path, told["files"][path], told["conftest"])
        for stack in stacks
        for path in carried_files(stack)
        if path in told["files"]
    )


def _row(stack: str, path: str, told: Mapping[str, Any], conftest: bool) -> Carried:
    return Carried(
        stack,
        path,
        told["collected"],
        told["passed"],
        tuple(f"{test}: {why}" for test, why in told["failed"].items()),
        tuple(told["not_run"].values()),
        problem=told["problem"] or _nothing(told),
        conftest=conftest,
    )


def _nothing(told: Mapping[str, Any]) -> str:
    return "" if told["collected"] or told["not_run"] else "no test was collected"
