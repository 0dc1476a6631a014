"""Read a manifest, and resolve what it says of hunks against the stacks it names."""

from __future__ import annotations

from collections.abc import Mapping

from backport.core.cursors import PatchError
from backport.core.mail import parse_patch
from backport.core.manifests import (
    Accept,
    Adaptation,
    Anchor,
    Drop,
    Evidence,
    Manifest,
    Reanchor,
    Replace,
    Skip,
)
from backport.core.patches import FilePatch, HunkId
from backport.core.stacks import Stack
from backport.core.tables import EnoughProblems, Table, is_ref_name, nearest, parse_toml

VERBS = ("drop", "reanchor", "replace")


def read_manifest(
    name: str,
    file: str,
    text: str,
    stacks: Mapping[str, Stack],
    replacements: Mapping[str, bytes],
) -> tuple[Manifest, list[str]]:
    """The manifest in `text` and every problem found in it.

    `stacks` are the library's, by name; `replacements` the patch files in the
    manifest's own folder, by file name.
    """
    values, source = parse_toml(file, text)
    table = Table(values, source)
    if not values and source.problems:
        return Manifest(name, "", "", (), source=file), source.problems
    try:
        return _manifest(name, file, table, stacks, replacements), source.problems
    except EnoughProblems:
        return Manifest(name, "", "", (), source=file), source.problems


def _manifest(
    name: str,
    file: str,
    table: Table,
    stacks: Mapping[str, Stack],
    replacements: Mapping[str, bytes],
) -> Manifest:
    if table.number("schema") != 1:
        table.problem("schema", "must be 1")
    listed = _stacks(table, stacks)
    reader = _Entries(table, {key: stacks[key] for key in listed}, replacements, file)
    manifest = Manifest(
        name,
        table.commit("base"),
        _branch(table),
        listed,
        tuple(reader.adaptations()),
        tuple(reader.skips()),
        tuple(reader.accepts()),
        file,
    )
    reader.check(manifest)
    table.finish()
    return manifest


def _stacks(table: Table, known: Mapping[str, Stack]) -> tuple[str, ...]:
    listed: dict[str, None] = {}
    for name in table.texts("stacks"):
        if name in listed:
            table.problem("stacks", f"{name} is listed twice")
        elif name not in known:
            table.problem("stacks", f"there is no stack {name!r}; {nearest(name, sorted(known))}")
        else:
            listed[name] = None
    if not listed:
        table.problem("stacks", "names no stack")
    order = list(listed)
    for place, name in enumerate(order):
        for needed in known[name].after:
            there = needed in known and needed != name  # else the stack's own file has the problem
            if there and needed not in order[:place]:
                table.problem("stacks", f"{name} must come after {needed}; list that one before it")
    return tuple(listed)


def _branch(table: Table) -> str:
    branch = table.text("branch")
    if branch and (not is_ref_name(branch) or branch.startswith("refs/")):
        table.problem("branch", f"{branch!r} is not a branch name that git allows")
    return branch


