"""`status` says how things stand, and in a line a change what is different."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backport.cli import run
from backport.core.reports import Report
from backport.report.changes import BROKEN, CONTAINED, OTHER, REPAIRED, changes
from backport.report.machine import as_json
from backport.workflows.history import last_result, record
from tests.report.world import World, git, manifest_text


def status(world: World, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    code = run(["status", *words, "--root", str(world.root), "--repo", str(world.repo)])
    return code, capsys.readouterr().out


def retag(world: World, name: str, like: str) -> None:
    world.git("tag", "-f", name, like)


def test_the_matrix_and_what_changed(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = status(world, capsys)
    assert code == 1
    assert "changed" not in text
    assert "conflict" in text
    _, text = status(world, capsys)
    assert text.endswith("nothing changed since the last check\n")
    retag(world, "v1.0.0", "v1.2.0")
    retag(world, "v1.1.0", "v1.3.0")
    _, text = status(world, capsys)
    lines = text.partition("changed since the last check:\n")[2].splitlines()
    assert [line.partition(":")[0] for line in lines] == [BROKEN, CONTAINED]
    assert lines[0].startswith("newly broken: team/v1.0.0 gate-fix: exact -> conflict (pkg/gate.py")


def test_the_matrix_names_branches_and_tells_each_reason_once(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    skip = (world.root / "manifests/team/v1.4.0.toml").read_text("utf-8")
    world.manifest("team/v1.5.0", skip.replace("team/v1.4.0", "team/v1.5.0"))
    _, text = status(world, capsys)
    assert "team/v1.0.0: clean, branch team/v1.0.0\n" in text
    (reason,) = [line for line in text.splitlines() if "not needed" in line]
    assert reason.startswith("cache-fix skipped on team/v1.4.0, team/v1.5.0: not needed ")


def test_since_a_file_is_a_message(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    path = world.root / "before.json"
    words = ["check", "--all", "-q", "--root", str(world.root), "--repo", str(world.repo)]
    run([*words, "--out", f"json={path}"])
    retag(world, "v1.2.0", "v1.0.0")
    code, text = status(world, capsys, "--since", str(path))
    assert code == 0
    head, line = text.splitlines()
    assert head == f"backport since {path}: 1 repaired"
    assert line == "repaired: team/v1.2.0 gate-fix: conflict -> exact"
    _, text = status(world, capsys, "--since", "last")
    assert text == "backport since last: nothing changed\n"


def test_since_a_revision_of_the_library(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    git(world.root, "init", "-q", "-b", "main")
    git(world.root, "add", "-A")
    git(world.root, "commit", "-qm", "before")
    world.manifest("team/v2.0.0", manifest_text("v1.2.0", "two"))
    path = world.root / "patches/gate-fix/one.patch"
    path.write_bytes(path.read_bytes().replace(b" gate_10 = 10\n", b" gate_10 = 99\n"))
    code, text = status(world, capsys, "--since", "HEAD", "--json")
    values = json.loads(text)
    assert code == 1
    kinds = {(change["target"], change["stack"]): change["kind"] for change in values["changes"]}
    assert kinds["team/v1.0.0", "gate-fix"] == BROKEN
    assert kinds["team/v2.0.0", ""] == BROKEN
    assert values["since"] == "HEAD"


def test_a_target_that_fails_as_before_is_named(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    accept = '[[accept]]\ncode = "c"\npath = "p"\nsymbol = "s"\nreason = "r"\n'
    world.manifest("team/v1.0.0", manifest_text("v1.0.0") + accept)
    world.manifest("team/v1.3.0", manifest_text("v9", "team/v9"))
    skip = (world.root / "manifests/team/v1.4.0.toml").read_text("utf-8")
    world.manifest("team/v1.4.0", skip.replace("present", "absent"))
    status(world, capsys)
    code, text = status(world, capsys, "--since", "last")
    head, *lines = text.splitlines()
    assert (code, head) == (3, "backport since last: nothing changed")
    starts = (
        "still failed: team/v1.0.0 (manifests/team/v1.0.0.toml: accept c p s: there is no such",
        "still conflict: team/v1.2.0 (gate-fix: pkg/gate.py: ",
        "still error: team/v1.3.0 (",
        "still stale: team/v1.4.0 (manifests/team/v1.4.0.toml: skip cache-fix: absent pkg/cache.py",
    )
    assert len(lines) == len(starts)
    for line, start in zip(lines, starts, strict=True):
        assert line.startswith(start)


@pytest.mark.parametrize("ref", ["nowhere", "last"])
def test_a_reference_that_is_none(
    world: World, capsys: pytest.CaptureFixture[str], ref: str
) -> None:
    assert status(world, capsys, "--since", ref)[0] == 2


def test_a_check_of_one_target_keeps_what_is_known_of_the_others(
    report: Report, tmp_path: Path
) -> None:
    record(tmp_path, report)
    record(tmp_path, Report(report.targets[:1], report.stacks))
    assert last_result(tmp_path) == report


def test_a_damaged_record_is_no_record(report: Report, tmp_path: Path) -> None:
    record(tmp_path, report)
    (tmp_path / "backport/history/last.json").write_text("{}", "ascii")
    assert last_result(tmp_path) is None
    record(tmp_path, report)
    assert last_result(tmp_path) == report


def test_a_shards_check_does_not_replace_the_record(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    status(world, capsys)
    words = ["--root", str(world.root), "--repo", str(world.repo), "-q"]
    run(["check", "--target", "v1.2.0", "--stack", "cache-fix", *words])
    assert status(world, capsys)[1].endswith("nothing changed since the last check\n")


def test_changes_are_told_worst_first(report: Report) -> None:
    by_name = {target.target: target for target in report.targets}
    clean, broken = by_name["team/v1.0.0"], by_name["team/v1.2.0"]
    assert changes(report, report) == []
    assert changes(Report(()), Report((clean,)))[0].kind == OTHER
    assert changes(Report(()), Report((broken,)))[0].kind == BROKEN
    assert as_json(Report((clean,)))
    assert REPAIRED
