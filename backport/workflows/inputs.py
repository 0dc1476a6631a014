"""What a target's report depends on: what is asked, what is written, and what is at hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from backport import tools
from backport.cache import tool_identity
from backport.checkout import Checkout
from backport.commit_tree import CommitTree
from backport.core.manifests import Manifest
from backport.core.paths import parents
from backport.core.preimages import usable
from backport.core.stacks import Stack, below
from backport.library import MAX_PATCH, MAX_TOML, Library, read_file
from backport.workflows.options import Options


class Around(NamedTuple):
    """What a run finds around it: its tools, the stacks' homes by name, and of what the
    patches were made on the blobs that the repository holds."""

    tools: str
    homes: Mapping[str, str]
    blobs: frozenset[str]


def at_hand(library: Library, reader: Checkout, options: Options) -> Around:
    """What counts for every target; looked up once."""
    homes = {stack.home for stack in library.stacks.values() if stack.home}
    blobs = sorted({blob for stack in library.stacks.values() for blob in _made_on(stack)})
    found = zip(blobs, reader.read_objects(blobs), strict=True)
    return Around(
        _tools(options),
        {home: reader.commit_id(home) or "-" for home in homes},
        frozenset(blob for blob, data in found if data is not None),
    )


def _tools(options: Options) -> str:
    """This tool itself, and those that it asks where they are installed."""
    ruff = tools.fingerprint("ruff") if options.audit else ""
    torch = options.parity and tools.has_torch()
    return f"{tool_identity()} ruff {ruff} torch {torch}"


def _made_on(stack: Stack) -> set[str]:
    """The blobs that its patches name as what they were made on."""
    files = (file for patch in stack.patches for file in patch.files)
    return {file.old_blob for file in files if usable(file.old_blob)}


def _preimages(library: Library, stack: Stack, around: Around) -> list[str]:
    """Where the text that a stack's patches were made on is taken from, besides its home."""
    under = [one.digest for one in below(stack, library.stacks)]
    return [*under, *sorted(_made_on(stack) & around.blobs)]


def inputs(
    library: Library,
    manifest: Manifest,
    commit: str,
    base: CommitTree,
    options: Options,
    around: Around,
) -> list[str | bytes]:
    """All that a target's report depends on, to be digested into the key that it is kept under."""
    out: list[str | bytes] = [around.tools, f"audit {options.audit} parity {options.parity}"]
    source = library.root / manifest.source
    out += [manifest.name, *_contents(source)]
    lock = source.with_suffix(".lock")
    if lock.exists():
        out += [commit, *_contents(lock)]  # a lock compares trees on its own commit only
    for name in manifest.stacks:
        stack = library.stacks[name]
        out += [stack.digest, repr(stack._replace(patches=()))]  # what it requires counts as well
        out += [f"home {around.homes.get(stack.home, '-')}", *_preimages(library, stack, around)]
        out += _decisions(library.root / "patches" / name / "resolutions")
    if options.audit:
        out.append(base.id)  # the audit looks beyond the touched files
    out += [f"{path}\0{_at(base, path)}" for path in _paths(library, manifest)]
    return out


def _contents(file: Path) -> list[str | bytes]:
    """The file's content, and for a manifest that of the replacements beside it."""
    beside = file.with_suffix("")
    patches = sorted(beside.glob("*.patch")) if file.suffix == ".toml" and beside.is_dir() else ()
    return [part for path in (file, *patches) for part in (path.name, read_file(path, MAX_PATCH))]


def _decisions(folder: Path) -> list[str | bytes]:
    """What is offered for a hunk without a place."""
    files = sorted(folder.glob("*.toml")) if folder.is_dir() else ()
    return [part for path in files for part in (path.name, read_file(path, MAX_TOML))]


def _paths(library: Library, manifest: Manifest) -> list[str]:
    """Every path whose content can change the outcome."""
    found = {"pyproject.toml"}
    for name in manifest.stacks:
        found.update(library.stacks[name].paths())
    for entry in (*manifest.adaptations, *manifest.skips):
        found.update(statement.path for statement in entry.when)
    return sorted(found)


def _at(base: CommitTree, path: str) -> str:
    """The mode and blob id at a path; of a missing one, those of what is in its way."""
    found = base.locate(path)
    if found:
        return " ".join(found)
    above = [(folder, base.locate(folder)) for folder in parents(path)]
    return " ".join(f"{folder} {at[0] if at else '-'}" for folder, at in above)
