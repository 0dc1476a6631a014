"""Every problem is told in one line that says what, where and the mend; never a traceback."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repos import BRANCH, ENGINE, Done, Shell, World, patches

MANIFEST = "manifests/me/v1.0.0.toml"
STACK = "patches/cache/stack.toml"
PATCH = "patches/cache/p1.patch"

IRREGULAR = "is a pipe, socket or device, and no regular file"

Break = Callable[[World], None]


def problems(done: Done) -> list[str]:
    """What a failed run tells, without the prefix that each line must have."""
    lines = done.problems
    assert all(line.startswith("backport: error: ") for line in lines)
    return [line.removeprefix("backport: error: ") for line in lines]


def edit(name: str, old: str, new: str) -> Break:
    """Replace a text in a file of the library."""

    def apply(world: World) -> None:
        path = world.library.root / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return apply


def add(name: str, text: str | bytes) -> Break:
    """Add text at the end of a file of the library, which is made if need be."""

    def apply(world: World) -> None:
        path = world.library.root / name
        before = path.read_bytes() if path.exists() else b""
        world.library.write(name, before + (text.encode() if isinstance(text, str) else text))

    return apply


def remove(name: str) -> Break:
    return lambda world: (world.library.root / name).unlink()


def sized(name: str, size: int) -> Break:
    """A file of this size that takes no room on the disk."""

    def apply(world: World) -> None:
        with (world.library.root / name).open("wb") as file:
            file.truncate(size)

    return apply


def pipe(name: str) -> Break:
    """A pipe that nobody writes to: who reads it waits for ever."""

    def apply(world: World) -> None:
        path = world.library.root / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    return apply


def all_of(*breaks: Break) -> Break:
    def apply(world: World) -> None:
        for damage in breaks:
            damage(world)

    return apply


def entry(verb: str, **values: str) -> str:
    """A manifest's entry; the evidence is one that holds unless it is given."""
    values = {
        "hunk": "",
        "reason": "a reason",
        "when": '{ present = "engine/ops.py" }',
        **values,
    }
    shown = (
        f"{key} = {value if value.startswith('{') else repr(value)}\n"
        for key, value in values.items()
        if value
    )
    return f"[[{verb}]]\n{''.join(shown)}"


