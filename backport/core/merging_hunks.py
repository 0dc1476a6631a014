"""Hunks that have no exact place, merged into the target with the text they were made on."""

from __future__ import annotations

from collections.abc import Sequence

from backport.core.diffing import Change, changes
from backport.core.merging_files import Merged, merge_file
from backport.core.objects import blob_id
from backport.core.outcomes import Outcome, Proposal
from backport.core.patches import ADDED, CONTEXT, REMOVED, FilePatch, Hunk
from backport.core.paths import decode
from backport.core.placing import place
from backport.core.rendering import render_diff
from backport.core.scopes import scope_at, scopes
from backport.core.texts import Edit, Target, splice, split_keeping_ends

AROUND = 3
_STAND = (Outcome.EXACT, Outcome.MOVED, Outcome.ALREADY)


def _with(file: FilePatch, base: bytes, wanted: Sequence[int]) -> bytes | None:
    """The pre-image with these hunks made."""
    target = Target("", base)  # no scope is asked at a hunk's own line
    edits: list[Edit] = []
    for index in wanted:
        found = place(file.hunks[index], target, known=True)
        if found.edit is None or found.outcome is not Outcome.EXACT:
            return None
        edits.append(found.edit)
    return splice(base, edits)


def merge_left(
    file: FilePatch, base: bytes, ours: bytes, outcomes: Sequence[Outcome]
) -> Merged | None:
    """All hunks without a place merged at once, as one change to the file.

    The base then has those that have one, as the target `ours` has them; None where the
    hunks do not fit the text they were made on.
    """
    stand = [index for index, outcome in enumerate(outcomes) if outcome in _STAND]
    left = [index for index, outcome in enumerate(outcomes) if outcome.failed]
    before, after = _with(file, base, stand), _with(file, base, sorted(stand + left))
    if before is None or after is None:
        return None
    return merge_file(file.path, before, ours, after)


def propose(
    file: FilePatch, index: int, base: bytes, target: bytes, outcomes: Sequence[Outcome]
) -> Proposal | None:
    """One hunk merged into the target as it stands: a patch to put in the hunk's place."""
    there = [i for i, outcome in enumerate(outcomes) if outcome is Outcome.ALREADY]
    before, after = _with(file, base, there), _with(file, base, sorted({*there, index}))
    if before is None or after is None:
        return None
    merged = merge_file(file.path, before, target, after)
    if merged.text is None or merged.text == target:
        return None
    patch = patch_between(file, target, merged.text)
    count = merged.confidence
    words = tuple(str(rule) for rule in merged.rules)
    return Proposal(words, count.same, count.cases, merged.why, decode(render_diff((patch,))))


class LinesOn:
    """Where the lines of a pre-image lie on the target, or would lie (both from 1)."""

    def __init__(self, base: bytes, target: bytes) -> None:
        self._edits = changes(split_keeping_ends(base), split_keeping_ends(target))

    def __call__(self, line: int) -> int:
        above = [edit for edit in self._edits if edit.a1 < line]
        return max(1, line + sum((e.b1 - e.b0) - (e.a1 - e.a0) for e in above))


def patch_between(file: FilePatch, old: bytes, new: bytes) -> FilePatch:
    """What turns one text of a file into another, with full blob ids and scopes."""
    found = scopes(old) if file.path.endswith((".py", ".pyi")) else None
    a, b = split_keeping_ends(old), split_keeping_ends(new)
    path = file.old_path or file.path
    made = [_hunk(a, b, group) for group in _groups(changes(a, b))]
    if found is not None:
        made = [h._replace(section=scope_at(found, _changed(h))) for h in made]
    ids = blob_id(old), blob_id(new)
    return FilePatch(path, path, tuple(made), file.old_mode, file.old_mode, ids[0], ids[1])


def _changed(hunk: Hunk) -> int:
    """The line whose scope is the hunk's, as canonical patches have it."""
    from backport.core.placing import first_line, scope_line

    return scope_line(hunk, first_line(hunk))


def _groups(edits: Sequence[Change]) -> list[list[Change]]:
    out: list[list[Change]] = []
    for edit in edits:
        if out and edit.a0 - out[-1][-1].a1 <= 2 * AROUND:
            out[-1].append(edit)
        else:
            out.append([edit])
    return out


def _hunk(a: Sequence[bytes], b: Sequence[bytes], group: Sequence[Change]) -> Hunk:
    start = max(0, group[0].a0 - AROUND)
    end = min(len(a), group[-1].a1 + AROUND)
    lines: list[bytes] = []
    at = start
    for edit in group:
        lines += [CONTEXT + line for line in a[at : edit.a0]]
        lines += [REMOVED + line for line in a[edit.a0 : edit.a1]]
        lines += [ADDED + line for line in b[edit.b0 : edit.b1]]
        at = edit.a1
    lines += [CONTEXT + line for line in a[at:end]]
    new = start + group[0].b0 - group[0].a0
    writes = any(line[:1] != REMOVED for line in lines)
    return Hunk(start + (end > start), new + writes, tuple(lines))
