"""What stands in the squashed commits: exactly the stack's changes, and the message as written."""

from __future__ import annotations

import os

import pytest

from tests.repos import BRANCH, ENGINE, FUSED, Library, Repo, Shell, World, patches

LINES = b"".join(b"line %d\n" % number for number in range(1, 21))
OTHER = LINES.replace(b"line 9\n", b"line nine\n")


def developed(world: World, before: dict[str, bytes], after: dict[str, bytes | None]) -> Repo:
    """Put files into the release, change them upstream, and make that the stack."""
    world.repo.commit("More files\n", before)
    world.repo.git("tag", "-f", "v1.0.0")
    repo = Repo(world.repo.path.parent / "developed")
    world.repo.git("worktree", "add", "-q", "--detach", str(repo.path), "v1.0.0")
    repo.commit("Change them\n", after)
    replace_stack(world.library, patches(repo, "v1.0.0"))
    return repo


def replace_stack(
    library: Library, mails: list[bytes], title: str = "Change", why: str = "W"
) -> None:
    for path in (library.root / "patches/cache").glob("*.patch"):
        path.unlink()
    library.stack("cache", mails, title, why)


def same_as_developed(world: World, repo: Repo) -> bool:
    """True where the branch's tree is the very tree that upstream made."""
    wanted = repo.git("rev-parse", "HEAD^{tree}")
    return world.repo.git("rev-parse", f"{BRANCH}^{{tree}}") == wanted


# ---------------------------------------------------------------- the tree


def test_the_diff_of_the_branch_is_the_stack_and_nothing_else(world: World, shell: Shell) -> None:
    assert shell(*world.words("apply")).code == 0
    assert world.repo.files(BRANCH) == {**ENGINE, **FUSED}
    names = world.repo.git("diff", "--name-status", "v1.0.0", BRANCH).splitlines()
    assert names == ["M\tengine/attention.py", "A\tengine/cache.py"]


PATHS = [
    pytest.param("cfg dir/E=128,block_shape=[128,128].json", id="brackets and a space"),
    pytest.param('quo"te.txt', id="double quote"),
    pytest.param("it's.txt", id="single quote"),
    pytest.param("tab\tx.txt", id="tab"),
    pytest.param("new\nline.txt", id="newline"),
    pytest.param("carriage\rreturn.txt", id="carriage return"),
    pytest.param("na ve café 漢字.txt", id="non-ASCII"),
    pytest.param("latin\udce9.txt", id="not UTF-8"),
    pytest.param("-dash.txt", id="a dash first"),
    pytest.param("--output=x", id="like an option"),
    pytest.param(":(top)x", id="like a pathspec"),
    pytest.param("star*.txt", id="star"),
    pytest.param("back\\slash.txt", id="backslash"),
    pytest.param("a b/b.txt", id="name that reads like two"),
    pytest.param("b/x b/x", id="name that holds the middle of a header"),
    pytest.param("b", id="one letter"),
    pytest.param("x ", id="trailing space"),
    pytest.param("esc\x1b[31m.txt", id="terminal escape"),
    pytest.param("a/b/c/d/e/f.txt", id="deep folders"),
    pytest.param(".github.txt", id="a dot first"),
    pytest.param("#hash", id="hash"),
    pytest.param("$(touch x)", id="shell text"),
]


@pytest.mark.parametrize("path", PATHS)
def test_odd_paths_are_changed_created_and_deleted_under_their_own_name(
    path: str, world: World, shell: Shell
) -> None:
    gone, new = f"{path}.gone", f"{path}.new"
    after = {path: OTHER, gone: None, new: b"new\n"}
    repo = developed(world, {path: LINES, gone: b"gone\n"}, after)
    done = shell(*world.words("apply", "-v"))
    assert (done.code, done.err) == (0, "")
    assert same_as_developed(world, repo)
    assert world.repo.files(BRANCH)[path] == OTHER
    assert world.repo.is_sound()


