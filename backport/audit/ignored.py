"""What a tree's own `.gitignore` says: such files appear when the project is built."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class Ignored:
    """The patterns of the `.gitignore` at the root of a tree."""

    patterns: tuple[str, ...]

    @classmethod
    def read(cls, data: bytes | None) -> Ignored:
        lines = (data or b"").decode("utf-8", "replace").split("\n")
        kept = (line.strip().strip("/") for line in lines if line[:1] not in ("#", "!"))
        return cls(tuple(pattern for pattern in kept if pattern))

    def covers(self, path: str) -> bool:
        """True where the path, or a folder above it, is ignored."""
        parts = path.split("/")
        above = ["/".join(parts[: n + 1]) for n in range(len(parts))]
        return any(
            fnmatchcase(place, pattern)
            for pattern in self.patterns
            for place in (above if "/" in pattern else parts)
        )
