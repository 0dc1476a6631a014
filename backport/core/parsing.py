"""Read unified diffs as git and GNU diff write them, strictly.

The counts of a hunk must hold, names must be safe, and what cannot be applied in
full (a binary change without data, a combined diff) is refused before anything
is tried. Every error names the line of the patch file.
"""

from __future__ import annotations

import re

from backport.core.binary import BinaryError, read_binary
from backport.core.cursors import Cursor, PatchError, split_lines
from backport.core.dataless import is_without_data
from backport.core.hunk_parsing import RANGE, read_hunks
from backport.core.patches import Binary, FilePatch
from backport.core.paths import decode, parents, unquote, unsafe
from backport.core.trees import SYMLINK

_PREFIX = re.compile(r"([abciow12])/(?=.)", re.DOTALL)
_INDEX = re.compile(rb"index ([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: ([0-7]{6}))?")
_MODES = {"100644", "100755", "120000", "160000"}
_NULL = "/dev/null"
_FILE_STARTS = (b"diff ", b"Index: ", b"--- ", b"=====")
_EPOCH = rb".*\t(1969-12-31|1970-01-01) (\d\d):(\d\d):00(?:\.0+)? ([-+])(\d\d):?(\d\d)"


def parse_diff(data: bytes, first_line: int = 1) -> tuple[FilePatch, ...]:
    """Every file that the diff in `data` changes, in order; text around the diffs is passed over.

    Raises PatchError for anything that cannot be read or must not be applied.
    """
    cursor = Cursor(split_lines(data), first_line)
    files = []
    while not cursor.ended:
        line = cursor.peek()
        _refuse_combined(cursor)
        if line.startswith(b"diff --git "):
            files.append(_git_file(cursor))
        elif line.startswith(b"--- ") and cursor.peek(1).startswith(b"+++ "):
            files.append(_plain_file(cursor))
        elif line.startswith(b"@@ -") and RANGE.match(line):
            raise cursor.fail("a hunk without a file header above it")
        else:
            _pass_over(cursor, bool(files))
    _refuse_below_own_link(files)
    return tuple(files)


def _refuse_below_own_link(files: list[FilePatch]) -> None:
    """A patch that makes a link and writes below it would write wherever the link leads."""
    links = {file.new_path for file in files if file.new_mode == SYMLINK}
    for file in files if links else ():
        for above in parents(file.new_path or ""):
            if above in links:
                problem = f"it lies below {above!r}, which the patch makes a symbolic link"
                raise PatchError(file.at, f"unsafe path {file.new_path!r}: {problem}")


def _refuse_combined(cursor: Cursor) -> None:
    if cursor.peek().startswith((b"diff --cc ", b"diff --combined ", b"@@@ ")):
        raise cursor.fail(
            "this is the combined diff of a merge, which cannot be applied; "
            "export the merge with `git show -m --first-parent`"
        )


def _pass_over(cursor: Cursor, below_a_diff: bool) -> None:
    """Leave a line behind that is no diff, or lines that tell of changes without their data.

    A message may hold such lines; raises where a tool wrote them, below a diff or beside one.
    """
    first = cursor.at
    while is_without_data(cursor.peek()) or (
        cursor.at > first and cursor.peek().startswith((b"  > ", b"  < "))  # a submodule's commits
    ):
        cursor.at += 1
    above = cursor.lines[first - 1] if first else _FILE_STARTS[0]
    beside = above.startswith(_FILE_STARTS) or cursor.peek().startswith(_FILE_STARTS)
    if cursor.at == first:
        cursor.at += 1
    elif below_a_diff or beside:
        cursor.at = first
        raise cursor.fail(
            f"{decode(cursor.peek())!r} tells of a change without its data; "
            "write the diff with `git diff --binary --submodule=short` or `hg diff --git`, "
            "or take the line out"
        )


# ---------------------------------------------------------------- file headers


def _git_file(cursor: Cursor) -> FilePatch:
    start = cursor.number
    _refuse_carriage_return(cursor)
    header = cursor.peek()[len(b"diff --git ") :]
    cursor.at += 1
    found = _extended_header(cursor)
    names = _names(cursor, start, header, found)
    old_path = None if found.created else names[0]
    new_path = None if found.deleted else names[1]
    patch = FilePatch(
        old_path,
        new_path,
        old_mode=found.old_mode,
        new_mode=found.new_mode,
        old_blob=found.old_blob,
        new_blob=found.new_blob,
        copy=found.copy,
        at=start,
    )
    for name in (old_path, new_path):
        _refuse_unsafe(start, name)
    if cursor.peek().startswith(b"Binary files ") or cursor.peek() == b"GIT binary patch":
        return patch._replace(binary=_binary(cursor, patch))
    return _finish(patch, cursor)


