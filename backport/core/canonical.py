"""Bring a change into the one form in which the library keeps it."""

from __future__ import annotations

import re
from collections.abc import Callable

from backport.core.patches import FilePatch, Hunk
from backport.core.placing import first_line, scope_line
from backport.core.scopes import Scope, scope_at, scopes


def with_scopes(file: FilePatch, read: Callable[[str], bytes | None]) -> FilePatch:
    """The file's hunks with the Python scope of their first change after `@@`.

    `read` gives the text that the patch was made on; a file of another language,
    one that does not parse and one that is created or deleted have no scopes.
    """
    if file.old_path is None or file.new_path is None or not file.hunks:
        return file._replace(hunks=tuple(hunk._replace(section="") for hunk in file.hunks))
    text = read(file.old_path) if file.old_path.endswith((".py", ".pyi")) else None
    found = scopes(text) if text is not None else None
    hunks = tuple(
        hunk._replace(section="" if found is None else _scope(hunk, found)) for hunk in file.hunks
    )
    return file._replace(hunks=hunks)


def _scope(hunk: Hunk, found: tuple[Scope, ...]) -> str:
    return scope_at(found, scope_line(hunk, first_line(hunk)))


def patch_name(subject: str) -> str:
    """A file name for a patch, from its subject without leading tags."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"^(\s*\[[^\]]*\])+", "", subject).lower())
    return "-".join(words)[:60].strip("-") or "patch"
