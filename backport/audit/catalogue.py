"""The checks by name, in the order in which they report."""

from __future__ import annotations

from backport.audit.checks import (
    abstract,
    assigned,
    attributes,
    awaits,
    bindings,
    calls,
    collisions,
    compiling,
    cycles,
    dependencies,
    duplicates,
    fields,
    fixtures,
    flags,
    hidden,
    imports,
    kernels,
    launches,
    listed,
    markers,
    members,
    names,
    newer,
    opinions,
    ops,
    options,
    overrides,
    parametrized,
    patched,
    raised,
    references,
    removed,
    reverted,
)
from backport.audit.subject import Check, Rule

CHECKS: dict[str, Check] = {
    "compile": compiling.CHECK,
    "markers": markers.CHECK,
    "names": names.CHECK,
    "imports": imports.CHECK,
    "cycles": cycles.CHECK,
    "attributes": attributes.CHECK,
    "assigned": assigned.CHECK,
    "flags": flags.CHECK,
    "calls": calls.CHECK,
    "awaits": awaits.CHECK,
    "launches": launches.CHECK,
    "kernels": kernels.CHECK,
    "overrides": overrides.CHECK,
    "abstract": abstract.CHECK,
    "fields": fields.CHECK,
    "members": members.CHECK,
    "fakes": ops.FAKES,
    "ops": ops.CALLS,
    "bindings": bindings.CHECK,
    "duplicates": duplicates.CHECK,
    "options": options.CHECK,
    "removed": removed.CHECK,
    "references": references.CHECK,
    "patched": patched.CHECK,
    "collisions": collisions.CHECK,
    "hidden": hidden.CHECK,
    "sources": listed.SOURCES,
    "listed": listed.CHECK,
    "fixtures": fixtures.CHECK,
    "parametrized": parametrized.CHECK,
    "stdlib": newer.CHECK,
    "dependencies": dependencies.CHECK,
    "raised": raised.CHECK,
    "reverted": reverted.CHECK,
    "ruff": opinions.RUFF_CHECK,
    "ty": opinions.TY_CHECK,
}

_ELSEWHERE = (
    Rule(
        "already",
        "a hunk's result stands on the target, in a stack that otherwise does not",
        "drop the hunk in the manifest with the line that shows it, or skip the stack",
    ),
    Rule(
        "ambiguous",
        "a hunk fits in more than one place of the target",
        "say in the manifest with `reanchor` which place is meant",
    ),
    Rule(
        "branch-differs",
        "the branch does not hold what applying gives",
        "bring the change into the stacks or the manifest with `backport refresh`, or apply again",
    ),
    Rule(
        "ci-settings",
        "a patch changes what CI runs",
        "take the file out of the patch, or record with `[[accept]]` that it is meant",
    ),
    Rule(
        "conflict",
        "a hunk has no place on the target",
        "read the lines there; mend the patch, or write the entry shown into the manifest",
    ),
    Rule(
        "defined-twice",
        "a definition stands twice in a file where it did not before",
        "drop the hunk that adds what the target has, or carry the removal of the other",
    ),
    Rule(
        "device-name",
        "a new file's name is a device, a drive or a stream on Windows",
        "give it another name, or record with `[[accept]]` that nobody checks it out there",
    ),
    Rule(
        "git-settings",
        "a patch changes how git itself treats the tree",
        "take the file out of the patch, or record with `[[accept]]` that it is meant",
    ),
    Rule(
        "line-count",
        "a file grew by other lines than its hunks add",
        "do not trust the result: report it with the stack and the target",
    ),
    Rule(
        "link-outside",
        "a link leads out of the tree, or into git's own folder",
        "link to a file of the tree, or carry the file itself",
    ),
    Rule(
        "lock",
        "the result is not the one that the lock file records",
        "read what changed, then write the lock again with `backport apply --lock`",
    ),
    Rule(
        "parity",
        "a fused candidate or a carried test does not give what the split code gives",
        "look at the patch that it runs through",
    ),
    Rule(
        "parity-crashed",
        "the process that runs the parity cases ended without a result",
        "run `backport parity` alone and read what it says",
    ),
    Rule(
        "partly-there",
        "a part of a stack stands on the target already",
        "record for each hunk that stands there a drop, or skip the stack",
    ),
    Rule(
        "requirement-unmet",
        "the target pins a version of another project that the stack's requirement excludes",
        "raise the pin with the stack, or probe for the feature and fall back without it",
    ),
    Rule(
        "shards",
        "the reports of one target disagree, or one is missing",
        "run the pipeline again",
    ),
    Rule(
        "stale-accept",
        "the manifest accepts a finding that no check makes",
        "take the entry out: what it accepted is gone, or has another symbol",
    ),
    Rule(
        "stale-evidence",
        "what a manifest's entry says of the target is not true any more",
        "look at the target again; correct the entry or delete it",
    ),
    Rule(
        "target-error",
        "a target could not be tried at all",
        "read the message: it says what is missing and how to get it",
    ),
    Rule(
        "touched-path",
        "a file changed that no applied stack changes",
        "do not trust the result: report it with the stack and the target",
    ),
)
"""What is told beside the audit: of hunks, stacks, manifests, locks, branches and parity."""

RULES: dict[str, Rule] = {
    rule.code: rule
    for rule in sorted((*(r for c in CHECKS.values() for r in c.rules), *_ELSEWHERE))
}
