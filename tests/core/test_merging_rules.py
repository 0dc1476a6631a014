"""The rules of a merge one by one: what each gives, and where it does not fit."""

from __future__ import annotations

import pytest

from backport.core.merging_confidence import COUNTS, Confidence, confidence, wording
from backport.core.merging_files import Merged, merge_file, together
from backport.core.merging_imports import are_imports, merge_imports
from backport.core.merging_regions import beside, beside_survivor, reindented, resolve, with_members
from backport.core.merging_steps import Rule, Step
from backport.core.texts import split_keeping_ends
from backport.core.vocabulary import Vocabulary
from tests.repos import PROJECT


def lines(text: str) -> list[bytes]:
    return split_keeping_ends(text.encode())


# ---------------------------------------------------------------- a stretch that both changed

STRETCHES = {
    "the target changed the layout": ("f(a,b)", "f(a, b)", "g(a,b)", Rule.LAYOUT, "g(a,b)"),
    "the patch changed the layout": ("f(a,b)", "g(a,b)", "f(a, b)", Rule.LAYOUT, "g(a,b)"),
    "one change in two layouts": ("f(a)", "g( a)", "g(a)", Rule.LAYOUT, "g( a)"),
    "changes that touch": ("a b", "x b", "a y", Rule.WORDS, "x y"),
    "words that touch": ("a.b", "x.b", "a(b", Rule.WORDS, "x(b"),
    "the same word": ("a", "b", "c", None, ""),
    "lines that touch": ("a/b", "x/b", "a/y", Rule.ADJACENT, "x/y"),
    "elements": ("a,/b,", "a,/x,/b,", "a,/y,/b,", Rule.ELEMENTS, "a,/y,/x,/b,"),
    "an element twice": ("a,/b,", "a,/x,/b,", "a,/a,/b,", Rule.BESIDE, "a,/a,/x,/b,"),
    "a call is no element": ("a,/b,", "a,/x,/b,", "a,/f(1),/b,", Rule.BESIDE, "a,/f(1),/x,/b,"),
    "a line that survives": ("a/b", "a/x/b", "a/y/b", Rule.BESIDE, "a/y/x/b"),
}


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "rule", "merged"), STRETCHES.values(), ids=STRETCHES.keys()
)
def test_the_first_rule_that_fits_decides(
    base: str, ours: str, theirs: str, rule: Rule | None, merged: str
) -> None:
    sides = [lines(side.replace("/", "\n") + "\n") for side in (base, ours, theirs)]
    expected = None if rule is None else (rule, lines(merged.replace("/", "\n") + "\n"))
    assert resolve(sides[0], sides[1], sides[2]) == expected


MEMBERS = {
    "below the one above": ("ab", "axb", "anb", "anxb"),
    "above the one below": ("ab", "xab", "nab", "xnab"),
    "below the next one that is there": ("abc", "xac", "abnc", "xanc"),
    "one removed": ("abc", "abxc", "ayc", "ayxc"),
    "one that the target has": ("ab", "anb", "nab", "anb"),
    "in its order where no neighbour is there": ("a", "xz", "ay", "xyz"),
    "last": ("a", "bc", "ay", "bcy"),
}


@pytest.mark.parametrize(("base", "ours", "theirs", "merged"), MEMBERS.values(), ids=MEMBERS.keys())
def test_members_are_added_beside_a_neighbour(
    base: str, ours: str, theirs: str, merged: str
) -> None:
    sides = [[letter.encode() for letter in side] for side in (base, ours, theirs)]
    found = with_members(sides[0], sides[1], sides[2])
    assert b"".join(found).decode() == merged


def test_beside_means_the_nearest_one() -> None:
    def at(theirs: str, index: int, out: str) -> int:
        sides = [[letter.encode() for letter in side] for side in (theirs, out)]
        return beside(sides[0], index, sides[1], sides[0][index])

    assert at("abn", 2, "xab") == 3
    assert at("abn", 2, "xay") == 2
    assert at("nab", 0, "xab") == 1
    assert at("ncab", 0, "xab") == 1


SURVIVORS = {
    "the line above": ("abc", "aXc", "aNbc", "aNXc"),
    "the line above, further down": ("abc", "XYaZc", "aNbc", "XYaNZc"),
    "the line below": ("abc", "aXc", "abNc", "aXNc"),
    "the line below at the top": ("ab", "Xab", "Nab", "XNab"),
    "the top": ("ab", "Xb", "Nab", "NXb"),
    "the end": ("ab", "aX", "abN", "aXN"),
    "an empty base": ("", "X", "N", "NX"),
    "neither": ("abcd", "aXYd", "abNcd", None),
    "all that is replaced": ("abcd", "XabcdX", "aNd", "XaNdX"),
    "a gap in what is replaced": ("abcd", "abYcd", "aNd", None),
    "a part of what is replaced": ("abcd", "abd", "aNd", None),
    "nothing of what is replaced": ("ab", "Xb", "Nb", None),
    "between two edits of the target": ("abcdef", "XcdYf", "abcNdef", "XcNdYf"),
    "two edits": ("abcdef", "XabcYdef", "aNbcdf", "XaNbcYdf"),
}


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"), SURVIVORS.values(), ids=SURVIVORS.keys()
)
def test_an_edit_goes_beside_what_survives(
    base: str, ours: str, theirs: str, merged: str | None
) -> None:
    found = beside_survivor(list(base), list(ours), list(theirs))
    assert found == (None if merged is None else list(merged))


