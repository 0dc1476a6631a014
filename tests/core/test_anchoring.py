"""Re-anchoring: added lines go exactly where a manifest says, or nowhere."""

from __future__ import annotations

import pytest

from backport.core.anchoring import place_at
from backport.core.manifests import Anchor
from backport.core.outcomes import Outcome
from backport.core.parsing import parse_diff
from backport.core.patches import Hunk
from backport.core.texts import Placement, Target, splice
from tests.builders import Text, diff, raw

HOME = "import os\n\n\ndef old():\n    pass\n"


def adding(lines: Text, home: str = HOME, above: str = "import os\n") -> Hunk:
    """A hunk that adds these lines, in a home that is nothing like the target."""
    after = home.encode().replace(raw(above), raw(above) + raw(lines))
    return parse_diff(diff("m.py", home, after))[0].hunks[0]


def put(lines: Text, where: str, text: Text, path: str = "m.py") -> tuple[Placement, str]:
    """Where the added lines go, and the text that this gives."""
    target = Target(path, raw(text))
    found = place_at(adding(lines), target, Anchor.parse(where))
    return found, splice(target.text, [found.edit] if found.edit else []).decode()


def marked(text: str) -> tuple[str, int]:
    """The text without its `>>>` line, and the number of that line."""
    line = text[: text.index(">>>")].count("\n") + 1
    return text.replace(">>>\n", ""), line


METHOD = "    def new(self):\n        pass\n"
FUNCTION = "def new():\n    pass\n"
STATEMENT = "    new = 0\n"

PLACES = {
    "before a function": ("before g", FUNCTION, "x = 1\n\n>>>\ndef g():\n    pass\n"),
    "before the first line of the file": ("before g", FUNCTION, ">>>\ndef g():\n    pass\n"),
    "before its decorator": ("before g", FUNCTION, "x = 1\n>>>\n@d\ndef g():\n    pass\n"),
    "before all its decorators": (
        "before g",
        FUNCTION,
        "x = 1\n>>>\n@d\n@e(\n    1,\n)\n\n# why\n@f\ndef g():\n    pass\n",
    ),
    "before the comments on top of it": (
        "before g",
        FUNCTION,
        "x = 1\n\n>>>\n# one\n# two\ndef g():\n    pass\n",
    ),
    "before the comments on top of its decorator": (
        "before g",
        FUNCTION,
        "x = 1\n>>>\n# one\n@d\ndef g():\n    pass\n",
    ),
    "below a comment that stands apart": (
        "before g",
        FUNCTION,
        "# apart\n\n>>>\ndef g():\n    pass\n",
    ),
    "below a comment of another block": (
        "before g",
        FUNCTION,
        "if x:\n    y()\n    # inner\n>>>\ndef g():\n    pass\n",
    ),
    "before a method": (
        "before A.g",
        METHOD,
        "class A:\n    x = 1\n\n>>>\n    @d\n    def g(self):\n        pass\n",
    ),
    "before a class": ("before A", FUNCTION, "x = 1\n>>>\n@d\nclass A:\n    pass\n"),
    "before an async function": ("before g", FUNCTION, ">>>\nasync def g():\n    pass\n"),
    "before a function inside a branch": (
        "before g",
        METHOD,
        "if x:\n    y = 1\n\n>>>\n    def g():\n        pass\n",
    ),
    "after a function": ("after f", FUNCTION, "def f():\n    pass\n>>>\n\n\nx = 1\n"),
    "after the last line of the file": ("after f", FUNCTION, "def f():\n    pass\n>>>\n"),
    "after a decorated method": (
        "after A.f",
        METHOD,
        "class A:\n    @d\n    def f(self):\n        pass\n>>>\n\n    x = 1\n",
    ),
    "after a function that ends in brackets": (
        "after f",
        FUNCTION,
        "def f():\n    return (\n        1\n    )\n>>>\nx = 1\n",
    ),
    "first in a function": ("first-in f", STATEMENT, "def f():\n>>>\n    return 1\n"),
    "first in, after the docstring": (
        "first-in f",
        STATEMENT,
        'def f():\n    """Docs\n    more."""\n>>>\n    return 1\n',
    ),
    "first in, above a comment's statement": (
        "first-in f",
        STATEMENT,
        "def f(\n    x,\n):\n    # why\n\n>>>\n    return 1\n",
    ),
    "first in a class, above a decorator": (
        "first-in A",
        METHOD,
        "class A:\n>>>\n    @d\n    def f(self): ...\n",
    ),
    "first in a function with only a docstring": (
        "first-in f",
        STATEMENT,
        'def f():\n    """Docs."""\n>>>\n',
    ),
    "first in, whatever the docstring's last line is": (
        "first-in f",
        STATEMENT,
        'def f():\n    """Docs\nat the edge"""\n>>>\n',
    ),
    "last in a function": ("last-in f", STATEMENT, "def f():\n    x = 1\n>>>\n\n\ny = 1\n"),
    "last in, after a nested block": (
        "last-in f",
        STATEMENT,
        "def f():\n    if x:\n        y()\n>>>\n\n\ny = 1\n",
    ),
    "last in a class": (
        "last-in A",
        METHOD,
        "class A:\n    x = 1\n\n    def f(self):\n        pass\n>>>\n\n\ny = 1\n",
    ),
    "last in a function with only a docstring": (
        "last-in f",
        STATEMENT,
        'def f():\n    """Docs."""\n>>>\n\n\nif x:\n        y = 1\n',
    ),
    "before a line": ("before line: x = 2", "new = 0\n", "x = 1\n>>>\nx = 2\n"),
    "after a line": ("after line: x = 1", "new = 0\n", "x = 1\n>>>\nx = 2\n"),
    "after the last line": ("after line: x = 2", "new = 0\n", "x = 1\nx = 2\n>>>\n"),
    "beside a line without its indentation": (
        "after line: x = 1",
        STATEMENT,
        "def f():\n    x = 1\n>>>\n    return x\n",
    ),
    "beside a line with its indentation": (
        "before line:     return x",
        STATEMENT,
        "def f():\n    x = 1\n>>>\n    return x\n",
    ),
}


