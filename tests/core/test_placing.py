"""Placing a hunk: in the one place where it belongs, or nowhere.

Nothing is worse here than a wrong place, so most of these tests are targets on
which a less strict rule would find one.
"""

from __future__ import annotations

import pytest

from backport.core.outcomes import Outcome
from backport.core.parsing import parse_diff
from backport.core.patches import Hunk
from backport.core.placing import place
from backport.core.texts import Edit, Placement, Target, splice
from tests.builders import Text, diff, numbered, raw

HOME = numbered(1, 20)


def hunk(before: Text, after: Text, section: str = "", context: int = 3) -> Hunk:
    """The one hunk that leads from `before` to `after`."""
    (found,) = parse_diff(diff("f", before, after, section=section, context=context))[0].hunks
    return found


def put(change: Hunk, text: Text, path: str = "f.txt", **how: object) -> tuple[Placement, bytes]:
    """Where the hunk goes, and the text that this gives (unchanged where it goes nowhere)."""
    target = Target(path, raw(text))
    found = place(change, target, **how)  # type: ignore[arg-type]
    return found, splice(target.text, [found.edit] if found.edit else [])


def says(found: Placement) -> tuple[Outcome, int, int]:
    return found.outcome, found.line, found.offset


CHANGE = hunk(HOME, HOME.replace("line 10\n", "ten\n"))
INSERT = hunk(HOME, HOME.replace("line 10\n", "line 10\nand a half\n"))
DELETE = hunk(HOME, HOME.replace("line 10\n", ""))
ALL = pytest.mark.parametrize(
    "change", [CHANGE, INSERT, DELETE], ids=["change", "insert", "delete"]
)

# ---------------------------------------------------------------- in its place


def test_a_hunk_goes_to_its_own_line() -> None:
    found, text = put(CHANGE, HOME)
    assert says(found) == (Outcome.EXACT, 10, 0)
    assert text == raw(HOME.replace("line 10\n", "ten\n"))


def test_an_insertion_stands_at_the_line_it_will_have() -> None:
    found, text = put(INSERT, HOME)
    assert says(found) == (Outcome.EXACT, 11, 0)
    assert text == raw(HOME.replace("line 10\n", "line 10\nand a half\n"))


@ALL
@pytest.mark.parametrize("lines", [1, 2, 500])
def test_a_hunk_moves_down_with_its_lines(change: Hunk, lines: int) -> None:
    above = numbered(1, lines, "new")
    still, expected = put(change, HOME)
    found, text = put(change, above + HOME)
    assert says(found) == (Outcome.MOVED, still.line + lines, lines)
    assert text == raw(above) + expected


@ALL
def test_a_hunk_moves_up_with_its_lines(change: Hunk) -> None:
    still, expected = put(change, HOME)
    found, text = put(change, HOME.replace(numbered(1, 4), ""))
    assert says(found) == (Outcome.MOVED, still.line - 4, -4)
    assert text == expected.replace(raw(numbered(1, 4)), b"")


@ALL
def test_changes_outside_of_the_context_do_not_matter(change: Hunk) -> None:
    drifted = HOME.replace("line 6\n", "other 6\n").replace("line 14\n", "other 14\n")
    found, text = put(change, drifted)
    assert found.outcome is Outcome.EXACT
    assert b"other 6\n" in text
    assert b"other 14\n" in text


def test_only_the_changed_lines_are_replaced() -> None:
    home = numbered(1, 9).replace("line 5\n", "line 5\nkept\nline 5b\n")
    change = hunk(home, home.replace("line 5\n", "five\n").replace("line 5b\n", "5b\n"))
    edit = put(change, home)[0].edit
    assert edit is not None
    assert raw(home)[edit.start : edit.end] == b"line 5\nkept\nline 5b\n"
    assert edit.text == b"five\nkept\n5b\n"


def test_content_goes_into_an_empty_file() -> None:
    found, text = put(hunk("", "new\n"), "")
    assert (says(found), text) == ((Outcome.EXACT, 1, 0), b"new\n")
    assert found.edit == Edit(0, 0, b"new\n", (0, 0))


def test_a_file_loses_all_its_content() -> None:
    found, text = put(hunk("a\nb\n", ""), "a\nb\n")
    assert (found.outcome, text) == (Outcome.EXACT, b"")


