"""The audit as a whole: only what became worse, hints, moved files."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from backport.audit import CHECKS, audit_tree, explain, names_defined
from backport.audit.catalogue import RULES
from backport.audit.subject import Options
from backport.core.outcomes import Outcome, Severity, Status
from backport.report import sarif
from backport.report.merging import SHARDS
from backport.report.problems import PARTLY, TROUBLE
from tests.audit.builders import OWN, files, findings, results, said

BROKEN = "def f():\n    return gone\n"


def test_what_was_there_before_is_not_reported() -> None:
    assert said({"a.py": BROKEN}, {"a.py": f"# a line above\n\n{BROKEN}"}) == []


def test_one_more_of_what_was_there_before_is() -> None:
    twice = f"{BROKEN}\n\ndef g():\n    return gone\n"
    assert said({"a.py": BROKEN}, {"a.py": twice}) == ["a.py:6 undefined-name gone"]


def test_a_file_that_moves_takes_its_findings_along() -> None:
    assert said({"a.py": BROKEN}, {"a.py": None, "b.py": BROKEN}) == []


def test_no_change_is_no_finding() -> None:
    base = {"a.py": BROKEN, "b.py": "import pkg.gone\n", "pkg/__init__.py": ""}
    assert findings(base, {}) == []
    assert findings(base, dict(base)) == []


def test_every_check_has_a_result() -> None:
    found = results({}, {"a.py": "x = 1\n"})
    assert list(found) == list(CHECKS)
    assert {r.status for name, r in found.items() if name in ("names", "calls")} == {Status.PASSED}
    assert all(result.note for result in found.values() if result.status is Status.NOT_RUN)


def test_checks_can_be_chosen() -> None:
    found = results({}, {"a.py": BROKEN}, checks=frozenset({"imports"}))
    assert found["imports"].status is Status.PASSED
    assert found["names"].status is Status.NOT_RUN
    assert found["names"].note == "not asked for"


def test_the_whole_tree_can_be_judged() -> None:
    tree = files({"a.py": BROKEN, "b.py": "def g():\n    return a_b\n"})
    found = audit_tree(tree, Options(processes=1, checks=OWN))
    assert [f.symbol for f in found] == ["gone", "a_b"]


def test_codes_explain_themselves() -> None:
    for check in CHECKS.values():
        for rule in check.rules:
            assert explain(rule.code) == rule
            assert "\n" not in rule.text
            assert rule.mend
    with pytest.raises(KeyError):
        explain("nonsense")


def test_a_dropped_definition_is_named_in_the_mend() -> None:
    text = "def f(x):\n    return x * _COS_SIN\n"
    (finding,) = findings({}, {"a.py": text}, dropped=frozenset({"_COS_SIN"}), checks=OWN)
    assert finding.mend == (
        "a dropped hunk defines `_COS_SIN`: carry the definition, or drop the use too"
    )
    (finding,) = findings({}, {"a.py": text}, dropped=frozenset({"other"}), checks=OWN)
    assert finding.mend == explain("undefined-name").mend


def test_a_dropped_assertion_blocks_nothing() -> None:
    base = {"a.py": "def attn(q, out):\n    out[:] = q\n"}
    change = {"a.py": "def attn(q, out):\n    # fused path\n    out[:] = q\n"}
    dropped = names_defined(["    assert rope is not None  # mypy"])
    assert dropped == frozenset()
    assert findings(base, change, dropped=dropped) == []


def test_what_dropped_lines_define() -> None:
    lines = [
        "_COS_SIN = (1.0, 0.0)",
        "def helper(x):",
        "    async def inner(self):",
        "class Chunk:",
        "from pkg.ops import gather, expand as e",
        "import numpy as np",
        "        self.flag: bool = True",
        "    if x == 1:",
    ]
    assert names_defined(lines) == {
        *("_COS_SIN", "helper", "inner", "Chunk", "gather", "e", "np", "flag"),
    }


def test_findings_have_a_place_and_a_mend() -> None:
    (finding,) = findings({}, {"a.py": BROKEN}, checks=OWN)
    assert (finding.line, finding.column, finding.severity) == (2, 12, Severity.ERROR)
    assert finding.mend
    assert not any(char.isdigit() for char in finding.message + finding.symbol)


def test_files_that_do_not_parse_or_hold_odd_bytes() -> None:
    base = {"b.py": "from a import f\n\nf(1)\n", "a.py": "def f(x):\n    return x\n"}
    assert said(base, {"a.py": "def f(x:\n"}) == ["a.py:1 syntax syntax"]
    assert said({}, {"a.py": "x = 1\r\ndef f():\r\n    return x\r\n"}) == []
    assert said({}, {"odd\udc80name.py": BROKEN}) == ["odd\udc80name.py:2 undefined-name gone"]


def test_every_code_is_documented_as_it_explains_itself() -> None:
    text = (Path(__file__).parents[2] / "docs" / "audit.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{r.code}` | {r.text} | {r.mend} |" for r in sorted(RULES.values())]


def _literal_codes() -> set[str]:
    """Every code that the sources write out, in a finding or as a danger of a path."""
    found = set()
    for path in (Path(__file__).parents[2] / "backport").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                place = {"Finding": 4, "_finding": 1}.get(node.func.id, 99)
                parts = node.args[place : place + 1]
            elif path.stem == "hazards" and isinstance(node, ast.Return):
                parts = node.value.elts[:1] if isinstance(node.value, ast.Tuple) else []
            else:
                parts = []
            found |= {p.value for p in parts if isinstance(p, ast.Constant)}
    return {code for code in found if isinstance(code, str)}


def test_every_code_that_a_run_prints_explains_itself() -> None:
    literal = _literal_codes()
    assert {"lock", "stale-evidence", "touched-path", "device-name", "parity"} <= literal
    outcomes = {str(o) for o in Outcome if o.failed or o is Outcome.ALREADY}
    printed = literal | outcomes | {PARTLY, TROUBLE, SHARDS} | sarif.RULES.keys()
    assert printed - RULES.keys() == set()