BLOCKS = {
    "the same block": ("a", "a/n", "long/n", False),
    "another block": ("a", "a/n", "    a/n", True),
    "blank lines between": ("a", "a/n", "    a//n", True),
    "nothing above it in the patch": ("a", "n/a", "    a/n", False),
    "nothing above it in the target": ("a", "a/n", "n", False),
    "only a removal": ("a/b", "a", "    a", False),
    "a line that is not there": ("a", "a/n", "    a", False),
    "the second of two": ("a/b", "n/a/b/m", "n/a/    b/m", True),
}


@pytest.mark.parametrize(("base", "theirs", "merged", "told"), BLOCKS.values(), ids=BLOCKS.keys())
def test_a_line_that_came_below_another_block_is_told(
    base: str, theirs: str, merged: str, told: bool
) -> None:
    sides = [lines(side.replace("/", "\n") + "\n") for side in (base, theirs, merged)]
    assert reindented(sides[0], sides[1], sides[2]) is told


# ---------------------------------------------------------------- imports

ADDED = {
    "in the order of the alphabet, letters' case aside": (
        "from m import a, C\n",
        "from m import b\n",
        "from m import a, b, C\n",
    ),
    "last where there was no order": (
        "from m import z, a\n",
        "from m import b\n",
        "from m import z, a, b\n",
    ),
    "a line of its own, modules do not share one": (
        "import a\n",
        "import a\nimport b\n",
        "import a\nimport b\n",
    ),
    "only the names that are used": (
        "import x\n",
        "from m import b, unused  # why\n",
        "from m import b  # why\nimport x\n",
    ),
    "with its own words where all of it is new": (
        "import x\n",
        "from  m  import  a,b\n",
        "from  m  import  a,b\nimport x\n",
    ),
    "below its neighbour": (
        "import os\nimport x\n",
        "import os\n    import a\n",
        "import os\n    import a\nimport x\n",
    ),
    "a module is known by its first name": ("import x\n", "import a.c\n", "import a.c\nimport x\n"),
    "blank lines stay": ("import x\n\n", "\nimport a\n", "import x\n\nimport a\n"),
}


@pytest.mark.parametrize(("ours", "theirs", "merged"), ADDED.values(), ids=ADDED.keys())
def test_an_import_that_is_used_is_added(ours: str, theirs: str, merged: str) -> None:
    found = merge_imports([], lines(ours), lines(theirs), {b"a", b"b", b"C"})
    assert b"".join(found).decode() == merged


REMOVED = {
    "a whole line": ("import a\nimport b\n", "import b\n"),
    "a name of a line": ("from m import a, b\n", "from m import b\n"),
    "with its layout": ("  from m import a, b  # x\n", "  from m import b  # x\n"),
    "not of another module": ("from n import a\n", "from n import a\n"),
    "blank lines stay": ("\nimport a\n", "\n"),
}


@pytest.mark.parametrize(("ours", "merged"), REMOVED.values(), ids=REMOVED.keys())
def test_an_import_that_nothing_uses_is_removed(ours: str, merged: str) -> None:
    base = lines("import a\nfrom m import a, b\n")
    found = merge_imports(base, lines(ours), lines("from m import b\n"), {b"b"})
    assert b"".join(found).decode() == merged


def test_blank_lines_are_no_imports() -> None:
    assert not are_imports([b"\n"])
    assert are_imports([b"\n"], [b"import a\n"])
    assert not are_imports([b"import a\n"], [b"a\n"])


# ---------------------------------------------------------------- how far a merge is trusted


def test_the_counts_are_those_of_the_documentation() -> None:
    text = (PROJECT / "docs/placement.md").read_text("utf-8")
    table = text.partition("| rule | known | fresh | lacking |\n")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.split("\n")[1:]]
    told = {
        (Rule(rule), word): Confidence(*map(int, cell.split(" of ")))
        for rule, *cells in rows
        for word, cell in zip(("known", "fresh", "lacking"), cells, strict=True)
        if cell
    }
    assert told == COUNTS


LACKING, DRIFTED, FRESH = (Vocabulary(**{key: frozenset([b"a"])}) for key in Vocabulary._fields)


