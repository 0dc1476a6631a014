"""What people decided is kept as text, found again by the change and the text, and only offered."""

from __future__ import annotations

import pytest

from backport.core.manifests import Adaptation, Anchor, Drop, Evidence, Manifest, Reanchor, Replace
from backport.core.parsing import parse_diff
from backport.core.resolutions import (
    OTHER_TEXT,
    SAME_FILE,
    SAME_SYMBOL,
    Resolution,
    entry_of,
    file_name,
    joined,
    key_of,
    offers,
    read_resolutions,
    remembered,
    render_resolutions,
)
from tests.builders import diff, stack, tree

OLD = "def first():\n    return 1\n\n\ndef last():\n    return 9\n"
CHANGE = stack(diff("a.py", OLD, OLD.replace("return 9", "return 10"), section="last"), name="fuse")
HUNK = CHANGE.hunks()[0][0]
WHEN = (Evidence(True, "a.py", symbol="first"), Evidence(False, "a.py", text='say "no"'))
TEXT = diff("a.py", OLD, OLD.replace("return 9", "return '''a\\tb'''"))
ENTRIES: dict[str, Adaptation] = {
    "drop": Drop("left out", WHEN, "", HUNK),
    "reanchor": Reanchor("elsewhere", WHEN[:1], "", HUNK, Anchor.parse("in last")),
    "replace": Replace("other", WHEN, "", HUNK, "x.patch", parse_diff(TEXT)),
}


def made(kind: str, text: str = OLD) -> Resolution:
    manifest = Manifest("me/v1", "v1", "b", ("fuse",), (ENTRIES[kind],))
    (found,) = remembered(manifest, CHANGE, tree({"a.py": text}))
    return found


@pytest.mark.parametrize("kind", ENTRIES)
def test_a_resolution_survives_its_file_and_gives_the_entry_back(kind: str) -> None:
    found, problems = read_resolutions("r.toml", render_resolutions([made(kind)]))
    assert problems == []
    assert found == [made(kind)]
    again = entry_of(found[0], HUNK, "x.patch")
    assert again._replace(source="") == ENTRIES[kind]._replace(source="")


def test_a_hunk_of_a_file_that_the_target_has_not_has_no_text_to_be_about() -> None:
    manifest = Manifest("me/v1", "v1", "b", ("fuse",), (ENTRIES["drop"],))
    found = remembered(manifest, CHANGE, tree())
    assert [(item.blob, item.symbol) for item in found] == [("", "")]
    assert read_resolutions("r.toml", render_resolutions(found)) == (found, [])


def test_it_is_about_the_pristine_file_and_the_scope_of_its_hunk() -> None:
    here = made("drop")
    assert key_of("a.py", "last", tree({"a.py": OLD})) == (here.blob, here.symbol)
    other = key_of("a.py", "last", tree({"a.py": OLD.replace("return 1", "return 2")}))
    assert other.symbol == here.symbol
    assert other.blob != here.blob
    assert key_of("a.py", "last", tree({"a.py": OLD.replace("9", "8")})).symbol != here.symbol
    assert key_of("a.py", "last", tree()) == ("", "")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (OLD, SAME_FILE),
        (OLD.replace("return 1", "return 2"), SAME_SYMBOL),
        (OLD.replace("return 9", "return 8"), OTHER_TEXT),
    ],
)
def test_an_offer_says_how_much_of_the_text_is_the_same(text: str, match: str) -> None:
    key = key_of("a.py", "last", tree({"a.py": text}))
    (offer,) = offers([made("reanchor")], HUNK, key, "me/v2", {0: True})
    assert offer.match == match


def test_what_does_not_fit_or_is_of_the_target_itself_is_not_offered() -> None:
    key = key_of("a.py", "last", tree({"a.py": OLD}))
    assert offers([made("drop")], HUNK, key, "me/v2", {0: False}) == []
    assert offers([made("drop")], HUNK, key, "me/v1", {0: True}) == []
    other = HUNK._replace(digest="00000000")
    assert offers([made("drop")], other, key, "me/v2", {0: True}) == []
    assert len(offers([made("drop")], HUNK._replace(ordinal=7), key, "me/v2", {0: True})) == 1


def test_what_two_targets_decided_alike_is_offered_once_and_the_nearest_first() -> None:
    far = made("drop", OLD.replace("9", "8"))._replace(made="me/v3")
    known = [far, made("drop"), made("reanchor")]
    key = key_of("a.py", "last", tree({"a.py": OLD}))
    found = offers(known, HUNK, key, "me/v2", dict.fromkeys(range(3), True))
    assert [(o.resolution.verb, o.match, o.resolution.made) for o in found] == [
        ("drop", SAME_FILE, "me/v1"),
        ("reanchor", SAME_FILE, "me/v1"),
    ]


def test_a_target_s_new_decisions_replace_its_old_ones() -> None:
    other = made("drop")._replace(made="me/v2")
    assert joined([made("drop"), other], [made("reanchor")], "me/v1") == [made("reanchor"), other]
    assert joined([made("drop"), other], [], "me/v1") == [other]


def test_a_file_holds_the_resolutions_of_one_change() -> None:
    assert file_name(str(HUNK)) == f"resolutions/p1@{HUNK.digest}.toml"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("schema = 1", "schema = 2"), "r.toml:2: schema: must be 1"),
        (('made   = "me/v1"\n', ""), "resolution[1].made: is missing"),
        (("in last", "in the middle"), "the resolution cannot be read: a place is one of"),
        (("fuse/p1:", "fuse:"), "the resolution cannot be read: a hunk id looks like"),
        (('reason = "elsewhere"', 'reason = ""'), "resolution[1].reason: is empty"),
        (
            ("[[resolution]]", '[[resolution]]\nother = "x"'),
            "resolution[1].other: is not a key here",
        ),
    ],
)
def test_a_file_that_is_wrong_is_told(change: tuple[str, str], problem: str) -> None:
    text = render_resolutions([made("reanchor")])
    assert change[0] in text
    found, problems = read_resolutions("r.toml", text.replace(*change))
    assert any(problem in told for told in problems), problems
    assert len(found) == ("schema" in problem)  # the file's own fault, not the resolution's
