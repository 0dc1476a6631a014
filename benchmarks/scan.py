"""`backport scan` against a `git am` loop and `git merge-tree --stdin`.

    python -m benchmarks.scan --repo PATH [--from v0.28.0 --to v0.29.0] [--commits 300]

PATH is a repository with both releases as tags. Their difference is split by file into
a history; the stacks are those that `git am` takes on its first commit. The `git am`
loop is measured on a sample of the commits and scaled, which its line says. Each
answer is compared with `git apply --cached`, file by file, on every commit that
touches a stack's files and on a sample of the others.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import click

from backport.core.stacks import Stack
from backport.library import Library, load
from benchmarks.rivals import (
    ENV,
    am_loop,
    backport,
    forget,
    git,
    measure,
    scratch,
    stack_commit,
    table,
)

BRANCH = "refs/heads/history"


def make_history(repo: Path, start: str, end: str, count: int) -> list[str]:
    """The difference of two releases as `count` commits, a share of its files each."""
    raw = git(repo, "diff", "--raw", "-z", "--no-abbrev", "--no-renames", start, end).split("\0")
    changes = [(raw[at], raw[at + 1]) for at in range(0, len(raw) - 1, 2)]
    random.Random(7).shuffle(changes)  # noqa: S311
    stream = []
    for number in range(count):
        message = f"part {number}"
        stream.append(f"commit {BRANCH}\ncommitter B <b@localhost> {1700000000 + number} +0000")
        stream.append(f"data {len(message)}\n{message}")
        stream += [f"from {start}^{{commit}}"] if not number else []
        for head, path in changes[number::count]:
            _, mode, _, blob, kind = head.split(" ")
            stream.append(f"D {path}" if kind == "D" else f"M {mode} {blob} {path}")
    git(repo, "fast-import", "--quiet", "--force", feed=("\n".join(stream) + "\n").encode())
    if git(repo, "rev-parse", f"{BRANCH}^{{tree}}") != git(repo, "rev-parse", f"{end}^{{tree}}"):
        raise SystemExit("the history does not end in the release's tree")
    return git(repo, "rev-list", "--reverse", f"{start}..{BRANCH}").split()


def fitting(repo: Path, library: Library, start: str) -> list[tuple[Stack, list[Path], str]]:
    """The stacks that `git am` takes on the first commit, with their patches and their commit."""
    found = []
    for stack in library.stacks.values():
        patches = [library.root / patch.source for patch in stack.patches]
        tip = stack_commit(repo, start, patches)
        if tip:
            found.append((stack, patches, tip))
        else:
            click.echo(f"note: git am does not take {stack.name} on {start}; left out")
    return found


def differences(
    repo: Path, library: Library, values: dict[str, Any], commits: list[str]
) -> tuple[int, int]:
    """How many (commit, file) answers were compared with git, and how many differ."""
    compared = wrong = 0
    index = repo / ".git" / "brute-index"
    rng = random.Random(3)  # noqa: S311
    for told in values["stacks"]:
        touching = [commit["id"] for commit in told["commits"]]
        patches = [library.root / p.source for p in library.stacks[told["name"]].patches]
        others = [commit for commit in commits if commit not in touching]
        chosen = {*touching, *rng.sample(others, min(10, len(others)))}
        now = {hunk["id"]: (hunk["path"], hunk["spans"][0]["stands"]) for hunk in told["hunks"]}
        for commit in commits:
            for hunk in told["hunks"]:
                for span in hunk["spans"]:
                    if span["commit"] == commit:
                        now[hunk["id"]] = (hunk["path"], span["stands"])
            if commit not in chosen:
                continue
            for path in {path for path, _ in now.values()}:
                sights = {sight for where, sight in now.values() if where == path}
                compared += 1
                wrong += (sights == {"clean"}) != applies(repo, index, commit, patches, path)
    return compared, wrong


def applies(repo: Path, index: Path, commit: str, patches: list[Path], path: str) -> bool:
    """True where `git apply --cached` takes every patch's part of this file, in order."""
    index.unlink(missing_ok=True)
    environ = {**ENV, "GIT_INDEX_FILE": str(index)}
    words = ["git", "-C", str(repo)]
    subprocess.run([*words, "read-tree", commit], check=True, env=environ)
    return all(
        subprocess.run(
            [*words, "apply", "--cached", f"--include={path}", str(patch)],
            capture_output=True,
            check=False,
            env=environ,
        ).returncode
        == 0
        for patch in patches
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=Path.cwd())
    parser.add_argument("--from", dest="start", default="v0.28.0")
    parser.add_argument("--to", dest="end", default="v0.29.0")
    parser.add_argument("--commits", type=int, default=300)
    parser.add_argument("--sample", type=int, default=6, help="commits of the git am loop")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    library = load(asked.root.resolve())
    with tempfile.TemporaryDirectory() as folder:
        repo = scratch(asked.repo.resolve(), Path(folder))
        commits = make_history(repo, asked.start, asked.end, asked.commits)
        stacks = fitting(repo, library, asked.start)
        run(repo, library, commits, stacks, asked)


def run(
    repo: Path,
    library: Library,
    commits: list[str],
    stacks: list[tuple[Stack, list[Path], str]],
    asked: argparse.Namespace,
) -> None:
    """Measure the cases on one history and print what came of it."""
    words = ["scan", "--range", f"{asked.start}..history", "--json"]
    words += ["--root", str(asked.root), "--repo", str(repo)]
    words += [word for stack, _, _ in stacks for word in ("--stack", stack.name)]
    lines = "".join(f"{commit} {tip}\n" for _, _, tip in stacks for commit in commits).encode()
    sample = random.Random(5).sample(commits, asked.sample)  # noqa: S311
    work = [(commit, [patches for _, patches, _ in stacks]) for commit in sample]

    def cold() -> None:
        forget(repo)
        backport(*words)

    def merge_tree() -> None:
        command = ["git", "-C", str(repo), "merge-tree", "--stdin"]
        subprocess.run(command, input=lines, capture_output=True, check=False, env=ENV)

    forget(repo)
    values = json.loads(backport(*words).stdout)
    files = {path for stack, _, _ in stacks for path in stack.paths()}
    changes = sum(len(c["paths"]) for told in values["stacks"] for c in told["commits"])
    click.echo(
        f"{len(commits)} commits, {len(stacks)} stacks, {len(files)} files, {changes} changes"
    )
    click.echo(f"versions judged: {values['evaluations']['made']}")
    compared, wrong = differences(repo, library, values, commits)
    click.echo(f"answers compared with git apply --cached: {compared}, different: {wrong}")
    found = measure(
        {
            "backport scan, first": cold,
            "backport scan, again": lambda: backport(*words),
            "git merge-tree --stdin": merge_tree,
            "git am loop (scaled)": lambda: am_loop(repo, work),
        },
        asked.rounds,
    )
    scale = len(commits) / len(sample)
    wall, cpu = found["git am loop (scaled)"]
    found["git am loop (scaled)"] = (wall * scale, cpu * scale)
    click.echo(f"the git am loop was measured on {len(sample)} of {len(commits)} commits")
    click.echo(table(found, "backport scan, first"))


if __name__ == "__main__":
    main()
