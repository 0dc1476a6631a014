"""A stack's folder: written whole beside its place and moved there, what a person wrote kept."""

from __future__ import annotations

import shutil
from pathlib import Path

from backport.core.rendering import render_patch
from backport.core.stack_format import NAME
from backport.core.stack_writing import render_stack_toml, with_origin
from backport.core.stacks import Stack, digest_of
from backport.errors import BadInput


def write(root: Path, stack: Stack, force: bool) -> list[Path]:
    """Write the patches and the series of a stack, and where they came from in `stack.toml`.

    The folder is made whole beside its place and moved there: a run that is killed
    leaves the old stack or the new one, or, between the moves, the old one as
    `.<stack>.old`, which the next run brings back. Raises BadInput where the stack
    exists and `force` is off.
    """
    folder = root / "patches" / stack.name
    old, new = (folder.with_name(f".{stack.name}.{word}") for word in ("old", "new"))
    if old.exists() and not folder.exists():
        old.rename(folder)  # a run was killed between the two moves below
    paths = planned(root, stack, force)
    for left in (old, new):
        shutil.rmtree(left, ignore_errors=True)
    _fill(new, folder, stack)
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
    return paths


def planned(root: Path, stack: Stack, force: bool) -> list[Path]:
    """What `write` would write; raises what it would raise."""
    refuse_name(stack.name)
    folder = root / "patches" / stack.name
    if (folder / "series").exists() and not force:
        raise BadInput(
            f"patches/{stack.name} exists; give --force to write its patches again, "
            "or --update to see what moved"
        )
    return [folder / name for name in _texts(folder, stack)]


def _fill(new: Path, folder: Path, stack: Stack) -> None:
    """A copy of the stack's folder, if there is one, with these patches."""
    if folder.exists():
        ignored = shutil.ignore_patterns("*.patch", "series")
        try:
            shutil.copytree(folder, new, symlinks=True, ignore=ignored)
        except shutil.Error as error:
            shutil.rmtree(new)
            problems = (f"{path}: cannot be copied: {why}" for path, _, why in error.args[0])
            raise BadInput(problems) from None
    new.mkdir(parents=True, exist_ok=True)
    for name, text in _texts(new, stack).items():
        (new / name).write_bytes(text)


def _texts(folder: Path, stack: Stack) -> dict[str, bytes]:
    """The files of a stack by name; of a `stack.toml` that the folder has only the origin moves."""
    texts = {f"{patch.name}.patch": render_patch(patch) for patch in stack.patches}
    toml = stack_toml(folder, stack)
    if toml is not None:
        texts["stack.toml"] = toml
    texts["series"] = "".join(f"{patch.name}\n" for patch in stack.patches).encode()
    return texts


def stack_toml(folder: Path, stack: Stack) -> bytes | None:
    """The text of `stack.toml` with the stack's origin, or None where it can stay as it is.

    It stays too where a person has written it in a way that cannot be told apart.
    """
    noted = with_imported(stack)
    path = folder / "stack.toml"
    if not path.exists():
        return render_stack_toml(noted).encode()
    text = path.read_text("utf-8")
    new = with_origin(text, noted)
    return None if new in (None, text) else (new or "").encode()


def with_imported(stack: Stack) -> Stack:
    """The stack with a note of the patches as they are written now."""
    noted = tuple(f"{patch.name}@{digest_of(render_patch(patch))}" for patch in stack.patches)
    return stack._replace(upstream=stack.upstream._replace(imported=noted))


def refuse_name(stack: str) -> None:
    """Raises BadInput where a stack cannot be called that."""
    if not NAME.fullmatch(stack):
        raise BadInput(f"{stack!r} is no stack name (lower-case words joined by dashes)")
