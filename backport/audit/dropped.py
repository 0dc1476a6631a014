"""What a dropped hunk would have defined."""

from __future__ import annotations

import re
from collections.abc import Iterable

_DEFINED = re.compile(
    r"^\s*(?:(?:async\s+def|def|class)\s+(\w+)|(?:self\.)?(\w+)\s*(?::[^=]+)?=(?!=)"
    r"|(?:from\s+\S+\s+)?import\s+(.+))"
)
_IMPORTED = re.compile(r"(\w+)\s*(?:,|$|\)|#)")


def names_defined(lines: Iterable[str]) -> frozenset[str]:
    """The names that added lines of Python define, read line by line: a hunk need not parse."""
    names: set[str] = set()
    for line in lines:
        match = _DEFINED.match(line)
        if match is not None and match[3]:
            names.update(_IMPORTED.findall(match[3]))
        elif match is not None:
            names.add(match[1] or match[2])
    return frozenset(names)