# ---------------------------------------------------------------- two places

TWIN = numbered(1, 9)
TWINS = TWIN + "between\n" + TWIN
SECOND = hunk(TWINS, TWIN + "between\n" + TWIN.replace("line 5\n", "five\n"))


def test_two_places_that_fit_are_both_named_and_neither_is_taken() -> None:
    found, text = put(SECOND, TWINS)
    assert found.outcome is Outcome.AMBIGUOUS
    assert found.candidates == (5, 15)
    assert found.detail == "fits at lines 5, 15; name the scope in the manifest"
    assert text == raw(TWINS)


def test_being_at_its_own_line_does_not_make_a_place_the_right_one() -> None:
    above = "one more line\n" * 10
    found, text = put(SECOND, above + TWINS)  # the first twin stands where the second was
    assert (found.outcome, found.candidates) == (Outcome.AMBIGUOUS, (15, 25))
    assert text == raw(above + TWINS)


def test_the_very_text_of_the_patch_needs_no_search() -> None:
    found, text = put(SECOND, TWINS, known=True)
    assert says(found) == (Outcome.EXACT, 15, 0)
    assert text == raw(TWIN + "between\n" + TWIN.replace("line 5\n", "five\n"))


def test_a_text_that_only_claims_to_be_known_is_searched() -> None:
    found, text = put(CHANGE, "new\n" + HOME, known=True)
    assert says(found) == (Outcome.MOVED, 11, 1)
    assert text == raw("new\n" + HOME.replace("line 10\n", "ten\n"))


def test_repeated_lines_fit_in_many_places() -> None:
    change = hunk("x\n" * 8, "x\n" * 4 + "y\n" + "x\n" * 4)
    found, _ = put(change, "x\n" * 8)
    assert (found.outcome, found.candidates) == (Outcome.AMBIGUOUS, (4, 5, 6))


def test_a_long_list_of_places_is_cut_in_words() -> None:
    change = hunk("x\n" * 8, "x\n" * 4 + "y\n" + "x\n" * 4)
    found, _ = put(change, "x\n" * 105)
    assert found.outcome is Outcome.AMBIGUOUS
    assert found.detail.startswith("fits at lines 4, 5, 6, 7, 8, 9, 10, 11 and 92 more")
    assert len(found.candidates) == 64


@pytest.mark.parametrize(
    ("fits", "places"),
    [(8, "4, 5, 6, 7, 8, 9, 10, 11"), (9, "4, 5, 6, 7, 8, 9, 10, 11 and 1 more")],
)
def test_eight_places_are_named(fits: int, places: str) -> None:
    found, _ = put(hunk("x\n" * 8, "x\n" * 4 + "y\n" + "x\n" * 4), "x\n" * (fits + 5))
    assert found.detail == f"fits at lines {places}; name the scope in the manifest"


@pytest.mark.parametrize(
    ("fits", "detail"),
    [(1000, "fits at lines 4, "), (1001, "its lines stand at more than 1,000 places")],
)
def test_a_thousand_places_are_told_apart(fits: int, detail: str) -> None:
    found, _ = put(hunk("x\n" * 8, "x\n" * 4 + "y\n" + "x\n" * 4), "x\n" * (fits + 5))
    assert found.outcome is Outcome.AMBIGUOUS
    assert found.detail.startswith(detail)


# ---------------------------------------------------------------- scopes

BODY = "    a = 1\n    b = 2\n    c = 3\n    d = 4\n    e = 5\n    f = 6\n"


def functions(*names: str, body: str = BODY) -> str:
    return "\n\n".join(f"def {name}():\n{body}" for name in names)


LONGER = BODY.replace("d = 4\n", "d = 4\n    new = 0\n")
IN_SPARSE = hunk(functions("sparse"), functions("sparse", body=LONGER), section="sparse")


def test_the_scope_tells_look_alikes_apart() -> None:
    found, text = put(IN_SPARSE, functions("dense", "sparse", "other"), "m.py")
    assert says(found) == (Outcome.MOVED, 15, 9)
    expected = functions("dense") + "\n\n" + functions("sparse", body=LONGER)
    assert text == raw(expected + "\n\n" + functions("other"))


