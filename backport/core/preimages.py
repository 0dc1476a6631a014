"""The text that a file patch was made on: from the object store, or from the stack's home.

Whatever is found is proved by the blob id in the patch, so nothing else can be
taken for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from backport.core.objects import blob_id
from backport.core.patches import FilePatch, Patch
from backport.core.stacks import Stack
from backport.core.trees import Overlay, Tree

SHORTEST = 7
"""Hex digits of a blob id, as git shortens it: fewer name too much."""

Sources = Callable[[Stack], "Preimages"]


class Preimages:
    """Pre-images of one stack's patches, looked up when asked for.

    `blob` reads an object by its id, `home` gives the tree of the stack's home
    release; both answer None where that is not at hand. `below` are the stacks that
    this one was written on top of, the lowest first.
    """

    def __init__(
        self,
        stack: Stack,
        blob: Callable[[str], bytes | None],
        home: Callable[[], Tree | None],
        below: Sequence[Stack] = (),
    ) -> None:
        self._stack = stack
        self._blob = blob
        self._home = home
        self._below = below
        self._states: list[Tree] = []

    def find(self, patch: Patch, file: FilePatch) -> bytes | None:
        """The text, or None where neither source has it."""
        if not usable(file.old_blob):
            return None
        found = self._blob(file.old_blob)
        if found is None or not names(file.old_blob, found):
            found = self._at_home(patch, file)
        return found

    def _at_home(self, patch: Patch, file: FilePatch) -> bytes | None:
        home = self._home()
        if home is None:
            return None
        entry = self._before(patch, home).entry(file.old_path or "")
        if entry is None:
            return None
        return entry.data if names(file.old_blob, entry.data) else None

    def _before(self, patch: Patch, home: Tree) -> Tree:
        """The home release with the stacks below and the stack's earlier patches on it."""
        from backport.core.applying import apply_stack

        states = self._states or [on_top_of(self._below, home)]
        for done in self._stack.patches[len(states) - 1 : self._stack.patches.index(patch)]:
            under = states[-1]
            made = apply_stack(self._stack._replace(patches=(done,)), {}, under).changes
            kept = under.changes if isinstance(under, Overlay) else {}
            states.append(Overlay(home, {**kept, **made}))
        self._states = states
        return states[self._stack.patches.index(patch)]


def on_top_of(below: Sequence[Stack], home: Tree) -> Overlay:
    """The release with these stacks on it, as far as they have a place there."""
    from backport.core.applying import apply_stack

    overlay = Overlay(home)
    for stack in below:
        overlay.changes.update(apply_stack(stack, {}, overlay).changes)
    return overlay


def names(blob: str, data: bytes) -> bool:
    """True where a (perhaps shortened) blob id of a patch names exactly this content."""
    if len(blob) < SHORTEST:
        return False
    return blob_id(data, "sha256" if len(blob) == 64 else "sha1").startswith(blob)


def usable(blob: str) -> bool:
    """True for the id of a blob that there is, long enough to name one."""
    return len(blob) >= SHORTEST and bool(blob.strip("0"))