def _finish(patch: FilePatch, cursor: Cursor) -> FilePatch:
    _refuse_combined(cursor)
    patch = patch._replace(hunks=read_hunks(cursor, patch.path))
    changed = patch.hunks or patch.renames or patch.creates or patch.deletes
    if not changed and patch.old_mode == patch.new_mode:
        raise PatchError(patch.at, f"the diff of {patch.path} changes nothing")
    if patch.creates and any(hunk.before for hunk in patch.hunks):
        raise PatchError(patch.at, f"the diff creates {patch.path}, but expects old lines in it")
    if patch.deletes and any(hunk.after for hunk in patch.hunks):
        raise PatchError(patch.at, f"the diff deletes {patch.path}, but leaves lines in it")
    return patch


class _Extended:
    """What the lines between `diff --git` and the first hunk say."""

    def __init__(self) -> None:
        self.created = self.deleted = self.copy = False
        self.old_mode = self.new_mode = ""
        self.old_blob = self.new_blob = ""
        self.old_name: str | None = None
        self.new_name: str | None = None


def _extended_header(cursor: Cursor) -> _Extended:
    found = _Extended()
    while not cursor.ended and _extended_line(cursor, cursor.peek(), found):
        cursor.at += 1
    return found


def _extended_line(cursor: Cursor, line: bytes, found: _Extended) -> bool:
    """Take one line into `found`; False where the extended header has ended."""
    key, _, value = line.partition(b" ")
    if key in (b"old", b"new", b"deleted") and b"mode " in value:
        mode = _mode(cursor, value.rpartition(b"mode ")[2])
        found.created |= line.startswith(b"new file mode ")
        found.deleted |= key == b"deleted"
        setattr(found, "new_mode" if key == b"new" else "old_mode", mode)
    elif key in (b"rename", b"copy") and value.startswith((b"from ", b"to ")):
        side, _, name = value.partition(b" ")
        setattr(found, "old_name" if side == b"from" else "new_name", _bare_name(cursor, name))
        found.copy |= key == b"copy"
    elif key == b"index":
        blobs = _INDEX.fullmatch(line)
        if not blobs:
            raise cursor.fail("an index line that cannot be read")
        found.old_blob, found.new_blob = (blob.decode() for blob in blobs.groups()[:2])
        if blobs.group(3):
            found.old_mode = found.new_mode = _mode(cursor, blobs.group(3))
    elif key not in (b"similarity", b"dissimilarity"):
        return False
    return True


def _mode(cursor: Cursor, raw: bytes) -> str:
    mode = decode(raw)
    if mode not in _MODES:
        raise cursor.fail(f"the file mode {mode!r} is none that git writes")
    return mode


def _names(cursor: Cursor, start: int, header: bytes, found: _Extended) -> tuple[str, str]:
    """The old and new name, from the clearest lines that give them."""
    if found.old_name is not None and found.new_name is not None:
        _skip_name_lines(cursor)
        return found.old_name, found.new_name
    if cursor.peek().startswith(b"--- ") and cursor.peek(1).startswith(b"+++ "):
        old, new = _name_lines(cursor)
        name, _ = _header_names(start, header)
        expected = (None if found.created else name, None if found.deleted else name)
        if (old, new) != expected:
            raise PatchError(start, "the header and the `---`/`+++` lines contradict each other")
        return name, name
    return _header_names(start, header)


def _skip_name_lines(cursor: Cursor) -> None:
    if cursor.peek().startswith(b"--- ") and cursor.peek(1).startswith(b"+++ "):
        cursor.at += 2


def _name_lines(cursor: Cursor) -> tuple[str | None, str | None]:
    _refuse_carriage_return(cursor)
    old, old_prefix = _side(cursor, cursor.peek()[4:])
    new, new_prefix = _side(cursor, cursor.peek(1)[4:])
    if old_prefix and old_prefix == new_prefix:
        raise cursor.fail(_no_prefix(old_prefix + "/" + (old or "")))
    cursor.at += 2
    return old, new


def _side(cursor: Cursor, raw: bytes) -> tuple[str | None, str]:
    """The name on a `---` or `+++` line and its prefix letter; None for /dev/null."""
    name = _bare_name(cursor, raw.split(b"\t", 1)[0] if not raw.startswith(b'"') else raw)
    if name == _NULL:
        return None, ""
    if name.startswith("/"):
        raise cursor.fail(f"unsafe path {name!r}: it is absolute")
    return _strip_prefix(cursor.number, name)


