"""The report as lines of text for a person or a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from backport.core.display import counted, visible
from backport.core.outcomes import (
    CheckResult,
    Finding,
    HunkResult,
    Outcome,
    Severity,
    StackOutcome,
    Status,
)
from backport.core.reports import Offer, Report, StackReport, TargetReport, Verdict

_TOLD = (Outcome.MERGED, Outcome.DROPPED, Outcome.REANCHORED, Outcome.REPLACED)
MOST = 20  # findings of one check that are told unasked
_WORDS = {Status.PASSED: "passed", Status.FAILED: "FAILED", Status.NOT_RUN: "not run"}


def as_text(report: Report, verbose: bool = False, quiet: bool = False) -> str:
    """Every target, most important things first; `quiet` leaves all out but what is wrong."""
    lines: list[str] = []
    for target in report.targets:
        told = wrong_lines(target, verbose) if quiet else target_lines(target, verbose)
        lines += [*told, ""]
    return visible("\n".join(lines[:-1])) + "\n" if lines else ""


def as_overview(report: Report, verbose: bool = False) -> str:
    """Several targets: a clean one in one line unless `verbose`, any other in full, and the sum."""
    lines: list[str] = []
    for target in report.targets:
        block = overview_lines(target, verbose)
        if len(block) > 1 and lines and lines[-1]:
            lines.append("")
        lines += [*block, ""] if len(block) > 1 else block
    return visible("\n".join([*lines, sum_line(report)])) + "\n"


def overview_lines(target: TargetReport, verbose: bool) -> list[str]:
    """One of several targets: its line where it is clean and not `verbose`, else all of it."""
    if verbose or target.verdict is not Verdict.CLEAN:
        return target_lines(target, verbose)
    return [clean_line(target)]


def clean_line(target: TargetReport) -> str:
    """A clean target in one line: its stacks by outcome, warnings, and checks that were not run."""
    outcomes = Counter(stack.result.outcome for stack in target.stacks)
    listed = ", ".join(f"{outcomes[each]} {each}" for each in StackOutcome if outcomes[each])
    found = [finding.severity for check in target.checks for finding in check.findings]
    warnings = found.count(Severity.WARNING)
    left = [check.name for check in target.checks if check.status is Status.NOT_RUN]
    parts = [f"stacks: {listed}"] if listed else []
    parts += [counted(warnings, "warning")] if warnings else []
    parts += [f"not run: {', '.join(left)}"] if left else []
    return f"{headline(target)}{': ' * bool(parts)}{'; '.join(parts)}"


def sum_line(report: Report) -> str:
    """How many targets there are of each verdict, the clean ones first."""
    verdicts = Counter(target.verdict for target in report.targets)
    listed = ", ".join(f"{verdicts[v]} {v}" for v in reversed(Verdict) if verdicts[v])
    return f"{counted(len(report.targets), 'target')}: {listed}"


def target_lines(target: TargetReport, verbose: bool = False) -> list[str]:
    """One target: headline, stacks with their deviations, problems, checks, and what was done."""
    lines = [headline(target)]
    for stack in target.stacks:
        lines.append(f"  {stack.result.stack}: {stack_line(stack)}")
        lines += [f"    {line}" for line in _hunk_lines(stack, verbose)]
    lines += [f"  {line}" for line in check_lines(target.checks, verbose)]
    lines += [f"  {line}" for line in problem_lines(target)]
    if target.did:
        lines.append(f"  branch {target.branch} {target.did} in {target.repository}")
    return lines


def wrong_lines(target: TargetReport, verbose: bool = False) -> list[str]:
    """One target's headline, the checks that failed and the hunks without a place."""
    failed = [check for check in target.checks if check.status is Status.FAILED]
    lines = [*check_lines(failed, verbose), *problem_lines(target)]
    return [headline(target), *(f"  {line}" for line in lines)]


def check_lines(checks: Sequence[CheckResult], verbose: bool) -> list[str]:
    """What failed with its findings, what was not run and why, and what passed in one line."""
    lines = []
    for check in checks:
        if check.status is Status.PASSED and not check.findings and not check.note:
            continue
        lines.append(f"{check.name}: {check_line(check)}")
        shown = check.findings if verbose else check.findings[:MOST]
        lines += [f"  {finding_line(finding)}" for finding in shown]
        left = len(check.findings) - len(shown)
        lines += [f"  and {left} more; see them with -v or --json"] if left else []
        lines += [f"    {finding.mend}" for finding in check.findings[:1] if finding.mend]
        lines += [f"    {line}" for finding in shown for line in accept_block(finding)]
    quiet = [c.name for c in checks if c.status is Status.PASSED and not c.findings and not c.note]
    return [*lines, f"passed: {', '.join(quiet)}"] if quiet else lines


