"""A branch that a person amended goes back into the library, and applying gives it again."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from backport.library import read
from tests.repos import BRANCH, ENGINE, FUSED, Done, Repo, Shell, World, patches
from tests.repos import Library as Shelf

ATTENTION = "engine/attention.py"
TURNED = FUSED[ATTENTION].replace(b"return q * k", b"return k * q")
MANIFEST = "manifests/me/v1.0.0.toml"


def emitted(world: World, shell: Shell) -> None:
    """The target's branch, checked out for a person to work on."""
    assert shell(*world.words("apply")).code == 0
    world.repo.git("checkout", "-q", "--detach", BRANCH)


def amend(world: World, files: Mapping[str, bytes | None]) -> str:
    """Amend the branch's last commit with plain git; the tree that it has then."""
    world.repo.write(files)
    world.repo.git("add", "-A")
    world.repo.git("commit", "-q", "--amend", "--no-edit")
    world.repo.git("branch", "-f", BRANCH, "HEAD")
    return world.repo.git("rev-parse", f"{BRANCH}^{{tree}}")


def refresh(world: World, shell: Shell, *more: str) -> Done:
    return shell(*world.words("refresh"), "--target", "v1.0.0", *more)


def library(world: World) -> dict[str, bytes]:
    root = world.library.root
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def applied(world: World, shell: Shell) -> str:
    """The tree that applying the library anew gives, good or bad as what was amended may be."""
    world.repo.git("checkout", "-q", "--detach", "v1.0.0")
    world.repo.git("branch", "-D", BRANCH)
    done = shell(*world.words("apply", "--no-audit"))
    assert done.code == 0, done.out
    return world.repo.git("rev-parse", f"{BRANCH}^{{tree}}")


def refused(world: World, shell: Shell, code: int, *more: str) -> str:
    """The one line with which a refresh ends that writes nothing."""
    before = library(world)
    done = refresh(world, shell, *more)
    assert done.code == code, done
    assert library(world) == before
    return done.problems[0].removeprefix("backport: error: ")


INTO_PATCH: dict[str, dict[str, bytes | None]] = {
    "a line that the stack adds": {ATTENTION: TURNED},
    "a line elsewhere in its file": {
        ATTENTION: FUSED[ATTENTION].replace(b"g * self.scale", b"self.scale * g")
    },
    "a file that the stack makes": {"engine/cache.py": b"class Cache(dict):\n    size = 1\n"},
    "a file of its own": {"engine/new.py": b"x = 1\n"},
    "a file that it has not touched": {"engine/ops.py": b"# nothing\n"},
    "a file less": {"engine/cache.py": None},
    "a file of the base less": {"README.md": None},
    "no final newline": {"README.md": b"# Engine"},
    "bytes": {"README.md": b"# \xff\0\n"},
    "many at once": {ATTENTION: TURNED, "engine/cache.py": None, "README.md": b"# Other\n"},
}


@pytest.mark.parametrize("files", INTO_PATCH.values(), ids=INTO_PATCH.keys())
def test_into_patch_then_apply_gives_the_amended_tree(
    files: dict[str, bytes | None], world: World, shell: Shell
) -> None:
    emitted(world, shell)
    tree = amend(world, files)
    done = refresh(world, shell, "--into", "patch")
    assert done.code == 0, done
    assert f"applying gives every tree of {BRANCH} again" in done.out
    assert MANIFEST not in done.out
    assert applied(world, shell) == tree


def test_what_is_written_into_patches_is_canonical(world: World, shell: Shell) -> None:
    emitted(world, shell)
    amend(world, {ATTENTION: TURNED})
    assert refresh(world, shell, "--into", "patch").code == 0
    text = (world.library.root / "patches/cache/p2.patch").read_text()
    assert "+        return k * q\n" in text
    assert "@@ -11,3 +11,6 @@ Attention.backward\n" in text
    assert "p2.patch" not in shell("lint", "--root", world.library.root).err


INTO_MANIFEST: dict[str, bytes] = {
    "a line that a hunk adds": TURNED,
    "a line beside a hunk": FUSED[ATTENTION].replace(b"g * self.scale", b"self.scale * g"),
    "a hunk undone": FUSED[ATTENTION].partition(b"\n    def cached")[0],
    "lines far from any hunk": FUSED[ATTENTION].replace(b'"""Attention."""', b'"""Turned."""'),
    "two places": TURNED.replace(b'"""Attention."""', b'"""Turned."""'),
}