def test_a_sibling_does_not_stand_in_for_a_missing_scope() -> None:
    found, text = put(IN_SPARSE, functions("dense"), "m.py")
    assert found.outcome is Outcome.CONFLICT
    assert found.detail == (
        "belongs in sparse, which is not there (known: dense); its lines stand only in dense at 6"
    )
    assert text == raw(functions("dense"))


def test_a_sibling_does_not_stand_in_for_a_scope_with_other_lines() -> None:
    text = functions("dense") + "\n\n" + functions("sparse", body="    pass\n")
    found, _ = put(IN_SPARSE, text, "m.py")
    assert found.outcome is Outcome.CONFLICT
    assert found.detail == "belongs in sparse; its lines stand only in dense at 6"


def test_a_method_of_another_class_is_another_scope() -> None:
    def method(owner: str, body: str) -> str:
        indented = "".join(f"    {line}" for line in body.splitlines(keepends=True))
        return f"class {owner}:\n    def forward(self):\n{indented}"

    change = hunk(method("A", BODY), method("A", LONGER), section="A.forward")
    found, text = put(change, method("B", BODY) + "\n\n" + method("A", BODY), "m.py")
    assert text == raw(method("B", BODY) + "\n\n" + method("A", LONGER))
    assert found.outcome is Outcome.MOVED
    assert put(change, method("B", BODY), "m.py")[0].outcome is Outcome.CONFLICT


def test_two_places_in_one_scope_are_ambiguous() -> None:
    twice = functions("sparse", body=BODY + "    while True:\n        pass\n" + BODY)
    change = hunk(functions("sparse"), functions("sparse", body=LONGER), "sparse", context=2)
    found, _ = put(change, twice, "m.py")
    assert (found.outcome, found.candidates) == (Outcome.AMBIGUOUS, (6, 14))


def test_two_definitions_of_one_name_are_ambiguous() -> None:
    found, _ = put(IN_SPARSE, functions("sparse", "sparse"), "m.py")
    assert (found.outcome, found.candidates) == (Outcome.AMBIGUOUS, (6, 15))


def test_lines_of_the_module_do_not_go_into_a_function() -> None:
    plain = BODY.replace("    ", "")
    change = hunk(plain, plain.replace("d = 4\n", "d = 4\nnew = 0\n"), section="<module>")
    inside = "def f():\n    '''\n" + plain + "    '''\n"
    assert put(change, inside, "m.py")[0].outcome is Outcome.CONFLICT
    found, text = put(change, inside + plain, "m.py")
    assert (found.outcome, found.line) == (Outcome.MOVED, 14)
    assert text == raw(inside + plain.replace("d = 4\n", "d = 4\nnew = 0\n"))


def test_an_insertion_belongs_to_the_scope_of_the_line_above_it() -> None:
    home = "def f():\n    x = 1\n    return x\n\n\ndef g():\n    pass\n"
    change = hunk(home, home.replace("return x\n", "return x\n    # end\n"), section="f")
    assert put(change, home, "m.py")[0].outcome is Outcome.EXACT


def test_an_insertion_at_the_very_top_belongs_to_the_first_line() -> None:
    home = "x = 1\ndef f():\n    pass\n"
    change = hunk(home, "# new\n" + home, section="<module>")
    assert put(change, home, "m.py")[0].outcome is Outcome.EXACT


def test_an_insertion_right_below_a_header_belongs_to_its_scope() -> None:
    home = "a = 1\nb = 2\n\ndef f():\n    x = 1\n    y = 2\n"
    change = hunk(home, home.replace("f():\n", "f():\n    new = 0\n"), section="f")
    assert put(change, "# top\n" + home, "m.py")[0].outcome is Outcome.MOVED


def test_a_line_below_a_scope_is_not_in_it_though_the_text_above_is() -> None:
    text = "def f():\n    x = 1\n# note\n"
    found, _ = put(hunk(text, text.replace("# note\n", ""), section="f"), text, "m.py")
    assert found.detail == "belongs in f; its lines stand only in <module> at 3"


def test_a_conflict_names_the_scope_of_the_line_that_would_go() -> None:
    text = "import os\n" + functions("dense")
    change = hunk(text, text.replace("def dense", "def new"), section="sparse")
    assert "stand only in dense at 2" in put(change, text, "m.py")[0].detail


def test_a_conflict_names_eight_scopes() -> None:
    found, _ = put(IN_SPARSE, functions(*(f"f{number}" for number in range(9))), "m.py")
    assert "stand only in f0, f1, f2, f3, f4, f5, f6, f7 and 1 more at 6, 15, " in found.detail


