"""Every format, read by a tool that is not ours; a conflict on purpose is whole in each."""

from __future__ import annotations

import json
import os
import re
import stat
import xml.etree.ElementTree as ET
from dataclasses import fields, replace
from pathlib import Path

import pytest

from backport.core.outcomes import CheckResult, Finding, Proposal, Severity, Status
from backport.core.reports import Offer, Report, TargetReport
from backport.errors import BadInput, EnvironmentProblem
from backport.report.buildkite import Buildkite, as_buildkite
from backport.report.github import as_github
from backport.report.junit import as_junit
from backport.report.machine import as_json, problems_json
from backport.report.markdown import LIMIT, as_markdown, code, plain
from backport.report.outputs import FORMATS, rendered
from backport.report.plain import as_text, check_lines
from backport.report.problems import problems
from backport.report.reading import NotAReport, parse_report
from backport.report.sarif import as_sarif
from backport.workflows.outputs import Out, annotate, parse_out, write_outs
from tests.npm import package
from tests.report.world import NASTY

SCHEMA = Path(__file__).parents[2] / "backport/report/report.schema.json"
XSD = Path(__file__).with_name("junit.xsd")


def whole(name: str, report: Report) -> str:
    """All that a format says, as one text."""
    found = rendered(name, report)
    if isinstance(found, str):
        return found
    return "\n".join(str(getattr(found, field.name)) for field in fields(found))  # type: ignore[arg-type]


# ---------------------------------------------------------------- the conflict on purpose


@pytest.mark.parametrize("name", FORMATS)
def test_a_conflict_is_whole_in_every_format(name: str, report: Report) -> None:
    text = whole(name, report)
    for unescape in (("%3A", ":"), ("%2C", ","), ("&quot;", '"'), ("&#x27;", "'"), ('\\"', '"')):
        text = text.replace(*unescape)
    assert "pkg/gate.py" in text
    assert "patches/gate-fix/one.patch" in text
    assert "gate-fix/one:pkg/gate.py#1@" in text
    assert re.search(r"the target has no line .*gate\\?_10", text)
    if name != "json":  # there the lines themselves are values
        assert "[[drop]]" in text or "[[reanchor]]" in text
        assert 'reason = ""' in text


def advised(report: Report) -> Report:
    """The report with an offer and a proposal for every hunk that has no place."""
    proposal = Proposal(("words",), 9, 13, "it is <new>", "@@ -1 +1 @@\n-old <a>\n+new \x1b[31m\n")
    offer = Offer("team/v0", "other text", ("[[drop]]", 'reason = "not <needed>"'))
    targets = []
    for target in report.targets:
        stacks = tuple(
            stack._replace(
                result=stack.result._replace(
                    hunks=tuple(
                        hunk._replace(proposal=proposal) if hunk.outcome.failed else hunk
                        for hunk in stack.result.hunks
                    )
                )
            )
            for stack in target.stacks
        )
        hunks = [hunk for stack in stacks for hunk in stack.result.hunks if hunk.outcome.failed]
        offers = {str(hunk.id): (offer,) for hunk in hunks}
        targets.append(target._replace(stacks=stacks, offers=offers))
    return report._replace(targets=tuple(targets))


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "json"])
def test_what_could_stand_there_is_told_and_escaped(name: str, report: Report) -> None:
    text = whole(name, advised(report))
    for unescape in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ('\\"', '"')):
        assert name != "html" or "<needed>" not in text or unescape[0] != "&lt;"
        text = text.replace(*unescape)
    assert 'reason = "not <needed>"' in text
    assert "9 of 13 such merges were right" in text
    assert "+new " in text
    assert "\x1b" not in text


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_of_a_patch_reaches_a_terminal_raw(name: str, report: Report) -> None:
    text = whole(name, report)
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_report_has_every_format(name: str) -> None:
    assert whole(name, Report(())) or name in ("text", "buildkite", "github")


# ---------------------------------------------------------------- JSON


