"""`apply` gives the same branch in every kind of repository, and touches nothing else there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repos import BRANCH, ENGINE, FUSED, Repo, Shell, World, make_world, patches


def result(repo: Repo) -> dict[str, bytes]:
    """What the branch changes against the release."""
    return repo.changed(BRANCH, "v1.0.0")


def refused(world: World, shell: Shell, *more: str) -> str:
    """The one line with which a run on this repository ends; nothing may have changed."""
    done = shell(*world.words("apply", *more))
    assert done.code == 3
    assert done.out == ""
    (line,) = done.problems
    return line.removeprefix("backport: error: ")


def clone(world: World, to: Path, *options: str) -> Repo:
    source = f"file://{world.repo.path}"
    subprocess.run(["git", "clone", "-q", *options, source, str(to)], check=True)
    return Repo(to)


# ---------------------------------------------------------------- kinds of repositories


def test_a_plain_checkout_gets_the_branch_and_nothing_else_changes(
    world: World, shell: Shell
) -> None:
    before = world.repo.snapshot()
    done = shell(*world.words("apply"))
    after = world.repo.snapshot()
    assert (done.code, done.err) == (0, "")
    assert result(world.repo) == dict(FUSED)
    assert (after.head, after.index, after.files) == (before.head, before.index, before.files)
    new_refs = set(after.refs.splitlines()) - set(before.refs.splitlines())
    assert [line.split("\t")[1] for line in new_refs] == [f"refs/heads/{BRANCH}"]
    assert world.repo.is_sound()


def test_a_bare_repository(world: World, shell: Shell, tmp_path: Path) -> None:
    bare = clone(world, tmp_path / "bare.git", "--bare")
    assert shell(*world.at(bare.path).words("apply")).code == 0
    assert result(bare) == dict(FUSED)
    assert bare.is_sound()


def test_a_linked_work_tree_puts_the_branch_where_all_work_trees_see_it(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    linked = Repo(tmp_path / "linked")
    world.repo.git("worktree", "add", "-q", "--detach", str(linked.path), "v1.0.0")
    before = linked.snapshot(), world.repo.snapshot()
    assert shell(*world.at(linked.path).words("apply")).code == 0
    assert result(world.repo) == dict(FUSED)
    after = linked.snapshot(), world.repo.snapshot()
    for old, new in zip(before, after, strict=True):
        assert (new.head, new.index, new.files) == (old.head, old.index, old.files)


def test_a_work_tree_of_a_bare_repository(world: World, shell: Shell, tmp_path: Path) -> None:
    bare = clone(world, tmp_path / "bare.git", "--bare")
    linked = tmp_path / "linked"
    bare.git("worktree", "add", "-q", "--detach", str(linked), "v1.0.0")
    assert shell(*world.at(linked).words("apply", "--checkout")).code == 0
    assert Repo(linked).git("symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    assert Repo(linked).git("status", "--porcelain") == ""


def test_a_detached_head_stays_where_it_is(world: World, shell: Shell) -> None:
    world.repo.git("checkout", "-q", "--detach", "v1.0.0")
    before = world.repo.snapshot()
    assert shell(*world.words("apply")).code == 0
    assert result(world.repo) == dict(FUSED)
    assert world.repo.snapshot().head == before.head


def test_a_git_folder_that_lies_elsewhere(world: World, shell: Shell, tmp_path: Path) -> None:
    apart = clone(world, tmp_path / "apart", f"--separate-git-dir={tmp_path / 'store'}")
    assert (apart.path / ".git").is_file()
    assert shell(*world.at(apart.path).words("apply")).code == 0
    assert result(apart) == dict(FUSED)


def test_a_submodule(world: World, shell: Shell, tmp_path: Path) -> None:
    outer = Repo.make(tmp_path / "outer")
    add = ("submodule", "--quiet", "add", f"file://{world.repo.path}", "engine")
    outer.git("-c", "protocol.file.allow=always", *add)
    inner = Repo(outer.path / "engine")
    assert shell(*world.at(inner.path).words("apply")).code == 0
    assert result(inner) == dict(FUSED)


@pytest.mark.parametrize("checkout", [(), ("--checkout",)], ids=["branch only", "with checkout"])
def test_a_sha256_repository(checkout: tuple[str, ...], shell: Shell, tmp_path: Path) -> None:
    world = make_world(tmp_path, "--object-format=sha256")
    assert shell(*world.words("apply", *checkout)).code == 0
    assert len(world.repo.tip() or "") == 64
    assert result(world.repo) == dict(FUSED)
    assert world.repo.is_sound()
    assert world.repo.git("status", "--porcelain") == ""


def test_sha1_patches_apply_to_a_sha256_repository(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    newer = Repo.make(tmp_path / "newer", "--object-format=sha256")
    newer.commit("Engine 1.0.0\n", ENGINE)
    newer.git("tag", "v1.0.0")
    assert shell(*world.at(newer.path).words("apply")).code == 0
    assert result(newer) == dict(FUSED)


def test_a_dirty_work_tree_does_not_matter_and_is_left_alone(world: World, shell: Shell) -> None:
    world.repo.write({"engine/ops.py": b"staged\n", "engine/cache.py": b"in the way\n"})
    world.repo.git("add", "engine/ops.py")
    world.repo.write({"engine/attention.py": b"broken (\n", "README.md": None})
    before = world.repo.snapshot()
    assert shell(*world.words("apply")).code == 0
    assert result(world.repo) == dict(FUSED)
    after = world.repo.snapshot()
    assert (after.index, after.files) == (before.index, before.files)


def test_an_unborn_head(world: World, shell: Shell) -> None:
    world.repo.git("symbolic-ref", "HEAD", "refs/heads/nothing-yet")
    assert shell(*world.words("apply")).code == 0
    assert result(world.repo) == dict(FUSED)


def test_a_packed_repository_with_packed_refs(world: World, shell: Shell) -> None:
    world.repo.git("gc", "-q")
    assert shell(*world.words("apply")).code == 0
    assert result(world.repo) == dict(FUSED)
    assert world.repo.is_sound()


def test_objects_that_lie_in_another_repository(world: World, shell: Shell, tmp_path: Path) -> None:
    borrower = clone(world, tmp_path / "borrower", "--shared")
    before = world.repo.objects()
    assert shell(*world.at(borrower.path).words("apply")).code == 0
    assert result(borrower) == dict(FUSED)
    assert world.repo.objects() == before


def test_replaced_objects_are_not_followed(world: World, shell: Shell) -> None:
    real = world.repo.git("rev-parse", "v1.0.0:engine/attention.py")
    other = world.repo.git("hash-object", "-w", "--stdin", feed=b"other\n")
    world.repo.git("replace", real, other)
    assert shell(*world.words("apply")).code == 0
    plain = Repo(world.repo.path)
    content = plain.raw("--no-replace-objects", "show", f"{BRANCH}:engine/attention.py")
    assert content == FUSED["engine/attention.py"]


# ---------------------------------------------------------------- names of the base


def test_a_tag_goes_before_a_branch_of_the_same_name(world: World, shell: Shell) -> None:
    world.repo.commit("Later\n", {"engine/attention.py": b"other = 1\n"})
    world.repo.git("branch", "v1.0.0")
    assert shell(*world.words("apply")).code == 0
    assert world.repo.git("rev-parse", f"{BRANCH}~1") == (
        world.repo.git("rev-parse", "refs/tags/v1.0.0")
    )


@pytest.mark.parametrize("kind", ["annotated tag", "commit id", "short id", "branch"])
def test_the_base_may_be_named_in_every_way_that_git_knows(
    kind: str, world: World, shell: Shell
) -> None:
    commit = world.repo.git("rev-parse", "v1.0.0^{commit}")
    world.repo.git("branch", "release", commit)
    world.repo.git("tag", "-f", "-m", "Annotated", "v1.0.0", commit)
    names = {"annotated tag": "v1.0.0", "commit id": commit, "short id": commit[:10]}
    world.library.manifest("cache", base=names.get(kind, "release"))
    assert shell(*world.words("apply")).code == 0
    assert world.repo.git("rev-parse", f"{BRANCH}~1") == commit


@pytest.mark.parametrize("base", ["v1.0.0:engine", "v1 0", "-x", "v1.0.0^{tree}", "v1.0.0~0"])
def test_a_base_that_is_an_expression_is_not_looked_up(
    base: str, world: World, shell: Shell
) -> None:
    world.library.manifest("cache", base=base)
    done = shell(*world.words("apply"))
    assert done.code == 2
    assert f"me/v1.0.0.toml:2: base: {base!r} is a revision expression, or no" in done.problems[0]


@pytest.mark.parametrize("base", ["engine/ops.py", "v9", "v1.0.0-3-gabcdef1"])
def test_a_base_that_names_no_commit_is_one_line(base: str, world: World, shell: Shell) -> None:
    world.library.manifest("cache", base=base)
    assert f"has no commit {base}; " in refused(world, shell)


# ---------------------------------------------------------------- repositories that will not do


def test_a_folder_that_is_not_there(world: World, shell: Shell, tmp_path: Path) -> None:
    line = refused(world.at(tmp_path / "nowhere"), shell)
    assert line == f"{tmp_path}/nowhere: there is no such folder"


def test_a_folder_that_is_no_repository(world: World, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    line = refused(world.at(tmp_path / "plain"), shell)
    assert line == f"{tmp_path}/plain: is not the top of a git repository; give one with --repo"


def test_a_file_instead_of_a_folder(world: World, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refused(world.at(tmp_path / "file"), shell).startswith(f"{tmp_path}/file: ")


def test_a_sub_folder_of_another_repository_is_not_its_top(world: World, shell: Shell) -> None:
    before = world.repo.snapshot()
    line = refused(world.at(world.repo.path / "engine"), shell)
    assert "is not the top of a git repository" in line
    assert world.repo.snapshot() == before


def test_a_base_that_is_not_there(world: World, shell: Shell) -> None:
    world.repo.git("tag", "-d", "v1.0.0")
    line = refused(world, shell)
    assert line == (
        f"{world.repo.path} has no commit v1.0.0; get it with `git fetch --tags`, "
        "or `backport fetch 1.0.0` for the release archive"
    )
    assert world.repo.tip() is None


def test_a_shallow_clone_without_the_base_says_how_to_deepen_it(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    world.repo.commit("Later\n", {"later.txt": b"later\n"})
    shallow = clone(world, tmp_path / "shallow", "--depth=1", "--no-tags")
    line = refused(world.at(shallow.path), shell)
    assert "(a shallow clone) has no commit v1.0.0" in line
    assert "`git fetch --unshallow --tags`" in line


def test_a_shallow_clone_with_the_base_is_enough(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    shallow = clone(world, tmp_path / "shallow", "--depth=1", "--branch=v1.0.0")
    assert (shallow.path / ".git/shallow").exists()
    assert shell(*world.at(shallow.path).words("apply")).code == 0
    assert result(shallow) == dict(FUSED)
    assert shell(*world.at(shallow.path).words("apply")).code == 0


def partial_clone(world: World, to: Path) -> Repo:
    """A clone that has no file of the base yet."""
    world.repo.git("config", "uploadpack.allowFilter", "true")
    return clone(world, to, "--filter=blob:none", "--no-checkout")


def test_a_partial_clone_without_the_files_names_one_and_the_command_that_gets_them(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    partial = partial_clone(world, tmp_path / "partial")
    blob = world.repo.git("rev-parse", "v1.0.0:engine/attention.py")
    line = refused(world.at(partial.path), shell)
    assert f"object {blob} is not here (this is a partial clone)" in line
    assert "`git fetch --refetch --no-filter`" in line
    assert partial.tip() is None


def test_a_partial_clone_gives_the_same_branch_once_that_command_has_run(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    partial = partial_clone(world, tmp_path / "partial")
    partial.git("fetch", "-q", "--refetch", "--no-filter")
    assert shell(*world.words("apply")).code == 0
    assert shell(*world.at(partial.path).words("apply")).code == 0
    assert partial.tip() == world.repo.tip()


def test_a_damaged_repository_is_named_as_such(world: World, shell: Shell) -> None:
    blob = world.repo.git("rev-parse", "v1.0.0:engine/attention.py")
    (world.repo.common / "objects" / blob[:2] / blob[2:]).unlink()
    line = refused(world, shell)
    assert f"object {blob} is missing (the repository is damaged)" in line


def test_a_damaged_object_is_not_used(world: World, shell: Shell) -> None:
    blob = world.repo.git("rev-parse", "v1.0.0:engine/attention.py")
    path = world.repo.common / "objects" / blob[:2] / blob[2:]
    path.chmod(0o600)
    path.write_bytes(b"garbage")
    line = refused(world, shell)
    assert f"object {blob} is missing (the repository is damaged: inflate: data stream" in line


def test_a_folder_of_borrowed_objects_that_is_gone_is_named(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    borrowing = Repo(tmp_path / "borrowing")
    world.repo.git("clone", "-q", "--shared", str(world.repo.path), str(borrowing.path))
    objects = world.repo.common / "objects"
    objects.rename(tmp_path / "elsewhere")
    line = refused(world.at(borrowing.path), shell)
    assert str(objects) in line
    assert "; bring that folder back, or mend " in line
    assert line.endswith(f"{borrowing.common.resolve()}/objects/info/alternates")


@pytest.mark.parametrize("annotated", [False, True], ids=["the commit", "what the tag tags"])
def test_a_tag_of_what_is_missing_is_no_tag_to_fetch(
    annotated: bool, world: World, shell: Shell
) -> None:
    commit = world.repo.git("rev-parse", "v1.0.0^{commit}")
    if annotated:
        world.repo.git("tag", "-f", "-a", "-m", "x", "v1.0.0", commit)
    (world.repo.common / "objects" / commit[:2] / commit[2:]).unlink()
    line = refused(world, shell)
    assert f"object {commit} is missing (the repository is damaged); use a full clone" in line


def test_a_commit_that_is_damaged_is_named(world: World, shell: Shell) -> None:
    commit = world.repo.git("rev-parse", "v1.0.0")
    path = world.repo.common / "objects" / commit[:2] / commit[2:]
    path.chmod(0o600)
    path.write_bytes(b"garbage")
    assert f"loose object {commit} (stored in {path}) is corrupt" in refused(world, shell)


def test_a_broken_tag_is_told_as_such(world: World, shell: Shell) -> None:
    (world.repo.common / "refs/tags/v1.0.0").write_text("zz\n")
    line = refused(world, shell)
    assert line.endswith("warning: ignoring broken ref refs/tags/v1.0.0; delete it, and fetch")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
class TestDubiousOwnership:
    @pytest.fixture
    def theirs(self, world: World) -> World:
        for path in (world.repo.path, *world.repo.path.rglob("*")):
            os.chown(path, 12345, 12345)
        return world

    def test_a_repository_of_another_user_is_refused_with_the_command_that_allows_it(
        self, theirs: World, shell: Shell
    ) -> None:
        line = refused(theirs, shell)
        assert "dubious ownership" in line
        assert f"`git config --global --add safe.directory {theirs.repo.path}`" in line
        assert not (theirs.repo.path / ".git/refs/heads/me").exists()

    @pytest.mark.parametrize("allowed", ["*", "the path"])
    def test_it_is_taken_once_it_is_allowed(
        self,
        allowed: str,
        theirs: World,
        shell: Shell,
        own_settings: Callable[[str], None],
    ) -> None:
        path = "*" if allowed == "*" else str(theirs.repo.path)
        own_settings(f'[user]\nname = N\nemail = e@x\n[safe]\ndirectory = "{path}"\n')
        assert shell(*theirs.words("apply")).code == 0
        assert result(theirs.repo) == dict(FUSED)

    def test_allowing_it_in_the_repository_itself_does_not_count(
        self, theirs: World, shell: Shell
    ) -> None:
        config = theirs.repo.path / ".git/config"
        config.write_text(config.read_text() + "[safe]\n\tdirectory = *\n")
        assert "dubious ownership" in refused(theirs, shell)

    def test_a_folder_of_mine_whose_git_folder_is_theirs_is_refused(
        self, theirs: World, shell: Shell
    ) -> None:
        os.chown(theirs.repo.path, 0, 0)
        assert "dubious ownership" in refused(theirs, shell)


def test_a_read_only_object_folder_ends_in_one_line(world: World, shell: Shell) -> None:
    shutil.rmtree(world.repo.common / "objects/pack")
    (world.repo.common / "objects/pack").write_bytes(b"a file where a folder must be\n")
    line = refused(world, shell)
    assert line.startswith("git index-pack failed: ")
    assert world.repo.tip() is None


def test_a_branch_name_that_another_branch_makes_impossible(world: World, shell: Shell) -> None:
    world.repo.git("branch", "me", "v1.0.0")
    before = world.repo.git("for-each-ref")
    line = refused(world, shell)
    assert "'refs/heads/me' exists" in line
    assert world.repo.git("for-each-ref") == before


def test_a_ref_that_another_process_holds_locked(world: World, shell: Shell) -> None:
    lock = world.repo.path / f".git/refs/heads/{BRANCH}.lock"
    lock.parent.mkdir()
    lock.touch()
    assert "Unable to create" in refused(world, shell)
    assert world.repo.tip() is None


def test_git_that_is_not_installed(
    world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(world, shell) == "git is not installed, or not on PATH"


# ---------------------------------------------------------------- hostile settings


HOSTILE = {
    "diff.noprefix": "true",
    "diff.mnemonicPrefix": "true",
    "diff.external": "false",
    "diff.renames": "copies",
    "diff.context": "0",
    "diff.suppressBlankEmpty": "true",
    "diff.orderFile": "nowhere",
    "color.ui": "always",
    "core.quotePath": "false",
    "core.pager": "false",
    "core.editor": "false",
    "core.autocrlf": "true",
    "core.whitespace": "tab-in-indent",
    "core.commentChar": "a",
    "apply.whitespace": "fix",
    "commit.cleanup": "strip",
    "commit.gpgSign": "true",
    "commit.template": "nowhere",
    "tag.gpgSign": "true",
    "gpg.program": "false",
    "user.signingKey": "nobody",
    "log.showSignature": "true",
    "log.mailmap": "true",
    "i18n.commitEncoding": "latin1",
    "i18n.logOutputEncoding": "utf-16",
    "format.signOff": "true",
    "status.branch": "true",
    "status.showUntrackedFiles": "all",
    "transfer.fsckObjects": "false",
    "receive.fsckObjects": "false",
    "fsck.skipList": "nowhere",
    "gc.auto": "1",
    "fetch.unpackLimit": "1",
    "alias.cat-file": "!false",
    "alias.update-ref": "!false",
}


HOOKS = [
    *("applypatch-msg", "pre-applypatch", "post-applypatch"),
    *("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"),
    *("reference-transaction", "post-checkout", "post-index-change"),
    *("post-rewrite", "post-merge", "pre-auto-gc"),
]


def make_hostile(repo: Repo, trace: Path) -> None:
    """Set what has broken other tools, with every hook and helper leaving a trace."""
    config = "".join(
        f"[{name.partition('.')[0]}]\n\t{name.partition('.')[2]} = {value}\n"
        for name, value in HOSTILE.items()
    )
    helper = trace.parent / "helper"
    helper.write_text(f"#!/bin/sh\necho \"$0\" >> '{trace}'\nexit 1\n")
    helper.chmod(0o755)
    config += f"[core]\n\tfsmonitor = {helper}\n\thooksPath = {repo.path}/.git/hooks\n"
    path = repo.path / ".git/config"
    path.write_text(path.read_text() + config)
    hooks = repo.path / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in HOOKS:
        shutil.copy(helper, hooks / name)


@pytest.mark.parametrize("more", [(), ("--checkout",)], ids=["branch only", "with checkout"])
def test_hostile_settings_and_hooks_change_nothing_and_none_of_them_runs(
    more: tuple[str, ...], world: World, shell: Shell, tmp_path: Path
) -> None:
    assert shell(*world.words("apply")).code == 0
    expected = world.repo.tip()
    world.repo.git("update-ref", "-d", f"refs/heads/{BRANCH}")
    make_hostile(world.repo, tmp_path / "trace")
    assert shell(*world.words("apply", *more)).code == 0
    assert not (tmp_path / "trace").exists()
    config = world.repo.path / ".git/config"
    config.write_text("[core]\n\trepositoryformatversion = 0\n")
    assert world.repo.tip() == expected


@pytest.mark.parametrize(
    "name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"]
)
def test_variables_that_point_git_elsewhere_are_not_followed(
    name: str, world: World, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = Repo.make(tmp_path / "elsewhere")
    values = {"GIT_WORK_TREE": elsewhere.path, "GIT_NAMESPACE": "other"}
    monkeypatch.setenv(name, str(values.get(name, elsewhere.path / ".git")))
    done = shell(*world.words("apply", "--checkout"))
    monkeypatch.delenv(name)
    assert (done.code, done.err) == (0, "")
    assert result(world.repo) == dict(FUSED)
    assert world.repo.git("status", "--porcelain") == ""
    assert elsewhere.git("for-each-ref") == ""


def test_another_language_of_git_changes_nothing(
    world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LANG", "LC_ALL", "LANGUAGE"):
        monkeypatch.setenv(name, "de_DE.UTF-8")
    assert shell(*world.words("apply")).code == 0
    assert (
        shell(*world.words("apply"))
        .out.rstrip()
        .endswith(f"branch {BRANCH} was up to date in {world.repo.path}")
    )


# ---------------------------------------------------------------- who commits


def test_without_an_identity_it_says_how_to_set_one(
    world: World, shell: Shell, own_settings: Callable[[str], None]
) -> None:
    own_settings("")
    before = world.repo.objects()
    line = refused(world, shell)
    assert '`git config --global user.name "Your Name"`' in line
    assert "`git config --global user.email you@example.com`" in line
    assert world.repo.objects() == before
    assert world.repo.tip() is None


def test_check_needs_no_identity(
    world: World, shell: Shell, own_settings: Callable[[str], None]
) -> None:
    own_settings("")
    assert shell(*world.words("check")).code == 0


def committer(repo: Repo) -> str:
    return repo.git("log", "-1", "--format=%cn <%ce>", BRANCH)


def test_the_identity_of_the_repository_goes_before_the_user_s(world: World, shell: Shell) -> None:
    world.repo.git("config", "user.name", "Repo Person")
    assert shell(*world.words("apply")).code == 0
    assert committer(world.repo) == "Repo Person <test@example.com>"


def test_the_identity_of_the_environment_goes_first(
    world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_NAME", "Env Person")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "env@example.com")
    assert shell(*world.words("apply")).code == 0
    assert committer(world.repo) == "Env Person <env@example.com>"


@pytest.mark.parametrize("where", ["GIT_CONFIG_GLOBAL", "include", "XDG_CONFIG_HOME", "committer"])
def test_the_identity_is_found_wherever_git_finds_it(
    where: str,
    world: World,
    shell: Shell,
    own_settings: Callable[[str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    person = "[{}]\n\tname = Git Person\n\temail = git@example.com\n"
    settings = tmp_path / "git" / "config"
    settings.parent.mkdir()
    settings.write_text(person.format("committer" if where == "committer" else "user"))
    own_settings(f"[include]\n\tpath = {settings}\n" if where in ("include", "committer") else "")
    if where == "GIT_CONFIG_GLOBAL":
        monkeypatch.setenv(where, str(settings))
    if where == "XDG_CONFIG_HOME":
        monkeypatch.setenv(where, str(tmp_path))
    done = shell(*world.words("apply"))
    assert (done.code, done.err) == (0, "")
    assert committer(world.repo) == "Git Person <git@example.com>"


def test_a_name_with_characters_that_git_leaves_out(world: World, shell: Shell) -> None:
    world.repo.git("config", "user.name", "A <B> Ünal.")
    assert shell(*world.words("apply")).code == 0
    assert committer(world.repo).startswith("A B Ünal")
    assert world.repo.is_sound()


def test_later_stacks_build_on_earlier_ones_one_commit_each(world: World, shell: Shell) -> None:
    assert shell(*world.words("apply")).code == 0
    world.repo.git("checkout", "-q", BRANCH)
    world.repo.commit("Rename\n", {"engine/cache.py": b"class Store(dict):\n    pass\n"})
    world.library.stack("rename", patches(world.repo, BRANCH + "~1")[-1:], "Rename the cache")
    world.repo.git("checkout", "-q", "main")
    world.repo.git("branch", "-q", "-D", BRANCH)
    world.library.manifest("cache", "rename")
    assert shell(*world.words("apply")).code == 0
    subjects = world.repo.git("log", "--format=%s", f"v1.0.0..{BRANCH}").splitlines()
    assert subjects == ["Rename the cache (backport)", "[ROCm][Perf] Cache the product (backport)"]
    assert world.repo.changed(f"{BRANCH}~1", "v1.0.0") == dict(FUSED)
    assert result(world.repo)["engine/cache.py"] == b"class Store(dict):\n    pass\n"