CONTENTS = {
    "no newline at the end": (b"a\nb\nc", b"a\nB\nc"),
    "newline added at the end": (b"a\nb\nc", b"a\nb\nc\n"),
    "newline taken from the end": (b"a\nb\nc\n", b"a\nb\nc"),
    "CRLF line ends": (LINES.replace(b"\n", b"\r\n"), OTHER.replace(b"\n", b"\r\n")),
    "mixed line ends": (LINES + b"x\r\ny\n", OTHER + b"x\r\ny\n"),
    "only carriage returns": (b"a\rb\rc\r", b"a\rB\rc\r"),
    "separators inside lines": (
        "a\u2028b\x85c\x0bd\x0ce\x1cf\n".encode() + LINES,
        "a\u2028b\x85C\x0bd\x0ce\x1cf\n".encode() + LINES,
    ),
    "not UTF-8": (b"caf\xe9\n" + LINES, b"caf\xe8\n" + LINES),
    "a byte order mark": (b"\xef\xbb\xbfa\n" + LINES, b"\xef\xbb\xbfb\n" + LINES),
    "emptied": (b"a\n", b""),
    "filled": (b"", b"a\n"),
    "text like a diff": (LINES + b"--- a\n+++ b\n@@ -1 +1 @@\n", OTHER + b"--- a\n+++ b\n"),
    "text like a mail signature": (LINES + b"-- \n2.39\n", OTHER + b"- \n2.39\n"),
    "text like a mail's From line": (
        LINES + b"From 0 Mon Sep 17 00:00:00 2001\n",
        OTHER + b"From 1 Mon Sep 17 00:00:00 2001\n",
    ),
    "binary": (bytes(range(256)) * 3, bytes(reversed(range(256))) * 3),
    "first and last line": (LINES, b"0\n" + LINES[7:-8] + b"end\n"),
}


@pytest.mark.parametrize(("before", "after"), CONTENTS.values(), ids=CONTENTS.keys())
def test_bytes_are_kept(before: bytes, after: bytes, world: World, shell: Shell) -> None:
    repo = developed(world, {"file": before}, {"file": after})
    assert shell(*world.words("apply")).code == 0
    assert same_as_developed(world, repo)
    assert world.repo.files(BRANCH)["file"] == after


def test_the_base_s_mode_is_kept_and_a_changed_mode_is_carried(world: World, shell: Shell) -> None:
    world.repo.write({"tool": LINES})
    (world.repo.path / "tool").chmod(0o755)
    repo = developed(world, {"plain": b"1\n"}, {"tool": OTHER, "new": b"n\n"})
    (repo.path / "plain").chmod(0o755)
    repo.commit("Executable\n", {})
    replace_stack(world.library, patches(repo, "v1.0.0"))
    assert shell(*world.words("apply")).code == 0
    assert same_as_developed(world, repo)
    listing = world.repo.git("ls-tree", BRANCH, "new", "plain", "tool").splitlines()
    assert [line.split()[0] for line in listing] == ["100644", "100755", "100755"]


def test_symbolic_links_are_made_and_changed_as_links(world: World, shell: Shell) -> None:
    (world.repo.path / "link").symlink_to("README.md")
    repo = developed(world, {}, {})
    (repo.path / "link").unlink()
    (repo.path / "link").symlink_to("engine/ops.py")
    (repo.path / "second").symlink_to("link")
    repo.commit("Links\n", {})
    replace_stack(world.library, patches(repo, "v1.0.0", "HEAD")[-1:])
    assert shell(*world.words("apply")).code == 0
    assert same_as_developed(world, repo)
    listing = world.repo.git("ls-tree", BRANCH, "link", "second").splitlines()
    assert [line.split()[0] for line in listing] == ["120000", "120000"]


def test_renames_with_and_without_changes(world: World, shell: Shell) -> None:
    repo = developed(
        world,
        {"old.txt": LINES, "moved.txt": LINES + b"x\n"},
        {"old.txt": None, "new.txt": LINES, "moved.txt": None, "deep/er.txt": OTHER + b"x\n"},
    )
    assert shell(*world.words("apply")).code == 0
    assert same_as_developed(world, repo)


def test_a_folder_whose_last_file_goes_is_gone(world: World, shell: Shell) -> None:
    repo = developed(world, {"a/b/only.txt": b"1\n"}, {"a/b/only.txt": None, "a.txt": b"1\n"})
    assert shell(*world.words("apply")).code == 0
    assert same_as_developed(world, repo)


def test_a_file_that_becomes_a_folder(world: World, shell: Shell) -> None:
    world.repo.commit("A file\n", {"thing": LINES})
    world.repo.git("tag", "-f", "v1.0.0")
    repo = Repo(world.repo.path.parent / "developed")
    world.repo.git("worktree", "add", "-q", "--detach", str(repo.path), "v1.0.0")
    repo.commit("Delete\n", {"thing": None})
    repo.commit("Folder\n", {"thing/inner": LINES})
    replace_stack(world.library, patches(repo, "v1.0.0"))
    assert shell(*world.words("apply")).code == 0
    assert same_as_developed(world, repo)


