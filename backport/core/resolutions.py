"""What people decided about a hunk before, kept as text beside the stack and offered again.

A resolution is never used by itself: it is shown where the same hunk has no place on
another target, with how much of that target is what it was made for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from backport.core.mail import parse_patch
from backport.core.manifest_writing import when_lines
from backport.core.manifests import Adaptation, Anchor, Drop, Evidence, Manifest, Reanchor, Replace
from backport.core.objects import blob_id
from backport.core.patches import MODULE_SCOPE, FilePatch, HunkId
from backport.core.paths import decode
from backport.core.rendering import render_diff
from backport.core.scopes import find_scope, scopes
from backport.core.stack_writing import quoted
from backport.core.stacks import Stack
from backport.core.tables import Table, parse_toml
from backport.core.trees import DIRECTORY, Tree

FOLDER = "resolutions"
SAME_FILE, SAME_SYMBOL, OTHER_TEXT = "same file", "same symbol", "other text"


class Resolution(NamedTuple):
    """One decision: for which hunk and target it was made, on which text, and what it says.

    `blob` is the git id of the target's pristine file, `symbol` a digest of the text of the
    hunk's scope in it; each is "" where the target has none. Of `put` and `diff` at most
    one is set; neither is for a drop.
    """

    hunk: str
    made: str
    blob: str
    symbol: str
    reason: str
    when: tuple[Evidence, ...]
    put: str = ""
    diff: str = ""

    @property
    def verb(self) -> str:
        return "reanchor" if self.put else "replace" if self.diff else "drop"

    @property
    def says(self) -> tuple[str, str, str]:
        """What is decided, apart from where: two targets may share it."""
        return self.verb, self.put, self.diff


class Offer(NamedTuple):
    """A resolution of another target for a hunk without a place: `match` is what is the same."""

    resolution: Resolution
    match: str


# ---------------------------------------------------------------- keys


class Key(NamedTuple):
    """The text that a decision is about: the whole file's blob id, and its scope's digest."""

    blob: str
    symbol: str


def key_of(path: str, scope: str | None, tree: Tree) -> Key:
    """What the target has at the hunk's path, and in the scope that the hunk names."""
    entry = tree.entry(path)
    if entry is None or entry.mode == DIRECTORY:
        return Key("", "")
    return Key(blob_id(entry.data), _symbol(path, scope, entry.data))


def _symbol(path: str, scope: str | None, text: bytes) -> str:
    if not scope or scope == MODULE_SCOPE or not path.endswith((".py", ".pyi")):
        return ""
    found = find_scope(scopes(text) or (), scope)
    if len(found) != 1:
        return ""
    lines = text.split(b"\n")[found[0].start - 1 : found[0].end]
    return hashlib.sha256(b"\n".join(lines)).hexdigest()[:16]


# ---------------------------------------------------------------- remember


def remembered(manifest: Manifest, stack: Stack, base: Tree) -> list[Resolution]:
    """Every deviation that the manifest records of the stack, with the text that it is about."""
    hunks = {str(found[0]): found for found in stack.hunks()}
    out = []
    for key, entry in manifest.adaptations_of(stack.name).items():
        if isinstance(entry, Replace) and not _is_text(entry):
            continue
        _, _, file, index = hunks[key]
        scope = file.hunks[index].scope if index >= 0 else None
        text = key_of(file.old_path or file.path, scope, base)
        out.append(_resolution(entry, manifest.name, text))
    return out


def _is_text(entry: Replace) -> bool:
    """False where lines hold bytes that no text can."""
    return not any("\ud800" <= char <= "\udfff" for char in decode(render_diff(entry.files)))


def _resolution(entry: Adaptation, made: str, key: Key) -> Resolution:
    put = str(entry.put) if isinstance(entry, Reanchor) else ""
    diff = decode(render_diff(entry.files)) if isinstance(entry, Replace) else ""
    return Resolution(str(entry.hunk), made, *key, entry.reason, entry.when, put, diff)


def file_name(hunk: str) -> str:
    """The file, below a stack's folder, that holds the resolutions of a hunk."""
    found = HunkId.parse(hunk)
    return f"{FOLDER}/{found.patch}@{found.digest}.toml"


def joined(old: Sequence[Resolution], new: Sequence[Resolution], made: str) -> list[Resolution]:
    """All resolutions, where those for the target `made` are the new ones alone."""
    kept = [item for item in old if item.made != made]
    return sorted([*kept, *new], key=lambda item: (item.hunk, item.made))