@pytest.mark.parametrize(("where", "lines", "text"), PLACES.values(), ids=PLACES.keys())
def test_added_lines_go_to_the_named_place(where: str, lines: str, text: str) -> None:
    target, line = marked(text)
    found, after = put(lines, where, target)
    assert (found.outcome, found.line) == (Outcome.REANCHORED, line)
    assert after == text.replace(">>>\n", lines)


def test_the_offset_is_how_far_the_lines_went() -> None:
    found, _ = put("x = 1\n", "before g", "\n" * 9 + "def g():\n    pass\n")
    assert (found.line, found.offset) == (10, 8)  # from line 2 of its home


@pytest.mark.parametrize(
    ("where", "lines", "after"),
    [
        ("before g", "\n\n" + FUNCTION, "x = 1\ndef new():\n    pass\n\n\ndef g(): ...\n"),
        ("before g", FUNCTION + "\n\n", "x = 1\ndef new():\n    pass\n\n\ndef g(): ...\n"),
        ("after x", FUNCTION + "\n\n", "x = 1\n\n\ndef new():\n    pass\ndef g(): ...\n"),
        ("after x", "\n\n" + FUNCTION, "x = 1\n\n\ndef new():\n    pass\ndef g(): ...\n"),
        ("before g", "\n" + FUNCTION + "\n", "x = 1\ndef new():\n    pass\n\n\ndef g(): ...\n"),
    ],
    ids=["before, blank above", "before, blank below", "after, below", "after, above", "around"],
)
def test_blank_lines_stand_between_the_new_lines_and_the_anchor(
    where: str, lines: str, after: str
) -> None:
    where = where.replace("after x", "after line: x = 1")
    assert put(lines, where, "x = 1\ndef g(): ...\n")[1] == after


def test_only_blank_lines_stay_as_they_are() -> None:
    assert put("\n\n", "after line: x = 1", "x = 1\ny = 1\n")[1] == "x = 1\n\n\ny = 1\n"


def test_lines_from_several_spots_of_a_hunk_stand_together() -> None:
    home = "a = 1\nb = 2\nc = 3\n"
    changed = "a = 1\nnew = 1\nb = 2\nnew = 2\nc = 3\n"
    hunk = parse_diff(diff("m.py", home, changed))[0].hunks[0]
    target = Target("m.py", b"x = 1\ny = 1\n")
    found = place_at(hunk, target, Anchor.parse("after line: x = 1"))
    assert found.edit is not None
    assert splice(target.text, [found.edit]) == b"x = 1\nnew = 1\nnew = 2\ny = 1\n"


