"""Versions in the order of PEP 440."""

from __future__ import annotations

import pytest

from backport.audit.versions import minimum_python, parse, satisfies

ORDER = [
    "0.1.dev1",
    "0.1a1",
    "0.1b2",
    "0.1rc1",
    "0.1",
    "0.1.post1",
    "v0.1.19",
    "0.1.19.post1",
    "0.1.20",
    "1.0",
    "1.10",
]


def test_order() -> None:
    versions = [parse(text) for text in ORDER]
    assert None not in versions
    assert versions == sorted(versions)  # type: ignore[type-var]


def test_equal_versions() -> None:
    assert parse("1.0") == parse("v1.0.0") == parse("1")
    assert parse("0.1.21.post2") == parse("0.1.21-post2")


@pytest.mark.parametrize("text", ["main", "0dbd5388a523", "", "release/1.2", "1.x"])
def test_what_is_no_version(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("version", "requirement", "expected"),
    [
        ("1.2.3", ">=1.2", True),
        ("1.2.3", ">=1.2,<1.3", True),
        ("1.3", "<1.3", False),
        ("1.2.3", "~=1.2.1", True),
        ("1.3", "~=1.2.1", False),
        ("1.2.3", "==1.2.*", True),
        ("1.3", "==1.2.*", False),
        ("1.3", "!=1.3", False),
        ("1.3", "recent", None),
    ],
)
def test_requirements(version: str, requirement: str, expected: bool | None) -> None:
    parsed = parse(version)
    assert parsed is not None
    assert satisfies(parsed, requirement) is expected


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        (">=3.10,<3.15", (3, 10)),
        (">=3.10", (3, 10)),
        ("~=3.11", (3, 11)),
        ("==3.12.*", (3, 12)),
        ("<4", None),
        (">=3", (3, 0)),
    ],
)
def test_the_oldest_python(requirement: str, expected: tuple[int, int] | None) -> None:
    assert minimum_python(requirement) == expected
