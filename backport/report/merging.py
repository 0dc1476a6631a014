"""Join the reports of shards: what any of them found counts, and none may be missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from backport.core.outcomes import CheckResult, Finding, Severity, StackOutcome, Status
from backport.core.reports import Report, StackHead, StackReport, TargetReport

SHARDS = "shards"
_WORST = (Status.FAILED, Status.PASSED, Status.NOT_RUN)
_WORST_STACK = (
    StackOutcome.CONFLICT,
    StackOutcome.APPLIED,
    StackOutcome.ALREADY,
    StackOutcome.SKIPPED,
)


def only(report: Report, stacks: Sequence[str]) -> Report:
    """The report with these stacks alone; the checks of each target stay."""
    targets = []
    for target in report.targets:
        kept = tuple(entry for entry in target.stacks if entry.result.stack in stacks)
        ids = {str(hunk.id) for entry in kept for hunk in entry.result.hunks}
        texts = {key: text for key, text in target.texts.items() if key in ids}
        offers = {key: found for key, found in target.offers.items() if key in ids}
        targets.append(target._replace(stacks=kept, texts=texts, offers=offers))
    return Report(tuple(targets), report.stacks)


def merged(reports: Sequence[Report], expected: Iterable[tuple[str, str]] = ()) -> Report:
    """One report of all; `expected` are the (target, stack) pairs that must be told.

    Shards that disagree about a target's base, and pairs that nobody told, are
    findings that fail: a shard that died must not look like a clean one.
    """
    targets: dict[str, list[TargetReport]] = {}
    heads: dict[str, StackHead] = {}
    for report in reports:
        heads.update((head.name, head) for head in report.stacks)
        for target in report.targets:
            targets.setdefault(target.target, []).append(target)
    wanted: dict[str, list[str]] = {}
    for name, stack in expected:
        wanted.setdefault(name, []).append(stack)
    joined = [_join(shards, wanted.get(name, [])) for name, shards in targets.items()]
    joined += [_untold(name) for name in wanted if name not in targets]
    order = {name: at for at, name in enumerate(wanted)}
    joined.sort(key=lambda target: order.get(target.target, len(order)))
    return Report(tuple(joined), tuple(heads.values()))


def _untold(name: str) -> TargetReport:
    return TargetReport(name, "", error="no shard left a report of this target; did it run?")


def _join(shards: list[TargetReport], wanted: list[str]) -> TargetReport:
    failed = next((shard for shard in shards if shard.error), None)
    if failed:
        return failed
    first = shards[0]
    stacks: dict[str, StackReport] = {}
    for shard in shards:
        for entry in shard.stacks:
            stacks[entry.result.stack] = _worse(stacks.get(entry.result.stack), entry)
    ordered = [stacks.pop(name) for name in wanted if name in stacks]
    told = {entry.result.stack for shard in shards for entry in shard.stacks}
    problems = _disagreements(shards, [name for name in wanted if name and name not in told])
    checks = _checks([check for shard in shards for check in shard.checks])
    if problems:
        checks = (*checks, CheckResult(SHARDS, Status.FAILED, tuple(problems)))
    texts = {key: text for shard in shards for key, text in shard.texts.items()}
    offers = {key: found for shard in shards for key, found in shard.offers.items()}
    stacks_told = (*ordered, *stacks.values())
    return first._replace(stacks=stacks_told, checks=checks, texts=texts, offers=offers)


def _worse(one: StackReport | None, other: StackReport) -> StackReport:
    if one is None:
        return other
    return min(one, other, key=lambda entry: _WORST_STACK.index(entry.result.outcome))


def _disagreements(shards: list[TargetReport], missing: list[str]) -> list[Finding]:
    told = []
    bases = sorted({shard.base for shard in shards})
    if len(bases) > 1:
        told.append(("base", f"the shards worked on different bases: {', '.join(bases)}"))
    told += [(name, f"no shard left a report of {name}; did it run?") for name in missing]
    target = shards[0].target
    mend = "run the pipeline again"
    return [
        Finding(f"manifests/{target}.toml", 0, 0, Severity.ERROR, SHARDS, text, symbol, mend)
        for symbol, text in told
    ]


def _checks(checks: list[CheckResult]) -> tuple[CheckResult, ...]:
    """Each check once: the worst status, and every finding of those that ran."""
    by_name: dict[str, list[CheckResult]] = {}
    for check in checks:
        by_name.setdefault(check.name, []).append(check)
    out = []
    for same in by_name.values():
        worst = min(same, key=lambda check: _WORST.index(check.status))
        findings = dict.fromkeys(finding for check in same for finding in check.findings)
        out.append(worst._replace(findings=tuple(findings)))
    return tuple(out)