BAD_INPUT: dict[str, tuple[Break, list[str]]] = {
    "a manifest that is not TOML": (
        add(MANIFEST, "stacks = [\n"),
        [f"{MANIFEST}:5: not TOML: "],
    ),
    "a stack that is not TOML": (
        edit(STACK, "schema = 1", "schema 1"),
        [f"{STACK}:1:8: not TOML: "],
    ),
    "an unknown key": (
        add(MANIFEST, "brunch = 'x'\n"),
        [f"{MANIFEST}:5: brunch: is not a key here; did you mean 'branch'?"],
    ),
    "a missing key": (edit(MANIFEST, 'base = "v1.0.0"\n', ""), [f"{MANIFEST}: base: is missing"]),
    "a key of another type": (
        edit(MANIFEST, 'base = "v1.0.0"', "base = 1"),
        [f"{MANIFEST}:2: base: must be a string, not a number"],
    ),
    "a NUL in the reason of an entry": (
        add(
            MANIFEST,
            '[[skip]]\nstack = "cache"\nreason = "a\\u0000"\n'
            'when = { present = "engine/ops.py" }\n',
        ),
        [f"{MANIFEST}:7: skip[1].reason: holds a NUL character, which no commit can hold"],
    ),
    "another schema": (
        edit(MANIFEST, "schema = 1", "schema = 2"),
        [f"{MANIFEST}:1: schema: must be 1"],
    ),
    "a stack that is not there": (
        edit(MANIFEST, '"cache"', '"cash"'),
        [
            f"{MANIFEST}:4: stacks: there is no stack 'cash'; did you mean 'cache'?",
            f"{MANIFEST}:4: stacks: names no stack",
        ],
    ),
    "a stack that is listed twice": (
        edit(MANIFEST, '"cache"', '"cache", "cache"'),
        [f"{MANIFEST}:4: stacks: cache is listed twice"],
    ),
    "a branch that git does not allow": (
        edit(MANIFEST, f'"{BRANCH}"', '"a..b"'),
        [f"{MANIFEST}:3: branch: 'a..b' is not a branch name that git allows"],
    ),
    "a hunk that is not there": (
        add(MANIFEST, entry("drop", hunk="cache/p1:engine/attention.py#1@00000000")),
        [f"{MANIFEST}:6: drop[1].hunk: there is no hunk cache/p1:engine/attention.py#1@00000000; "],
    ),
    "a hunk id of another form": (
        add(MANIFEST, entry("drop", hunk="cache")),
        [f"{MANIFEST}:6: drop[1].hunk: 'cache': a hunk id looks like stack/patch:path#ordinal@"],
    ),
    "an entry without a reason": (
        add(MANIFEST, entry("skip", stack="cache", reason=" ")),
        [f"{MANIFEST}:6: skip[1].reason: is empty"],
    ),
    "an entry without evidence": (
        add(MANIFEST, "[[skip]]\nstack = 'cache'\nreason = 'x'\n"),
        [f"{MANIFEST}:5: skip[1].when: gives no evidence; "],
    ),
    "a patch that is not listed": (
        add("patches/cache/extra.patch", "x"),
        ["patches/cache/extra.patch: is not listed in series; add or delete it"],
    ),
    "a patch that is listed twice": (
        add("patches/cache/series", "p1\n"),
        ["patches/cache/series:3: p1 is listed twice (first in line 1)"],
    ),
    "a listed patch that is not there": (
        remove(PATCH),
        ["patches/cache/series:1: there is no p1.patch; did you mean 'p2'?"],
    ),
    "a stack without a series": (
        remove("patches/cache/series"),
        ["patches/cache/series: is missing; list the patch names in it, one a line"],
    ),
    "a stack without stack.toml": (remove(STACK), [f"{STACK}: is missing"]),
    "a stack that needs one that is not there": (
        edit(STACK, 'kind = "fork"', 'kind = "fork"\nafter = ["cash"]'),
        [f"{STACK}: after: there is no other stack 'cash'; none is known"],
    ),
    "a stack that needs itself": (
        edit(STACK, 'kind = "fork"', 'kind = "fork"\nafter = ["cache"]'),
        [f"{STACK}: after: there is no other stack 'cache'; none is known"],
    ),
    "a hunk of a stack that is not listed": (
        add(MANIFEST, entry("drop", hunk="cash/p1:engine/attention.py#1@00000000")),
        [f"{MANIFEST}:6: drop[1].hunk: cash/p1:engine/attention.py#1@00000000: its stack is not "],
    ),
    "a damaged patch": (
        edit(PATCH, "         self.scale = scale\n", ""),
        [f"{PATCH}:20: engine/attention.py hunk 1 ends early: "],
    ),
    "an empty patch": (
        sized(PATCH, 0),
        [f"{PATCH}:1: this is not a patch: it is empty"],
    ),
    "a path above the tree": (
        edit(PATCH, "engine/attention.py", "../attention.py"),
        [f"{PATCH}:8: unsafe path '../attention.py': it has the component '..'"],
    ),
    "a path in git's folder": (
        edit(PATCH, "engine/attention.py", ".git/config"),
        [f"{PATCH}:8: unsafe path '.git/config': the component '.git' names git's own folder"],
    ),
    "a patch over the limit": (
        sized(PATCH, 256 * 1024 * 1024 + 1),
        [f"{PATCH}: is 268,435,457 bytes, over the limit of 268,435,456"],
    ),
    "a manifest over the limit": (
        sized(MANIFEST, 1024 * 1024 + 1),
        [f"{MANIFEST}: is 1,048,577 bytes, over the limit of 1,048,576"],
    ),
    "a patch that is a folder": (
        lambda world: (world.library.root / "patches/cache/p3.patch").mkdir(),
        ["patches/cache/p3.patch: is a folder, and no regular file"],
    ),
    "a pipe for a patch": (pipe(PATCH), [f"{PATCH}: {IRREGULAR}"]),
    "a pipe that no series names": (
        pipe("patches/cache/z.patch"),
        [f"patches/cache/z.patch: {IRREGULAR}"],
    ),
    "a pipe for a series": (pipe("patches/cache/series"), [f"patches/cache/series: {IRREGULAR}"]),
    "a pipe for a stack.toml": (pipe(STACK), [f"{STACK}: {IRREGULAR}"]),
    "a pipe for a manifest": (pipe(MANIFEST), [f"{MANIFEST}: {IRREGULAR}"]),
    "a pipe beside a manifest": (
        pipe("manifests/me/v1.0.0/x.patch"),
        [f"manifests/me/v1.0.0/x.patch: {IRREGULAR}"],
    ),
    "a device": (
        lambda world: (world.library.root / "patches/cache/z.patch").symlink_to("/dev/zero"),
        [f"patches/cache/z.patch: {IRREGULAR}"],
    ),
    "several problems in several files": (
        all_of(
            edit(STACK, 'kind = "fork"', 'kind = "knife"'),
            add(MANIFEST, "brunch = 'x'\n"),
            add("patches/cache/series", "p9\n"),
        ),
        [
            "patches/cache/series:3: there is no p9.patch; did you mean 'p2'?",
            f"{STACK}:3: kind: 'knife' is not allowed; known: upstream, fork, bugfix",
            f"{MANIFEST}:5: brunch: is not a key here; did you mean 'branch'?",
        ],
    ),
}