def test_a_scope_without_the_lines_tells_which_one_is_missing() -> None:
    found, _ = put(IN_SPARSE, functions("sparse", body=BODY.replace("c = 3", "c = 4")), "m.py")
    assert found.detail.startswith("the target has no line 'c = 3'; closest at line 3")


def test_the_right_place_is_found_behind_many_look_alikes() -> None:
    names = [f"f{number}" for number in range(100)]
    found, text = put(IN_SPARSE, functions(*names, "sparse"), "m.py")
    assert found.outcome is Outcome.MOVED
    assert text == raw(functions(*names) + "\n\n" + functions("sparse", body=LONGER))


def test_a_second_place_is_found_behind_many_look_alikes() -> None:
    names = [f"f{number}" for number in range(100)]
    found, _ = put(IN_SPARSE, functions("sparse", *names, "sparse"), "m.py")
    assert (found.outcome, len(found.candidates)) == (Outcome.AMBIGUOUS, 2)


def test_a_scope_that_cannot_be_told_is_a_conflict() -> None:
    text = functions("dense") + "print 1\n"  # does not parse, and holds no sparse either
    found, after = put(IN_SPARSE, text, "m.py")
    assert found.outcome is Outcome.CONFLICT
    assert found.detail == (
        "belongs in sparse; m.py has no Python scopes (another language, or it does not parse)"
    )
    assert after == raw(text)


def test_the_result_in_a_scope_that_cannot_be_told_proves_nothing() -> None:
    found, _ = put(IN_SPARSE, functions("dense", body=LONGER) + "print 1\n", "m.py")
    assert found.outcome is Outcome.CONFLICT


def test_the_very_text_of_the_patch_needs_no_scope() -> None:
    home = functions("sparse") + "print 1\n"
    assert put(IN_SPARSE, home, "m.py", known=True)[0].outcome is Outcome.EXACT


@pytest.mark.parametrize("section", ["def f(x):", "class A(B):", "", "if x.y:", "a..b", "1st"])
def test_words_of_git_after_the_ranges_are_no_scope(section: str) -> None:
    change = hunk(functions("sparse"), functions("sparse", body=LONGER), section=section)
    assert put(change, functions("dense"), "m.py")[0].outcome is Outcome.EXACT


def test_in_another_language_a_word_after_the_ranges_is_no_scope() -> None:
    change = hunk(HOME, HOME.replace("line 10\n", "ten\n"), section="main")
    assert put(change, HOME, "f.sh")[0].outcome is Outcome.EXACT


def test_a_scope_may_be_asked_for() -> None:
    text = functions("dense", "sparse")
    change = hunk(functions("x"), functions("x", body=LONGER))
    found, after = put(change, text, "m.py", within="sparse")
    assert found.outcome is Outcome.MOVED
    assert after == raw(functions("dense") + "\n\n" + functions("sparse", body=LONGER))


def test_a_scope_that_is_asked_for_outweighs_the_hunk_s_own() -> None:
    found, after = put(IN_SPARSE, functions("dense", "sparse"), "m.py", within="dense")
    assert found.line == 6
    assert after == raw(functions("dense", body=LONGER) + "\n\n" + functions("sparse"))


def test_no_scope_can_be_asked_for_in_another_language() -> None:
    found, _ = put(CHANGE, HOME, "f.txt", within="f")
    assert found.outcome is Outcome.CONFLICT
    assert "f.txt has no Python scopes" in found.detail


# ---------------------------------------------------------------- already there


@ALL
def test_a_result_that_stands_is_not_made_again(change: Hunk) -> None:
    _, result = put(change, HOME)
    found, text = put(change, result)
    assert (found.outcome, found.offset, text) == (Outcome.ALREADY, 0, result)
    assert found.detail == f"its result stands at line {found.line}"
    assert found.candidates == ()


@ALL
def test_a_result_that_moved_is_found(change: Hunk) -> None:
    above = raw(numbered(1, 5, "new"))
    _, result = put(change, HOME)
    found, _ = put(change, above + result)
    assert (found.outcome, found.offset) == (Outcome.ALREADY, 5)


