"""The patch that undoes a patch, for telling what stands on a target already."""

from __future__ import annotations

from backport.core.patches import FilePatch, Hunk


def reverse(file: FilePatch) -> FilePatch:
    """The patch that undoes `file`."""
    swap = {b"+": b"-", b"-": b"+", b" ": b" "}
    hunks = tuple(
        Hunk(
            hunk.new_start,
            hunk.old_start,
            _removals_first([swap[line[:1]] + line[1:] for line in hunk.lines]),
        )
        for hunk in file.hunks
    )
    return FilePatch(
        file.new_path,
        file.old_path,
        hunks,
        file.new_mode,
        file.old_mode,
        file.new_blob,
        file.old_blob,
    )


def _removals_first(lines: list[bytes]) -> tuple[bytes, ...]:
    """The lines with removals before additions in each run of changes, as diffs have them."""
    out: list[bytes] = []
    run: list[bytes] = []
    for line in [*lines, b" "]:
        if line[:1] != b" ":
            run.append(line)
            continue
        out += sorted(run, key=lambda changed: changed[:1] == b"+")
        out.append(line)
        run = []
    return tuple(out[:-1])
