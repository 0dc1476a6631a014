"""Read a stack's folder: `stack.toml`, `series` and the patch files, as texts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from backport.core.cursors import PatchError
from backport.core.mail import parse_patch
from backport.core.patches import Patch
from backport.core.paths import decode
from backport.core.rendering import render_patch
from backport.core.stacks import KINDS, RELATIONS, STATES, Stack, Upstream, stack_digest
from backport.core.tables import MAX_PROBLEMS, EnoughProblems, Table, nearest, parse_toml

NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
SUFFIX = ".patch"
_IMPORTED = re.compile(NAME.pattern + "@[0-9a-f]{8}")
_CLAUSE = re.compile(r"\s*(?:===?|!=|>=|<=|~=|>|<)\s*v?\d[\w.+*-]*\s*", re.ASCII)
# lines that git takes for the end of a message when it is mailed, or for a header
_BREAKS_MESSAGE = re.compile(r"---|diff -|Index: |From \S|From: ")
_HEADERS_OF_BODY = ("from", "subject", "date")


def read_stack(name: str, folder: str, files: Mapping[str, bytes]) -> tuple[Stack, list[str]]:
    """The stack that the folder's files describe, and every problem found in them.

    `files` maps file names to contents; `folder` is the name that messages show.
    """
    toml = decode(files.get("stack.toml", b""))
    values, source = parse_toml(f"{folder}/stack.toml", toml)
    problems = source.problems
    if not NAME.fullmatch(name):
        problems.append(f"{folder}: a stack's name is lower-case words joined by dashes")
    if "stack.toml" not in files:
        problems.append(f"{folder}/stack.toml: is missing")
    table = Table(values, source)
    told = len(problems)
    patches, texts = _patches(folder, files, problems)
    whole = len(problems) == told
    known = not problems or bool(values)
    stack = nothing(name)
    try:
        if known:
            stack = _stack(name, table, patches, stack_digest(texts))
            table.finish()
    except EnoughProblems:
        whole = False
    return stack._replace(patches=patches, whole=whole), problems


def nothing(name: str) -> Stack:
    """The stack of that name as far as it is known where its folder cannot be read."""
    return Stack(name, "", "upstream", "", "", (), whole=False)


def _stack(name: str, table: Table, patches: tuple[Patch, ...], digest: str) -> Stack:
    if table.number("schema") != 1:
        table.problem("schema", "must be 1")
    stack = Stack(
        name,
        _one_line(table, "title"),
        table.text("kind", choices=KINDS),
        table.commit("home"),
        _message_text(table, "why"),
        patches,
        _upstream(table.table("upstream")),
        _requires(table.table("requires")),
        table.texts("parity"),
        table.texts("after"),
        table.text("retire", default=""),
        digest,
    )
    if stack.kind == "upstream" and not stack.upstream.pull and not stack.upstream.commits:
        table.problem("upstream", "names neither a pull request nor commits (kind is upstream)")
    return stack


def _upstream(table: Table) -> Upstream:
    upstream = Upstream(
        table.text("repo", default=""),
        table.number("pull"),
        table.text("state", default="open", choices=STATES),
        table.text("relation", default="rewrite", choices=RELATIONS),
        table.texts("commits"),
        table.text("source", default=""),
        table.texts("imported"),
    )
    for commit in upstream.commits:
        if not re.fullmatch(r"[0-9a-f]{7,64}", commit):
            table.problem("commits", f"{commit!r} is not a commit id")
    for patch in upstream.imported:
        if not _IMPORTED.fullmatch(patch):
            table.problem(
                "imported", f"{patch!r} is not NAME@DIGEST, as `backport import` notes it"
            )
    table.finish()
    return upstream


def _requires(table: Table) -> dict[str, str]:
    """Versions of other projects, such as `aiter = ">=0.1.19"`."""
    found = {key: table.text(key) for key in table.values}
    for key, wanted in found.items():
        if wanted and not all(map(_CLAUSE.fullmatch, wanted.split(","))):
            table.problem(key, f"{wanted!r} is no range of versions, such as '>=0.1.19,<0.2'")
    return found


def _one_line(table: Table, key: str) -> str:
    text = table.text(key)
    if "\n" in text:
        table.problem(key, "must be one line")
    return text.strip()


def _message_text(table: Table, key: str) -> str:
    text = table.text(key).strip("\n")
    for line in text.split("\n"):
        if _BREAKS_MESSAGE.match(line):
            table.problem(key, f"the line {line!r} would end the message when mailed; reword it")
    first = text.lstrip().partition("\n")[0]
    if is_header_of_body(first) and not _BREAKS_MESSAGE.match(first):
        table.problem(key, f"the line {first!r} would be a header of the mail; reword it")
    return text


def is_header_of_body(line: str) -> bool:
    """True where `git am` takes the first line of a message for a header: it would be lost."""
    key, colon, value = line.partition(":")
    if line.startswith("[PATCH]"):
        key, colon, value = "subject", ":", line.removeprefix("[PATCH]")
    blank = value[:1] in ("", " ", "\t")
    return bool(colon) and blank and key.lower() in _HEADERS_OF_BODY


def _patches(
    folder: str, files: Mapping[str, bytes], problems: list[str]
) -> tuple[tuple[Patch, ...], list[tuple[str, bytes]]]:
    """The patches in the order of `series`; each file is listed once and each name exists."""
    there = sorted(name.removesuffix(SUFFIX) for name in files if name.endswith(SUFFIX))
    if "series" not in files:
        problems.append(f"{folder}/series: is missing; list the patch names in it, one a line")
        return (), []
    listed = _series(folder, decode(files["series"]), there, problems)
    patches = []
    for name in listed:
        source = f"{folder}/{name}{SUFFIX}"
        try:
            patches.append(parse_patch(files[name + SUFFIX], name, source))
        except PatchError as error:
            problems.append(f"{source}:{error.line}: {error.message}")
    return tuple(patches), [(name, files[name + SUFFIX]) for name in listed]


def _series(folder: str, text: str, there: list[str], problems: list[str]) -> list[str]:
    listed: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if len(problems) > MAX_PROBLEMS:
            break
        name = line.partition("#")[0].strip().removesuffix(SUFFIX)
        if not name:
            continue
        where = f"{folder}/series:{number}"
        if name in listed:
            problems.append(f"{where}: {name} is listed twice (first in line {listed[name]})")
        elif name not in there:
            problems.append(f"{where}: there is no {name}{SUFFIX}; {nearest(name, there)}")
        elif not NAME.fullmatch(name):
            problems.append(f"{where}: a patch's name is lower-case words joined by dashes")
        else:
            listed[name] = number
    problems += [
        f"{folder}/{name}{SUFFIX}: is not listed in series; add or delete it"
        for name in there
        if name not in listed
    ]
    if not listed and not problems:
        problems.append(f"{folder}/series: lists no patch")
    return list(listed)


def uncanonical(folder: str, stack: Stack, files: Mapping[str, bytes]) -> list[str]:
    """The patch files that are not in the form that the tool writes."""
    return [
        f"{folder}/{patch.name}{SUFFIX}: is not in canonical form; "
        "write it with `backport import` instead of by hand"
        for patch in stack.patches
        if render_patch(patch) != files[patch.name + SUFFIX]
    ]