@pytest.mark.parametrize(("damage", "expected"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_ends_with_2_and_a_line_for_every_problem(
    damage: Break, expected: list[str], world: World, shell: Shell
) -> None:
    damage(world)
    before = world.repo.snapshot(), world.repo.objects()
    done = shell(*world.words("apply"))
    assert (done.code, done.out) == (2, "")
    told = problems(done)
    assert len(told) == len(expected), told
    for line, start in zip(told, expected, strict=True):
        assert line.startswith(start)
    assert (world.repo.snapshot(), world.repo.objects()) == before


@pytest.mark.parametrize("name", ["p1.patch", "stack.toml", "series"])
def test_what_is_damaged_is_told_once_and_not_by_its_entries_too(
    name: str, world: World, shell: Shell
) -> None:
    for nth, reason in enumerate(("one", "two")):
        add(MANIFEST, entry("drop", hunk=hunk(world, shell, nth), reason=reason))(world)
    if name == "series":
        remove("patches/cache/series")(world)
    else:
        world.library.write(f"patches/cache/{name}", "\0")
    (line,) = problems(shell(*world.words("apply")))
    assert line.startswith(f"patches/cache/{name}:")


@pytest.mark.parametrize(("damage", "expected"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_lint_tells_the_same_problems(
    damage: Break, expected: list[str], world: World, shell: Shell
) -> None:
    damage(world)
    told = problems(shell(*world.words("apply")))
    done = shell("lint", "--root", str(world.library.root))
    assert done.code == 2
    assert set(told) <= set(done.problems)


def test_decisions_that_cannot_be_read_are_told_before_anything_is_written(
    world: World, shell: Shell
) -> None:
    pipe("patches/cache/resolutions/x.toml")(world)
    told = f"patches/cache/resolutions/x.toml: {IRREGULAR}"
    assert shell("lint", "--root", str(world.library.root)).problems[-1:] == [told]
    done = shell(*world.words("apply", "--lock"))
    assert (done.code, problems(done)) == (2, [told])
    assert world.repo.tip(BRANCH) is None
    assert not (world.library.root / "manifests/me/v1.0.0.lock").exists()


def folder(name: str) -> Break:
    return lambda world: (world.library.root / name).mkdir()


def link(name: str) -> Break:
    return lambda world: (world.library.root / name).symlink_to("nowhere")


@pytest.mark.parametrize("kind", [pipe, folder, link])
def test_what_is_no_file_where_the_lock_would_be_spoils_its_own_target(
    kind: Callable[[str], Break], world: World, shell: Shell
) -> None:
    kind("manifests/me/v1.0.0.lock")(world)
    world.library.manifest("cache", name="me/v1.2.0", branch="me/v1.2.0")
    told = (
        "manifests/me/v1.0.0.lock: is no regular file; delete it, and write it again with "
        "`backport apply --target me/v1.0.0 --lock`"
    )
    assert told in shell("lint", "--root", str(world.library.root)).problems
    for more in ([], ["--lock"]):
        done = shell(*world.words("apply"), *more)
        assert (done.code, problems(done)) == (2, [told])
    assert world.repo.tip(BRANCH) is None
    place = world.words("x")[1:]
    for words in (["check", "--all", "--no-audit"], ["status"], ["show", "cache"]):
        done = shell(*words, *place)
        assert (done.code, done.err) == (2, "")
        assert told in done.out
        assert "me/v1.2.0: " in done.out
    values = json.loads(shell("check", "--all", "--no-audit", "--json", *place).out)
    assert values["exit_code"] == 2
    assert [target["bad_input"] for target in values["targets"]] == [True, False]


def test_decisions_that_cannot_be_offered_are_told_beside_other_targets(
    world: World, shell: Shell
) -> None:
    world.library.write("patches/cache/resolutions", "a file")
    world.repo.commit("Turned\n", {"engine/attention.py": b"class Attention:\n    pass\n"})
    world.repo.git("tag", "v1.1.0")
    world.library.manifest("cache", name="me/v1.1.0", base="v1.1.0")
    done = shell("check", "--all", "--no-audit", *world.words("x")[1:])
    told = "patches/cache/resolutions: is no folder, and decisions are kept in one; move it away"
    assert done.code == 2
    assert f"me/v1.1.0: error: {told}" in done.out
    assert "me/v1.0.0: clean" in done.out
    applied = shell(*world.words("apply", "--lock"))
    assert (applied.code, problems(applied)) == (2, [told])
    assert world.repo.tip(BRANCH) is None


# ---------------------------------------------------------------- targets, stacks and libraries


def test_a_target_that_is_not_there_and_the_nearest_one(world: World, shell: Shell) -> None:
    done = shell("apply", "--target", "me/v1.0.1", *world.words("x")[1:])
    assert done.code == 2
    assert problems(done) == ["there is no target 'me/v1.0.1'; did you mean 'me/v1.0.0'?"]


def test_a_target_that_may_be_several(world: World, shell: Shell) -> None:
    world.library.manifest("cache", name="you/v1.0.0")
    done = shell(*world.words("apply"))
    assert done.code == 2
    assert problems(done) == ["target 'v1.0.0' may be me/v1.0.0 or you/v1.0.0; give the full name"]


@pytest.mark.parametrize("name", ["v1.0.0", "1.0.0", "me/v1.0.0", "the path"])
def test_every_name_of_a_target_is_understood(name: str, world: World, shell: Shell) -> None:
    target = str(world.library.root / MANIFEST) if name == "the path" else name
    done = shell("check", "--onto", target, *world.words("x")[1:])
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("me/v1.0.0: clean")


def test_a_stack_that_is_not_there_and_the_nearest_one(world: World, shell: Shell) -> None:
    done = shell("show", "cash", *world.words("x")[1:])
    assert done.code == 2
    assert problems(done) == ["there is no stack 'cash'; did you mean 'cache'?"]


def test_a_folder_that_is_no_library(world: World, shell: Shell, tmp_path: Path) -> None:
    done = shell("lint", "--root", str(tmp_path))
    assert done.code == 2
    assert problems(done) == [f"{tmp_path}: holds no patches/ and manifests/ folders"]


def test_no_library_around_the_current_folder(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = shell("lint")
    assert done.code == 2
    (line,) = problems(done)
    assert line == (
        f"{tmp_path}: neither this folder nor one above holds patches/ and manifests/; "
        "go there, or give --root or BACKPORT_ROOT"
    )


def test_a_library_without_manifests(world: World, shell: Shell) -> None:
    (world.library.root / MANIFEST).unlink()
    done = shell("check", "--all", *world.words("x")[1:])
    assert done.code == 2
    assert problems(done) == [f"{world.library.root}: the library has no manifests"]


USAGE = {
    "no command": (["nothing"], "No such command 'nothing'."),
    "no target": (["apply"], "Missing option '--target' / '--onto'."),
    "an unknown option": (["apply", "--tarjet", "x"], "No such option"),
    "an option without its value": (
        ["apply", "--target"],
        "Option '--target' requires an argument.",
    ),
    "too many words": (["apply", "--target", "x", "y"], "Got unexpected extra argument (y)"),
    "check of nothing": (["check"], "give --target TARGET (several times if need be) or --all"),
    "check of both": (["check", "--all", "--target", "x"], "give --target TARGET "),
    "a version that is none": (["fetch", "newest"], "'newest' is not a release such as 0.28.0"),
}


@pytest.mark.parametrize(("words", "expected"), USAGE.values(), ids=USAGE.keys())
def test_wrong_usage_ends_with_2_and_one_line(
    words: list[str], expected: str, shell: Shell
) -> None:
    done = shell(*words)
    assert (done.code, done.out) == (2, "")
    (line,) = problems(done)
    assert line.startswith(expected)


# ---------------------------------------------------------------- what ends with 1


def verdict(done: Done) -> str:
    return done.out.splitlines()[0].split(" ")[1]


def hunk(world: World, shell: Shell, nth: int) -> str:
    """The id of the stack's nth hunk, as `show` prints it."""
    out = shell("show", "cache", *world.words("x")[1:]).out
    return [line for line in out.splitlines() if line.startswith("cache/")][nth]


def test_evidence_that_no_longer_holds_names_its_entry(world: World, shell: Shell) -> None:
    dropped = hunk(world, shell, 2)
    when = '{ absent = "engine/ops.py::gather" }'
    world.library.manifest("cache", more=entry("drop", hunk=dropped, when=when))
    before = world.repo.snapshot(), world.repo.objects()
    done = shell(*world.words("apply"))
    assert (done.code, done.err, verdict(done)) == (1, "", "stale")
    assert (
        f"{MANIFEST}:5:1: error: drop {dropped}: absent engine/ops.py::gather: it is there "
        "[stale-evidence]"
    ) in done.out
    assert (world.repo.snapshot(), world.repo.objects()) == before


def test_a_reanchor_to_a_scope_that_does_not_exist_names_the_nearest(
    world: World, shell: Shell
) -> None:
    moved = hunk(world, shell, 1)
    put = "after Attention.backwards"
    world.library.manifest("cache", more=entry("reanchor", hunk=moved, put=put))
    done = shell(*world.words("apply"))
    assert (done.code, done.err, verdict(done)) == (1, "", "conflict")
    assert (
        "engine/attention.py has no Attention.backwards; did you mean 'Attention.backward'?; "
        "mend its entry at manifests/me/v1.0.0.toml:5 [conflict]"
    ) in done.out
    assert "[[reanchor]]" not in done.out  # it has an entry: a second one would be bad input


def test_a_hunk_that_fits_twice_names_both_places(world: World, shell: Shell) -> None:
    twice = ENGINE["engine/attention.py"] * 2
    world.repo.commit("Twice\n", {"engine/attention.py": twice})
    world.repo.git("tag", "-f", "v1.0.0")
    done = shell(*world.words("apply"))
    assert (done.code, done.err, verdict(done)) == (1, "", "conflict")
    (line,) = [line for line in done.out.splitlines() if "[ambiguous]" in line and "p1" in line]
    assert "lines 9, 22" in line
    assert world.repo.tip() is None


def test_a_stack_that_is_there_already_is_clean_and_makes_no_commit(
    world: World, shell: Shell
) -> None:
    assert shell(*world.words("apply")).code == 0
    world.repo.git("tag", "-f", "v1.0.0", BRANCH)
    world.repo.git("branch", "-q", "-D", BRANCH)
    done = shell(*world.words("apply"))
    assert (done.code, done.err, verdict(done)) == (0, "", "clean")
    assert "cache: already: 3 hunks" in done.out
    assert world.repo.tip() == world.repo.git("rev-parse", "v1.0.0^{commit}")


def test_a_result_that_stands_elsewhere_does_not_make_an_ambiguous_hunk_there_already(
    world: World, shell: Shell
) -> None:
    block = b"job:\n  label: gpu\n  memory: %d\n  timeout: 45\n  retry: no\n  queue: a\n"
    first = block % 8 + block % 24
    world.repo.commit("Jobs\n", {"jobs": first + block % 16 + b"end\n"})
    world.repo.git("tag", "-f", "v1.0.0")
    world.repo.commit("More memory\n", {"jobs": first + block % 24 + b"end\n"})
    world.library.stack("cache", patches(world.repo, "v1.0.0"))
    (world.library.root / "patches/cache/p2.patch").unlink()
    world.repo.git("reset", "-q", "--hard", "v1.0.0")
    world.repo.commit("Another job\n", {"jobs": first + (block % 16) * 2 + b"end\n"})
    world.repo.git("tag", "-f", "v1.0.0")
    done = shell(*world.words("apply"))
    assert (done.code, verdict(done)) == (1, "conflict")
    assert "fits at lines 15, 21" in done.out


def test_a_stack_that_is_there_in_part_says_which_part(world: World, shell: Shell) -> None:
    world.repo.commit("The cache\n", {"engine/cache.py": b"class Cache(dict):\n    pass\n"})
    world.repo.git("tag", "-f", "v1.0.0")
    done = shell(*world.words("apply"))
    assert (done.code, verdict(done)) == (1, "conflict")
    assert "engine/cache.py: the file is there with this content [already]" in done.out
    assert f'hunk   = "{hunk(world, shell, 2)}"' in done.out
    assert world.repo.tip() is None


def test_a_result_that_does_not_compile_is_not_kept(world: World, shell: Shell) -> None:
    world.repo.commit("Broken\n", {"engine/ops.py": b"def gather(:\n"})
    world.library.stack("cache", patches(world.repo, "v1.0.0"))
    (world.library.root / "patches/cache/p2.patch").unlink()
    world.repo.git("reset", "-q", "--hard", "v1.0.0")
    done = shell(*world.words("apply"))
    assert (done.code, done.err, verdict(done)) == (1, "", "failed")
    assert "engine/ops.py:1:12: error: invalid syntax [syntax]" in done.out
    assert world.repo.tip() is None
    assert shell(*world.words("apply", "--no-audit")).code == 0