@pytest.mark.parametrize("text", INTO_MANIFEST.values(), ids=INTO_MANIFEST.keys())
def test_into_manifest_then_apply_gives_the_amended_tree(
    text: bytes, world: World, shell: Shell
) -> None:
    emitted(world, shell)
    tree = amend(world, {ATTENTION: text})
    before = library(world)
    done = refresh(world, shell, "--into", "manifest", "--reason", "asked for")
    assert done.code == 0, done
    assert {name: library(world)[name] for name in before if "patches/" in name} == {
        name: data for name, data in before.items() if "patches/" in name
    }
    assert 'reason = "asked for"' in (world.library.root / MANIFEST).read_text()
    assert applied(world, shell) == tree
    assert b"asked for" in world.repo.message(BRANCH)


def test_a_later_patch_that_is_merged_is_refreshed_as_it_was_applied(
    tmp_path: Path, shell: Shell
) -> None:
    base = "".join(f"def {n}():\n    a = {n}\n    b = 2\n    return a\n\n\n" for n in "fgh")
    repo = Repo.make(tmp_path / "repo")
    repo.commit("One\n", {"a.py": base.encode()})
    repo.git("tag", "v1.0.0")
    upstream = Repo(tmp_path / "upstream")
    shutil.copytree(repo.path, upstream.path)
    first = base.replace("a = f\n    b = 2\n", "a = f\n    b = 2\n    c = 3\n")
    upstream.commit("First\n", {"a.py": first.encode()})
    second = first.replace("a = h\n    b = 2\n", "a = h\n    b = 2\n    c = 4\n")
    upstream.commit("Second\n", {"a.py": second.encode()})
    repo.commit("Two\n", {"a.py": base.replace("a = h", "a = 10").encode()})
    repo.git("tag", "v1.1.0")
    world = World(repo, Shelf.make(tmp_path / "library"))
    world.library.stack("two", patches(upstream, "v1.0.0"))
    world.library.manifest("two", name="me/v1.1.0", base="v1.1.0", branch="me/v1.1.0")
    place = ("--target", "v1.1.0", *world.words("refresh")[1:])
    assert "merged two/p2" in shell("apply", *place).out
    repo.git("checkout", "-q", "me/v1.1.0")
    repo.write({"a.py": (repo.path / "a.py").read_bytes().replace(b"c = 4", b"c = 5")})
    repo.git("commit", "-q", "-a", "--amend", "--no-edit")
    done = shell("refresh", *place, "--into", "manifest", "--reason", "asked for")
    assert done.code == 0, done


def test_a_change_of_a_replacement_rewrites_it_and_nothing_else(world: World, shell: Shell) -> None:
    emitted(world, shell)
    amend(world, {ATTENTION: TURNED})
    assert refresh(world, shell, "--into", "manifest", "--reason", "one").code == 0
    toml = world.library.root / MANIFEST
    toml.write_text("# mine\n" + toml.read_text() + "\n# below\n")
    world.repo.git("checkout", "-q", "--detach", "v1.0.0")
    world.repo.git("branch", "-D", BRANCH)
    emitted(world, shell)
    tree = amend(world, {ATTENTION: TURNED.replace(b"k * q", b"k + q")})
    assert refresh(world, shell, "--into", "manifest", "--reason", "two").code == 0
    text = toml.read_text()
    assert text.startswith("# mine\n")
    assert "# below" in text
    assert text.count("[[replace]]") == 1
    assert 'reason = "two"' in text
    assert applied(world, shell) == tree


def test_the_decision_is_remembered(world: World, shell: Shell) -> None:
    emitted(world, shell)
    amend(world, {ATTENTION: TURNED})
    assert refresh(world, shell, "--into", "manifest", "--reason", "r").code == 0
    folder = world.library.root / "patches/cache/resolutions"
    (kept,) = folder.iterdir()
    assert "+        return k * q" in kept.read_text()


def two_stacks(world: World, shell: Shell) -> None:
    world.repo.commit("Note\n", {"README.md": b"# Engine\n\nNote.\n"})
    (mail,) = patches(world.repo, "v1.0.0")
    world.repo.git("reset", "-q", "--hard", "v1.0.0")
    world.library.stack("notes", [mail], "Notes")
    world.library.manifest("cache", "notes")
    emitted(world, shell)


