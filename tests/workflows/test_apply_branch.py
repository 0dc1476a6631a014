"""The branch moves last and only as a whole: refused, repeated, concurrent and killed runs."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.repos import BRANCH, ENGINE, FUSED, Repo, Shell, World, child, finished


def refused(world: World, shell: Shell, code: int, *more: str) -> str:
    """The one line with which a run ends that must leave everything as it was."""
    before = world.repo.snapshot(), world.repo.objects()
    done = shell(*world.words("apply", *more))
    assert (done.code, done.out) == (code, "")
    assert (world.repo.snapshot(), world.repo.objects()) == before
    (line,) = done.problems
    return line.removeprefix("backport: error: ")


def applied(world: World, shell: Shell, *more: str) -> str:
    """Run `apply`, which must be clean; the commit that the branch is at."""
    done = shell(*world.words("apply", *more))
    assert (done.code, done.err) == (0, "")
    return world.repo.git("rev-parse", BRANCH)


def other_title(world: World) -> None:
    """Change the stack so that the next run makes another commit."""
    toml = world.library.root / "patches/cache/stack.toml"
    toml.write_text(toml.read_text().replace("Cache the product", "Keep the product"))


# ---------------------------------------------------------------- run again


def test_the_second_run_gives_the_same_ids_and_stores_nothing(world: World, shell: Shell) -> None:
    first = applied(world, shell)
    before = world.repo.snapshot(), world.repo.objects()
    assert applied(world, shell) == first
    assert (world.repo.snapshot(), world.repo.objects()) == before


def test_the_ids_depend_on_nothing_but_library_base_and_committer(
    world: World, shell: Shell, first_world: World
) -> None:
    made = applied(world, shell)
    bare = Repo.make(world.repo.path.parent / "other.git", "--bare")
    bare.git("fetch", "-q", str(first_world.repo.path), "refs/tags/v1.0.0:refs/tags/v1.0.0")
    assert applied(world.at(bare.path), shell) == made


def test_a_branch_that_was_deleted_comes_back_with_the_same_id(world: World, shell: Shell) -> None:
    first = applied(world, shell)
    world.repo.git("branch", "-q", "-D", BRANCH)
    assert applied(world, shell) == first


def test_a_changed_stack_replaces_the_commits_of_the_run_before(world: World, shell: Shell) -> None:
    first = applied(world, shell)
    other_title(world)
    second = applied(world, shell)
    assert second != first
    log = world.repo.git("log", "--format=%s", f"v1.0.0..{BRANCH}").splitlines()
    assert log == ["[ROCm][Perf] Keep the product (backport)"]
    reflog = world.repo.git("reflog", "--format=%H %gs", BRANCH).splitlines()
    assert reflog == [f"{second} backport: apply me/v1.0.0", f"{first} backport: apply me/v1.0.0"]


def test_a_branch_at_the_base_is_moved(world: World, shell: Shell) -> None:
    world.repo.git("branch", BRANCH, "v1.0.0")
    applied(world, shell)
    assert world.repo.changed(BRANCH, "v1.0.0") == dict(FUSED)


def test_a_run_that_conflicts_writes_nothing(world: World, shell: Shell) -> None:
    other = ENGINE["engine/attention.py"].replace(b"q * k", b"k * q")
    world.repo.commit("Turned\n", {"engine/attention.py": other})
    world.repo.git("tag", "-f", "v1.0.0")
    before = world.repo.snapshot(), world.repo.objects()
    done = shell(*world.words("apply"))
    assert (done.code, done.err) == (1, "")
    assert "[conflict]" in done.out
    assert (world.repo.snapshot(), world.repo.objects()) == before


@pytest.mark.parametrize("words", [("check",), ("apply", "--dry-run")], ids=" ".join)
def test_check_and_dry_run_write_nothing(
    words: tuple[str, ...], world: World, shell: Shell
) -> None:
    before = world.repo.snapshot(), world.repo.objects()
    done = shell(*world.words(*words))
    assert (done.code, done.err) == (0, "")
    assert (world.repo.snapshot(), world.repo.objects()) == before
    library = [str(path) for path in world.library.root.rglob("*.lock")]
    assert library == []


# ---------------------------------------------------------------- commits of other people


def test_a_branch_with_foreign_commits_is_refused_and_the_newest_is_named(
    world: World, shell: Shell
) -> None:
    applied(world, shell)
    world.repo.git("checkout", "-q", BRANCH)
    foreign = world.repo.commit("By hand\n", {"README.md": b"# By hand\n"})
    world.repo.git("checkout", "-q", "main")
    line = refused(world, shell, 2)
    assert f"branch {BRANCH} holds 1 commit that this tool did not make" in line
    assert foreign[:12] in line
    assert "--force" in line


LATER = {"GIT_COMMITTER_DATE": "1800000000 +0000"}


def amended(world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    """The branch's commit amended by a person, some time after `apply` made it."""
    applied(world, shell)
    world.repo.git("checkout", "-q", BRANCH)
    if words:
        world.repo.write({"README.md": b"# Amended\n"})
    with monkeypatch.context() as patched:
        for key, value in LATER.items():
            patched.setenv(key, value)
        world.repo.git("commit", "-qa", "--amend", "--no-edit")
    world.repo.git("checkout", "-q", "main")