def test_json_fits_the_schema_that_is_shipped(report: Report) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    checker = jsonschema.Draft202012Validator(schema)
    values = json.loads(as_json(report))
    checker.validate(values)
    checker.validate(json.loads(as_json(Report(()))))
    checker.validate(json.loads(problems_json(2, ["a problem"])))
    assert "text" in values["targets"][0]["stacks"][0]["hunks"][0]
    del values["targets"][0]["verdict"]
    assert not checker.is_valid(values)


def test_a_run_that_ended_early_is_no_report() -> None:
    with pytest.raises(NotAReport, match="ended early: no such thing"):
        parse_report(problems_json(3, ["no such thing", "another"]))


def test_json_comes_back_as_the_same_report(report: Report) -> None:
    again = parse_report(as_json(report))
    assert again == report
    assert as_json(again) == as_json(report)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"schema": 2}', '{"schema": 1, "targets": [{}]}', "[" * 9999]
)
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(NotAReport):
        parse_report(text)


# ---------------------------------------------------------------- JUnit


def test_junit_fits_the_schema(report: Report) -> None:
    etree = pytest.importorskip("lxml.etree")
    schema = etree.XMLSchema(etree.parse(str(XSD)))
    schema.assertValid(etree.fromstring(as_junit(report).encode()))
    schema.assertValid(etree.fromstring(as_junit(Report(())).encode()))


def test_junit_counts_and_kinds(report: Report) -> None:
    root = ET.fromstring(as_junit(report))  # noqa: S314 - our own text
    suites = {suite.get("name"): suite for suite in root}
    assert suites["team/v1.2.0"].get("failures") == "1"
    assert suites["team/v9.9.9"].get("errors") == "1"
    contained = suites["team/v1.3.0"].find(".//testcase[@classname='team/v1.3.0.gate-fix']")
    assert contained is not None
    assert contained.find("skipped") is not None
    for kind in ("failures", "errors", "skipped", "tests"):
        assert root.get(kind) == str(sum(int(suite.get(kind, "")) for suite in root))


def test_junit_is_read_by_junitparser(report: Report, tmp_path: Path) -> None:
    junitparser = pytest.importorskip("junitparser")
    path = tmp_path / "report.xml"
    path.write_text(as_junit(report), "utf-8")
    read = junitparser.JUnitXml.fromfile(str(path))
    assert (read.failures, read.errors) == (1, 1)


@pytest.mark.parametrize("char", ["\0", "\x08", "\x1f", "\ufffe", "\udc80", "]]>", "\r", "\u2028"])
def test_junit_stays_xml_whatever_a_message_holds(char: str) -> None:
    finding = Finding(f"a{char}.py", 1, 1, Severity.ERROR, "c", f"a{char}b", mend=char)
    check = CheckResult("check", Status.FAILED, (finding,), char)
    target = TargetReport(f"team/{char}", "b", checks=(check,))
    ET.fromstring(as_junit(Report((target,))).encode())  # noqa: S314 - our own text


# ---------------------------------------------------------------- SARIF


def test_sarif_fits_the_official_schema(report: Report) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schemas = package("schemastore", "0.2.2") / "schemas/json"
    schema = json.loads((schemas / "sarif-2.1.0.json").read_text("utf-8"))
    assert "oasis-tcs/sarif-spec" in schema["$id"]
    checker = jsonschema.validators.validator_for(schema)(schema)
    for each in (report, advised(report), Report(())):
        checker.validate(json.loads(as_sarif(each)))
    broken = json.loads(as_sarif(report))
    del broken["runs"][0]["tool"]["driver"]["name"]
    assert not checker.is_valid(broken)


def test_sarif_is_read_by_the_object_model(report: Report) -> None:
    """A model that others made from the schema."""
    model = pytest.importorskip("sarif_pydantic")
    read = model.Sarif.model_validate(json.loads(as_sarif(report)))
    assert [run.automation_details.id for run in read.runs][:1] == ["backport/team/v1.0.0/"]


