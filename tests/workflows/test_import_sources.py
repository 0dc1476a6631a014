"""What may be imported besides a range of commits, and what the stack then says of itself."""

from __future__ import annotations

import io
import json
import os
import tomllib
from hashlib import sha256
from pathlib import Path

import pytest

from tests.repos import BRANCH, ENGINE, FUSED, Done, Shell, World, patches

LINES = b"".join(b"line %d\n" % number for number in range(1, 21))
CHANGED = LINES.replace(b"line 9\n", b"line nine\n")


@pytest.fixture
def work(world: World) -> World:
    """A world whose checkout is on a branch with two commits that nobody has imported."""
    world.repo.git("checkout", "-q", "-b", "work")
    world.repo.commit("Add lines\n\nCo-authored-by: A <a@b.c>\n", {"lines.txt": LINES})
    world.repo.commit("Change a line\n\nSigned-off-by: B <b@b.c>\n", {"lines.txt": CHANGED})
    return world


def run(work: World, shell: Shell, source: str | Path, *more: str) -> Done:
    place = ("--repo", str(work.repo.path), "--root", str(work.library.root))
    return shell("import", source, "--stack", "mine", *place, *more)


def toml(work: World) -> dict[str, object]:
    return tomllib.loads((work.library.root / "patches/mine/stack.toml").read_text())


def files(work: World) -> dict[str, bytes]:
    folder = work.library.root / "patches/mine"
    return {path.name: path.read_bytes() for path in folder.glob("*")} if folder.exists() else {}


def mailbox(work: World, folder: Path) -> Path:
    """The branch as `git format-patch` writes it with the user's own settings."""
    path = folder / "pull.mbox"
    path.write_bytes(work.repo.raw("format-patch", "--stdout", "-U5", "v1.0.0..work"))
    return path


def same_tree(work: World, shell: Shell) -> None:
    """`apply` of the imported stack gives the tree of the branch."""
    work.library.manifest("mine")
    assert shell(*work.words("apply", "--force")).code == 0
    trees = [work.repo.git("rev-parse", f"{name}^{{tree}}") for name in (BRANCH, "work")]
    assert trees[0] == trees[1]


def test_a_mailbox_gives_the_same_stack_as_its_commits(
    work: World, shell: Shell, tmp_path: Path
) -> None:
    assert run(work, shell, mailbox(work, tmp_path)).code == 0
    by_mail = {name: text for name, text in files(work).items() if name != "stack.toml"}
    assert run(work, shell, "v1.0.0..work", "--force").code == 0
    assert {name: files(work)[name] for name in by_mail} == by_mail
    same_tree(work, shell)


def test_the_stack_says_where_it_came_from(work: World, shell: Shell, tmp_path: Path) -> None:
    mbox = mailbox(work, tmp_path)
    assert run(work, shell, mbox, "--pull", "47757").code == 0
    commits = work.repo.git("rev-list", "--reverse", "v1.0.0..work").split()
    found = toml(work)
    assert (found["kind"], found["home"], found["title"]) == ("upstream", "v1.0.0", "Change a line")
    assert found["retire"] == "when vllm-project/vllm#47757 is in the base"
    assert found["upstream"] == {
        "repo": "vllm-project/vllm",
        "pull": 47757,
        "state": "open",
        "relation": "cherry-pick",
        "commits": commits,
        "source": os.path.relpath(mbox, work.library.root),
        "imported": found["upstream"]["imported"],  # type: ignore[index]
    }
    for patch in found["upstream"]["imported"]:
        name, _, digest = patch.partition("@")
        assert sha256(files(work)[f"{name}.patch"]).hexdigest().startswith(digest)
    assert "patches/mine" not in shell("lint", "--root", str(work.library.root)).err


def test_authors_and_sign_offs_of_others_stay_in_the_squashed_commit(
    work: World, shell: Shell
) -> None:
    work.repo.git("commit", "-q", "--amend", "--no-edit", "--author=C <c@b.c>")
    assert run(work, shell, "v1.0.0..work").code == 0
    same_tree(work, shell)
    message = work.repo.message(BRANCH).decode()
    block = message.rstrip("\n").rpartition("\n\n")[2].split("\n")
    assert block[-4:] == [  # the committer is no co-author beside himself
        "Co-authored-by: A <a@b.c>",
        "Co-authored-by: C <c@b.c>",
        "Signed-off-by: B <b@b.c>",
        "Signed-off-by: Test Person <test@example.com>",
    ]
    parsed = work.repo.git("interpret-trailers", "--parse", feed=message.encode())
    assert parsed.split("\n") == block


