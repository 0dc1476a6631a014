"""Three-way merge of a Python text symbol by symbol.

A class or module is merged as the sequence of its members, each of which stands for
itself whatever its text; the texts of members that both sides have are merged on
their own. So a function that moved, or whose neighbours are gone, still finds its
own text, and a new one goes beside a sibling that survives.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, repeat

from backport.core.diffing import changes
from backport.core.merging import Region, interleaved, merge
from backport.core.merging_imports import are_imports
from backport.core.merging_regions import beside_survivor, reindented, resolve
from backport.core.merging_steps import Later, Rule, Step
from backport.core.paths import decode
from backport.core.units import Part, Unit

Key = tuple[bytes, int]
Atom = bytes | Key
Piece = bytes | Later


class SymbolMerge:
    """One merge: the merged lines, and the steps that were needed on the way."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def merge(
        self,
        base: Sequence[Part],
        ours: Sequence[Part],
        theirs: Sequence[Part],
        scope: str = "",
        at: tuple[int, int] = (1, 1),
    ) -> list[Piece]:
        """The parts of a module or class merged; `at` is where they start on both sides."""
        members = _Members(base, ours, theirs, scope, at)
        out: list[Piece] = []
        taken: set[Key] = set()
        for region in merge(*members.atoms):
            found = region.merged
            for atom in self._region(members, region) if found is None else found:
                if isinstance(atom, tuple):
                    taken.add(atom)
                    out += self._member(members, atom)
                else:
                    out.append(atom)
        self._of_one_side(members, taken)
        return out

    def lines(
        self,
        base: Sequence[bytes],
        ours: Sequence[bytes],
        theirs: Sequence[bytes],
        scope: str = "",
        at: tuple[int, int] = (1, 1),
    ) -> list[bytes]:
        """Plain lines merged: a function's text, or that of a file in another language."""
        out: list[bytes] = []
        for region in merge(base, ours, theirs):
            if region.merged is not None:
                out += region.merged
                continue
            sides = (
                base[slice(*region.base)],
                ours[slice(*region.ours)],
                theirs[slice(*region.theirs)],
            )
            place = at[0] + region.base[0], at[1] + region.ours[0]
            out += self._resolved(list(sides[0]), list(sides[1]), list(sides[2]), scope, place)
        return out

    def _resolved(
        self,
        base: list[bytes],
        ours: list[bytes],
        theirs: list[bytes],
        scope: str,
        at: tuple[int, int],
    ) -> list[bytes]:
        rule, lines = resolve(base, ours, theirs) or (Rule.OPEN, ours)
        note = ""
        if rule is Rule.ADJACENT and reindented(base, theirs, lines):
            note = "the line above stands in another block on the target"
        self.steps.append(Step(rule, at[0], at[1], scope, note))
        return lines

    # ------------------------------------------------------------ members

    def _member(self, members: _Members, key: Key) -> list[Piece]:
        """The text of one member, merged where both sides have it."""
        base, ours, theirs = (side.get(key) for side in members.units)
        if ours is None or theirs is None:
            alone = ours or theirs
            return list(alone.lines) if alone else []
        if ours.lines == theirs.lines:
            return list(ours.lines)
        scope, at = members.place(key)
        if base is None:
            self.steps.append(Step(Rule.OPEN, 0, at[1], scope, "both sides add it"))
            return list(ours.lines)
        if base.lines == theirs.lines:
            return list(ours.lines)
        if base.lines == ours.lines:
            return list(theirs.lines)
        if base.parts and ours.parts and theirs.parts:
            return self.merge(base.parts, ours.parts, theirs.parts, scope, at)
        return list(self.lines(base.lines, ours.lines, theirs.lines, scope, at))

    def _of_one_side(self, members: _Members, taken: set[Key]) -> None:
        """Tell of members that one side removes where the other has moved or, the patch, changed.

        What the patch removes goes, and what the target has made of its text is told.
        """
        base, ours, theirs = members.units
        for key, unit in base.items():
            scope, at = members.place(key)
            if key not in ours and key in theirs:
                if key in taken or theirs[key].lines != unit.lines:
                    note = "the target has no such symbol"
                    self.steps.append(Step(Rule.ABSENT, *at, scope, note))
            elif key not in theirs and key in taken:
                self.steps.append(Step(Rule.GONE, *at, scope, "the patch removes it"))
            elif key not in theirs and key in ours and _says(ours[key]) != _says(unit):
                note = f"the patch removes {scope}, which the target has changed"
                self.steps.append(Step(Rule.SYMBOL, *at, scope, note))

    # ------------------------------------------------------------ regions of members

    def _region(self, members: _Members, region: Region[Atom]) -> list[Atom | Piece]:
        base, ours, theirs = members.sides(region)
        place = members.line(region)
        if not any(isinstance(atom, tuple) for atom in (*base, *ours, *theirs)):
            plain = _plain(base), _plain(ours), _plain(theirs)
            if are_imports(*plain):
                self.steps.append(Step(Rule.IMPORTS, place[0], place[1], members.scope))
                return [Later(*plain)]
            return list(self._resolved(*plain, members.scope, place))
        rule, found = Rule.ADJACENT, interleaved(base, ours, theirs)
        if found is None:
            rule, found = Rule.NEIGHBOUR, _beside_sibling(base, ours, theirs)
        if found is None:
            rule, found = Rule.BESIDE, beside_survivor(base, ours, theirs)
        if found is None:
            rule, found = Rule.OPEN, ours
        elif _only_members(base, theirs):
            rule = Rule.NEIGHBOUR
        self.steps.append(Step(rule, place[0], place[1], members.scope))
        return list(found)