def test_sarif_results(report: Report) -> None:
    log = json.loads(as_sarif(report))
    assert log["version"] == "2.1.0"
    categories = [run["automationDetails"]["id"] for run in log["runs"]]
    assert len(set(categories)) == len(report.targets)
    (run,) = (run for run in log["runs"] if "v1.2.0" in run["automationDetails"]["id"])
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "patches/gate-fix/one.patch"
    assert place["region"]["startLine"] > 1
    related = result["relatedLocations"][0]["physicalLocation"]
    assert related["artifactLocation"]["uri"] == "pkg/gate.py"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    failed = log["runs"][-1]["invocations"][0]
    assert failed["executionSuccessful"] is False


def test_sarif_keeps_to_what_the_standard_requires(report: Report) -> None:
    for run in json.loads(as_sarif(report))["runs"]:
        ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert len(ids) == len(set(ids))
        for result in run["results"]:
            assert result["message"]["text"]
            assert result["level"] in ("none", "note", "warning", "error")
            assert all(isinstance(v, str) for v in result["partialFingerprints"].values())
            for location in (*result["locations"], *result.get("relatedLocations", ())):
                uri = location["physicalLocation"]["artifactLocation"]["uri"]
                assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri)
                assert not uri.startswith("/")


def test_a_fingerprint_outlives_lines_but_not_targets(report: Report) -> None:
    conflict = next(problem for problem in problems(report) if problem.hunk)
    moved = replace(conflict, line=99, source_line=99, message="other words")
    assert moved.fingerprint == conflict.fingerprint
    assert replace(conflict, target="team/v2").fingerprint != conflict.fingerprint


# ---------------------------------------------------------------- GitHub


def many(count: int) -> Report:
    """A report with a failed check of `count` files."""
    findings = tuple(
        Finding(f"patches/p{n}.patch", n + 1, 1, Severity.ERROR, "c", f"m{n}" * 50)
        for n in range(count)
    )
    return Report(
        (TargetReport("team/v1", "b", checks=(CheckResult("c", Status.FAILED, findings),)),)
    )


def test_annotations_are_commands_on_lines_of_their_own(report: Report) -> None:
    lines = as_github(report).commands.splitlines()
    assert len(lines) == 2
    assert all(re.match(r"::error file=[^,]+,line=\d+,title=[^:]+::", line) for line in lines)
    assert "%0A" in lines[0]


def test_a_step_shows_ten_of_a_level(report: Report) -> None:
    lines = as_github(many(50)).commands.splitlines()
    assert len(lines) == 10
    assert "41 more" in lines[-1]
    assert len(as_github(many(10)).commands.splitlines()) == 10


def test_a_message_cannot_give_a_command_of_its_own() -> None:
    finding = Finding("a,b:c.py", 1, 1, Severity.ERROR, "c", "x\n::set-env name=A::b\r100%")
    check = CheckResult("check", Status.FAILED, (finding,))
    text = as_github(Report((TargetReport("t", "b", checks=(check,)),))).commands
    assert text.count("\n") == 1
    assert "%0A::set-env" in text
    assert "100%25" in text


def test_summary_and_outputs_go_where_github_asks(report: Report, tmp_path: Path) -> None:
    summary, outputs = tmp_path / "summary", tmp_path / "outputs"
    outputs.write_text("before=1\n", "ascii")
    environ = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(outputs)}
    (printed,) = write_outs([Out("github", "-")], report, environ)
    assert printed.startswith("::error ")
    assert "conflict" in summary.read_text("utf-8")
    values = dict(line.split("=", 1) for line in outputs.read_text("utf-8").splitlines())
    assert values["before"] == "1"
    assert values["clean"] == "false"
    assert json.loads(values["failed"]) == ["team/v1.2.0", "team/v9.9.9"]
    assert len(as_github(many(9000)).summary.encode()) < 1024 * 1024


# ---------------------------------------------------------------- Buildkite


