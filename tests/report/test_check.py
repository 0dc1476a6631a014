"""`check`: which targets are meant, what is kept between runs, and that none hides another."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from backport import tools
from backport.audit.checks import opinions
from backport.audit.subject import CouldNotRun
from backport.cache import ResultCache
from backport.checkout import Checkout
from backport.cli import run
from backport.core.outcomes import Outcome
from backport.core.reports import Report, TargetReport, Verdict
from backport.errors import BadInput
from backport.library import load
from backport.tools import UNFINISHED
from backport.workflows import apply, inputs
from backport.workflows.apply import Options, check_target
from backport.workflows.checking import check_targets, select
from backport.workflows.workers import Died, Workers
from tests.report.world import GATE, World, make_world, manifest_text


def check(
    world: World, cache: ResultCache | None = None, jobs: int = 1, audit: bool = False
) -> Report:
    library = load(world.root)
    with Checkout.open(world.repo) as reader:
        options = Options(write=False, audit=audit)
        manifests = list(library.manifests.values())
        return check_targets(library, manifests, reader, options, cache=cache, jobs=jobs)


def of(report: Report, name: str) -> TargetReport:
    return next(target for target in report.targets if target.target == name)


def call(world: World, *words: str) -> int:
    return run(["check", *words, "--root", str(world.root), "--repo", str(world.repo)])


# ---------------------------------------------------------------- which targets


def test_names_and_globs_mean_each_target_once(world: World) -> None:
    library = load(world.root)
    names = [m.name for m in select(library, ["v1.[01].0", "1.1.0", "team/v1.4*"], False)]
    assert names == ["team/v1.0.0", "team/v1.1.0", "team/v1.4.0"]
    assert len(select(library, [], True)) == len(library.manifests)


@pytest.mark.parametrize("words", [["nobody/*"], []])
def test_a_glob_that_fits_nothing_is_bad_input(world: World, words: list[str]) -> None:
    with pytest.raises(BadInput):
        select(load(world.root), words, False)


# ---------------------------------------------------------------- verdicts and exit codes


def test_each_release_comes_out_as_it_must(report: Report) -> None:
    verdicts = {target.target.partition("/")[2]: target.verdict for target in report.targets}
    assert verdicts == {
        "v1.0.0": Verdict.CLEAN,
        "v1.1.0": Verdict.CLEAN,
        "v1.2.0": Verdict.CONFLICT,
        "v1.3.0": Verdict.CLEAN,
        "v1.4.0": Verdict.CLEAN,
        "v9.9.9": Verdict.ERROR,
    }
    assert report.exit_code == 3


@pytest.mark.parametrize("flags", [[], ["--no-cache"], ["--jobs", "3"]])
def test_a_conflict_is_never_exit_0(world: World, flags: list[str]) -> None:
    assert call(world, "--all", "-q", *flags) == 1
    assert call(world, "--all", "-q", *flags) == 1
    assert call(world, "--target", "v1.0.0", "-q", *flags) == 0


def test_processes_give_the_report_of_one_process(world: World) -> None:
    world.manifest("team/v9.9.9", manifest_text("v9.9.9"))
    assert check(world, jobs=4) == check(world, jobs=1)


def test_a_conflict_shows_what_the_target_has_instead(report: Report) -> None:
    target = of(report, "team/v1.2.0")
    (hunk,) = (h for s in target.stacks for h in s.result.hunks if h.outcome is Outcome.CONFLICT)
    text = target.texts[str(hunk.id)]
    assert any(line.startswith("+added = 1") for line in text.lines)
    assert any(line.startswith("gate_10 = 0") for line in text.found)
    assert text.found[0] == f"gate_{text.line} = {text.line}"


# ---------------------------------------------------------------- one failure hides nothing


def test_a_bug_in_one_target_is_told_beside_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:

    def broken(library, manifest, reader, options):  # type: ignore[no-untyped-def]
        if manifest.name == "team/v1.1.0":
            raise ZeroDivisionError
        return check_target(library, manifest, reader, options)

    monkeypatch.setattr(apply, "check_target", broken)
    found = check(world)
    assert "ZeroDivisionError" in of(found, "team/v1.1.0").error
    assert of(found, "team/v1.4.0").verdict is Verdict.CLEAN
    assert found.exit_code == 3


def test_a_process_that_is_killed_costs_its_own_target_only(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:

    def dying(library, manifest, reader, options):  # type: ignore[no-untyped-def]
        if manifest.name == "team/v1.1.0":
            os.kill(os.getpid(), signal.SIGKILL)
        return check_target(library, manifest, reader, options)

    monkeypatch.setattr(apply, "check_target", dying)
    found = check(world, jobs=2)
    assert "ended" in of(found, "team/v1.1.0").error
    others = [target for target in found.targets if target.target != "team/v1.1.0"]
    assert all(not target.error for target in others)


def test_every_task_is_answered_when_all_workers_die() -> None:
    def die(number: int) -> bytes:
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    with Workers(die, 5, 2) as workers:
        answers = dict(workers.answers())
    assert sorted(answers) == [0, 1, 2, 3, 4]
    assert all(isinstance(answer, Died) for answer in answers.values())


def test_large_answers_arrive_whole() -> None:
    with Workers(lambda number: bytes([number]) * 3_000_000, 5, 3) as workers:
        answers = dict(workers.answers())
    assert answers == {number: bytes([number]) * 3_000_000 for number in range(5)}


# ---------------------------------------------------------------- what is kept


@pytest.fixture
def cache(tmp_path: Path) -> ResultCache:
    return ResultCache(tmp_path / "results")


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets that were really worked out."""
    seen: list[str] = []

    def counting(library, manifest, reader, options):  # type: ignore[no-untyped-def]
        seen.append(manifest.name)
        return check_target(library, manifest, reader, options)

    monkeypatch.setattr(apply, "check_target", counting)
    return seen


