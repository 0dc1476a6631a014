"""Bytes of all kinds for the parsers: they read them or refuse them, and nothing else.

    python -m tests.faults.fuzz --seconds 60          # a mutator of our own
    python -m tests.faults.fuzz --engine atheris      # coverage-guided, where it is installed

The first byte picks the parser, the rest is its input. Only the parsers' own refusals
may come out, and what was read must be written and read again as the same.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from types import FunctionType

from backport.core.applying import apply_stack
from backport.core.cursors import PatchError
from backport.core.locks import compare_lock
from backport.core.mail import parse_patch, split_mbox
from backport.core.manifest_format import read_manifest
from backport.core.parsing import parse_diff
from backport.core.paths import decode
from backport.core.rendering import render_diff
from backport.core.reversing import reverse
from backport.core.stack_format import read_stack, uncanonical
from backport.report.reading import NotAReport, parse_report
from tests.builders import diff, mail, numbered, patch, stack, tree

HOME = numbered(1, 20)
DIFF = diff("pkg/a.py", HOME, HOME.replace("line 9\n", "nine\n"), index=True, section="A.f")
STACK = stack(patch("p1", DIFF), name="stack")
HUNK = str(STACK.hunks()[0][0])
MANIFEST = f"""\
schema = 1
base = "v1"
branch = "me/v1"
stacks = ["stack"]
[[reanchor]]
hunk = "{HUNK}"
put = "in A.f"
reason = "because"
when = {{ absent = ["pkg/a.py::B", "pkg/a.py: text"], present = "pkg" }}
[[accept]]
code = "c"
path = "p"
symbol = "s"
reason = "r"
"""
TOML = """\
schema = 1
title = "T"
kind = "upstream"
home = "v1"
why = "W"
[upstream]
repo = "a/b"
pull = 1
commits = ["0123abc"]
"""
LOCK = '{"schema": 1, "stacks": [{"name": "s", "digest": "d", "outcome": "applied", "hunks": []}],'
LOCK += '"base": {"commit": "c"}, "tree": "t", "files": {"f": {"before": null, "after": "x"}}}'
BINARY = b"diff --git a/b b/b\nnew file mode 100644\nindex 0000000..1111111\nGIT binary patch\n"


def read_diff(data: bytes) -> None:
    files = parse_diff(data)
    again = parse_diff(render_diff(files))
    assert [file.hunks for file in again] == [file.hunks for file in files]
    assert [file.path for file in again] == [file.path for file in files]
    base = tree({"pkg/a.py": HOME})
    apply_stack(stack(patch("p1", data)), {}, base)
    for file in files:
        reverse(file)


def read_mbox(data: bytes) -> None:
    for line, part in split_mbox(data):
        parse_patch(part, "p", "p.patch", line)


def read_stack_folder(data: bytes) -> None:
    toml, _, rest = data.partition(b"\0")
    series, _, text = rest.partition(b"\0")
    files = {"stack.toml": toml, "series": series, "p1.patch": text}
    found, problems = read_stack("stack", "patches/stack", files)
    if not problems:
        uncanonical("patches/stack", found, files)


def read_target(data: bytes) -> None:
    text, _, more = data.partition(b"\0")
    files = {"x.patch": more} if more else {}
    read_manifest("me/v1", "manifests/me/v1.toml", decode(text), {"stack": STACK}, files)


def read_lock(data: bytes) -> None:
    now = {
        "schema": 1,
        "stacks": [{"name": "s", "digest": "e", "outcome": "already", "hunks": []}],
        "base": {"commit": "c"},
        "tree": "u",
        "files": {"f": {"before": "y", "after": "x"}},
    }
    compare_lock("x.lock", decode(data), now)


def read_report(data: bytes) -> None:
    parse_report(data)


TARGETS: Mapping[str, tuple[Callable[[bytes], None], tuple[bytes, ...]]] = {
    "diff": (read_diff, (DIFF, DIFF + diff("new", None, "x\n"), BINARY + b"literal 1\nIcmZ\n\n")),
    "mbox": (read_mbox, (mail("[PATCH 1/2] =?utf-8?q?x?=", DIFF, "Why.") * 2,)),
    "stack": (read_stack_folder, (TOML.encode() + b"\0p1\n\0" + mail("[PATCH] x", DIFF),)),
    "manifest": (read_target, (MANIFEST.encode(), MANIFEST.encode() + b"\0" + DIFF)),
    "lock": (read_lock, (LOCK.encode(),)),
    "report": (read_report, (b'{"schema": 1, "targets": [], "stacks": []}',)),
}
REFUSALS = (PatchError, NotAReport)


def feed(name: str, data: bytes) -> bool:
    """Give one input to one parser: True where it was read, False where it was refused."""
    try:
        TARGETS[name][0](data)
    except REFUSALS:
        return False
    return True


WORDS = (
    *(b"\n", b"\0", b" ", b"\r", b"\xff", b"\\", b'"', b"[", b"{", b"-- \n", b"From ", b"@@ "),
    *(b"@@ -0,0 +1 @@\n", b"diff --git a/x b/x\n", b"--- a/x\n+++ b/x\n", b"rename from x\n"),
    *(
        b"999999999",
        b"-1",
        b"0",
        b"120000",
        b"160000",
        b"/dev/null",
        b"../",
        b".git",
        b"GIT binary ",
    ),
    *(b"literal 1\n", b"delta 9\n", b"\\ No newline\n", b"=?utf-8?b?", b"base64", b"[[drop]]\n"),
    *(b"null", b"true", b'"a"', b"1e999", b"[[]]", b"\xe2\x80\xae", b"\xed\xa0\x80"),
)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The input with a few pieces cut, doubled, exchanged or replaced."""
    for _ in range(chance.randint(1, 6)):
        start, end = sorted(chance.randint(0, len(data)) for _ in range(2))
        end = min(end, start + chance.choice((1, 4, 40, 400)))
        piece = data[start:end]
        new = chance.choice((b"", piece * 2, piece[::-1], chance.choice(WORDS), piece.upper()))
        data = data[:start] + new + data[end:]
    return data


