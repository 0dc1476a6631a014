"""Manifests: every entry names a hunk that exists, a reason and evidence, or is told."""

from __future__ import annotations

import pytest

from backport.core.manifest_format import read_manifest
from backport.core.manifests import Anchor, Drop, Evidence, Manifest, Reanchor, Replace, Skip
from backport.core.patches import HunkId
from backport.core.stacks import Stack
from tests.builders import diff, numbered, patch, stack

HOME = numbered(1, 20)
TWICE = "a\nb\nc\nold\nd\ne\nf\ng\n" * 2

FUSE = stack(
    patch(
        "first",
        diff("pkg/a.py", HOME, HOME.replace("line 5\n", "line 5\nnew\n").replace("line 15", "15")),
        diff("pkg/twice.py", TWICE, TWICE.replace("old", "new")),
        diff("pkg/made.py", None, "x = 1\n"),
    ),
    patch(
        "second",
        diff("pkg/gone.py", "x = 1\n", None),
        b"diff --git a/pkg/old b/pkg/moved\nrename from pkg/old\nrename to pkg/moved\n",
    ),
    name="fuse",
)
REMAP = stack(diff("pkg/b.py", "x\n", "y\n"), name="remap")
LIBRARY = {"fuse": FUSE, "remap": REMAP, "other": stack(diff("c", "x\n", "y\n"), name="other")}
IDS = {str(found[0]).partition("@")[0]: str(found[0]) for found in FUSE.hunks() + REMAP.hunks()}
INSERTS, CHANGES = IDS["fuse/first:pkg/a.py#1"], IDS["fuse/first:pkg/a.py#2"]

HEAD = """\
schema = 1
base   = "v0.28.0"
branch = "moreh/v0.28.0"
stacks = ["fuse", "remap"]
"""
BECAUSE = """\
reason = "it differs"
when   = { absent = "pkg/a.py::f" }
"""


def read(
    text: str, files: dict[str, bytes] | None = None, stacks: dict[str, Stack] | None = None
) -> tuple[Manifest, list[str]]:
    known = LIBRARY if stacks is None else stacks
    return read_manifest("moreh/v0.28.0", "manifests/moreh/v0.28.0.toml", text, known, files or {})


def manifest(text: str, files: dict[str, bytes] | None = None) -> Manifest:
    found, problems = read(text, files)
    assert problems == []
    return found


def problems(text: str, files: dict[str, bytes] | None = None) -> list[str]:
    """The problems, without the name of the manifest in front of each."""
    return [
        problem.removeprefix("manifests/moreh/v0.28.0.toml:") for problem in read(text, files)[1]
    ]


def entry(verb: str, body: str) -> str:
    return f"{HEAD}\n[[{verb}]]\n{body}"


# ---------------------------------------------------------------- what is read


def test_a_manifest_without_entries_is_read() -> None:
    assert manifest(HEAD) == Manifest(
        "moreh/v0.28.0",
        "v0.28.0",
        "moreh/v0.28.0",
        ("fuse", "remap"),
        source="manifests/moreh/v0.28.0.toml",
    )


def test_an_entry_of_each_kind_is_read() -> None:
    text = f'''{HEAD}
[[skip]]
stack = "remap"
reason = "contained"
when = {{ present = ["pkg/b.py: y", "pkg"], absent = "pkg/c.py" }}

[[drop]]
hunk = "{CHANGES}"
{BECAUSE}
[[reanchor]]
hunk = "{INSERTS}"
put = "before A.forward"
{BECAUSE}
'''
    found = manifest(text)
    absent = (Evidence(False, "pkg/a.py", symbol="f"),)
    assert tuple(entry._replace(source="x") for entry in found.adaptations) == (
        Drop("it differs", absent, "x", HunkId.parse(CHANGES)),
        Reanchor("it differs", absent, "x", HunkId.parse(INSERTS), Anchor("before", "A.forward")),
    )
    assert tuple(entry._replace(source="x") for entry in found.skips) == (
        Skip(
            "contained",
            (
                Evidence(True, "pkg/b.py", text="y"),
                Evidence(True, "pkg"),
                Evidence(False, "pkg/c.py"),
            ),
            "x",
            "remap",
        ),
    )
    assert [item.source for item in (*found.skips, *found.adaptations)] == [
        f"manifests/moreh/v0.28.0.toml:{line}" for line in (6, 11, 16)
    ]


