"""How often the audit speaks of real backports: of git's wrong merges, and of its right ones.

A pair is an original commit O with its parent P, and a maintainer's backport B with its
parent T. git merges O onto T on its own; where that is clean, the result is what the
maintainer committed ("identical"), or differs from it in the code of a Python file
("different"), or only in layout, comments and other files ("same code"). The audit sees T
and the merge, never B.

    make bench-audit PAIRS=pairs.jsonl REPOS=FOLDER LIMIT=20

`pairs.jsonl` holds one object a line with the keys repo, P, O, T, B, files_O, scope and
git.verdict ("identical" or "different"; others are left out). FOLDER holds a bare
repository for each `owner/name`, as `owner+name`, `owner+name/repo` or `name`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from backport.audit import Auditor, Options
from backport.audit.catalogue import CHECKS
from backport.core.outcomes import Finding, Severity
from backport.core.trees import GITLINK, Entry

ALL = frozenset(CHECKS) - {"reverted", "ruff", "ty"}

Pair = dict[str, Any]
Change = dict[str, tuple[str, str] | None]


class Repository:
    """A scratch repository that borrows the objects of a given one, which stays untouched."""

    def __init__(self, source: Path, scratch: Path) -> None:
        subprocess.run(["git", "init", "-q", "--bare", str(scratch)], check=True)
        listed = subprocess.run(
            ["git", "-C", str(source), "rev-parse", "--git-path", "objects"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        objects = (source / listed.stdout.strip()).resolve()
        (scratch / "objects/info/alternates").write_text(f"{objects}\n")
        self.path = scratch
        self._trees: dict[str, dict[str, tuple[str, str]]] = {}
        self._child = subprocess.Popen(
            ["git", "-C", str(scratch), "cat-file", "--batch"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def close(self) -> None:
        self._child.communicate()

    def read(self, name: str) -> bytes:
        """The content of an object; KeyError where there is none."""
        stdin, stdout = self._child.stdin, self._child.stdout
        if stdin is None or stdout is None:
            raise KeyError(name)
        stdin.write(f"{name}\n".encode())
        stdin.flush()
        head = stdout.readline().split()
        if len(head) != 3:
            raise KeyError(name)
        data = stdout.read(int(head[2]))
        stdout.read(1)
        return data

    def files(self, tree: str) -> dict[str, tuple[str, str]]:
        """Mode and blob of every path of a tree."""
        if tree not in self._trees:
            if len(self._trees) > 4:
                self._trees.clear()
            listed = self._git("ls-tree", "-r", "-z", tree).stdout.split(b"\0")
            heads = (line.partition(b"\t") for line in listed if line)
            self._trees[tree] = {
                os.fsdecode(path): (head.split()[0].decode(), head.split()[2].decode())
                for head, _, path in heads
            }
        return self._trees[tree]

    def tree_of(self, commit: str) -> str:
        return self.read(commit)[5:45].decode()

    def time_of(self, commit: str) -> int:
        """When a commit was made, in seconds; 0 where it is not at hand."""
        with contextlib.suppress(KeyError):
            found = re.search(rb"^committer .* (\d+) [-+]\d+$", self.read(commit), re.MULTILINE)
            return int(found[1]) if found else 0
        return 0

    def merge(self, pair: Pair) -> str | None:
        """The tree of git's own merge of O onto T, where it is clean."""
        base = self._commit(self.tree_of(pair["P"]))
        ours, theirs = (self._commit(self.tree_of(pair[k]), base) for k in "TO")
        done = self._git("merge-tree", "--write-tree", "--no-messages", ours, theirs)
        return done.stdout.split(b"\n")[0].decode() if not done.returncode else None

    def _git(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", "-C", str(self.path), *arguments], capture_output=True, check=False
        )

    def _commit(self, tree: str, *parents: str) -> str:
        who = "b <b@b> 0 +0000"
        lines = [f"tree {tree}", *(f"parent {p}" for p in parents), f"author {who}"]
        body = "\n".join([*lines, f"committer {who}", "", "x", ""]).encode()
        raw = b"commit %d\0" % len(body) + body
        name = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
        path = self.path / "objects" / name[:2] / name[2:]
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            path.write_bytes(zlib.compress(raw, 1))
        return name


