"""From a report's JSON back to the report, for caches, for shards that are joined, for `status`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from backport.core.outcomes import (
    CheckResult,
    Finding,
    HunkResult,
    Outcome,
    Proposal,
    Severity,
    StackOutcome,
    StackResult,
    Status,
)
from backport.core.patches import HunkId
from backport.core.reports import HunkText, Offer, Report, StackHead, StackReport, TargetReport

SCHEMA = 1


class NotAReport(ValueError):
    """A text that is no report of this schema; the message says what is wrong with it."""


def parse_report(text: str | bytes) -> Report:
    """The report that `machine.as_json` wrote; raises NotAReport where it is none."""
    try:
        values = json.loads(text)
        if values["schema"] != SCHEMA:
            raise NotAReport(f"has schema {values['schema']}, this tool reads {SCHEMA}")
        if values.get("problems"):
            raise NotAReport(f"tells of a run that ended early: {values['problems'][0]}")
        targets = tuple(target_of(target) for target in values["targets"])
        heads = tuple(_head(head) for head in values.get("stacks", ()))
    except NotAReport:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise NotAReport(f"is not a report of `backport check`: {error!r}") from None
    return Report(targets, heads)


def target_of(values: Mapping[str, Any]) -> TargetReport:
    """One target's report; what its JSON does not hold (the files' content) stays empty."""
    hunks = [hunk for stack in values["stacks"] for hunk in stack["hunks"]]
    return TargetReport(
        _str(values["target"]),
        _str(values["branch"]),
        _str(values["base"]),
        None if values["tree"] is None else _str(values["tree"]),
        tuple(_stack(stack) for stack in values["stacks"]),
        tuple(check_of(check) for check in values["checks"]),
        _str(values["error"]),
        _str(values["repository"]),
        _str(values["did"]),
        {_str(hunk["id"]): _text(hunk) for hunk in hunks if "text" in hunk},
        {_str(hunk["id"]): _offers(hunk["offers"]) for hunk in hunks if "offers" in hunk},
        values.get("bad_input") is True,
    )


def _offers(values: Sequence[Mapping[str, Any]]) -> tuple[Offer, ...]:
    return tuple(
        Offer(
            _str(value["made"]),
            _str(value["match"]),
            tuple(map(_str, value["lines"])),
            _str(value["diff"]),
        )
        for value in values
    )


def _str(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value


def _int(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _head(values: Mapping[str, Any]) -> StackHead:
    return StackHead(**{key: _str(value) for key, value in values.items() if key in _HEAD})


_HEAD = frozenset(StackHead._fields)


def _stack(values: Mapping[str, Any]) -> StackReport:
    result = StackResult(
        _str(values["name"]),
        {},
        tuple(_hunk(hunk) for hunk in values["hunks"]),
        StackOutcome(values["outcome"]),
        _str(values["reason"]),
    )
    return StackReport(result, None if values["commit"] is None else _str(values["commit"]))


def _hunk(values: Mapping[str, Any]) -> HunkResult:
    return HunkResult(
        HunkId.parse(_str(values["id"])),
        _str(values["path"]),
        Outcome(values["outcome"]),
        _int(values["line"]),
        _int(values["offset"]),
        _str(values["reason"]),
        _str(values["detail"]),
        _str(values["source"]),
        tuple(_int(line) for line in values["candidates"]),
        bool(values.get("inserts")),
        _int(values.get("added", 0)),
        _int(values.get("removed", 0)),
        proposal=_proposal(values.get("proposal")),
        evidence=_str(values.get("evidence")),
    )


def _proposal(values: Mapping[str, Any] | None) -> Proposal | None:
    if values is None:
        return None
    return Proposal(
        tuple(_str(rule) for rule in values["rules"]),
        _int(values["same"]),
        _int(values["cases"]),
        _str(values["why"]),
        _str(values["patch"]),
    )


def _text(values: Mapping[str, Any]) -> HunkText:
    found = values["found"] or {"line": 0, "lines": ()}
    return HunkText(
        tuple(_str(line) for line in values["text"]["lines"]),
        _int(values["text"]["start"]),
        _int(found["line"]),
        tuple(_str(line) for line in found["lines"]),
    )


def check_of(values: Mapping[str, Any]) -> CheckResult:
    """One check's result."""
    findings = tuple(_finding(finding) for finding in values["findings"])
    status = Status(values["status"])
    return CheckResult(_str(values["name"]), status, findings, _str(values["note"]))


def _finding(values: Mapping[str, Any]) -> Finding:
    return Finding(
        _str(values["path"]),
        _int(values["line"]),
        _int(values["column"]),
        Severity(values["severity"]),
        _str(values["code"]),
        _str(values["message"]),
        _str(values.get("symbol")),
        _str(values["mend"]),
    )
