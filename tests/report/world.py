"""A small library and a repository with one release for each thing that can happen."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

SEALED = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@localhost",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@localhost",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
}
GATE = [f"gate_{n} = {n}" for n in range(1, 31)]
CACHE = [f"cache_{n} = {n}" for n in range(1, 31)]
NAMES = ("v1.0.0", "v1.1.0", "v1.2.0", "v1.3.0", "v1.4.0")
NASTY = "<script>alert(1)</script> | `x` ]]> ::error::no %0A & @somebody #12 \x1b[31m \u202e"
NASTY_TOML = NASTY.replace("\x1b", "\\u001b").replace("\u202e", "\\u202e")


@dataclass(frozen=True)
class World:
    """The library's root and the repository."""

    root: Path
    repo: Path

    def git(self, *words: str, feed: str | None = None) -> str:
        return git(self.repo, *words, feed=feed)

    def manifest(self, name: str, text: str) -> None:
        path = self.root / "manifests" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def git(repo: Path, *words: str, feed: str | None = None) -> str:
    """What git prints, away from the user's settings."""
    return subprocess.run(
        ["git", "-C", str(repo), *words],
        input=feed,
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, **SEALED},
    ).stdout.strip()


def make_world(folder: Path) -> World:
    """The releases: as patched, lines moved, a line changed, contained, and one with a skip."""
    world = World(folder / "library", folder / "repo")
    world.repo.mkdir()
    world.git("init", "-q", "-b", "main")
    fresh = _patched(GATE)
    cache = _patched(CACHE)
    clash = [*GATE[:9], f"gate_10 = 0  # {NASTY}", *GATE[10:]]
    _release(world, "v1.0.0", GATE, CACHE)
    _stack(world, "gate-fix", "gate.py", fresh, NASTY)
    _stack(world, "cache-fix", "cache.py", cache, "Cache better")
    _release(world, "v1.1.0", ["first = 1", *GATE], CACHE)
    _release(world, "v1.2.0", clash, CACHE)
    _release(world, "v1.3.0", fresh, CACHE)
    _release(world, "v1.4.0", GATE, [*CACHE, "last = 1"])
    for name in NAMES:
        world.manifest(f"team/{name}", manifest_text(name))
    world.manifest("team/v1.4.0", manifest_text("v1.4.0") + _SKIP)
    return world


def manifest_text(base: str, branch: str = "") -> str:
    return (
        f'schema = 1\nbase = "{base}"\nbranch = "{branch or f"team/{base}"}"\n'
        'stacks = ["gate-fix", "cache-fix"]\n'
    )


_SKIP = f"""
[[skip]]
stack  = "cache-fix"
reason = "not needed {NASTY_TOML}"
when   = {{ present = "pkg/cache.py: last" }}
"""


def _patched(lines: list[str]) -> list[str]:
    return [*lines[:10], f"added = 1  # {NASTY}", *lines[10:19], "changed = 1", *lines[20:]]


def _release(world: World, name: str, gate: list[str], cache: list[str]) -> None:
    _write(world, {"gate.py": gate, "cache.py": cache})
    world.git("add", "-A")
    world.git("commit", "-q", "-m", name)
    world.git("tag", name)


def _write(world: World, files: dict[str, list[str]]) -> None:
    for name, lines in files.items():
        (world.repo / "pkg").mkdir(exist_ok=True)
        (world.repo / "pkg" / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _stack(world: World, name: str, file: str, lines: list[str], subject: str) -> None:
    before = (world.repo / "pkg" / file).read_text("utf-8")
    _write(world, {file: lines})
    diff = world.git("diff", "--full-index")
    (world.repo / "pkg" / file).write_text(before, "utf-8")
    folder = world.root / "patches" / name
    folder.mkdir(parents=True)
    mail = f"From {'0' * 40} Mon Sep 17 00:00:00 2001\nFrom: A <a@localhost>\n"
    mail += f"Date: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] {subject}\n\nWhy.\n---\n"
    (folder / "one.patch").write_bytes(f"{mail}\n{diff}\n".encode())
    (folder / "series").write_text("one.patch\n", "ascii")
    toml = f'schema = 1\ntitle = "{name} {NASTY_TOML}"\n'
    toml += 'kind = "fork"\nhome = "v1.0.0"\nwhy = "because"\n'
    (folder / "stack.toml").write_text(toml, "ascii")