def test_a_result_at_two_places_is_no_proof_and_both_are_named() -> None:
    changed = TWIN.replace("line 5\n", "five\n")
    found, _ = put(SECOND, changed + "between\n" + changed)
    assert (found.outcome, found.line, found.candidates) == (Outcome.AMBIGUOUS, 0, (5, 15))
    assert found.detail == (
        "its result stands at lines 5, 15, and its own place cannot be told; "
        "name the scope in the manifest"
    )


def test_a_scope_tells_which_of_two_results_is_meant() -> None:
    text = functions("dense", body=LONGER) + "\n\n" + functions("sparse", body=LONGER)
    found, _ = put(IN_SPARSE, text, "m.py")
    assert (found.outcome, found.line) == (Outcome.ALREADY, 16)


def test_a_change_that_the_patch_makes_twice_may_stand_twice() -> None:
    changed = TWIN.replace("line 5\n", "five\n")
    found, _ = put(SECOND, changed + "between\n" + changed, alike=2)
    assert (found.outcome, found.line, found.candidates) == (Outcome.ALREADY, 15, (5, 15))
    assert put(SECOND, changed * 3, alike=2)[0].outcome is Outcome.AMBIGUOUS


def test_a_result_in_another_scope_is_another_change() -> None:
    text = functions("dense", body=LONGER) + "\n\n" + functions("sparse", body="    pass\n")
    assert put(IN_SPARSE, text, "m.py")[0].outcome is Outcome.CONFLICT


def test_a_result_in_its_scope_outweighs_a_look_alike_that_still_fits() -> None:
    text = functions("dense") + "\n\n" + functions("sparse", body=LONGER)
    found, after = put(IN_SPARSE, text, "m.py")
    assert (found.outcome, found.line, after) == (Outcome.ALREADY, 15, raw(text))


def test_a_result_without_its_scope_is_another_change() -> None:
    found, _ = put(IN_SPARSE, functions("dense", body=LONGER), "m.py")
    assert found.outcome is Outcome.CONFLICT


def test_a_result_counts_only_with_its_context() -> None:
    text = HOME.replace("line 10\n", "ten\n").replace("line 9\n", "other\n")
    assert put(CHANGE, text)[0].outcome is Outcome.CONFLICT


THREE = "class A:\n    def f(self):\n        pass\n\n    def g(self):\n        pass\n"


@pytest.mark.parametrize(
    ("after", "section"),
    [
        (THREE.replace("    def g(self):\n        pass\n", ""), "A.g"),
        (THREE.replace("    def f(self):\n        pass\n\n", ""), "A.f"),
        (THREE.replace("def g(", "def h("), "A.g"),
        (THREE.replace("class A", "class B"), "A"),
    ],
    ids=["the last method gone", "the first method gone", "a method renamed", "a class renamed"],
)
def test_a_definition_that_was_removed_is_already_removed(after: str, section: str) -> None:
    above = "import os\n\n\n"
    found, _ = put(hunk(above + THREE, above + after, section), "# x\n" + above + after, "m.py")
    assert (found.outcome, found.offset) == (Outcome.ALREADY, 1)


ABOVE_THE_RESULT = {
    "the last line of a scope": (
        "f",
        "def f():\n    a = 1\n    b = 2\n\n\nx = 1\n",
        "    b = 2\n",
    ),
    "blank lines above": (
        "f",
        "def f():\n    a = 1\n\n\n    b = 2\nx = 1\n",
        "    b = 2\n",
    ),
    "a line of the module above": (
        "<module>",
        "def f():\n    x = 1\ny = 1\nz = 1\ndef g():\n    pass\n",
        "z = 1\n",
    ),
    "the first line": ("<module>", "import os\ndef f():\n    pass\n", "import os\n"),
    "the first line below a blank one": (
        "<module>",
        "\nimport os\ndef f():\n    pass\n",
        "import os\n",
    ),
    "the first text, one line above": (
        "<module>",
        "x\nimport os\ndef f():\n    pass\n",
        "import os\n",
    ),
}


@pytest.mark.parametrize(
    ("scope", "before", "gone"), ABOVE_THE_RESULT.values(), ids=ABOVE_THE_RESULT.keys()
)
def test_the_text_above_tells_the_scope_of_lines_that_are_gone(
    scope: str, before: str, gone: str
) -> None:
    after = before.replace(gone, "")
    found, _ = put(hunk(before, after, section=scope), after, "m.py")
    assert (found.outcome, found.offset) == (Outcome.ALREADY, 0)


