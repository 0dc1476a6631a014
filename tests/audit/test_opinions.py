"""Second opinions: ruff where it is installed, and only where the audit itself is silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from backport.audit.checks import opinions
from backport.core.outcomes import Status
from backport.tools import found
from tests.audit.builders import results, said

needs_ruff = pytest.mark.skipif(found("ruff") is None, reason="ruff is not installed")


@needs_ruff
def test_ruff_adds_what_nothing_else_says() -> None:
    change = {"a.py": "def f():\n    '%s %(x)s' % {'x': 1}\n    try:\n        pass\n    except:\n"
"        pass\n"
              "    else:\n        pass\n\n\nclass A:\n    return_ = 1\n\n\ndef g():\n"
"    for g in []:\n"
              "        pass\n    else:\n        del unknown\n"}  # fmt: skip
    found = results({}, change)
    assert found["ruff"].status is Status.FAILED
    assert {f.code for f in found["ruff"].findings} == {"ruff"}


@needs_ruff
def test_ruff_does_not_repeat_what_the_audit_says() -> None:
    found = results({}, {"a.py": "def f():\n    return gone\n"})
    assert found["names"].status is Status.FAILED
    assert found["ruff"].findings == ()


@needs_ruff
@pytest.mark.parametrize("head", ["for i, x in enumerate(xs):", "while x := xs.pop():"])
def test_what_an_earlier_turn_of_a_loop_has_bound(head: str) -> None:
    text = (
        f"def f(xs, i=0):\n    {head}\n        if i:\n            print(prev)\n        prev = x\n"
    )
    assert said({}, {"a.py": text}, checks={"ruff", "names"}) == []
    other = text.replace("prev = x", "other = x")
    assert len(said({}, {"a.py": other}, checks={"ruff", "names"})) == 1


def test_an_imported_fixture_may_be_a_parameter() -> None:
    text = "from helpers import plugged\n\n\ndef test_a({}plugged):\n    assert plugged\n"
    assert results({}, {"test_a.py": text.format("")})["ruff"].findings == ()
    assert results({}, {"test_a.py": text.format("tmp_path, *, ")})["ruff"].findings == ()
    twice = "def f():\n    import x\n\n    def x(x):\n        return x\n\n    return x\n"
    assert "F811" in results({}, {"test_a.py": twice})["ruff"].findings[0].message


@needs_ruff
def test_the_mend_names_the_rule() -> None:
    text = "def f():\n    import x\n\n    def x():\n        pass\n\n    return x\n"
    (finding,) = results({}, {"a.py": text})["ruff"].findings
    assert (finding.message[-6:], finding.mend) == (
        "(F811)",
        "see what ruff says of it (`ruff rule F811`)",
    )


@needs_ruff
def test_a_name_that_the_module_gets_without_a_statement() -> None:
    filled = "for n in ('gather',):\n    globals()[n] = n\n\n\ndef f():\n    {}return gather\n"
    assert results({}, {"a.py": filled.format("")})["ruff"].findings == ()
    assert results({}, {"a.py": filled.format("del other\n    ")})["ruff"].findings == ()
    served = "__all__ = ['gather']\n\n\ndef __getattr__(name):\n    return name\n"
    assert results({}, {"a.py": served})["ruff"].findings == ()
    closed = "__all__ = ['gather']\n"
    assert "F822" in results({}, {"a.py": closed})["ruff"].findings[0].message


@needs_ruff
def test_ruff_is_compared_with_the_pristine_tree() -> None:
    text = "def f():\n    del unknown\n"
    assert results({"a.py": text}, {"a.py": f"# above\n{text}"})["ruff"].status is Status.PASSED


def test_without_ruff_the_check_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opinions, "found", lambda tool: None)
    result = results({}, {"a.py": "x = 1\n"})["ruff"]
    assert (result.status, result.note) == (Status.NOT_RUN, "ruff is not installed")


@pytest.mark.parametrize(
    ("tool", "note"),
    [
        (
            "#!/bin/sh\necho broken >&2\nexit 2\n",
            "ruff did not run to its end: it ended with 2: broken",
        ),
        ("no program", "ruff did not run to its end: "),
    ],
    ids=["ends badly", "does not start"],
)
def test_a_ruff_that_fails_has_not_run(
    tool: str, note: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "ruff"
    program.write_text(tool)
    program.chmod(0o755)
    monkeypatch.setattr(opinions, "found", lambda name: str(program))
    result = results({}, {"a.py": "x = 1\n"})["ruff"]
    assert result.status is Status.NOT_RUN
    assert result.note.startswith(note)


def test_ty_runs_only_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    result = results({}, {"a.py": "x = 1\n"})["ty"]
    assert (result.status, result.note) == (Status.NOT_RUN, "runs only when it is asked for")
    said = "a.py:1:5: error[invalid-assignment] `str` is not assignable to `int`\n"
    monkeypatch.setattr(opinions, "found", lambda tool: tool)
    monkeypatch.setattr(opinions, "_run", lambda tool, arguments, folder: said)
    result = results({}, {"a.py": "x: int = ''\n"}, checks=frozenset({"ty"}))["ty"]
    assert [f.message for f in result.findings] == [
        "`str` is not assignable to `int` (invalid-assignment)"
    ]