def test_the_confidence_is_that_of_the_weakest_rule() -> None:
    assert (wording(Vocabulary()), wording(FRESH)) == ("known", "fresh")
    assert wording(LACKING) == wording(DRIFTED) == "lacking"
    steps = [Step(Rule.ADJACENT), Step(Rule.WORDS), Step(Rule.NEIGHBOUR)]
    assert confidence(steps, Vocabulary()) == COUNTS[Rule.NEIGHBOUR, "known"]
    assert confidence([], FRESH) == COUNTS[Rule.SYMBOL, "fresh"]
    assert confidence([Step(Rule.GONE), *steps], FRESH) == Confidence(0, 0)


def test_a_confidence_says_that_it_was_never_measured() -> None:
    assert (str(Confidence(3, 4)), Confidence(3, 4).share) == ("3 of 4", 0.75)
    assert (str(Confidence(0, 0)), Confidence(0, 0).share) == ("never measured", 0.0)
    assert Confidence(0, 1).share == 0.0


def merged(rule: Rule, why: str = "") -> Merged:
    return Merged(b"", (Step(rule),), Vocabulary(), not why, Confidence(0, 0), why)


def test_the_merges_of_a_patch_stand_together_or_not_at_all() -> None:
    plain, rule = merged(Rule.THREE_WAY), merged(Rule.ADJACENT)
    doubt = merged(Rule.WORDS, "words")
    many = Vocabulary(lacking=frozenset([b"d", b"b"]), drifted=frozenset([b"e", b"c", b"a"]))
    assert together([plain, plain], ["b.py"], [LACKING]) == ""
    assert "creates b.pyi" in together([plain, rule], ["a.txt", "b.pyi", "c.py"])
    assert "creates b.py" in together([], ["b.py"])
    assert together([rule], ["a.txt"], [FRESH]) == ""
    assert "speaks of a, b, c, d and 1 more, which" in together([rule], [], [FRESH, many])
    assert "speaks of a, which" in together([rule], [], [DRIFTED])
    assert together([rule, doubt], []) == "words"


ADJACENT = ("f(a)\nb\n", "f(c)\nb\n", "f(a)\nd\n")
DOUBTS = {
    "nothing": (*ADJACENT[:2], "f(a)\na\n", "the target does not know a"),
    "lacking": ("f(a)\nb\n", "f(b)\nb\n", "f(a)\na\n", "the target does not know a"),
    "four names": (
        "f(a, b, c, d)\ne\n",
        "f(1)\ne\n",
        "f(a, b, c, d)\na + b + c + d\n",
        "the target does not know a, b, c, d",
    ),
    "drifted": (
        "def g(): 1\na\nb\n",
        "def g(x): 1\nc\nb\n",
        "def g(): 1\na\ng\n",
        "the target defines g in another way",
    ),
    "fresh": (*ADJACENT, "d is new to the file"),
    "a rule": ("1 + 2\n", "3 + 2\n", "1 + 4\n", "the rule words is not sure enough to stand alone"),
    "open": (
        "a\n",
        "b\n",
        "c\n",
        "a part of the change has no place; the target's text stands there",
    ),
    "another block": (
        "def f(a):\n    a = 1\n",
        "def f(a):\n    if a:\n        a = 1\n",
        "def f(a):\n    a = 1\n    a = 2\n",
        "the line above stands in another block on the target",
    ),
}


@pytest.mark.parametrize(("base", "ours", "theirs", "why"), DOUBTS.values(), ids=DOUBTS.keys())
def test_a_merge_that_is_not_sure_says_why(base: str, ours: str, theirs: str, why: str) -> None:
    found = merge_file("a.py", base.encode(), ours.encode(), theirs.encode())
    assert not found.applied
    assert found.why == why


def test_a_merge_that_is_sure_needs_no_reason() -> None:
    found = merge_file("a.py", b"a = 1\nb = 2\n", b"a = 3\nb = 2\n", b"a = 1\nb = a\n")
    assert (found.text, found.applied, found.why) == (b"a = 3\nb = a\n", True, "")
    assert found.confidence == COUNTS[Rule.ADJACENT, "known"]


def test_another_language_is_only_proposed_whatever_it_holds() -> None:
    found = merge_file("a.md", b"a (\nb\n", b"c (\nb\n", b"a (\na\n")
    assert (found.text, found.applied) == (b"c (\na\n", False)
    assert found.why == "it is no Python, whose words alone can be compared"
    assert found.steps == (Step(Rule.ADJACENT, 1, 1),)


def test_only_a_text_that_parsed_must_still_do_so() -> None:
    base, theirs = b"a\nb\n", b"a\nb (\n"
    broken = merge_file("a.py", base, b"c\nb\n", theirs)
    assert (broken.text, broken.applied, broken.confidence) == (None, False, Confidence(0, 0))
    assert broken.why == "the result is not Python that parses"
    assert merge_file("a.py", base, b"c (\nb\n", theirs).text == b"c (\nb (\n"
