"""The mbox of `export` gives plain git the same trees, and exporting leaves no trace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.repos import BRANCH, Repo, Shell, World, patches

LINES = b"".join(b"line %d\n" % number for number in range(1, 21))
OTHER = LINES.replace(b"line 9\n", b"line nine\n")


def exported(world: World, shell: Shell, to: Path) -> Path:
    done = shell(*world.words("export", "-o", str(to)))
    assert (done.code, done.out, done.err) == (0, "", "")
    return to


def am(world: World, mbox: Path, *options: str) -> Repo:
    """A work tree of the release with the mbox taken by `git am`."""
    repo = Repo(mbox.parent / "taken")
    world.repo.git("worktree", "add", "-q", "--detach", str(repo.path), "v1.0.0")
    repo.git("am", "-q", *options, str(mbox))
    return repo


def tree(repo: Repo, commit: str = "HEAD") -> str:
    return repo.git("rev-parse", f"{commit}^{{tree}}")


def set_stack(world: World, before: dict[str, bytes], after: dict[str, bytes | None]) -> None:
    """Make the change of these files, which the release has as `before`, the whole stack."""
    world.repo.commit("More files\n", before)
    world.repo.git("tag", "-f", "v1.0.0")
    world.repo.commit("Change\n", after)
    (world.library.root / "patches/cache/p2.patch").unlink()
    world.library.stack("cache", patches(world.repo, "v1.0.0"))
    world.repo.git("reset", "-q", "--hard", "v1.0.0")


def test_git_am_on_the_base_gives_the_tree_of_apply(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    taken = am(world, exported(world, shell, tmp_path / "mbox"))
    assert shell(*world.words("apply")).code == 0
    assert tree(taken) == tree(world.repo, BRANCH)


def test_git_am_that_keeps_tags_gives_the_messages_of_apply(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    toml = world.library.root / "patches/cache/stack.toml"
    why = "One\n\n#16 [ROCm] two\n# Notes\n  indented\n\nµs and 漢字"
    toml.write_text(toml.read_text().replace('"It is faster."', f'"""{why}"""'))
    taken = am(world, exported(world, shell, tmp_path / "mbox"), "--keep-non-patch")
    assert shell(*world.words("apply")).code == 0
    assert taken.message("HEAD") == world.repo.message(BRANCH)


def test_every_stack_is_a_mail_of_its_own_in_the_manifest_s_order(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    world.repo.commit("Second\n", {"second.txt": b"2\n"})
    world.library.stack("second", patches(world.repo, "v1.0.0"), "The second")
    world.library.manifest("second", "cache")
    taken = am(world, exported(world, shell, tmp_path / "mbox"), "--keep-non-patch")
    subjects = taken.git("log", "--format=%s", "v1.0.0..").splitlines()
    assert subjects == ["[ROCm][Perf] Cache the product (backport)", "The second (backport)"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"a": LINES + b"x"}, {"a": OTHER + b"x"}, id="no newline at the end"),
        pytest.param({"a": b"\0\1" + LINES}, {"a": b"\0\2" + LINES}, id="binary"),
        pytest.param({"caf\udce9 [x]": LINES}, {"caf\udce9 [x]": OTHER}, id="odd path"),
        pytest.param({"a": LINES}, {"a": None, "b": OTHER}, id="rename"),
        pytest.param({"a": LINES}, {"a": OTHER, "empty": b""}, id="empty new file"),
        pytest.param(
            {"a": LINES.replace(b"\n", b"\r\n")},
            {"a": OTHER.replace(b"\n", b"\r\n")},
            id="CRLF line ends",
        ),
        pytest.param(
            {"a": LINES, "b": LINES.replace(b"\n", b"\r\n")},
            {"a": OTHER, "b": OTHER.replace(b"\n", b"\r\n"), "c": b"caf\xe9\r\n"},
            id="CRLF, LF and other encodings in one mail",
        ),
        pytest.param({"a": b"1\r2\n3\n"}, {"a": b"1\r2\n4\n"}, id="a lone carriage return"),
        pytest.param(
            {"a": LINES + b"From x Mon Sep 17 00:00:00 2001\n"},
            {"a": b"From y Mon Sep 17 00:00:00 2001\n" + LINES},
            id="lines that read like a mail's start",
        ),
    ],
)
def test_plain_git_am_takes_what_stacks_may_hold(
    before: dict[str, bytes],
    after: dict[str, bytes | None],
    world: World,
    shell: Shell,
    tmp_path: Path,
) -> None:
    set_stack(world, before, after)
    taken = am(world, exported(world, shell, tmp_path / "mbox"))
    assert shell(*world.words("apply")).code == 0
    assert tree(taken) == tree(world.repo, BRANCH)


def test_export_writes_nothing_into_the_repository(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    before = world.repo.snapshot(), world.repo.objects()
    exported(world, shell, tmp_path / "mbox")
    assert (world.repo.snapshot(), world.repo.objects()) == before


def test_the_mbox_is_the_same_bytes_every_time_and_on_standard_output(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    first = exported(world, shell, tmp_path / "mbox").read_bytes()
    assert exported(world, shell, tmp_path / "again").read_bytes() == first
    assert shell(*world.words("export")).out.encode() == first


HOSTILE = """
[diff]
noprefix = true
mnemonicPrefix = true
external = false
context = 0
interHunkContext = 9
algorithm = minimal
indentHeuristic = false
suppressBlankEmpty = true
submodule = log
orderFile = nowhere
[color]
ui = always
[format]
signOff = true
attach = x
coverLetter = true
from = Other <o@example.com>
headers = "X-Extra: yes\\n"
to = somebody@example.com
cc = somebody@example.com
subjectPrefix = NOT A PATCH
suffix = .txt
numbered = true
thread = deep
notes = true
useAutoBase = true
outputDirectory = elsewhere
signature = mine
[log]
showSignature = true
mailmap = true
date = iso
[i18n]
logOutputEncoding = latin1
[core]
quotePath = false
attributesFile = %s
[mailmap]
file = %s
"""


def test_settings_do_not_change_the_mbox(world: World, shell: Shell, tmp_path: Path) -> None:
    set_stack(world, {"ümlaut.txt": LINES}, {"ümlaut.txt": OTHER, "new.txt": b"a\n\nb\n"})
    toml = world.library.root / "patches/cache/stack.toml"
    toml.write_text(toml.read_text().replace("It is", "Größer is"))
    expected = exported(world, shell, tmp_path / "mbox").read_bytes()
    (tmp_path / "mailmap").write_text("Other Person <o@example.com> <test@example.com>\n")
    (tmp_path / "attributes").write_text("*.txt diff=python\n")
    config = world.repo.path / ".git/config"
    config.write_text(
        config.read_text() + HOSTILE % (tmp_path / "attributes", tmp_path / "mailmap")
    )
    assert exported(world, shell, tmp_path / "hostile").read_bytes() == expected


def test_a_target_that_is_not_clean_gives_no_mbox_but_its_report(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    world.repo.commit("Turned\n", {"engine/attention.py": b"other = 1\n"})
    world.repo.git("tag", "-f", "v1.0.0")
    done = shell(*world.words("export"))
    assert (done.code, done.out) == (1, "")
    assert "[conflict]" in done.err
    assert shell(*world.words("export", "-o", str(tmp_path / "mbox"))).code == 1
    assert not (tmp_path / "mbox").exists()


def test_a_stack_that_is_there_already_gives_an_empty_mbox(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    assert shell(*world.words("apply")).code == 0
    world.repo.git("tag", "-f", "v1.0.0", BRANCH)
    assert exported(world, shell, tmp_path / "mbox").read_bytes() == b""


def test_the_folder_of_the_output_is_made(world: World, shell: Shell, tmp_path: Path) -> None:
    path = exported(world, shell, tmp_path / "folder" / "mbox")
    assert path.read_bytes() == exported(world, shell, tmp_path / "mbox").read_bytes() != b""


def test_an_output_that_cannot_be_written_is_one_line(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    path = tmp_path / "file" / "mbox"
    done = shell(*world.words("export", "-o", str(path)))
    assert (done.code, done.out) == (3, "")
    (line,) = done.problems
    assert line.startswith(f"backport: error: {path}: cannot be written: ")


def test_a_link_or_a_pipe_is_written_in_place(world: World, shell: Shell, tmp_path: Path) -> None:
    mbox = exported(world, shell, tmp_path / "mbox").read_bytes()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "linked")
    assert exported(world, shell, link).is_symlink()
    assert (tmp_path / "linked").read_bytes() == mbox
    read, write = os.pipe()
    assert exported(world, shell, Path(f"/dev/fd/{write}"))
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == mbox