class _Members:
    """The members of one class or module on all three sides."""

    def __init__(
        self,
        base: Sequence[Part],
        ours: Sequence[Part],
        theirs: Sequence[Part],
        scope: str,
        at: tuple[int, int],
    ) -> None:
        self.atoms = _atoms(base), _atoms(ours), _atoms(theirs)
        self.units = _units(base), _units(ours), _units(theirs)
        self.scope = scope
        self._starts = _starts(base, at[0]), _starts(ours, at[1])

    def sides(self, region: Region[Atom]) -> tuple[list[Atom], list[Atom], list[Atom]]:
        base, ours, theirs = self.atoms
        return (
            base[slice(*region.base)],
            ours[slice(*region.ours)],
            theirs[slice(*region.theirs)],
        )

    def line(self, region: Region[Atom]) -> tuple[int, int]:
        return self._starts[0][region.base[0]], self._starts[1][region.ours[0]]

    def place(self, key: Key) -> tuple[str, tuple[int, int]]:
        """A member's qualified name, and the lines where it starts (0: not there)."""
        name = decode(key[0])
        scope = f"{self.scope}.{name}" if self.scope else name
        base, ours = map(_line, repeat(key), self.atoms, self._starts)
        return scope, (base, ours)


def _atoms(parts: Sequence[Part]) -> list[Atom]:
    return [part.key if isinstance(part, Unit) else part for part in parts]


def _units(parts: Sequence[Part]) -> dict[Key, Unit]:
    return {part.key: part for part in parts if isinstance(part, Unit)}


def _starts(parts: Sequence[Part], at: int) -> list[int]:
    """The line that each part starts on, and the line after the last."""
    sizes = (len(part.lines) if isinstance(part, Unit) else 1 for part in parts)
    return list(accumulate(sizes, initial=at))


def _line(key: Key, atoms: Sequence[Atom], starts: Sequence[int]) -> int:
    return starts[atoms.index(key)] if key in atoms else 0


def _says(unit: Unit) -> list[bytes]:
    return [line for line in unit.lines if line.strip()]


def _plain(atoms: Sequence[Atom]) -> list[bytes]:
    return [atom for atom in atoms if isinstance(atom, bytes)]


def _only_members(base: Sequence[Atom], theirs: Sequence[Atom]) -> bool:
    """True where the patch adds and removes whole members here, blank lines aside."""
    return all(
        isinstance(atom, tuple) or not atom.strip()
        for edit in changes(base, theirs)
        for atom in (*base[edit.a0 : edit.a1], *theirs[edit.b0 : edit.b1])
    )


def _beside_sibling(base: list[Atom], ours: list[Atom], theirs: list[Atom]) -> list[Atom] | None:
    """The patch's new members right below the last one that both have, then the target's.

    What the patch only moves within the stretch stays where the target has it.
    """
    if not _only_members(base, theirs):
        return None
    new = [atom for atom in theirs if isinstance(atom, tuple) and atom not in (*base, *ours)]
    gone = {atom for atom in base if isinstance(atom, tuple)} - set(theirs)
    return [*new, *(atom for atom in ours if atom not in gone)]
