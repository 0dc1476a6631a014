"""Carry a manifest to another base: what still holds, what is gone, what a person must decide.

Nothing is guessed: an entry is kept because its evidence holds and its hunk has a
place; a hunk is left out because its result stands on the new base, with the line
that shows it; everything else is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from backport.core.applying import apply_stack
from backport.core.evidence import stale
from backport.core.evidencing import hunk_evidence, stack_evidence, taken_evidence
from backport.core.manifests import Adaptation, Drop, Evidence, Manifest, Replace, Skip
from backport.core.outcomes import HunkResult, Outcome, StackOutcome, StackResult
from backport.core.patches import FilePatch
from backport.core.preimages import Sources
from backport.core.stacks import Stack
from backport.core.trees import Overlay, Tree

Entry = Adaptation | Skip


class Gone(NamedTuple):
    """An entry of the old manifest that the new one has not, and why."""

    entry: Entry
    why: str


class Undecided(NamedTuple):
    """A hunk that a person must decide about, and the entry that it had before, if any."""

    hunk: HunkResult
    before: Entry | None = None


class Ported(NamedTuple):
    """A manifest carried to another base.

    `kept` are its old entries, `made` those that the new base itself shows, each with
    evidence; `results` what every stack comes to with them; `taken` what upstream has of
    a stack that does not apply, by stack: perhaps it took the change in another form.
    """

    manifest: Manifest
    results: tuple[StackResult, ...]
    kept: tuple[Entry, ...]
    made: tuple[Entry, ...]
    gone: tuple[Gone, ...]
    undecided: tuple[Undecided, ...]
    taken: Mapping[str, Evidence]


@dataclass(slots=True)
class _Port:
    old: Manifest
    base: Tree
    was: Tree | None
    name: str  # of the new base, for reasons
    preimages: Sources | None
    kept: list[Entry] = field(default_factory=list)
    made: list[Entry] = field(default_factory=list)
    gone: list[Gone] = field(default_factory=list)
    undecided: list[Undecided] = field(default_factory=list)
    taken: dict[str, Evidence] = field(default_factory=dict)


def port(
    old: Manifest,
    new: Manifest,
    stacks: Mapping[str, Stack],
    base: Tree,
    was: Tree | None,
    preimages: Sources | None = None,
) -> Ported:
    """The old manifest's entries on `base`, the tree that the (still empty) new one starts from.

    `was` is the tree that the old one starts from: evidence that is found must not hold there.
    `preimages` gives what the stacks were made on, for hunks without a place.
    """
    work = _Port(old, base, was, new.base, preimages)
    overlay = Overlay(base)
    results = []
    for name in new.stacks:
        result = _stack(work, stacks[name], overlay)
        overlay.changes.update(result.changes)
        results.append(result)
    entries = [*work.kept, *work.made]
    manifest = new._replace(
        adaptations=tuple(entry for entry in entries if not isinstance(entry, Skip)),
        skips=tuple(entry for entry in entries if isinstance(entry, Skip)),
    )
    return Ported(
        manifest,
        tuple(results),
        tuple(work.kept),
        tuple(work.made),
        tuple(work.gone),
        tuple(work.undecided),
        work.taken,
    )


def _stack(work: _Port, stack: Stack, tree: Overlay) -> StackResult:
    skip = work.old.skip_of(stack.name)
    if skip:
        problems = stale(skip.when, work.base)
        if not problems:
            work.kept.append(skip)
            return StackResult(stack.name, {}, (), StackOutcome.SKIPPED, skip.reason)
        work.gone.append(Gone(skip, f"its evidence no longer holds: {problems[0]}"))
    plain = apply_stack(stack, {}, tree, work.preimages)
    if plain.outcome is StackOutcome.ALREADY:
        return _contained(work, stack, plain)
    return _adapted(work, stack, tree)


def _contained(work: _Port, stack: Stack, plain: StackResult) -> StackResult:
    """Upstream took the whole stack: skip it, where something shows that it did."""
    files = [file for patch in stack.patches for file in patch.files]
    evidence = stack_evidence(files, work.base, work.was)
    for entry in work.old.adaptations_of(stack.name).values():
        work.gone.append(Gone(entry, f"the whole stack stands on {work.name}"))
    if evidence is None:
        return plain
    reason = f"contained in {work.name}"
    work.made.append(Skip(reason, (evidence,), "", stack.name))
    return StackResult(stack.name, {}, (), StackOutcome.SKIPPED, reason)


# ---------------------------------------------------------------- hunk by hunk


def _adapted(work: _Port, stack: Stack, tree: Overlay) -> StackResult:
    """The stack with the entries that still do their work, and drops for what stands already."""
    before = work.old.adaptations_of(stack.name)
    problems = {key: stale(entry.when, work.base) for key, entry in before.items()}
    entries = {key: entry for key, entry in before.items() if not problems[key]}
    result = apply_stack(stack, entries, tree, work.preimages)
    for hunk in result.hunks:
        if hunk.outcome.failed and str(hunk.id) in entries:
            problems[str(hunk.id)] = [hunk.detail.partition("; mend its entry")[0]]
            del entries[str(hunk.id)]
    result = apply_stack(stack, entries, tree, work.preimages)
    made = _drops(work, stack, result)
    if made:
        result = apply_stack(stack, {**entries, **made}, tree, work.preimages)
    places = {str(hunk.id): hunk for hunk in result.hunks}
    for key, entry in before.items():
        if key not in entries:
            work.gone.append(Gone(entry, _why_gone(problems[key], places.get(key))))
    work.kept += entries.values()
    work.made += made.values()
    work.undecided += [
        Undecided(hunk, before.get(str(hunk.id)))
        for hunk in result.hunks
        if hunk.outcome.failed or hunk.outcome is Outcome.ALREADY
    ]
    if result.outcome is StackOutcome.CONFLICT:
        files = [file for patch in stack.patches for file in patch.files]
        evidence = taken_evidence(files, work.base, work.was)
        work.taken.update({stack.name: evidence} if evidence else {})
    return result


def _why_gone(problems: list[str], hunk: HunkResult | None) -> str:
    told = problems[0] if problems else "it has no hunk any more"
    if hunk is not None and hunk.outcome.placed:
        return f"not needed any more: the hunk is {hunk.outcome} at line {hunk.line} ({told})"
    return told


def _drops(work: _Port, stack: Stack, result: StackResult) -> dict[str, Drop]:
    """Entries for the hunks whose result stands on the pristine base, where a line shows it."""
    hunks = {str(found[0]): found for found in stack.hunks()}
    there = [told for told in result.hunks if told.outcome is Outcome.ALREADY]
    shown: dict[str, Evidence] = {}
    by_patch: dict[str, Evidence] = {}
    for told in there:
        _, _, file, index = hunks[str(told.id)]
        evidence = _shows(work, file, index)
        if evidence:
            shown[str(told.id)] = by_patch[told.id.patch] = evidence
    made = {}
    for told in there:  # a line that stood before as well is vouched for by its own patch's others
        vouched = shown.get(str(told.id)) or by_patch.get(told.id.patch)
        if vouched:
            made[str(told.id)] = Drop(f"contained in {work.name}", (vouched,), "", told.id)
    return made


def _shows(work: _Port, file: FilePatch, index: int) -> Evidence | None:
    if index >= 0 and not file.creates and not file.deletes:
        return hunk_evidence(file.path, file.hunks[index], work.base, work.was)
    return stack_evidence([file], work.base, work.was)


def replacements(manifest: Manifest) -> list[str]:
    """The patch files that the manifest's entries name, each once."""
    named = (entry.patch for entry in manifest.adaptations if isinstance(entry, Replace))
    return list(dict.fromkeys(named))


def entry_of(entry: Entry) -> str:
    """What an entry is about: its stack, or its hunk."""
    return entry.stack if isinstance(entry, Skip) else str(entry.hunk)
