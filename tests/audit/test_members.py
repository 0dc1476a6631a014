"""Members of an enum that stand twice."""

from __future__ import annotations

from enum import Enum

import pytest

from tests.audit.builders import files, said

BASE = {"kinds.py": "from enum import Enum, auto\n\n\nclass Kind(Enum):\n    A = 1\n    B = 2\n"}
HOME = files({"kinds.py": "from enum import Enum, auto\n\n\nclass Kind(Enum):\n    A = 1\n"})


def spoken(lines: str, homes: tuple[object, ...] = (HOME,)) -> list[str]:
    change = {"kinds.py": BASE["kinds.py"] + lines}
    return said(BASE, change, homes={"kinds.py": homes}, checks={"members"})


@pytest.mark.parametrize("lines", ["    B = 3\n", "    C = 3\n    C = 4\n", "    A = 1\n"])
def test_a_name_twice(lines: str) -> None:
    (found,) = spoken(lines)
    assert found.endswith(f"duplicate-member Kind.{lines.strip()[0]}")
    with pytest.raises(TypeError):
        exec(BASE["kinds.py"] + lines, {})  # noqa: S102 - the texts above


def test_a_value_that_only_the_target_has_given_away() -> None:
    assert spoken("    C = 2\n") == ["kinds.py:7 duplicate-member Kind.C"]
    names: dict[str, type[Enum]] = {}
    exec(BASE["kinds.py"] + "    C = 2\n", names)  # noqa: S102
    assert names["Kind"]["C"] is names["Kind"]["B"]


def test_the_target_s_own_member_behind_the_new_one() -> None:
    change = {"kinds.py": BASE["kinds.py"].replace("    B", "    C = 2\n    B")}
    found = said(BASE, change, homes={"kinds.py": (HOME,)}, checks={"members"})
    assert found == ["kinds.py:7 duplicate-member Kind.B"]


SOUND = {
    "other names and values": "    C = 3\n",
    "a second name for what the home has as well": "    C = 1\n",
    "two new names for one value": "    C = 3\n    D = 3\n",
    "values that are made": "    C = auto()\n    D = auto()\n",
    "what is no member": "    _x = 1\n    _x = 2\n",
    "a value of another type": "    C = '2'\n",
    "a class of another kind": "\n\nclass Plain:\n    A = 1\n    A = 2\n",
}


@pytest.mark.parametrize("lines", SOUND.values(), ids=SOUND.keys())
def test_silence(lines: str) -> None:
    assert spoken(lines) == []


def test_nothing_is_said_of_a_value_without_the_home_or_where_one_has_both() -> None:
    assert spoken("    C = 2\n", ()) == []
    assert spoken("    C = 2\n", (HOME, files(BASE))) == []
