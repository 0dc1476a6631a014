"""The scope that lines alone tell is the parser's, or none is told."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backport.core.outlines import Outline
from backport.core.scopes import scope_at, scopes


def told(text: bytes) -> list[str | None]:
    """What the outline says of each line."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split(b"\n"))][:-1]
    outline = Outline(text)
    return [outline.scope_at(start) for start in starts]


def parsed(text: bytes) -> list[str]:
    """What the parser says of each line."""
    found = scopes(text)
    assert found is not None
    return [scope_at(found, line + 1) for line in range(text.count(b"\n") + 1)]


TOLD = {
    "a method": b"class A:\n    x = 1\n    def f(self):\n        return 1\n\ny = 2\n",
    "a nested function": b"def f():\n    def g():\n        pass\n    return g\n",
    "a blank line and a comment at the end": b"def f():\n    pass\n    # more\n\n# less\nx = 1\n",
    "a comment at the margin": b"def f():\n    a = 1\n# here\n    return a\n",
    "a signature over several lines": b"def f(\n    a,\n    b,\n) -> int:\n    return a\n",
    "decorators": b"import a\n\n@a.b\n# why\n@a.c(\n    1,\n)\ndef f():\n    pass\n",
    "a decorated method": b"class A:\n    @property\n    def f(self):\n        return 1\n",
    "code in a string": b'X = """\ndef f():\n    pass\n"""\ny = 1\n',
    "a string that dedents": b'def f():\n    a = """\nx\n"""\n    return a\n',
    "quotes in a comment": b'def f():\n    pass  # """\n\n\ndef g():\n    pass\n',
    "quotes in a string": b'def f():\n    a = \'"""\'\n    return a\n',
    "an escaped quote": b'def f():\n    """a \\""" def g():"""\n    return 1\n',
    "a function in a branch": b"if a:\n    def f():\n        pass\nelse:\n    f = 1\n",
    "one line": b"def f(): return 1\nx = 1\n",
    "an async function": b"async def f():\n    await x\n",
    "nothing": b"",
}


@pytest.mark.parametrize("text", TOLD.values(), ids=TOLD.keys())
def test_lines_tell_what_the_parser_tells(text: bytes) -> None:
    assert told(text) == parsed(text)


DOUBTS = {
    "code in brackets at the margin": (b"def f():\n    a = g(\n1,\n)\n    return a\n", 5),
    "an operand at the margin": (b"def f():\n    a = (b\n+ c)\n    return a\n", 4),
    "a continued line": (b"def f():\n    a = 1 + \\\n2\n    return a\n", 4),
    "tabs": (b"def f():\n\treturn 1\n", 2),
    "a carriage return": (b"def f():\r\n    return 1\r\n", 2),
    "a decorator that is none": (b"x = [1\n@ 2,\n@ 3]\ndef f(): pass\n", 3),
    "a definition in a continued string": (b"x = 'a \\\ndef f()'\n", 1),
    "quotes that are never closed": (b'def f():\n    """a\n', 2),
}


@pytest.mark.parametrize(("text", "line"), DOUBTS.values(), ids=DOUBTS.keys())
def test_a_line_in_doubt_is_left_to_the_parser(text: bytes, line: int) -> None:
    assert told(text)[line - 1] is None


STATEMENTS = st.sampled_from(
    [
        *("pass", "x = 1", "# note", "if x: pass", "classy = 1", "define = 1", "x; y"),
        *('"""text\n{}def no():\n{}"""', "x = (\n{}1,\n{})", "x = [\n{}# in\n{}]", "f(a,\n{}b)"),
        *("x = 'a' \\\n{}'b'", "x = 1 + \\\n{}2", "s = '''x''' + '''\n{}class N:\n{}'''"),
        *('f"""{{\n{}x}}"""', "x = '#' + \"'\"", 's = r"""\\\\"""', "# '''", "# odd"),
    ]
)
HEADS = st.sampled_from(
    [
        *("def f():", "async def g():", "class A:", "def h(\n{}a,\n{}):", "if x:", "for x in y:"),
        *("@d\n{0}def k():", "@d(\n{}1,\n{})\n{0}def m():", "@d\n{0}# why\n{0}class B:"),
    ]
)
MARGINS = st.sampled_from(["", "  ", "        "])


@st.composite
def blocks(draw: st.DrawFn, depth: int = 0, indent: str = "") -> str:
    """Lines of Python that parse: statements, and blocks below their heads."""
    out = ""
    for _ in range(draw(st.integers(1, 3))):
        nested = depth < 3 and draw(st.booleans())
        line = draw(HEADS if nested else STATEMENTS)
        margin = draw(MARGINS)
        out += f"{indent}{line.replace('{0}', indent).format(*[margin] * 2)}\n"
        if nested:
            out += draw(blocks(depth + 1, indent + draw(st.sampled_from(["  ", "    "]))))
    return f"{out}{indent}pass\n"


@given(blocks())
def test_where_lines_tell_anything_it_is_what_the_parser_tells(lines: str) -> None:
    text = lines.encode()
    assert all(a in (None, b) for a, b in zip(told(text), parsed(text), strict=True))


def test_a_definition_is_known_by_its_qualified_name() -> None:
    outline = Outline(b"class A:\n    def f(self):\n        pass\n\n\ndef g():\n    f = 1\n")
    names = ("A", "A.f", "g", "f", "A.g", "g.f")
    assert [outline.defines(name) for name in names] == [True, True, True, False, False, False]
