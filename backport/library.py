"""The library on disk: the stacks under `patches/` and the manifests under `manifests/`."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from backport.core.manifest_format import read_manifest
from backport.core.manifests import Manifest
from backport.core.paths import decode
from backport.core.stack_format import nothing, read_stack, uncanonical
from backport.core.stacks import Stack
from backport.core.tables import nearest
from backport.errors import BadInput
from backport.writing import finish

CASES = Path(__file__).parent / "parity" / "cases"  # a file each, of the case's name
MAX_TOML = 1024 * 1024
MAX_PATCH = 256 * 1024 * 1024
_SHOWN = 3  # problems of a broken manifest that are told beside other targets


class Library(NamedTuple):
    """Every stack and manifest of one library, by name.

    `broken` tells of a manifest that cannot be used as it is what is wrong with it.
    """

    root: Path
    stacks: Mapping[str, Stack]
    manifests: Mapping[str, Manifest]
    broken: Mapping[str, str] = MappingProxyType({})

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

    def sound(self, manifests: Iterable[Manifest]) -> list[Manifest]:
        """Those of the manifests that are not broken."""
        return [manifest for manifest in manifests if manifest.name not in self.broken]

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
    chosen = _chosen(library, problems, choose)
    others = set(library.manifests) - {manifest.name for manifest in chosen}
    mine = [problem for problem in problems if _spoiled(library, problem) not in others]
    if mine:
        raise BadInput(mine)
    return library, chosen


def load_each(
    root: Path, choose: Callable[[Library], list[Manifest]]
) -> tuple[Library, list[Manifest]]:
    """The same for work on many targets: one that is broken is told as such, beside the others.

    Raises BadInput where what is wrong is no manifest's own, or every chosen one is broken.
    """
    library, problems = read(root)
    by_name: dict[str, list[str]] = {}
    for problem in problems:
        by_name.setdefault(_spoiled(library, problem), []).append(problem)
    broken = {name: _summed(told) for name, told in by_name.items() if name}
    chosen = _chosen(library, problems, choose)
    sound = not chosen or any(manifest.name not in broken for manifest in chosen)
    if "" in by_name or not sound:
        names = {"", *(manifest.name for manifest in chosen)}
        raise BadInput([one for one in problems if _spoiled(library, one) in names])
    return library._replace(broken=broken), chosen


def _chosen(
    library: Library, problems: list[str], choose: Callable[[Library], list[Manifest]]
) -> list[Manifest]:
    """What `choose` picks; where it finds nothing, the problems of the library say why."""
    try:
        return choose(library)
    except BadInput:
        if problems:
            raise BadInput(problems) from None
        raise


def load_all(root: Path) -> tuple[Library, list[Manifest]]:
    """The library and all manifests, those that are broken among them; see `load_each`."""
    return load_each(root, lambda found: list(found.manifests.values()))


def _spoiled(library: Library, problem: str) -> str:
    """The one target that a problem spoils; "" where it is not of a manifest or its patches."""
    file = problem.partition(":")[0]
    for manifest in library.manifests.values():
        stem = manifest.source.removesuffix(".toml")
        if file in (f"{stem}.toml", f"{stem}.lock") or file.startswith(f"{stem}/"):
            return manifest.name
    return ""


def _summed(problems: Sequence[str]) -> str:
    more = len(problems) - _SHOWN
    told = "; ".join(problems[:_SHOWN])
    return f"{told}; and {more} more, see `backport lint`" if more > 0 else told


def load_target(root: Path, target: str) -> tuple[Library, Manifest]:
    """The library and the one manifest that a person means by `target`; see `load_for`."""
    library, (manifest,) = load_for(root, lambda found: [found.manifest(target)])
    return library, manifest


def read(root: Path, canonical: bool = False) -> tuple[Library, list[str]]:
    """The library as far as it can be read, and all its problems.

    `canonical` also reports patch files that are not in the form the tool writes.
    """
    finish(root)
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
    problems += _shared_branches(manifests.values())
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
    for path in decision_files(folder / FOLDER, root, problems):
        told = len(problems)
        text = decode(_read(path, MAX_TOML, problems, root))
        if len(problems) == told:
            problems += read_resolutions(path.relative_to(root).as_posix(), text)[1]
    return problems


def decision_files(folder: Path, root: Path, problems: list[str]) -> list[Path]:
    """The files of what was decided about a stack's hunks."""
    if os.path.lexists(folder) and not folder.is_dir():
        shown = folder.relative_to(root).as_posix()
        problems.append(f"{shown}: is no folder, and decisions are kept in one; move it away")
        return []
    return sorted(folder.glob("*.toml"))


def _manifests(root: Path, stacks: Mapping[str, Stack], problems: list[str]) -> dict[str, Manifest]:
    manifests = {}
    for owner in _folders(root / "manifests"):
        for path in sorted(owner.glob("*.toml")):
            name = f"{owner.name}/{path.stem}"
            told = len(problems)
            text = _read(path, MAX_TOML, problems, root)
            beside = path.with_suffix("")
            files = _files(beside, problems, root) if beside.is_dir() else {}
            shown = path.relative_to(root).as_posix()
            if len(problems) > told:  # what cannot be read is not judged as if it were empty
                manifests[name] = Manifest(name, "", "", (), source=shown)
                continue
            manifests[name], found = read_manifest(name, shown, decode(text), stacks, files)
            problems += [*found, *_odd_lock(path.with_suffix(".lock"), root, name)]
    return manifests


def _odd_lock(lock: Path, root: Path, name: str) -> list[str]:
    """What stands where the target's lock would be, and is none that could be read."""
    if lock.is_file() or not os.path.lexists(lock):
        return []
    again = f"backport apply --target {name} --lock"
    shown = lock.relative_to(root).as_posix()
    return [f"{shown}: is no regular file; delete it, and write it again with `{again}`"]


def _shared_branches(manifests: Iterable[Manifest]) -> list[str]:
    """Targets that would take each other's branch, the one that is applied last winning."""
    by_branch: dict[str, list[Manifest]] = {}
    for manifest in manifests:
        by_branch.setdefault(manifest.branch, []).append(manifest)
    return [
        f"{one.source}: branch: {branch!r} is that of {other.source} too; give each its own"
        for branch, some in by_branch.items()
        for one in (some if branch else ())
        for other in [each for each in some if each is not one][:1]
    ]


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
        if not stat.S_ISREG(found.st_mode):
            kind = "folder" if stat.S_ISDIR(found.st_mode) else "pipe, socket or device"
            raise BadInput(f"{shown}: is a {kind}, and no regular file")
        if found.st_size > limit:
            raise BadInput(f"{shown}: is {found.st_size:,} bytes, over the limit of {limit:,}")
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{shown}: cannot be read: {error.strerror}") from None