def test_windows_line_ends_are_anchored_as_they_are() -> None:
    target = "x = 1\r\ndef g():\r\n    pass\r\n"
    assert put("new = 0\r\n", "before g", target)[1] == target.replace("def", "new = 0\r\ndef")


# ---------------------------------------------------------------- in a scope


def in_scope(before: str, after: str, text: str, scope: str) -> tuple[Placement, str]:
    hunk = parse_diff(diff("m.py", before, after))[0].hunks[0]
    target = Target("m.py", text.encode())
    found = place_at(hunk, target, Anchor.parse(f"in {scope}"))
    return found, splice(target.text, [found.edit] if found.edit else []).decode()


BODY = "    a = 1\n    b = 2\n    c = 3\n"
CHANGED = "    a = 1\n    b = 3\n    c = 3\n"
AROUND = ("def f():\n    x()\n", "    y()\n\n\ndef g():\n    x()\n", "    y()\n")


def around(first: str, second: str) -> str:
    return AROUND[0] + first + AROUND[1] + second + AROUND[2]


PLAIN = ("    x()\n" + BODY + "    y()\n", "    x()\n" + CHANGED + "    y()\n")


def test_a_hunk_is_placed_whole_in_the_named_scope() -> None:
    home = [f"def h():\n{text}    z()\n" for text in PLAIN]
    hunk = parse_diff(diff("m.py", *home, context=2))[0].hunks[0]
    target = Target("m.py", around(BODY, BODY).encode())
    found = place_at(hunk, target, Anchor.parse("in g"))
    assert (found.outcome, found.line) == (Outcome.REANCHORED, 12)
    assert found.edit is not None
    assert splice(target.text, [found.edit]).decode() == around(BODY, CHANGED)


@pytest.mark.parametrize(
    ("text", "scope", "outcome"),
    [
        (around(BODY, BODY), "missing", Outcome.CONFLICT),
        (around(BODY, "    a = 1\n"), "g", Outcome.CONFLICT),
        (around(BODY, CHANGED), "g", Outcome.ALREADY),
        (around("    a = 1\n", CHANGED), "g", Outcome.ALREADY),
        (around(BODY, BODY + "    y()\n    x()\n" + BODY), "g", Outcome.AMBIGUOUS),
    ],
    ids=[
        "no such scope",
        "other lines there",
        "already there, and not in a look-alike",
        "already there",
        "twice there",
    ],
)
def test_in_a_scope_the_rules_of_placing_hold(text: str, scope: str, outcome: Outcome) -> None:
    home = [f"def h():\n{part}    z()\n" for part in PLAIN]
    hunk = parse_diff(diff("m.py", *home, context=2))[0].hunks[0]
    found = place_at(hunk, Target("m.py", text.encode()), Anchor.parse(f"in {scope}"))
    assert (found.outcome, found.edit) == (outcome, None)


# ---------------------------------------------------------------- what has no place

