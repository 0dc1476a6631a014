"""`import` takes commits into the library so that `apply` gives their tree back."""

from __future__ import annotations

from pathlib import Path

import pytest

from backport.core.mail import parse_patch
from tests.repos import BRANCH, CACHED, ENGINE, FUSED, Done, Shell, World

LINES = b"".join(b"line %d\n" % number for number in range(1, 21))


@pytest.fixture
def work(world: World) -> World:
    """A world whose checkout is on a branch where somebody develops, with an empty library."""
    for path in (world.library.root / "patches/cache").iterdir():
        path.unlink()
    (world.library.root / "patches/cache").rmdir()
    (world.library.root / "manifests/me/v1.0.0.toml").unlink()
    world.repo.git("checkout", "-q", "-b", "work")
    return world


def imported(work: World, shell: Shell, *more: str, commits: str = "v1.0.0..work") -> Done:
    place = ("--repo", str(work.repo.path), "--root", str(work.library.root))
    return shell("import", commits, "--stack", "mine", *place, *more)


def files(work: World) -> dict[str, bytes]:
    """Every file of the imported stack."""
    folder = work.library.root / "patches/mine"
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def refused(work: World, shell: Shell, *more: str, commits: str = "v1.0.0..work") -> str:
    """The one line with which an import ends that writes nothing."""
    before = files(work)
    done = imported(work, shell, *more, commits=commits)
    assert (done.code, done.out) == (2, "")
    assert files(work) == before
    (line,) = done.problems
    return line.removeprefix("backport: error: ")


def test_a_new_stack_gets_its_patches_its_series_and_a_stack_toml_to_fill_in(
    work: World, shell: Shell
) -> None:
    work.repo.commit("[ROCm] Cache the product\n\nWhy.\n", {"engine/attention.py": CACHED})
    work.repo.commit("Add the cache\n", FUSED)
    done = imported(work, shell)
    assert done.code == 0
    chosen = "its home is v1.0.0 and its title 'Add the cache'"
    assert done.problems == [f"note: patches/mine/stack.toml: {chosen}; complete `why`"]
    assert done.out.splitlines() == [
        "patches/mine/cache-the-product.patch",
        "patches/mine/add-the-cache.patch",
        "patches/mine/stack.toml",
        "patches/mine/series",
    ]
    assert files(work)["series"] == b"cache-the-product\nadd-the-cache\n"
    assert shell("lint", "--root", str(work.library.root)).code == 0


def test_a_patch_is_written_in_the_one_canonical_form(work: World, shell: Shell) -> None:
    work.repo.git("config", "user.name", "Dévêloper")
    work.repo.commit("Cache [it]\n\nWhy.\n", {"engine/attention.py": CACHED})
    date = work.repo.git("log", "-1", "--format=%aD")
    old, new = (
        work.repo.git("rev-parse", f"{commit}:engine/attention.py") for commit in ("v1.0.0", "work")
    )
    imported(work, shell)
    assert files(work)["cache-it.patch"].decode() == (
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
        "From: =?utf-8?b?RMOpdsOqbG9wZXI=?= <test@example.com>\n"
        f"Date: {date}\n"
        "Subject: [PATCH] Cache [it]\n"
        "MIME-Version: 1.0\n"
        "Content-Type: text/plain; charset=UTF-8\n"
        "Content-Transfer-Encoding: 8bit\n"
        "\n"
        "Why.\n"
        "---\n"
        "diff --git a/engine/attention.py b/engine/attention.py\n"
        f"index {old}..{new} 100644\n"
        "--- a/engine/attention.py\n"
        "+++ b/engine/attention.py\n"
        "@@ -6,7 +6,7 @@ Attention.forward\n"
        "         self.scale = scale\n"
        " \n"
        "     def forward(self, q, k):\n"
        "-        product = q * k\n"
        "+        product = self.cached(q, k)\n"
        "         return product * self.scale\n"
        " \n"
        "     def backward(self, g):\n"
    )


