"""Write an amendment as entries of the target's manifest: other text for hunks, or their drop."""

from __future__ import annotations

from functools import partial

from backport.checkout import Checkout
from backport.core.amending import amended
from backport.core.canonical import with_scopes
from backport.core.evidencing import place_evidence
from backport.core.manifest_writing import entry_lines, patch_file
from backport.core.manifests import Adaptation, Drop, Evidence, Manifest, Replace
from backport.core.patches import FilePatch, Hunk, HunkId, Patch, hunk_ids
from backport.core.rendering import render_patch
from backport.core.trees import Overlay, Tree
from backport.library import Library
from backport.workflows.incoming import text_at
from backport.workflows.refresh import (
    Amendment,
    CannotSay,
    Refresh,
    difference,
    last_of,
    states,
)


def into_manifest(
    library: Library, manifest: Manifest, checkout: Checkout, found: Refresh, reason: str
) -> list[Adaptation]:
    """The entries that are made; they and the patches that they name are in the files of `found`.

    Raises CannotSay for what no entry can: a file that is made, moved or deleted.
    """
    path = library.root / manifest.source
    text = path.read_text("utf-8")
    entries: list[Adaptation] = []
    for amendment in found.amendments:
        for file in amendment.changed:
            entries += _entries(manifest, checkout, found, amendment, file, reason)
    old = {str(entry.hunk): entry for entry in manifest.adaptations}
    replaced = [old[str(entry.hunk)] for entry in entries if str(entry.hunk) in old]
    for gone in sorted(replaced, key=_line, reverse=True):  # the last first: lines above stay
        text = without_entry(text, gone)
    for entry in entries:
        text = text.rstrip("\n") + "\n\n" + "\n".join(entry_lines(entry)) + "\n"
        if isinstance(entry, Replace):
            folder = manifest.source.removesuffix(".toml")
            patch = Patch(entry.patch, f"{entry.hunk.stack}: {reason}", entry.files)
            found.files[f"{folder}/{entry.patch}"] = render_patch(patch)
    found.files.update(_unused(manifest, entries))
    found.files[manifest.source] = text.encode()
    return entries


def _unused(manifest: Manifest, entries: list[Adaptation]) -> dict[str, None]:
    """The replacement files that no entry names any more."""
    changed = {str(entry.hunk) for entry in entries}
    named = {e.patch for e in manifest.adaptations if isinstance(e, Replace)}
    kept = {
        e.patch
        for e in manifest.adaptations
        if isinstance(e, Replace) and str(e.hunk) not in changed
    }
    kept |= {entry.patch for entry in entries if isinstance(entry, Replace)}
    folder = manifest.source.removesuffix(".toml")
    return {f"{folder}/{name}": None for name in named - kept}


def _entries(
    manifest: Manifest,
    checkout: Checkout,
    found: Refresh,
    amendment: Amendment,
    file: FilePatch,
    reason: str,
) -> list[Adaptation]:
    stack = amendment.stack
    index, patch, mine = last_of(stack, file.path)
    if (
        mine is None
        or mine.creates
        or mine.deletes
        or not mine.hunks
        or not file.changes_lines_only
    ):
        raise CannotSay(
            f"{stack.name}: {file.path}: no entry of a manifest can say this change "
            "(the file is made, moved, deleted, or touched by no hunk); use --into patch"
        )
    under = amendment.under
    before = states(stack, under, {}, manifest, found.sources)[index]
    after = {**before, file.path: amendment.wanted.entry(file.path)}
    text = text_at(Overlay(under, dict(before)), mine.old_path or file.path) or b""
    wanted = difference(checkout, under, before, after)
    lines = wanted[0].hunks if wanted else ()
    ids = hunk_ids(stack.name, patch, mine)
    known = manifest.adaptations_of(stack.name)
    out: list[Adaptation] = []
    for item in amended(mine, [known.get(str(key)) for key in ids], text, lines):
        hunks = item.hunks or (mine.hunks[item.at],)
        when = (_evidence(file.path, hunks, found.base, checkout, stack.home),)
        key = ids[item.at]
        if not item.hunks:
            out.append(Drop(reason, when, "", key))
            continue
        changed = FilePatch(file.path, file.path, item.hunks, file.old_mode, file.old_mode)
        read = partial(text_at, Overlay(under, dict(before)))
        name = _file_name(key, known.get(str(key)))
        out.append(Replace(reason, when, "", key, name, (with_scopes(changed, read),)))
    return out


def _file_name(key: HunkId, entry: Adaptation | None) -> str:
    if isinstance(entry, Replace):
        return entry.patch
    return patch_file(key)


def _evidence(
    path: str, hunks: tuple[Hunk, ...], base: Tree, checkout: Checkout, home: str
) -> Evidence:
    """A line of the place on the pristine base, if possible one that the home has not."""
    commit = checkout.commit_id(home)
    lines = [line[1:] for hunk in hunks for line in hunk.lines if line[:1] != b"+"]
    was = checkout.tree(commit) if commit else None
    return place_evidence(path, lines, base, was) or Evidence(True, path)


def _line(entry: Adaptation) -> int:
    return int(entry.source.rpartition(":")[2])


def without_entry(text: str, entry: Adaptation) -> str:
    """The manifest's text without one entry: from its header to the next one's, comments kept."""
    lines = text.split("\n")
    start = _line(entry) - 1
    end = start + 1
    while end < len(lines) and not lines[end].startswith(("[[", "#")):
        end += 1
    return "\n".join([*lines[:start], *lines[end:]])