def test_log_groups_open_where_somebody_has_to_look(report: Report) -> None:
    lines = as_buildkite(report).log.splitlines()
    assert lines[0].startswith("--- team/v1.0.0: clean")
    assert any(line.startswith("+++ team/v1.2.0: conflict") for line in lines)
    heads = [line for line in lines if line.startswith(("---", "+++", "~~~", "^^^"))]
    assert len(heads) == len(report.targets)
    assert as_buildkite(report).style == "error"
    assert as_buildkite(Report(report.targets[:2])).style == "success"


def test_the_agent_is_used_where_there_is_one(tmp_path: Path) -> None:
    agent = tmp_path / "buildkite-agent"
    agent.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\ncat > {tmp_path}/text\n', "ascii")
    agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
    found = Buildkite("log", "annotation", "error")
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert annotate(found, {"PATH": path, "BUILDKITE": "true"})
    assert (tmp_path / "words").read_text() == "annotate --style error --context backport\n"
    assert (tmp_path / "text").read_text() == "annotation"
    assert not annotate(found, {"PATH": path})
    assert not annotate(found, {"PATH": "/nowhere", "BUILDKITE": "true"})


# ---------------------------------------------------------------- Markdown


def test_markdown_fits_a_comment_and_counts_what_it_leaves_out() -> None:
    text = as_markdown(many(2000))
    assert len(text) <= LIMIT
    assert re.search(r"… and \d+ more; see the whole report\.\n\Z", text)
    assert text.count("**error**") + int(re.findall(r"and (\d+) more", text)[0]) == 2000


def test_markdown_shows_text_and_runs_none_of_it(report: Report) -> None:
    html = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"linkify": False})
    page = html.render(as_markdown(report))
    assert "<script" not in page
    assert "<td>" in page
    shown = html.render(plain(f"{NASTY} https://x.y www.x.y a_b_c *d* # e")).replace("\u200b", "")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; | `x` ]]&gt;" in shown
    assert "a_b_c *d* # e" in shown


@pytest.mark.parametrize("text", ["a`b", "``", "`a`", "a|b", "x\ny", ""])
def test_code_spans_hold_their_text(text: str) -> None:
    html = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"linkify": False})
    table = html.render(f"|a|b|\n|-|-|\n|{code(text)}|c|\n")
    assert table.count("<td>") == 2


def test_a_word_that_calls_a_person_does_not() -> None:
    shown = plain("@me #12 http://a www.b c@d")
    assert not re.search(r"@\w|(?<!&)#\d|://|www\.", shown)
    assert shown.replace("&#8203;", "") == "@me #12 http://a www.b c@d"


# ---------------------------------------------------------------- text and files


def test_several_outputs_in_one_run(report: Report, tmp_path: Path) -> None:
    outs = [Out(name, str(tmp_path / "new" / name)) for name in ("json", "junit", "html", "text")]
    assert write_outs(outs, report) == []
    assert (tmp_path / "new" / "text").read_text("utf-8") == as_text(report)
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["html", "json", "junit", "text"]


def test_out_names_a_format_and_a_path() -> None:
    assert parse_out("html=a=b.html") == Out("html", "a=b.html")
    assert parse_out("github") == Out("github", "-")
    for word in ("pdf=x", "html=", "=x", ""):
        with pytest.raises(BadInput):
            parse_out(word)


def test_a_file_that_cannot_be_written_is_said(report: Report, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        write_outs([Out("text", str(tmp_path))], report)


def test_an_error_that_may_be_accepted_comes_with_its_entry() -> None:
    mend = "raise the pin, or record with [[accept]] why it is harmless"
    error = Finding("a.py", 1, 1, Severity.ERROR, "newer", "no", "aiter.f", mend)
    block = ["[[accept]]", 'code   = "newer"', 'path   = "a.py"', 'symbol = "aiter.f"']
    lines = check_lines([CheckResult("audit", Status.FAILED, (error,))], verbose=False)
    assert lines[-5:] == [f"    {line}" for line in (*block, 'reason = ""')]
    for other in (error._replace(severity=Severity.WARNING), error._replace(mend="raise it")):
        lines = check_lines([CheckResult("audit", Status.PASSED, (other,))], verbose=False)
        assert "    [[accept]]" not in lines