G = "def g():\n    return 1\n"
LINE_ENDINGS = (
    "cannot go before g: the line endings of the target (CRLF or LF) are not those of the patch"
)
NOWHERE = {
    "no such scope": (
        "before h",
        FUNCTION,
        G,
        Outcome.CONFLICT,
        "m.py has no h; known: g",
    ),
    "a scope with a similar name": (
        "before A.forwards",
        METHOD,
        "class A:\n    def forward(self): ...\n",
        Outcome.CONFLICT,
        "m.py has no A.forwards; did you mean 'A.forward'?",
    ),
    "a scope that is defined twice": (
        "before g",
        FUNCTION,
        G + G,
        Outcome.AMBIGUOUS,
        "g is defined at lines 1, 3",
    ),
    "a file that does not parse": (
        "before g",
        FUNCTION,
        G + "print 1\n",
        Outcome.CONFLICT,
        "m.py has no Python scopes (another language, or it does not parse)",
    ),
    "no such line": (
        "before line: x = 1",
        "new = 0\n",
        G,
        Outcome.CONFLICT,
        "m.py has no line 'x = 1'",
    ),
    "a part of a line": (
        "before line: return",
        "new = 0\n",
        G,
        Outcome.CONFLICT,
        "m.py has no line 'return'",
    ),
    "a line with another indentation": (
        "before line:   return 1",
        STATEMENT,
        G,
        Outcome.CONFLICT,
        "m.py has no line '  return 1'",
    ),
    "a line that stands twice": (
        "after line: return 1",
        "new = 0\n",
        G + "\n\n" + G.replace("g", "h"),
        Outcome.AMBIGUOUS,
        "'return 1' stands at lines 2, 6",
    ),
    "lines indented too little": (
        "before A.g",
        FUNCTION,
        "class A:\n    def g(self): ...\n",
        Outcome.CONFLICT,
        "cannot go before A.g: its lines are indented by 0, the place asks for 4",
    ),
    "lines indented too much": (
        "after g",
        METHOD,
        G,
        Outcome.CONFLICT,
        "cannot go after g: its lines are indented by 4, the place asks for 0",
    ),
    "tabs for spaces": (
        "first-in g",
        "\tnew = 0\n",
        G,
        Outcome.CONFLICT,
        "cannot go first-in g: its lines are indented by 1, the place asks for 4",
    ),
    "first in a function on one line": (
        "first-in g",
        "new = 0\n",
        "def g(): ...\n",
        Outcome.CONFLICT,
        "g at line 1 has no lines of its own to stand among",
    ),
    "last in a function on one line": (
        "last-in g",
        "new = 0\n",
        "x = 1\n\ndef g(): ...\n",
        Outcome.CONFLICT,
        "g at line 3 has no lines of its own to stand among",
    ),
    "first in a function whose body ends its header": (
        "first-in g",
        "new = 0\n",
        "def g(\n    x,\n) -> int: ...\n",
        Outcome.CONFLICT,
        "g at line 1 has no lines of its own to stand among",
    ),
    "after a last line without newline": (
        "after g",
        FUNCTION,
        "def g():\n    return 1",
        Outcome.CONFLICT,
        "cannot go after g: the target's last line has no newline",
    ),
    "line endings of the target": (
        "before g",
        FUNCTION,
        G.replace("\n", "\r\n"),
        Outcome.CONFLICT,
        LINE_ENDINGS,
    ),
    "line endings of the patch": (
        "before g",
        FUNCTION.replace("\n", "\r\n"),
        G,
        Outcome.CONFLICT,
        LINE_ENDINGS,
    ),
}


@pytest.mark.parametrize(
    ("where", "lines", "text", "outcome", "detail"), NOWHERE.values(), ids=NOWHERE.keys()
)
def test_a_place_that_is_none_is_told(
    where: str, lines: str, text: str, outcome: Outcome, detail: str
) -> None:
    found, after = put(lines, where, text)
    assert (found.outcome, found.detail) == (outcome, detail)
    assert (found.edit, after) == (None, text)


def test_a_hunk_that_removes_lines_cannot_stand_beside_anything() -> None:
    hunk = parse_diff(diff("m.py", "x = 1\n", "x = 2\n"))[0].hunks[0]
    found = place_at(hunk, Target("m.py", G.encode()), Anchor.parse("before g"))
    assert found.outcome is Outcome.CONFLICT
    assert found.detail == ("removes lines, so it cannot go before g; use `in` or a replace entry")


def test_lines_without_a_final_newline_cannot_stand_before_others() -> None:
    hunk = parse_diff(diff("m.py", "x = 1\n", "x = 1\ny = 1"))[0].hunks[0]
    found = place_at(hunk, Target("m.py", G.encode()), Anchor.parse("before g"))
    assert found.detail == "cannot go before g: its last line has no newline"


def test_another_language_has_lines_to_stand_beside() -> None:
    assert put("new\n", "after line: [a]", "[a]\nx\n", "f.ini")[1] == "[a]\nnew\nx\n"
    assert put("new\n", "before g", G, "f.sh")[0].outcome is Outcome.CONFLICT


# ---------------------------------------------------------------- already there


@pytest.mark.parametrize(("where", "lines", "text"), PLACES.values(), ids=PLACES.keys())
def test_lines_that_stand_at_the_place_are_not_added_again(
    where: str, lines: str, text: str
) -> None:
    after = text.replace(">>>\n", lines)
    found, again = put(lines, where, after)
    assert (found.outcome, again) == (Outcome.ALREADY, after)
    assert found.detail == f"its lines stand {where} already"


def test_the_end_of_a_longer_line_is_not_the_line() -> None:
    found, after = put("x = 1\n", "before g", "max_x = 1\n" + G)
    assert (found.outcome, after) == (Outcome.REANCHORED, "max_x = 1\nx = 1\n" + G)