def test_a_branch_is_its_commits_above_the_nearest_release(work: World, shell: Shell) -> None:
    assert run(work, shell, "work").code == 0
    assert files(work)["series"] == b"add-lines\nchange-a-line\n"
    assert toml(work)["home"] == "v1.0.0"
    same_tree(work, shell)


def test_standard_input_is_a_mailbox(
    work: World, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = mailbox(work, tmp_path).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run(work, shell, "-").code == 0
    same_tree(work, shell)


QUILT = b"Description: Add lines\nAuthor: D <d@b.c>\n\n"
LISTS = {
    "quilt": ("series", b"# order\nb/Add_Lines.patch -p1\nchange.diff # last\n"),
    "electron": (".patches", b"b/Add_Lines.patch\nchange.diff\n"),
}


@pytest.mark.parametrize(("name", "text"), LISTS.values(), ids=LISTS.keys())
def test_a_folder_is_taken_in_the_order_of_its_list(
    name: str, text: bytes, work: World, shell: Shell, tmp_path: Path
) -> None:
    first, second = patches(work.repo, "v1.0.0")
    folder = tmp_path / "debian"
    (folder / "b").mkdir(parents=True)
    (folder / name).write_bytes(text)
    (folder / "b/Add_Lines.patch").write_bytes(QUILT + first[first.index(b"diff --git") :])
    (folder / "change.diff").write_bytes(second)
    assert run(work, shell, folder).code == 0
    assert files(work)["series"] == b"add-lines\nchange\n"
    same_tree(work, shell)


HEADED = {
    "fields": b"Description: Change a line\n It is old.\n .\n And slow.\nAuthor: D <d@b.c>\n"
    b"Forwarded: no\n\n",
    "subject and from": b"From: D <d@b.c>\nSubject: Change a line\n It is old.\n .\n And slow.\n"
    b"Forwarded: no\n---\n",
    "text below the fields": b"Author: D <d@b.c>\nForwarded: no\n\nChange a line\n"
    b"It is old.\n\nAnd slow.\n",
}


@pytest.mark.parametrize("text", HEADED.values(), ids=HEADED.keys())
def test_a_quilt_header_is_subject_author_and_reason(
    text: bytes, work: World, shell: Shell, tmp_path: Path
) -> None:
    work.repo.git("tag", "v1.1.0", "work~1")
    diff = work.repo.raw("diff", "work~1", "work")
    (tmp_path / "series").write_bytes(b"one.diff\n")
    (tmp_path / "one.diff").write_bytes(text + diff)
    assert run(work, shell, tmp_path, "--home", "v1.1.0").code == 0
    patch = files(work)["one.patch"]
    body = b"It is old.\n\nAnd slow.\n\nForwarded: no\n---\n"
    assert b"\nFrom: D <d@b.c>\n" in patch
    assert b"\nSubject: [PATCH] Change a line\n\n" + body in patch
    found = toml(work)
    assert found["title"] == "Change a line"
    assert str(found["why"]).strip("\n") == "It is old.\n\nAnd slow.\n\nForwarded: no"


def test_free_text_above_a_diff_is_subject_and_reason(
    work: World, shell: Shell, tmp_path: Path
) -> None:
    work.repo.git("tag", "v1.1.0", "work~1")
    diff = work.repo.raw("diff", "work~1", "work")
    (tmp_path / "series").write_bytes(b"one.diff\n")
    (tmp_path / "one.diff").write_bytes(b"Change a line.\n\nIt is old.\n---\n" + diff)
    assert run(work, shell, tmp_path, "--home", "v1.1.0").code == 0
    assert b"\nSubject: [PATCH] Change a line.\n\nIt is old.\n---\n" in files(work)["one.patch"]


def test_numbered_files_need_no_list(work: World, shell: Shell, tmp_path: Path) -> None:
    work.repo.git("format-patch", "-q", "-o", str(tmp_path / "out"), "v1.0.0..work")
    (tmp_path / "out/notes.txt").write_text("not a patch")
    assert run(work, shell, tmp_path / "out").code == 0
    assert files(work)["series"] == b"add-lines\nchange-a-line\n"


def test_the_last_version_of_a_series_is_taken_and_told(
    work: World, shell: Shell, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    work.repo.git("format-patch", "-q", "-v10", "-o", str(out), "v1.0.0..work")
    assert "holds" not in run(work, shell, out).err
    assert files(work)["series"] == b"add-lines\nchange-a-line\n"
    same_tree(work, shell)
    for version in ([], ["-v2"]):
        work.repo.git("format-patch", "-q", *version, "-1", "-o", str(out), "work~1")
    done = run(work, shell, out, "--force")
    assert done.code == 0
    told = f"note: {out}: holds v1 and v2 too; v10-0001-Add-lines.patch and its like are taken"
    assert done.problems == [told]
    assert files(work)["series"] == b"add-lines\nchange-a-line\n"


def test_mails_of_one_subject_are_numbered_and_a_mail_that_is_there_twice_is_refused(
    work: World, shell: Shell, tmp_path: Path
) -> None:
    first, second = patches(work.repo, "v1.0.0")
    path = tmp_path / "two.mbox"
    path.write_bytes(first + second.replace(b"Change a line", b"Add lines"))
    assert run(work, shell, path).code == 0
    assert files(work)["series"] == b"add-lines\nadd-lines-2\n"
    path.write_bytes(first + second + second)
    done = run(work, shell, path, "--force")
    assert done.code == 2
    again, before = (1 + text.count(b"\n") for text in (first + second, first))
    told = f"{path}:{again}: holds the same patch as {path}:{before}; leave one out"
    assert done.problems == [f"backport: error: {told}"]


@pytest.mark.parametrize("zeros", [[], ["--zero-commit"]], ids=["ids of commits", "no ids"])
def test_a_change_that_was_taken_back_and_made_again_is_taken_like_its_commits(
    zeros: list[str], work: World, shell: Shell, tmp_path: Path
) -> None:
    for revert in ("HEAD", "HEAD"):
        work.repo.git("revert", "--no-edit", revert)
    path = tmp_path / "back.mbox"
    path.write_bytes(work.repo.raw("format-patch", "--stdout", *zeros, "v1.0.0..work"))
    assert run(work, shell, path).code == 0
    assert len(files(work)["series"].splitlines()) == 4
    same_tree(work, shell)


def test_a_mail_of_one_id_is_the_same_mail_whatever_stands_between(
    work: World, shell: Shell, tmp_path: Path
) -> None:
    work.repo.git("revert", "--no-edit", "HEAD")
    back = [
        mail.replace(b"\nSubject", b"\nMessage-ID: <%d@x>\nSubject" % nth, 1)
        for nth, mail in enumerate(patches(work.repo, "v1.0.0"))
    ]
    path = tmp_path / "again.mbox"
    path.write_bytes(b"".join([*back, back[1]]))
    done = run(work, shell, path)
    assert done.code == 2
    assert " holds the same patch as " in done.problems[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"gone.patch\n", "series: names gone.patch, which is not there"),
        (b"one.patch -R\n", "series:1: one.patch has the option -R; only -p1 is read"),
        (b"\n../one.patch\n", "series:2: unsafe path '../one.patch': it has the component '..'"),
        (b"# nothing\n", "series: names no patch"),
        (b"a.patch\n\na.patch\n", "series:3: names a.patch a second time"),
    ],
)
def test_a_list_that_cannot_be_followed_is_one_line(
    text: bytes, problem: str, work: World, shell: Shell, tmp_path: Path
) -> None:
    folder = tmp_path / "q"
    folder.mkdir()
    (folder / "series").write_bytes(text)
    done = run(work, shell, folder)
    assert (done.code, done.problems) == (2, [f"backport: error: {folder}/{problem}"])
    assert files(work) == {}


