"""What a reader of the report needs to see of each hunk: its lines, and the target's instead."""

from __future__ import annotations

from dataclasses import dataclass, field

from backport.core.applying import apply_stack
from backport.core.evaluating import Evaluation
from backport.core.manifests import Manifest
from backport.core.outcomes import HunkResult, Outcome
from backport.core.patches import FilePatch, Hunk, Patch
from backport.core.paths import decode
from backport.core.placing import first_line
from backport.core.reports import HunkText
from backport.core.stacks import Stack
from backport.core.texts import split_keeping_ends
from backport.core.trees import Overlay, Tree
from backport.library import Library

AROUND = 4  # lines of the target above and below
MAX_LINES = 400  # of one hunk; a new file can have thousands
_SHOWS_TARGET = (Outcome.CONFLICT, Outcome.AMBIGUOUS, Outcome.REANCHORED, Outcome.REPLACED)


def hunk_texts(
    library: Library, manifest: Manifest, evaluation: Evaluation, base: Tree
) -> dict[str, HunkText]:
    """The text of every hunk that was tried on the target, by hunk id."""
    texts: dict[str, HunkText] = {}
    before: Tree = base
    for step in evaluation.steps:
        stack = library.stacks[step.result.stack]
        results = {str(hunk.id): hunk for hunk in step.result.hunks}
        seen = _Seen(stack, manifest, before)
        for hunk_id, patch, file, index in stack.hunks():
            result = results.get(str(hunk_id))
            if result is not None and index >= 0:
                texts[str(hunk_id)] = _text(file.hunks[index], result, seen, patch, file)
        before = Overlay(base, dict(step.changes))
    return texts


@dataclass(slots=True)
class _Seen:
    """The target as each patch of a stack meets it: with the patches before it, where they fit."""

    stack: Stack
    manifest: Manifest
    tree: Tree
    by_patch: dict[str, Tree] = field(default_factory=dict)

    def at(self, patch: Patch) -> Tree:
        if patch.name not in self.by_patch:
            earlier = self.stack.patches[: self.stack.patches.index(patch)]
            prefix = self.stack._replace(patches=earlier)
            adaptations = self.manifest.adaptations_of(self.stack.name)
            changes = apply_stack(prefix, adaptations, self.tree).changes if earlier else {}
            self.by_patch[patch.name] = Overlay(self.tree, dict(changes))
        return self.by_patch[patch.name]


def _text(hunk: Hunk, result: HunkResult, seen: _Seen, patch: Patch, file: FilePatch) -> HunkText:
    lines = tuple(_shown(line) for line in hunk.lines[:MAX_LINES])
    start = first_line(hunk)
    at = result.line or (result.candidates[0] if result.candidates else 0)
    if result.outcome not in _SHOWS_TARGET or not at:
        return HunkText(lines, start)
    entry = seen.at(patch).entry(file.old_path or file.path)
    if entry is None or b"\0" in entry.data[:8000]:
        return HunkText(lines, start)
    there = split_keeping_ends(entry.data)
    first = max(1, at - AROUND)
    last = min(len(there), at + min(hunk.old_count, MAX_LINES) + AROUND)
    return HunkText(lines, start, first, tuple(map(_shown, there[first - 1 : last])))


def _shown(line: bytes) -> str:
    return decode(line.removesuffix(b"\n"))
