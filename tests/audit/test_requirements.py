"""The oldest version of other projects that a tree's files allow."""

from __future__ import annotations

import pytest

from backport.audit.requirements import IMAGE, oldest, pins
from backport.audit.versions import parse
from tests.audit.builders import files

REQUIREMENTS = """\
--extra-index-url https://example.org/whl
-r build/rocm.txt
Oslo_Utils[extra]>=3.20.0,!=3.30 # Apache-2.0
numpy
setuptools>=77,<80 ; python_version > "3.11"
torch==2.9.1+rocm7.0
ninja  # no bound
flash<4
aiter @ git+https://example.org/aiter
locked==1.2 --hash=sha256:00
not a requirement at all
"""

TREES = {
    "lines of a file": (
        {"requirements/rocm.txt": REQUIREMENTS},
        {
            "oslo-utils": "3.20",
            "setuptools": "77",
            "torch": "2.9.1",
            "locked": "1.2",
        },
    ),
    "the lowest of several files": (
        {"requirements.txt": "a>=2\nb>=1\n", "test-requirements.txt": "a>=1.5\nb>=3\n"},
        {"a": "1.5", "b": "1"},
    ),
    "not those of an example": ({"examples/x/requirements.txt": "a>=1\n"}, {}),
    "pyproject.toml": (
        {
            "pyproject.toml": '[project]\ndependencies = ["a>=1", 3]\n'
            '[project.optional-dependencies]\nx = ["b~=2.1"]\n'
        },
        {"a": "1", "b": "2.1"},
    ),
    "a pyproject.toml of other shapes": ({"pyproject.toml": "project = 3\n"}, {}),
    "a broken pyproject.toml": ({"pyproject.toml": "[project\n"}, {}),
    "setup.cfg": (
        {"setup.cfg": "[options]\ninstall_requires =\n    a>=1.0\n    b\n"},
        {"a": "1"},
    ),
    "a broken setup.cfg": ({"setup.cfg": "a\n[b\n"}, {}),
    "the ROCm image": (
        {IMAGE: 'ARG AITER_BRANCH="v0.1.19"\nARG TRITON_BRANCH="f0b55c0"\nARG AITER_BRANCH\n'},
        {"aiter": "0.1.19"},
    ),
}


@pytest.mark.parametrize(("texts", "expected"), TREES.values(), ids=TREES.keys())
def test_oldest(texts: dict[str, str], expected: dict[str, str]) -> None:
    tree = files(texts)
    names = ("a", "aiter", "b", "flash", "locked", "ninja", "numpy", "oslo-utils", "setuptools")
    asked = {name: oldest(name, tree.paths(), tree.entry) for name in (*names, "torch", "triton")}
    found = {name: version for name, version in asked.items() if version is not None}
    assert found == {name: parse(text) for name, text in expected.items()}


@pytest.mark.parametrize(
    ("marker", "counts"),
    [
        ("python_version < '3.12'", False),
        ("python_version >= '3.12'", True),
        ("python_full_version > '3.12.1'", False),
        ("sys_platform == 'darwin'", False),
        ("platform_machine == 'x86_64' or platform_machine == 's390x'", True),
        ("python_version ~= 'x'", True),
    ],
)
def test_a_marker_that_leaves_out_the_oldest_python(marker: str, *, counts: bool) -> None:
    tree = files({"requirements.txt": f"a>=2\na>=1; {marker}\n"})
    found = oldest("a", tree.paths(), tree.entry, (3, 12))
    assert found == parse("1" if counts else "2")


def test_pins_tell_their_line() -> None:
    found = pins("FROM x\nARG MORI_BRANCH=v1.1.0\n")["mori"]
    assert (found.line, found.tag) == (2, "v1.1.0")
