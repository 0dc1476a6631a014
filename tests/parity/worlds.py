"""Trees made of a dict of texts."""

from __future__ import annotations

from collections.abc import Mapping

from backport.core.trees import REGULAR, Entry


class Texts:
    """A tree of a few files."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = {path: Entry(REGULAR, text.encode()) for path, text in files.items()}

    def entry(self, path: str) -> Entry | None:
        return self.files.get(path)

    def paths(self) -> Mapping[str, str]:
        return dict.fromkeys(self.files, "")


EMPTY = Texts({})
