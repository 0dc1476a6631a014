"""Stacks of patches on a real vLLM release, as one library each and as one mbox each."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from backport import plumbing
from backport.checkout import Checkout
from backport.commit_tree import CommitTree
from backport.core.parsing import parse_diff
from backport.core.patches import Hunk
from backport.core.paths import quote
from backport.core.stacks import Upstream
from backport.core.texts import Edit, splice, split_keeping_ends
from backport.core.trees import Entry
from backport.workflows.importing import describe
from backport.workflows.incoming import of_commits
from backport.workflows.stack_files import write

BASE, NEXT = "v0.28.0", "v0.29.0"
BRANCH = "bench"
_FILES_A_PATCH = 5
_DISTINCT_FILES = 16
_WORDS = ("attention", "mla")

Change = Mapping[str, Entry]  # path -> the whole file after one patch


@dataclass(frozen=True, slots=True)
class Series:
    """The same patches twice: a library whose one target is `bench/only`, and an mbox."""

    label: str
    patches: int
    files: int
    library: Path
    mbox: Path


def build(cached: Path, folder: Path, labels: Sequence[str]) -> list[Series]:
    """The stacks of these labels, made in a repository of their own.

    `git am` skips a write where the object is there already, so the results must
    not lie in the repository that is measured.
    """
    workshop = folder / "workshop.git"
    Checkout.create(workshop, {"gc.auto": "0", "fetch.unpackLimit": "1"})
    git(
        workshop,
        "fetch",
        "-q",
        str(cached),
        *(f"refs/tags/{tag}:refs/tags/{tag}" for tag in (BASE, NEXT)),
    )
    series = []
    for label in labels:
        with Checkout.open(workshop) as checkout:
            changes = STACKS[label](checkout)
        plumbing.fast_import(workshop, _commits(label, changes))
        series.append(_series(label, workshop, changes, folder))
    return series


def git(repo: Path, *words: str) -> str:
    """What git prints; raises CalledProcessError where it fails."""
    done = subprocess.run(
        ["git", "-C", str(repo), *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


# ---------------------------------------------------------------- what changes


def real_changes(checkout: Checkout) -> list[Change]:
    """The attention and MLA part of the real diff between two releases, hunk by hunk.

    Ten patches of five files: the hunks of each file in order, spread over as many
    patches as its share of all hunks asks for.
    """
    parts = _parts(checkout)
    changes: list[Change] = []
    for _ in range(10):
        most_left = sorted(parts, key=lambda path: (-len(parts[path]), path))
        changes.append({path: parts[path].pop(0) for path in most_left[:_FILES_A_PATCH]})
    return changes


def _parts(checkout: Checkout) -> dict[str, list[Entry]]:
    """Each of the most changed files after each part of its hunks."""
    words = ("diff-tree", "-r", "-p", "--diff-filter=M", BASE, NEXT, "--", "vllm")
    diff = plumbing.run(checkout.git_dir, *words)
    files = [file for file in parse_diff(diff) if _wanted(file.path)]
    files.sort(key=lambda file: (-len(file.hunks), file.path))
    hunks = {file.path: file.hunks for file in files[:_DISTINCT_FILES]}
    before = checkout.tree(checkout.base(BASE))
    return {
        path: list(_after_parts(_file(before, path), hunks[path], count))
        for path, count in _shares(hunks).items()
    }


def _shares(hunks: Mapping[str, Sequence[Hunk]]) -> dict[str, int]:
    """In how many patches each file is, by its number of hunks: at least one, at most ten."""
    counts = dict.fromkeys(hunks, 1)
    while sum(counts.values()) < 10 * _FILES_A_PATCH:
        possible = [path for path in hunks if counts[path] < min(10, len(hunks[path]))]
        counts[max(possible, key=lambda path: len(hunks[path]) / counts[path])] += 1
    return counts


def _wanted(path: str) -> bool:
    return path.endswith(".py") and any(word in path for word in _WORDS)


def _after_parts(file: Entry, hunks: Sequence[Hunk], parts: int) -> Iterator[Entry]:
    """The file after each of `parts` runs of the hunks, all earlier ones included."""
    lines = split_keeping_ends(file.data)
    starts = [0, *accumulate(map(len, lines))]
    edits = []
    done = 0
    for part in range(1, parts + 1):
        until = len(hunks) * part // parts
        for hunk in hunks[done:until]:
            start = starts[hunk.old_start - 1]
            edits.append(Edit(start, start + len(hunk.before), hunk.after))
        done = until
        yield Entry(file.mode, splice(file.data, edits))


def small_edits(checkout: Checkout, count: int) -> list[Change]:
    """Small edits in one to three random source files a patch, the same in every run."""
    chance = random.Random(count)  # noqa: S311
    before = checkout.tree(checkout.base(BASE))
    names = sorted(path for path in before.paths() if _source(path))
    files: dict[str, Entry] = {}
    changes: list[Change] = []
    for number in range(count):
        change = {}
        for path in chance.sample(names, chance.randint(1, 3)):
            file = files.get(path) or _file(before, path)
            files[path] = change[path] = Entry(file.mode, _edited(file.data, number, chance))
        changes.append(change)
    return changes


def _source(path: str) -> bool:
    return path.startswith("vllm/") and path.endswith(".py")


def _edited(text: bytes, number: int, chance: random.Random) -> bytes:
    """The text with one to three comment lines put in at a random place.

    A comment or blank line there is replaced by them; to lose a line of code could
    leave a class without its header, which the tool rightly calls a failure.
    """
    lines = text.split(b"\n")
    at = chance.randrange(len(lines))
    new = [b"# edit %d, line %d" % (number, line) for line in range(chance.randint(1, 3))]
    replaced = lines[at].strip()[:1] in (b"", b"#")
    lines[at : at + replaced] = new
    return b"\n".join(lines)


def _file(tree: CommitTree, path: str) -> Entry:
    found = tree.entry(path)
    if found is None:
        raise LookupError(path)
    return found


# ---------------------------------------------------------------- as commits, library and mbox


def _commits(label: str, changes: list[Change]) -> Iterator[bytes]:
    yield b"reset refs/heads/%s\nfrom refs/tags/%s\n" % (label.encode(), BASE.encode())
    for number, change in enumerate(changes, 1):
        message = b"Patch %04d of %s\n\nPart of a stack that is measured.\n" % (
            number,
            label.encode(),
        )
        yield b"commit refs/heads/%s\n" % label.encode()
        yield b"committer Bench <bench@example.com> %d +0000\n" % (1_700_000_000 + number)
        yield b"data %d\n%s" % (len(message), message)
        for path, file in change.items():
            yield b"M %s inline %s\n" % (file.mode.encode(), quote(path))
            yield b"data %d\n%s\n" % (len(file.data), file.data)


def _series(label: str, workshop: Path, changes: list[Change], folder: Path) -> Series:
    library = folder / label
    (library / "manifests" / "bench").mkdir(parents=True)
    with Checkout.open(workshop) as checkout:
        incoming = of_commits(checkout, BASE, label)
    stack = describe("stack", incoming, BASE, (), Upstream())
    written = write(library, stack, force=False)
    (library / "manifests/bench/only.toml").write_text(
        f'schema = 1\nbase = "{BASE}"\nbranch = "{BRANCH}"\nstacks = ["stack"]\n'
    )
    mbox = folder / f"{label}.mbox"
    mbox.write_bytes(b"".join(path.read_bytes() for path in written if path.suffix == ".patch"))
    files = {path for change in changes for path in change}
    return Series(label, len(changes), len(files), library, mbox)


STACKS: Mapping[str, Callable[[Checkout], list[Change]]] = {
    "A10": real_changes,
    "S100": lambda checkout: small_edits(checkout, 100),
    "S1000": lambda checkout: small_edits(checkout, 1000),
}