class StoredTree:
    """A tree of a repository, for the audit."""

    def __init__(self, repository: Repository, tree: str) -> None:
        self.repository = repository
        self.files = repository.files(tree)

    def paths(self) -> Mapping[str, str]:
        return {path: blob for path, (_, blob) in self.files.items()}

    def entry(self, path: str) -> Entry | None:
        found = self.files.get(path)
        if found is None or found[0] == GITLINK:
            return None
        return Entry(found[0], self.repository.read(found[1]))


class Auditors:
    """The auditors used last: the next tree's is made from that of the most similar one."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._kept: deque[tuple[StoredTree, Auditor]] = deque(maxlen=4)

    def of(self, tree: str) -> Auditor:
        """The auditor of a tree."""
        wanted = StoredTree(self.repository, tree)
        entries = wanted.files.items()
        near = max(self._kept, key=lambda kept: len(kept[0].files.items() & entries), default=None)
        if near is not None and near[0].files == wanted.files:
            return near[1]
        found = near[1].onto(wanted) if near is not None else Auditor(wanted, Options(checks=ALL))
        self._kept.append((wanted, found))
        return found


class Judged(NamedTuple):
    """A pair, how git's merge compares with what was committed, and what the audit says of it."""

    pair: Pair
    kind: str
    findings: list[Finding]
    seconds: float

    def flagged(self, codes: frozenset[str] | None = None) -> bool:
        errors = (f for f in self.findings if f.severity is Severity.ERROR)
        return any(codes is None or f.code in codes for f in errors)


IMPORT_CODES = frozenset(
    {"undefined-name", "used-before-definition", "typing-only-name", "undefined-export"}
    | {"missing-module", "missing-symbol", "missing-attribute", "missing-patch-target"}
    | {"newer-dependency"}
)
"""What a name means that is bare, imported, read on a module or given in a string."""
NAME_CODES = IMPORT_CODES | {"unknown-attribute"}
"""And on an object whose class is known."""


def judge(auditors: Auditors, pair: Pair) -> Judged | None:
    """What the audit says of git's merge; None where the merge is not clean or not Python."""
    repository = auditors.repository
    merged = repository.merge(pair)
    if merged is None:
        return None
    onto = repository.tree_of(pair["T"])
    before, after = repository.files(onto), repository.files(merged)
    change = _difference(before, after)
    if not any(path.endswith(".py") for path in change):
        return None
    wanted = _difference(before, repository.files(repository.tree_of(pair["B"])))
    scope = {*pair["files_O"], *pair.get("scope", ()), *change}
    kind = _compared(repository, change, wanted, scope)
    home = StoredTree(repository, repository.tree_of(pair["P"]))
    return Judged(pair, kind, *speak(auditors, onto, change, home))


def speak(
    auditors: Auditors, onto: str, change: Change, home: StoredTree
) -> tuple[list[Finding], float]:
    """What the audit says of a change to a tree, and how many seconds it takes beside the table."""
    read = auditors.repository.read
    entries = {
        path: None if found is None else Entry(found[0], read(found[1]))
        for path, found in change.items()
        if found is None or found[0] != GITLINK
    }
    auditor = auditors.of(onto)
    auditor.options = replace(auditor.options, homes=dict.fromkeys(change, (home,)))
    begin = time.process_time()
    findings = [finding for result in auditor.audit(entries) for finding in result.findings]
    return findings, time.process_time() - begin


KINDS = ("different", "same code", "identical")


def _compared(repository: Repository, ours: Change, theirs: Change, scope: set[str]) -> str:
    """How a merge compares with what was committed, over the paths that either change has."""
    wrong = [path for path in scope if ours.get(path, ()) != theirs.get(path, ())]
    if not wrong:
        return "identical"
    sources = [path for path in wrong if path.endswith(".py")]
    codes = ([_code(repository, change.get(path)) for change in (ours, theirs)] for path in sources)
    return "same code" if all(one == other and one for one, other in codes) else "different"


def _code(repository: Repository, found: tuple[str, str] | None) -> str:
    """What a Python file says, without layout and comments; empty where it says nothing."""
    try:
        return ast.dump(ast.parse(repository.read(found[1]))) if found is not None else ""
    except (SyntaxError, ValueError):
        return ""


