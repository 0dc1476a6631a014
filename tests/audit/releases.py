"""Real releases as trees: read from the bare git repository that a variable names."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from functools import cache

import pytest

from backport.core.trees import Entry, Tree

VARIABLE = "BACKPORT_TEST_VLLM"


class GitTree:
    """The tree of a tag, through one `git cat-file` child."""

    def __init__(self, repository: str, tag: str) -> None:
        listed = subprocess.run(
            ["git", "-C", repository, "ls-tree", "-r", "-z", tag],
            capture_output=True, check=True,
        ).stdout  # fmt: skip
        self._modes: dict[str, str] = {}
        self._blobs: dict[str, str] = {}
        for line in filter(None, listed.split(b"\0")):
            head, _, path = line.partition(b"\t")
            mode, _, blob = head.decode().split()
            self._modes[os.fsdecode(path)] = mode
            self._blobs[os.fsdecode(path)] = blob
        self._child = subprocess.Popen(
            ["git", "-C", repository, "cat-file", "--batch"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def paths(self) -> Mapping[str, str]:
        return self._blobs

    def entry(self, path: str) -> Entry | None:
        blob = self._blobs.get(path)
        if blob is None or self._child.stdin is None or self._child.stdout is None:
            return None
        self._child.stdin.write(f"{blob}\n".encode())
        self._child.stdin.flush()
        size = int(self._child.stdout.readline().split()[2])
        data = self._child.stdout.read(size)
        self._child.stdout.read(1)
        return Entry(self._modes[path], data)

    def close(self) -> None:
        self._child.communicate()


@cache
def release(version: str) -> Tree:
    """The tree of a release, e.g. "0.28.0"; the test is skipped where there is none."""
    repository = os.environ.get(VARIABLE)
    if not repository:
        pytest.skip(f"{VARIABLE} names no repository of releases")
    return GitTree(repository, f"v{version}")