def test_an_amended_commit_is_not_replaced_unasked(
    world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    amended(world, shell, monkeypatch, "README.md")
    tip = world.repo.git("rev-parse", BRANCH)
    line = refused(world, shell, 2)
    assert f"{tip[:12]} on branch {BRANCH} was changed after `apply` made it" in line
    assert "backport refresh --target me/v1.0.0" in line
    assert world.repo.git("rev-parse", BRANCH) == tip
    assert shell(*world.words("apply"), "--force").code == 0


def test_an_amended_commit_of_the_same_tree_is_replaced(
    world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    amended(world, shell, monkeypatch)
    assert shell(*world.words("apply")).code == 0


def reword(world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> str:
    """The branch's commit with a paragraph and a trailer of a person; the commit's id."""
    applied(world, shell)
    world.repo.git("checkout", "-q", BRANCH)
    old = world.repo.message(BRANCH).decode()
    new = old.replace("Stack: ", "Notes.\n\nReviewed-by: B <b@b.c>\nStack: ")
    with monkeypatch.context() as patched:
        for key, value in LATER.items():
            patched.setenv(key, value)
        world.repo.git("commit", "-q", "--amend", "-m", new)
    world.repo.git("checkout", "-q", "main")
    return world.repo.git("rev-parse", BRANCH)


def test_what_a_person_wrote_into_a_message_is_not_lost_unasked(
    world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    tip = reword(world, shell, monkeypatch)
    path = world.library.root / "patches/cache/stack.toml"
    path.write_text(path.read_text() + "# read again\n")
    line = refused(world, shell, 2)
    assert line == (
        f"the message of {tip[:12]} on branch {BRANCH} was changed after `apply` made it "
        "('Notes.'); take it over into `why` of patches/cache/stack.toml, or keep the commit with "
        f"`git branch parked {BRANCH}` and give --force to replace it"
    )
    assert world.repo.git("rev-parse", BRANCH) == tip
    assert shell(*world.words("apply"), "--force").code == 0


def test_a_foreign_commit_below_one_of_ours_is_found(world: World, shell: Shell) -> None:
    world.repo.commit("By hand\n", {"README.md": b"# By hand\n"})
    world.repo.commit("Ours\n\nStack: cache@000000000000\n", {"x": b"x\n"})
    world.repo.git("branch", BRANCH)
    assert "holds 1 commit" in refused(world, shell, 2)


def test_force_replaces_foreign_commits(world: World, shell: Shell) -> None:
    world.repo.commit("By hand\n", {"README.md": b"# By hand\n"})
    world.repo.git("branch", BRANCH)
    applied(world, shell, "--force")
    assert world.repo.changed(BRANCH, "v1.0.0") == dict(FUSED)


def test_a_branch_that_does_not_start_from_the_base_is_refused(world: World, shell: Shell) -> None:
    empty = world.repo.git("hash-object", "-t", "tree", "-w", "/dev/null")
    root = world.repo.git("commit-tree", empty, "-m", "Elsewhere\n\nStack: x@000000000000")
    world.repo.git("branch", BRANCH, root)
    line = refused(world, shell, 2)
    assert line.startswith(f"branch {BRANCH} does not start from v1.0.0; ")
    applied(world, shell, "--force")


def test_a_branch_that_is_already_right_is_not_judged(world: World, shell: Shell) -> None:
    first = applied(world, shell)
    world.repo.git("checkout", "-q", BRANCH)
    assert applied(world, shell) == first


# ---------------------------------------------------------------- branches that are checked out


def test_a_branch_that_is_checked_out_here_is_refused(world: World, shell: Shell) -> None:
    world.repo.git("checkout", "-q", "-b", BRANCH)
    line = refused(world, shell, 3)
    assert line.startswith(f"branch {BRANCH} is checked out in {world.repo.path}; ")
    assert "--checkout" in line


@pytest.mark.parametrize("more", [(), ("--checkout",), ("--force",)], ids=str)
def test_a_branch_that_is_checked_out_in_another_work_tree_is_refused(
    more: tuple[str, ...], world: World, shell: Shell, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    world.repo.git("worktree", "add", "-q", "-b", BRANCH, str(linked), "v1.0.0")
    before = Repo(linked).snapshot()
    assert f"checked out in {linked}" in refused(world, shell, 3, *more).replace(
        "another work tree, ", ""
    )
    assert Repo(linked).snapshot() == before


def test_a_branch_of_the_main_work_tree_is_refused_from_a_linked_one(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    world.repo.git("checkout", "-q", "-b", BRANCH)
    world.repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    line = refused(world.at(tmp_path / "linked"), shell, 3)
    assert f"checked out in {world.repo.path};" in line


@pytest.mark.parametrize("state", ["rebase", "bisect"])
def test_a_branch_that_is_being_rebased_or_bisected_counts_as_checked_out(
    state: str, world: World, shell: Shell
) -> None:
    applied(world, shell)
    world.repo.git("checkout", "-q", BRANCH)
    other_title(world)
    if state == "rebase":
        world.repo.git("-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "-q", "-i", "HEAD~1")
    else:
        world.repo.git("bisect", "start", "HEAD", "HEAD~1")
        world.repo.git("checkout", "-q", "--detach")
    assert f"branch {BRANCH} is checked out in" in refused(world, shell, 3)


def test_the_head_of_a_bare_repository_is_no_check_out(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    bare = Repo.make(tmp_path / "bare.git", "--bare")
    bare.git("fetch", "-q", str(world.repo.path), "refs/tags/v1.0.0:refs/tags/v1.0.0")
    bare.git("symbolic-ref", "HEAD", f"refs/heads/{BRANCH}")
    applied(world.at(bare.path), shell)


def test_a_branch_with_a_name_that_is_not_utf_8_elsewhere_is_no_trouble(
    world: World, shell: Shell
) -> None:
    (world.repo.path / ".git/HEAD").write_bytes(b"ref: refs/heads/caf\xe9\n")
    assert world.repo.tip() is None
    applied(world, shell)


# ---------------------------------------------------------------- --checkout


def is_checked_out(world: World) -> bool:
    """The branch is HEAD, and work tree and index are exactly its commit."""
    head = world.repo.git("symbolic-ref", "HEAD")
    return head == f"refs/heads/{BRANCH}" and world.repo.git("status", "--porcelain") == ""


def test_checkout_makes_the_branch_head_and_updates_the_work_tree(
    world: World, shell: Shell
) -> None:
    applied(world, shell, "--checkout")
    assert is_checked_out(world)
    assert (world.repo.path / "engine/cache.py").read_bytes() == FUSED["engine/cache.py"]


def test_checkout_updates_a_branch_that_is_checked_out_here(world: World, shell: Shell) -> None:
    applied(world, shell, "--checkout")
    other_title(world)
    world.library.stack("cache", _only_first(world))
    applied(world, shell, "--checkout", "--no-audit")  # half a change, which the audit sees
    assert is_checked_out(world)
    assert not (world.repo.path / "engine/cache.py").exists()


def _only_first(world: World) -> list[bytes]:
    first = (world.library.root / "patches/cache/p1.patch").read_bytes()
    for path in (world.library.root / "patches/cache").glob("*.patch"):
        path.unlink()
    return [first]


def test_checkout_of_a_branch_that_is_up_to_date_switches_to_it(world: World, shell: Shell) -> None:
    applied(world, shell)
    applied(world, shell, "--checkout")
    assert is_checked_out(world)


def test_checkout_keeps_untracked_and_ignored_files(world: World, shell: Shell) -> None:
    world.repo.write({"notes.txt": b"mine\n", "x.log": b"log\n"})
    (world.repo.path / ".git/info").mkdir(exist_ok=True)
    (world.repo.path / ".git/info/exclude").write_text("*.log\n")
    applied(world, shell, "--checkout")
    assert (world.repo.path / "notes.txt").read_bytes() == b"mine\n"
    assert (world.repo.path / "x.log").read_bytes() == b"log\n"


@pytest.mark.parametrize("held", [False, True], ids=["on main", "on the branch"])
@pytest.mark.parametrize("kind", ["changed", "staged", "deleted", "added", "renamed", "merging"])
def test_checkout_of_a_dirty_work_tree_is_refused_and_changes_nothing(
    kind: str, held: bool, world: World, shell: Shell
) -> None:
    if held:
        world.repo.git("checkout", "-q", "-b", BRANCH)
    name = "README.md"
    if kind in ("changed", "staged"):
        world.repo.write({name: b"# Mine\n"})
    if kind == "deleted":
        world.repo.write({name: None})
    if kind == "added":
        name = "new.txt"
        world.repo.write({name: b"new\n"})
    if kind == "renamed":
        name = "renamed.md"
        world.repo.git("mv", "README.md", name)
    if kind == "merging":
        _conflict(world.repo, name)
    if kind in ("staged", "added"):
        world.repo.git("add", name)
    line = refused(world, shell, 3, "--checkout")
    assert line.startswith(f"{world.repo.path} has uncommitted changes in ")
    assert name in line


def _conflict(repo: Repo, name: str) -> None:
    base, ours, theirs = (
        repo.git("hash-object", "-w", "--stdin", feed=text) for text in (b"1\n", b"2\n", b"3\n")
    )
    info = "".join(
        f"100644 {blob} {stage}\t{name}\n" for stage, blob in enumerate((base, ours, theirs), 1)
    )
    repo.git("update-index", "--index-info", feed=f"0 {'0' * 40}\t{name}\n{info}".encode())


def test_checkout_refuses_where_an_untracked_file_is_in_the_way(world: World, shell: Shell) -> None:
    world.repo.write({"engine/cache.py": b"mine\n"})
    before = world.repo.snapshot()
    done = shell(*world.words("apply", "--checkout"))
    assert done.code == 3
    (line,) = done.problems
    assert "engine/cache.py" in line
    assert world.repo.snapshot() == before


def test_checkout_in_a_bare_repository_is_refused(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    bare = Repo.make(tmp_path / "bare.git", "--bare")
    bare.git("fetch", "-q", str(world.repo.path), "refs/tags/v1.0.0:refs/tags/v1.0.0")
    line = refused(world.at(bare.path), shell, 3, "--checkout")
    assert line == f"{bare.path} is bare: it has no work tree to check out into"


def test_checkout_keeps_line_ends_as_they_are_in_git(world: World, shell: Shell) -> None:
    world.repo.git("config", "core.autocrlf", "input")
    applied(world, shell, "--checkout")
    assert (world.repo.path / "engine/cache.py").read_bytes() == FUSED["engine/cache.py"]


# ---------------------------------------------------------------- two runs at once, and killed runs

WRAPPER = """\
#!/bin/sh
# counts the calls of git, and kills the caller before or after the one that is chosen
case "$*" in *" {verb} "*) chosen=1;; *) chosen=0;; esac
[ $chosen = 1 ] && [ {when} = before ] && {{ kill -{signal} $PPID; exit 1; }}
'{git}' "$@"
code=$?
[ $chosen = 1 ] && [ {when} = after ] && kill -{signal} $PPID
exit $code
"""


def git_that_kills(folder: Path, verb: str, when: str, with_signal: str = "KILL") -> dict[str, str]:
    """A PATH whose git kills its caller before or after its call of one verb."""
    folder.mkdir()
    git = shutil.which("git")
    assert git is not None
    (folder / "git").write_text(WRAPPER.format(verb=verb, when=when, signal=with_signal, git=git))
    (folder / "git").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("verb", "when", "old"),
    [
        ("index-pack", "before", False),
        ("index-pack", "after", False),
        ("update-ref", "before", True),
    ],
    ids=["before the store", "after the store", "before the move of an older branch"],
)
def test_a_killed_run_leaves_the_old_state_and_the_next_run_is_right(
    verb: str, when: str, old: bool, world: World, shell: Shell, tmp_path: Path
) -> None:
    if old:
        applied(world, shell)
        other_title(world)
    before = world.repo.snapshot()
    env = git_that_kills(tmp_path / "bin", verb, when)
    done = finished(child(*world.words("apply"), env=env))
    assert done.code == -signal.SIGKILL
    assert world.repo.snapshot() == before
    assert world.repo.is_sound()
    applied(world, shell)
    assert world.repo.changed(BRANCH, "v1.0.0") == dict(FUSED)
    assert world.repo.is_sound()


def test_a_run_killed_after_the_branch_moved_has_done_its_work(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    env = git_that_kills(tmp_path / "bin", "update-ref", "after")
    assert finished(child(*world.words("apply"), env=env)).code == -signal.SIGKILL
    made = world.repo.tip()
    assert world.repo.changed(BRANCH, "v1.0.0") == dict(FUSED)
    assert applied(world, shell) == made


@pytest.mark.parametrize("verb", ["index-pack", "read-tree", "update-ref", "symbolic-ref"])
@pytest.mark.parametrize("held", [False, True], ids=["on main", "on the branch"])
def test_after_a_run_with_checkout_is_killed_the_next_run_is_right(
    verb: str, held: bool, world: World, shell: Shell, tmp_path: Path
) -> None:
    if held:
        world.repo.git("checkout", "-q", "-b", BRANCH)
    env = git_that_kills(tmp_path / "bin", verb, "after")
    done = finished(child(*world.words("apply", "--checkout"), env=env))
    assert done.code == -signal.SIGKILL
    applied(world, shell, "--checkout")
    assert is_checked_out(world)
    assert world.repo.changed(BRANCH, "v1.0.0") == dict(FUSED)


@pytest.mark.parametrize("kind", ["rebase", "merge", "cherry-pick", "revert", "bisection"])
def test_checkout_is_refused_in_the_middle_of_something(
    kind: str, world: World, shell: Shell
) -> None:
    names = {"rebase": "rebase-merge", "bisection": "BISECT_START"}
    name = names.get(kind, f"{kind.upper().replace('-', '_')}_HEAD")
    (world.repo.path / ".git" / name).touch()
    line = refused(world, shell, 3, "--checkout")
    assert line == (f"{world.repo.path} is in the middle of a {kind}; finish or abort it first")


def test_an_interrupted_run_ends_with_130_and_one_line(world: World, tmp_path: Path) -> None:
    before = world.repo.snapshot()
    env = git_that_kills(tmp_path / "bin", "index-pack", "before", "INT")
    done = finished(child(*world.words("apply"), env=env))
    assert (done.code, done.out) == (130, "")
    assert done.err == "backport: interrupted; nothing was half written\n"
    assert world.repo.snapshot() == before


def test_two_runs_at_once_leave_one_right_branch(world: World, shell: Shell) -> None:
    running = [child(*world.words("apply")) for _ in range(3)]
    ended = [finished(process) for process in running]
    assert 0 in [done.code for done in ended]
    for done in ended:
        assert done.code in (0, 3)
        assert len(done.problems) == (done.code == 3)
    assert world.repo.changed(BRANCH, "v1.0.0") == dict(FUSED)
    assert world.repo.is_sound()
    made = world.repo.tip()
    assert applied(world, shell) == made


def git_that_meddles(folder: Path, command: str) -> dict[str, str]:
    """A PATH whose git runs another command just before it moves the branch."""
    folder.mkdir()
    git = shutil.which("git")
    script = f"#!/bin/sh\ncase \"$*\" in *' update-ref '*) {command};; esac\nexec '{git}' \"$@\"\n"
    (folder / "git").write_text(script)
    (folder / "git").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_a_branch_that_somebody_else_moved_meanwhile_is_not_overwritten(
    world: World, tmp_path: Path
) -> None:
    git = f"'{shutil.which('git')}' -C '{world.repo.path}'"
    env = git_that_meddles(tmp_path / "bin", f"{git} branch -q {BRANCH} v1.0.0")
    done = finished(child(*world.words("apply"), env=env))
    assert (done.code, done.out) == (3, "")
    (line,) = done.problems
    assert f"branch {BRANCH} moved while this ran" in line
    assert world.repo.tip() == world.repo.git("rev-parse", "v1.0.0^{commit}")


def test_a_branch_that_another_run_moved_to_the_same_commit_is_fine(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    made = applied(world, shell)
    world.repo.git("branch", "-q", "-D", BRANCH)
    git = f"'{shutil.which('git')}' -C '{world.repo.path}'"
    env = git_that_meddles(tmp_path / "bin", f"{git} branch -q {BRANCH} {made}")
    done = finished(child(*world.words("apply"), env=env))
    assert (done.code, done.err) == (0, "")
    assert world.repo.tip() == made
