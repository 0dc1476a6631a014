"""Apply one file of a patch: what it makes of the file, and the outcome of each hunk."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from backport.core.anchoring import place_at
from backport.core.applying_steps import Step
from backport.core.binary import BinaryError, patched
from backport.core.manifests import Drop, Reanchor, Replace
from backport.core.obstacles import new_mode, obstacle, same_kind
from backport.core.outcomes import HunkResult, Outcome
from backport.core.patches import FilePatch, Hunk, hunk_ids
from backport.core.placing import place, placed
from backport.core.preimages import names
from backport.core.texts import Edit, Placement, Target, splice
from backport.core.trees import REGULAR, Entry

if TYPE_CHECKING:
    from backport.core.twins import Proof


def apply_file(step: Step) -> list[HunkResult]:
    """Apply one file's patch to the overlay and tell each hunk's outcome."""
    if step.all_dropped:
        return [*step.all(Outcome.DROPPED), *_header_alone(step)]
    blocked = obstacle(step.file, step.tree, step.going)
    if blocked:
        return step.all(Outcome.CONFLICT, blocked)
    if step.file.creates:
        return _create(step)
    if step.file.deletes:
        return _delete(step)
    return _modify(step)


def _header_alone(step: Step) -> list[HunkResult]:
    """The new name or mode of a file whose hunks are all left out: nobody has dropped those."""
    file = step.file
    whole = file.creates or file.deletes
    if whole or not file.hunks or (file.old_mode == file.new_mode and not file.renames):
        return []
    bare = file._replace(hunks=(), old_blob="", new_blob="")
    ids = hunk_ids(step.ids[0].stack, step.patch, bare)
    return apply_file(step._replace(file=bare, ids=ids, adaptations={}))


def _create(step: Step) -> list[HunkResult]:
    file = step.file
    path = file.new_path or ""
    content = _content(file, b"")
    there = step.in_the_way(path)
    if there is None:
        step.put(path, Entry(file.new_mode or REGULAR, content))
        return [
            step.result(index, Placement(Outcome.EXACT, line=1), hunk)
            for index, hunk in enumerate(file.hunks or (None,))
        ]
    if there.data != content:
        return step.all(Outcome.CONFLICT, f"{path} is there already, with other content")
    if file.new_mode and there.mode != file.new_mode:
        problem = f"{path} is there already, with mode {there.mode} instead of {file.new_mode}"
        return step.all(Outcome.CONFLICT, problem)
    return step.all(Outcome.ALREADY, "the file is there with this content")


def _content(file: FilePatch, before: bytes) -> bytes:
    """The whole new content of a file that is created, or changed as binary data."""
    if file.binary:
        return patched(file.binary, before)
    return b"".join(hunk.after for hunk in file.hunks)


def _delete(step: Step) -> list[HunkResult]:
    file = step.file
    path = file.old_path or ""
    there = (step.before if path in step.written else step.tree).entry(path)
    if there is None:
        return step.all(Outcome.ALREADY, "the file is not there")
    if not same_kind(file.old_mode, there.mode):
        return step.all(Outcome.CONFLICT, f"{path} is of another kind on the target")
    if file.old_mode not in ("", there.mode):
        return step.all(Outcome.CONFLICT, f"{path} has mode {there.mode}, not {file.old_mode}")
    whole = b"".join(hunk.before for hunk in file.hunks)
    if there.data == whole or (file.binary and names(file.old_blob, there.data)):
        step.take_away(path)
        return step.all(Outcome.EXACT)
    return step.all(Outcome.CONFLICT, f"{path} has other content than the patch deletes")


def _modify(step: Step) -> list[HunkResult]:
    """Change, rename, copy or re-mode a file that must be there."""
    file = step.file
    old, new = file.old_path or "", file.new_path or ""
    entry = (step.before if file.renames else step.tree).entry(old)
    if entry is None:
        return _source_gone(step, old, new)
    if not same_kind(file.old_mode, entry.mode):
        return step.all(Outcome.CONFLICT, f"{old} is of another kind on the target")
    if file.renames and step.in_the_way(new) is not None:
        return _renamed_before(step, old, new, entry)
    data, results = _new_data(step, entry)
    if data is None:
        return results
    if file.moves:
        step.take_away(old)
    step.put(new, Entry(new_mode(file, entry), data))
    return results


def _source_gone(step: Step, old: str, new: str) -> list[HunkResult]:
    if step.file.moves:
        there = step.tree.entry(new)
        if there is not None and names(step.file.new_blob, there.data):
            return _stands(step, new, there)
    candidates = _same_name(step, old)
    hint = f"; is it {' or '.join(candidates)}?" if candidates else ""
    return step.all(Outcome.CONFLICT, f"the target has no {old}{hint}")


def _stands(step: Step, path: str, there: Entry) -> list[HunkResult]:
    """The outcome of a file that has the new name and content; it gets the patch's mode."""
    if not same_kind(step.file.new_mode, there.mode):
        return step.all(Outcome.CONFLICT, f"{path} is of another kind on the target")
    step.put(path, Entry(new_mode(step.file, there), there.data))
    return step.all(Outcome.ALREADY, f"{path} is there with this content")