def test_a_source_that_is_no_regular_file_is_not_waited_for(
    work: World, shell: Shell, tmp_path: Path
) -> None:
    lone, listed, numbered, series = (tmp_path / name for name in ("x.patch", "a", "b", "c"))
    os.mkfifo(lone)
    for folder, name in ((listed, "x.patch"), (numbered, "0001-x.patch"), (series, "series")):
        folder.mkdir()
        os.mkfifo(folder / name)
    (listed / "series").write_text("x.patch\n")
    told = "is a pipe, socket or device, and no regular file"
    for source, problem in (
        (lone, f"{lone}: is a pipe; give - and let the shell redirect it: `- < {lone}`"),
        (listed, f"{listed}/x.patch: {told}"),
        (numbered, f"{numbered}/0001-x.patch: {told}"),
        (series, f"{series}/series: {told}"),
        ("/dev/null", f"/dev/null: {told}"),
    ):
        done = run(work, shell, source)
        assert (done.code, done.problems) == (2, [f"backport: error: {problem}"])
    assert files(work) == {}


def test_what_else_lies_in_an_old_stack_stays(work: World, shell: Shell, tmp_path: Path) -> None:
    path = mailbox(work, tmp_path)
    assert run(work, shell, path).code == 0
    notes = work.library.root / "patches/mine/notes"
    os.mkfifo(notes)
    assert run(work, shell, path, "--force").code == 0
    assert notes.is_fifo()
    assert [path.name for path in (work.library.root / "patches").glob("*mine*")] == ["mine"]