def test_a_replacement_s_patch_is_read_from_beside_the_manifest() -> None:
    text = entry("replace", f'hunk = "{CHANGES}"\npatch = "other.patch"\n{BECAUSE}')
    (found,) = manifest(text, {"other.patch": diff("pkg/a.py", "a\n", "b\n")}).adaptations
    assert isinstance(found, Replace)
    assert (found.patch, found.hunk, [file.path for file in found.files]) == (
        "other.patch",
        HunkId.parse(CHANGES),
        ["pkg/a.py"],
    )


def test_one_patch_may_stand_for_two_hunks() -> None:
    text = entry("replace", f'hunk = "{CHANGES}"\npatch = "o.patch"\n{BECAUSE}')
    text += f'[[replace]]\nhunk = "{INSERTS}"\npatch = "o.patch"\n{BECAUSE}'
    assert len(manifest(text, {"o.patch": diff("pkg/a.py", "a\n", "b\n")}).adaptations) == 2


# ---------------------------------------------------------------- hunks by id


def dropped(hunk: str) -> tuple[list[str], list[str]]:
    """The ids of the hunks that a drop of `hunk` means, and the problems."""
    found, told = read(entry("drop", f'hunk = "{hunk}"\n{BECAUSE}'))
    return [str(item.hunk) for item in found.adaptations], [
        problem.removeprefix("manifests/moreh/v0.28.0.toml:") for problem in told
    ]


def test_the_digest_decides_where_the_number_changed() -> None:
    assert dropped(CHANGES.replace("#2", "#7")) == ([CHANGES], [])


def test_the_number_decides_where_digests_are_equal() -> None:
    first, second = IDS["fuse/first:pkg/twice.py#1"], IDS["fuse/first:pkg/twice.py#2"]
    assert first[-8:] == second[-8:]
    assert dropped(first) == ([first], [])
    assert dropped(second) == ([second], [])
    neither = first.replace("#1", "#3")
    assert dropped(neither)[0] == []


def test_a_hunk_whose_change_is_another_one_is_not_meant() -> None:
    stale = CHANGES[:-8] + "00000000"
    ids, told = dropped(stale)
    assert ids == []
    now = f"the lines at its place changed, they are {CHANGES} now: read them again"
    assert told == [f"7: drop[1].hunk: there is no hunk {stale}; {now}"]


@pytest.mark.parametrize(
    "hunk",
    [
        CHANGES.replace("fuse/", "remap/"),
        CHANGES.replace("first", "second"),
        CHANGES.replace("a.py", "b.py"),
    ],
    ids=["another stack", "another patch", "another file"],
)
def test_a_hunk_of_something_else_is_not_meant(hunk: str) -> None:
    ids, told = dropped(hunk)
    assert ids == []
    assert told[0].startswith(f"7: drop[1].hunk: there is no hunk {hunk}; did you mean ")


def test_a_hunk_of_a_stack_that_is_not_listed_says_so() -> None:
    hunk = str(LIBRARY["other"].hunks()[0][0])
    assert dropped(hunk) == ([], [f"7: drop[1].hunk: {hunk}: its stack is not in `stacks`"])


@pytest.mark.parametrize(
    "hunk", ["x", "fuse/first:a#1", "fuse/first:a@00000000", "fuse:a#1@0000000g"]
)
def test_what_is_no_id_is_told(hunk: str) -> None:
    assert dropped(hunk)[1] == [
        f"7: drop[1].hunk: {hunk!r}: a hunk id looks like stack/patch:path#ordinal@digest"
    ]


# ---------------------------------------------------------------- what is told

ALL_FIELDS = f'hunk = "{CHANGES}"\n{BECAUSE}'
PUT = f'hunk = "{INSERTS}"\nput = "%s"\n{BECAUSE}'
WHOLE = "names a whole file, which has no place in it; it can be dropped"
EVIDENCE = "evidence is `path`, `path::Qualified.name` or `path: text of a line`"
NO_EVIDENCE = "gives no evidence; say what is present or absent on the target"
EXPRESSION = (
    "is a revision expression, or no name at all; give a tag or a commit id, "
    "which mean the same tomorrow"
)
KNOWN = "accept, base, branch, drop, reanchor, replace, schema, skip, stacks"
PLACE = (
    "a place is one of before, after, first-in, last-in, in and a qualified name, "
    "or `before line: text` or `after line: text`"
)


def without(line: str) -> str:
    assert ALL_FIELDS.count(line) == 1
    return ALL_FIELDS.replace(line, "")


