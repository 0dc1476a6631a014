"""Say a change of a stack's result as other text for the hunks that it lies in.

A result that a person has amended is compared with what the last patch of the file
found there; each run of changed lines belongs to the hunk that it lies in or next
to, and a hunk whose runs are not its own any more gets them as other text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from backport.core.anchoring import place_at
from backport.core.manifests import Adaptation, Drop, Reanchor, Replace
from backport.core.patches import ADDED, CONTEXT, REMOVED, FilePatch, Hunk
from backport.core.placing import first_line, place
from backport.core.texts import Edit, Target

AROUND = 3  # context lines


class Run(NamedTuple):
    """Adjacent changed lines: the first line that they stand at (from 1), and both texts."""

    line: int
    removed: tuple[bytes, ...]
    added: tuple[bytes, ...]

    @property
    def end(self) -> int:
        """The line below the removed ones."""
        return self.line + len(self.removed)


class Amended(NamedTuple):
    """What becomes of the hunk `at` a place: those that stand for it, () where it goes."""

    at: int
    hunks: tuple[Hunk, ...]


def runs_of(hunks: Sequence[Hunk]) -> list[Run]:
    """Every run of changed lines of hunks that stand exactly where they say."""
    found = []
    for hunk in hunks:
        line = first_line(hunk)
        removed: list[bytes] = []
        added: list[bytes] = []
        for text in (*hunk.lines, CONTEXT):
            if text[:1] == CONTEXT and (removed or added):
                found.append(Run(line - len(removed), tuple(removed), tuple(added)))
                removed, added = [], []
            if text[:1] == REMOVED:
                removed.append(text[1:])
            elif text[:1] == ADDED:
                added.append(text[1:])
            line += text[:1] != ADDED
    return found


def amended(
    file: FilePatch, entries: Sequence[Adaptation | None], before: bytes, after: Sequence[Hunk]
) -> list[Amended]:
    """The hunks of `file` whose lines are others now.

    `entries` are the manifest's for each hunk, `before` the text that the file's patch
    finds on the target, `after` the hunks that lead from it to the text that is wanted.
    """
    target = Target(file.path, before)
    own = [_own_runs(hunk, entry, target) for hunk, entry in zip(file.hunks, entries, strict=True)]
    shares: list[list[Run]] = [[] for _ in own]
    for runs in _clusters(runs_of(after), [run for mine in own for run in mine]):
        shares[_nearest(runs, own, file.hunks)].extend(runs)
    changed = [index for index, share in enumerate(shares) if share != own[index]]
    fixed = [run for index, runs in enumerate(own) if index not in changed for run in runs]
    loose = [run for index in changed for run in shares[index]]
    return [Amended(at, _as_hunks(shares[at], target, _Beside(fixed, loose))) for at in changed]


class _Beside(NamedTuple):
    """The runs that other hunks have: those of unchanged ones keep their context, others share."""

    fixed: list[Run]
    loose: list[Run]

    def above(self, first: Run) -> int:
        """The first line that context above a run may have."""
        kept = [run.end + AROUND for run in self.fixed if run.end <= first.line]
        shared = [_half(run, first) for run in self.loose if run != first and run.end <= first.line]
        return min(max([*kept, *shared], default=1), first.line)

    def below(self, last: Run) -> int:
        """The line that context below a run must stop before."""
        kept = [run.line - AROUND for run in self.fixed if run.line >= last.end]
        shared = [_half(last, run) for run in self.loose if run != last and run.line >= last.end]
        return max(min([*kept, *shared], default=last.end + AROUND), last.end)


def _half(upper: Run, lower: Run) -> int:
    """The middle between two runs: there the one's context ends and the other's begins."""
    return upper.end + (lower.line - upper.end) // 2


def _own_runs(hunk: Hunk, entry: Adaptation | None, target: Target) -> list[Run]:
    """What the hunk changes on the target as the manifest has it now."""
    if isinstance(entry, Drop):
        return []
    if isinstance(entry, Replace):
        hunks = [found for file in entry.files for found in file.hunks]
        return [run for found in hunks for run in _edited(place(found, target).edit, target)]
    if isinstance(entry, Reanchor):
        return _edited(place_at(hunk, target, entry.put).edit, target)
    return _edited(place(hunk, target).edit, target)


def _edited(edit: Edit | None, target: Target) -> list[Run]:
    """The runs of an edit: its lines are those of the hunk between its outer context."""
    if edit is None:
        return []
    old = Target("", target.text[edit.start : edit.end]).lines
    new = Target("", edit.text).lines
    return _line_runs(target.line_of(edit.start), old, new)


def _line_runs(line: int, old: Sequence[bytes], new: Sequence[bytes]) -> list[Run]:
    import difflib

    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [
        Run(line + a, tuple(old[a:b]), tuple(new[c:d]))
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]


def _clusters(runs: Sequence[Run], own: Sequence[Run]) -> list[list[Run]]:
    """The runs, together where they leave too little context between them to be told apart.

    Runs that are just what the hunks make need none: they stand as they did.
    """
    found: list[list[Run]] = []
    for run in runs:
        above = found[-1] if found else []
        near = bool(above) and run.line - above[-1].end <= AROUND
        if near and not (run in own and all(one in own for one in above)):
            above.append(run)
        else:
            found.append([run])
    return found


def _nearest(runs: Sequence[Run], own: Sequence[Sequence[Run]], hunks: Sequence[Hunk]) -> int:
    """The hunk that runs belong to: one that makes some of them, else the nearest on the target."""

    def distance(index: int) -> tuple[bool, bool, int]:
        mine = own[index]
        places = [(run.line, run.end) for run in mine] or [(first_line(hunks[index]),) * 2]
        gaps = [max(start - run.end, run.line - end, 0) for start, end in places for run in runs]
        return not any(run in mine for run in runs), not mine, min(gaps)

    return min(range(len(own)), key=distance)


def _as_hunks(runs: Sequence[Run], target: Target, beside: _Beside) -> tuple[Hunk, ...]:
    """The runs as hunks with as much context as the hunks beside them leave."""
    hunks: list[Hunk] = []
    group: list[Run] = []
    for run in [*runs, None]:
        if group and (run is None or run.line - group[-1].end > 2 * AROUND):
            hunks.append(_hunk(group, target, beside))
            group = []
        if run is not None:
            group.append(run)
    return tuple(hunks)


def _hunk(runs: Sequence[Run], target: Target, beside: _Beside) -> Hunk:
    start = max(runs[0].line - AROUND, beside.above(runs[0]), 1)
    end = min(runs[-1].end + AROUND, beside.below(runs[-1]), len(target.lines) + 1)
    lines: list[bytes] = []
    at = start
    for run in runs:
        lines += [CONTEXT + text for text in target.lines[at - 1 : run.line - 1]]
        lines += [REMOVED + text for text in run.removed]
        lines += [ADDED + text for text in run.added]
        at = run.end
    lines += [CONTEXT + text for text in target.lines[at - 1 : end - 1]]
    old_count = sum(line[:1] != ADDED for line in lines)
    return Hunk(start if old_count else start - 1, start, tuple(lines))