def render_resolutions(items: Iterable[Resolution]) -> str:
    """The text of one file of resolutions."""
    lines = ["# Decisions of people, kept by `backport apply --lock`; offered, never used unasked."]
    lines.append("schema = 1")
    for item in items:
        lines += ["", "[[resolution]]", f"hunk   = {quoted(item.hunk)}"]
        lines += [f"{key:6} = {quoted(getattr(item, key))}" for key in ("made", "blob", "symbol")]
        lines += [f"put    = {quoted(item.put)}"] if item.put else []
        lines.append(f"reason = {quoted(item.reason)}")
        lines += [f"diff   = {_literal(item.diff)}"] if item.diff else []
        lines += when_lines("resolution", item.when)
    return "\n".join(lines) + "\n"


def _literal(diff: str) -> str:
    """The diff as it is where TOML allows that, else with what it may not hold written out."""
    if "'''" in diff or not all(char.isprintable() or char in "\t\n" for char in diff):
        return quoted(diff.removesuffix("\n"))
    return f"'''\n{diff}'''"


# ---------------------------------------------------------------- read


def read_resolutions(file: str, text: str) -> tuple[list[Resolution], list[str]]:
    """The resolutions of one file and every problem found in it."""
    values, source = parse_toml(file, text)
    if source.problems:
        return [], source.problems
    table = Table(values, source)
    if table.number("schema") != 1:
        table.problem("schema", "must be 1")
    found = [_read(entry) for entry in table.tables("resolution")]
    table.finish()
    return [item for item in found if item], source.problems


def _read(table: Table) -> Resolution | None:
    told = len(table.source.problems)
    hunk = table.text("hunk")
    made = table.text("made")
    blob, symbol = (table.text(key, default="") for key in ("blob", "symbol"))
    put, diff = table.text("put", default=""), table.text("diff", default="")
    reason, sides = table.text("reason"), table.table("when")
    try:
        HunkId.parse(hunk)
        when = tuple(
            Evidence.parse(key == "present", text)
            for key in ("present", "absent")
            for text in sides.texts(key, single=True)
        )
        entry = Resolution(hunk, made, blob, symbol, reason, when, put, diff)
        entry_of(entry, HunkId.parse(hunk))
    except ValueError as error:
        table.problem("hunk", f"the resolution cannot be read: {error}")
    table.finish()
    sides.finish()
    return None if len(table.source.problems) > told else entry


def entry_of(item: Resolution, hunk: HunkId, patch: str = "") -> Adaptation:
    """The manifest entry that the resolution stands for; raises ValueError where it is none."""
    if item.put:
        return Reanchor(item.reason, item.when, "", hunk, Anchor.parse(item.put))
    if item.diff:
        return Replace(item.reason, item.when, "", hunk, patch, _files(item.diff))
    return Drop(item.reason, item.when, "", hunk)


def _files(diff: str) -> tuple[FilePatch, ...]:
    return parse_patch(diff.encode("utf-8", "surrogateescape"), "resolution").files


# ---------------------------------------------------------------- offer


def offers(
    known: Sequence[Resolution], hunk: HunkId, key: Key, target: str, fits: Mapping[int, bool]
) -> list[Offer]:
    """The resolutions made elsewhere for the same change, those for the same text first.

    `fits` tells, by their place in `known`, which of them the target takes; others are
    not offered. What several targets decided alike is offered once.
    """
    found = [
        Offer(item, _match(item, key))
        for number, item in enumerate(known)
        if same_change(item, hunk) and item.made != target and fits.get(number)
    ]
    found.sort(key=lambda offer: (SAME_FILE, SAME_SYMBOL, OTHER_TEXT).index(offer.match))
    best: dict[tuple[str, str, str], Offer] = {}
    for offer in found:
        best.setdefault(offer.resolution.says, offer)
    return list(best.values())


def same_change(item: Resolution, hunk: HunkId) -> bool:
    """True where the resolution is about the same changed lines of the same file."""
    was = HunkId.parse(item.hunk)
    return was._replace(ordinal=0) == hunk._replace(ordinal=0)


def _match(item: Resolution, key: Key) -> str:
    if item.blob and item.blob == key.blob:
        return SAME_FILE
    return SAME_SYMBOL if item.symbol and item.symbol == key.symbol else OTHER_TEXT