def test_a_second_run_works_nothing_out_and_says_the_same(
    world: World, cache: ResultCache, counted: list[str]
) -> None:
    cold = check(world, cache)
    assert len(counted) == len(cold.targets)
    warm = check(world, cache)
    assert len(counted) == len(cold.targets)
    assert warm == check(world, None) == cold


def _change_patch(world: World) -> None:
    path = world.root / "patches/gate-fix/one.patch"
    path.write_bytes(path.read_bytes().replace(b"+changed = 1", b"+changed = 2"))


def _change_manifest(world: World) -> None:
    path = world.root / "manifests/team/v1.0.0.toml"
    path.write_text(path.read_text("utf-8") + "# a word\n", "utf-8")


def _change_requirement(world: World) -> None:
    path = world.root / "patches/gate-fix/stack.toml"
    path.write_text(path.read_text("utf-8") + '[requires]\naiter = ">=9.9"\n', "utf-8")


def _write_lock(world: World) -> None:
    (world.root / "manifests/team/v1.0.0.lock").write_text("{}", "ascii")


def _move_base(world: World) -> None:
    (world.repo / "pkg/gate.py").write_text("gate = 1\n", "ascii")
    world.git("commit", "-qam", "another gate")
    world.git("tag", "-f", "v1.0.0")


def _move_without_change(world: World, tag: str) -> None:
    world.git("checkout", "-q", tag)
    world.git("commit", "-q", "--allow-empty", "-m", "nothing")
    world.git("tag", "-f", tag)


@pytest.mark.parametrize(
    "change", [_change_patch, _change_manifest, _change_requirement, _write_lock, _move_base]
)
def test_what_changes_the_answer_is_worked_out_again(
    world: World, cache: ResultCache, counted: list[str], change: object
) -> None:
    check(world, cache)
    counted.clear()
    change(world)  # type: ignore[operator]
    found = check(world, cache)
    assert "team/v1.0.0" in counted
    assert found == check(world, None)


