"""A stack's folder: its files are written together, and what a person wrote is kept."""

from __future__ import annotations

from pathlib import Path

from backport.core.rendering import render_patch
from backport.core.stack_format import NAME
from backport.core.stack_writing import render_stack_toml, with_origin
from backport.core.stacks import Stack, digest_of
from backport.errors import BadInput
from backport.writing import write_files


def write(root: Path, stack: Stack, force: bool) -> list[Path]:
    """Write the patches and the series of a stack, and where they came from in `stack.toml`.

    Patches that it has no more are deleted, and all else in its folder stays. Raises
    BadInput where the stack exists and `force` is off.
    """
    paths = planned(root, stack, force)
    folder = root / "patches" / stack.name
    texts = _texts(folder, stack)
    files: dict[str, bytes | None] = {
        f"patches/{stack.name}/{name}": t for name, t in texts.items()
    }
    stale = sorted(path.name for path in folder.glob("*.patch") if path.name not in texts)
    write_files(root, files | {f"patches/{stack.name}/{name}": None for name in stale})
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