def test_a_cover_letter_becomes_title_and_reason(work: World, shell: Shell, tmp_path: Path) -> None:
    cover = b"From: A <a@b.c>\nSubject: [PATCH 0/2] [ROCm] Fuse it\n\nIt is slow.\n\n---\n 1 file\n"
    path = tmp_path / "series.mbox"
    zero = b"From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
    path.write_bytes(zero + cover + b"\n" + mailbox(work, tmp_path).read_bytes())
    done = run(work, shell, path)
    assert done.code == 0
    assert "the cover letter is kept as the stack's title and reason" in done.err
    assert (toml(work)["title"], toml(work)["why"]) == ("[ROCm] Fuse it", "It is slow.")


def test_patches_without_a_place_at_home_are_named_and_nothing_is_written(
    work: World, shell: Shell, tmp_path: Path
) -> None:
    work.repo.commit("Other engine\n", {"engine/ops.py": b"x = 1\n"})
    work.repo.commit("Wanted\n", {"engine/ops.py": b"x = 2\n"})
    path = tmp_path / "one.patch"
    path.write_bytes(work.repo.raw("format-patch", "-1", "--stdout"))
    done = run(work, shell, path, "--home", "v1.0.0")
    assert done.code == 1
    assert ": engine/ops.py: " in done.problems[0]
    assert done.problems[0].endswith("[conflict]")
    assert "give the --home that they are written on, or --unplaced" in done.problems[-1]
    assert files(work) == {}
    assert run(work, shell, path).code == 2  # no release of the library fits: nothing is guessed
    assert files(work) == {}
    assert run(work, shell, path, "--home", "v1.0.0", "--unplaced").code == 0
    assert "patches/mine" not in shell("lint", "--root", str(work.library.root)).err


def test_what_the_home_has_already_is_nothing_to_import(
    work: World, shell: Shell, tmp_path: Path
) -> None:
    mbox = mailbox(work, tmp_path)
    work.repo.git("tag", "v1.1.0", "work")
    done = run(work, shell, mbox, "--home", "v1.1.0")
    assert done.code == 1
    assert done.problems == [
        f"backport: error: {mbox}: the home has this change already; nothing was written"
    ]
    assert files(work) == {}


def test_a_home_that_is_nowhere_is_refused(work: World, shell: Shell, tmp_path: Path) -> None:
    done = run(work, shell, "v1.0.0..work", "--home", "v9.9.9")
    assert done.code == 3
    assert "has no commit v9.9.9" in done.problems[0]
    assert files(work) == {}


def test_commits_of_another_branch_are_written_anew_for_the_home(work: World, shell: Shell) -> None:
    longer = b"# new\n\n" + ENGINE["engine/attention.py"]
    work.repo.commit("Longer\n", {"engine/attention.py": longer})
    middle = work.repo.git("rev-parse", "HEAD")
    data = longer.replace(b"return g * self.scale", b"return self.scale * g")
    work.repo.commit("More\n", {"engine/attention.py": data})
    assert run(work, shell, f"{middle}..work", "--home", "v1.0.0").code == 0
    assert b"\n@@ -10,4 +10,4 @@ Attention.backward\n" in files(work)["more.patch"]
    assert toml(work)["home"] == "v1.0.0"


def test_merges_and_empty_commits_are_taken_only_when_told_how(work: World, shell: Shell) -> None:
    work.repo.git("checkout", "-q", "-b", "side", "v1.0.0")
    work.repo.commit("There\n", {"side.txt": LINES})
    work.repo.git("checkout", "-q", "work")
    work.repo.git("merge", "-q", "-m", "Merge side", "side")
    work.repo.commit("Nothing\n", {})
    assert run(work, shell, "v1.0.0..work").code == 2
    assert run(work, shell, "v1.0.0..work", "--first-parent").code == 2
    done = run(work, shell, "v1.0.0..work", "--first-parent", "--skip-empty")
    assert done.code == 0
    assert "changes nothing and is left out" in done.err
    assert files(work)["series"] == b"add-lines\nchange-a-line\nmerge-side\n"
    same_tree(work, shell)


