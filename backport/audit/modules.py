"""Which file a module name means, in a tree whose layout nobody declares.

A package's root is the folder above its topmost `__init__.py`, wherever that lies
(`.`, `src`, `python`, ...). Folders without `__init__.py` are namespace packages, and
a script sees its neighbours: all three are tried, and a name is called missing
only where its top-level package is surely the tree's own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property

from backport.audit.paths import is_test

_COMPILED = (".pyx", ".so", ".pyi", ".pyd", ".pxd")
_ROOTS = ("", "src/", "lib/")


class Kind(Enum):
    """What a module name turned out to be."""

    FILE = auto()
    FOLDER = auto()  # a package without an `__init__.py`
    COMPILED = auto()
    MISSING = auto()
    EXTERNAL = auto()


@dataclass(frozen=True, slots=True)
class Target:
    """The meaning of a module name; `path` is the file, the folder, or what is missing."""

    kind: Kind
    path: str


EXTERNAL = Target(Kind.EXTERNAL, "")


def _is_shallow(root: str) -> bool:
    return root.count("/") <= 1 and not is_test(root)


@dataclass(frozen=True)
class Modules:
    """The modules among the paths of a tree."""

    paths: frozenset[str]
    _memo: dict[tuple[str, int, str], Target] = field(default_factory=dict)

    @classmethod
    def of(cls, paths: Iterable[str]) -> Modules:
        wanted = (".py", *_COMPILED)
        return cls(frozenset(path for path in paths if path.endswith(wanted)))

    def find(self, importer: str, level: int, name: str) -> Target:
        """What `name`, imported with `level` leading dots in the file `importer`, means."""
        folder = importer.rpartition("/")[0]
        key = (folder, level, name)
        if key not in self._memo:
            self._memo[key] = (
                self._relative(folder, level, name) if level else self._absolute(folder, name)
            )
        return self._memo[key]

    def submodule(self, package: str, name: str) -> Target | None:
        """The module `name` inside a package, given the package's file or folder."""
        if package.endswith("/"):
            return self._at(package + name)
        folder, _, file = package.rpartition("/")
        return self._at(f"{folder}/{name}" if folder else name) if file == "__init__.py" else None

    def name_of(self, path: str) -> str:
        """The dotted name under which a file is imported from the root of its package."""
        stem = path.removesuffix(".py").removesuffix("/__init__")
        for root in sorted(self._package_roots, key=len, reverse=True):
            if stem.startswith(root):
                return stem[len(root) :].replace("/", ".")
        return stem.replace("/", ".")

    def _relative(self, folder: str, level: int, name: str) -> Target:
        parts = folder.split("/") if folder else []
        if level - 1 > len(parts):
            return Target(Kind.MISSING, "." * level + name)
        base = parts[: len(parts) - level + 1]
        place = "/".join([*base, *name.split(".")] if name else base)
        if not place:
            return Target(Kind.FOLDER, "")
        return self._at(place) or Target(Kind.MISSING, "." * level + name)

    def _absolute(self, folder: str, name: str) -> Target:
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names:
            return EXTERNAL
        roots = self._roots_of(top, f"{folder}/")
        for root in roots:
            found = self._at(root + name.replace(".", "/"))
            if found is not None and (found.kind is not Kind.FOLDER or self._is_own(root, top)):
                return found
        owned = any(self._is_own(root, top) for root in roots)
        return Target(Kind.MISSING, name) if owned else self._beside(folder, name)

    def _beside(self, folder: str, name: str) -> Target:
        """A module next to a script, whose own folder is no package."""
        if f"{folder}/__init__.py" in self.paths:
            return EXTERNAL
        found = self._at(f"{folder}/{name.replace('.', '/')}" if folder else name)
        return found if found is not None and found.kind is Kind.FILE else EXTERNAL

    def _is_own(self, root: str, top: str) -> bool:
        """True for a regular package or module, and for a folder of tests without a file
        `__init__.py`: nobody publishes one. Any other folder may share its name with a
        published package."""
        found = self._at(root + top)
        return top in ("test", "tests") or (found is not None and found.kind is Kind.FILE)

    def _roots_of(self, top: str, folder: str) -> list[str]:
        """The roots that hold a top-level name and that code in a folder can see: a package
        deep in the tree may share its name with a published one."""
        seen = [r for r in self._package_roots if folder.startswith(r) or r in _ROOTS]
        seen += [r for r in self._package_roots if r not in seen and _is_shallow(r)]
        seen += [r for r in _ROOTS if r not in seen]
        return [root for root in seen if self._at(root + top) is not None]

    def _at(self, place: str) -> Target | None:
        for path in (f"{place}/__init__.py", f"{place}.py"):
            if path in self.paths:
                return Target(Kind.FILE, path)
        if any(f"{place}{suffix}" in self.paths for suffix in _COMPILED):
            return Target(Kind.COMPILED, place)
        return Target(Kind.FOLDER, f"{place}/") if f"{place}/" in self._folders else None

    @cached_property
    def _folders(self) -> frozenset[str]:
        found: set[str] = set()
        for path in self.paths:
            folder = path.rpartition("/")[0]
            while folder and f"{folder}/" not in found:
                found.add(f"{folder}/")
                folder = folder.rpartition("/")[0]
        return frozenset(found)

    @cached_property
    def _package_roots(self) -> tuple[str, ...]:
        """The folders above the topmost packages, with their final slash; "" is the tree's root."""
        packages = {path.rpartition("/")[0] for path in self.paths if path.endswith("__init__.py")}
        tops = (p for p in packages if p and p.rpartition("/")[0] not in packages)
        parents = (top.rpartition("/")[0] for top in tops)
        return tuple(sorted({f"{parent}/" if parent else "" for parent in parents}))
