"""Boot a tree as a simulated ROCm machine, in a process of its own, and import what changed.

Depth beyond single functions: the platform is detected by the tree's own code (as
gfx950 or gfx942), the custom ops register for real, and the signature of every op
is compared with its fake's. Only mismatches that the pristine tree does not have
count. Packages that vLLM wants but this needs not are dummies; where a real one is
missing, the tree is unavailable, with the reason.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backport.core.outcomes import Status
from backport.core.trees import EXECUTABLE, REGULAR, Entry, Overlay, Tree
from backport.parity.values import Measurement

CHIPS = ("gfx950", "gfx942")
NEEDED = ("numpy", "packaging", "regex", "pydantic", "cbor2", "psutil", "zmq", "einops",
          "yaml", "tqdm", "msgspec", "cloudpickle")  # fmt: skip
LIMIT = 180
CHILD = Path(__file__).with_name("booted.py")


@dataclass(frozen=True, slots=True)
class Booted:
    """What a tree's process told: modules that do not import, ops that differ from their fakes."""

    failed: Mapping[str, str]
    mismatches: Mapping[str, str]
    ops: int
    platform: str
    problem: str = ""


def boot_tree(base: Tree, changes: Mapping[str, Entry | None]) -> list[Measurement]:
    """The patched tree booted on every chip, against the pristine one; unavailable is `not_run`."""
    modules = sorted(
        path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        for path, entry in changes.items()
        if entry is not None and path.startswith("vllm/") and path.endswith(".py")
    )
    with tempfile.TemporaryDirectory(prefix="backport-boot-") as folder:
        before, after = Path(folder, "pristine"), Path(folder, "patched")
        write_package(base, before)
        write_package(Overlay(base, dict(changes)), after)
        pristine = start(before, CHIPS[0], modules)
        return [m for chip in CHIPS for m in _judged(chip, start(after, chip, modules), pristine)]


def write_package(tree: Tree, folder: Path) -> None:
    """The Python files of the tree's package, on disk."""
    for path in tree.paths():
        if not path.startswith("vllm/") or not path.endswith((".py", ".json")):
            continue
        entry = tree.entry(path)
        if entry is not None and entry.mode in (REGULAR, EXECUTABLE):
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(entry.data)


def start(tree: Path, chip: str, modules: Sequence[str]) -> Booted:
    """Run the child over a tree; a child that does not answer is a problem, not a failure."""
    missing = [name for name in NEEDED if not _installed(name)]
    if missing:
        return Booted({}, {}, 0, "", f"packages are missing: {', '.join(missing)}")
    answer = tree.with_name(f"{tree.name}-{chip}.json")
    words = [sys.executable, str(CHILD), str(answer), str(tree), chip, *modules]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=LIMIT, env=_environment(), check=False
        )
    except subprocess.TimeoutExpired:
        return Booted({}, {}, 0, "", f"it did not boot within {LIMIT} s")
    return _told(done, answer)


def _told(done: subprocess.CompletedProcess[str], answer: Path) -> Booted:
    if done.returncode or not answer.exists():
        last = (done.stderr.strip().splitlines() or ["it ended without an answer"])[-1]
        return Booted({}, {}, 0, "", last)
    return Booted(**json.loads(answer.read_text("utf-8")))


def _installed(name: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(name) is not None


def _environment() -> dict[str, str]:
    off = dict.fromkeys(("VLLM_ROCM_USE_AITER_FP4BMM", "VLLM_ROCM_USE_AITER_FP8BMM"), "0")
    on = dict.fromkeys(("TORCHDYNAMO_DISABLE", "VLLM_ROCM_USE_AITER", "VLLM_NO_USAGE_STATS"), "1")
    return os.environ | off | on | {"VLLM_LOGGING_LEVEL": "ERROR"}


def _judged(chip: str, found: Booted, pristine: Booted) -> list[Measurement]:
    if found.problem or pristine.problem:
        note = f"unavailable: {found.problem or pristine.problem}"
        return [_measurement(chip, "boot", Status.NOT_RUN, note)]
    new = {m: why for m, why in found.failed.items() if m not in pristine.failed or
           pristine.failed[m].startswith("absent")}  # fmt: skip
    fakes = {op: why for op, why in found.mismatches.items() if op not in pristine.mismatches}
    return [
        _claim(chip, "changed modules import", new),
        _claim(chip, f"{found.ops} ops have their fakes' signatures", fakes),
    ]


def _claim(chip: str, name: str, wrong: Mapping[str, str]) -> Measurement:
    note = "; ".join(f"{key}: {why}" for key, why in wrong.items())
    return _measurement(chip, name, Status.FAILED if wrong else Status.PASSED, note)


def _measurement(chip: str, name: str, status: Status, note: str) -> Measurement:
    return Measurement("whole tree", "boot", f"{chip}: {name}", "", status, True, note=note)
