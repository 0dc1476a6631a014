"""The cached releases: one root commit each, the archive's files and nothing of this machine."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path

import pytest

from backport import releases
from tests.repos import Repo

pytestmark = pytest.mark.vllm

COMMIT = "8711f503131a5a06c34a5d7b1ac9742a714d4d7f"
TREE = "c4d1a68b73f0dfac32e7e1033a8176debcd7616b"


def test_a_release_is_one_root_commit_with_upstream_s_tag(released: Path) -> None:
    repo = Repo(released)
    assert repo.git("rev-list", "--count", "v0.28.0") == "1"
    assert repo.git("log", "-1", "--format=%s|%an", "v0.28.0").startswith("vllm 0.28.0, from its")


def test_the_same_archive_gives_the_same_commit_on_every_machine(released: Path) -> None:
    shown = Repo(released).git("rev-parse", "v0.28.0", "v0.28.0^{tree}").splitlines()
    assert shown == [COMMIT, TREE]


def test_a_second_call_fetches_nothing(released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BACKPORT_CACHE", str(released.parent))
    seen: list[str] = []
    assert releases.ensure("v0.28.0", lambda what, done, total: seen.append(what)) == released
    assert seen == []


def test_every_file_of_the_archive_is_in_the_commit_with_its_bytes(released: Path) -> None:
    archive = released.parent / "archives" / "vllm-0.28.0.tar.gz"
    listing = Repo(released).raw("ls-tree", "-r", "-z", "v0.28.0").split(b"\0")[:-1]
    found = {line.partition(b"\t")[2].decode(): line.split()[2].decode() for line in listing}
    with tarfile.open(archive) as tar:
        wanted = {}
        for member in tar:
            if member.isfile():
                file = tar.extractfile(member)
                data = file.read() if file else b""
                head = b"blob %d\0" % len(data)
                name = member.name.partition("/")[2]
                wanted[name] = hashlib.sha1(head + data, usedforsecurity=False).hexdigest()
    assert found == wanted
    assert len(found) > 5000
