"""Many applies of random stacks on one repository, some killed, some at once: nothing may be lost.

    python -m tests.faults.soak --applies 10000 --seconds 600

One repository a core, each worked on by itself. Each round makes a random stack whose
result is known beforehand, and runs `apply` once, or three times at once; a third of
all rounds kill one run at a random moment. After every round the branch is where it
was or whole and right, and no other ref has moved; a run that ended well left the
branch that it promised. Git looks over the whole repository now and then, and at the end.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from backport.cli import run
from tests.builders import diff, git_blob_id, mail, numbered
from tests.repos import BRANCH, Library, Repo

FILES = {f"pkg/f{number}.txt": numbered(1, 80, f"f{number}").encode() for number in range(6)}
OTHERS = "refs/heads/main refs/heads/keep refs/tags/v1.0.0"


class Soak:
    """One repository under load, and what has happened to it so far."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - the same figures for the same seed
        self.repo = Repo.make(folder / "repo")
        self.repo.commit("Base\n", FILES)
        self.repo.git("tag", "v1.0.0")
        self.repo.git("branch", "keep")
        self.library = Library.make(folder / "library")
        self.library.manifest("stack")
        place = ("--repo", str(self.repo.path), "--root", str(self.library.root))
        self.words = ["apply", "--target", "v1.0.0", *place, "--no-audit", "--no-parity"]
        self.others = self.refs(*OTHERS.split())
        self.counts: Counter[str] = Counter()

    def refs(self, *names: str) -> str:
        return self.repo.git("for-each-ref", "--format=%(objectname) %(refname)", *names)

    def new_stack(self) -> dict[str, bytes]:
        """Write a random stack; the whole tree that it must give."""
        files = dict(FILES)
        mails = []
        for number in range(self.random.randint(1, 3)):
            path = self.random.choice([*files])
            before = files[path]
            lines = before.split(b"\n")
            for at in self.random.sample(range(0, len(lines) - 1, 9), self.random.randint(1, 3)):
                lines[at] = b"round %d %d" % (number, self.random.getrandbits(64))
            files[path] = b"\n".join(lines)
            mails.append(mail(f"[PATCH] {number}", diff(path, before, files[path], index=True)))
        shutil.rmtree(self.library.root / "patches/stack", ignore_errors=True)
        self.library.stack("stack", mails)
        return files

    def round(self) -> None:
        """One round: a new stack, applied once or three times at once, perhaps killed."""
        files = self.new_stack()
        before = self.repo.tip()
        at_once = 3 if self.random.random() < 0.1 else 1
        started = [self.start() for _ in range(at_once)]
        if self.random.random() < 1 / 3:
            time.sleep(self.random.random() * 0.12)
            os.kill(started[0], signal.SIGKILL)
        codes = [self.end(pid) for pid in started]
        self.judge(files, before, codes)

    def start(self) -> int:
        pid = os.fork()
        if pid == 0:
            code = 99
            try:
                null = os.open(os.devnull, os.O_RDWR)
                os.dup2(null, 1)
                os.dup2(null, 2)
                code = run(self.words)
            finally:
                os._exit(code)
        self.counts["applies"] += 1
        return pid

    def end(self, pid: int) -> int:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        names = {0: "done", 3: "gave way to another", -signal.SIGKILL: "killed"}
        self.counts[names[code]] += 1
        return code

    def judge(self, files: Mapping[str, bytes], before: str | None, codes: Sequence[int]) -> None:
        """Raise where anything is lost, half written or wrong."""
        tip = self.settled(before)
        assert self.refs(*OTHERS.split()) == self.others
        if 0 in codes:
            assert tip != before
        if tip != before:
            listed = self.repo.git("ls-tree", "-r", f"refs/heads/{BRANCH}").splitlines()
            found = {line.split("\t")[1]: line.split()[2] for line in listed}
            assert found == {path: git_blob_id(data) for path, data in files.items()}
        if self.counts["applies"] % 400 < len(codes):
            assert self.repo.is_sound()
            self.repo.git("repack", "-adq")

    def settled(self, before: str | None) -> str | None:
        """The branch's tip, once the children of killed runs are at rest."""
        lock = self.repo.path / f".git/refs/heads/{BRANCH}.lock"
        deadline = time.monotonic() + 5
        while lock.exists() and time.monotonic() < deadline:
            time.sleep(0.002)
        tip = self.repo.tip()
        if tip == before:  # git may be about to move it for a run that is gone
            time.sleep(0.01)
            tip = self.repo.tip()
        return tip


def soak(applies: int, seconds: float, seed: int) -> Counter[str]:
    """Run until so many applies or seconds are reached; what happened, counted."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        world = Soak(Path(folder), seed)
        deadline = time.monotonic() + seconds
        while world.counts["applies"] < applies and time.monotonic() < deadline:
            world.round()
        assert world.repo.is_sound()
        assert world.repo.git("status", "--porcelain") == ""
        return world.counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--applies", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--repositories", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    start = time.monotonic()
    share = -(-given.applies // given.repositories)
    seeds = range(given.seed, given.seed + given.repositories)
    with ProcessPoolExecutor(given.repositories) as pool:
        done = [pool.submit(soak, share, given.seconds, seed) for seed in seeds]
        counts = sum((each.result() for each in done), Counter[str]())
    told = ", ".join(f"{name} {count}" for name, count in counts.items())
    sys.stdout.write(f"{told}; lost 0; fsck clean; {time.monotonic() - start:.0f} s\n")


if __name__ == "__main__":
    main()