def test_a_definition_removed_where_no_scope_can_be_told_proves_nothing() -> None:
    after = "def f():\n\tprint 1\n"
    found, _ = put(hunk(after + "\n\ndef g():\n\tpass\n", after, section="g"), after, "m.py")
    assert found.outcome is Outcome.CONFLICT


def test_a_function_that_was_removed_elsewhere_is_another_change() -> None:
    def owner(name: str, rest: str) -> str:
        return f"class {name}:\n    x = 1\n    y = 2\n    z = 3\n{rest}"

    gone = "    def f(self):\n        pass\n"
    tail = "    a = 1\n    b = 2\n    c = 3\n"
    change = hunk(owner("A", gone + tail), owner("A", tail), section="A.f")
    assert put(change, owner("B", tail), "m.py")[0].outcome is Outcome.CONFLICT
    assert put(change, owner("A", tail), "m.py")[0].outcome is Outcome.ALREADY


# ---------------------------------------------------------------- the true place has it already

BLOCK = "  image: x\n  cpus: 2\n  memory: 4\n  retries: 3\n  user: nobody\n  shell: none\n"
SERVICES = "one:\n" + BLOCK + "two:\n" + BLOCK


@pytest.mark.parametrize(
    "after",
    [
        BLOCK.replace("memory: 4\n", "memory: 4\n  swap: 1\n"),
        BLOCK.replace("memory: 4\n", "memory: 8\n"),
        BLOCK.replace("  memory: 4\n", ""),
        BLOCK.replace("memory: 4\n", "memory: 4\n\n"),
    ],
    ids=["inserted", "changed", "deleted", "an empty line"],
)
def test_a_look_alike_does_not_get_what_the_true_place_has_already(after: str) -> None:
    home = "one:\n" + BLOCK + "two: []\n"
    change = hunk(home, "one:\n" + after + "two: []\n", context=2)
    target = "one:\n" + after + "two:\n" + BLOCK
    found, text = put(change, target, "f.yaml")
    assert found.outcome is Outcome.AMBIGUOUS
    assert found.candidates[0] < 6 < found.candidates[1]
    assert "already" in found.detail
    assert text == raw(target)


def test_a_place_that_overlaps_the_result_is_no_place() -> None:
    block = "a = 1\nb = 2\nc = 3\n"
    change = hunk(block + block, block + "new\n" + block)
    found, _ = put(change, block + "new\n" + block + block)
    assert (found.outcome, found.candidates) == (Outcome.AMBIGUOUS, (4, 8))


def test_a_result_right_above_the_place_is_another_one() -> None:
    found, _ = put(CHANGE, "first\n" + (CHANGE.after + CHANGE.before).decode() + "last\n")
    assert (found.outcome, found.candidates) == (Outcome.AMBIGUOUS, (5, 12))


def test_a_result_that_shares_lines_with_the_place_is_none_elsewhere() -> None:
    block = "a\nb\nc\n"
    change = hunk(block + "old\n" + block, block + "new\n" + block)
    text = "first\n" + block + "new\n" + block
    found, after = put(change, text + "old\n" + block + "last\n")
    assert (found.outcome, found.line) == (Outcome.MOVED, 9)
    assert after == raw(text + "new\n" + block + "last\n")


def test_removing_one_of_two_equal_blocks_is_no_look_alike() -> None:
    equal = "a = 1\nb = 2\nc = 3\nd = 4\n"
    home = "start\n" + equal + equal + "end\n"
    found, text = put(hunk(home, "start\n" + equal + "end\n"), "new\n" + home)
    assert (found.outcome, text) == (Outcome.MOVED, raw("new\nstart\n" + equal + "end\n"))


# ---------------------------------------------------------------- the ends of a file

TOP = hunk(numbered(1, 9), "# new\n" + numbered(1, 9))
BOTTOM = hunk(numbered(1, 9), numbered(1, 9) + "# new\n")


def test_a_hunk_without_lines_above_belongs_to_the_beginning() -> None:
    assert put(TOP, numbered(1, 20))[1].startswith(b"# new\nline 1\n")
    found, _ = put(TOP, "# licence\n" + numbered(1, 9))
    assert found.outcome is Outcome.CONFLICT


