"""Git's objects: the ids and bytes are git's own."""

from __future__ import annotations

import pytest

from backport.core.objects import (
    GitObject,
    Identity,
    blob_id,
    commit_text,
    parse_tree,
    render_commit,
    render_pack,
    render_tree,
)
from tests.core.conftest import Git

AUTHOR = Identity("Zoë Müller", "zoe@example.com", "1750000000 +0200")
COMMITTER = Identity("Release Bot", "bot@example.com", "1750000001 -0330")
MESSAGE = "[ROCm][Perf] Größe\n\n# a line\n\n---\ntext\n\nKey: value\n"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
        (b"hello\n", "ce013625030ba8dba906f756967f9e9ca394464a"),
    ],
    ids=["empty", "hello"],
)
def test_a_blob_has_the_id_that_git_gives_it(data: bytes, name: str) -> None:
    assert blob_id(data) == name


def test_a_repository_with_other_hashes_has_other_ids() -> None:
    assert blob_id(b"", "sha256") == (
        "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
    )


def test_an_empty_tree_has_the_id_that_git_gives_it() -> None:
    assert render_tree({}).id() == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def test_blobs_trees_and_commits_have_the_ids_that_git_gives_them(git: Git) -> None:
    blobs = {
        data: git("hash-object", "-w", "--stdin", feed=data).decode().strip() for data in CONTENTS
    }
    assert {data: blob_id(data) for data in CONTENTS} == blobs
    empty = git("mktree", feed=b"").decode().strip()
    entries = _entries(blobs[b"text\n"], empty)
    listing = b"".join(
        b"%s %s %s\t%s\0" % (mode.encode(), _kind(mode), found.encode(), name)
        for name, (mode, found) in entries.items()
    )
    tree = git("mktree", "-z", "--missing", feed=listing).decode().strip()
    assert render_tree(entries).id() == tree
    assert parse_tree(git("cat-file", "tree", tree)) == entries
    packed = [render_tree(entries), *_commits(tree), GitObject("blob", b"y" * 100_000)]
    pack = b"".join(render_pack(packed))
    git("index-pack", "--stdin", feed=pack)
    for made in packed:
        assert git("cat-file", made.kind, made.id()) == made.data
    made = _commits(tree)[-1]
    assert git("log", "-1", "--format=%an <%ae> %ad|%cn <%ce> %cd|%B", "--date=raw", made.id()) == (
        f"{AUTHOR}|{COMMITTER}|{MESSAGE}\n".encode()
    )


CONTENTS = [b"", b"text\n", b"\0\xff\r\n", b"x" * 100_000]


def _entries(blob: str, tree: str) -> dict[bytes, tuple[str, str]]:
    """Entries whose order is git's only where folders sort as if they ended in a slash."""
    return {
        b"a": ("040000", tree),
        b"a-b": ("100644", blob),
        b"a.b": ("100755", blob),
        b"a0": ("120000", blob),
        b"caf\xc3\xa9": ("100644", blob),
        b"sub": ("160000", "1" * 40),
        b"\xff": ("100644", blob),
    }


def _kind(mode: str) -> bytes:
    return {"040000": b"tree", "160000": b"commit"}.get(mode, b"blob")


def _commits(tree: str) -> list[GitObject]:
    first = render_commit(tree, [], AUTHOR, COMMITTER, "first\n")
    second = render_commit(tree, [first.id()], AUTHOR, COMMITTER, "second\n")
    return [
        first,
        second,
        render_commit(tree, [first.id(), second.id()], AUTHOR, COMMITTER, MESSAGE),
    ]


def test_folders_sort_as_if_they_ended_in_a_slash() -> None:
    entries = {b"a": ("040000", "1" * 40), b"a-": ("100644", "2" * 40), b"a0": ("100644", "3" * 40)}
    assert render_tree(entries).data == (
        b"100644 a-\0" + b"\x22" * 20 + b"40000 a\0" + b"\x11" * 20 + b"100644 a0\0" + b"\x33" * 20
    )


def test_a_tree_is_read_as_it_was_written() -> None:
    for algorithm, width in (("sha1", 40), ("sha256", 64)):
        entries = {b"a b": ("100644", "1" * width), b"d": ("040000", "f" * width)}
        assert parse_tree(render_tree(entries).data, algorithm) == entries


def test_a_commit_is_written_byte_for_byte() -> None:
    assert (
        render_commit("1" * 40, ["2" * 40], AUTHOR, COMMITTER, MESSAGE).data
        == (
            f"tree {'1' * 40}\nparent {'2' * 40}\n"
            "author Zoë Müller <zoe@example.com> 1750000000 +0200\n"
            "committer Release Bot <bot@example.com> 1750000001 -0330\n"
            f"\n{MESSAGE}"
        ).encode()
    )


@pytest.mark.parametrize(
    ("header", "data", "text"),
    [
        ("", "Größe".encode(), "Größe"),
        ("", b"caf\xe9", "caf\udce9"),
        ("ISO-8859-1", b"caf\xe9", "café"),
        ("CP1251", b"\xcf\xf0", "Пр"),
        ("UTF-8", b"caf\xe9", "caf\udce9"),
        ("KLINGON", b"caf\xe9", "caf\udce9"),
        ("EUC-JP", b"caf\xe9", "caf\udce9"),
        ("UTF-16", b"cafe", "cafe"),
        ("hex", b"cafe", "cafe"),
        ("UTF-7", b"+2AA-", "+2AA-"),
    ],
)
def test_a_commit_is_read_by_its_encoding_and_none_that_fails_loses_a_byte(
    header: str, data: bytes, text: str
) -> None:
    line = f"\nencoding {header}".encode() if header else b""
    head, message = commit_text(b"tree 1\nauthor %s <a@b.c> 1 +0000%s\n\n%s\n" % (data, line, data))
    assert head.split("\n")[1] == f"author {text} <a@b.c> 1 +0000"
    assert message == f"{text}\n"
