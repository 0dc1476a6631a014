"""Three-way merging: hand-written right values, and what holds for any texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backport.core.diffing import changes
from backport.core.merging import clean, interleaved, merge
from backport.core.merging_files import Merged, merge_file, together
from backport.core.merging_imports import are_imports, merge_imports
from backport.core.merging_steps import Rule
from backport.core.texts import split_keeping_ends
from backport.core.units import Unit, joined, units
from backport.core.vocabulary import vocabulary

texts = st.lists(st.sampled_from("abcde"), max_size=14)


# ---------------------------------------------------------------- changes and line merges


@given(texts, texts)
def test_changes_turn_one_text_into_the_other(a: list[str], b: list[str]) -> None:
    out, at = [], 0
    for change in changes(a, b):
        out += a[at : change.a0] + b[change.b0 : change.b1]
        at = change.a1
    assert out + a[at:] == b


@given(texts, texts)
def test_a_side_that_changed_nothing_gives_the_other(base: list[str], side: list[str]) -> None:
    assert clean(merge(base, base, side)) == clean(merge(base, side, base)) == side


@given(texts, texts)
def test_the_same_change_on_both_sides_is_made_once(base: list[str], side: list[str]) -> None:
    assert clean(merge(base, side, side)) == side


@given(texts, texts, texts)
def test_regions_cover_every_side_in_order(a: list[str], b: list[str], c: list[str]) -> None:
    regions = merge(a, b, c)
    assert [x for r in regions for x in a[slice(*r.base)]] == a
    assert [x for r in regions for x in b[slice(*r.ours)]] == b
    assert [x for r in regions for x in c[slice(*r.theirs)]] == c
    for side, sides in ((a, "base"), (b, "ours"), (c, "theirs")):
        ends = [0, *(end for region in regions for end in getattr(region, sides)), len(side)]
        assert ends == sorted(ends)
        assert ends[::2] == ends[1::2]


MERGES = {
    "changes apart": ("abcde", "aXcde", "abcdY", "aXcdY"),
    "changes that touch are a conflict, as in git": ("abcd", "aXcd", "abYd", None),
    "two insertions at one point are a conflict": ("ab", "aXb", "aYb", None),
    "a deletion and a change elsewhere": ("abcde", "acde", "abcdY", "acdY"),
}


@pytest.mark.parametrize(("base", "ours", "theirs", "merged"), MERGES.values(), ids=MERGES)
def test_lines_merge_as_in_git(base: str, ours: str, theirs: str, merged: str | None) -> None:
    found = clean(merge(list(base), list(ours), list(theirs)))
    assert found == (None if merged is None else list(merged))


def test_changes_that_only_touch_can_be_made_both() -> None:
    assert interleaved("abcd", "aXcd", "abYd") == list("aXYd")
    assert interleaved("ab", "aXb", "aYb") is None
    assert interleaved("abc", "aXc", "aYc") is None
    assert interleaved("ab", "XaYb", "aZb") is None


def test_a_group_of_repeated_lines_slides_down_as_in_git() -> None:
    assert changes("xaay", "xaaay") == [(3, 3, 3, 4)]


# ---------------------------------------------------------------- units

MODULE = b"""import os


@wrap(
    1,
)
def first(
    a,
):
    return \"\"\"
def not_one():
\"\"\"


# about it
class Second(
    Base,
):
    x = 1

    def run(self):
        pass


y = 2
"""


def test_units_are_found_by_indentation_and_are_the_text() -> None:
    lines = split_keeping_ends(MODULE)
    parts = units(lines)
    found = [part for part in parts if isinstance(part, Unit)]
    assert joined(parts) == lines
    assert [unit.name for unit in found] == [b"first", b"Second"]
    assert [u.name for u in found[1].parts if isinstance(u, Unit)] == [b"run"]
    assert found[1].lines[:3] == (b"\n", b"\n", b"# about it\n")


def test_a_name_defined_twice_has_two_keys() -> None:
    parts = units([b"def f():\n", b"    a\n", b"def f():\n", b"    b\n"])
    assert [part.key for part in parts if isinstance(part, Unit)] == [(b"f", 1), (b"f", 2)]


# ---------------------------------------------------------------- files, rule by rule

BASE = b"""def kept():
    one = 1
    two = 2
    return one + two


def gone():
    pass


def last():
    pass