def test_a_lower_stack_that_was_amended_changes_alone(world: World, shell: Shell) -> None:
    two_stacks(world, shell)
    upper = world.repo.git("rev-parse", "HEAD")
    world.repo.git("checkout", "-q", "--detach", "HEAD^")
    amend(world, {ATTENTION: TURNED})
    world.repo.git("cherry-pick", upper)
    world.repo.git("branch", "-f", BRANCH, "HEAD")
    tree = world.repo.git("rev-parse", f"{BRANCH}^{{tree}}")
    done = refresh(world, shell, "--into", "patch")
    assert done.code == 0, done
    assert "cache: amended in engine/attention.py" in done.out
    assert "notes" not in done.out
    assert applied(world, shell) == tree


def test_a_commit_on_top_counts_to_the_stack_below_it(world: World, shell: Shell) -> None:
    emitted(world, shell)
    commit = world.repo.commit("Turn it\n", {ATTENTION: TURNED})
    world.repo.git("branch", "-f", BRANCH, "HEAD")
    tree = world.repo.git("rev-parse", f"{BRANCH}^{{tree}}")
    done = refresh(world, shell, "--into", "patch")
    assert done.code == 0
    assert f"  with {commit[:12]}, which has no Stack: line" in done.out
    assert applied(world, shell) == tree