def accept_block(finding: Finding) -> list[str]:
    """The manifest entry that records an error as harmless, where that is a mend; else nothing."""
    if finding.severity is not Severity.ERROR or "[[accept]]" not in finding.mend.replace("`", ""):
        return []
    from backport.core.manifest_writing import entry_lines
    from backport.core.manifests import Accept

    return entry_lines(Accept("", "", finding.code, finding.path, finding.symbol))


def audit_lines(target: TargetReport, quiet: bool, verbose: bool) -> list[str]:
    """Every finding on a line that begins with its place, then how the checks ended."""
    found = [finding for check in target.checks for finding in check.findings]
    lines = problem_lines(target)
    for finding in found:
        lines.append(finding_line(finding))
        lines += [f"  {finding.mend}"] if verbose and finding.mend else []
        lines += [f"  {line}" for line in accept_block(finding)]
    if quiet:
        return lines
    counts = Counter(str(finding.severity) for finding in found)
    counted = ", ".join(
        f"{count} {severity}{'s' * (count > 1)}" for severity, count in counts.items()
    )
    left = [f"  {c.name}: {check_line(c)}" for c in target.checks if c.status is Status.NOT_RUN]
    return [*lines, f"{headline(target)}{f': {counted}' if counted else ''}", *left]


def headline(target: TargetReport) -> str:
    """The verdict in one line."""
    if target.error:
        return f"{target.target}: error: {target.error}"
    tree = f", tree {target.tree[:12]}" if target.tree else ""
    return f"{target.target}: {target.verdict} (base {target.base[:12]}{tree})"


def stack_line(stack: StackReport) -> str:
    """What became of a stack, with its hunks counted by outcome."""
    result = stack.result
    if result.reason:
        return f"{result.outcome}: {result.reason}"
    counts = Counter(hunk.outcome for hunk in result.hunks)
    listed = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])
    commit = f", commit {stack.commit[:12]}" if stack.commit else ""
    hunks = counted(len(result.hunks), "hunk")
    return f"{result.outcome}: {hunks} ({listed}){commit}"


def check_line(check: CheckResult) -> str:
    """How a check ended; a check that was not run says why."""
    note = f" ({check.note})" if check.note else ""
    return f"{_WORDS[check.status]}{note}"


def finding_line(finding: Finding) -> str:
    """`path:line:col: severity: message [code]`, which compilers' matchers read."""
    place = f"{finding.path}:{finding.line}:{finding.column}" if finding.line else finding.path
    return f"{place}: {finding.severity}: {finding.message} [{finding.code}]"


def _hunk_lines(stack: StackReport, verbose: bool) -> Iterator[str]:
    for hunk in stack.result.hunks:
        if hunk.outcome in _TOLD or verbose:
            yield hunk_line(hunk)


def hunk_line(hunk: HunkResult) -> str:
    """One hunk: what happened, where, and why."""
    place = f" at line {hunk.line}" if hunk.line else ""
    offset = f" ({hunk.offset:+d})" if hunk.offset and hunk.outcome is Outcome.MOVED else ""
    why = hunk.reason or hunk.detail
    return f"{hunk.outcome} {hunk.id}{place}{offset}{f': {why}' if why else ''}"


def problem_lines(target: TargetReport) -> list[str]:
    """Every hunk without a place, with the block to paste; and what stands already."""
    hunks = [hunk for stack in target.stacks for hunk in stack.result.hunks]
    failed = [hunk for hunk in hunks if hunk.outcome.failed]
    lines = []
    for hunk in failed:
        lines.append(
            f"{hunk.source or hunk.path}: error: {hunk.path}: {hunk.detail} [{hunk.outcome}]"
        )
        lines += [f"  {line}" for line in (*paste_block(hunk), *advice_lines(target, hunk))]
    for stack in target.stacks:
        lines += _partly_there(stack)
    return lines


