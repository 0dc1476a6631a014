"""Scopes told by lines alone are the parser's, on real files of releases."""

from __future__ import annotations

import random
from itertools import accumulate
from pathlib import Path

import pytest

from backport.checkout import Checkout
from backport.core.outlines import Outline
from backport.core.scopes import scope_at, scopes

pytestmark = pytest.mark.vllm

SAMPLE = 120  # files, with a fixed seed
SURE = 0.95  # of their lines


@pytest.mark.parametrize("release", ["v0.28.0", "v0.33.0"])
def test_lines_tell_the_scope_of_nearly_every_line_and_never_another_than_the_parser(
    release: str, released: Path
) -> None:
    told = lines = 0
    with Checkout.open(released) as checkout:
        tree = checkout.tree(checkout.base(release))
        names = sorted(path for path in tree.paths() if path.endswith(".py"))
        for path in random.Random(1).sample(names, SAMPLE):  # noqa: S311
            entry = tree.entry(path)
            found = scopes(entry.data) if entry else None
            if entry is None or found is None:
                continue
            starts = [0, *accumulate(len(line) + 1 for line in entry.data.split(b"\n"))][:-1]
            outline = Outline(entry.data)
            for number, start in enumerate(starts, 1):
                scope = outline.scope_at(start)
                assert scope in (None, scope_at(found, number)), f"{path}:{number}"
                told += scope is not None
                lines += 1
    assert told / lines > SURE
