"""The library on disk: the stacks under `patches/` and the manifests under `manifests/`."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from backport.core.manifest_format import read_manifest
from backport.core.manifests import Manifest
from backport.core.paths import decode
from backport.core.stack_format import nothing, read_stack, uncanonical
from backport.core.stacks import Stack
from backport.core.tables import nearest
from backport.errors import BadInput

CASES = Path(__file__).parent / "parity" / "cases"  # a file each, of the case's name
MAX_TOML = 1024 * 1024
MAX_PATCH = 256 * 1024 * 1024


class Library(NamedTuple):
    """Every stack and manifest of one library, by name."""

    root: Path
    stacks: Mapping[str, Stack]
    manifests: Mapping[str, Manifest]

    def manifest(self, target: str) -> Manifest:
        """The manifest that a person means by `target`; raises BadInput where none or several fit.

        `v0.28.0`, `0.28.0`, `moreh/v0.28.0` and the manifest's path all name one.
        """
        found = self._named(target)
        if len(found) == 1:
            return found[0]
        names = [manifest.name for manifest in found]
        if names:
            raise BadInput(f"target {target!r} may be {' or '.join(names)}; give the full name")
        raise BadInput(f"there is no target {target!r}; {nearest(target, sorted(self.manifests))}")

    def _named(self, target: str) -> list[Manifest]:
        if target in self.manifests:
            return [self.manifests[target]]
        asked = target.removesuffix("/")
        if asked.endswith(".toml"):
            path = Path(asked).resolve()
            return [
                manifest
                for manifest in self.manifests.values()
                if (self.root / manifest.source).resolve() == path
            ]
        return [
            manifest
            for manifest in self.manifests.values()
            if manifest.version.removeprefix("v") == asked.removeprefix("v")
        ]

    def stack(self, name: str) -> Stack:
        if name not in self.stacks:
            raise BadInput(f"there is no stack {name!r}; {nearest(name, sorted(self.stacks))}")
        return self.stacks[name]


def find_root(given: str | None) -> Path:
    """The folder that holds `patches/` and `manifests/`: given, from BACKPORT_ROOT, or a parent.

    Raises BadInput where there is none.
    """
    asked = given or os.environ.get("BACKPORT_ROOT")
    if asked:
        root = Path(asked)
        if _is_library(root):
            return root.resolve()
        raise BadInput(f"{asked}: holds no patches/ and manifests/ folders")
    here = Path.cwd()
    for folder in (here, *here.parents):
        if _is_library(folder):
            return folder
    raise BadInput(
        f"{here}: neither this folder nor one above holds patches/ and manifests/; "
        "go there, or give --root or BACKPORT_ROOT"
    )


def _is_library(folder: Path) -> bool:
    return (folder / "patches").is_dir() and (folder / "manifests").is_dir()


def load(root: Path) -> Library:
    """The whole library; raises BadInput with every problem of every file."""
    library, problems = read(root)
    if problems:
        raise BadInput(problems)
    return library


def load_for(
    root: Path, choose: Callable[[Library], list[Manifest]]
) -> tuple[Library, list[Manifest]]:
    """The library and the manifests that `choose` picks; raises BadInput with every problem but
    those of other manifests: a draft spoils its own target only."""
    library, problems = read(root)
    try:
        chosen = choose(library)
    except BadInput:
        if problems:
            raise BadInput(problems) from None
        raise
    others = {manifest.source for manifest in library.manifests.values()}
    others -= {manifest.source for manifest in chosen}
    mine = [problem for problem in problems if problem.partition(":")[0] not in others]
    if mine:
        raise BadInput(mine)
    return library, chosen


def load_target(root: Path, target: str) -> tuple[Library, Manifest]:
    """The library and the one manifest that a person means by `target`; see `load_for`."""
    library, (manifest,) = load_for(root, lambda found: [found.manifest(target)])
    return library, manifest


def read(root: Path, canonical: bool = False) -> tuple[Library, list[str]]:
    """The library as far as it can be read, and all its problems.

    `canonical` also reports patch files that are not in the form the tool writes.
    """
    problems: list[str] = []
    stacks = {}
    for folder in _folders(root / "patches"):
        shown = f"patches/{folder.name}"
        told = len(problems)
        files = _files(folder, problems, root)
        if len(problems) > told:  # what cannot be read is not judged as if it were empty
            stacks[folder.name] = nothing(folder.name)
            continue
        stacks[folder.name], found = read_stack(folder.name, shown, files)
        found += _unknown_cases(shown, stacks[folder.name])
        problems += found
        if canonical and not found:
            problems += uncanonical(shown, stacks[folder.name], files)
        if canonical:
            problems += _unreadable_decisions(folder, root)
    problems += _unknown_needs(stacks)
    manifests = _manifests(root, stacks, problems)
    return Library(root, stacks, manifests), problems


def _unknown_cases(shown: str, stack: Stack) -> list[str]:
    """Parity cases that the stack names and nobody has: its fusion would go unproved."""
    if not stack.parity:
        return []
    cases = sorted(path.stem for path in CASES.glob("[a-z]*.py"))
    return [
        f"{shown}/stack.toml: parity: there is no case {name!r}; {nearest(name, cases)}"
        for name in stack.parity
        if name not in cases
    ]


def _unknown_needs(stacks: Mapping[str, Stack]) -> list[str]:
    """What a stack comes after and nobody has, or the stack itself: no order could satisfy that."""
    problems = []
    for stack in stacks.values():
        others = sorted(stacks.keys() - {stack.name})
        problems += [
            f"patches/{stack.name}/stack.toml: after: there is no other stack {name!r}; "
            + nearest(name, others)
            for name in stack.after
            if name not in others
        ]
    return problems


def _unreadable_decisions(folder: Path, root: Path) -> list[str]:
    from backport.core.resolutions import FOLDER, read_resolutions

    problems: list[str] = []
    for path in sorted((folder / FOLDER).glob("*.toml")):
        told = len(problems)
        text = decode(_read(path, MAX_TOML, problems, root))
        if len(problems) == told:
            problems += read_resolutions(path.relative_to(root).as_posix(), text)[1]
    return problems


def _manifests(root: Path, stacks: Mapping[str, Stack], problems: list[str]) -> dict[str, Manifest]:
    manifests = {}
    for owner in _folders(root / "manifests"):
        for path in sorted(owner.glob("*.toml")):
            name = f"{owner.name}/{path.stem}"
            told = len(problems)
            text = _read(path, MAX_TOML, problems, root)
            beside = path.with_suffix("")
            files = _files(beside, problems, root) if beside.is_dir() else {}
            if len(problems) > told:
                continue
            shown = path.relative_to(root).as_posix()
            manifests[name], found = read_manifest(name, shown, decode(text), stacks, files)
            problems += found
    return manifests


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and path.name[0] not in "._")


def _files(folder: Path, problems: list[str], root: Path) -> dict[str, bytes]:
    """The files of a stack's folder that matter, by name."""
    wanted = ("stack.toml", "series")
    return {
        path.name: _read(path, MAX_TOML if path.name in wanted else MAX_PATCH, problems, root)
        for path in sorted(folder.iterdir())
        if path.name in wanted or path.suffix == ".patch"
    }


def _read(path: Path, limit: int, problems: list[str], root: Path) -> bytes:
    try:
        return read_file(path, limit, path.relative_to(root).as_posix())
    except BadInput as error:
        problems += error.problems
        return b""


def read_file(path: Path, limit: int, shown: str = "") -> bytes:
    """The bytes of a regular file; a pipe could keep the run waiting for ever.

    Raises BadInput for anything else, and for more bytes than the limit.
    """
    shown = shown or str(path)
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
            raise BadInput(f"{shown}: is a pipe, socket or device, and no regular file")
        if found.st_size > limit:
            raise BadInput(f"{shown}: is {found.st_size:,} bytes, over the limit of {limit:,}")
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{shown}: cannot be read: {error.strerror}") from None