def _partly_there(stack: StackReport) -> list[str]:
    result = stack.result
    if result.outcome != "conflict":
        return []
    if skip := skip_block(stack):
        return [f"{result.stack}: {skip[0]}", *(f"  {line}" for line in skip[1:])]
    there = [hunk for hunk in result.hunks if hunk.outcome is Outcome.ALREADY]
    lines = [f"{hunk.source}: note: {hunk.path}: {hunk.detail} [already]" for hunk in there]
    if there and not any(hunk.outcome.failed for hunk in result.hunks):
        lines.append(f"{result.stack} stands in part on the base; record what is left out:")
        for hunk in there:
            lines += [f"  {line}" for line in paste_block(hunk)]
    return lines


def advice_lines(target: TargetReport, hunk: HunkResult) -> list[str]:
    """What could stand for a hunk without a place: decisions of other targets, and a proposal."""
    offers = offer_lines(target.offers.get(str(hunk.id), ()), hunk, target.target)
    return [*offers, *proposal_lines(hunk, target.target)]


def offer_lines(offers: Sequence[Offer], hunk: HunkResult, target: str) -> list[str]:
    """What people decided of the same change elsewhere, and how to take it over."""
    lines = []
    for offer in offers:
        lines.append(f"decided for {offer.made} ({offer.match}), and would fit here:")
        lines += [f"  {line}" for line in (*offer.lines, *offer.diff.split("\n")) if line]
        lines.append(f"take it, then read it: {_taking(target, f'{hunk.id}={offer.made}')}")
    return lines


def _taking(target: str, wanted: str) -> str:
    return f"backport check --target {target} --accept '{wanted}'"


def proposal_lines(hunk: HunkResult, target: str) -> list[str]:
    """The text that could stand for a hunk, how sure that is, and how to take it."""
    found = hunk.proposal
    if found is None:
        return []
    why = found.why or "the rules stand"
    lines = [
        f"proposal by rule {', '.join(found.rules)} ({found.counted}): {why}",
        f"take it, then read it: {_taking(target, str(hunk.id))}",
    ]
    body = found.patch.split("\n")
    start = next((i for i, line in enumerate(body) if line.startswith("@@")), 0)
    return [*lines, *(f"  {line}" for line in body[start:] if line)]


def paste_block(hunk: HunkResult) -> list[str]:
    """The manifest entry that would settle a hunk; what a person must decide is left empty.

    Nothing where the manifest has an entry for it: that one has to be mended.
    """
    if hunk.outcome.failed and hunk.reason:
        return []
    verb, put = "drop", []
    if hunk.outcome is Outcome.AMBIGUOUS:
        verb, put = "reanchor", ['put    = "in "']
    elif hunk.outcome is Outcome.CONFLICT and hunk.inserts and not _is_whole(hunk):
        verb, put = "reanchor", ['put    = "before "']
    return [f"[[{verb}]]", f'hunk   = "{hunk.id}"', *put, 'reason = ""', *_when(hunk)]


def _when(hunk: HunkResult) -> list[str]:
    """What is true of the target; where nothing was found, what to fill in and why."""
    from backport.core.stack_writing import quoted

    side, _, said = hunk.evidence.partition(" ")
    if said:
        return [f"when   = {{ {side} = {quoted(said)} }}"]
    path = hunk.origin or hunk.path
    if hunk.outcome is Outcome.ALREADY:
        side, why = "present", "no line that it adds says enough by itself"
    else:
        side, why = "absent", "none of its lines is missing, and none is known to have come between"
    return [
        f"# {why}: name what shows the reason,",
        '# as "path", "path::name" or "path: text", `present` or `absent` before the stacks',
        f"when   = {{ {side} = {quoted(f'{path}: ')} }}",
    ]


def _is_whole(hunk: HunkResult) -> bool:
    """True where a whole file or symbol is why a hunk has no place: no other one is to be found."""
    said = hunk.evidence.partition(" ")[2]
    return bool(said) and (":" not in said or "::" in said.partition(" ")[0])


def _is_gone(hunk: HunkResult) -> bool:
    """True where the whole file or symbol of a hunk is absent from the target."""
    return hunk.evidence.startswith("absent ") and _is_whole(hunk)


def skip_block(stack: StackReport) -> list[str]:
    """The entry that leaves out a stack of which everything needs what is not on the target."""
    hunks = stack.result.hunks
    if not hunks or not all(hunk.outcome.failed and _is_gone(hunk) for hunk in hunks):
        return []
    entry = [f'stack  = "{stack.result.stack}"', 'reason = ""', *_when(hunks[0])]
    return ["nothing of it has a place here; leave the whole stack out with:", "[[skip]]", *entry]