def _same_name(step: Step, path: str) -> list[str]:
    """Paths of the target with the same last name, the likeliest first; at most three."""
    name = path.rpartition("/")[2]
    parts = set(path.split("/"))
    found = [p for p in step.tree.base.paths() if p.rpartition("/")[2] == name]
    return sorted(found, key=lambda p: (-len(parts & set(p.split("/"))), p))[:3]


def _renamed_before(step: Step, old: str, new: str, entry: Entry) -> list[HunkResult]:
    there = step.tree.entry(new)
    if step.file.copy and there is not None:
        data, _ = _new_data(step, entry)
        if data == there.data:
            return _stands(step, new, there)
    return step.all(Outcome.CONFLICT, f"{new} is there already, beside {old}")


def _new_data(step: Step, entry: Entry) -> tuple[bytes | None, list[HunkResult]]:
    file = step.file
    if file.binary:
        return _binary_data(step, entry)
    if not file.hunks:
        same = file.new_mode == entry.mode and not file.renames
        return entry.data, step.all(Outcome.ALREADY if same else Outcome.EXACT)
    if names(file.new_blob, entry.data):
        return entry.data, step.all(Outcome.ALREADY, "the file has this content")
    return _place_hunks(step, entry)


def _binary_data(step: Step, entry: Entry) -> tuple[bytes | None, list[HunkResult]]:
    file = step.file
    if names(file.new_blob, entry.data):
        return entry.data, step.all(Outcome.ALREADY, "the file has this content")
    if not names(file.old_blob, entry.data):
        problem = "the target has other binary content than the patch was made on"
        return None, step.all(Outcome.CONFLICT, problem)
    try:
        return _content(file, entry.data), step.all(Outcome.EXACT)
    except BinaryError as error:
        return None, step.all(Outcome.CONFLICT, str(error))


# ---------------------------------------------------------------- hunks of one file


def _place_hunks(step: Step, entry: Entry) -> tuple[bytes | None, list[HunkResult]]:
    """The text with every hunk in its place, or None where one has none."""
    target = Target(step.file.old_path or "", entry.data)
    known = names(step.file.old_blob, entry.data)
    base = _Preimage(step, target)
    results: list[HunkResult] = []
    edits: list[Edit] = []
    alike = Counter((hunk.lines, hunk.scope) for hunk in step.file.hunks)
    for index, hunk in enumerate(step.file.hunks):
        found = _place_one(step, index, target, known, alike[hunk.lines, hunk.scope], base)
        results += found[0]
        edits += found[1]
    if any(result.outcome.failed for result in results):
        return _merge_rest(step, target, results, edits, base)
    try:
        return splice(target.text, edits), results
    except ValueError as error:
        return None, [
            result._replace(outcome=Outcome.CONFLICT, detail=str(error)) for result in results
        ]


