"""An acceptance is stale only where every check that could match it was run."""

from __future__ import annotations

import pytest

from backport.core.accepting import accept
from backport.core.manifests import Accept
from backport.core.outcomes import CheckResult, Finding, Severity, Status

ENTRY = Accept("harmless", "m.toml:3", "unknown-name", "a.py", "f")


@pytest.mark.parametrize("left_out", ["compile", "audit"])
def test_it_is_not_judged_where_a_check_was_left_out(left_out: str) -> None:
    """The audit is not run where a stack does not apply, which says nothing of its findings."""
    names = ("compile", "audit", "evidence")
    checks = [
        CheckResult(name, Status.NOT_RUN if name == left_out else Status.PASSED) for name in names
    ]
    judged = accept(checks, (ENTRY,))[-1]
    assert (judged.name, judged.status) == ("accepted", Status.NOT_RUN)


def test_it_is_stale_where_everything_was_run() -> None:
    checks = [CheckResult(name, Status.PASSED) for name in ("compile", "audit")]
    judged = accept(checks, (ENTRY,))[-1]
    assert judged.status is Status.FAILED
    assert judged.findings[0].code == "stale-accept"


def test_a_code_that_is_spelt_wrong_is_told_the_right_one() -> None:
    found = Finding("b.py", 1, 1, Severity.ERROR, "unknown-name", "no such name", "g")
    checks = [CheckResult(name, Status.PASSED) for name in ("compile",)]
    checks.append(CheckResult("audit", Status.FAILED, (found, found._replace(path="a.py"))))
    judged = accept(checks, (ENTRY._replace(code="unknwon-name"),))[-1]
    assert judged.findings[0].message.endswith("any more; did you mean unknown-name a.py g?")
    judged = accept(checks, (ENTRY._replace(code="a-different-thing"),))[-1]
    assert judged.findings[0].message.endswith("any more")
