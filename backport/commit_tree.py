"""The files of one commit, and the trees that changing some of them gives."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from backport.core.objects import GitObject, blob_id, parse_tree, render_tree
from backport.core.paths import decode, encode, parents
from backport.core.trees import DIRECTORY, GITLINK, Entry

_NO_FILE = (DIRECTORY, GITLINK)


class Objects(Protocol):
    """Where objects come from: a repository."""

    algorithm: str

    def read_object(self, object_id: str) -> bytes: ...

    def read_objects(self, object_ids: Sequence[str]) -> list[bytes | None]: ...

    def read_tree(self, object_id: str) -> dict[bytes, tuple[str, str]]: ...


class CommitTree:
    """The tree of one commit, read folder by folder as it is asked for."""

    def __init__(self, objects: Objects, tree: str) -> None:
        self._objects = objects
        self.id = tree
        self._folders: dict[str, dict[bytes, tuple[str, str]] | None] = {}
        self._entries: dict[str, Entry | None] = {}

    def folder(self, path: str) -> dict[bytes, tuple[str, str]] | None:
        """The raw entries of a folder (the top is ""), or None where there is none."""
        if path not in self._folders:
            self._folders[path] = self._read_folder(path)
        return self._folders[path]

    def _read_folder(self, path: str) -> dict[bytes, tuple[str, str]] | None:
        if not path:
            return self._objects.read_tree(self.id)
        found = self.locate(path)
        if found is None or found[0] != DIRECTORY:
            return None
        return self._objects.read_tree(found[1])

    def locate(self, path: str) -> tuple[str, str] | None:
        """The (mode, object id) at `path`, or None."""
        above, _, name = path.rpartition("/")
        folder = self.folder(above)
        return None if folder is None else folder.get(encode(name))

    def entry(self, path: str) -> Entry | None:
        if path not in self._entries:
            self._entries[path] = self._read_entry(path)
        return self._entries[path]

    def _read_entry(self, path: str) -> Entry | None:
        found = self.locate(path)
        if found is None:
            return None
        mode, object_id = found
        if mode in _NO_FILE:
            return Entry(mode, b"")
        return Entry(mode, self._objects.read_object(object_id))

    def prefetch(self, paths: Collection[str]) -> None:
        """Read these files and the folders above them in as few round trips as there are levels."""
        wanted = {above for path in paths for above in parents(path)} - self._folders.keys()
        for level in sorted({folder.count("/") for folder in wanted}):
            self._prefetch_folders([path for path in wanted if path.count("/") == level])
        found = {path: self.locate(path) for path in paths if path not in self._entries}
        files = [
            (path, *place) for path, place in found.items() if place and place[0] not in _NO_FILE
        ]
        contents = self._objects.read_objects([object_id for _, _, object_id in files])
        for (path, mode, _), data in zip(files, contents, strict=True):
            if data is not None:
                self._entries[path] = Entry(mode, data)

    def _prefetch_folders(self, paths: list[str]) -> None:
        found = {path: self.locate(path) for path in paths}
        folders = [
            (path, place[1]) for path, place in found.items() if place and place[0] == DIRECTORY
        ]
        contents = self._objects.read_objects([object_id for _, object_id in folders])
        for (path, _), data in zip(folders, contents, strict=True):
            if data is not None:
                self._folders[path] = parse_tree(data, self._objects.algorithm)

    def paths(self) -> Mapping[str, str]:
        self._read_folders([""])
        return dict(self._walk(""))

    def _read_folders(self, level: list[str]) -> None:
        """Read every folder below these, in as few round trips as there are levels."""
        while level:
            self._prefetch_folders([path for path in level if path and path not in self._folders])
            level = [
                f"{above}/{decode(name)}" if above else decode(name)
                for above in level
                for name, (mode, _) in (self.folder(above) or {}).items()
                if mode == DIRECTORY
            ]

    def _walk(self, folder: str) -> Iterator[tuple[str, str]]:
        for name, (mode, object_id) in (self.folder(folder) or {}).items():
            path = f"{folder}/{decode(name)}" if folder else decode(name)
            if mode == DIRECTORY:
                yield from self._walk(path)
            else:
                yield path, object_id

    def with_changes(self, changes: Mapping[str, Entry | None]) -> tuple[str, list[GitObject]]:
        """The id of the tree with these changes, and the objects that it needs."""
        objects: list[GitObject] = []
        flat: dict[str, tuple[str, str] | None] = {}
        for path, entry in changes.items():
            flat[path] = None
            if entry is not None:
                objects.append(GitObject("blob", entry.data))
                flat[path] = (entry.mode, blob_id(entry.data, self._objects.algorithm))
        root = self._rebuild("", flat, objects)
        return root or self._empty(objects), objects

    def with_ids(self, changes: Mapping[str, tuple[str, str] | None]) -> str:
        """The id of the tree with these (mode, blob id) changes, whatever the blobs hold."""
        objects: list[GitObject] = []
        return self._rebuild("", changes, objects) or self._empty(objects)

    def _empty(self, objects: list[GitObject]) -> str:
        empty = GitObject("tree", b"")
        objects.append(empty)
        return empty.id(self._objects.algorithm)

    def _rebuild(
        self, folder: str, changes: Mapping[str, tuple[str, str] | None], objects: list[GitObject]
    ) -> str | None:
        """The id of one folder with its changes, or None where it has become empty."""
        entries = dict(self.folder(folder) or {})
        below: dict[str, dict[str, tuple[str, str] | None]] = {}
        for path, value in changes.items():
            name, slash, rest = path.partition("/")
            if slash:
                below.setdefault(name, {})[rest] = value
            elif value is None:
                entries.pop(encode(name), None)
            else:
                entries[encode(name)] = value
        for name, inside in below.items():
            child = self._rebuild(f"{folder}/{name}" if folder else name, inside, objects)
            if child is not None:
                entries[encode(name)] = (DIRECTORY, child)
            elif changes.get(name) is None:  # else a file has taken the empty folder's place
                entries.pop(encode(name), None)
        if not entries:
            return None
        made = render_tree(entries)
        objects.append(made)
        return made.id(self._objects.algorithm)
