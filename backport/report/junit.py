"""JUnit XML: a suite per target, a case per patch and per check.

skipped: already upstream, left out, or not run; failure: a conflict or a failed
check; error: trouble around the tool. XML has no way to write most control
characters, so they are spelt out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from backport.core.display import counted, visible
from backport.core.outcomes import CheckResult, HunkResult, Severity, StackOutcome, Status
from backport.core.reports import Report, StackReport, TargetReport
from backport.report.plain import check_line, finding_line, hunk_line, stack_line
from backport.report.problems import Problem, target_problems

KINDS = ("failure", "error", "skipped")


@dataclass(frozen=True, slots=True)
class _Case:
    """A test case: its names, and at most one of failure, error and skipped with its text."""

    group: str
    name: str
    file: str = ""
    kind: str = ""
    message: str = ""
    text: str = ""
    out: str = ""


def as_junit(report: Report) -> str:
    """The report as JUnit XML."""
    suites = [(target, list(_cases(target))) for target in report.targets]
    cases = [case for _, found in suites for case in found]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f"<testsuites name={_attribute('backport')} {_counts(cases)}>")
    for target, found in suites:
        lines += _suite(target, found)
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _cases(target: TargetReport) -> Iterator[_Case]:
    if target.error:
        yield _Case(target.target, "target", "", "error", target.error, target.error)
        return
    found = target_problems(target)
    for entry in target.stacks:
        yield from _stack_cases(target, entry, [p for p in found if p.stack == entry.result.stack])
    for check in target.checks:
        yield _check_case(target, check)


def _stack_cases(target: TargetReport, entry: StackReport, found: list[Problem]) -> Iterator[_Case]:
    result = entry.result
    group = f"{target.target}.{result.stack}"
    if not result.hunks:
        yield _Case(group, result.stack, "", "skipped", stack_line(entry))
        return
    patches: dict[str, list[HunkResult]] = {}
    for hunk in result.hunks:
        patches.setdefault(hunk.id.patch, []).append(hunk)
    for patch, hunks in patches.items():
        file = hunks[0].source.rpartition(":")[0]
        out = "\n".join(hunk_line(hunk) for hunk in hunks)
        wrong = [p for p in found if p.patch == patch and p.severity is Severity.ERROR]
        if wrong:
            text = "\n\n".join(_told(problem) for problem in wrong)
            share = f"{len(wrong)} of {counted(len(hunks), 'hunk')}"
            message = f"{share}: {wrong[0].place}: {wrong[0].message}"
            yield _Case(group, patch, file, "failure", message, text, out)
        elif result.outcome is StackOutcome.ALREADY:
            yield _Case(group, patch, file, "skipped", "stands on the target already", "", out)
        else:
            yield _Case(group, patch, file, out=out)


def _told(problem: Problem) -> str:
    """The file, the line, the hunk, why, and the block to paste."""
    head = f"{problem.place}: {problem.message} [{problem.code}]"
    source = f"{problem.source}:{problem.source_line}" if problem.source else ""
    return "\n".join(
        filter(None, [head, problem.hunk, source, problem.mend, *problem.paste, *problem.advice])
    )


def _check_case(target: TargetReport, check: CheckResult) -> _Case:
    group = f"{target.target}.checks"
    out = "\n".join(finding_line(finding) for finding in check.findings)
    if check.status is Status.NOT_RUN:
        return _Case(group, check.name, "", "skipped", check_line(check), "", out)
    if check.status is Status.PASSED:
        return _Case(group, check.name, out=out)
    mends = dict.fromkeys(finding.mend for finding in check.findings if finding.mend)
    first = check.findings[0].message if check.findings else check.note
    return _Case(group, check.name, "", "failure", first, "\n".join([out, *mends]))


# ---------------------------------------------------------------- XML


def _suite(target: TargetReport, cases: list[_Case]) -> Iterator[str]:
    yield f"  <testsuite name={_attribute(target.target)} {_counts(cases)}>"
    yield "    <properties>"
    for key, value in (("base", target.base), ("verdict", target.verdict), ("tree", target.tree)):
        yield f"      <property name={_attribute(key)} value={_attribute(value or '')}/>"
    yield "    </properties>"
    for case in cases:
        yield from _case(case)
    yield "  </testsuite>"


def _counts(cases: list[_Case]) -> str:
    failures, errors, skipped = (sum(case.kind == kind for case in cases) for kind in KINDS)
    return (
        f'tests="{len(cases)}" failures="{failures}" errors="{errors}" skipped="{skipped}" time="0"'
    )


def _case(case: _Case) -> Iterator[str]:
    file = f" file={_attribute(case.file)}" if case.file else ""
    yield (
        f"    <testcase classname={_attribute(case.group)} name={_attribute(case.name)}"
        f'{file} time="0">'
    )
    if case.kind == "skipped":
        yield f"      <skipped message={_attribute(case.message)}/>"
    elif case.kind:
        yield (
            f"      <{case.kind} message={_attribute(case.message)} "
            f"type={_attribute(case.kind)}>{_text(case.text)}</{case.kind}>"
        )
    if case.out:
        yield f"      <system-out>{_text(case.out)}</system-out>"
    yield "    </testcase>"


def _text(text: str) -> str:
    return escape(visible(text))


def _attribute(text: str) -> str:
    return quoteattr(visible(text).replace("\n", " "))
