"""Whatever a stack, a manifest, a path or a branch holds: no output passes it on raw."""

from __future__ import annotations

import html.parser
import json
from pathlib import Path

import pytest

from tests.builders import diff
from tests.repos import Shell, World

EVIL = "\x1b]0;pwned\x07\x1b[2J\u202e\u2066\x85\u200b<script>alert(1)</script><img src=x onerror=y>"
RAW = set("\x1b\x07\x85\u202e\u2066\u200b")
PATH = f"pkg/{EVIL.replace('/', '')}.txt"


@pytest.fixture
def evil(world: World) -> World:
    """A world in which everything that a person may name is hostile, and nothing applies."""
    for old in (world.library.root / "patches/cache").glob("*.patch"):
        old.unlink()
    text = f"{EVIL} lost\n"
    world.library.stack("cache", [diff(PATH, "a\nb\nc\n", f"a\n{EVIL}\nc\n")], EVIL, EVIL)
    world.library.stack("other", [diff("gone.txt", text, "x\n")], EVIL, EVIL)
    world.repo.commit("Evil\n", {PATH: f"{EVIL}\n".encode(), "gone.txt": EVIL.encode()})
    world.repo.git("tag", "-f", "v1.0.0")
    world.library.manifest("cache", "other")
    return world


class Page(html.parser.HTMLParser):
    """What a browser would make of a page: its elements and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [(tag, name) for name, _ in attrs] + [(tag, "")]


FORMATS = ("json", "junit", "sarif", "github", "buildkite", "markdown", "html", "text")


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_of_a_hostile_stack_reaches_an_output_raw(
    name: str, evil: World, shell: Shell, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = ["check", "--target", "v1.0.0", *evil.words("x")[1:], "--no-audit", "--no-cache"]
    done = shell(*words, "--out", f"{name}={out}")
    assert done.code == 1
    text = out.read_text("utf-8")
    if name in ("json", "sarif"):  # strings of JSON may hold anything, escaped
        assert json.loads(text)
        assert not set("\x1b\x07\x85") & set(text)
    else:
        assert not RAW & set(text)
    assert not RAW & set(done.out + done.err)
    if name == "html":
        page = Page(text).found
        assert ("img", "onerror") not in page
        assert [tag for tag, _ in page].count("img") == 0


@pytest.mark.parametrize("verb", ["show", "lint", "apply", "status"])
def test_nothing_of_it_reaches_a_screen_raw(verb: str, evil: World, shell: Shell) -> None:
    place = evil.words("x")[1:]
    words = {
        "show": ["show", "cache", *place],
        "lint": ["lint", *place[2:]],
        "apply": ["apply", "--target", "v1.0.0", *place, "--no-audit", "-v"],
        "status": ["status", *place],
    }
    done = shell(*words[verb])
    assert not RAW & set(done.out + done.err)


def test_an_option_s_own_text_is_shown_visibly(evil: World, shell: Shell) -> None:
    done = shell("apply", "--target", EVIL, *evil.words("x")[1:])
    assert done.code == 2
    assert not RAW & set(done.err)
