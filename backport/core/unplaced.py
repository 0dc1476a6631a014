"""What shows on the target why a hunk has no place there: the evidence of an entry to paste.

Every statement that is offered has been found true of the target's own files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from backport.core.evidence import stale
from backport.core.evidencing import hunk_evidence, place_evidence
from backport.core.manifests import Evidence
from backport.core.outcomes import HunkResult, Outcome, StackOutcome, StackResult
from backport.core.patches import MODULE_SCOPE, FilePatch, Hunk, Patch
from backport.core.paths import decode, encode, parents
from backport.core.placing import closest
from backport.core.stacks import Stack
from backport.core.texts import Target
from backport.core.trees import DIRECTORY, Entry, Tree

if TYPE_CHECKING:
    from backport.core.preimages import Preimages, Sources

MOST = 200  # letters of a line that is evidence


class _Search(NamedTuple):
    """What is looked through: the base, and what the target's stacks make of it.

    `lost` has the evidence of hunks without a place by the lines that they would have made.
    """

    base: Tree
    made: tuple[FilePatch, ...]
    lost: dict[tuple[str, str], Evidence]


class _Written(NamedTuple):
    """A hunk as its patch has it; None: the file's header itself."""

    patch: Patch
    file: FilePatch
    hunk: Hunk | None


def with_evidence(
    results: Sequence[StackResult], stacks: Mapping[str, Stack], base: Tree, sources: Sources
) -> tuple[StackResult, ...]:
    """A target's results, each hunk of a conflict with a statement that is true of the base.

    `sources` give what the patches were made on.
    """
    patches = [patch for result in results for patch in stacks[result.stack].patches]
    search = _Search(base, tuple(file for patch in patches for file in patch.files), {})
    return tuple(_evident(search, stacks[result.stack], result, sources) for result in results)


def _evident(search: _Search, stack: Stack, result: StackResult, sources: Sources) -> StackResult:
    if result.outcome is not StackOutcome.CONFLICT:
        return result
    before = sources(stack)
    written = {
        str(key): _Written(patch, file, file.hunks[at] if at >= 0 else None)
        for key, patch, file, at in stack.hunks()
    }
    return result._replace(
        hunks=tuple(
            _shown(search, hunk, written[str(hunk.id)], before) if str(hunk.id) in written else hunk
            for hunk in result.hunks
        )
    )


def _shown(search: _Search, result: HunkResult, mine: _Written, before: Preimages) -> HunkResult:
    if result.outcome is Outcome.ALREADY:
        statements = _there(search, mine)
    elif result.outcome.failed:
        statements = _missed(search, result, mine, before)
    else:
        return result
    found = next((each for each in statements if not stale((each,), search.base)), None)
    if not found:
        return result
    if result.outcome.failed and mine.hunk:
        for line in mine.hunk.added:
            search.lost.setdefault((mine.file.path, decode(line).strip()), found)
    return result._replace(evidence=str(found))


def _there(search: _Search, mine: _Written) -> Iterator[Evidence]:
    """What shows that the result stands there: a line of it, or the file that it makes or takes."""
    file = mine.file
    found = hunk_evidence(file.path, mine.hunk, search.base, None) if mine.hunk else None
    if found:
        yield found
    if file.deletes:
        yield Evidence(False, file.path)
    elif file.creates or file.renames:
        yield Evidence(True, file.path)


def _missed(
    search: _Search, result: HunkResult, mine: _Written, before: Preimages
) -> Iterator[Evidence]:
    """What shows that the hunk has no place, the plainest first."""
    yield from _absent(search, mine)
    yield from _in_the_way(search, mine)
    hunk, path = mine.hunk, mine.file.old_path or mine.file.path
    if hunk is None:
        return
    for text in _texts(hunk):
        if (path, text) in search.lost and not _stands(text, search.base.entry(path)):
            yield search.lost[path, text]
    if result.outcome is Outcome.AMBIGUOUS:
        found = place_evidence(path, hunk.before.split(b"\n"), search.base, None)
    else:
        found = _between(search, path, hunk, before.find(mine.patch, mine.file))
    if found:
        yield found


def _absent(search: _Search, mine: _Written) -> Iterator[Evidence]:
    """What may be absent, the greatest first: the file, the scope, a line that the hunk needs.

    What one of the target's stacks makes itself says nothing about the base.
    """
    path, hunk = mine.file.old_path, mine.hunk
    here = [made for made in search.made if made.new_path == path]
    if path is None or any(made.creates or made.renames for made in here):
        return
    yield Evidence(False, path)
    if hunk is None:
        return
    added = {decode(line).strip() for made in here for each in made.hunks for line in each.added}
    scope = hunk.scope or MODULE_SCOPE
    if scope != MODULE_SCOPE and not _defined(scope.rpartition(".")[2], added):
        yield Evidence(False, path, symbol=scope)
    yield from (Evidence(False, path, text=text) for text in _texts(hunk) if text not in added)


def _texts(hunk: Hunk) -> Iterator[str]:
    """The lines that the hunk needs and that say something."""
    for line in hunk.before.split(b"\n"):
        text = decode(line).strip()
        if any(map(str.isalnum, text)) and text.isprintable() and len(text) <= MOST:
            yield text


def _stands(text: str, entry: Entry | None) -> bool:
    return entry is not None and encode(text) in map(bytes.strip, entry.data.split(b"\n"))


def _defined(name: str, lines: set[str]) -> bool:
    starts = tuple(word + name for word in ("def ", "class ", "async def "))
    return any(line.startswith(starts) for line in lines)


def _in_the_way(search: _Search, mine: _Written) -> Iterator[Evidence]:
    """The file that stands where one is to be made, or where a folder for it would be."""
    if mine.file.creates or mine.file.renames:
        entries = ((above, search.base.entry(above)) for above in parents(mine.file.path))
        files = [above for above, entry in entries if entry and entry.mode != DIRECTORY]
        yield Evidence(True, files[0] if files else mine.file.path)


def _between(search: _Search, path: str, hunk: Hunk, before: bytes | None) -> Evidence | None:
    """A line that has come, since the patch was made, where the text is most like the hunk's:
    among its lines, else beside them."""
    entry = search.base.entry(path)
    if entry is None or before is None:
        return None
    target = Target(path, entry.data)
    found = closest(hunk, target)
    start = found[0] - 1 if found else len(target.lines)
    end = start + hunk.old_count
    known = {line.strip() for line in before.split(b"\n")}
    inside, around = (
        place_evidence(path, (x for x in lines if x.strip() not in known), search.base, None)
        for lines in (target.lines[start:end], target.lines[max(0, start - 3) : end + 3])
    )
    return inside or around
