"""Random changes of files with repeated blocks: what is applied is what git's own merge gives."""

from __future__ import annotations

import io
import os
import random
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from backport.core.applying import apply_stack
from backport.core.diffing import changes
from backport.core.outcomes import StackOutcome
from backport.core.preimages import Preimages
from backport.core.stacks import Stack
from tests.builders import diff, git_blob_id, stack, tree

WORDS = ("alpha", "beta", "gamma", "delta", "eps", "zeta", "eta", "theta")
HEAD = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
CASES = 400
Case = tuple[str, str, str]


class Maker:
    """Texts of a few blocks that repeat with small differences, and edits of them."""

    def __init__(self, seed: int, suffix: str) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - a choice that can be repeated is wanted
        self.indent = "" if suffix == "cfg" else "    "
        self.head = {"cfg": "[part{}]", "py": "def part{}():", "cpp": "void part{}() {{"}[suffix]

    def line(self) -> str:
        return f"{self.indent}{self.chance.choice(WORDS)} = {self.chance.choice(WORDS)}"

    def text(self) -> list[str]:
        blocks = [[self.line() for _ in range(self.chance.randint(3, 8))] for _ in range(2)]
        out = []
        for _ in range(self.chance.randint(1, 4)):
            block = list(self.chance.choice(blocks))
            if self.chance.random() < 0.4:
                block[self.chance.randrange(len(block))] = self.line()
            out += [self.head.format(self.chance.randint(0, 9)), *block, ""]
        return out

    def edited(self, lines: list[str], count: int, *, blocks: bool) -> list[str]:
        out = list(lines)
        for _ in range(count):
            at, kind = self.chance.randrange(len(out)), self.chance.random()
            if kind < 0.4:
                out[at] = self.line()
            elif kind < 0.6:
                out[at:at] = [self.line()]
            elif kind < 0.8 and len(out) > 2:
                del out[at]
            elif blocks:
                start = self.chance.randrange(len(out))
                out[at:at] = out[start : start + self.chance.randint(4, 12)]
            else:
                out[at] = out[self.chance.randrange(len(out))]
        return out

    def case(self) -> Case:
        """The home's text, the same as the patch leaves it, and the target's text."""
        home = self.text()
        changed = self.edited(home, self.chance.choice((1, 1, 2)), blocks=False)
        target = self.edited(home, self.chance.randint(1, 4), blocks=True)
        if self.chance.random() < 0.15:
            target = self.edited(changed, 2, blocks=True)
        joined = ["\n".join(lines) + "\n" for lines in (home, changed, target)]
        return joined[0], joined[1], joined[2]


def merged_by_git(folder: Path, cases: list[Case], suffix: str) -> dict[int, bytes]:
    """What git's merge of each case gives, where it is clean."""

    def git(*words: str, code: int = 0) -> bytes:
        sealed = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        who = ("-c", "user.name=T", "-c", "user.email=t@example.com", "-C", str(folder))
        done = subprocess.run(["git", *who, *words], env=sealed, capture_output=True, check=False)
        assert done.returncode in (0, code), done.stderr
        return done.stdout

    git("init", "-q")
    commits: list[str] = []
    for side in range(3):
        for number, texts in enumerate(cases):
            (folder / f"{number}.{suffix}").write_bytes(texts[side].encode())
        git("add", "-A")
        parent = ["-p", commits[0]] if commits else []
        made = git("commit-tree", *parent, "-m", "x", git("write-tree").decode().strip())
        commits.append(made.decode().strip())
    words = ("--write-tree", "--name-only", "-z", "--no-messages")
    found = git("merge-tree", *words, commits[2], commits[1], code=1).decode()
    merged, *names = found.split("\0")
    with tarfile.open(fileobj=io.BytesIO(git("archive", merged))) as archive:
        found_texts = {m.name: file.read() for m in archive if (file := archive.extractfile(m))}
    every = ((number, f"{number}.{suffix}") for number in range(len(cases)))
    return {number: found_texts[name] for number, name in every if name not in names}


def applied(case: Case, suffix: str) -> bytes | None:
    """What applying the change to the target leaves; None where it has no place."""
    home, changed, target = case
    path = f"a.{suffix}"

    def sources(one: Stack) -> Preimages:
        return Preimages(one, {git_blob_id(home.encode()): home.encode()}.get, lambda: None)

    change = stack(diff(path, home, changed, index=True))
    result = apply_stack(change, {}, tree({path: target}), sources)
    if result.outcome is StackOutcome.CONFLICT:
        return None
    entry = result.changes.get(path)
    return target.encode() if entry is None else entry.data


@pytest.mark.parametrize("suffix", ["cfg", "py", "cpp"])
def test_what_is_applied_is_what_git_merges(suffix: str, tmp_path: Path) -> None:
    maker = Maker(7, suffix)
    cases = [case for case in (maker.case() for _ in range(CASES)) if case[0] != case[1]]
    clean = merged_by_git(tmp_path, cases, suffix)
    ours = {number: applied(cases[number], suffix) for number in clean}
    told = {number: text for number, text in ours.items() if text is not None}
    assert len(told) > len(clean) * 3 / 4
    assert [cases[n] for n, text in told.items() if text != clean[n]] == []


def test_the_same_lines_change_as_in_gits_histogram_diff(tmp_path: Path) -> None:
    maker = Maker(11, "cfg")
    for _ in range(150):
        home, _, target = maker.case()
        (tmp_path / "a").write_text(home)
        (tmp_path / "b").write_text(target)
        words = ("--no-index", "--histogram", "--no-indent-heuristic", "-U0", "a", "b")
        done = subprocess.run(
            ["git", "diff", *words], cwd=tmp_path, capture_output=True, check=False
        )
        heads = re.findall(
            rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", done.stdout, re.MULTILINE
        )
        found = []
        for a, a_size, b, b_size in heads:
            sizes = [int(size) if size else 1 for size in (a_size, b_size)]
            starts = [int(at) - (size > 0) for at, size in zip((a, b), sizes, strict=True)]
            found.append((starts[0], starts[0] + sizes[0], starts[1], starts[1] + sizes[1]))
        assert found == changes(home.splitlines(), target.splitlines())