STEPS = {
    "changes": [{"engine/attention.py": CACHED}, FUSED],
    "odd paths": [{'-a [b]\t"c"\n caf\udce9': LINES}, {'-a [b]\t"c"\n caf\udce9': LINES * 2}],
    "CRLF": [{"x": LINES.replace(b"\n", b"\r\n")}, {"x": LINES.replace(b"\n", b"\r\n") + b"y\r\n"}],
    "no final newline": [{"x": b"1"}, {"x": b"1\n2"}],
    "binary": [{"x": bytes(range(256))}, {"x": bytes(range(255, -1, -1))}],
    "empty files": [{"x": b""}, {"x": None, "y": b""}],
    "renames": [{"README.md": None, "moved.md": ENGINE["README.md"]}],
    "deleted files": [{"engine/ops.py": None}],
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS.keys())
def test_import_and_then_apply_gives_the_tree_of_the_branch(
    steps: list[dict[str, bytes | None]], work: World, shell: Shell
) -> None:
    for number, step in enumerate(steps):
        work.repo.commit(f"Step {number}\n", step)
    assert imported(work, shell).code == 0
    work.library.manifest("mine")
    assert shell(*work.words("apply")).code == 0
    assert work.repo.git("rev-parse", f"{BRANCH}^{{tree}}", "work^{tree}").split("\n")[0] == (
        work.repo.git("rev-parse", "work^{tree}")
    )


MESSAGES = {
    "a mail header in the body": "Subject\n\nFrom: Other <o@example.com>\n\nText.\n",
    "no body": "Subject\n",
    "two lines as subject": "Sub\nject\n",
    "many blank lines": "Subject\n\n\n\nBody\n\n\n",
    "not UTF-8": b"Caf\xe9\n\nBody caf\xe9\n",
    "an indented diff": "Subject\n\n    diff --git a/x b/x\n    --- a/x\n    +++ b/x\n",
    "hashes and brackets": "#1 [ROCm][x] list[int]\n\n# one\n#2\n",
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES.keys())
def test_whatever_a_message_says_the_tree_comes_back(
    message: str | bytes, work: World, shell: Shell
) -> None:
    work.repo.commit(message, {"x": LINES})
    work.repo.commit("Another\n", {"y": LINES})
    assert imported(work, shell).code == 0
    assert shell("lint", "--root", str(work.library.root)).code == 0
    work.library.manifest("mine")
    assert shell(*work.words("apply")).code == 0
    assert work.repo.changed(BRANCH, "v1.0.0") == {"x": LINES, "y": LINES}


_DIFF = "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# Engine\n+# Other\n"
LOSSY = {
    "a line of dashes": ("Above.\n---\nBelow.\n", "---"),
    "a diff": (f"Like this:\n\ndiff --git a/README.md b/README.md\n{_DIFF}\nEnd.\n", "diff --git"),
    "a plain diff": (f"Like this:\n\n{_DIFF}\nEnd.\n", "--- a/README.md"),
    "a subversion diff": ("Index: x\n", "Index: x"),
}


@pytest.mark.parametrize(("body", "line"), LOSSY.values(), ids=LOSSY.keys())
def test_a_message_that_would_be_read_as_part_of_the_patch_is_refused(
    body: str, line: str, work: World, shell: Shell
) -> None:
    commit = work.repo.commit(f"Subject\n\n{body}", {"x": LINES})
    told = refused(work, shell)
    assert told.startswith(f"commit {commit[:12]}: the line '{line}")
    assert "of its message would be read as part of the patch; reword it" in told