"""


def _edited(text: bytes, *edits: tuple[bytes, bytes]) -> bytes:
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def _merged(ours: bytes, theirs: bytes, base: bytes = BASE) -> Merged:
    return merge_file("a.py", base, ours, theirs)


def test_a_merge_that_git_makes_is_git_s() -> None:
    ours = _edited(BASE, (b"one = 1", b"one = 3"))
    theirs = _edited(BASE, (b"last():\n    pass", b"last():\n    return two"))
    found = _merged(ours, theirs)
    assert found.text == _edited(ours, (b"last():\n    pass", b"last():\n    return two"))
    assert found.rules == (Rule.THREE_WAY,)
    assert found.applied


def test_lines_that_touch_are_merged_and_told_by_the_rule() -> None:
    ours = _edited(BASE, (b"one = 1", b"one = 3"))
    theirs = _edited(BASE, (b"two = 2", b"two = one"))
    found = _merged(ours, theirs)
    assert found.text == _edited(BASE, (b"one = 1", b"one = 3"), (b"two = 2", b"two = one"))
    assert (found.rules, found.applied) == ((Rule.ADJACENT,), True)


def test_a_change_that_says_what_the_target_lacks_is_only_proposed() -> None:
    base = _edited(BASE, (b"one = 1", b"one = helper()"))
    ours = _edited(BASE, (b"one = 1", b"one = 3"))
    theirs = _edited(base, (b"two = 2", b"two = helper()"))
    found = _merged(ours, theirs, base)
    assert found.text is not None
    assert not found.applied
    assert found.why == "the target does not know helper"


def test_a_word_that_is_new_to_the_file_is_only_proposed() -> None:
    ours = _edited(BASE, (b"one = 1", b"one = 3"))
    theirs = _edited(BASE, (b"two = 2", b"two = fresh"))
    assert (_merged(ours, theirs).applied, _merged(ours, theirs).why) == (
        False,
        "fresh is new to the file",
    )


def test_a_new_symbol_stands_beside_a_sibling_that_survives() -> None:
    new = b"def new():\n    return 1\n\n\n"
    ours = _edited(BASE, (b"def gone():\n    pass\n\n\n", b""))
    theirs = _edited(BASE, (b"def last", new + b"def last"))
    found = _merged(ours, theirs)
    assert found.text == _edited(ours, (b"def last", new + b"def last"))
    assert found.rules == (Rule.NEIGHBOUR,)


def test_the_words_of_one_line_merge() -> None:
    base, ours, theirs = b"f(a, b, c)\n", b"f(x, b, c)\n", b"f(a, b, y)\n"
    found = _merged(ours, theirs, base)
    assert (found.text, found.rules) == (b"f(x, b, y)\n", (Rule.WORDS,))
    assert not found.applied


def test_a_change_to_a_symbol_that_the_target_lacks_is_left_out_and_told() -> None:
    ours = _edited(BASE, (b"def gone():\n    pass\n\n\n", b""))
    theirs = _edited(BASE, (b"gone():\n    pass", b"gone():\n    return 2"))
    found = _merged(ours, theirs)
    assert (found.text, found.rules, found.applied) == (ours, (Rule.ABSENT,), False)
    assert [step.scope for step in found.steps] == ["gone"]


def test_changes_of_the_same_line_stay_open() -> None:
    ours, theirs = (_edited(BASE, (b"one = 1", b"one = " + x)) for x in (b"3", b"4"))
    found = _merged(ours, theirs)
    assert (found.text, found.rules, found.applied) == (ours, (Rule.OPEN,), False)


def test_a_result_that_does_not_parse_is_none() -> None:
    base = b"if a:\n    b\n"
    ours = b"if a:\n    c\nelse:\n    b\n"
    found = _merged(ours, b"x\n", base)
    assert found.text is None or compile(found.text, "a.py", "exec")


def test_a_line_below_another_block_does_not_stand() -> None:
    base = b"def f(a):\n    a = 1\n"
    ours = b"def f(a):\n    if a:\n        a = 1\n"
    theirs = b"def f(a):\n    a = 1\n    a = 2\n"
    assert not _merged(ours, theirs, base).applied


def test_a_patch_that_creates_python_does_not_stand_with_a_merge() -> None:
    one = _merged(_edited(BASE, (b"1", b"3")), _edited(BASE, (b"= 2", b"= one")))
    assert one.applied
    assert together([one], []) == ""
    assert "creates b.py" in together([one], ["b.py"])


# ---------------------------------------------------------------- imports

IMPORTS = {
    "a name into the line of its module": (
        "from a import b\n",
        "from a import b, z\n",
        "from a import b, c\n",
        {b"c"},
        "from a import b, c, z\n",
    ),
    "only what is used": ("import a\n", "import x\n", "import a\nimport c\nimport d\n", {b"d"},
                          "import d\nimport x\n"),
    "a removed name that is still used stays": (
        "import a\nimport b\n", "import a\nimport b\n", "import a\n", {b"a", b"b"},
        "import a\nimport b\n"),
    "a removed name that nothing uses goes": (
        "import a\nimport b\n", "import a\nimport b\n", "import a\n", {b"a"}, "import a\n"),
    "another name of the same thing": (
        "import a\n", "import a\n", "import a\nimport b as c\n", {b"c"},
        "import a\nimport b as c\n"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "used", "merged"), IMPORTS.values(), ids=IMPORTS
)
def test_imports_are_a_set(
    base: str, ours: str, theirs: str, used: set[bytes], merged: str
) -> None:
    sides = [split_keeping_ends(text.encode()) for text in (base, ours, theirs)]
    assert are_imports(*sides)
    assert b"".join(merge_imports(sides[0], sides[1], sides[2], used)).decode() == merged


def test_a_bracketed_import_is_no_plain_one() -> None:
    assert not are_imports([b"from a import (\n", b"    b,\n"])


# ---------------------------------------------------------------- words


def test_the_words_of_a_change_are_judged_by_the_target() -> None:
    base, ours = [b"a.b(c)\n", b"def f(x):\n"], [b"a.d\n", b"def f(y):\n", b"c\n"]
    said = vocabulary(base, ours, [*base, b"a.b(c) + f + new  # not this\n"])
    assert said.lacking == {b"b", b"a.b", b"a.b(c"}
    assert said.drifted == {b"f"}
    assert said.fresh == {b"new"}


def test_a_change_at_the_end_is_the_last_region() -> None:
    found = merge("ab", "ab", "ax")
    assert [(at.base, at.merged) for at in found] == [((0, 1), ("a",)), ((1, 2), ("x",))]


LINES = "        a = 1\n        b = 2\n        out(i)\n        d = 4\n"
PAIR = (
    f"class A:\n    @property\n    def x(self):\n{LINES}"
    f"\n    @x.setter\n    def x(self, i):\n{LINES}"
)


def test_which_of_several_of_one_name_is_left_cannot_be_told() -> None:
    ours = "class A:\n    x = property(len)\n\n" + PAIR[PAIR.index("    @x") :]
    theirs = PAIR.replace("out(i)", "out(i, 1)", 1)
    found = merge_file("m.py", *(text.encode() for text in (PAIR, ours, theirs)))
    assert not found.applied
    assert found.why == "A.x is defined 1 time here, and 2 times where the patch was made"
    same = PAIR.replace("a = 1", "a = 2")
    assert merge_file("m.py", *(text.encode() for text in (PAIR, same, theirs))).applied
    more = PAIR + "\n\ndef twice(): ...\n\n\ndef twice(): ...\n"
    assert merge_file("m.py", *(text.encode() for text in (PAIR, more, theirs))).applied


def test_a_pair_that_only_the_target_has_leaves_no_doubt() -> None:
    base = "def f():\n    a = 1\n    b = 2\n"
    ours = base.replace("a = 1", "a = 3") + "\n\ndef g(): ...\n\n\ndef g(): ...\n"
    found = merge_file(
        "m.py", base.encode(), ours.encode(), base.replace("b = 2", "b = a").encode()
    )
    assert (found.applied, found.why) == (True, "")


def test_changes_that_touch_and_bring_in_the_same_line_overlap() -> None:
    base = [b"one\n", b"use(one)\n"]
    ours = [b"one\n", b"log(one)\n", b"use(two)\n"]
    theirs = [b"one\n", b"log(one)\n", b"use(one)\n"]
    assert interleaved(base, ours, theirs) is None
    blank = [b"one\n", b"\n", b"use(one)\n"]
    assert interleaved(base, [b"one\n", b"use(two)\n"], blank) is not None


def test_the_same_item_brought_in_far_away_is_another_one() -> None:
    assert interleaved("abcd", "aXbcd", "abcdX") == list("aXbcdX")
    assert interleaved("abcd", "abcdX", "aXbcd") == list("aXbcdX")


def test_the_same_item_brought_in_right_below_is_the_same() -> None:
    assert interleaved("abcd", "aXcd", "abXd") is None
    assert interleaved("abcd", "abXd", "aXcd") is None
    assert (
        interleaved(["a", "b", "c"], ["a", " ", "c"], ["a", "b", " "]) is None
    )  # of words all count
