"""`backport check --all` against a `git am` loop and `git merge-tree --stdin`.

    python -m benchmarks.check --repo PATH [--root LIBRARY] [--rounds 5]

PATH is a repository with the targets' bases as tags. All cases do the same stacks on
the same targets (those that a manifest does not skip), interleaved, medians. The
rivals' preparation (stack commits, common ancestors) is not counted, our whole
process is: start, reading the library, git, and the report. The audit is off.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import click

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


def pairs(library: Library) -> list[tuple[str, list[str]]]:
    """Each target's base and the stacks that it takes."""
    return [
        (manifest.base, [name for name in manifest.stacks if not manifest.skip_of(name)])
        for manifest in library.manifests.values()
    ]


def merge_lines(repo: Path, library: Library, work: list[tuple[str, list[str]]]) -> bytes:
    """The input of merge-tree: each target and stack as two children of the stack's home."""
    lines = []
    for name in dict.fromkeys(name for _, names in work for name in names):
        stack = library.stacks[name]
        patches = [library.root / patch.source for patch in stack.patches]
        tip = stack_commit(repo, stack.home, patches)
        if tip is None:
            click.echo(f"note: git am does not take {name} on {stack.home}; left out")
            continue
        for base, names in work:
            if name in names:
                home = f"{stack.home}^{{commit}}"
                side = git(repo, "commit-tree", "-p", home, "-m", base, f"{base}^{{tree}}")
                lines.append(f"{side} {tip}\n")
    return "".join(lines).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=Path.cwd())
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    library = load(asked.root.resolve())
    work = pairs(library)
    with tempfile.TemporaryDirectory() as folder:
        repo = scratch(asked.repo.resolve(), Path(folder))
        lines = merge_lines(repo, library, work)
        files = [
            (base, [[library.root / p.source for p in library.stacks[n].patches] for n in names])
            for base, names in work
        ]
        words = ["check", "--all", "--no-audit", "--no-parity", "-q"]
        words += ["--root", str(asked.root), "--repo", str(repo)]

        def cold() -> None:
            forget(repo)
            backport(*words)

        def merge_tree() -> None:
            command = ["git", "-C", str(repo), "merge-tree", "--stdin"]
            subprocess.run(command, input=lines, capture_output=True, check=False, env=ENV)

        cold()
        cases = {
            "backport cold": cold,
            "backport warm": lambda: backport(*words),
            "git merge-tree --stdin": merge_tree,
            "git am loop": lambda: am_loop(repo, files),
        }
        count = sum(len(names) for _, names in work)
        click.echo(f"{len(work)} targets, {count} stacks on them, {asked.rounds} rounds")
        click.echo(table(measure(cases, asked.rounds), "backport cold"))


if __name__ == "__main__":
    main()