def test_a_branch_as_it_was_made_is_nothing_to_take_back(world: World, shell: Shell) -> None:
    emitted(world, shell)
    before = library(world)
    done = refresh(world, shell)
    assert (done.code, library(world)) == (0, before)
    assert "there is nothing to take back" in done.out


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [("Stack: ", "Notes.\n\nStack: ", "Notes."), ("It is faster.", "", "It is faster.")],
    ids=["more words", "fewer words"],
)
@pytest.mark.parametrize("files", [{}, {ATTENTION: TURNED}], ids=["alone", "with files"])
def test_a_message_that_was_changed_is_told_with_where_it_comes_from(
    files: Mapping[str, bytes],
    old: str,
    new: str,
    line: str,
    world: World,
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    emitted(world, shell)
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1700000999 +0000")
    words = world.repo.message(BRANCH).decode().replace(old, new)
    amend(world, files)
    world.repo.git("commit", "-q", "--amend", "-m", words)
    world.repo.git("branch", "-f", BRANCH, "HEAD")
    into = ("--into", "patch") if files else ()
    done = refresh(world, shell, *into)
    assert done.code == 1
    tip = world.repo.git("rev-parse", "--short=12", BRANCH)
    assert (
        f"note: the message of {tip} was changed ({line!r}), and only files are taken back: it is "
        f"made of `title` and `why` in patches/cache/stack.toml and of the reasons in {MANIFEST}; "
        "write it there, and `backport apply --target me/v1.0.0` makes the commit anew"
    ) in done.out.splitlines()
    assert ("there is nothing to take back" in done.out) is not bool(files)
    assert json.loads(refresh(world, shell, "--json").out)["reworded"][0]["stack"] == "cache"


def test_a_dry_run_proves_and_writes_nothing(world: World, shell: Shell) -> None:
    emitted(world, shell)
    amend(world, {ATTENTION: TURNED})
    before = library(world)
    done = refresh(world, shell, "--into", "patch", "--dry-run")
    assert done.code == 0
    assert "applying gives every tree" in done.out
    assert library(world) == before


def test_what_would_not_give_the_tree_again_is_not_written(
    world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    emitted(world, shell)
    amend(world, {ATTENTION: TURNED})
    monkeypatch.setattr("backport.workflows.refresh_manifest.amended", lambda *_: [])
    told = refused(world, shell, 1, "--into", "manifest", "--reason", "r")
    assert told == (
        f"applying again would not give the trees of {BRANCH}: the change cannot be written "
        "this way; nothing was written"
    )


def test_what_no_entry_can_say_is_refused(world: World, shell: Shell) -> None:
    emitted(world, shell)
    amend(world, {"engine/cache.py": b"other = 1\n"})
    told = refused(world, shell, 1, "--into", "manifest", "--reason", "r")
    assert "engine/cache.py: no entry of a manifest can say this change" in told
    assert told.endswith("use --into patch")


def test_what_a_refresh_did_for_a_machine(world: World, shell: Shell) -> None:
    emitted(world, shell)
    nothing = json.loads(refresh(world, shell, "--json").out)
    assert (nothing["amended"], nothing["written"], nothing["into"]) == ([], [], None)
    amend(world, {ATTENTION: TURNED, "engine/cache.py": None})
    dry = refresh(world, shell, "--into", "patch", "--dry-run", "--json")
    assert json.loads(dry.out) | {"written": []} == json.loads(dry.out)
    done = refresh(world, shell, "--into", "patch", "--json")
    told = json.loads(done.out)
    assert (done.code, told["target"], told["branch"]) == (0, "me/v1.0.0", BRANCH)
    (amended,) = told["amended"]
    assert set(amended["paths"]) == {ATTENTION, "engine/cache.py"}
    assert all(path.startswith(f"patches/{amended['stack']}/") for path in told["written"])
    assert told["written"]


def test_what_to_do_next_is_told_and_does_it(world: World, shell: Shell) -> None:
    emitted(world, shell)
    amend(world, {ATTENTION: TURNED})
    assert "next:" not in refresh(world, shell, "--into", "patch", "--dry-run").out
    done = refresh(world, shell, "--into", "patch")
    place = f"--repo {world.repo.path} --root {world.library.root}"
    command = f"backport apply --target me/v1.0.0 --lock {place}"
    assert done.out.endswith(f"\nnext: {command}\n")
    assert shell(*command.split()[1:]).code == 0
    assert json.loads(refresh(world, shell, "--json").out)["next"] is None


def test_next_replaces_commits_without_a_stack_line_and_a_branch_that_is_checked_out(
    world: World, shell: Shell
) -> None:
    emitted(world, shell)
    world.repo.git("checkout", "-q", BRANCH)
    world.repo.commit("Fix-up\n", {ATTENTION: TURNED})
    command: str = json.loads(refresh(world, shell, "--into", "patch", "--json").out)["next"]
    place = f" --repo {world.repo.path} --root {world.library.root}"
    assert command == f"backport apply --target me/v1.0.0 --lock --checkout --force{place}"
    for option in ("--checkout", "--force"):
        words = [word for word in command.split()[1:] if word != option]
        assert shell(*words).code != 0
    assert shell(*command.split()[1:]).code == 0


def test_uncommitted_changes_are_named_and_left_alone(world: World, shell: Shell) -> None:
    emitted(world, shell)
    tree = world.repo.path.parent / "tree"
    world.repo.git("worktree", "add", "-q", str(tree), BRANCH)
    (tree / ATTENTION).write_bytes(TURNED)
    done = refresh(world, shell)
    note = f"only commits are taken back, and there are uncommitted changes in {ATTENTION}"
    assert (done.code, done.out.splitlines()[1:]) == (0, [f"note: {note}"])
    Repo(tree).git("commit", "-q", "-a", "--amend", "--no-edit")
    (tree / "README.md").write_bytes(b"# Mine\n")
    done = refresh(world, shell, "--into", "patch", "--json")
    told = json.loads(done.out)
    assert (done.code, told["uncommitted"]) == (0, ["README.md"])
    assert "patches/cache/p2.patch" in told["written"]


def test_the_entries_that_it_makes_are_shown_to_be_read(world: World, shell: Shell) -> None:
    emitted(world, shell)
    amend(world, {ATTENTION: TURNED})
    words = ("--into", "manifest", "--reason", "r")
    told = json.loads(refresh(world, shell, *words, "--dry-run", "--json").out)
    named = hunk(world)
    done = refresh(world, shell, *words)
    assert f"\nmade: replace {named}, to be read:\n  [[replace]]\n" in done.out
    (made,) = told["made"]
    assert (made["verb"], made["hunk"]) == ("replace", named)
    assert "\n".join(made["lines"]) in (world.library.root / MANIFEST).read_text()
    assert any(line.startswith("when ") for line in made["lines"])


def test_without_a_terminal_it_has_to_be_told(world: World, shell: Shell) -> None:
    emitted(world, shell)
    amend(world, {ATTENTION: TURNED})
    assert "--into patch (every target) or --into manifest" in refused(world, shell, 2)
    assert "say with --reason" in refused(world, shell, 2, "--into", "manifest")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_it_asks(world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    emitted(world, shell)
    amend(world, {ATTENTION: TURNED})
    monkeypatch.setattr("sys.stdin", Terminal("manifest\nthe kernel wants it\n"))
    done = refresh(world, shell)
    assert done.code == 0
    assert 'reason = "the kernel wants it"' in (world.library.root / MANIFEST).read_text()


def test_for_a_machine_nothing_is_asked(
    world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    emitted(world, shell)
    amend(world, {ATTENTION: TURNED})
    monkeypatch.setattr("sys.stdin", Terminal("patch\n"))
    done = refresh(world, shell, "--json")
    assert done.code == 2
    (problem,) = json.loads(done.out)["problems"]
    assert problem.startswith("say where the change goes")


def test_a_stack_that_is_gone_from_the_branch_is_refused(world: World, shell: Shell) -> None:
    two_stacks(world, shell)
    world.repo.git("branch", "-f", BRANCH, "HEAD^")
    told = refused(world, shell, 2, "--into", "patch")
    assert "holds the stacks cache; applying gives cache, notes" in told


def test_a_commit_that_lost_its_stack_line_is_named(world: World, shell: Shell) -> None:
    two_stacks(world, shell)
    world.repo.git("commit", "-q", "--amend", "-m", "My words")
    world.repo.git("branch", "-f", BRANCH, "HEAD")
    told = refused(world, shell, 2, "--into", "patch")
    commit = world.repo.git("rev-parse", "HEAD")
    assert told.endswith(f"{commit[:12]} has lost its `Stack:` line, so it counts to cache")


def test_a_change_below_the_stacks_is_refused(world: World, shell: Shell) -> None:
    emitted(world, shell)
    upper = world.repo.git("rev-parse", "HEAD")
    world.repo.git("checkout", "-q", "--detach", "v1.0.0")
    world.repo.commit("Base\n", {"README.md": b"# Other\n"})
    world.repo.git("cherry-pick", upper)
    world.repo.git("branch", "-f", BRANCH, "HEAD")
    assert "stands below the first stack's commit" in refused(world, shell, 2, "--into", "patch")


# ---------------------------------------------------------------- another target than the home


def other_release(world: World, files: dict[str, bytes]) -> None:
    """The branch's target is a later release, whose file differs from the home's."""
    world.repo.commit("Engine 2\n", files)
    world.repo.git("tag", "v2.0.0")
    world.repo.git("checkout", "-q", "--detach", "v1.0.0")
    world.library.manifest("cache", name="me/v2.0.0", base="v2.0.0", branch="me/v2.0.0")


def hunk(world: World) -> str:
    stack = read(world.library.root)[0].stacks["cache"]
    (found,) = [str(i[0]) for i in stack.hunks() if i[0].patch == "p2" and i[0].path == ATTENTION]
    return found


def test_a_hunk_that_another_manifest_names_is_not_changed_under_it(
    world: World, shell: Shell
) -> None:
    other_release(world, {"README.md": b"# Engine 2\n"})
    drop = (
        f'[[drop]]\nhunk = "{hunk(world)}"\nreason = "r"\nwhen = {{ present = "README.md: 2" }}\n'
    )
    world.library.manifest("cache", name="me/v2.0.0", base="v2.0.0", branch="b2", more=drop)
    emitted(world, shell)
    amend(world, {ATTENTION: TURNED})
    named = hunk(world)
    told = refused(world, shell, 1, "--into", "patch")
    assert told.startswith(f"manifests/me/v2.0.0.toml:5: names {named}, which would be cache/p2:")
    new = told.removesuffix(" then").rpartition(" ")[2]
    world.library.manifest("cache", name="me/v2.0.0", base="v2.0.0", branch="b2")
    assert refresh(world, shell, "--into", "patch").code == 0
    assert new == hunk(world) != named
    more = drop.replace(named, new)
    world.library.manifest("cache", name="me/v2.0.0", base="v2.0.0", branch="b2", more=more)
    assert shell("lint", "--root", world.library.root).code == 0


def test_a_hunk_that_the_own_manifest_names_goes_into_the_manifest(
    world: World, shell: Shell
) -> None:
    more = f'[[reanchor]]\nhunk = "{hunk(world)}"\nput = "after Attention.backward"\n'
    more += 'reason = "r"\nwhen = { present = "README.md" }\n'
    world.library.manifest("cache", more=more)
    emitted(world, shell)
    amend(world, {ATTENTION: TURNED})
    done = refresh(world, shell, "--into", "patch")
    assert done.code == 1
    assert done.problems[-1].endswith("--into manifest, so that me/v1.0.0 alone changes")
    assert refresh(world, shell, "--into", "manifest", "--reason", "r").code == 0


def test_a_target_that_would_lose_the_stack_is_told(world: World, shell: Shell) -> None:
    other = ENGINE[ATTENTION].replace(b"(self, scale)", b"(self, scale: float)")
    other_release(world, {ATTENTION: other})
    emitted(world, shell)
    amend(world, {ATTENTION: FUSED[ATTENTION].replace(b"(self, scale)", b"(self, scale=1)")})
    done = refresh(world, shell, "--into", "patch")
    assert done.code == 1
    assert "note: me/v2.0.0: cache has no place there any more" in done.out


def test_lines_that_the_home_has_not_go_into_the_manifest(world: World, shell: Shell) -> None:
    other = ENGINE[ATTENTION].replace(b'"""Attention."""', b'"""Attention, release 2."""')
    other_release(world, {ATTENTION: other})
    place = ("--repo", str(world.repo.path), "--root", str(world.library.root))
    assert shell("apply", "--target", "me/v2.0.0", *place).code == 0
    world.repo.git("checkout", "-q", "--detach", "me/v2.0.0")
    text = world.repo.files("HEAD")[ATTENTION].replace(b"release 2", b"release two")
    world.repo.write({ATTENTION: text})
    world.repo.git("commit", "-q", "-a", "--amend", "--no-edit")
    world.repo.git("branch", "-f", "me/v2.0.0", "HEAD")
    tree = world.repo.git("rev-parse", "HEAD^{tree}")
    words = ("refresh", "--target", "me/v2.0.0", *place)
    done = shell(*words, "--into", "patch")
    assert done.code == 1
    assert "the amended lines are not those of its home v1.0.0" in done.problems[0]
    assert shell(*words, "--into", "manifest", "--reason", "r").code == 0
    world.repo.git("checkout", "-q", "--detach", "v1.0.0")
    world.repo.git("branch", "-D", "me/v2.0.0")
    assert shell("apply", "--target", "me/v2.0.0", *place).code == 0
    assert world.repo.git("rev-parse", "me/v2.0.0^{tree}") == tree


def test_a_branch_made_of_older_patches_does_not_undo_the_newer_ones(
    world: World, shell: Shell
) -> None:
    emitted(world, shell)
    for patch in (world.library.root / "patches/cache").glob("*.patch"):
        patch.write_bytes(patch.read_bytes().replace(b"return q * k", b"return k * q"))
    told = refused(world, shell, 2, "--into", "patch")
    assert told.startswith(f"branch {BRANCH} was made of cache@")
    assert told.endswith("; make it anew with `backport apply --target me/v1.0.0`, and amend that")


def test_what_was_amended_on_an_older_branch_can_be_kept_as_told(
    world: World, shell: Shell
) -> None:
    emitted(world, shell)
    amend(world, {"README.md": b"# Amended\n"})
    for patch in (world.library.root / "patches/cache").glob("*.patch"):
        patch.write_bytes(patch.read_bytes().replace(b"return q * k", b"return k * q"))
    told = refused(world, shell, 2, "--into", "patch")
    steps = told.split("`")[1::2]
    assert [step.split()[0] for step in steps] == ["git", "backport", "git", "git"]
    for step in steps:
        if step.startswith("git"):
            subprocess.run(["sh", "-ec", step], cwd=world.repo.path, check=True)
        else:
            assert shell(*step.split()[1:], *world.words("")[1:]).code == 0
    assert refresh(world, shell, "--into", "patch").code == 0
    assert world.repo.files("HEAD")["README.md"] == b"# Amended\n"
    assert b"return k * q" in world.repo.files("HEAD")[ATTENTION]


def test_a_branch_made_with_an_older_manifest_does_not_undo_what_it_decides_now(
    world: World, shell: Shell
) -> None:
    emitted(world, shell)
    manifest = world.library.root / MANIFEST
    entry = f'hunk = "{hunk(world)}"\nreason = "not here"\nwhen = {{ present = "{ATTENTION}" }}\n'
    manifest.write_text(f"{manifest.read_text()}\n[[drop]]\n{entry}")
    told = refused(world, shell, 2, "--into", "manifest", "--reason", "r")
    assert told.startswith(f"{MANIFEST} decides otherwise about cache than when branch {BRANCH}")
    assert shell(*world.words("apply"), "--no-audit").code == 0
    assert "nothing to take back" in refresh(world, shell).out
