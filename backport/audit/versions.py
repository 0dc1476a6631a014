"""Versions and requirements on them, as far as tags and pins need: PEP 440 in short."""

from __future__ import annotations

import re
import tomllib
from typing import NamedTuple

from backport.core.trees import Tree

_VERSION = re.compile(
    r"^v?(\d+(?:\.\d+)*)[-_.]?(?:(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d*))?"
    r"(?:[-_.]?(?:post|rev|r)[-_.]?(\d*))?(?:[-_.]?dev[-_.]?(\d*))?(?:\+[\w.]+)?$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"^(===?|!=|>=|<=|~=|>|<)\s*(.+)$")
_STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_REQUIRES = re.compile(rb"python_requires\s*=\s*[\"']?([^\"'\n]+)")
_FINAL, _NEVER = 3, 1 << 30


class Version(NamedTuple):
    """A version in an order that compares as PEP 440 asks; trailing zeros are dropped."""

    release: tuple[int, ...]
    stage: tuple[int, int]
    post: int
    dev: int

    @property
    def number(self) -> str:
        """The release number as text."""
        return ".".join(map(str, self.release))


def parse(text: str) -> Version | None:
    """The version that a tag or pin names; None for a branch, a commit or anything else."""
    match = _VERSION.match(text.strip())
    if match is None:
        return None
    numbers = [int(part) for part in match[1].split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    stage = (_STAGES[match[2].lower()], int(match[3] or 0)) if match[2] else (_FINAL, 0)
    post = -1 if match[4] is None else int(match[4] or 0)
    dev = _NEVER if match[5] is None else int(match[5] or 0)
    if match[5] is not None and not match[2] and match[4] is None:
        stage = (-1, 0)  # 1.0.dev1 comes before 1.0a1
    return Version(tuple(numbers), stage, post, dev)


def satisfies(version: Version, requirement: str) -> bool | None:
    """Whether a version meets `>=1.2, <2`; None where the requirement cannot be read."""
    for clause in filter(None, (part.strip() for part in requirement.split(","))):
        match = _CLAUSE.match(clause)
        other = parse(match[2].removesuffix(".*")) if match else None
        if match is None or other is None:
            return None
        if not _meets(version, match[1], other, prefix=clause.endswith(".*")):
            return False
    return True


def oldest_python(tree: Tree) -> tuple[int, int] | None:
    """The oldest Python that a tree says it supports; None where it says nothing."""
    project = tree.entry("pyproject.toml")
    if project is not None:
        try:
            table = tomllib.loads(project.data.decode("utf-8", "replace")).get("project", {})
        except (tomllib.TOMLDecodeError, RecursionError):
            return None
        wanted = table.get("requires-python") if isinstance(table, dict) else None
        if isinstance(wanted, str):
            return minimum_python(wanted)
    for path in ("setup.cfg", "setup.py"):
        entry = tree.entry(path)
        match = _REQUIRES.search(entry.data) if entry is not None else None
        if match is not None:
            return minimum_python(match[1].decode("utf-8", "replace").strip())
    return None


def minimum_python(requirement: str) -> tuple[int, int] | None:
    """The oldest Python that `requires-python` allows."""
    lowest: list[tuple[int, int]] = []
    for clause in requirement.split(","):
        match = _CLAUSE.match(clause.strip())
        version = parse(match[2].removesuffix(".*")) if match else None
        if match and version and match[1] in (">=", ">", "~=", "=="):
            major, *rest = version.release
            lowest.append((major, rest[0] if rest else 0))
    return max(lowest, default=None)


def _meets(version: Version, operator: str, other: Version, *, prefix: bool) -> bool:
    if prefix or operator == "~=":
        size = len(other.release) - (0 if prefix else 1)
        same = version.release[:size] == other.release[:size]
        return not same if operator == "!=" else same and (prefix or version >= other)
    return {
        "==": version == other,
        "===": version == other,
        "!=": version != other,
        ">=": version >= other,
        "<=": version <= other,
        ">": version > other,
        "<": version < other,
    }[operator]