def test_options_and_tool_have_results_of_their_own(
    world: World, cache: ResultCache, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check(world, cache)
    counted.clear()
    check(world, cache, audit=True)
    assert len(counted) == 5
    monkeypatch.setattr(inputs, "tool_identity", lambda: "another")
    check(world, cache)
    assert len(counted) == 10


def test_a_commit_that_leaves_the_touched_files_alone_costs_nothing(
    world: World, cache: ResultCache, counted: list[str]
) -> None:
    check(world, cache)
    counted.clear()
    world.git("checkout", "-q", "v1.1.0")
    (world.repo / "README").write_text("hello\n", "ascii")
    world.git("add", "-A")
    world.git("commit", "-qm", "elsewhere")
    world.git("tag", "-f", "v1.1.0")
    found = check(world, cache)
    assert counted == []
    assert found == check(world, None)  # base and tree are those of the new commit
    check(world, cache, audit=True)
    counted.clear()
    world.git("commit", "-q", "--allow-empty", "-m", "nothing")
    world.git("tag", "-f", "v1.1.0")
    assert check(world, cache, audit=True) == check(world, None, audit=True)


def test_a_home_that_moves_changes_every_answer(
    world: World, cache: ResultCache, counted: list[str]
) -> None:
    check(world, cache)
    counted.clear()
    _move_without_change(world, "v1.0.0")
    check(world, cache)
    assert len(counted) == 5


def test_a_conflict_is_not_carried_to_another_commit(
    world: World, cache: ResultCache, counted: list[str]
) -> None:
    check(world, cache)
    counted.clear()
    _move_without_change(world, "v1.2.0")
    check(world, cache)
    assert counted == ["team/v1.2.0"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"key": 1}', b"\xff\xfe", b"[" * 5000])
def test_a_damaged_result_is_worked_out_again(
    world: World, cache: ResultCache, damage: bytes
) -> None:
    cold = check(world, cache)
    for file in cache.folder.iterdir():
        file.write_bytes(damage)
    assert check(world, cache) == cold


def test_a_result_of_another_key_is_not_believed(world: World, cache: ResultCache) -> None:
    cold = check(world, cache)
    files = sorted(cache.folder.iterdir())
    first = files[0].read_bytes()
    for file in files:
        file.write_bytes(first)
    assert check(world, cache) == cold


def test_trouble_is_not_kept(world: World, cache: ResultCache) -> None:
    world.manifest("team/v2.0.0", manifest_text("v2.0.0"))
    assert of(check(world, cache), "team/v2.0.0").verdict is Verdict.ERROR
    world.git("tag", "v2.0.0", "v1.0.0")
    assert of(check(world, cache), "team/v2.0.0").verdict is Verdict.CLEAN


def test_the_oldest_results_go_first(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    for number in range(6):
        cache.write(str(number), {})
        os.utime(tmp_path / f"{number}.json", (number, number))
    cache.prune(2)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["4.json", "5.json"]


def test_results_lie_in_the_git_folder_and_nothing_else_changes(world: World) -> None:
    before = world.git("status", "--porcelain", "--ignored"), world.git("for-each-ref")
    call(world, "--all", "-q")
    assert list((world.repo / ".git/backport/results").glob("*.json"))
    assert (world.git("status", "--porcelain", "--ignored"), world.git("for-each-ref")) == before


def test_no_cache_reads_and_keeps_nothing(world: World) -> None:
    call(world, "--all", "-q", "--no-cache")
    assert not (world.repo / ".git/backport").exists()


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "ascii")
    cache = ResultCache(tmp_path / "file" / "results")
    cache.write("a", {})
    assert cache.read("a") is None
    cache.prune()


def test_two_runs_at_once_are_both_right(world: World) -> None:
    words = ["check", "--all", "--json", "--root", str(world.root), "--repo", str(world.repo)]
    command = [sys.executable, "-m", "backport", *words]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    outs = [json.loads(child.communicate()[0]) for child in runs]
    assert outs[0] == outs[1] == outs[2]
    left = [file.name for file in (world.repo / ".git/backport").rglob("*.part")]
    assert left == []


def test_a_known_result_imports_no_gitpython(world: World) -> None:
    code = (
        "import sys; from backport.cli import run; run(sys.argv[1:]);"
        "sys.exit('git' in sys.modules or 'rich' in sys.modules)"
    )
    words = ["check", "--all", "-q", "--root", str(world.root), "--repo", str(world.repo)]
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------- what comes and goes around a run


def _known_text(world: World) -> None:
    """The text that a patch was made on, in a repository without its home."""
    world.git("hash-object", "-w", "--stdin", feed="".join(f"{line}\n" for line in GATE))


def test_a_text_that_patches_were_made_on_is_looked_up_again(
    tmp_path: Path, cache: ResultCache
) -> None:
    world = make_world(tmp_path)
    alone = World(world.root, tmp_path / "alone")
    alone.repo.mkdir()
    alone.git("init", "-q", "-b", "main")
    (alone.repo / "pkg").mkdir()
    (alone.repo / "pkg/gate.py").write_text("first = 1\ngate_10 = 0\n", "ascii")
    alone.git("add", "-A")
    alone.git("commit", "-qm", "one")
    alone.git("tag", "v1.2.0")
    before = of(check(alone, cache), "team/v1.2.0")
    _known_text(alone)
    after = of(check(alone, cache), "team/v1.2.0")
    assert before != after == of(check(alone, None), "team/v1.2.0")


def test_torch_and_ruff_that_come_and_go_are_asked_again(
    world: World, cache: ResultCache, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[object] = []
    for torch, ruff in ((False, ""), (True, ""), (True, "ruff 1"), (True, "ruff 2")):
        monkeypatch.setattr(tools, "has_torch", lambda torch=torch: torch)
        monkeypatch.setattr(tools, "fingerprint", lambda tool, ruff=ruff: ruff)
        check(world, cache, audit=True)
        kept.append(len(counted))
    check(world, cache, audit=True)
    assert [*kept, len(counted)] == [5, 10, 15, 20, 20]


def test_a_tool_that_broke_is_asked_again(
    world: World, cache: ResultCache, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_off(tool: str, arguments: list[str], folder: str) -> str:
        raise CouldNotRun(f"{tool} {UNFINISHED}: killed")

    with monkeypatch.context() as broken:
        broken.setattr(opinions, "_run", break_off)
        broken.setattr(opinions, "found", lambda tool: "/bin/true")
        told = of(check(world, cache, audit=True), "team/v1.0.0").checks
    assert any(one.note == "ruff did not run to its end: killed" for one in told)
    counted.clear()
    check(world, cache, audit=True)
    assert "team/v1.0.0" in counted
