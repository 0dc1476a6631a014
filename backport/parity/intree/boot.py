"""Boot a tree as a simulated ROCm machine, in processes of their own, and try it there.

Depth beyond single functions: the platform is detected by the tree's own code (as
gfx950 or gfx942), the custom ops register for real, and real layers are constructed
and run. What is asked of the patched tree:

- every changed module imports, every op takes its fake's parameters (only what the
  pristine tree does better counts);
- the layers of `intree/whole` run fused and split, and close where they must;
- with the gates closed they leave what the pristine tree's layers leave, bit by bit;
- the tests that the stacks carry are collected, and run as far as a CPU goes.

Packages that vLLM wants but this needs not are dummies; where a real one is missing,
the tree is unavailable, with the reason.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from backport.core.outcomes import Status
from backport.core.stacks import Stack
from backport.core.trees import EXECUTABLE, REGULAR, Entry, Overlay, Tree
from backport.parity.intree.carried import run_carried
from backport.parity.intree.children import Unavailable, ask
from backport.parity.values import Carried, Measurement
from backport.parity.wire import BROKEN, measurement

CHIPS = ("gfx950", "gfx942")
CHILD = "backport.parity.intree.examined"
AT_ONCE = 2  # processes; each takes about half a gigabyte
WANTED = (("vllm/", (".py", ".json")), ("tests/", (".py",)), ("csrc/", ("bindings.cpp",)),
          ("pyproject.toml", ("",)))  # fmt: skip


class Booted(NamedTuple):
    """What a tree's process told: imports that fail, ops unlike their fakes, how layers ran.

    `closed` has a digest of what each layer leaves with its gates closed.
    """

    failed: Mapping[str, str] = {}
    mismatches: Mapping[str, str] = {}
    ops: int = 0
    platform: str = ""
    measurements: tuple[Measurement, ...] = ()
    closed: Mapping[str, str] = {}
    problem: str = ""


def boot_tree(
    base: Tree, changes: Mapping[str, Entry | None], stacks: Sequence[Stack], version: str
) -> tuple[list[Measurement], tuple[Carried, ...]]:
    """The patched tree on every chip, against the pristine one; unavailable is `not_run`."""
    with tempfile.TemporaryDirectory(prefix="backport-boot-") as folder:
        before, after = Path(folder, "pristine"), Path(folder, "patched")
        write_package(base, before)
        write_package(Overlay(base, dict(changes)), after)
        request = {
            "aiter": version,
            "modules": changed_modules(changes),
            "stacks": [(s.name, s.parity, sorted(s.paths())) for s in stacks],
        }
        with ThreadPoolExecutor(AT_ONCE) as pool:
            carried = pool.submit(run_carried, after, CHIPS[0], stacks)
            patched, pristine = (
                [pool.submit(start, tree, chip, request | {"patched": tree is after})
                 for chip in CHIPS]
                for tree in (after, before)
            )  # fmt: skip
            pairs = [(a.result(), b.result()) for a, b in zip(patched, pristine, strict=True)]
            found = [
                m for chip, pair in zip(CHIPS, pairs, strict=True) for m in judged(chip, *pair)
            ]
            tests = carried.result()
            return found + _untried(tests), tests


def changed_modules(changes: Mapping[str, Entry | None]) -> list[str]:
    """The dotted names of the package's modules that the changes leave behind."""
    return sorted(
        path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        for path, entry in changes.items()
        if entry is not None and path.startswith("vllm/") and path.endswith(".py")
    )


def write_package(tree: Tree, folder: Path) -> None:
    """The tree's package and tests, and the schemas of its compiled ops, on disk."""
    for path in tree.paths():
        if not any(path.startswith(top) and path.endswith(ends) for top, ends in WANTED):
            continue
        entry = tree.entry(path)
        if entry is not None and entry.mode in (REGULAR, EXECUTABLE):
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(entry.data)


def start(tree: Path, chip: str, request: Mapping[str, Any]) -> Booted:
    """Ask a tree's process; a child that does not answer is a problem, not a failure."""
    try:
        told = ask(CHILD, {**request, "tree": str(tree), "chip": chip})
    except Unavailable as error:
        return Booted(problem=str(error))
    told["measurements"] = tuple(measurement(m) for m in told["measurements"])
    return Booted(**told)


def judged(chip: str, found: Booted, pristine: Booted) -> list[Measurement]:
    """The claims about one chip; nothing but `not_run` where either tree does not boot."""
    if found.problem or pristine.problem:
        note = f"unavailable: {found.problem or pristine.problem}"
        return [_measurement(chip, "boot", Status.NOT_RUN, note)]
    new = {m: why for m, why in found.failed.items() if m not in pristine.failed or
           pristine.failed[m].startswith("absent")}  # fmt: skip
    fakes = {op: why for op, why in found.mismatches.items() if op not in pristine.mismatches}
    return [
        _claim(chip, "changed modules import", new),
        _claim(chip, f"{found.ops} ops have their fakes' signatures", fakes),
        *(replace(m, candidate=f"{chip}: {m.candidate}") for m in found.measurements),
        *_closed(chip, found.closed, pristine.closed),
    ]


def _untried(tests: Sequence[Carried]) -> list[Measurement]:
    """Carried tests that could not even be collected have not passed."""
    reasons = dict.fromkeys(c.unavailable for c in tests if c.unavailable)
    return [_measurement(CHIPS[0], "carried tests", Status.NOT_RUN, reason) for reason in reasons]


def _closed(chip: str, found: Mapping[str, str], pristine: Mapping[str, str]) -> list[Measurement]:
    """A layer that breaks fails; one that breaks in the pristine tree tells nothing."""
    claims = []
    for layer, digest in found.items():
        name, before = (
            f"{layer}: closed gate equals the pristine tree",
            pristine.get(layer, "not run"),
        )
        if before.startswith(BROKEN):
            claims.append(_measurement(chip, name, Status.NOT_RUN, f"pristine tree {before}"))
            continue
        differ = {} if before == digest else {"patched": digest, "pristine": before}
        claims.append(_claim(chip, name, differ))
    return claims


def _claim(chip: str, name: str, wrong: Mapping[str, str]) -> Measurement:
    note = "; ".join(f"{key}: {why}" for key, why in wrong.items())
    return _measurement(chip, name, Status.FAILED if wrong else Status.PASSED, note)


def _measurement(chip: str, name: str, status: Status, note: str) -> Measurement:
    return Measurement("whole tree", "boot", f"{chip}: {name}", "", status, True, note=note)