def test_a_change_on_top_of_other_stacks_says_which_ones_it_needs(
    world: World, shell: Shell
) -> None:
    world.library.stack("notes", [_note(world)], "Notes")
    world.library.manifest("notes", "cache")
    assert shell(*world.words("apply")).code == 0
    world.repo.git("checkout", "-q", "-b", "work", BRANCH)
    fused = FUSED["engine/attention.py"].replace(b"return q * k", b"return k * q")
    world.repo.commit("Turn it\n", {"engine/attention.py": fused})
    done = run(world, shell, f"{BRANCH}..work")
    assert done.code == 0
    assert "it needs cache, whose files it changes" in done.err
    assert (toml(world)["home"], toml(world)["after"]) == ("v1.0.0", ["cache"])
    world.library.manifest("notes", "mine")
    alone = shell(*world.words("check"))
    assert "mine must come after cache; list that one before it" in alone.err
    world.library.manifest("notes", "cache", "mine")
    assert shell(*world.words("apply")).code == 0
    trees = [world.repo.git("rev-parse", f"{name}^{{tree}}") for name in (BRANCH, "work")]
    assert trees[0] == trees[1]


def test_a_mail_that_fits_only_on_top_of_a_stack_says_so(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    assert shell(*world.words("apply")).code == 0
    world.repo.git("checkout", "-q", "-b", "work", BRANCH)
    fused = FUSED["engine/attention.py"].replace(b"return q * k", b"return k * q")
    world.repo.commit("Turn it\n", {"engine/attention.py": fused})
    path = tmp_path / "turn.patch"
    path.write_bytes(world.repo.raw("format-patch", "-1", "--stdout"))
    done = run(world, shell, path, "--home", "v1.0.0")
    assert done.code == 0
    assert "fits v1.0.0 only on top of cache: `after` in stack.toml says so" in done.err
    assert toml(world)["after"] == ["cache"]
    world.library.manifest("cache", "mine")
    assert shell(*world.words("apply")).code == 0
    trees = [world.repo.git("rev-parse", f"{name}^{{tree}}") for name in (BRANCH, "work")]
    assert trees[0] == trees[1]


def on_top(world: World, shell: Shell) -> bytes:
    """A commit on top of what `apply` left, imported and listed as a stack of its own."""
    assert shell(*world.words("apply")).code == 0
    world.repo.git("checkout", "-q", "-b", "work", BRANCH)
    fused = FUSED["engine/attention.py"].replace(b"return q * k", b"return k * q")
    world.repo.commit("Turn it\n", {"engine/attention.py": fused})
    assert run(world, shell, f"{BRANCH}..work").code == 0
    world.library.manifest("cache", "mine")
    assert shell(*world.words("apply")).code == 0
    return fused


def test_a_stack_that_is_imported_again_does_not_need_itself(world: World, shell: Shell) -> None:
    more = on_top(world, shell) + b"\n# more\n"
    world.repo.commit("Turn more\n", {"engine/attention.py": more})
    again = run(world, shell, f"{BRANCH}..work", "--update")
    assert "it needs cache, whose" in again.err
    (world.library.root / "patches/mine/stack.toml").unlink()
    assert run(world, shell, f"{BRANCH}..work", "--force").code == 0
    assert toml(world)["after"] == ["cache"]
    assert shell(*world.words("apply")).code == 0


def test_a_mail_that_is_imported_again_does_not_need_itself(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    on_top(world, shell)
    path = tmp_path / "turn.patch"
    path.write_bytes(world.repo.raw("format-patch", "-1", "--stdout"))
    (world.library.root / "patches/mine/stack.toml").unlink()
    done = run(world, shell, path, "--home", "v1.0.0", "--force")
    assert done.code == 0
    assert toml(world)["after"] == ["cache"]


def test_a_change_on_top_of_the_stack_itself_is_for_refresh(world: World, shell: Shell) -> None:
    on_top(world, shell)
    world.repo.git("checkout", "-q", "-B", "work", BRANCH)
    world.repo.commit("Fix it\n", {"engine/cache.py": b"class Cache(dict):\n    size = 1\n"})
    done = run(world, shell, f"{BRANCH}..work", "--force")
    assert done.code == 2
    assert "stands on mine itself, as `apply` made it; take a change of it back" in done.err


def _note(world: World) -> bytes:
    world.repo.commit("Note\n", {"README.md": b"# Engine\n\nNote.\n"})
    (mail,) = patches(world.repo, "v1.0.0")
    world.repo.git("reset", "-q", "--hard", "v1.0.0")
    return mail


def test_the_tool_s_own_commits_are_no_change_to_import(world: World, shell: Shell) -> None:
    assert shell(*world.words("apply")).code == 0
    done = run(world, shell, f"v1.0.0..{BRANCH}")
    assert done.code == 2
    assert "is the stack cache as `apply` made it; start the range above it" in done.problems[0]


# ---------------------------------------------------------------- --update


def entry(work: World, patch: str) -> str:
    """A manifest entry for the one hunk of a patch of the stack."""
    shown = shell_ids(work)
    hunk = next(line for line in shown if line.startswith(f"mine/{patch}:"))
    return f'[[drop]]\nhunk = "{hunk}"\nreason = "r"\nwhen = {{ absent = "gone" }}\n'


def shell_ids(work: World) -> list[str]:
    from backport.library import read

    library, _ = read(work.library.root)
    return [str(found[0]) for found in library.stacks["mine"].hunks()]


def test_an_update_tells_what_moved_and_which_entries_still_hold(work: World, shell: Shell) -> None:
    work.repo.commit("Third\n", {"third.txt": b"3\n"})
    assert run(work, shell, "v1.0.0..work", "--pull", "7").code == 0
    more = entry(work, "change-a-line") + entry(work, "third")
    work.library.manifest("mine", more=more)
    work.repo.git("reset", "-q", "--hard", "HEAD~2")
    work.repo.commit("Change a line\n", {"lines.txt": CHANGED.replace(b"nine", b"NINE")})
    work.repo.commit("Third\n", {"third.txt": b"3\n"})
    work.repo.commit("Fourth\n", {"fourth.txt": b"4\n"})
    before = files(work)
    dry = run(work, shell, "", "--update", "--dry-run")
    assert files(work) == before
    done = run(work, shell, "", "--update")
    assert (dry.code, done.code) == (1, 1)
    lines = done.out.splitlines()
    assert lines[:2] == ["= add-lines", "! change-a-line: 0 hunks kept, 1 new, 1 gone"]
    assert lines[2].startswith("    @@ ")
    assert "    -+line nine" in lines
    assert "    ++line NINE" in lines
    assert "= third" in lines
    assert "> fourth" in lines
    gone = next(line for line in lines if "error: drop" in line)
    assert "mine/change-a-line:lines.txt#1@" in gone
    assert "the hunk is gone; the hunk there now is mine/change-a-line:lines.txt#1@" in gone
    assert any(line.endswith("still holds") and "mine/third:" in line for line in lines)
    assert toml(work)["upstream"]["commits"] == (  # type: ignore[index]
        work.repo.git("rev-list", "--reverse", "v1.0.0..work").split()
    )


def test_the_hunks_of_a_patch_that_went_are_gone(work: World, shell: Shell) -> None:
    work.repo.commit("Third\n", {"third.txt": b"3\n"})
    assert run(work, shell, "v1.0.0..work").code == 0
    work.repo.git("reset", "-q", "--hard", "HEAD~1")
    told = json.loads(run(work, shell, "v1.0.0..work", "--update", "--json").out)
    last = told["revisions"][-1]
    assert (last["mark"], last["old"]) == ("<", "third")
    assert last["hunks"] == {"kept": 0, "new": 0, "gone": 1}


@pytest.mark.parametrize("home", ["v1.0.0", "1.0.0"])
def test_a_home_is_named_with_or_without_its_v(home: str, work: World, shell: Shell) -> None:
    assert run(work, shell, "v1.0.0..work", "--home", home).code == 0
    assert toml(work)["home"] == "v1.0.0"


@pytest.mark.parametrize("home", ["v1.0.0~0", "HEAD~2"])
def test_a_home_that_is_an_expression_is_kept_as_what_it_means(
    home: str, work: World, shell: Shell
) -> None:
    assert run(work, shell, "v1.0.0..work", "--home", home).code == 0
    assert toml(work)["home"] == "v1.0.0"


def test_a_tag_that_is_a_bare_version_stays_a_home(work: World, shell: Shell) -> None:
    work.repo.git("tag", "1.0.0", "v1.0.0")
    assert run(work, shell, "v1.0.0..work", "--home", "1.0.0").code == 0
    assert toml(work)["home"] == "1.0.0"


def test_an_update_without_news_writes_nothing(work: World, shell: Shell) -> None:
    assert run(work, shell, "v1.0.0..work").code == 0
    before = files(work)
    done = run(work, shell, "v1.0.0..work", "--update")
    assert (done.code, done.out) == (0, "= add-lines\n= change-a-line\nnothing moved\n")
    assert files(work) == before


def test_an_update_keeps_what_a_person_wrote(work: World, shell: Shell) -> None:
    assert run(work, shell, "v1.0.0..work").code == 0
    path = work.library.root / "patches/mine/stack.toml"
    path.write_text("# ours\n" + path.read_text())
    work.repo.commit("Third\n", {"third.txt": b"3\n"})
    assert run(work, shell, "v1.0.0..work", "--update").code == 0
    assert path.read_text().startswith("# ours\n")
    assert len(toml(work)["upstream"]["commits"]) == 3  # type: ignore[index]


def test_what_an_import_did_for_a_machine(work: World, shell: Shell) -> None:
    done = run(work, shell, "v1.0.0..work", "--json")
    told = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert (told["stack"], told["patches"]) == ("mine", ["add-lines", "change-a-line"])
    assert told["commits"] == work.repo.git("rev-list", "--reverse", "v1.0.0..work").split()
    assert "patches/mine/stack.toml" in told["written"]
    assert told["revisions"] is None
    work.library.manifest("mine", more=entry(work, "change-a-line"))
    work.repo.commit("Third\n", {"third.txt": b"3\n"})
    moved = run(work, shell, "v1.0.0..work", "--update", "--dry-run", "--json")
    again = json.loads(moved.out)
    assert [each["mark"] for each in again["revisions"]] == ["=", "=", ">"]
    assert again["revisions"][2]["hunks"] == {"kept": 0, "new": 1, "gone": 0}
    assert [(each["verb"], each["holds"]) for each in again["entries"]] == [("drop", True)]
    assert again["written"] == []
    assert "patches/mine/third.patch" in again["would_write"]


@pytest.mark.parametrize("more", [(), ("--update",)], ids=["new", "update"])
def test_a_dry_run_tells_what_would_be_written(
    more: tuple[str, ...], work: World, shell: Shell
) -> None:
    if more:
        assert run(work, shell, "v1.0.0..work").code == 0
        work.repo.commit("Third\n", {"third.txt": b"3\n"})
    before = files(work)
    dry = run(work, shell, "v1.0.0..work", *more, "--dry-run")
    machine = json.loads(run(work, shell, "v1.0.0..work", *more, "--dry-run", "--json").out)
    assert (dry.code, files(work)) == (0, before)
    done = run(work, shell, "v1.0.0..work", *more).out.splitlines()
    written = [line for line in done if line.startswith("patches/")]
    told = [line for line in dry.out.splitlines() if line.startswith("would write ")]
    assert told == [f"would write {path}" for path in written]
    assert (machine["would_write"], machine["written"]) == (written, [])
    assert written
    refused = run(work, shell, "v1.0.0..work", "--dry-run")
    assert (refused.code, refused.out) == (2, "")


@pytest.mark.parametrize("source", ["nofile.patch", "no-branch", "./nofile", "v1.0.0.mbox"])
def test_a_source_that_is_nothing_is_told_as_such(source: str, work: World, shell: Shell) -> None:
    done = run(work, shell, source)
    problem = f"backport: error: {source}: there is no such file, branch or range"
    assert (done.code, done.problems) == (2, [problem])


# ---------------------------------------------------------------- what an update must not do


def stack_toml(work: World) -> Path:
    return work.library.root / "patches/mine/stack.toml"


def told(done: Done) -> str:
    """The one line of a refusal."""
    assert (done.code, done.out) == (2, "")
    (line,) = done.problems
    return line.removeprefix("backport: error: ")


def test_a_file_is_found_again_from_any_folder(
    work: World, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mbox = mailbox(work, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run(work, shell, mbox.name).code == 0
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere" / mbox.name
    other.write_bytes(mbox.read_bytes().replace(b"+line nine", b"+line 9 of another change"))
    monkeypatch.chdir(other.parent)
    assert run(work, shell, "", "--update").out.endswith("nothing moved\n")
    mbox.unlink()
    assert told(run(work, shell, "", "--update")) == (
        f"patches/mine/stack.toml: its source ../../pull.mbox is not there (it would be {mbox}); "
        "give the SOURCE"
    )


def test_a_file_inside_the_library_is_no_branch(work: World, shell: Shell) -> None:
    inside = work.library.root / "work"
    inside.write_bytes(mailbox(work, work.library.root).read_bytes())
    assert run(work, shell, inside).code == 0
    assert toml(work)["upstream"]["source"] == "./work"  # type: ignore[index]
    assert run(work, shell, "", "--update").out.endswith("nothing moved\n")


def test_a_recorded_file_that_holds_another_change_is_refused(
    work: World, shell: Shell, tmp_path: Path
) -> None:
    mbox = mailbox(work, tmp_path)
    assert run(work, shell, mbox).code == 0
    work.repo.git("checkout", "-q", "-b", "other", "v1.0.0")
    work.repo.commit("Another change\n", {"README.md": b"# Engine, and more\n"})
    mbox.write_bytes(work.repo.raw("format-patch", "--stdout", "v1.0.0..other"))
    before = files(work)
    line = told(run(work, shell, "", "--update"))
    assert line.endswith(
        "shares no change with mine; give the SOURCE if it is the right one, or --force"
    )
    assert files(work) == before
    assert run(work, shell, mbox, "--update").code == 0
    assert files(work)["series"] == b"another-change\n"


def rebased(work: World, shell: Shell) -> None:
    """The branch imported on one release, then rebased on the next."""
    assert run(work, shell, "work").code == 0
    work.repo.git("checkout", "-q", "-b", "release", "v1.0.0")
    work.repo.commit("Another year\n", {"README.md": b"# Engine, a year on\n"})
    work.repo.git("tag", "v1.1.0")
    work.repo.git("rebase", "-q", "--onto", "v1.1.0", "v1.0.0", "work")


def test_a_branch_that_was_rebased_on_a_release_does_not_bring_it_along(
    work: World, shell: Shell
) -> None:
    rebased(work, shell)
    before = files(work)
    for source in ("", "work", "v1.0.0..work"):
        line = told(run(work, shell, source, "--update"))
        assert line == (
            "v1.0.0..work holds the release v1.1.0, which is no part of the change; give "
            "--home v1.1.0 (and v1.1.0..work) where it stands on that now"
        )
    assert files(work) == before


def test_a_branch_that_no_longer_starts_from_its_home_is_refused(work: World, shell: Shell) -> None:
    assert run(work, shell, "work").code == 0
    work.repo.git("checkout", "-q", "--orphan", "elsewhere", "v1.0.0")
    work.repo.git("commit", "-qm", "Another line of history")
    work.repo.git("rebase", "-q", "--onto", "elsewhere", "v1.0.0", "work")
    line = told(run(work, shell, "", "--update"))
    assert line.startswith("work does not start from v1.0.0; give --home NEW, the release that ")


@pytest.mark.parametrize("source", ["", "work", "v1.1.0..work"])
def test_a_new_home_is_noted_although_no_line_moved(source: str, work: World, shell: Shell) -> None:
    rebased(work, shell)
    done = run(work, shell, source, "--home", "v1.1.0", "--update")
    assert (done.code, "nothing moved" in done.out) == (0, True)
    assert "patches/mine/stack.toml" in done.out
    found = toml(work)
    assert found["home"] == "v1.1.0"
    assert found["upstream"]["source"] == "v1.1.0..work"  # type: ignore[index]
    assert run(work, shell, "", "--update").out.endswith("nothing moved\n")


def test_what_was_changed_here_is_not_undone_by_an_update(work: World, shell: Shell) -> None:
    assert run(work, shell, "work").code == 0
    path = work.library.root / "patches/mine/change-a-line.patch"
    path.write_bytes(path.read_bytes().replace(b"+line nine", b"+line NINE"))
    before = files(work)
    assert told(run(work, shell, "", "--update")) == (
        "patches/mine: change-a-line.patch: changed here since the import, which would be undone; "
        "bring the change into the source first, or give --force to take the source as it is"
    )
    assert told(run(work, shell, "", "--update", "--dry-run"))
    assert files(work) == before
    assert run(work, shell, "", "--update", "--force").code == 0
    assert b"+line nine" in path.read_bytes()
    work.repo.commit("Third\n", {"third.txt": b"3\n"})
    assert run(work, shell, "", "--update").code == 0  # nothing was changed here since


def test_what_the_source_has_taken_over_is_no_loss(work: World, shell: Shell) -> None:
    assert run(work, shell, "work").code == 0
    first = files(work)
    work.repo.write({"lines.txt": CHANGED.replace(b"nine", b"NINE")})
    work.repo.git("commit", "-qa", "--amend", "--no-edit")
    assert run(work, shell, "work", "--update").code == 0
    noted = stack_toml(work).read_bytes()
    stack_toml(work).write_bytes(first["stack.toml"])  # as if the patch was changed by hand
    assert run(work, shell, "", "--update").code == 0
    assert stack_toml(work).read_bytes() == noted


def test_a_stack_of_an_older_import_is_not_judged(work: World, shell: Shell) -> None:
    assert run(work, shell, "work").code == 0
    text = stack_toml(work).read_text()
    stack_toml(work).write_text(text[: text.index("imported")])
    path = work.library.root / "patches/mine/change-a-line.patch"
    path.write_bytes(path.read_bytes().replace(b"+line nine", b"+line NINE"))
    assert run(work, shell, "", "--update").code == 0
    assert len(toml(work)["upstream"]["imported"]) == 2  # type: ignore[index]