def _difference(before: dict[str, tuple[str, str]], after: dict[str, tuple[str, str]]) -> Change:
    paths = before.keys() | after.keys()
    return {p: after.get(p) for p in paths if before.get(p) != after.get(p)}


def judged(pairs: list[Pair], source: Path, scratch: Path) -> Iterator[Judged]:
    """Every pair of one repository whose commits are at hand, in the order of their time."""
    repository = Repository(source, scratch)
    auditors = Auditors(repository)
    try:
        present = [(when, pair) for pair in pairs if (when := repository.time_of(pair["T"]))]
        for _, pair in sorted(present, key=lambda each: each[0]):
            with contextlib.suppress(KeyError):
                found = judge(auditors, pair)
                if found is not None:
                    yield found
    finally:
        repository.close()
        shutil.rmtree(repository.path)


def _find(repos: Path, name: str) -> Path | None:
    flat = name.replace("/", "+")
    for place in (flat, f"{flat}/repo", name, name.partition("/")[2]):
        folder = repos / place
        if (folder / "objects").is_dir() or (folder / ".git").exists():
            return folder
    return None


def main() -> None:
    """Print the share of flagged merges by kind, and every flagged one with --show."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--only", action="append", help="a repository, as owner/name")
    parser.add_argument("--limit", type=int, help="so many identical merges a repository")
    parser.add_argument("--show", action="store_true", help="print the findings")
    options = parser.parse_args()
    pairs = [json.loads(line) for line in options.pairs.read_text().splitlines()]
    pairs = _chosen(pairs, options.only, options.limit)
    gc.disable()
    found: list[Judged] = []
    for name in dict.fromkeys(pair["repo"] for pair in pairs):
        source = _find(options.repos, name)
        mine = [pair for pair in pairs if pair["repo"] == name]
        sys.stderr.write(f"{name}: {len(mine) if source else 'not at hand, no'} pairs\n")
        with tempfile.TemporaryDirectory() as folder:
            for item in judged(mine, source, Path(folder, "repo")) if source else ():
                found.append(item)
                if options.show:
                    _show(item)
        gc.collect()
    _report(found)


def _chosen(pairs: list[Pair], only: list[str] | None, limit: int | None) -> list[Pair]:
    chance = random.Random(0)  # noqa: S311 - a choice that can be repeated is wanted
    clean = [p for p in pairs if p["git"]["verdict"] in ("identical", "different")]
    clean = [p for p in clean if not only or p["repo"] in only]
    kept = []
    for repo in sorted({p["repo"] for p in clean}):
        same = [p for p in clean if p["repo"] == repo and p["git"]["verdict"] == "identical"]
        same = [p for p in same if any(f.endswith(".py") for f in p["files_O"])]
        if limit is not None and len(same) > limit:
            same = chance.sample(same, limit)
        different = [p for p in clean if p["repo"] == repo and p["git"]["verdict"] == "different"]
        kept += sorted(different + same, key=lambda p: str(p["T"]))
    return kept


def _show(item: Judged) -> None:
    if item.findings:
        sys.stdout.write(f"{item.kind} {item.pair['repo']} {item.pair['B'][:12]}\n")
        sys.stdout.flush()
        for f in item.findings:
            sys.stdout.write(f"    {f.path}:{f.line}: {f.severity}: {f.message} [{f.code}]\n")


def _report(found: list[Judged]) -> None:
    for kind in KINDS:
        group = [item for item in found if item.kind == kind]
        flagged = (
            _share(sum(item.flagged(codes) for item in group), len(group))
            for codes in (IMPORT_CODES, NAME_CODES, None)
        )
        told = "names and imports flag {}, with attributes {}, all checks {}".format(*flagged)
        sys.stdout.write(f"{kind:10} {len(group):5} merges: {told}\n")
        codes = Counter(
            code for item in group
            for code in {f.code for f in item.findings if f.severity is Severity.ERROR}
        )  # fmt: skip
        for code, count in codes.most_common():
            sys.stdout.write(f"    {code:26} {count}\n")
    seconds = sorted(item.seconds for item in found)
    if seconds:
        sys.stdout.write(f"CPU seconds a merge: median {seconds[len(seconds) // 2]:.2f}\n")


def _share(count: int, total: int) -> str:
    return f"{count} ({100 * count / total:.1f} %)" if total else "0"


if __name__ == "__main__":
    main()
