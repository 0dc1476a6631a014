"""The block that a conflict offers holds when it is pasted: its evidence is true of the target."""

from __future__ import annotations

import pytest

from tests.repos import ENGINE, Shell, World

ATTENTION = "engine/attention.py"
OLD = ENGINE[ATTENTION]
LINE = b"return g * self.scale"
MOVED = {"engine/attn.py": OLD, ATTENTION: None}
EDIT = {ATTENTION: OLD.replace(LINE, b"return self.scale * g")}
WITHOUT = OLD[: OLD.index(b"    def backward")]


def blocks(world: World, shell: Shell, base: dict[str, bytes | None], *stack: object) -> str:
    """What `check -q` prints for a stack of these commits on a release of these files."""
    for number, files in enumerate(stack):
        world.repo.commit(f"Change {number}\n", files)  # type: ignore[arg-type]
    place = world.words("")[1:]
    assert shell("import", "v1.0.0..HEAD", "--stack", "mine", *place).code == 0
    world.repo.git("checkout", "-q", "--detach", "v1.0.0")
    world.repo.commit("Release 2\n", base)
    world.repo.git("tag", "v2.0.0")
    world.library.manifest("mine", name="me/v2.0.0", base="v2.0.0", branch="b2")
    done = shell(*words(world))
    assert done.code == 1
    return done.out


def words(world: World) -> list[str]:
    return [*world.words("check")[:1], "--target", "v2.0.0", *world.words("")[1:], "-q"]


def pasted(world: World, shell: Shell, told: str, start: str) -> str:
    """What `check -q` says once the block is in the manifest, with a reason."""
    lines = [line.strip() for line in told.split("\n")]
    at = lines.index(start)
    end = next(i for i in range(at, len(lines)) if lines[i].startswith("when"))
    block = "\n".join(lines[at : end + 1])
    more = block.replace('reason = ""', 'reason = "r"')
    world.library.manifest("mine", name="me/v2.0.0", base="v2.0.0", branch="b2", more=more)
    return shell(*words(world)).out


CASES = {
    "a file that is renamed": (MOVED, {"engine/attn.py": None}, f'absent = "{ATTENTION}"'),
    "a file that is changed": ({ATTENTION: None}, EDIT, f'absent = "{ATTENTION}"'),
    "a symbol that is changed": (
        {ATTENTION: WITHOUT},
        EDIT,
        f'absent = "{ATTENTION}::Attention.backward"',
    ),
    "a line that is changed": (
        {ATTENTION: OLD.replace(LINE, b"return g / self.scale")},
        EDIT,
        f'absent = "{ATTENTION}: {LINE.decode()}"',
    ),
}


@pytest.mark.parametrize(("base", "edit", "evidence"), CASES.values(), ids=CASES.keys())
def test_what_is_absent_is_named_and_holds(
    base: dict[str, bytes | None],
    edit: dict[str, bytes | None],
    evidence: str,
    world: World,
    shell: Shell,
) -> None:
    renamed = "engine/attn.py" in edit
    change = {ATTENTION: None, "engine/attn.py": OLD} if renamed else edit
    target: dict[str, bytes | None] = {ATTENTION: None} if renamed else base
    told = blocks(world, shell, target, change, {"new.txt": b"1\n"})
    assert f"when   = {{ {evidence} }}" in told
    assert pasted(world, shell, told, "[[drop]]") == ""


def test_a_stack_of_which_nothing_has_a_place_can_be_skipped(world: World, shell: Shell) -> None:
    told = blocks(world, shell, {ATTENTION: None}, EDIT)
    assert "mine: nothing of it has a place here; leave the whole stack out with:" in told
    assert pasted(world, shell, told, "[[skip]]") == ""


def test_what_a_stack_makes_itself_is_no_evidence(world: World, shell: Shell) -> None:
    """The second hunk has no place because the first has none, so that one's evidence is its."""
    made = {"engine/new.py": b"alpha = 1\nb = 2\nc = 3\n"}
    change = {"engine/new.py": b"alpha = 9\n"}
    told = blocks(world, shell, {"engine/new.py": b"x = 0\n"}, made, change)
    lines = [line.strip() for line in told.splitlines()]
    assert [line for line in lines if line.startswith(("when", "[["))] == [
        "[[drop]]",
        'when   = { present = "engine/new.py" }',
    ] * 2
    assert not any(line.startswith("put") for line in lines)


def test_what_came_between_the_lines_is_named_and_holds(world: World, shell: Shell) -> None:
    added = OLD + b"\n    def fused(self, g):\n        return g\n"
    theirs = OLD + b"\n    def scaled(self, g):\n        return -g\n"
    told = blocks(world, shell, {ATTENTION: theirs + b"\n\nlimit = 4\n"}, {ATTENTION: added})
    assert "its lines are there, but nowhere together" in told
    assert f'when   = {{ present = "{ATTENTION}: def scaled(self, g):" }}' in told
    completed = told.replace('"before "', '"last-in Attention"')
    assert pasted(world, shell, completed, "[[reanchor]]") == ""


def test_a_file_that_is_renamed_is_looked_at_under_its_old_name(world: World, shell: Shell) -> None:
    added = OLD + b"\n    def fused(self, g):\n        return g\n"
    theirs = OLD + b"\n    def scaled(self, g):\n        return -g\n"
    told = blocks(world, shell, {ATTENTION: theirs}, {ATTENTION: None, "engine/attn.py": added})
    assert f'when   = {{ present = "{ATTENTION}: def scaled(self, g):" }}' in told


def test_a_hunk_with_two_places_names_a_line_of_them(world: World, shell: Shell) -> None:
    twice = OLD + b"\n\n" + OLD[OLD.index(b"class") :]
    edit = OLD.replace(b"product = q * k", b"product = k * q")
    told = blocks(world, shell, {ATTENTION: twice}, {ATTENTION: edit})
    assert "[ambiguous]" in told
    assert f'when   = {{ present = "{ATTENTION}: return product * self.scale" }}' in told


def test_where_nothing_shows_the_reason_what_to_fill_in_is_told(world: World, shell: Shell) -> None:
    """Only a blank line is gone."""
    edit = OLD.replace(b"scale\n\n    def forward", b"scale\n        x = 1\n\n    def forward")
    base = OLD.replace(b"scale\n\n    def forward", b"scale\n    def forward")
    told = blocks(world, shell, {ATTENTION: base}, {ATTENTION: edit})
    lines = [line.strip() for line in told.splitlines()]
    at = lines.index("[[reanchor]]")
    assert lines[at + 4 : at + 7] == [
        (
            "# none of its lines is missing, and none is known to have come between: "
            "name what shows the reason,"
        ),
        '# as "path", "path::name" or "path: text", `present` or `absent` before the stacks',
        f'when   = {{ absent = "{ATTENTION}: " }}',
    ]