class _Preimage:
    """The text that the file's patch was made on, looked up once and only when asked for."""

    def __init__(self, step: Step, target: Target) -> None:
        self._step = step
        self._target = target

    @cached_property
    def text(self) -> bytes | None:
        step = self._step
        return step.preimages.find(step.patch, step.file) if step.preimages else None

    @cached_property
    def proof(self) -> Proof | None:
        from backport.core.twins import Proof

        return None if self.text is None else Proof(self.text, self._target.text)


def _sure(hunk: Hunk, target: Target, found: Placement, base: _Preimage, merges: bool) -> Placement:
    """The placement, or none where it may be at a look-alike of the hunk's place; of several
    places that fit, its own."""
    if base.proof is None or found.outcome is Outcome.CONFLICT:
        return found
    if found.outcome is Outcome.AMBIGUOUS:
        return _own(hunk, target, found, base.proof)
    doubted = base.proof.doubt(hunk, found.edit)
    if doubted is None:
        return found
    outcome = Outcome.CONFLICT if doubted.merges and merges else Outcome.AMBIGUOUS
    return Placement(outcome, detail=doubted.why, candidates=(found.line,))


def _own(hunk: Hunk, target: Target, found: Placement, proof: Proof) -> Placement:
    """The one of the places that fit which is the hunk's own, where that can be told."""
    at = proof.own_place(hunk) if proof.settles(hunk) else None
    own = None if at is None else placed(hunk, target, at)
    return own if own is not None and own.line in found.candidates else found


def _merge_rest(
    step: Step, target: Target, results: list[HunkResult], edits: list[Edit], base: _Preimage
) -> tuple[bytes | None, list[HunkResult]]:
    """Hunks without a place merged with the text they were made on, where that is asked for."""
    mine = (i for i, result in enumerate(results) if result.outcome.failed)
    if step.preimages is None or not step.merges or any(map(step.adaptation, mine)):
        return None, results
    from backport.core.merging_results import merged_file

    try:
        ours = splice(target.text, edits)
    except ValueError:
        ours = None
    return merged_file(step.patch, step.file, base.text, (target.text, ours), results)


def _place_one(
    step: Step, index: int, target: Target, known: bool, alike: int, base: _Preimage
) -> tuple[list[HunkResult], list[Edit]]:
    hunk = step.file.hunks[index]
    entry = step.adaptation(index)
    if isinstance(entry, Drop):
        return [step.result(index, Placement(Outcome.DROPPED), hunk)], []
    if isinstance(entry, Replace):
        return _place_replacement(step, index, entry, target)
    if isinstance(entry, Reanchor):
        placement = place_at(hunk, target, entry.put)
    else:
        placement = place(hunk, target, known, alike=alike)
        if not known:
            placement = _sure(hunk, target, placement, base, step.merges)
    edits = [placement.edit] if placement.edit else []
    return [step.result(index, placement, hunk)], edits


def _place_replacement(
    step: Step, index: int, entry: Replace, target: Target
) -> tuple[list[HunkResult], list[Edit]]:
    """The hunks that stand for the one a manifest replaces: one outcome for all of them."""
    replaced = step.file.hunks[index]
    hunks = [hunk for file in entry.files for hunk in file.hunks]
    placements = [place(hunk, target) for hunk in hunks]
    failed = next((found for found in placements if not found.outcome.placed), None)
    if failed:
        detail = f"the replacement {entry.patch}: {failed.detail}"
        outcome = failed.outcome if failed.outcome.failed else Outcome.CONFLICT
        return [step.result(index, failed._replace(outcome=outcome, detail=detail), replaced)], []
    first = placements[0]._replace(outcome=Outcome.REPLACED)
    result = step.result(index, first, replaced)._replace(
        added=sum(len(hunk.added) for hunk in hunks),
        removed=sum(len(hunk.removed) for hunk in hunks),
    )
    return [result], [found.edit for found in placements if found.edit]