def test_a_hunk_without_lines_below_belongs_to_the_end() -> None:
    assert put(BOTTOM, "more\n" * 9 + numbered(1, 9))[1].endswith(b"line 9\n# new\n")
    found, _ = put(BOTTOM, numbered(1, 9) + "more\n")
    assert found.outcome is Outcome.CONFLICT


def test_a_result_at_an_end_counts_only_there() -> None:
    assert put(TOP, "# licence\n# new\n" + numbered(1, 9))[0].outcome is Outcome.CONFLICT
    assert put(BOTTOM, numbered(1, 9) + "# new\nmore\n")[0].outcome is Outcome.CONFLICT


@pytest.mark.parametrize(
    ("before", "after"),
    [("a\nb", "a\nc"), ("a\nb", "a\nb\n"), ("a\nb\n", "a\nb"), ("a\nb", "a\nb\nc")],
    ids=["kept", "added", "taken", "a line after it"],
)
def test_a_missing_final_newline_must_be_missing_on_the_target(before: str, after: str) -> None:
    change = hunk(before, after)
    assert put(change, before)[1] == raw(after)
    other = before.removesuffix("\n") if before.endswith("\n") else before + "\n"
    if raw(other) != raw(after):
        assert put(change, other)[0].outcome is Outcome.CONFLICT


def test_a_last_line_without_newline_is_not_found_inside_a_longer_one() -> None:
    assert put(hunk("a\nb", "a\nc"), "a\nbc\n")[0].outcome is Outcome.CONFLICT
    assert put(hunk("a\nb", "x\nb"), "a\nbc\n")[0].outcome is Outcome.CONFLICT
    assert put(hunk("a\nb", "x\nb"), "a\nbc", known=True)[0].outcome is Outcome.CONFLICT


# ---------------------------------------------------------------- without context


@pytest.mark.parametrize(
    "change",
    [hunk(HOME, text, context=0) for text in (HOME + "new\n", HOME.replace("line 10\n", "ten\n"))],
    ids=["insert", "change"],
)
def test_a_hunk_without_context_has_no_place_of_its_own(change: Hunk) -> None:
    found, text = put(change, HOME)
    assert found.outcome is Outcome.CONFLICT
    assert found.detail == "has no context, so it fits only a whole file"
    assert text == raw(HOME)


@pytest.mark.parametrize("line", [10, 20])
def test_a_hunk_without_context_goes_to_its_line_in_the_very_text_of_the_patch(line: int) -> None:
    changed = HOME.replace(f"line {line}\n", f"line {line}\nnew\n")
    found, text = put(hunk(HOME, changed, context=0), HOME, known=True)
    assert (says(found), text) == ((Outcome.EXACT, line + 1, 0), raw(changed))


def test_content_for_an_empty_file_goes_into_no_other() -> None:
    found, text = put(hunk("", "new\n"), "old\n")
    assert (found.outcome, text) == (Outcome.CONFLICT, b"old\n")


# ---------------------------------------------------------------- nothing is overlooked

DRIFT = {
    "another indentation": HOME.replace("line 9\n", " line 9\n"),
    "a tab for a space": HOME.replace("line 9\n", "line\t9\n"),
    "a space at the end": HOME.replace("line 9\n", "line 9 \n"),
    "an empty line between": HOME.replace("line 9\n", "line 9\n\n"),
    "an empty line less": HOME.replace("line 9\nline 10\n", "line 10\n"),
    "another case": HOME.replace("line 9\n", "Line 9\n"),
    "a longer line": HOME.replace("line 9\n", "line 99\n"),
    "a line joined to the one before": HOME.replace("line 8\nline 9\n", "line 8 line 9\n"),
    "another order": HOME.replace("line 8\nline 9\n", "line 9\nline 8\n"),
    "windows line ends": HOME.replace("\n", "\r\n"),
    "one carriage return": HOME.replace("line 9\n", "line 9\r\n"),
}


@ALL
@pytest.mark.parametrize("text", DRIFT.values(), ids=DRIFT.keys())
def test_a_context_that_differs_in_the_least_is_a_conflict(change: Hunk, text: str) -> None:
    found, after = put(change, text)
    assert found.outcome is Outcome.CONFLICT
    assert after == raw(text)


