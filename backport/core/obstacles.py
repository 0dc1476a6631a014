"""What stands in the way of a file as a whole: its mode, its kind, and what lies around it."""

from __future__ import annotations

from collections.abc import Collection

from backport.core.patches import FilePatch
from backport.core.paths import parents
from backport.core.trees import DIRECTORY, GITLINK, SYMLINK, Entry, Overlay


def obstacle(file: FilePatch, tree: Overlay, going: Collection[str] = ()) -> str:
    """Why nothing can be written at the file's new path, or nothing where it can.

    `going` are the paths that the same patch takes away.
    """
    if GITLINK in (file.old_mode, file.new_mode):
        return f"{file.path} is a submodule; its commit is not a text that can be carried over"
    if file.new_path is None:
        return ""
    return _above(file.new_path, tree, going) or _at(file.new_path, tree, going)


def _above(path: str, tree: Overlay, going: Collection[str]) -> str:
    for above in parents(path):
        entry = tree.entry(above)
        if entry is not None and entry.mode != DIRECTORY and above not in going:
            what = "unsafe path: " if entry.mode == SYMLINK else ""
            kind = "a symbolic link" if entry.mode == SYMLINK else "a file"
            return f"{what}{above} is {kind} on the target, so nothing can be written below it"
    return ""


def _at(path: str, tree: Overlay, going: Collection[str]) -> str:
    entry = tree.entry(path)
    if entry is not None and entry.mode == GITLINK:
        return f"{path} is a submodule on the target"
    if entry is not None and entry.mode == DIRECTORY and not _emptied(path, tree, going):
        return f"{path} is a folder on the target"
    made = (name for name, change in tree.changes.items() if change is not None)
    if entry is None and any(name.startswith(f"{path}/") and name not in going for name in made):
        return f"{path} is a folder that an earlier patch makes"
    return ""


def _emptied(path: str, tree: Overlay, going: Collection[str]) -> bool:
    """True where the patch, or one before it, takes away all that lies in the folder."""
    return all(name in going for name in tree.paths() if name.startswith(f"{path}/"))


def same_kind(mode: str, there: str) -> bool:
    """True where a file of the target (never a folder or submodule) is of the patch's kind."""
    links = ((mode or there) == SYMLINK) == (there == SYMLINK)
    return there not in (DIRECTORY, GITLINK) and links


def new_mode(file: FilePatch, entry: Entry) -> str:
    """The mode that a file of the right kind gets: its own unless the patch changes it."""
    return entry.mode if file.old_mode == file.new_mode else file.new_mode or entry.mode