def _bare_name(cursor: Cursor, raw: bytes) -> str:
    if not raw.startswith(b'"'):
        return decode(raw)
    try:
        return unquote(raw)[0]
    except ValueError as error:
        raise cursor.fail(str(error)) from None


def _strip_prefix(line: int, name: str) -> tuple[str, str]:
    found = _PREFIX.match(name)
    if not found:
        raise PatchError(line, _no_prefix(name))
    return name[2:], found.group(1)


def _no_prefix(name: str) -> str:
    return (
        f"{name} has no a/ or b/ prefix (made with diff.noprefix?); "
        "export it again with `git -c diff.noprefix=false format-patch`"
    )


def _header_names(line: int, header: bytes) -> tuple[str, str]:
    """Both names from the `diff --git` line alone; there they must be the same name."""
    try:
        sides = _split_header(header)
    except ValueError as error:
        raise PatchError(line, str(error)) from None
    (old, old_prefix), (new, new_prefix) = (_strip_prefix(line, side) for side in sides)
    if old_prefix == new_prefix:
        raise PatchError(line, _no_prefix(sides[0]))
    if old != new:
        raise PatchError(line, "two names in a header without rename or copy lines")
    return old, new


def _split_header(header: bytes) -> tuple[str, str]:
    if header.startswith(b'"'):
        old, rest = unquote(header)
        rest = rest[1:]
        return old, unquote(rest)[0] if rest.startswith(b'"') else decode(rest)
    if header.endswith(b'"') and b' "' in header:
        old_raw, _, rest = header.partition(b' "')
        return decode(old_raw), unquote(b'"' + rest)[0]
    half = (len(header) - 1) // 2  # the same name twice, with a space between
    if len(header) % 2 == 0 or header[half : half + 1] != b" ":
        raise ValueError("the names in this header cannot be told apart (no prefix?)")
    return decode(header[:half]), decode(header[half + 1 :])


def _plain_file(cursor: Cursor) -> FilePatch:
    """A file of a traditional diff, which has only `---` and `+++`."""
    start = cursor.number
    absent = _is_epoch(cursor.peek()), _is_epoch(cursor.peek(1))
    old, new = _name_lines(cursor)
    if old is not None and new is not None and old != new:
        old = new  # GNU diff compares a.orig with a: the new name is the one meant
    for name in (old, new):
        _refuse_unsafe(start, name)
    if old is None and new is None:
        raise PatchError(start, "both sides are /dev/null")
    return _without_absent(_finish(FilePatch(old, new, at=start), cursor), *absent)


def _without_absent(patch: FilePatch, old: bool, new: bool) -> FilePatch:
    """The patch, created or deleted where a side has the epoch's time and not one line.

    So `diff -N` writes a file that is not there; one that is there may be as old.
    """
    first = patch.hunks[0] if len(patch.hunks) == 1 else None
    if old and first and not first.before and not first.old_start:
        return patch._replace(old_path=None)
    if new and first and not first.after and not first.new_start:
        return patch._replace(new_path=None)
    return patch


def _is_epoch(line: bytes) -> bool:
    """True where a `---` or `+++` line bears the first second of 1970, in whatever zone."""
    found = re.fullmatch(_EPOCH, line) if b"\t19" in line else None
    if not found:
        return False
    day, hour, minute, sign, *zone = found.groups()
    east = int(zone[0]) * 60 + int(zone[1])
    local = int(hour) * 60 + int(minute) - (1440 if day == b"1969-12-31" else 0)
    return local == (-east if sign == b"-" else east)


def _refuse_unsafe(line: int, name: str | None) -> None:
    if name is None:
        return
    problem = unsafe(name)
    if problem:
        raise PatchError(line, f"unsafe path {name!r}: {problem}")


def _refuse_carriage_return(cursor: Cursor) -> None:
    if cursor.peek().endswith(b"\r"):
        raise cursor.fail(
            "the patch file has CRLF line endings, in its headers too; save it with LF"
        )


def _binary(cursor: Cursor, patch: FilePatch) -> Binary:
    if cursor.peek().startswith(b"Binary files "):
        raise cursor.fail(
            f"the binary change of {patch.path} carries no data; export it with `--binary`"
        )
    cursor.at += 1
    try:
        binary, used = read_binary(cursor.lines[cursor.at :])
    except BinaryError as error:
        raise cursor.fail(f"the binary change of {patch.path}: {error}") from None
    if binary.delta and patch.creates:
        raise cursor.fail(f"the diff creates {patch.path} from a delta, which needs an old content")
    cursor.at += used
    return binary
