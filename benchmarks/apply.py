"""What `backport apply` costs against `git am` of the same patches, as ratios.

Whole processes on a real disk, user and system time with all children, the two
interleaved and the repository reset before each run. A ratio of 5 means that
`git am` takes five times as long. Started with `python -m benchmarks.apply`.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from backport import releases, sources
from benchmarks.stacks import BASE, BRANCH, NEXT, STACKS, Series, build, git

PROJECT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Cost:
    """One whole process with its children, in milliseconds."""

    cpu: float
    wall: float


class Arena:
    """The repository that both work on, brought back to its first state before each run."""

    def __init__(self, folder: Path, cached: Path) -> None:
        self.repo = folder / "repo"
        self.home = folder / "home"
        self.home.mkdir()
        git(folder, "init", "-q", str(self.repo))
        settings = (
            "gc.auto=0",
            "fetch.unpackLimit=1",
            "user.name=Bench",
            "user.email=b@example.com",
        )
        for setting in settings:
            git(self.repo, "config", *setting.split("="))
        git(self.repo, "fetch", "-q", str(cached), f"refs/tags/{BASE}:refs/tags/{BASE}")
        git(self.repo, "checkout", "-q", "--detach", BASE)
        self.objects = set(self._objects())

    def _objects(self) -> Iterator[Path]:
        return (path for path in (self.repo / ".git/objects").rglob("*") if path.is_file())

    def reset(self) -> None:
        """Back to the release: work tree, index, branch, and no object that a run has added."""
        git(self.repo, "reset", "-q", "--hard", BASE)
        shutil.rmtree(self.repo / ".git/rebase-apply", ignore_errors=True)
        git(self.repo, "update-ref", "-d", f"refs/heads/{BRANCH}")
        for path in set(self._objects()) - self.objects:
            path.unlink()
        git(self.repo, "status", "--porcelain")

    def environment(self) -> dict[str, str]:
        """Sealed from the user's git configuration; this source tree is what is imported.

        Bytecode is kept as any installation keeps it, whatever the shell says.
        """
        left_out = ("GIT_", "PYTHONDONTWRITEBYTECODE")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(left_out)}
        sealed = {"HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPATH": str(PROJECT)}
        return {**kept, **sealed, "XDG_CONFIG_HOME": str(self.home)}

    def cost(self, command: list[str]) -> Cost:
        """Run one command to its end in the repository; raises where it fails."""
        began = time.perf_counter()
        child = subprocess.Popen(
            command,
            cwd=self.repo,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise click.ClickException(f"{' '.join(command)} ended with {child.returncode}")
        return Cost(1000 * (used.ru_utime + used.ru_stime), 1000 * wall)


def rival(arena: Arena, series: Series) -> tuple[Cost, str]:
    """`git am` of the mbox, and the tree that it leaves."""
    arena.reset()
    cost = arena.cost(["git", "am", "-q", "--keep-non-patch", "--keep-cr", str(series.mbox)])
    return cost, git(arena.repo, "rev-parse", "HEAD^{tree}")


def ours(arena: Arena, series: Series) -> tuple[Cost, str]:
    """`backport apply` with its squashed commit, and the tree that it leaves."""
    arena.reset()
    words = ["apply", "--target", "bench/only", "--root", str(series.library), "--repo", "."]
    plain = ["--no-audit", "--no-parity", "--quiet"]
    cost = arena.cost([sys.executable, "-m", "backport", *words, *plain])
    return cost, git(arena.repo, "rev-parse", f"{BRANCH}^{{tree}}")


def compare(arena: Arena, series: Series, runs: int) -> list[tuple[Cost, Cost]]:
    """Pairs of (git am, ours), the order of each pair by chance."""
    chance = random.Random(0)  # noqa: S311
    pairs = []
    ours(arena, series)  # bytecode is written once, not in a counted run
    for number in range(runs):
        click.echo(f"{series.label}: run {number + 1} of {runs}", err=True)
        both = [rival, ours]
        chance.shuffle(both)
        done = {run: run(arena, series) for run in both}
        if done[rival][1] != done[ours][1]:
            raise click.ClickException(f"{series.label}: the two leave different trees")
        pairs.append((done[rival][0], done[ours][0]))
    return pairs


def row(series: Series, pairs: list[tuple[Cost, Cost]]) -> str:
    """One line of the table: medians of both, and the ratio's spread."""
    cells = [f"{series.label:6}{series.patches:8}{series.files:7}"]
    for key in ("cpu", "wall"):
        am, own = ([getattr(pair[side], key) for pair in pairs] for side in (0, 1))
        ratios = [theirs / mine for theirs, mine in zip(am, own, strict=True)]
        middle = statistics.median
        cells.append(f"{middle(am):9.0f}{middle(own):9.0f}")
        cells.append(f"{min(ratios):8.2f}{middle(ratios):8.2f}{max(ratios):8.2f}")
    return "".join(cells)


HEADS = (
    f"{'':21}{'CPU ms':>18}{'git am / backport':>24}{'wall ms':>18}{'git am / backport':>24}\n"
    f"{'stack':6}{'patches':>8}{'files':>7}"
    + f"{'git am':>9}{'backport':>9}{'min':>8}{'median':>8}{'max':>8}"
    * 2
)


@contextmanager
def scratch(given: str | None) -> Iterator[Path]:
    """A folder on the disk of the cache: on a file system in memory the ratios differ."""
    above = Path(given) if given else sources.cache_dir()
    above.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=above) as folder:
        yield Path(folder)


@click.command()
@click.option("--runs", default=5, show_default=True, help="Pairs of runs per stack.")
@click.option("--stack", "labels", multiple=True, type=click.Choice([*STACKS]), help="Only this.")
@click.option("--folder", metavar="PATH", help="Where to work [the cache]; use a real disk.")
def main(runs: int, labels: tuple[str, ...], folder: str | None) -> None:
    """Print what `backport apply` costs against `git am`."""
    for name in (BASE, NEXT):
        cached = releases.ensure(name, lambda *_: None)
    with scratch(folder) as work:
        click.echo("building the stacks", err=True)
        stacks = build(cached, work, labels or tuple(STACKS))
        arena = Arena(work, cached)
        click.echo(HEADS)
        for series in stacks:
            click.echo(row(series, compare(arena, series, runs)))


if __name__ == "__main__":
    main()