def fuzz(seconds: float, seed: int, inputs: int = sys.maxsize) -> Counter[str]:
    """Feed mutated inputs until the time is over; how many were read and refused, by parser.

    Raises whatever a parser lets out, with the input noted.
    """
    chance = random.Random(seed)  # noqa: S311 - the same inputs for the same seed
    corpus = {name: [*seeds] for name, (_, seeds) in TARGETS.items()}
    counts: Counter[str] = Counter()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and counts.total() < inputs:
        name = chance.choice([*corpus])
        data = mutated(chance.choice(corpus[name]), chance)
        try:
            read = feed(name, data)
        except Exception as error:
            error.add_note(f"{name}: {data!r}")
            raise
        counts[f"{name} {'read' if read else 'refused'}"] += 1
        if read and len(data) < 4000 and chance.random() < 0.02:  # mostly near the seeds
            corpus[name].append(data)
    return counts


def with_atheris(seconds: float) -> None:
    import atheris

    names = sorted(TARGETS)

    def one(data: bytes) -> None:
        if data:
            feed(names[data[0] % len(names)], data[1:])

    _instrument(atheris.instrument_func)
    atheris.Setup([sys.argv[0], f"-max_total_time={int(seconds)}"], one)
    atheris.Fuzz()


def _instrument(instrumented: Callable[[FunctionType], FunctionType]) -> None:
    """Have the core's functions tell what they run; all that is loaded would take minutes."""
    for name, module in [*sys.modules.items()]:
        if name.startswith("backport.core."):
            for key, value in [*vars(module).items()]:
                if isinstance(value, FunctionType) and value.__module__ == name:
                    setattr(module, key, instrumented(value))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--engine", choices=("own", "atheris"), default="own")
    given = parser.parse_args()
    if given.engine == "atheris":
        with_atheris(given.seconds)
        return
    counts = fuzz(given.seconds, given.seed)
    told = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
    sys.stdout.write(f"{counts.total():,} inputs ({told}); crashes 0\n")


if __name__ == "__main__":
    main()
