"""Keep what people decided about hunks beside their stacks, and offer it on other targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from backport.core.applying import apply_stack
from backport.core.evidence import stale
from backport.core.manifest_writing import entry_lines, patch_file
from backport.core.manifests import Adaptation, Manifest
from backport.core.outcomes import HunkResult, StackOutcome, StackResult
from backport.core.paths import decode
from backport.core.preimages import Sources
from backport.core.reports import Offer
from backport.core.resolutions import (
    FOLDER,
    Resolution,
    entry_of,
    file_name,
    joined,
    key_of,
    offers,
    read_resolutions,
    remembered,
    render_resolutions,
    same_change,
)
from backport.core.stacks import Stack
from backport.core.trees import Overlay, Tree
from backport.errors import BadInput
from backport.library import MAX_TOML, Library, decision_files, read_file
from backport.writing import write_files


def known(root: Path, stack: str) -> list[Resolution]:
    """Every resolution that is kept of a stack; raises BadInput where one cannot be read."""
    found, problems = read_all(root, stack)
    if problems:
        raise BadInput(problems)
    return found


def read_all(root: Path, stack: str) -> tuple[list[Resolution], list[str]]:
    """Every resolution of a stack that can be read, and the problems of the others."""
    items: list[Resolution] = []
    problems: list[str] = []
    for path in decision_files(root / "patches" / stack / FOLDER, root, problems):
        shown = path.relative_to(root).as_posix()
        try:
            found, told = read_resolutions(shown, decode(read_file(path, MAX_TOML, shown)))
        except BadInput as error:
            problems += error.problems
            continue
        items += found
        problems += told
    return items, problems


def remember(library: Library, manifest: Manifest, base: Tree) -> list[Path]:
    """Keep what the manifest decides about its stacks' hunks; the files that changed."""
    files: dict[str, bytes | None] = {}
    for name in manifest.stacks:
        old = known(library.root, name)
        new = remembered(manifest, library.stacks[name], base)
        folder = library.root / "patches" / name
        made = _changed(folder, old, joined(old, new, manifest.name))
        files |= {f"patches/{name}/{file}": data for file, data in made.items()}
    return write_files(library.root, files)


def _changed(
    folder: Path, old: list[Resolution], items: list[Resolution]
) -> dict[str, bytes | None]:
    """The stack's files of resolutions that would have another content; None: none at all."""
    by_file: dict[str, list[Resolution]] = {file_name(item.hunk): [] for item in old}
    for item in items:
        by_file.setdefault(file_name(item.hunk), []).append(item)
    files = {
        name: render_resolutions(mine).encode() if mine else None for name, mine in by_file.items()
    }
    return {name: data for name, data in files.items() if data != _content(folder / name)}


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


# ---------------------------------------------------------------- offer


def offered(
    library: Library,
    manifest: Manifest,
    results: Mapping[str, StackResult],
    base: Tree,
    sources: Sources,
) -> dict[str, tuple[Offer, ...]]:
    """For each hunk without a place, what was decided about it elsewhere and would fit here.

    `results` are those of the manifest's stacks on `base`, in its order.
    """
    overlay = Overlay(base)
    found: dict[str, tuple[Offer, ...]] = {}
    for name, result in results.items():
        if result.outcome is StackOutcome.CONFLICT:
            decided = known(library.root, name)
            trial = _Trial(library.stacks[name], manifest, overlay, base, sources)
            found.update(_of_stack(trial, decided, result.hunks))
        overlay.changes.update(result.changes)
    return {key: some for key, some in found.items() if some}


class _Trial:
    """A stack on a target as it stands, to see what an entry would do there."""

    def __init__(
        self, stack: Stack, manifest: Manifest, tree: Overlay, base: Tree, sources: Sources
    ) -> None:
        self.stack = stack
        self.entries = manifest.adaptations_of(stack.name)
        self.target = manifest.name
        self.tree = Overlay(tree.base, dict(tree.changes))
        self.base = base
        self.sources = sources

    def fits(self, hunk: HunkResult, entry: Adaptation) -> bool:
        """True where the entry's evidence holds, and the hunk comes out well with it."""
        if stale(entry.when, self.base):
            return False
        entries = {**self.entries, str(hunk.id): entry}
        for told in apply_stack(self.stack, entries, self.tree, self.sources).hunks:
            if told.id == hunk.id:
                return not told.outcome.failed
        return False


def _of_stack(
    trial: _Trial, decided: list[Resolution], hunks: Iterable[HunkResult]
) -> dict[str, tuple[Offer, ...]]:
    by_id = {str(found[0]): found for found in trial.stack.hunks()}
    out = {}
    for hunk in hunks:
        mine = [item for item in decided if same_change(item, hunk.id)]
        if not mine or not hunk.outcome.failed:
            continue
        _, _, file, index = by_id[str(hunk.id)]
        scope = file.hunks[index].scope if index >= 0 else None
        key = key_of(file.old_path or file.path, scope, trial.base)
        fits = {at: trial.fits(hunk, entry_of(item, hunk.id)) for at, item in enumerate(mine)}
        out[str(hunk.id)] = tuple(
            Offer(found.resolution.made, found.match, *_as_entry(found.resolution, hunk))
            for found in offers(mine, hunk.id, key, trial.target, fits)
        )
    return out


def _as_entry(item: Resolution, hunk: HunkResult) -> tuple[tuple[str, ...], str]:
    """The entry as lines for a manifest, and the text that a `replace` needs beside it."""
    patch = patch_file(hunk.id) if item.diff else ""
    return tuple(entry_lines(entry_of(item, hunk.id, patch))), item.diff
