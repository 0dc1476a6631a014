"""One file of one patch on its way onto a tree: what it reads, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from backport.core.manifests import Adaptation, Drop
from backport.core.outcomes import HunkResult, Outcome
from backport.core.patches import FilePatch, Hunk, HunkId, Patch
from backport.core.texts import Placement
from backport.core.trees import DIRECTORY, Entry, Overlay, Tree

if TYPE_CHECKING:
    from backport.core.preimages import Preimages

Adaptations = Mapping[str, Adaptation]


class Step(NamedTuple):
    """One file of one patch being applied: what it reads, and what came of it."""

    patch: Patch
    file: FilePatch
    ids: list[HunkId]
    adaptations: Adaptations
    tree: Overlay
    preimages: Preimages | None
    before: Tree  # as the whole patch found it: what git's renames and copies start from
    leaving: frozenset[str]  # what the patch takes away, in whatever order its files come
    written: set[str]  # what its files before this one have put in place
    merges: bool = False  # whether hunks without a place are merged

    def adaptation(self, index: int) -> Adaptation | None:
        """What the manifest says of the hunk at `index`."""
        return self.adaptations.get(str(self.ids[index])) if self.adaptations else None

    def result(self, index: int, placement: Placement, hunk: Hunk | None = None) -> HunkResult:
        """The outcome of the hunk at `index` (the whole file's where it has no hunks)."""
        line = hunk.at if hunk else self.file.at
        entry = self.adaptation(index)
        counted = hunk if placement.outcome.placed else None
        return HunkResult(
            self.ids[index],
            self.file.path,
            placement.outcome,
            placement.line,
            placement.offset,
            entry.reason if entry else "",
            _with_entry(placement, entry),
            f"{self.patch.source}:{line}" if self.patch.source else "",
            placement.candidates,
            hunk is not None and not hunk.removed,
            len(counted.added) if counted else 0,
            len(counted.removed) if counted else 0,
            (self.file.old_path or "") if self.file.renames else "",
        )

    def all(self, outcome: Outcome, detail: str = "") -> list[HunkResult]:
        """The same outcome for every hunk, a manifest's drops aside."""
        hunks = self.file.hunks or (None,)
        return [
            self.result(index, self.dropped(index) or Placement(outcome, detail=detail), hunk)
            for index, hunk in enumerate(hunks)
        ]

    def dropped(self, index: int) -> Placement | None:
        entry = self.adaptation(index)
        return Placement(Outcome.DROPPED) if isinstance(entry, Drop) else None

    @property
    def all_dropped(self) -> bool:
        return all(self.dropped(index) for index in range(len(self.ids)))

    @property
    def going(self) -> frozenset[str]:
        """The paths that will be free once the whole patch is applied."""
        return self.leaving - self.written

    def in_the_way(self, path: str) -> Entry | None:
        """The file that stands where one is to be written and will not have gone by then."""
        entry = self.tree.entry(path)
        emptied = entry is not None and entry.mode == DIRECTORY  # or it would be an obstacle
        return None if emptied or path in self.going else entry

    def put(self, path: str, entry: Entry) -> None:
        self.tree.changes[path] = entry
        self.written.add(path)

    def take_away(self, path: str) -> None:
        if path not in self.written:
            self.tree.changes[path] = None


def _with_entry(placement: Placement, entry: Adaptation | None) -> str:
    """The detail, and where the entry stands that does not give the hunk a place."""
    if not entry or not placement.outcome.failed:
        return placement.detail
    return f"{placement.detail}; mend its entry at {entry.source}"
