"""A scan gives the answers of git, commit by commit, and judges each version once."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import backport
from backport.cache import ResultCache
from backport.checkout import Checkout
from backport.cli import run
from backport.core.scanning import Sight, units, whole
from backport.errors import BadInput, EnvironmentProblem
from backport.library import Library, load
from backport.report import timeline
from backport.report.html.timeline import as_html
from backport.workflows.scan import Scan, parse_range, scan
from tests.report.world import SEALED, git

FILES = ("a [rocm].py", "b.py", "c.txt")
LINES = 60


@dataclass
class Story:
    """A library with one stack of three files, and a history that is made at random."""

    root: Path
    repo: Path

    def library(self) -> Library:
        return load(self.root)

    def scan(self, span: str = "start..main", cache: ResultCache | None = None) -> Scan:
        with Checkout.open(self.repo) as reader:
            stacks = list(self.library().stacks.values())
            return scan(stacks, reader, *parse_range(span), cache=cache, jobs=1)


@pytest.fixture(autouse=True)
def sealed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for key, value in SEALED.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("BACKPORT_CACHE", str(tmp_path / "cache"))


def _base(name: str) -> list[str]:
    return [f"{name[0]}_{n} = {n}" for n in range(LINES)]


def _patched(lines: list[str], part: int) -> list[str]:
    out = list(lines)
    for at, text in ((20, "twenty"), (40, "forty")) if part == 0 else ((22, "more"),):
        word = f"{lines[0][0]}_{at} = {at}"
        if word in out:
            out.insert(out.index(word) + 1, f"{lines[0][0]}_{text} = 1")
    return out


def _write(story: Story, files: dict[str, list[str]], message: str) -> None:
    for name, lines in files.items():
        (story.repo / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    git(story.repo, "add", "-A")
    git(story.repo, "commit", "-q", "--allow-empty", "-m", message)


def _stack(story: Story) -> None:
    """Two patches, the second on top of the first in the same files."""
    folder = story.root / "patches" / "fix"
    folder.mkdir(parents=True)
    (story.root / "manifests").mkdir()
    names = []
    now = {name: _base(name) for name in FILES}
    for part in (0, 1):
        now = {name: _patched(lines, part) for name, lines in now.items()}
        _write(story, now, f"part {part}")
        diff = git(story.repo, "diff", "--full-index", "HEAD~1")
        mail = f"From {'0' * 40} Mon Sep 17 00:00:00 2001\nFrom: A <a@localhost>\n"
        mail += "Date: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] Fix\n\nWhy.\n---\n"
        (folder / f"p{part}.patch").write_text(f"{mail}\n{diff}\n", "utf-8")
        names.append(f"p{part}.patch")
    (folder / "series").write_text("\n".join(names) + "\n", "ascii")
    toml = 'schema = 1\ntitle = "Fix"\nkind = "fork"\nhome = "start"\nwhy = "because"\n'
    (folder / "stack.toml").write_text(toml, "ascii")
    git(story.repo, "reset", "-q", "--hard", "start")


def _edit(lines: list[str], rng: random.Random, number: int) -> list[str]:
    out = list(lines)
    kind = rng.choice(("above", "near", "far", "fix", "fix", "unfix", "drop"))
    letter = lines[0][0] if lines else "a"
    if kind == "above":
        out.insert(1, f"{letter}_above_{number} = 1")
    elif kind == "fix":
        out = _patched(_patched(out, 0), 1) if rng.random() < 0.6 else _patched(out, 0)
    elif kind == "unfix":
        out = _base(letter)
    elif out:
        at = {"near": rng.randint(18, 24), "far": rng.randint(2, 12), "drop": rng.randint(18, 42)}
        spot = min(at[kind], len(out) - 1)
        out[spot : spot + 1] = [] if kind == "drop" else [f"{letter}_new_{number} = 1"]
    return out


@pytest.fixture(scope="module", params=[1, 2, 3])
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("story")
    made = Story(folder / "library", folder / "repo")
    made.repo.mkdir()
    git(made.repo, "init", "-q", "-b", "main")
    _write(made, {name: _base(name) for name in FILES}, "start")
    git(made.repo, "tag", "start")
    _stack(made)
    rng = random.Random(request.param)  # noqa: S311 - the same story in every run
    now = {name: _base(name) for name in FILES}
    for number in range(25):
        name = rng.choice((*FILES, "unrelated.txt"))
        now[name] = _edit(now.get(name, _base(name)), rng, number)
        _write(made, {name: now[name]}, f"commit {number}: {name} \x1b[31m<b>")
    return made


def _brute(story: Story, commit: str, path: str) -> Sight:
    """What `git apply --cached` says of one file of the stack, patch after patch."""
    folder = story.root / "patches" / "fix"
    patches = [folder / "p0.patch", folder / "p1.patch"]
    if _applies(story, commit, patches, path, ()):
        return Sight.CLEAN
    back = _applies(story, commit, patches[::-1], path, ("-R",))
    return Sight.ALREADY if back else Sight.CONFLICT


def _applies(
    story: Story, commit: str, patches: list[Path], path: str, flags: tuple[str, ...]
) -> bool:
    index = story.repo / ".git" / "brute-index"
    index.unlink(missing_ok=True)
    environ = {**os.environ, **SEALED, "GIT_INDEX_FILE": str(index)}
    words = ["git", "-C", str(story.repo)]
    subprocess.run([*words, "read-tree", commit], check=True, env=environ)
    include = "--include=" + path.replace("[", "\\[")
    return all(
        subprocess.run(
            [*words, "apply", "--cached", include, *flags, str(patch)],
            capture_output=True,
            check=False,
            env=environ,
        ).returncode
        == 0
        for patch in patches
    )


def test_every_answer_is_that_of_git_apply_commit_by_commit(story: Story) -> None:
    (history,) = story.scan().histories
    commits = git(story.repo, "rev-list", "--reverse", "start..main").split()
    touching = {commit.id for commit, _ in history.commits}
    strips = {
        hunk.hunk: (hunk.path, timeline.strip(hunk, [c for c, _ in history.commits]))
        for hunk in history.hunks
    }
    step = 0
    seen = set()
    for commit in commits:
        step += commit in touching
        for path in FILES:
            sights = [strip[step] for where, strip in strips.values() if where == path]
            assert whole(sights) == _brute(story, commit, path), (commit, path)
            seen.add(whole(sights))
    assert Sight.CONFLICT in seen


def test_first_breaking_and_first_repairing_commit(story: Story) -> None:
    (history,) = story.scan().histories
    commits = [commit for commit, _ in history.commits]
    for hunk in history.hunks:
        strip = timeline.strip(hunk, commits)
        pairs = list(zip(strip, strip[1:], commits, strict=False))
        bad = Sight.CONFLICT
        broke = next((c for was, now, c in pairs if now is bad and was is not bad), None)
        repaired = next((c for was, now, c in pairs if was is bad and now is not bad), None)
        assert (hunk.broke, hunk.repaired) == (broke, repaired)


def test_a_version_is_judged_once_and_never_again(story: Story, tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    found = story.scan(cache=cache)
    (history,) = found.histories
    changes = sum(len(commit.versions) for commit, _ in history.commits)
    assert 0 < found.judged <= len(FILES) + changes
    again = story.scan(cache=cache)
    assert (again.judged, again.known) == (0, found.judged)
    assert again.histories == found.histories == story.scan().histories


def test_three_git_children_whatever_the_history(story: Story) -> None:
    started: list[str] = []

    def counting(event: str, args: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen" and watching:
            started.append(args[0])

    watching = [True]
    sys.addaudithook(counting)
    story.scan()
    watching.clear()
    assert started == ["git"] * len(started)
    assert len(started) <= 3


def test_commits_elsewhere_cost_nothing(story: Story) -> None:
    (history,) = story.scan().histories
    assert all(set(commit.versions) <= set(FILES) for commit, _ in history.commits)


def test_an_empty_range(story: Story) -> None:
    (history,) = story.scan("main..main").histories
    assert history.commits == ()
    assert history.start == history.end


def test_a_start_that_is_no_ancestor(story: Story) -> None:
    """As a release tag is that lies on a branch of its own: what counts is where it left main."""
    tree = git(story.repo, "rev-parse", "start^{tree}")
    side = git(story.repo, "commit-tree", "-p", "start", "-m", "side", tree)
    git(story.repo, "tag", "-f", "side", side)
    assert story.scan("side..main").histories == story.scan().histories


def test_unrelated_ends_are_one_step(story: Story) -> None:
    for name in ("start", "main"):
        tree = git(story.repo, "rev-parse", f"{name}^{{tree}}")
        alone = git(story.repo, "commit-tree", "-m", f"release {name}", tree)
        git(story.repo, "tag", "-f", f"alone-{name}", alone)
    found = story.scan("alone-start..alone-main")
    assert "share no history" in found.note
    (history,), (full,) = found.histories, story.scan().histories
    assert (history.start, history.end) == (full.start, full.end)
    assert [commit.subject for commit, _ in history.commits] == ["release main"]


@pytest.mark.parametrize("text", ["a", "a..", "..b", "a...b", ""])
def test_a_range_has_two_ends(text: str) -> None:
    with pytest.raises(BadInput):
        parse_range(text)


def test_a_rename_joins_two_files(story: Story) -> None:
    stack = story.library().stack("fix")
    assert [unit.paths for unit in units(stack)] == [(name,) for name in FILES]


# ---------------------------------------------------------------- what is shown


def test_text_names_the_commit_and_its_subject(story: Story) -> None:
    found = story.scan()
    text = timeline.as_text(found.start, found.end, found.histories)
    (history,) = found.histories
    for hunk in history.hunks:
        if hunk.broke:
            assert f"conflict since {hunk.broke.id[:12]}" in text
            assert f"{hunk.broke.subject.partition(':')[0]}:" in text
    assert "\x1b" not in text


def test_json_holds_every_span(story: Story) -> None:
    found = story.scan()
    values = json.loads(timeline.as_json(found.start, found.end, found.histories, found.judged))
    (history,) = found.histories
    (stack,) = values["stacks"]
    assert [len(hunk["spans"]) for hunk in stack["hunks"]] == [len(h.spans) for h in history.hunks]
    assert values["evaluations"]["made"] == found.judged


def test_the_page_shows_subjects_as_text(story: Story) -> None:
    found = story.scan()
    page = as_html(found.start, found.end, found.histories)
    assert "<b>" not in page.replace('<b aria-hidden="true">', "")
    assert "\x1b" not in page


# ---------------------------------------------------------------- the command


def call(story: Story, *words: str) -> int:
    return run(["scan", *words, "--root", str(story.root), "--repo", str(story.repo)])


def test_exit_status_tells_how_it_ends(story: Story, tmp_path: Path) -> None:
    (history,) = story.scan().histories
    expected = int(history.end is Sight.CONFLICT)
    out = tmp_path / "scan.html"
    assert call(story, "--all", "--range", "start..main", "--out", f"html={out}") == expected
    assert "<!doctype html>" in out.read_text("utf-8")
    assert call(story, "--all", "--range", "start..start") == 0
    assert call(story, "--stack", "none", "--range", "start..main") == 2
    assert call(story, "--all", "--range", "start..nowhere") == 3


def test_bisect_run_judges_the_commit_at_hand(story: Story) -> None:
    (history,) = story.scan().histories
    commits = [(c, s) for c, s in history.commits][:6]
    for commit, sight in commits:
        git(story.repo, "checkout", "-q", commit.id)
        expected = int(sight is Sight.CONFLICT)
        assert call(story, "--stack", "fix", "--bisect-run") == expected
    git(story.repo, "checkout", "-q", "main")


def test_bisect_run_ends_the_bisection_for_a_wrong_call(story: Story) -> None:
    assert call(story, "--bisect-run") == 128
    assert call(story, "--stack", "none", "--bisect-run") == 128


def test_bisect_run_skips_what_it_cannot_tell(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(self: Checkout, object_id: str) -> bytes:
        raise EnvironmentProblem(object_id)

    monkeypatch.setattr(Checkout, "read_object", missing)
    assert call(story, "--stack", "fix", "--bisect-run", "--no-cache") == 125


def test_git_bisect_finds_the_commit_that_broke_it(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = str(Path(backport.__file__).parents[1])  # the bisection runs in another folder
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([here, *sys.path]))
    (history,) = story.scan().histories
    broke = next((c for c, sight in history.commits if sight is Sight.CONFLICT), None)
    if broke is None or history.start is Sight.CONFLICT:
        pytest.skip("this history begins in conflict")
    tree = tmp_path / "tree"
    git(story.repo, "worktree", "add", "-q", "--detach", str(tree), "main")
    words = [sys.executable, "-m", "backport", "scan", "--all", "--bisect-run"]
    said = git(tree, "bisect", "start", broke.id, "start")
    if "is the first bad commit" not in said:  # git knows it already where nothing lies between
        said = git(tree, "bisect", "run", *words, "--root", str(story.root))
    assert f"{broke.id} is the first bad commit" in said