@pytest.mark.parametrize("start", ["a file", "a folder"])
def test_a_file_and_a_folder_take_each_other_s_place_in_one_patch(
    start: str, world: World, shell: Shell
) -> None:
    one, two = ({"thing": LINES}, {"thing/inner": OTHER, "thing/x": b"x\n"})
    before, after = (one, two) if start == "a file" else (two, one)
    developed(world, before, {})
    repo = Repo(world.repo.path.parent / "developed")
    repo.git("rm", "-qr", "thing")
    repo.commit("The other\n", dict(after))
    replace_stack(world.library, patches(repo, "v1.0.0")[-1:])
    assert shell(*world.words("apply")).code == 0
    assert same_as_developed(world, repo)
    assert world.repo.is_sound()


def test_files_that_exchange_their_names(world: World, shell: Shell) -> None:
    rows, words = (b"".join(b"%s %d\n" % (w, n) for n in range(90)) for w in (b"row", b"word"))
    after = {"one": rows, "two": words.replace(b"word 50\n", b"a longer word\n")}
    repo = developed(world, {"one": words, "two": rows}, dict(after))
    mail = repo.raw("format-patch", "-1", "--stdout", "--full-index", "-B", "-M", "HEAD")
    assert mail.count(b"\nrename from ") == 2
    replace_stack(world.library, [mail])
    assert shell(*world.words("apply")).code == 0
    assert same_as_developed(world, repo)


def test_names_sort_as_git_sorts_them(world: World, shell: Shell) -> None:
    repo = developed(world, {}, {"a-b": b"1\n", "a/b": b"2\n", "a.b": b"3\n", "a0": b"4\n"})
    assert shell(*world.words("apply")).code == 0
    assert same_as_developed(world, repo)
    assert world.repo.is_sound()


def test_a_submodule_of_the_base_is_kept(world: World, shell: Shell) -> None:
    head = world.repo.git("rev-parse", "HEAD")
    world.repo.git("update-index", "--add", "--cacheinfo", f"160000,{head},engine/vendored")
    world.repo.git("commit", "-q", "-m", "Submodule")
    world.repo.git("tag", "-f", "v1.0.0")
    assert shell(*world.words("apply")).code == 0
    line = world.repo.git("ls-tree", BRANCH, "engine/vendored")
    assert line.split()[:3] == ["160000", "commit", head]


def test_later_patches_see_what_earlier_ones_made(world: World, shell: Shell) -> None:
    repo = developed(world, {}, {"new.txt": LINES})
    repo.commit("Then change it\n", {"new.txt": OTHER})
    repo.commit("Then move it\n", {"new.txt": None, "newer.txt": OTHER})
    replace_stack(world.library, patches(repo, "v1.0.0"))
    assert shell(*world.words("apply")).code == 0
    assert same_as_developed(world, repo)
    assert world.repo.git("rev-list", "--count", f"v1.0.0..{BRANCH}") == "1"


# ---------------------------------------------------------------- the message


TITLES = [
    "[ROCm][Perf] Fuse the KV gather [MI355X] (#123)",
    "[kimik3][/?#] list[int]",
    "#hash first",
    "fixup! not a fixup",
    "Revert the revert: café 漢字",
    "x" * 300,
    'quotes " and \\ backslashes',
    "esc \x1b[31m and bidi \u202e",
]


@pytest.mark.parametrize(
    "title", TITLES, ids=lambda title: title[:20].encode("unicode_escape").decode()
)
def test_the_subject_is_kept_byte_for_byte(title: str, world: World, shell: Shell) -> None:
    repo = developed(world, {}, {"new.txt": b"new\n"})
    replace_stack(world.library, patches(repo, "v1.0.0"), title)
    assert shell(*world.words("apply")).code == 0
    first = world.repo.message(BRANCH).split(b"\n")[0]
    assert first == f"{title} (backport)".encode()


WHYS = {
    "lines that start with a hash": "These pull requests:\n#16 [ROCm][Perf] one\n\n# Notes\nlast",
    "trailing spaces and tabs": "kept  \n\tindented\t\nend",
    "several blank lines": "one\n\n\n\nfour",
    "scissors": "# ------------------------ >8 ------------------------\nkept",
    "text like trailers": "Signed-off-by: nobody <n@x>\nReviewed-by: nobody <n@x>",
    "non-ASCII": "µs, naïve, 漢字",
}


