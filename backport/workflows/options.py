"""What a person asked of a run; apart from the work, so that asking costs no import of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """What a person asked for; `write` is False for `check` and dry runs."""

    write: bool = True
    audit: bool = True
    parity: bool = True
    checkout: bool = False
    force: bool = False
    lock: bool = False
