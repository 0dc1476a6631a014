"""The order of a folder of patches: quilt's `series`, Electron's `.patches`, or numbered names."""

from __future__ import annotations

import re
from collections.abc import Collection

from backport.core.paths import unsafe

LISTS = ("series", ".patches")


class ListingError(ValueError):
    """A list that cannot be followed; `line` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


def read_listing(text: str) -> list[str]:
    """The files that a list names, in order; `#` starts a comment.

    Raises ListingError where quilt is told to strip other than the one usual folder, or
    to apply a patch in reverse, and for a name that leads out of the folder.
    """
    names = []
    for number, line in enumerate(text.split("\n"), 1):
        words = re.sub(r"(^|\s)#.*", "", line).split()
        if not words:
            continue
        name, *options = words
        odd = [option for option in options if option not in ("-p1", "-pab")]
        if odd:
            raise ListingError(number, f"{name} has the option {odd[0]}; only -p1 is read")
        problem = unsafe(name)
        if problem:
            raise ListingError(number, f"unsafe path {name!r}: {problem}")
        if name in names:
            raise ListingError(number, f"names {name} a second time")
        names.append(name)
    return names


def numbered(names: Collection[str]) -> tuple[list[str], list[str]]:
    """The patch files of a folder without a list, such as `git format-patch -o` leaves.

    Those of `-v2` begin with `v2-`: with several versions in the folder the highest one
    is taken, and the others come second, `v1` for the one without a version.
    """
    versions: dict[tuple[int, ...], list[str]] = {}
    for name in names:
        found = re.fullmatch(r"(?:v(\d+(?:\.\d+)*)-)?\d{4}-.*\.(?:patch|mbox|diff)", name, re.ASCII)
        if found:
            version = tuple(map(int, (found.group(1) or "1").split(".")))
            versions.setdefault(version, []).append(name)
    last = max(versions, default=())
    older = ["v" + ".".join(map(str, version)) for version in sorted(versions) if version != last]
    return sorted(versions.get(last, [])), older


def bare_name(stem: str) -> str:
    """A patch file's name without its version and number."""
    return re.sub(r"^(?:v\d+(?:\.\d+)*-)?\d+-", "", stem, flags=re.ASCII)
