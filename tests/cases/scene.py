"""The stage on which the cases play: an upstream, a release, and the word for what came of it.

The words: APPLY, the branch has the wanted tree. ALREADY, success without a commit.
CONFLICT, REFUSE, UNSAFE and STATE, nothing was written, and the hunk, the bad input,
the unsafe path or the state of the repository is named. FLAG, it applies, and must
not be called good. KEEP, bytes are kept. RECOVER, the next run is right.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from backport.audit import Options, audit
from backport.core.cursors import PatchError
from backport.core.evaluating import evaluate
from backport.core.mail import parse_patch
from backport.core.manifests import Manifest
from backport.core.outcomes import StackOutcome, Status
from tests.audit.builders import OWN
from tests.builders import mail, stack, tree
from tests.repos import BRANCH, Done, Library, Repo, Shell

Files = Mapping[str, bytes | None]
Play = Callable[["Scene"], "Found"]


@dataclass(frozen=True)
class Found:
    """What a run came to: the word, and all that it printed."""

    word: str
    text: str

    def says(self, *texts: str) -> Found:
        """The same, once every text is in what was printed."""
        for text in texts:
            assert text in self.text, self.text
        return self

    def never(self, *texts: str) -> Found:
        for text in texts:
            assert text not in self.text, self.text
        return self

    def called(self, word: str) -> Found:
        """The same under a word that a play has proved by itself."""
        return Found(word, self.text)


def word_of(code: int, text: str, moved: bool) -> str:
    """The word for an exit code, what was printed, and whether commits were made."""
    if code == 0:
        return "APPLY" if moved else "ALREADY"
    if code == 2 or "unsafe path" in text:
        return "UNSAFE" if "unsafe path" in text else "REFUSE"
    if code == 3:
        return "STATE"
    return "CONFLICT" if ": conflict (" in text else "FLAG"


@dataclass(frozen=True)
class Scene:
    """A release branch `rel`, checked out, and a library with one stack for it."""

    folder: Path
    shell: Shell

    @property
    def repo(self) -> Repo:
        return Repo(self.folder / "repo")

    @property
    def library(self) -> Library:
        return Library(self.folder / "library")

    @property
    def words(self) -> list[str]:
        place = ["--repo", str(self.repo.path), "--root", str(self.library.root)]
        return ["--target", "v1.0.0", *place]

    def upstream(self, before: Files, after: Files) -> Repo:
        """A repository of its own in which somebody makes the change."""
        repo = Repo.make(self.folder / "upstream")
        repo.commit("Before\n", before)
        repo.git("tag", "before")
        repo.commit("[ROCm][Perf] Change it\n\nWhy.\n", after)
        return repo

    def change(self, before: Files, after: Files, *options: str, config: str = "x.y=z") -> bytes:
        """The change as git mails it."""
        repo = self.upstream(before, after)
        return repo.raw("-c", config, "format-patch", "-1", "--stdout", *options)

    def release(self, files: Files) -> None:
        """The release that the change is to be carried to."""
        self.repo.commit("Release\n", files)
        self.repo.git("branch", "-f", "base")

    def stack(self, *mails: bytes, title: str = "[ROCm] A change", why: str = "W.") -> None:
        shutil.rmtree(self.library.root / "patches/stack", ignore_errors=True)
        self.library.stack("stack", mails, title, why)

    def manifest(self, more: str = "") -> None:
        self.library.manifest("stack", base="base", more=more)

    def carry(self, before: Files, after: Files, release: Files, *more: str) -> Found:
        """The usual play: a change from upstream, put on a release."""
        self.release(release)
        self.stack(self.change(before, after))
        return self.apply(*more)

    def apply(self, *more: str, want: Files | None = None) -> Found:
        """Run the tool; whatever does not succeed must leave everything as it was."""
        if not (self.library.root / "manifests/me/v1.0.0.toml").exists():
            self.manifest()
        before, objects = self.repo.snapshot(), self.repo.objects()
        done = self.shell("apply", *self.words, *more)
        found = self.judged(done)
        after = self.repo.snapshot()
        assert (after.head, after.index, after.files) == (before.head, before.index, before.files)
        if done.code:
            assert after.refs == before.refs
        if done.code in (1, 2):  # the environment may fail once objects are stored
            assert self.repo.objects() == objects
        if want is not None:
            assert self.repo.files(BRANCH) == want
        return found

    def judged(self, done: Done) -> Found:
        tip = self.repo.tip()
        text = done.out + done.err
        assert "Traceback" not in text
        assert len(done.problems) == (done.code in (2, 3)) or done.code == 2
        moved = tip is not None and tip != self.repo.git("rev-parse", "base")
        return Found(word_of(done.code, text, moved), text)


def make_scene(folder: Path, shell: Shell) -> Scene:
    Repo.make(folder / "repo")
    Library.make(folder / "library")
    return Scene(folder, shell)


def case(name: str, word: str) -> Callable[[Play], Play]:
    """Name a play by its case and the word that is right for it."""

    def register(play: Play) -> Play:
        CASES.append(pytest.param(play, word, id=f"{name} {word}"))
        return play

    return register


CASES: list[object] = []


# ---------------------------------------------------------------- without a repository


@dataclass(frozen=True)
class Quick:
    """What the core and the audit make of a change, and the files that this gives."""

    word: str
    text: str
    files: Mapping[str, bytes]


def quick(base: Mapping[str, bytes], *patches: bytes, audited: bool = False) -> Quick:
    """The word for patches (diffs or mails) on a tree that is held in memory."""
    target = tree(dict(base))
    files = {path: entry.data for path, entry in target.files.items()}
    try:
        read = [parse_patch(_mailed(data), f"p{n}") for n, data in enumerate(patches, 1)]
    except PatchError as error:
        word = "UNSAFE" if error.message.startswith("unsafe path") else "REFUSE"
        return Quick(word, error.message, files)
    found = evaluate(Manifest("me/v1", "v1", "b", ("stack",)), {"stack": stack(*read)}, target)
    result = found.results[0]
    text = "\n".join(f"{hunk.path}: {hunk.outcome}: {hunk.detail}" for hunk in result.hunks)
    if result.outcome is StackOutcome.CONFLICT:
        return Quick("UNSAFE" if "unsafe path" in text else "CONFLICT", text, files)
    if result.outcome is StackOutcome.ALREADY:
        return Quick("ALREADY", text, files)
    checks = found.checks
    if audited:
        checks += audit(target, found.changes, options=Options(processes=1, checks=OWN))
    told = [f"{f.path}: {f.message}" for check in checks for f in check.findings]
    for path, entry in found.changes.items():
        files.pop(path, None)
        files |= {path: entry.data} if entry else {}
    failed = any(check.status is Status.FAILED for check in checks)
    return Quick("FLAG" if failed else "APPLY", "\n".join([text, *told]), files)


def _mailed(data: bytes) -> bytes:
    return data if data.startswith(b"From ") else mail("[PATCH] x", data)


def git_says(repo: Repo, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", str(repo.path), *words], capture_output=True, check=False)
