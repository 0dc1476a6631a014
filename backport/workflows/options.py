"""What a person asked of a run; apart from the work, so that asking costs no import of it."""

from __future__ import annotations

from typing import NamedTuple


class Options(NamedTuple):
    """What a person asked for; `write` is False for `check` and dry runs."""

    write: bool = True
    audit: bool = True
    parity: bool = True
    checkout: bool = False
    force: bool = False
    lock: bool = False
    texts: bool = False  # also tell each hunk's lines, for a report that is read elsewhere
