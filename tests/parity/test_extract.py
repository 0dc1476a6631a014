"""Definitions of a file run without the file's imports."""

from __future__ import annotations

import pytest

from backport.parity.intree.extract import Missing, Source
from backport.parity.versions import at_least, parse, pinned
from tests.parity.worlds import Texts

FILE = '''
import math
import heavy
from heavy import thing

LIMIT = 3
TABLE: dict = {"a": 1}


def double(x):
    return 2 * x


@heavy.decorated
def limited(x):
    """Uses a constant, a function and Python's own library."""
    return min(double(x), LIMIT) + math.floor(0.5)


def undefined():
    return nowhere


def imported():
    return thing


class Layer(heavy.Base):
    size = 4
    made = heavy.make()

    def first(self):
        return self.size

    @property
    def second(self):
        return super().second + 1

    @heavy.decorated
    def third(self):
        return 3
'''
SOURCE = Source(Texts({"a.py": FILE}))


def test_a_function_finds_its_own_files_names_and_pythons_library() -> None:
    assert SOURCE.module("a.py").function("limited")(5) == 3


def test_what_is_supplied_comes_first() -> None:
    assert SOURCE.module("a.py", LIMIT=100).function("limited")(5) == 10


@pytest.mark.parametrize("name", ["undefined", "imported"])
def test_a_name_from_nowhere_is_a_name_error(name: str) -> None:
    with pytest.raises(NameError):
        SOURCE.module("a.py").function(name)()


def test_a_class_is_cut_to_methods_and_constants_on_another_base() -> None:
    class Base:
        second = 1

    cut = SOURCE.module("a.py").cut("Layer", ["first", "second"], Base)
    assert cut().first() == 4
    assert cut().second == 2
    assert not hasattr(cut, "third")
    assert not hasattr(cut, "made")


def test_all_methods_of_a_class_lose_decorators_of_the_package() -> None:
    assert SOURCE.module("a.py").cut("Layer")().third() == 3


@pytest.mark.parametrize("name", ["nothing", "Layer.nothing", "double.nothing"])
def test_a_missing_definition_says_where(name: str) -> None:
    with pytest.raises(Missing, match=r"a\.py does not define"):
        SOURCE.node("a.py", name)


def test_a_missing_file_says_so() -> None:
    assert not SOURCE.has("b.py", "x")
    with pytest.raises(Missing, match=r"the tree has no b\.py"):
        SOURCE.text("b.py")


@pytest.mark.parametrize(
    ("version", "parts"),
    [("v0.1.19", (0, 1, 19, 0)), ("0.1.19.post1", (0, 1, 19, 1)), ("v0.1.21.post2", (0, 1, 21, 2))],
)
def test_aiter_versions_are_read(version: str, parts: tuple[int, ...]) -> None:
    assert parse(version) == parts


def test_a_post_release_comes_after_its_release() -> None:
    assert at_least("v0.1.19.post1", "0.1.19")
    assert not at_least("v0.1.19", "0.1.19.post1")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('ARG AITER_BRANCH="v0.1.19"', "v0.1.19"),
        ("ARG AITER_BRANCH=v0.1.24.post1", "v0.1.24.post1"),
        ('ARG AITER_BRANCH="main"', None),
        ("ARG OTHER=1", None),
    ],
)
def test_the_pin_is_read_from_the_base_image(line: str, found: str | None) -> None:
    files = {"docker/Dockerfile.rocm_base": f"ARG A=1\n{line}\nARG AITER_BRANCH\n"}
    assert pinned(Source(Texts(files))) == found


def test_a_tree_without_the_base_image_has_no_pin() -> None:
    assert pinned(Source(Texts({}))) is None
