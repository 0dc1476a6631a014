"""Merge what one commit did into another tree, as the placement benchmark asks for it.

    GIT_DIR=... python benchmarks/place_commit.py PARENT COMMIT ONTO [--tier applied]

The first line is the resulting tree, the following ones are the paths left in conflict;
exit status 1 where there are any. git's own merge comes first and is kept where it is
clean. New objects are written to GIT_DIR.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from backport.commit_tree import CommitTree
from backport.core.objects import GitObject, parse_tree
from backport.core.trees import DIRECTORY, GITLINK, SYMLINK, Entry
from backport.plumbing import ObjectReader

TIERS = ("applied", "proposed")
ODD = (GITLINK, SYMLINK)
WHO = "b <b@b> 0 +0000"


class Store:
    """The objects of a repository, read through one child and written one file each."""

    algorithm = "sha1"

    def __init__(self, git_dir: str) -> None:
        self.git_dir = git_dir
        self.reader = ObjectReader(git_dir)

    def close(self) -> None:
        self.reader.close()

    def read_object(self, object_id: str) -> bytes:
        found = self.reader.read(object_id)
        if found is None:
            raise KeyError(object_id)
        return found[2]

    def read_objects(self, object_ids: Sequence[str]) -> list[bytes | None]:
        return [found[2] if found else None for found in self.reader.read_many(list(object_ids))]

    def read_tree(self, object_id: str) -> dict[bytes, tuple[str, str]]:
        return parse_tree(self.read_object(object_id))

    def tree_of(self, commit: str) -> str:
        return self.read_object(commit)[5:45].decode()

    def write(self, item: GitObject) -> str:
        raw = b"%s %d\0" % (item.kind.encode(), len(item.data)) + item.data
        name = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
        path = Path(self.git_dir, "objects", name[:2], name[2:])
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            part = path.with_suffix(f".{os.getpid()}")
            part.write_bytes(zlib.compress(raw, 1))
            part.replace(path)
        return name

    def commit(self, tree: str, *parents: str) -> str:
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), f"author {WHO}"]
        return self.write(
            GitObject("commit", "\n".join([*lines, f"committer {WHO}", "", "x", ""]).encode())
        )


class Conflict(NamedTuple):
    """A path that git leaves in conflict: (mode, blob) of base, ours and theirs, where there."""

    path: str
    sides: tuple[tuple[str, str] | None, tuple[str, str] | None, tuple[str, str] | None]


def git_merge(store: Store, parent: str, commit: str, onto: str) -> tuple[str, list[Conflict]]:
    """The tree of git's own merge, and what it leaves in conflict."""
    base = store.commit(store.tree_of(parent))
    ours, theirs = (store.commit(store.tree_of(name), base) for name in (onto, commit))
    done = subprocess.run(
        ["git", f"--git-dir={store.git_dir}", "merge-tree", "--write-tree", "-z",
         "--no-messages", ours, theirs],
        capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode not in (0, 1):
        raise KeyError(done.stderr.decode("utf-8", "replace"))
    head, *rows = done.stdout.split(b"\0")
    stages: dict[str, dict[int, tuple[str, str]]] = {}
    for row in rows:
        if row:
            words, _, path = row.partition(b"\t")
            mode, blob, stage = words.decode().split()
            stages.setdefault(os.fsdecode(path), {})[int(stage)] = (mode, blob)
    found = [Conflict(path, (at.get(1), at.get(2), at.get(3))) for path, at in stages.items()]
    return head.decode(), found


class Placed(NamedTuple):
    """What became of one conflict: the entry for the tree, and by which rules."""

    path: str
    entry: Entry | None
    settled: bool
    applied: bool
    rules: tuple[str, ...]
    words: str = ""
    why: str = ""


def place(store: Store, conflict: Conflict) -> Placed:
    """One conflict settled by the rules of `backport.core`, or left where none fits."""
    base, ours, theirs = conflict.sides
    if base and not ours and theirs:
        return Placed(conflict.path, None, True, False, ("absent-file",))
    if base and ours and not theirs:
        return Placed(conflict.path, None, True, False, ("removed-file",))
    mode = ours[0] if ours else "100644"
    kept = Entry(mode, store.read_object(ours[1])) if ours and mode != GITLINK else None
    if not (base and ours and theirs) or {base[0], mode, theirs[0]} & set(ODD):
        return Placed(conflict.path, kept, False, False, ("no-text",))
    from backport.core.merging_confidence import wording
    from backport.core.merging_files import merge_file

    texts = [store.read_object(side[1]) for side in (base, ours, theirs)]
    found = merge_file(conflict.path, *texts)
    mode = mode if theirs[0] == base[0] else theirs[0]
    entry = kept if found.text is None else Entry(mode, found.text)
    rules = tuple(map(str, found.rules))
    said = wording(found.words)
    return Placed(
        conflict.path, entry, found.text is not None, found.applied, rules, said, found.why
    )


def place_all(
    store: Store, conflicts: list[Conflict], parent: str, commit: str, onto: str
) -> list[Placed]:
    """Every conflict placed; none counts as applied where the whole change does not stand."""
    done = [place(store, conflict) for conflict in conflicts]
    if all(one.applied for one in done) and not _stands(store, conflicts, parent, commit, onto):
        done = [one._replace(applied=False, why="not the whole change") for one in done]
    return done


def _stands(store: Store, conflicts: list[Conflict], parent: str, commit: str, onto: str) -> bool:
    """True where the files beside the conflicts say nothing against the change."""
    from backport.core.merging_files import together
    from backport.core.texts import split_keeping_ends
    from backport.core.vocabulary import vocabulary

    before, after, target = (CommitTree(store, store.tree_of(n)) for n in (parent, commit, onto))
    created, others = [], []
    beside = {conflict.path for conflict in conflicts}
    for path in _changed(before, after, ""):
        sides = [tree.entry(path) for tree in (before, target, after)]
        if sides[0] is None:
            created.append(path)
        elif path.endswith(".py") and path not in beside and all(sides):
            texts = [split_keeping_ends(side.data) for side in sides if side]
            others.append(vocabulary(*texts))
    return not together((), created, others)


def _changed(before: CommitTree, after: CommitTree, folder: str) -> Iterator[str]:
    """The paths of the later tree that the change touches; folders alike are not read."""
    old, new = before.folder(folder) or {}, after.folder(folder) or {}
    for name, entry in new.items():
        path = f"{folder}/{os.fsdecode(name)}" if folder else os.fsdecode(name)
        if old.get(name) == entry:
            continue
        if entry[0] == DIRECTORY:
            yield from _changed(before, after, path)
        else:
            yield path


def main() -> int:
    """Print the tree and the conflicts that are left."""
    parent, commit, onto = sys.argv[1:4]
    tier = sys.argv[5] if sys.argv[4:5] == ["--tier"] else "proposed"
    store = Store(os.environ["GIT_DIR"])
    tree, conflicts = git_merge(store, parent, commit, onto)
    left = []
    if conflicts:
        done = place_all(store, conflicts, parent, commit, onto)
        left = [one.path for one in done if not (one.applied if tier == "applied" else one.settled)]
        changes = {one.path: one.entry for one in done}
        tree, made = CommitTree(store, tree).with_changes(changes)
        for item in made:
            store.write(item)
    store.close()
    sys.stdout.write("\n".join([tree, *left]) + "\n")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
