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
    made = {"engine/new.py": b"a = 1\nb = 2\nc = 3\n"}
    told = blocks(world, shell, {"engine/new.py": b"x = 0\n"}, made, {"engine/new.py": b"a = 9\n"})
    assert 'absent = "engine/new.py: a = 1"' not in told
