"""How often a change lands as a maintainer landed it: git's merge, our applied tier, our proposals.

    python -m benchmarks.placement --pairs pairs.jsonl --repos FOLDER --evaluate evaluate.py
                                   [--subset conflict-python] [--limit N] [--counts] [--audit]

A pair is an original commit O with its parent P, and a maintainer's backport B with its
parent T; the tool sees P, O and T. `evaluate.py` reads the pairs and scores: identical to
B, the same code in another layout, different, or a conflict. FOLDER holds bare
repositories. `--counts` prints the table that `backport/core/merging_confidence.py` holds.
`--audit` asks the audit about every result that is finished and wrong.

Pairs are split into two halves by the original commit, so that a rule made on one half
can be seen on the other.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from backport.core.objects import blob_id
from backport.core.outcomes import Severity
from benchmarks.audit_backports import Auditors, Repository, StoredTree, speak
from benchmarks.place_commit import Conflict, Placed, Store, git_merge, place_all

Pair = dict[str, Any]
GOOD = ("identical", "same")


class Result(NamedTuple):
    """One pair: each conflict's placing and verdict, git's own part, and milliseconds."""

    pair: Pair
    placed: list[Placed]
    verdicts: list[str]
    rest: str
    git_ms: float
    our_ms: float
    owners: int
    flagged: Severity | None = None  # the gravest that the audit says of a silent fault
    audited: bool = False

    @property
    def silent(self) -> bool:
        """Finished, by git or by the applied tier, and not as the maintainer did."""
        return self.applied and self.verdict == "different"

    @property
    def half(self) -> str:
        return "AB"[zlib.crc32(self.pair["group"].encode()) % 2]

    @property
    def verdict(self) -> str:
        every = [*self.verdicts, self.rest]
        return next((v for v in ("different", "same") if v in every), "identical")

    @property
    def settled(self) -> bool:
        return all(one.settled for one in self.placed)

    @property
    def applied(self) -> bool:
        return all(one.applied for one in self.placed)


def load(path: Path) -> Any:
    """The scorer as a module."""
    spec = importlib.util.spec_from_file_location("evaluate", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path}: cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules["evaluate"] = module
    spec.loader.exec_module(module)
    return module


def results(scorer: Any, pairs: list[Pair], repos: Path, audit: bool) -> Iterator[Result]:
    """Every pair whose repository and commits are at hand, placed and judged."""
    scratch = Path(tempfile.mkdtemp(prefix="placement-"))
    name, repo, store, auditors = "", None, None, None
    for pair in sorted(pairs, key=lambda pair: str(pair["repo"])):
        if pair["repo"] != name:
            if repo is not None and store is not None:
                repo.close()
                store.close()
                if auditors:
                    auditors.repository.close()
            name, source = pair["repo"], scorer.find_repo(str(repos), pair["repo"])
            folder = scratch / name.replace("/", "+")
            repo = scorer.Repo(source, str(folder)) if source else None
            store = Store(str(folder)) if repo else None
            beside = folder.with_suffix(".audit")
            auditors = Auditors(Repository(folder, beside)) if audit and source else None
        try:
            if repo is not None and store is not None:
                yield _one(scorer, repo, store, auditors, scorer.prepare(repo, pair))
        except KeyError:
            continue
    shutil.rmtree(scratch, ignore_errors=True)


def _one(scorer: Any, repo: Any, store: Store, auditors: Auditors | None, pair: Pair) -> Result:
    begin = time.perf_counter()
    tree, conflicts = git_merge(store, pair["P"], pair["O"], pair["T"])
    middle, busy = time.perf_counter(), time.process_time()
    placed = place_all(store, conflicts, *(pair[k] for k in "POT")) if conflicts else []
    busy = time.process_time() - busy
    wanted, onto = pair["dB"], pair["tT"]
    verdicts = []
    for one in placed:
        entry = one.entry and (one.entry.mode, blob_id(one.entry.data))
        if entry:
            repo.put("blob", one.entry.data if one.entry else b"")
        verdicts.append(_verdict(scorer, repo, one.path, entry, _at(repo, wanted, onto, one.path)))
    changed = repo.diff(onto, tree)
    scope = {*pair["files_O"], *pair["scope"], *changed, *(wanted if pair.get("moved") else ())}
    rest = [
        _verdict(scorer, repo, path, _at(repo, changed, onto, path), _at(repo, wanted, onto, path))
        for path in scope - {one.path for one in placed}
    ]
    worst = next((v for v in ("different", "same") if v in rest), "identical")
    ms = (middle - begin) * 1e3, busy * 1e3
    result = Result(pair, placed, verdicts, worst, *ms, _owners(store, pair, conflicts))
    if auditors is None or not result.silent:
        return result
    for one in placed:
        if one.entry:
            changed[one.path] = (one.entry.mode, blob_id(one.entry.data))
    home = StoredTree(auditors.repository, auditors.repository.tree_of(pair["P"]))
    findings, _ = speak(auditors, onto, changed, home)
    said = {finding.severity for finding in findings}
    gravest = next((grade for grade in Severity if grade in said), None)
    return result._replace(flagged=gravest, audited=True)


def _owners(store: Store, pair: Pair, conflicts: list[Conflict]) -> int:
    """How many commits wrote the lines of the pre-image that the conflicts want and T lacks."""
    from backport.core.merging import merge
    from backport.core.prerequisites import lacking, owners
    from backport.core.texts import split_keeping_ends
    from backport.workflows.prerequisites import versions

    found: dict[str, str] = {}
    for conflict in conflicts:
        if None in conflict.sides:
            continue
        blobs = [side[1] for side in conflict.sides if side]
        base, ours, theirs = (split_keeping_ends(store.read_object(blob)) for blob in blobs)
        spans = [region.base for region in merge(base, ours, theirs) if region.merged is None]
        lines = [line for span in spans for line in lacking(base, ours, *span)]
        if lines:
            history = versions(store.git_dir, store.reader, pair["T"], pair["P"], conflict.path)
            found |= owners(lines, history)
    return len(found)


def _at(repo: Any, changes: dict[str, Any], onto: str, path: str) -> Any:
    return changes[path] if path in changes else repo.entry(onto, path)


def _verdict(scorer: Any, repo: Any, path: str, mine: Any, theirs: Any) -> str:
    if mine == theirs:
        return "identical"
    return "same" if scorer.same_code(repo, path, mine, theirs) else "different"


# ---------------------------------------------------------------- tables


def report(found: list[Result]) -> None:
    """Pairs by tier, then conflicted files by rule."""
    say = sys.stdout.write
    say(f"{len(found)} pairs\n")
    clean = [one for one in found if not one.placed]
    if clean:
        say(f"git merges cleanly     {_shares(clean, len(found))}\n")
    conflicts = [one for one in found if one.placed]
    for name, chosen in (
        ("tier applied", [one for one in conflicts if one.applied]),
        ("best proposal", [one for one in conflicts if one.settled]),
    ):
        say(f"{name:22} {_shares(chosen, len(conflicts))}\n")
        for half in "AB":
            mine = [one for one in chosen if one.half == half]
            total = sum(one.half == half for one in conflicts)
            say(f"   half {half}              {_shares(mine, total)}\n")
    if conflicts:
        named = Counter(min(one.owners, 3) for one in conflicts)
        shares = ", ".join(f"{n}{'+' if n == 3 else ''}: {named[n]}" for n in range(4))
        say(f"commits that own the lines in conflict (pairs): {shares}\n")
    _silent(found)
    _files(found)
    ours = sorted(one.our_ms for one in found)
    git = sorted(one.git_ms for one in found)
    if found:
        late = ours[int(0.95 * (len(ours) - 1))]
        middle = statistics.median(ours)
        say(f"ms a pair: git {statistics.median(git):.0f}, ")
        say(f"ours beyond it {middle:.0f} of the processor in the median, {late:.0f} at 95 %\n")


def _silent(found: list[Result]) -> None:
    """What is finished and wrong: of git, and of git with the applied tier after the audit."""
    silent = [one for one in found if one.silent]
    git = sum(not one.placed for one in silent)
    sys.stdout.write(f"silently different: git {git}, with the tier applied {len(silent)}")
    if any(one.audited for one in silent):
        faults = sum(one.flagged is not Severity.ERROR for one in silent)
        nothing = sum(one.flagged is None for one in silent)
        sys.stdout.write(f"; after the audit's errors {faults}, after all that it says {nothing}")
    sys.stdout.write("\n")


def _shares(chosen: list[Result], total: int) -> str:
    count = Counter(one.verdict for one in chosen)
    good = count["identical"] + count["same"]
    return (
        f"{len(chosen):5} of {total:5}: identical {_percent(count['identical'], total)}, "
        f"same code {_percent(good, total)}, precision {_percent(good, len(chosen))}"
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:5.1f} %" if whole else "    - "


def _files(found: list[Result]) -> None:
    rows: dict[tuple[str, str], Counter[str]] = {}
    for one in found:
        for placed, verdict in zip(one.placed, one.verdicts, strict=True):
            right = verdict in GOOD
            tier = "applied" if placed.applied else "proposed" if placed.settled else "open"
            for key in {*((rule, placed.words) for rule in placed.rules), ("all rules", tier)}:
                row = rows.setdefault(key, Counter())
                row[f"good {one.half}"] += right
                row[f"all {one.half}"] += 1
                row["identical"] += verdict == "identical"
    sys.stdout.write("files by rule and words: same code, identical, of; then same code by half\n")
    for (rule, words), row in sorted(rows.items(), key=lambda item: (item[0][0], item[0][1])):
        good, every = row["good A"] + row["good B"], row["all A"] + row["all B"]
        halves = ", ".join(f"{h} {row[f'good {h}']}/{row[f'all {h}']}" for h in "AB")
        sys.stdout.write(
            f"   {rule:14} {words:8} {good:4} {row['identical']:4} {every:4} "
            f"{_percent(good, every)}   {halves}\n"
        )


def counts(found: list[Result]) -> None:
    """The table of confidence: files by rule and words, same code and all."""
    table: dict[tuple[str, str], list[int]] = {}
    for one in found:
        for placed, verdict in zip(one.placed, one.verdicts, strict=True):
            for rule in placed.rules if placed.words else ():
                row = table.setdefault((rule, placed.words), [0, 0])
                row[0] += verdict in GOOD
                row[1] += 1
    for (rule, words), (good, every) in sorted(table.items()):
        name = rule.upper().replace("-", "_")
        sys.stdout.write(f'    (Rule.{name}, "{words}"): Confidence({good}, {every}),\n')


def main() -> None:
    """Score, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--evaluate", type=Path, required=True)
    parser.add_argument("--subset", default="conflict-python")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--audit", action="store_true")
    parser.add_argument("--out", type=Path, help="one JSON object a pair")
    options = parser.parse_args()
    scorer = load(options.evaluate)
    pairs = [json.loads(line) for line in options.pairs.read_text().splitlines()]
    pairs = [pair for pair in pairs if scorer.SUBSETS[options.subset](pair)]
    if options.limit and len(pairs) > options.limit:
        pairs = random.Random(0).sample(pairs, options.limit)  # noqa: S311 - to be repeated
    found = list(results(scorer, pairs, options.repos, options.audit))
    if options.out:
        lines = [json.dumps(_json(one)) for one in found]
        options.out.write_text("\n".join(lines) + "\n")
    report(found)
    if options.counts:
        counts(found)


def _json(one: Result) -> dict[str, Any]:
    files = [
        {
            "path": p.path,
            "rules": p.rules,
            "words": p.words,
            "applied": p.applied,
            "verdict": v,
            "why": p.why,
        }
        for p, v in zip(one.placed, one.verdicts, strict=True)
    ]
    pair = {key: one.pair[key] for key in ("repo", "O", "B")}
    return {
        **pair,
        "half": one.half,
        "verdict": one.verdict,
        "rest": one.rest,
        "files": files,
        "ms": one.our_ms,
        "flagged": one.flagged,
    }


if __name__ == "__main__":
    main()
