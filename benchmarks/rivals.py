"""What the benchmarks share: a scratch clone, the rivals' own preparation, and ratios.

Nothing here judges: the ratios are printed, and a reader compares them.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ENV = {
    **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "B",
    "GIT_AUTHOR_EMAIL": "b@localhost",
    "GIT_COMMITTER_NAME": "B",
    "GIT_COMMITTER_EMAIL": "b@localhost",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
    "PYTHONPATH": str(Path(__file__).parents[1]),
}


def git(repo: Path, *words: str, feed: bytes | None = None, check: bool = True) -> str:
    """What git prints."""
    done = subprocess.run(
        ["git", "-C", str(repo), "-c", "gc.auto=0", *words],
        input=feed,
        capture_output=True,
        check=check,
        env=ENV,
    )
    return done.stdout.decode("utf-8", "replace").strip()


def succeeds(repo: Path, *words: str) -> bool:
    """True where git exits with 0."""
    done = subprocess.run(
        ["git", "-C", str(repo), "-c", "gc.auto=0", *words],
        capture_output=True,
        check=False,
        env=ENV,
    )
    return done.returncode == 0


def scratch(source: Path, folder: Path) -> Path:
    """A clone with a work tree of its own."""
    repo = folder / "repo"
    subprocess.run(
        ["git", "clone", "-q", "--no-hardlinks", "--no-checkout", str(source), str(repo)],
        check=True,
        env=ENV,
    )
    git(repo, "config", "gc.auto", "0")
    return repo


def backport(*words: str) -> subprocess.CompletedProcess[bytes]:
    """One whole call of the command line."""
    return subprocess.run(
        [sys.executable, "-m", "backport", *words], capture_output=True, check=False, env=ENV
    )


def forget(repo: Path) -> None:
    """Take away what the tool has kept."""
    shutil.rmtree(
        Path(git(repo, "rev-parse", "--absolute-git-dir")) / "backport", ignore_errors=True
    )


def am_loop(repo: Path, work: list[tuple[str, list[list[Path]]]]) -> None:
    """`git am` of each stack on each target, in the work tree; a conflict is aborted."""
    for target, stacks in work:
        git(repo, "checkout", "-q", "-f", "--detach", target)
        for patches in stacks:
            if not succeeds(repo, "am", "-q", "--keep-non-patch", *map(str, patches)):
                succeeds(repo, "am", "--abort")


def stack_commit(repo: Path, home: str, patches: list[Path]) -> str | None:
    """The stack as one commit on its home, or None where `git am` does not take it there."""
    git(repo, "checkout", "-q", "-f", "--detach", home)
    if not succeeds(repo, "am", "-q", *map(str, patches)):
        succeeds(repo, "am", "--abort")
        return None
    return git(repo, "commit-tree", "-p", f"{home}^{{commit}}", "-m", "stack", "HEAD^{tree}")


def measure(
    cases: Mapping[str, Callable[[], object]], rounds: int
) -> dict[str, tuple[float, float]]:
    """The median wall and CPU seconds of each case, all cases in random order in each round."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    order = list(cases)
    rng = random.Random(1)  # noqa: S311 - the same order in every run
    for _ in range(rounds):
        rng.shuffle(order)
        for name in order:
            cpu, wall = _cpu(), time.perf_counter()
            cases[name]()
            taken[name].append((time.perf_counter() - wall, _cpu() - cpu))
    return {
        name: (statistics.median(w for w, _ in runs), statistics.median(c for _, c in runs))
        for name, runs in taken.items()
    }


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(found: dict[str, tuple[float, float]], ours: str) -> str:
    """The medians, and how many times as long as ours each case takes."""
    wall, cpu = found[ours]
    width = max(map(len, found))
    lines = [f"{'':{width}}  {'wall s':>9} {'CPU s':>9}   x wall    x CPU  (x = this / {ours})"]
    lines += [
        f"{name:{width}}  {w:9.3f} {c:9.3f} {w / wall:8.2f} {c / max(cpu, 1e-9):8.2f}"
        for name, (w, c) in found.items()
    ]
    return "\n".join(lines)