def when(value: str) -> str:
    return ALL_FIELDS.replace('{ absent = "pkg/a.py::f" }', value)


PROBLEMS: dict[str, tuple[str, list[str]]] = {
    "no reason": (
        entry("drop", without('reason = "it differs"\n')),
        ["6: drop[1].reason: is missing"],
    ),
    "an empty reason": (
        entry("drop", ALL_FIELDS.replace("it differs", " ")),
        ["8: drop[1].reason: is empty"],
    ),
    "no evidence": (
        entry("drop", without('when   = { absent = "pkg/a.py::f" }\n')),
        [f"6: drop[1].when: {NO_EVIDENCE}"],
    ),
    "empty evidence": (entry("drop", when("{}")), [f"9: drop[1].when: {NO_EVIDENCE}"]),
    "an empty list of evidence": (
        entry("drop", when("{ absent = [] }")),
        [f"9: drop[1].when: {NO_EVIDENCE}"],
    ),
    "evidence that is no statement": (
        entry("drop", when('{ absent = ["pkg/a.py::f", "pkg/a.py::"] }')),
        [f"9: drop[1].when.absent: 'pkg/a.py::': {EVIDENCE}"],
    ),
    "evidence that is a number": (
        entry("drop", when("{ present = 3 }")),
        [
            "9: drop[1].when.present: must be a list of strings",
            f"9: drop[1].when: {NO_EVIDENCE}",
        ],
    ),
    "evidence in a list of numbers": (
        entry("drop", when("{ present = [3] }")),
        [
            "9: drop[1].when.present: must be a list of strings",
            f"9: drop[1].when: {NO_EVIDENCE}",
        ],
    ),
    "evidence that is a text": (
        entry("drop", when('"absent pkg/a.py"')),
        [
            "9: drop[1].when: must be a table, not a string",
            f"9: drop[1].when: {NO_EVIDENCE}",
        ],
    ),
    "evidence of an unknown kind": (
        entry("drop", when('{ absent = "x", missing = "y" }')),
        ["9: drop[1].when.missing: is not a key here; known: absent, present"],
    ),
    "no hunk": (
        entry("drop", without(f'hunk = "{CHANGES}"\n')),
        ["6: drop[1].hunk: is missing"],
    ),
    "an unknown key": (
        entry("drop", ALL_FIELDS + 'put = "before f"\n'),
        ["10: drop[1].put: is not a key here; known: hunk, reason, when"],
    ),
    "an unknown verb": (
        entry("drops", ALL_FIELDS),
        ["6: drops: is not a key here; did you mean 'drop'?"],
    ),
    "a verb that is no list": (
        f"{HEAD}\n[drop]\n{ALL_FIELDS}",
        ["6: drop: must be written as [[drop]] tables"],
    ),
    "two entries for one hunk": (
        entry("drop", ALL_FIELDS) + f'[[reanchor]]\n{ALL_FIELDS}put = "in A.f"\n',
        [f"10: {CHANGES} has two entries"],
    ),
    "the problem of the second entry": (
        entry("drop", ALL_FIELDS) + f'[[drop]]\nhunk = "{INSERTS}"\nreason = "x"\n',
        [f"10: drop[2].when: {NO_EVIDENCE}"],
    ),
    "no place": (
        entry("reanchor", f'hunk = "{INSERTS}"\n{BECAUSE}'),
        ["6: reanchor[1].put: is missing"],
    ),
    "a place that is none": (
        entry("reanchor", PUT % "above f"),
        [f"8: reanchor[1].put: 'above f': {PLACE}"],
    ),
    "lines removed beside a scope": (
        entry("reanchor", PUT.replace(INSERTS, CHANGES) % "before f"),
        ["8: reanchor[1].put: the hunk removes lines; use `in` or a replace entry"],
    ),
    "a created file moved": (
        entry("reanchor", PUT.replace(INSERTS, IDS["fuse/first:pkg/made.py#1"]) % "before f"),
        [f"7: reanchor[1].hunk: {WHOLE}"],
    ),
    "a deleted file moved": (
        entry("reanchor", PUT.replace(INSERTS, IDS["fuse/second:pkg/gone.py#1"]) % "in f"),
        [f"7: reanchor[1].hunk: {WHOLE}"],
    ),
    "a renamed file moved": (
        entry("reanchor", PUT.replace(INSERTS, IDS["fuse/second:pkg/moved#0"]) % "in f"),
        [f"7: reanchor[1].hunk: {WHOLE}"],
    ),
    "a replacement without a patch": (
        entry("replace", ALL_FIELDS),
        ["6: replace[1].patch: is missing"],
    ),
    "a replacement whose patch is not there": (
        entry("replace", ALL_FIELDS + 'patch = "x.patch"\n'),
        ["10: replace[1].patch: there is no x.patch beside the manifest; none is known"],
    ),
    "a skipped stack that is not listed": (
        entry("skip", f'stack = "other"\n{BECAUSE}'),
        ["7: skip[1].stack: 'other' is not in stacks; known: fuse, remap"],
    ),
    "no skipped stack": (entry("skip", BECAUSE), ["6: skip[1].stack: is missing"]),
    "a stack skipped twice": (
        entry("skip", f'stack = "remap"\n{BECAUSE}') + f'[[skip]]\nstack = "remap"\n{BECAUSE}',
        ["6: skip: remap is skipped twice"],
    ),
    "an entry of a skipped stack": (
        entry("skip", f'stack = "fuse"\n{BECAUSE}') + f"[[drop]]\n{ALL_FIELDS}",
        ["10: fuse is skipped, so this does nothing"],
    ),
    "a stack listed twice": (
        HEAD.replace('"remap"', '"fuse"'),
        ["4: stacks: fuse is listed twice"],
    ),
    "an unknown stack": (
        HEAD.replace('"remap"', '"remaps"'),
        ["4: stacks: there is no stack 'remaps'; did you mean 'remap'?"],
    ),
    "no stack": (HEAD.replace('["fuse", "remap"]', "[]"), ["4: stacks: names no stack"]),
    "stacks in another form": (
        HEAD.replace('["fuse", "remap"]', '"fuse"'),
        ["4: stacks: must be a list of strings", "4: stacks: names no stack"],
    ),
    "another schema": (HEAD.replace("schema = 1", "schema = 3"), ["1: schema: must be 1"]),
    "no base": (HEAD.replace('base   = "v0.28.0"\n', ""), [" base: is missing"]),
    **{
        f"the base {name}": (
            HEAD.replace('base   = "v0.28.0"', f'base   = "{name}"'),
            [f"2: base: {name!r} {EXPRESSION}"],
        )
        for name in ("main~0", "main@{0}", "v1^{commit}", ":/Fix", "a..b", "HEAD", "@", "-x")
    },
    "no branch": (HEAD.replace('branch = "moreh/v0.28.0"\n', ""), [" branch: is missing"]),
    "an unknown key of the manifest": (
        HEAD + 'note = "x"\n',
        [f"5: note: is not a key here; known: {KNOWN}"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_a_problem_is_told_with_line_and_key(text: str, expected: list[str]) -> None:
    assert problems(text) == expected


def test_what_is_not_toml_is_told_and_nothing_else() -> None:
    (problem,) = problems("base = \n", {"o.patch": b""})
    assert problem.startswith("1:8: not TOML: ")


def test_all_problems_are_told_at_once() -> None:
    text = HEAD.replace("schema = 1", "schema = 2").replace('"remap"', '"x"')
    text += f'[[drop]]\nhunk = "{CHANGES}"\n[[skip]]\nstack = "y"\nwhen = {{ present = "a" }}\n'
    keys = [problem.split(": ")[1] for problem in problems(text, {"unused.patch": b""})]
    assert keys == [
        *("schema", "stacks", "drop[1].reason", "drop[1].when"),
        *("skip[1].stack", "skip[1].reason", "no replace entry uses it"),
    ]


# ---------------------------------------------------------------- replacements

REPLACES = entry("replace", f'hunk = "{CHANGES}"\npatch = "o.patch"\n{BECAUSE}')
BODY = b"@@ -1 +1 @@\n-a\n+b\n"
NAMES = b"--- a/pkg/a.py\n+++ b/pkg/a.py\n"
GIT = b"diff --git a/pkg/a.py b/pkg/a.py\n"
JSON = "this is not a patch: it is JSON, not a patch (the answer of a web service?)"
NOTHING_ELSE = "8: replace[1].patch: o.patch must change lines of the file and nothing else"

REPLACEMENTS: dict[str, tuple[bytes, list[str]]] = {
    "lines of the file": (NAMES + BODY, []),
    "lines of another file": (
        diff("pkg/b.py", "a\n", "b\n"),
        ["8: replace[1].patch: o.patch changes pkg/b.py, the hunk pkg/a.py"],
    ),
    "lines of two files": (
        NAMES + BODY + diff("pkg/b.py", "a\n", "b\n"),
        ["8: replace[1].patch: o.patch changes pkg/a.py, pkg/b.py, the hunk pkg/a.py"],
    ),
    "the whole file, made": (diff("pkg/a.py", None, "a\n"), [NOTHING_ELSE]),
    "the whole file, deleted": (diff("pkg/a.py", "a\n", None), [NOTHING_ELSE]),
    "its mode": (GIT + b"old mode 100644\nnew mode 100755\n", [NOTHING_ELSE]),
    "its mode and lines": (
        GIT + b"old mode 100644\nnew mode 100755\n" + NAMES + BODY,
        [NOTHING_ELSE],
    ),
    "its name": (
        b"diff --git a/x b/pkg/a.py\nrename from x\nrename to pkg/a.py\n"
        b"--- a/x\n+++ b/pkg/a.py\n" + BODY,
        [NOTHING_ELSE],
    ),
    "no patch": (
        b"{}",
        [f"manifests/moreh/v0.28.0/o.patch:1: {JSON}"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), REPLACEMENTS.values(), ids=REPLACEMENTS.keys())
def test_a_replacement_changes_lines_of_its_file_and_nothing_else(
    text: bytes, expected: list[str]
) -> None:
    assert problems(REPLACES, {"o.patch": text}) == expected


def test_a_whole_file_cannot_be_replaced() -> None:
    made = IDS["fuse/first:pkg/made.py#1"]
    text = REPLACES.replace(CHANGES, made)
    found = problems(text, {"o.patch": NAMES.replace(b"a.py", b"made.py") + BODY})
    assert found == [f"7: replace[1].hunk: {WHOLE}"]


def test_a_patch_that_no_entry_uses_is_told() -> None:
    files = {"o.patch": NAMES + BODY, "stray.patch": NAMES + BODY}
    assert problems(REPLACES, files) == [
        "manifests/moreh/v0.28.0/stray.patch: no replace entry uses it"
    ]


# ---------------------------------------------------------------- branches

BRANCHES = [
    *("a b", "a..b", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b", "-a", ".a", "a/.b", "/a"),
    *(
        "a/",
        "a.",
        "a//b",
        "a.lock",
        "a.lock/b",
        "a@{b",
        "refs/heads/a",
        "a\tb",
        "a\x7fb",
        "@",
        "HEAD",
    ),
]


@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_name_that_git_refuses_is_told(name: str) -> None:
    quoted = name.replace("\\", "\\\\").replace("\t", "\\t").replace("\x7f", "\\u007f")
    text = HEAD.replace('branch = "moreh/v0.28.0"', f'branch = "{quoted}"')
    assert problems(text) == [f"3: branch: {name!r} is not a branch name that git allows"]


@pytest.mark.parametrize(
    "name", ["main", "moreh/v0.28.0", "a-b_c", "größe", "a@b", "a.b", "HEADS", "x/HEAD"]
)
def test_a_branch_name_that_git_allows_is_fine(name: str) -> None:
    assert manifest(HEAD.replace("moreh/v0.28.0", name)).branch == name


# ---------------------------------------------------------------- stacks that cannot be read


GONE = "fuse/lost:pkg/x.py#1@00000000"


def about_damaged(verb: str, more: str = "", files: dict[str, bytes] | None = None) -> list[str]:
    """The problems of an entry for a hunk that a damaged patch may hold."""
    text = entry(verb, f'hunk = "{GONE}"\n{more}{BECAUSE}')
    damaged = {**LIBRARY, "fuse": FUSE._replace(whole=False)}
    return read(text, files, damaged)[1]


def test_the_entries_of_a_damaged_stack_are_not_told_as_well() -> None:
    assert len(problems(entry("drop", f'hunk = "{GONE}"\n{BECAUSE}'))) == 1
    assert about_damaged("drop") == []
    assert about_damaged("reanchor", 'put = "before f"\n') == []


def test_a_replacement_for_a_damaged_stack_is_in_use() -> None:
    text = diff("pkg/x.py", "x\n", "y\n")
    assert about_damaged("replace", 'patch = "x.patch"\n', {"x.patch": text}) == []


def test_the_other_problems_of_an_entry_of_a_damaged_stack_are_told() -> None:
    (problem,) = about_damaged("reanchor", 'put = "near f"\n')
    assert "reanchor[1].put: 'near f': a place is one of" in problem
