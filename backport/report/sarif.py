"""SARIF 2.1.0: one run and one category per target, rules that keep their ids.

The primary place of a result is in the library (the patch or the manifest), which is
what the CI that uploads the file has checked out; the target's file is a related one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from backport import __version__
from backport.core.display import visible
from backport.core.paths import encode
from backport.core.reports import Report, TargetReport
from backport.report.problems import TROUBLE, Problem, manifest_of, target_problems

SCHEMA_URI = "https://json.schemastore.org/sarif-2.1.0.json"
RULES: Mapping[str, tuple[str, str]] = {
    "conflict": ("HunkConflict", "A hunk has no place on the target."),
    "ambiguous": ("HunkAmbiguous", "A hunk fits in more than one place of the target."),
    "partly-there": ("StackPartlyThere", "A part of a stack stands on the target already."),
    "stale-evidence": ("StaleEvidence", "A manifest's entry is no longer true of the target."),
    "stale-accept": ("StaleAcceptance", "An accepted finding is not found any more."),
    "touched-path": ("TouchedPath", "A file changed that no applied stack changes."),
    "line-count": ("LineCount", "A file grew by other lines than its hunks add."),
    "defined-twice": ("DefinedTwice", "A definition stands twice that did not before."),
    "git-settings": ("GitSettings", "A patch changes how git treats the tree."),
    "ci-settings": ("CiSettings", "A patch changes what CI runs."),
    "link-outside": ("LinkOutside", "A link leads out of the tree."),
    "lock": ("LockDiffers", "The result is not the one that the lock file records."),
    "syntax": ("Syntax", "A changed file does not compile."),
    "newer-syntax": ("NewerSyntax", "A changed file needs a newer Python than the target."),
}


def as_sarif(report: Report) -> str:
    """The report as SARIF."""
    runs = [_run(target) for target in report.targets]
    content = {"version": "2.1.0", "$schema": SCHEMA_URI, "runs": runs}
    return json.dumps(content, indent=1) + "\n"


def _run(target: TargetReport) -> dict[str, Any]:
    found = [problem for problem in target_problems(target) if problem.code != TROUBLE]
    codes = list(dict.fromkeys(problem.code for problem in found))
    return {
        "tool": {
            "driver": {
                "name": "backport",
                "semanticVersion": __version__,
                "rules": [_rule(code) for code in codes],
            }
        },
        "automationDetails": {"id": f"backport/{target.target}/"},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {
            "%SRCROOT%": {"description": {"text": "The folder that holds patches/ and manifests/."}}
        },
        "invocations": [_invocation(target)],
        "results": [_result(problem, codes.index(problem.code)) for problem in found],
        "properties": {"base": target.base, "verdict": str(target.verdict)},
    }


def _rule(code: str) -> dict[str, Any]:
    name, text = RULES.get(code, ("".join(map(str.capitalize, code.split("-"))), f"Check: {code}."))
    return {
        "id": code,
        "name": name,
        "shortDescription": {"text": text},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["backport"]},
    }


def _invocation(target: TargetReport) -> dict[str, Any]:
    if not target.error:
        return {"executionSuccessful": True}
    note = {
        "level": "error",
        "message": {"text": visible(target.error)},
        "descriptor": {"id": TROUBLE},
    }
    return {"executionSuccessful": False, "toolExecutionNotifications": [note]}


def _result(problem: Problem, rule: int) -> dict[str, Any]:
    file = problem.source or manifest_of(problem.target)
    result: dict[str, Any] = {
        "ruleId": problem.code,
        "ruleIndex": rule,
        "level": str(problem.severity),
        "message": _message(problem),
        "locations": [
            {"physicalLocation": _physical(file, problem.source_line or 1, problem.column)}
        ],
        "partialFingerprints": {"backport/v1": problem.fingerprint},
        "properties": {"target": problem.target, "mend": visible(problem.mend)},
    }
    if problem.hunk:
        logical = {"fullyQualifiedName": visible(problem.hunk), "kind": "hunk"}
        result["locations"][0]["logicalLocations"] = [logical]
    if problem.path:
        result["relatedLocations"] = [_related(problem)]
    return result


def _related(problem: Problem) -> dict[str, Any]:
    text = f"{problem.place} on {problem.target}"
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(problem.path)}}
    if problem.line:
        place["region"] = {"startLine": problem.line}
    return {"id": 0, "physicalLocation": place, "message": {"text": visible(text)}}


def _message(problem: Problem) -> dict[str, str]:
    head = f"{problem.target}: {problem.place}: {problem.message}"
    lines = [head, *filter(None, [problem.hunk, problem.mend]), *problem.paste, *problem.advice]
    return {"text": visible("\n".join(lines))}


def _physical(file: str, line: int, column: int = 0) -> dict[str, Any]:
    region = {"startLine": line, **({"startColumn": column} if column else {})}
    return {
        "artifactLocation": {"uri": _uri(file), "uriBaseId": "%SRCROOT%"},
        "region": region,
    }


def _uri(path: str) -> str:
    return quote(encode(path), safe="/")