def test_a_block_begins_with_a_line() -> None:
    change = hunk("x\ny\nz\n" + HOME, "x\ny\nz\nnew\n" + HOME)
    assert put(change, "a\nprefix x\ny\nz\n" + HOME)[0].outcome is Outcome.CONFLICT


SEPARATORS = ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\r"]


@pytest.mark.parametrize("odd", SEPARATORS, ids=[f"U+{ord(char):04X}" for char in SEPARATORS])
def test_odd_separators_are_part_of_their_line(odd: str) -> None:
    home = HOME.replace(" ", odd)
    change = hunk(home, home.replace(f"line{odd}10\n", f"t{odd}n\n"))
    found, text = put(change, f"a{odd}b\n" * 3 + home)
    assert says(found) == (Outcome.MOVED, 13, 3)
    assert text == raw(f"a{odd}b\n" * 3 + home.replace(f"line{odd}10\n", f"t{odd}n\n"))


def test_windows_line_ends_are_kept() -> None:
    home = HOME.replace("\n", "\r\n")
    change = hunk(home, home.replace("line 10\r\n", "ten\r\n"))
    assert put(change, "new\r\n" + home)[1] == raw("new\r\n" + home).replace(b"line 10", b"ten")


def test_bytes_that_are_no_text_are_lines_as_well() -> None:
    home = bytes(range(1, 256)) + b"\n" + b"\xff\n" * 2 + raw(HOME)
    change = hunk(home, home.replace(b"\xff\nline 1\n", b"\xff\n\xfe\nline 1\n"))
    assert put(change, b"\x00\n" + home)[0].outcome is Outcome.MOVED


# ---------------------------------------------------------------- what a conflict says

CONFLICTS = {
    "a line that is missing": (
        HOME.replace("line 9\n", ""),
        "the target has no line 'line 9'; closest at line 6 (4 of 7 lines)",
    ),
    "lines in another order": (
        HOME.replace("line 9\nline 10\n", "line 10\nline 9\n"),
        "its lines are there, but nowhere together; closest at line 7 (5 of 7 lines)",
    ),
    "nothing alike": (numbered(1, 5, "other"), "the target has no line 'line 7'"),
    "an empty target": ("", "the target has no line 'line 7'"),
    "windows line ends": (
        HOME.replace("\n", "\r\n"),
        "the target has CRLF line endings and the patch has LF",
    ),
}


@pytest.mark.parametrize(("text", "detail"), CONFLICTS.values(), ids=CONFLICTS.keys())
def test_a_conflict_says_what_is_missing_and_where_it_is_closest(text: str, detail: str) -> None:
    found, _ = put(CHANGE, text)
    assert (found.outcome, found.detail) == (Outcome.CONFLICT, detail)


def test_a_conflict_names_the_line_endings_of_a_patch_as_well() -> None:
    home = HOME.replace("\n", "\r\n")
    found, _ = put(hunk(home, home.replace("line 10", "ten")), HOME)
    assert found.detail == "the target has LF line endings and the patch has CRLF"


@pytest.mark.parametrize(("size", "shown"), [(60, "x" * 60), (61, "x" * 57 + "...")])
def test_a_long_missing_line_is_shortened(size: int, shown: str) -> None:
    home = "x" * size + "\n" + HOME
    found, _ = put(hunk(home, "new\n" + home), HOME)
    assert found.detail.startswith(f"the target has no line '{shown}'; closest at line 1")


def test_of_equally_close_texts_the_nearest_is_named_among_the_first_eight() -> None:
    def closest(first: int, text: str) -> tuple[int, ...]:
        return put(hunk("x\ny\n", "z\ny\n")._replace(old_start=first), text)[0].candidates

    assert closest(5, "x\n" * 5 + "other\n" * 9 + "y\n") == (5,)
    assert closest(9, "x\n" * 9) == (8,)


def test_a_result_that_stands_right_after_the_place_is_another_one() -> None:
    text = b"first\n" + CHANGE.before + CHANGE.after + b"last\n"
    found, _ = put(CHANGE, text.decode())
    assert (found.outcome, found.candidates) == (Outcome.AMBIGUOUS, (12, 5))


def test_where_no_line_is_alike_nothing_is_called_close() -> None:
    found, _ = put(CHANGE, "other\n" * 3)
    assert (found.outcome, found.candidates) == (Outcome.CONFLICT, ())
    assert found.detail == "the target has no line 'line 7'"
