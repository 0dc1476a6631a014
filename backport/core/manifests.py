"""A manifest: what differs on one target, and the evidence that it still must.

Four verbs only. `drop` leaves a hunk out, `reanchor` puts it at a named place,
`replace` gives it other text, `skip` leaves a whole stack out. `accept` changes
nothing: it records that a finding was judged.
"""

import re
from typing import NamedTuple

from backport.core.patches import FilePatch, HunkId

POSITIONS = ("before", "after", "first-in", "last-in", "in")


class Evidence(NamedTuple):
    """One statement about the pristine target that every run checks again.

    `path`, or `path::Qualified.name`, or `path: text of a line`, present or absent.
    """

    present: bool
    path: str
    symbol: str = ""
    text: str = ""

    def __str__(self) -> str:
        tail = f"::{self.symbol}" if self.symbol else f": {self.text}" if self.text else ""
        return f"{'present' if self.present else 'absent'} {self.path}{tail}"

    @classmethod
    def parse(cls, present: bool, text: str) -> "Evidence":
        """The statement that `text` spells; raises ValueError where it is none."""
        symbol = re.fullmatch(r"([^:\n]+)::([^\s:]+)", text)
        if symbol:
            return cls(present, symbol.group(1), symbol=symbol.group(2))
        line = re.fullmatch(r"([^:\n]+):(?!:) ?([^\n]*\S[^\n]*)", text)
        if line:
            return cls(present, line.group(1), text=line.group(2))
        if text and ":" not in text and "\n" not in text:
            return cls(present, text)
        raise ValueError("evidence is `path`, `path::Qualified.name` or `path: text of a line`")


class Anchor(NamedTuple):
    """A place: before, after, first-in or last-in a Python scope, in one, or beside a line."""

    position: str
    scope: str = ""
    line: str = ""

    def __str__(self) -> str:
        return (
            f"{self.position} line: {self.line}" if self.line else f"{self.position} {self.scope}"
        )

    @classmethod
    def parse(cls, text: str) -> "Anchor":
        """The anchor that `text` spells; raises ValueError where it has another form."""
        beside = re.fullmatch(r"(before|after) line: ?(\S.*| +\S.*)", text)
        if beside:
            return cls(beside.group(1), line=beside.group(2))
        position, _, scope = text.partition(" ")
        if position in POSITIONS and re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*|<module>", scope):
            return cls(position, scope)
        raise ValueError(
            f"a place is one of {', '.join(POSITIONS)} and a qualified name, "
            "or `before line: text` or `after line: text`"
        )


class Drop(NamedTuple):
    """Leave one hunk out."""

    reason: str
    when: tuple[Evidence, ...]
    source: str
    hunk: HunkId


class Reanchor(NamedTuple):
    """Put one hunk at a named place of the target's file."""

    reason: str
    when: tuple[Evidence, ...]
    source: str
    hunk: HunkId
    put: Anchor


class Replace(NamedTuple):
    """Give one hunk other text on this target."""

    reason: str
    when: tuple[Evidence, ...]
    source: str
    hunk: HunkId
    patch: str
    files: tuple[FilePatch, ...]


class Skip(NamedTuple):
    """Leave one stack out."""

    reason: str
    when: tuple[Evidence, ...]
    source: str
    stack: str


class Accept(NamedTuple):
    """A finding that a person has judged harmless on this target."""

    reason: str
    source: str
    code: str
    path: str
    symbol: str


Adaptation = Drop | Reanchor | Replace


class Manifest(NamedTuple):
    """One target: the base it starts from, the branch it makes, its stacks and deviations."""

    name: str
    base: str
    branch: str
    stacks: tuple[str, ...]
    adaptations: tuple[Adaptation, ...] = ()
    skips: tuple[Skip, ...] = ()
    accepts: tuple[Accept, ...] = ()
    source: str = ""

    @property
    def version(self) -> str:
        return self.name.rpartition("/")[2]

    def skip_of(self, stack: str) -> Skip | None:
        return next((skip for skip in self.skips if skip.stack == stack), None)

    def adaptations_of(self, stack: str) -> dict[str, Adaptation]:
        """The stack's deviations by hunk id."""
        mine = (entry for entry in self.adaptations if entry.hunk.stack == stack)
        return {str(entry.hunk): entry for entry in mine}

    def decides(self, stack: str) -> str:
        """A digest of what the deviations make of the stack, whatever their reasons."""
        import hashlib

        from backport.core.paths import encode
        from backport.core.rendering import render_diff

        lines = []
        for key, entry in sorted(self.adaptations_of(stack).items()):
            put = str(entry.put) if isinstance(entry, Reanchor) else ""
            diff = render_diff(entry.files) if isinstance(entry, Replace) else b""
            lines.append(b"\0".join((type(entry).__name__.encode(), encode(f"{key} {put}"), diff)))
        return hashlib.sha256(b"\0\0".join(lines)).hexdigest()[:12]
