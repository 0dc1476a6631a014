"""The message of a squashed commit: what, why, what differs here, and where it came from."""

from __future__ import annotations

from backport.core.manifests import Adaptation, Manifest, Reanchor
from backport.core.objects import Identity
from backport.core.outcomes import HunkResult, Outcome
from backport.core.stacks import Stack

WIDTH = 76
_DIFFERENCES = "Differences from upstream on"
_MADE_ANEW = ("Stack: ", "Manifest: ", "Upstream-commit: ")
_DEVIATIONS = (Outcome.DROPPED, Outcome.REANCHORED, Outcome.REPLACED)


def squash_message(
    stack: Stack, manifest: Manifest, hunks: tuple[HunkResult, ...], committer: Identity
) -> str:
    """The whole message, ending in one block of trailers that git itself parses."""
    parts = [subject(stack), stack.why.strip("\n")]
    differences = differences_text(manifest, hunks)
    if differences:
        parts.append(differences)
    parts.append("\n".join(trailers(stack, manifest, committer)))
    return "\n\n".join(parts) + "\n"


def subject(stack: Stack) -> str:
    """The first line: the stack's title and the pull request that it carries."""
    pull = stack.upstream.pull
    return f"{stack.title} (backport #{pull})" if pull else f"{stack.title} (backport)"


def differences_text(manifest: Manifest, hunks: tuple[HunkResult, ...]) -> str:
    """A line for each drop, reanchor, replace and merge; the same reason for a file stands once."""
    entries = manifest.adaptations_of(hunks[0].id.stack) if hunks else {}
    lines: dict[str, None] = {}
    for hunk in hunks:
        if hunk.outcome is Outcome.MERGED:
            lines[_bullet(f"{hunk.path}: merged into other lines, {hunk.detail}")] = None
        if hunk.outcome in _DEVIATIONS:
            text = f"{hunk.path}: {_verb(entries.get(str(hunk.id)))}{hunk.reason}"
            lines[_bullet(text)] = None
    if not lines:
        return ""
    return "\n".join([f"{_DIFFERENCES} {manifest.branch}:", *lines])


def _verb(entry: Adaptation | None) -> str:
    if not isinstance(entry, Reanchor):
        return ""
    put = entry.put
    place = f"{put.position} the line `{put.line.strip()}`" if put.line else str(put)
    return f"placed {place}: "


def _bullet(text: str) -> str:
    import textwrap

    return textwrap.fill(
        " ".join(text.split()),
        WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def stack_of_message(message: str) -> str | None:
    """The stack whose squashed commit has this message, or None where it is no such commit."""
    found = _made_of(message)
    return found[0] if found else None


def digests_of_message(message: str) -> tuple[str, str]:
    """The digests of the stack that a squashed commit was made of, and of what its manifest
    decided about it ("" where the message does not say)."""
    found = _made_of(message)
    return (found[1], found[2]) if found else ("", "")


def _made_of(message: str) -> tuple[str, str, str] | None:
    import re

    last = message.rstrip("\n").rpartition("\n\n")[2]
    stack = re.search(r"^Stack: (\S+)@([0-9a-f]+)$", last, re.MULTILINE)
    manifest = re.search(r"^Manifest: \S+@([0-9a-f]+)$", last, re.MULTILINE)
    return (stack[1], stack[2], manifest[1] if manifest else "") if stack else None


def lost_lines(old: str, new: str) -> list[str]:
    """The lines of a commit's message that the new one would not have.

    What the tool writes anew each time does not count: the list of differences, and the
    digests of what the commit was made of.
    """
    kept = [part for part in old.split("\n\n") if not part.startswith(_DIFFERENCES)]
    return _only_of("\n\n".join(kept), new)


def reworded(old: str, new: str) -> list[str]:
    """The lines that one of two messages has alone, the list of differences included."""
    return _only_of(old, new) + _only_of(new, old)


def _only_of(message: str, other: str) -> list[str]:
    there = {line.strip() for line in other.split("\n")}
    lines = (line.strip() for line in message.split("\n"))
    return [line for line in lines if line not in there and not line.startswith(_MADE_ANEW)]


def trailers(stack: Stack, manifest: Manifest, committer: Identity) -> list[str]:
    """The provenance, one `Key: value` a line; nothing else may stand in the block."""
    up = stack.upstream
    out = []
    if up.repo and up.pull:
        out.append(f"Backport-of: {up.repo}#{up.pull}")
    elif up.repo:
        out.append(f"Backport-of: {up.repo}")
    out += [f"Upstream-commit: {commit}" for commit in up.commits]
    out.append(f"Stack: {stack.name}@{stack.digest}")
    out.append(f"Manifest: {manifest.name}@{manifest.decides(stack.name)}")
    me = f"{committer.name} <{committer.email}>"
    if up.relation == "cherry-pick":
        out += [line for line in credits_of(stack) if not line.endswith(f"-by: {me}")]
    return [*out, f"Signed-off-by: {me}"]


def credits_of(stack: Stack) -> list[str]:
    """A line for each author and co-author of the patches, then one for each sign-off in them."""
    import re

    written: dict[str, None] = {}
    signed: dict[str, None] = {}
    for patch in stack.patches:
        if patch.author.email:
            written[f"{patch.author.name} <{patch.author.email}>"] = None
        for key, who in re.findall(r"(?im)^(co-authored|signed-off)-by: *(.*\S)", patch.body):
            (written if key.lower() == "co-authored" else signed)[who] = None
    lines = [f"Co-authored-by: {who}" for who in written]
    return [*lines, *(f"Signed-off-by: {who}" for who in signed)]