class _Entries:
    """Reads the lists of entries; hunks are looked up among the stacks of this manifest."""

    def __init__(
        self, table: Table, stacks: Mapping[str, Stack], files: Mapping[str, bytes], file: str
    ) -> None:
        self.table = table
        self.stacks = stacks
        self.files = files
        self.file = file
        self.patches: set[str] = set()  # those that a replace entry names
        self.hunks = {
            str(hunk_id): (patch_file, index)
            for stack in stacks.values()
            for hunk_id, _, patch_file, index in stack.hunks()
        }

    def adaptations(self) -> list[Adaptation]:
        found: list[Adaptation] = []
        for verb in VERBS:
            for entry in self.table.tables(verb):
                read = self._adaptation(verb, entry)
                entry.finish()
                if read:
                    found.append(read)
        return found

    def _adaptation(self, verb: str, entry: Table) -> Adaptation | None:
        hunk = self._hunk(entry)
        reason, when, source = self._common(entry)
        put = self._anchor(entry) if verb == "reanchor" else None
        patch, files = self._patch(entry, hunk) if verb == "replace" else ("", ())
        if hunk is None:
            return None
        if verb == "drop":
            return Drop(reason, when, source, hunk)
        self._check_place(entry, hunk, put)
        if verb == "replace":
            return Replace(reason, when, source, hunk, patch, files)
        return Reanchor(reason, when, source, hunk, put) if put else None

    def skips(self) -> list[Skip]:
        found = []
        for entry in self.table.tables("skip"):
            stack = entry.text("stack")
            if stack and stack not in self.stacks:
                entry.problem(
                    "stack", f"{stack!r} is not in stacks; {nearest(stack, sorted(self.stacks))}"
                )
            found.append(Skip(*self._common(entry), stack))
            entry.finish()
        return found

    def accepts(self) -> list[Accept]:
        found = []
        for entry in self.table.tables("accept"):
            line = entry.source.line_of(entry.keys)
            values = (entry.text(key) for key in ("code", "path", "symbol"))
            found.append(Accept(entry.text("reason"), f"{self.file}:{line}", *values))
            entry.finish()
        return found

    def _common(self, entry: Table) -> tuple[str, tuple[Evidence, ...], str]:
        line = entry.source.line_of(entry.keys)
        return entry.text("reason"), self._when(entry), f"{self.file}:{line}"

    def _when(self, entry: Table) -> tuple[Evidence, ...]:
        table = entry.table("when")
        found = []
        for key in ("present", "absent"):
            for text in table.texts(key, single=True):
                try:
                    found.append(Evidence.parse(key == "present", text))
                except ValueError as error:
                    table.problem(key, f"{text!r}: {error}")
        table.finish()
        if not found:
            entry.problem("when", "gives no evidence; say what is present or absent on the target")
        return tuple(found)

    def _anchor(self, entry: Table) -> Anchor | None:
        text = entry.text("put")
        try:
            return Anchor.parse(text) if text else None
        except ValueError as error:
            entry.problem("put", f"{text!r}: {error}")
            return None

    def _check_place(self, entry: Table, hunk: HunkId, put: Anchor | None) -> None:
        """Only lines that are changed in a file have a place, or other lines to stand for them."""
        file, index = self.hunks[str(hunk)]
        if index < 0 or file.creates or file.deletes:
            entry.problem("hunk", "names a whole file, which has no place in it; it can be dropped")
        elif put and file.hunks[index].removed and put.position != "in":
            entry.problem("put", "the hunk removes lines; use `in` or a replace entry")

    def _hunk(self, entry: Table) -> HunkId | None:
        """The hunk that the entry means: the digest decides, the ordinal breaks ties."""
        text = entry.text("hunk")
        if not text:
            return None
        try:
            wanted = HunkId.parse(text)
        except ValueError as error:
            entry.problem("hunk", f"{text!r}: {error}")
            return None
        if text in self.hunks:
            return wanted
        if wanted.stack not in self.stacks:
            entry.problem("hunk", f"{text}: its stack is not in `stacks`")
            return None
        alike = [found for found in map(HunkId.parse, self.hunks) if _same(found, wanted)]
        if len(alike) == 1:
            return alike[0]
        if not self.stacks[wanted.stack].whole:
            return None  # its damaged patch is told, and may hold the hunk
        entry.problem("hunk", f"there is no hunk {text}; {self._hint(wanted)}")
        return None

    def _hint(self, wanted: HunkId) -> str:
        """What stands where the hunk was, or whichever is spelt most like it.

        Another digest at the same place is another change, and no slip of the pen.
        """
        place = str(wanted).rpartition("@")[0] + "@"
        same = next((key for key in self.hunks if key.startswith(place)), "")
        if same:
            return f"the lines at its place changed, they are {same} now: read them again"
        close = [key for key in self.hunks if key.startswith(f"{wanted.stack}/{wanted.patch}:")]
        return nearest(str(wanted), close or [*self.hunks])

    def _patch(self, entry: Table, hunk: HunkId | None) -> tuple[str, tuple[FilePatch, ...]]:
        name = entry.text("patch")
        if not name:
            return "", ()
        self.patches.add(name)
        if name not in self.files:
            hint = nearest(name, sorted(self.files))
            entry.problem("patch", f"there is no {name} beside the manifest; {hint}")
            return name, ()
        folder = self.file.removesuffix(".toml")
        try:
            patch = parse_patch(self.files[name], name, f"{folder}/{name}")
        except PatchError as error:
            entry.source.problems.append(f"{folder}/{name}:{error.line}: {error.message}")
            return name, ()
        paths = [file.path for file in patch.files]
        if hunk and paths != [hunk.path]:
            entry.problem("patch", f"{name} changes {', '.join(paths)}, the hunk {hunk.path}")
        if not all(file.changes_lines_only for file in patch.files):
            entry.problem("patch", f"{name} must change lines of the file and nothing else")
        return name, patch.files

    def check(self, manifest: Manifest) -> None:
        """What only shows once all entries are read: doubles, and patch files nobody names."""
        seen: set[str] = set()
        for adaptation in manifest.adaptations:
            text = str(adaptation.hunk)
            if text in seen:
                self.table.source.problems.append(f"{adaptation.source}: {text} has two entries")
            seen.add(text)
        skipped = [skip.stack for skip in manifest.skips]
        for name in {name for name in skipped if skipped.count(name) > 1}:
            self.table.problem("skip", f"{name} is skipped twice")
        for adaptation in manifest.adaptations:
            if adaptation.hunk.stack in skipped:
                self.table.source.problems.append(
                    f"{adaptation.source}: {adaptation.hunk.stack} is skipped, so this does nothing"
                )
        for name in sorted(set(self.files) - self.patches):
            folder = self.file.removesuffix(".toml")
            self.table.source.problems.append(f"{folder}/{name}: no replace entry uses it")


def _same(found: HunkId, wanted: HunkId) -> bool:
    return (found.stack, found.patch, found.path, found.digest) == (
        wanted.stack,
        wanted.patch,
        wanted.path,
        wanted.digest,
    )
