"""Merging symbol by symbol: what moves, appears and goes on both sides, and what is told of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backport.core.merging_files import Merged, merge_file
from backport.core.merging_steps import Rule, Step
from backport.core.texts import split_keeping_ends
from backport.core.units import Unit, units

Module = dict[str, int]  # functions in their order, each with what it holds


def text(functions: Module) -> bytes:
    return b"".join(b"def %s():\n    x = %d\n\n\n" % (f.encode(), n) for f, n in functions.items())


def functions(found: Merged) -> list[tuple[str, str]]:
    """The functions of the merged text and the last word of each."""
    assert found.text is not None
    parts = [part for part in units(split_keeping_ends(found.text)) if isinstance(part, Unit)]
    return [(p.name.decode(), b"".join(p.lines).split()[-1].decode()) for p in parts]


def merged(base: bytes, ours: bytes, theirs: bytes) -> Merged:
    return merge_file("a.py", base, ours, theirs)


@st.composite
def modules(draw: st.DrawFn) -> tuple[Module, Module, Module]:
    """A module, and two others that have moved, added, removed and changed functions of it."""
    base = dict.fromkeys("abcdef"[: draw(st.integers(1, 6))], 0)
    sides = []
    for new, value in (("opq", 1), ("xyz", 2)):
        kept = draw(st.lists(st.sampled_from([*base, *new]), unique=True))
        order = sorted(kept) if draw(st.booleans()) else kept
        changed = draw(st.sets(st.sampled_from([*base])))
        sides.append({name: value if name in changed else 0 for name in order})
    return base, sides[0], sides[1]


@settings(max_examples=100)
@given(modules())
def test_a_merge_that_tells_of_nothing_open_loses_and_invents_no_function(
    sides: tuple[Module, Module, Module],
) -> None:
    base, ours, theirs = sides
    found = merged(text(base), text(ours), text(theirs))
    if not {Rule.THREE_WAY, Rule.OPEN, Rule.ABSENT, Rule.GONE} & {*found.rules}:
        expected = {
            name: str(ours.get(name, 0) or theirs.get(name, 0))
            for name in [*ours, *theirs]
            if name not in base or (name in ours and name in theirs)
        }
        assert sorted(functions(found)) == sorted(expected.items())


# ---------------------------------------------------------------- one member


def steps(found: Merged) -> list[Step]:
    return list(found.steps)


def module(*parts: str) -> bytes:
    """Functions by their names, each holding its own; `f=x` holds another text."""
    named = [(part.partition("=")[0], part.rpartition("=")[2]) for part in parts]
    return b"".join(b"def %s():\n    %s\n\n\n" % (a.encode(), b.encode()) for a, b in named)


def test_what_the_patch_removes_and_the_target_changed_is_a_proposal() -> None:
    """The patch may have moved it: a fix that only the target has would be lost."""
    found = merged(module("f", "g", "h"), module("f", "g=1", "h"), module("f", "h"))
    note = "the patch removes g, which the target has changed"
    assert (found.text, found.applied, found.why) == (module("f", "h"), False, note)
    assert steps(found) == [Step(Rule.SYMBOL, 3, 3, "g", note)]


def test_blank_lines_are_no_change_to_what_the_patch_removes() -> None:
    ours = module("f=2", "g", "h").replace(b"\n\n\ndef g", b"\n\n\n\ndef g")
    found = merged(module("f", "g", "h"), ours, module("f", "h"))
    assert found.applied
    assert names(found) == "fh"


def test_what_the_patch_removes_and_the_target_moved_stays_and_is_told() -> None:
    found = merged(module(*"abc"), b"import os\n" + module(*"cb"), module("a", "c=1"))
    assert (names(found), found.applied) == ("cb", False)
    assert Step(Rule.GONE, 3, 4, "b", "the patch removes it") in found.steps


def test_what_the_target_removed_and_the_patch_moved_stays_and_is_told() -> None:
    found = merged(module(*"abc"), module("a", "c=1"), module(*"cb"))
    assert (names(found), found.applied) == ("cb", False)
    assert Step(Rule.ABSENT, 3, 0, "b", "the target has no such symbol") in found.steps


def test_a_function_that_the_target_never_touched_is_removed() -> None:
    found = merged(module("f", "g", "h"), module("f", "x", "g", "h=1"), module("f", "h"))
    assert (found.text, found.applied) == (module("f", "x", "h=1"), True)


def test_a_change_to_a_function_that_the_target_lacks_is_told() -> None:
    found = merged(module("f", "g", "h"), module("f", "h"), module("f", "g=1", "h"))
    assert (found.text, found.applied) == (module("f", "h"), False)
    assert steps(found) == [Step(Rule.ABSENT, 3, 0, "g", "the target has no such symbol")]


def test_a_function_that_both_sides_removed_is_no_more_told() -> None:
    found = merged(module("f", "g", "h"), module("f=1", "h"), module("f=2", "h"))
    assert [step.scope for step in found.steps] == ["f"]
    assert found.text == module("f=1", "h")


def test_a_function_that_the_patch_moved_is_not_lost() -> None:
    base, ours, theirs = (module(*names) + b"Z = 1\n" for names in ("fg", "fgx", "gf"))
    found = merged(base, ours, theirs)
    assert (found.text, found.rules) == (module(*"gfx") + b"Z = 1\n", (Rule.NEIGHBOUR,))


def names(found: Merged) -> str:
    return "".join(name for name, _ in functions(found))


def test_a_line_beside_new_functions_is_not_lost_with_them() -> None:
    base, ours, theirs = (
        module("a") + line + module(*more)
        for line, more in ((b"X = 1\n", "b"), (b"X = 2\n", "xb"), (b"X = 3\n", "nb"))
    )
    found = merged(base, ours, theirs)
    assert (found.text, found.rules) == (ours, (Rule.OPEN,))


def test_functions_added_by_both_under_one_name_stay_open() -> None:
    found = merged(module("f"), module("f", "n=1"), module("f", "n=2"))
    assert found.text == module("f", "n=1")
    assert steps(found) == [Step(Rule.OPEN, 0, 3, "n", "both sides add it")]
    assert merged(module("f"), module("f=1", "n"), module("f=1", "n")).applied


CLASS = b"class A:\n    x = 1\n\n    def f(self):\n        a = 1\n        b = 2\n"


def test_the_members_of_a_class_are_merged_with_their_qualified_names() -> None:
    ours = b"import os\n" + CLASS.replace(b"a = 1", b"a = 3")
    found = merged(CLASS, ours, CLASS.replace(b"b = 2", b"b = 4"))
    assert found.text == ours.replace(b"b = 2", b"b = 4")
    assert steps(found) == [Step(Rule.ADJACENT, 5, 6, "A.f")]


def test_a_class_that_became_a_function_is_merged_by_its_lines() -> None:
    ours = CLASS.replace(b"class A", b"def A()")
    found = merged(CLASS, ours, CLASS.replace(b"x = 1", b"x = 2"))
    assert (found.text, found.rules) == (ours.replace(b"x = 1", b"x = 2"), (Rule.ADJACENT,))


def test_imports_of_the_module_are_merged_as_imports() -> None:
    base = b"import a\n\n\ndef f():\n    a\n"
    ours, theirs = (base.replace(b"import a", b"import a\nimport " + x) for x in (b"b", b"c"))
    found = merged(base, b"# top\n" + ours, theirs.replace(b"    a", b"    a + c"))
    assert found.text == b"# top\n" + ours.replace(b"import b", b"import b\nimport c").replace(
        b"    a", b"    a + c"
    )
    assert steps(found) == [Step(Rule.IMPORTS, 2, 3)]


# ---------------------------------------------------------------- a stretch of members

STRETCHES = {
    "new ones at one place": ("ab", "axb", "anb", "anxb"),
    "several": ("ab", "axyb", "anmb", "anmxyb"),
    "between two that the target replaced": ("abcd", "axd", "abncmd", "anmxd"),
    "one removed by the patch, and its neighbour by the target": ("abcd", "axcd", "anbd", "anxd"),
    "one of both": ("ab", "axnb", "anb", "axnb"),
    "moved by the patch and gone on the target": ("abcd", "axd", "acnbd", "anxd"),
}


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"), STRETCHES.values(), ids=STRETCHES.keys()
)
def test_new_functions_go_beside_their_neighbours(
    base: str, ours: str, theirs: str, result: str
) -> None:
    found = merged(module(*base), module(*ours), module(*theirs))
    assert names(found) == result
    assert found.rules[0] is Rule.NEIGHBOUR


def test_a_merge_of_git_s_own_has_no_place() -> None:
    found = merged(module(*"abc"), module(*"xabc"), module(*"abcy"))
    assert steps(found) == [Step(Rule.THREE_WAY, 0, 0)]


def test_a_stretch_of_functions_is_told_at_its_lines_on_both_sides() -> None:
    found = merged(module(*"ab"), b"import os\n" + module(*"axb"), module(*"anb"))
    assert steps(found) == [Step(Rule.NEIGHBOUR, 3, 4)]
    found = merged(module(*"abcd"), b"import os\n" + module(*"axd"), module(*"abncd"))
    assert steps(found) == [Step(Rule.NEIGHBOUR, 3, 4)]
