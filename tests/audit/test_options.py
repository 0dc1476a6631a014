"""Options that one parser gets twice; `argparse` itself is asked for each case."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from tests.audit.builders import said

HEAD = "import argparse\n\n\ndef make(parser, flag=True, pairs=(1,)):\n"

ADD = "parser.add_argument('--size', type=int)\n"

FAULTS = {
    "one after the other": ADD + ADD,
    "by another name of it": ADD + "parser.add_argument('-s', '--size', help='x')\n",
    "through a group": (
        "group = parser.add_argument_group('x')\ngroup.add_argument('--size', type=int)\n" + ADD
    ),
    "through two groups": (
        "one = parser.add_argument_group('x')\nother = one.add_mutually_exclusive_group()\n"
        "other.add_argument('--size', type=int)\nmore = parser.add_argument_group('y')\n"
        "more.add_argument('--size', type=int)\n"
    ),
    "under a condition that may hold": ADD + f"if flag:\n    {ADD}",
    "before it under one": f"if flag:\n    {ADD}" + ADD,
    "with the result kept": ADD + f"action = {ADD}",
    "of a parser made here": (
        "own = argparse.ArgumentParser(prog='x')\n" + f"own{ADD.removeprefix('parser')}" * 2
    ),
}

SOUND = {
    "other names": ADD + "parser.add_argument('--other', type=int)\n",
    "another parser": (
        ADD + "other = argparse.ArgumentParser()\nother.add_argument('--size', type=int)\n"
    ),
    "in two branches": f"if flag:\n    {ADD}else:\n    {ADD}",
    "behind a branch that leaves": f"if flag:\n    {ADD}    return\n{ADD}",
    "a parser made anew": ADD + "parser = argparse.ArgumentParser()\n" + ADD,
    "a parser that allows it": (
        "parser = argparse.ArgumentParser(conflict_handler='resolve')\n" + ADD + ADD
    ),
    "a failure that is expected": f"{ADD}try:\n    {ADD}except argparse.ArgumentError:\n    pass\n",
    "arguments by place": "parser.add_argument('size', type=int)\n" * 2,
}


def source(text: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in text.splitlines())


def spoken(text: str) -> list[str]:
    return said({"cli.py": "X = 1\n"}, {"cli.py": source(text)}, checks={"options"})


def run(text: str) -> None:
    """What `argparse` makes of it."""
    names: dict[str, Any] = {}
    exec(source(text), names)  # noqa: S102 - the texts above
    names["make"](argparse.ArgumentParser())


@pytest.mark.parametrize("text", FAULTS.values(), ids=FAULTS.keys())
def test_fault(text: str) -> None:
    last = max(n for n, line in enumerate(text.splitlines(), 5) if "'--size'" in line)
    assert spoken(text) == [f"cli.py:{last} duplicate-option make(--size)"]
    with pytest.raises(argparse.ArgumentError):
        run(text)


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND.keys())
def test_silence(text: str) -> None:
    assert spoken(text) == []
    run(text)


def test_what_is_not_of_argparse() -> None:
    assert spoken("options.add_argument('--headless')\n" * 2) == []


def test_a_tree_that_handles_conflicts() -> None:
    base = {"cli.py": "X = 1\n", "made.py": "import argparse\n\n\nP = 'conflict_handler'\n"}
    assert said(base, {"cli.py": source(ADD + ADD)}, checks={"options"}) == []
