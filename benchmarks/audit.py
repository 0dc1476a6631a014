"""What the audit of one stack on a real release costs, with the table at hand and without.

Whole processes, each by itself; `python -m compileall` of the same files, in the same run, says
how fast the machine is at that moment. Started with `python -m benchmarks.audit`.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import click

from backport import releases

PROJECT = Path(__file__).resolve().parent.parent
TARGET, STACK = "v0.28.0", "sparse-mla-qk-rope-cache"


class Cost(NamedTuple):
    """One whole process with its children: seconds, and the most megabytes of one of them."""

    wall: float
    cpu: float
    memory: float


_MEASURE = (
    "import resource, subprocess, sys, time\n"
    "began = time.perf_counter()\n"
    "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
    "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
    "wall = time.perf_counter() - began\n"
    "print(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, done.returncode)\n"
)


def cost(words: list[str], cache: Path | None = None) -> Cost:
    """Run one command to its end; raises where it fails."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment = {**kept, "PYTHONPATH": str(PROJECT)}
    if cache is not None:
        environment["BACKPORT_CACHE"] = str(cache)
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, *words],
        env=environment, cwd=PROJECT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    wall, cpu, memory, code = map(float, done.stdout.split())
    if code:
        raise RuntimeError(f"{words[1:4]} failed: {done.stderr}")
    return Cost(wall, cpu, memory)


def library(folder: Path) -> Path:
    """A library whose one target carries one stack, with what the real target adapts for it."""
    shutil.copytree(PROJECT / "patches" / STACK, folder / "patches" / STACK)
    source = (PROJECT / "manifests/moreh" / f"{TARGET}.toml").read_text()
    entries = [entry for entry in source.split("\n\n") if entry.startswith("[[")]
    mine = [entry for entry in entries if f'"{STACK}/' in entry]
    head = f'schema = 1\nbase = "{TARGET}"\nbranch = "one"\nstacks = ["{STACK}"]\n'
    manifest = folder / "manifests/one" / f"{TARGET}.toml"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("\n".join([head, *mine]))
    return folder


def unpacked(repository: Path, folder: Path) -> Path:
    """The Python files of the release, to be compiled."""
    listed = subprocess.run(
        ["git", "-C", str(repository), "archive", TARGET, "vllm", "tests"],
        stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", str(folder)], input=listed.stdout, check=True)
    return folder


@click.command()
@click.option("--runs", default=3, show_default=True, help="Runs of each kind; the median counts.")
def main(runs: int) -> None:
    """Print the cost of the audit, warm and cold, beside that of compiling the tree."""
    repository = releases.ensure(TARGET, lambda *_: None)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        tree = unpacked(repository, folder / "tree")
        root = library(folder / "library")
        place = ["--root", str(root), "--repo", str(repository), "--target", TARGET]
        audit = [sys.executable, "-m", "backport", "audit", *place]
        compiling = [sys.executable, "-m", "compileall", "-q", "-f", "-j", "0", str(tree)]
        rows: dict[str, list[Cost]] = {"compileall": [], "audit, cold": [], "audit, warm": []}
        for number in range(runs):
            cache = folder / f"cache{number}"
            rows["compileall"].append(cost(compiling))
            rows["audit, cold"].append(cost(audit, cache))
            rows["audit, warm"].append(cost(audit, cache))
    _tell(rows)


def _tell(rows: dict[str, list[Cost]]) -> None:
    middle = {
        name: Cost(*(statistics.median(column) for column in zip(*costs, strict=True)))
        for name, costs in rows.items()
    }
    load, cores = os.getloadavg()[0], os.cpu_count()
    click.echo(f"{STACK} on {TARGET}; load {load:.1f} on {cores} cores")
    click.echo(f"{'':14}{'wall s':>8}{'CPU s':>8}{'MB':>6}{'CPU / compileall':>18}")
    for name, each in middle.items():
        ratio = each.cpu / middle["compileall"].cpu
        figures = f"{each.wall:8.2f}{each.cpu:8.2f}{each.memory:6.0f}{ratio:18.2f}"
        click.echo(f"{name:14}{figures}")


if __name__ == "__main__":
    main()
