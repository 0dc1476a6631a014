"""First uses of other projects, of which the target takes older versions than the home."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from backport.audit.checks import dependencies
from backport.audit.requirements import is_for_tests, oldest
from backport.core.outcomes import Status
from tests.audit.builders import Texts, files, findings, results, said

HOME = files(
    {"requirements.txt": "kernels>=1.4\nyoung==0.1.7\nlevel>=2.2.23\nsame>=3\ntorch>=2.12\n"}
)
BASE = {
    "requirements.txt": "kernels>=1.2\nyoung==0.1.5\nlevel>=2.2.19\nsame>=3\ntorch>=2.11\n",
    "b.py": "import kernels\n\nkernels.known(kernels.api, scale=1)\n",
}

FAULTS = {
    "an attribute": ("import kernels\n\nkernels.fresh()\n", "3 newer-dependency kernels.fresh"),
    "of a renamed module": (
        "from kernels import api as k\n\n\ndef f():\n    return k.FRESH\n",
        "5 newer-dependency kernels.api.FRESH",
    ),
    "an import": ("from kernels import fresh\n", "1 newer-dependency kernels.fresh"),
    "a module": ("import kernels.fresh\n", "1 newer-dependency kernels.fresh"),
    "an argument": (
        "import kernels\n\nkernels.known(rounds=2)\n",
        "3 newer-dependency kernels.known(rounds=)",
    ),
    "of torch": ("import torch\n\ntorch.fused()\n", "3 newer-dependency torch.fused"),
    "before 1.0 the third number counts": (
        "import young\n\nyoung.fresh\n",
        "3 newer-dependency young.fresh",
    ),
}

SOUND = {
    "what the target uses already": "import kernels\n\nkernels.known(kernels.api, scale=2)\n",
    "the project itself": "import kernels\nimport young\n",
    "from 1.0 on the third number adds nothing": "import level\n\nlevel.fresh\n",
    "a version that did not change": "import same\n\nsame.fresh\n",
    "a project without a bound": "import other\n\nother.fresh\n",
    "a guarded use": (
        "import kernels\n\nif hasattr(kernels, 'fresh'):\n    kernels.fresh()\n"
        "try:\n    from kernels import recent\nexcept ImportError:\n    recent = None\n"
    ),
    "custom operators": "import torch\n\ntorch.ops.eng.fused(1)\n",
    "the tree's own": "import b\n\nb.kernels\n",
}


def spoken(text: str, base: Texts = BASE) -> list[str]:
    return said(base, {"a.py": text}, homes={"a.py": (HOME,)}, checks={"dependencies"})


@pytest.mark.parametrize(("text", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(text: str, expected: str) -> None:
    assert spoken(text) == [f"a.py:{expected}"]


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND.keys())
def test_silence(text: str) -> None:
    assert spoken(text) == []


def test_one_of_what_stands_below_the_other_is_told() -> None:
    text = "import kernels\n\nkernels.fresh.run(rounds=2)\nkernels.fresh\nkernels.fresher\n"
    assert spoken(text) == [
        "a.py:3 newer-dependency kernels.fresh",
        "a.py:5 newer-dependency kernels.fresher",
    ]


def test_what_trees_ask_for_is_read_once_for_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Mock(side_effect=oldest)
    monkeypatch.setattr(dependencies, "oldest", read)
    assert len(spoken("import kernels\n\nkernels.fresh\nkernels.recent\n")) == 2
    assert read.call_count == 2  # the target and the home


def test_a_requirement_for_other_pythons_is_none() -> None:
    project = {"pyproject.toml": '[project]\nrequires-python = ">=3.12"\n'}
    base = {**project, "requirements.txt": "kernels>=1.2; python_version < '3.12'\nkernels>=1.4"}
    assert spoken("import kernels\n\nkernels.fresh\n", base) == []


USE = "import kernels\n\nkernels.fresh\n"
TOLD = ["3 newer-dependency kernels.fresh"]


@pytest.mark.parametrize("listed", ["requirements/test/gpu.txt", "test-requirements.txt"])
@pytest.mark.parametrize(
    ("here", "ahead", "expected"),
    [
        ("kernels>=1.4\n", "kernels>=1.4\n", []),
        ("kernels>=1.2\n", "kernels>=1.4\n", TOLD),
        ("other\n", "kernels>=1.4\n", TOLD),
        ("kernels>=1.4\n", "other\n", TOLD),
    ],
)
def test_tests_run_with_the_requirements_of_tests(
    listed: str, here: str, ahead: str, expected: list[str]
) -> None:
    base, home = BASE | {listed: here}, files({**HOME.texts, listed: ahead})
    for path, told in (("tests/test_a.py", expected), ("a.py", TOLD)):
        found = said(base, {path: USE}, homes={path: (home,)}, checks={"dependencies"})
        assert found == [f"{path}:{each}" for each in told]


def test_a_folder_of_contests_is_none_of_tests() -> None:
    assert not is_for_tests("requirements/contest.txt")
    assert not is_for_tests("requirements/latest.txt")


def test_a_raised_requirement_is_enough() -> None:
    change = {"a.py": "import kernels\n\nkernels.fresh\n", "requirements.txt": "kernels>=1.4\n"}
    options = {"homes": dict.fromkeys(change, (HOME,)), "checks": {"dependencies"}}
    assert said(BASE, change, **options) == []


@pytest.mark.parametrize(
    ("here", "ahead", "severity"),
    [
        ("1.2", "1.3", "warning"),
        ("1.2.9", "1.4.1", "error"),
        ("1.9", "2.0", "error"),
        ("0.1.5", "0.1.6", "warning"),
        ("0.1.5", "0.1.7", "error"),
        ("0.1.9", "0.2", "error"),
        ("1.3", "1.2", ""),
        ("1", "1.0.4", ""),
    ],
)
def test_one_release_apart_is_worth_a_word(here: str, ahead: str, severity: str) -> None:
    base = {"requirements.txt": f"kernels>={here}\n"}
    home = files({"requirements.txt": f"kernels>={ahead}\n"})
    change = {"a.py": "import kernels\n\nkernels.fresh\n"}
    found = findings(base, change, homes={"a.py": (home,)}, checks={"dependencies"})
    assert "".join(str(f.severity) for f in found) == severity


def test_each_path_has_its_own_home() -> None:
    change = {
        "a.py": "import kernels\n\nkernels.fresh\n",
        "c.py": "import kernels\n\nkernels.new\n",
    }
    homes = {"a.py": (files(BASE),), "c.py": (files(BASE), HOME)}
    found = said(BASE, change, homes=homes, checks={"dependencies"})
    assert found == ["c.py:3 newer-dependency kernels.new"]


def test_not_run_without_a_home() -> None:
    result = results(BASE, {"a.py": "import kernels\n"})["dependencies"]
    assert (result.status, result.note) == (
        Status.NOT_RUN,
        "no release that a patch was made on is at hand",
    )