@pytest.mark.parametrize("why", WHYS.values(), ids=WHYS.keys())
def test_the_reason_is_kept_byte_for_byte(why: str, world: World, shell: Shell) -> None:
    world.repo.git("config", "commit.cleanup", "strip")
    repo = developed(world, {}, {"new.txt": b"new\n"})
    replace_stack(world.library, patches(repo, "v1.0.0"), "Change", why)
    assert shell(*world.words("apply")).code == 0
    body = world.repo.message(BRANCH).decode().partition("\n\n")[2]
    assert body.startswith(f"{why}\n\nStack: cache@")


def test_git_itself_sees_every_trailer_and_nothing_else(world: World, shell: Shell) -> None:
    ids = [f"{number:040x}" for number in (10, 11, 12)]
    toml = world.library.root / "patches/cache/stack.toml"
    toml.write_text(
        toml.read_text()
        + '[upstream]\nrepo = "vllm-project/vllm"\npull = 47757\nrelation = "cherry-pick"\n'
        + f"commits = {ids}\n"
    )
    assert shell(*world.words("apply")).code == 0
    message = world.repo.message(BRANCH)
    assert message.splitlines()[0] == b"[ROCm][Perf] Cache the product (backport #47757)"
    parsed = world.repo.git("interpret-trailers", "--parse", feed=message).splitlines()
    digest, decided = (parsed[place].partition("@")[2] for place in (4, 5))
    assert (len(digest), len(decided)) == (12, 12)
    assert parsed == [
        "Backport-of: vllm-project/vllm#47757",
        *(f"Upstream-commit: {commit}" for commit in ids),
        f"Stack: cache@{digest}",
        f"Manifest: me/v1.0.0@{decided}",
        "Signed-off-by: Test Person <test@example.com>",
    ]


def test_author_committer_and_date(world: World, shell: Shell) -> None:
    base_date = world.repo.git("log", "-1", "--format=%ct", "v1.0.0")
    assert shell(*world.words("apply")).code == 0
    shown = world.repo.git("log", "-1", "--format=%an|%ae|%cn|%ce|%at|%ct|%G?", BRANCH)
    person = "Test Person|test@example.com"
    assert shown == f"{person}|{person}|{base_date}|{base_date}|N"


@pytest.mark.parametrize(
    ("date", "kept"),
    [
        ("1750000000 -0330", "1750000000 -0330"),
        ("@1750000000 +0200", "1750000000 +0200"),
        ("2025-01-01T00:00:00Z", "1735689600 +0000"),
        ("2025-01-01 00:00:00 +0100", "1735686000 +0100"),
        ("Mon, 16 Jun 2025 00:00:00 +0000", "1750032000 +0000"),
    ],
)
def test_every_date_that_git_reads_may_be_the_committers(
    date: str, kept: str, world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", date)
    assert shell(*world.words("apply", "--no-audit")).code == 0
    assert world.repo.git("log", "-1", "--format=%ad|%cd", "--date=raw", BRANCH) == f"{kept}|{kept}"


def test_a_date_that_git_cannot_read_is_told_before_anything_is_written(
    world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "the other day")
    done = shell(*world.words("apply", "--no-audit"))
    problem = "backport: error: git var failed: fatal: invalid date format: the other day"
    assert (done.code, done.problems) == (3, [problem])


def test_deviations_are_told_in_the_message(world: World, shell: Shell) -> None:
    hunk = hunk_of(world, shell, "engine/cache.py")
    world.library.manifest(
        "cache",
        more=f'[[drop]]\nhunk = "{hunk}"\nreason = "the store is there already"\n'
        'when = { present = "engine/ops.py::gather" }\n',
    )
    assert shell(*world.words("apply")).code == 0
    message = world.repo.message(BRANCH).decode()
    expected = (
        f"Differences from upstream on {BRANCH}:\n- engine/cache.py: the store is there already\n"
    )
    assert f"\n\n{expected}\n" in message
    assert "engine/cache.py" not in world.repo.files(BRANCH)


def hunk_of(world: World, shell: Shell, path: str) -> str:
    """The id of the one hunk of a path, as `show` prints it."""
    out = shell("show", "cache", *world.words("x")[1:]).out
    (found,) = [line for line in out.splitlines() if f":{path}#" in line and line[0] != " "]
    return found


def test_a_file_name_with_the_bytes_of_the_file_system(world: World, shell: Shell) -> None:
    name = os.fsencode("latin\udce9.txt")
    assert name == b"latin\xe9.txt"
    developed(world, {"latin\udce9.txt": LINES}, {"latin\udce9.txt": OTHER})
    assert shell(*world.words("apply")).code == 0
    listed = world.repo.raw("ls-tree", "-z", "--name-only", BRANCH).split(b"\0")
    assert name in listed