def test_a_commit_in_another_encoding_is_read_as_git_shows_it(
    work: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Andr\udce9")
    work.repo.git("config", "i18n.commitEncoding", "ISO-8859-1")
    work.repo.commit(b"[ROCm] caf\xe9\n\nna\xefve\n", FUSED)
    assert imported(work, shell).code == 0
    (mail,) = (data for name, data in files(work).items() if name.endswith(".patch"))
    patch = parse_patch(mail, "x")
    assert (patch.author.name, patch.subject, patch.body) == ("André", "[ROCm] café", "naïve")
    assert 'title  = "[ROCm] café"' in files(work)["stack.toml"].decode()


def test_settings_and_attributes_do_not_change_what_is_written(
    work: World, shell: Shell, tmp_path: Path
) -> None:
    work.repo.commit(
        "Change\n", {**FUSED, "new.py": b"def a():\n    pass\n\n\ndef b():\n    pass\n"}
    )
    work.repo.commit("More\n", {"new.py": b"def a():\n    pass\n\n\ndef c():\n    pass\n" * 2})
    imported(work, shell)
    expected = files(work)
    config = work.repo.path / ".git/config"
    config.write_text(
        config.read_text()
        + "[diff]\nnoprefix = true\nmnemonicPrefix = true\nexternal = false\ncontext = 0\n"
        + "interHunkContext = 9\nalgorithm = patience\nindentHeuristic = false\n"
        + "suppressBlankEmpty = true\nrenames = copies\nsubmodule = log\norderFile = nowhere\n"
        + "relative = true\n[color]\nui = always\n[core]\nquotePath = false\n"
        + "[i18n]\nlogOutputEncoding = latin1\n[log]\nshowSignature = true\n"
        + '[diff "python"]\nxfuncname = "nothing"\ntextconv = false\n'
    )
    (work.repo.path / ".git/info").mkdir(exist_ok=True)
    (work.repo.path / ".git/info/attributes").write_text("*.py diff=python\n")
    assert imported(work, shell, "--force").code == 0
    assert files(work) == expected


def test_a_patch_name_trailer_names_the_file_and_is_taken_out(work: World, shell: Shell) -> None:
    work.repo.commit("A subject\n\nWhy.\n\nPatch-name: short\n", {"x": LINES})
    imported(work, shell)
    assert files(work)["series"] == b"short\n"
    assert b"Patch-name" not in files(work)["short.patch"]
    assert b"\n\nWhy.\n---\n" in files(work)["short.patch"]


def test_an_existing_stack_is_only_written_again_with_force(work: World, shell: Shell) -> None:
    work.repo.commit("One\n", {"x": LINES})
    imported(work, shell)
    toml = work.library.write("patches/mine/stack.toml", "# mine\n")
    work.repo.commit("Two\n", {"y": LINES})
    assert refused(work, shell) == (
        "patches/mine exists; give --force to write its patches again, "
        "or --update to see what moved"
    )
    work.repo.git("reset", "-q", "--hard", "v1.0.0")
    work.repo.commit("Three\n", {"z": LINES})
    assert imported(work, shell, "--force").code == 0
    assert sorted(files(work)) == ["series", "stack.toml", "three.patch"]
    assert toml.read_text() == "# mine\n"


def test_a_merge_in_the_range_is_refused(work: World, shell: Shell) -> None:
    work.repo.commit("Here\n", {"x": LINES})
    work.repo.git("checkout", "-q", "-b", "side", "v1.0.0")
    work.repo.commit("There\n", {"y": LINES})
    work.repo.git("checkout", "-q", "work")
    work.repo.git("merge", "-q", "-m", "Merge", "side")
    merge = work.repo.git("rev-parse", "work")
    line = refused(work, shell)
    assert line.startswith(f"v1.0.0..work holds the merge {merge[:12]}; ")


def test_an_empty_commit_is_refused(work: World, shell: Shell) -> None:
    work.repo.commit("Real\n", {"x": LINES})
    empty = work.repo.commit("Nothing here\n", {})
    line = refused(work, shell)
    assert line == (
        f"commit {empty[:12]} (Nothing here) changes nothing; leave it out, or give --skip-empty"
    )


def test_two_commits_with_one_name_are_refused(work: World, shell: Shell) -> None:
    work.repo.commit("Fix it\n", {"x": LINES})
    work.repo.commit("Fix it!\n", {"y": LINES})
    line = refused(work, shell)
    assert line == "two commits give the patch name fix-it; add a `Patch-name:` trailer"


@pytest.mark.parametrize(
    ("commits", "problem"),
    [
        ("v1.0.0", "there are no commits in v1.0.0..v1.0.0"),
        ("..work", "'..work' is not a range START..END"),
        ("v1.0.0..", "'v1.0.0..' is not a range START..END"),
        ("v1.0.0...work", "'v1.0.0...work' is not a range START..END"),
        ("work..work", "there are no commits in work..work"),
        ("work..v1.0.0", "there are no commits in work..v1.0.0"),
    ],
)
def test_a_range_that_is_none(commits: str, problem: str, work: World, shell: Shell) -> None:
    assert refused(work, shell, commits=commits) == problem


@pytest.mark.parametrize("commits", ["v9..work", "v1.0.0..nowhere", "v1.0.0..-x"])
def test_a_commit_that_is_not_there(commits: str, work: World, shell: Shell) -> None:
    done = imported(work, shell, commits=commits)
    assert done.code in (2, 3)
    (line,) = done.problems
    assert "Traceback" not in line
    assert files(work) == {}


def test_a_stack_name_that_is_none(work: World, shell: Shell) -> None:
    work.repo.commit("One\n", {"x": LINES})
    place = ("--repo", str(work.repo.path), "--root", str(work.library.root))
    for name in ("../x", "Upper", "", "a/b", ".hidden"):
        done = shell("import", "v1.0.0..work", "--stack", name, *place)
        assert (done.code, len(done.problems)) == (2, 1)
    assert [path.name for path in (work.library.root / "patches").iterdir()] == []


def test_a_new_submodule_is_a_conflict(work: World, shell: Shell) -> None:
    head = work.repo.git("rev-parse", "HEAD")
    work.repo.git("update-index", "--add", "--cacheinfo", f"160000,{head},vendored")
    work.repo.git("commit", "-q", "-m", "Add a submodule")
    assert imported(work, shell).code == 0
    work.library.manifest("mine")
    done = shell(*work.words("apply"))
    assert done.code == 1
    assert "vendored is a submodule; its commit is not a text" in done.out
    assert work.repo.tip() is None


@pytest.mark.parametrize("where", [".gitattributes", "../elsewhere"])
def test_a_binary_file_that_attributes_call_a_text_is_imported_as_binary(
    where: str, work: World, shell: Shell, tmp_path: Path
) -> None:
    if where == ".gitattributes":
        work.repo.commit("Attributes\n", {where: b"*.bin diff\n"})
    else:
        (tmp_path / "attributes").write_text("*.bin diff\n")
        work.repo.git("config", "core.attributesFile", str(tmp_path / "attributes"))
    work.repo.commit("Binary\n", {"b.bin": b"\0a\n"})
    work.repo.commit("Change it\n", {"b.bin": b"\0b\n"})
    assert imported(work, shell, commits="work~2..work").code == 0
    assert shell("lint", "--root", work.library.root).code == 0
    assert b"GIT binary patch" in files(work)["change-it.patch"]


def test_what_no_patch_file_can_hold_is_refused(work: World, shell: Shell) -> None:
    far_down = b"line\n" * 2000 + b"\0\n"
    work.repo.commit("Data\n", {"data": far_down})
    problem = refused(work, shell)
    assert problem.startswith(f"commit {work.repo.git('rev-parse', 'work')[:12]}: ")
    assert "git takes a file with NUL bytes for text" in problem
    work.repo.git("reset", "-q", "--hard", "v1.0.0")
    (work.repo.path / ".git/info").mkdir(exist_ok=True)
    (work.repo.path / ".git/info/attributes").write_text("*.bin diff\n")
    work.repo.commit("Binary\n", {"b.bin": b"\0a\n"})
    assert "by .git/info/attributes" in refused(work, shell)
