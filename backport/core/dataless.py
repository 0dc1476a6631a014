"""Lines in which git and other tools tell of a change without the data that would make it."""

from __future__ import annotations

import re

_STARTS = (
    *(b"Binary file", b"Only in ", b"Cannot display: ", b"Symbolic links ", b"File "),
    *(b"Submodule ", b"* Unmerged path ", b"Property changes on: "),
)
_LINE = (
    rb"Binary files .+ and .+ differ|Binary file .+ has changed(?: to .+)?|Only in .+: .+"
    rb"|Cannot display: file marked as a binary type\.|Symbolic links .+ and .+ differ"
    rb"|File .+ is an? .+ while file .+ is an? .+"
    rb"|Submodule .+ [0-9a-f]{7,64}\.\.\.?[0-9a-f]{7,64}.*"
    rb"|Submodule .+ contains (?:untracked|modified) content"
    rb"|\* Unmerged path .+|Property changes on: .+"
)


def is_without_data(line: bytes) -> bool:
    """True for such a line; the message of a commit may hold one too."""
    return line.startswith(_STARTS) and re.fullmatch(_LINE, line) is not None
