"""Changes that their own project took back later."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from backport.audit.subject import Check, Commit, Rule, Subject
from backport.core.outcomes import Finding, Severity

REVERTED = Rule(
    "upstream-reverted",
    "the project reverted the change after the commit that the stack carries",
    "read why it was reverted: drop the stack, or carry what replaced it",
)

_HASH = re.compile(r"[Tt]his reverts (?:commit |changes? )?([0-9a-f]{7,40})")
_PULL = re.compile(r"[Rr]everts? (?:[\w.-]+/[\w.-]+)?#(\d+)")
_SUBJECTS = [
    re.compile(rf"""^(?:\[[^]]*\]\s*)*Revert:?\s+["']({quoted})["']""", re.IGNORECASE)
    for quoted in (".+?", ".+")  # up to the first quote; up to the last, for quotes in quotes
]
_AGAIN = re.compile(r"""^(?:\[[^]]*\]\s*)*(?:Reapply|Reland):?\s+["'](.+?)["']""", re.IGNORECASE)
_NUMBER = re.compile(r"\s*\(#(\d+)\)\s*$")


def reverts(
    carried: Sequence[Commit], history: Sequence[Commit]
) -> Iterator[tuple[Commit, Commit]]:
    """Each carried commit with the commit of the history that took it back for good.

    `history` is in the order of the commits, oldest first. A revert counts until the
    change comes back, or the revert itself is reverted; what brought the change back may be
    reverted in turn.
    """
    for commit in carried:
        carrier = commit
        last: Commit | None = None
        for later in history:
            if last is None and (_takes_back(later, commit) or _takes_back(later, carrier)):
                last = later
            elif last is not None and (_takes_back(later, last) or _brings_back(later, commit)):
                carrier, last = later, None
        if last is not None:
            yield commit, last


def check(subject: Subject) -> Iterator[Finding]:
    """Carried commits that the given history reverts."""
    options = subject.options
    for commit, later in reverts(options.carried, options.history or ()):
        message = f"`{commit.subject}` was reverted by {later.commit[:12]} (`{later.subject}`)"
        yield Finding(
            "",
            0,
            0,
            Severity.ERROR,
            REVERTED.code,
            message,
            commit.commit or commit.subject,
            REVERTED.mend,
        )


def needs(subject: Subject) -> str:
    if subject.options.history is None:
        return "`backport audit` looks for later history in a clone"
    return "" if subject.options.carried else "the stack names no commits of its source"


CHECK = Check(check, (REVERTED,), per_file=False, needs=needs, compared=False)


def _takes_back(later: Commit, commit: Commit) -> bool:
    """True where a commit says that it reverts the other: by hash, pull request or subject."""
    text = f"{later.subject}\n{later.body}"
    if any(_are_one(commit.commit, found) for found in _HASH.findall(text)):
        return True
    number = _NUMBER.search(commit.subject)
    if number is not None and number[1] in _PULL.findall(text):
        return True
    quoted = (pattern.match(later.subject) for pattern in _SUBJECTS)
    return any(found and _plain(found[1]) == _plain(commit.subject) for found in quoted)


def _are_one(known: str, named: str) -> bool:
    """True where two commit ids, either of them cut short, may name one commit."""
    return bool(known) and (known.startswith(named) or named.startswith(known))


def _brings_back(later: Commit, commit: Commit) -> bool:
    quoted = _AGAIN.match(later.subject)
    return (quoted is not None and _plain(quoted[1]) == _plain(commit.subject)) or _plain(
        later.subject
    ) == _plain(commit.subject)


def _plain(subject: str) -> str:
    """A subject without the pull request's number, and without case."""
    return _NUMBER.sub("", subject).strip().casefold()
