"""The words of a change: which of them the target's file knows.

A change that speaks of a name which its own pre-image had and the target has not
needs a commit that the target lacks: four of five such merges differ from what a
maintainer makes of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from backport.core.diffing import changes
from backport.core.units import STRINGS

_WORD = re.compile(rb"[^\W\d]\w*")
_DOTTED = re.compile(rb"(?<![\w.])[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_CALL = re.compile(rb"(?<![\w.])[^\W\d][\w.]*\(\w+")
_HEADER = re.compile(rb"^[ \t]*(?:async[ \t]+def|def|class)[ \t]+(\w+)(.*)", re.MULTILINE)


class Vocabulary(NamedTuple):
    """What a change says, against the target's file.

    `lacking`: the pre-image has it and the target has not; `drifted`: functions that
    both define with another header; `fresh`: words that neither has.
    """

    lacking: frozenset[bytes] = frozenset()
    drifted: frozenset[bytes] = frozenset()
    fresh: frozenset[bytes] = frozenset()

    @property
    def known(self) -> bool:
        """True where nothing tells that the target lacks what the change builds on."""
        return not self.lacking and not self.drifted


def vocabulary(base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes]) -> Vocabulary:
    """The words that the change from `base` to `theirs` adds, judged by the text `ours`."""
    added = b"".join(b"".join(theirs[c.b0 : c.b1]) for c in changes(base, theirs))
    say, before, there = (code(text) for text in (added, b"".join(base), b"".join(ours)))
    said, old, new = (set(_WORD.findall(text)) for text in (say, before, there))
    lacking = said & old - new
    for form in set(_DOTTED.findall(say)) | set(_CALL.findall(say)):
        whole = re.compile(rb"(?<![\w.])%s\b" % re.escape(form))
        if whole.search(before) and not whole.search(there):
            lacking.add(form)
    had, has = dict(_HEADER.findall(before)), dict(_HEADER.findall(there))
    drifted = {word for word in said & had.keys() if had[word] != has.get(word)}
    return Vocabulary(frozenset(lacking), frozenset(drifted), frozenset(said - old - new))


def code(text: bytes) -> bytes:
    """The text without what strings and comments say."""
    return STRINGS.sub(b'""', text)


def words(text: bytes) -> frozenset[bytes]:
    """The words of a text, strings and comments left out."""
    return frozenset(_WORD.findall(code(text)))
