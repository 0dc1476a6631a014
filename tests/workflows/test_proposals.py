"""`--accept`: a proposal becomes a replace entry, which a person must read before it counts."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from backport.core.outcomes import HunkResult, Outcome, StackOutcome, StackResult
from backport.core.patches import HunkId
from backport.core.reports import Offer, Report, StackReport, TargetReport
from backport.errors import BadInput
from backport.library import load
from backport.workflows.proposals import accept_proposals
from tests.repos import Library, Repo, Shell, World, patches

BASE = "def f():\n    one = 1\n    two = 2\n    return one + two\n"
OURS = BASE.replace("one = 1", "one = 3")


def made(folder: Path, theirs: str) -> World:
    """Release 2 changed the line above the one that the stack, made on release 1, changes."""
    repo = Repo.make(folder / "repo")
    repo.commit("One\n", {"a.py": BASE.encode()})
    repo.git("tag", "v1.0.0")
    upstream = Repo(folder / "upstream")
    shutil.copytree(repo.path, upstream.path)
    upstream.commit("Change two\n\nIt is needed.\n", {"a.py": theirs.encode()})
    repo.commit("Two\n", {"a.py": OURS.encode()})
    repo.git("tag", "v2.0.0")
    library = Library.make(folder / "library")
    library.stack("two", patches(upstream, "v1.0.0"))
    library.manifest("two", name="me/v2.0.0", base="v2.0.0")
    return World(repo, library)


def words(world: World, verb: str, *more: str) -> list[str]:
    place = ["--repo", str(world.repo.path), "--root", str(world.library.root)]
    return [verb, "--target", "v2.0.0", *place, "--no-parity", *more]


def test_a_merged_hunk_is_told_and_stands_in_the_message(tmp_path: Path, shell: Shell) -> None:
    world = made(tmp_path, BASE.replace("two = 2", "two = one"))
    done = shell(*words(world, "apply"))
    assert done.code == 0, done.err + done.out
    assert "merged two/p1:a.py#1@" in done.out
    assert "rule adjacent at f 2" in done.out
    branch = world.repo.git("for-each-ref", "--format=%(refname)", "refs/heads").split()
    mine = next(ref for ref in branch if "v1.0.0" in ref or "me" in ref)
    assert "merged into other lines, rule adjacent" in world.repo.git(
        "log", "-1", "--format=%B", mine
    )


def test_a_proposal_is_written_and_then_refused_until_it_has_a_reason(
    tmp_path: Path, shell: Shell
) -> None:
    world = made(tmp_path, BASE.replace("two = 2", "two = fresh()"))
    done = shell(*words(world, "check", "--no-audit"))
    assert done.code == 1
    (line,) = [line for line in done.out.split("\n") if "--accept" in line]
    wanted = line.partition("--accept '")[2].removesuffix("'")
    assert "adjacent" in done.out
    taken = shell(*words(world, "check", "--no-audit", "--accept", wanted))
    assert "whose evidence is made; read them, give the reason" in taken.err
    assert "note: what is told here was found before that; run again" in taken.err
    manifest = world.library.root / "manifests/me/v2.0.0.toml"
    (entry,) = tomllib.loads(manifest.read_text())["replace"]
    assert (entry["hunk"], entry["reason"]) == (wanted, "")
    assert shell(*words(world, "check", "--no-audit")).code == 2
    manifest.write_text(manifest.read_text().replace('reason = ""', 'reason = "read"'))
    again = shell(*words(world, "check", "--no-audit"))
    assert (again.code, "replaced two/p1:a.py#1@" in again.out) == (0, True), again.out


def test_a_hunk_without_a_proposal_cannot_be_accepted(tmp_path: Path, shell: Shell) -> None:
    world = made(tmp_path, BASE.replace("two = 2", "two = one"))
    done = shell(*words(world, "check", "--no-audit", "--accept", "two/p1:a.py#1@00000000"))
    assert done.code == 2
    assert "there is no proposal for this hunk" in done.err


HUNK = HunkResult(HunkId("two", "p1", "a=b.py", 1, "0" * 8), "a=b.py", Outcome.CONFLICT)
OFFERS = (Offer("me/v1.0.0", "same file", ("[[drop]]",)), Offer("me/v1", "other text", ("x",)))


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("", "what was decided elsewhere: add =me/v1.0.0, =me/v1; see `backport check`"),
        ("=me/v3", "nothing that was decided for me/v3 is offered for this hunk"),
        ("=me/v1", "me/v2.0.0 and me/v3.0.0 have an offer each; accept it for one --target"),
    ],
)
def test_an_offer_that_cannot_be_taken(wanted: str, said: str, tmp_path: Path) -> None:
    result = StackResult("two", {}, (HUNK,), StackOutcome.CONFLICT)
    names = ("me/v2.0.0", "me/v3.0.0") if wanted == "=me/v1" else ("me/v2.0.0",)
    report = Report(
        tuple(
            TargetReport(name, name, stacks=(StackReport(result),), offers={str(HUNK.id): OFFERS})
            for name in names
        )
    )
    library = load(Library.make(tmp_path / "library").root)
    with pytest.raises(BadInput, match=re.escape(said)):
        accept_proposals(library, report, [f"{HUNK.id}{wanted}"])


@pytest.mark.parametrize("said", ["me/v1.0.0", "v1.0.0", "1.0.0"])
def test_the_target_of_an_offer_may_be_said_in_short(said: str, tmp_path: Path) -> None:
    result = StackResult("two", {}, (HUNK,), StackOutcome.CONFLICT)
    target = TargetReport(
        "me/v2.0.0", "b", stacks=(StackReport(result),), offers={str(HUNK.id): OFFERS[:1]}
    )
    library = made(tmp_path, BASE.replace("two = 2", "two = fresh()")).library
    accept_proposals(load(library.root), Report((target,)), [f"{HUNK.id}={said}"])
    text = (library.root / "manifests/me/v2.0.0.toml").read_text()
    assert text.endswith("# as it was decided for me/v1.0.0 (same file)\n[[drop]]\n")


def test_a_dry_run_writes_no_entry_either(tmp_path: Path, shell: Shell) -> None:
    world = made(tmp_path, BASE.replace("two = 2", "two = fresh()"))
    done = shell(*words(world, "apply", "--dry-run", "--accept", "x"))
    assert (done.code, done.problems) == (
        2,
        ["backport: error: --accept writes into the manifest and --dry-run nothing; give one"],
    )


@pytest.mark.parametrize("verb", ["apply", "check"])
def test_both_verbs_take_it(tmp_path: Path, shell: Shell, verb: str) -> None:
    assert "--accept" in shell(verb, "--help").out


def test_a_conflict_names_the_one_commit_that_it_waits_for(tmp_path: Path, shell: Shell) -> None:
    """The stack is made on a release with a helper that the older target lacks."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("One\n", {"a.py": BASE.encode()})
    repo.git("tag", "v1.0.0")
    newer = BASE.replace("    two = 2\n", "    two = helper(one)\n    log(two)\n")
    wanted = repo.commit("Use the helper\n", {"a.py": newer.encode()})
    repo.commit("Unrelated\n", {"b.py": b"x = 1\n"})
    repo.git("tag", "v2.0.0")
    upstream = Repo(tmp_path / "upstream")
    shutil.copytree(repo.path, upstream.path)
    changed = newer.replace("helper(one)", "helper(one, 2)")
    upstream.commit("Change two\n\nIt is needed.\n", {"a.py": changed.encode()})
    library = Library.make(tmp_path / "library")
    library.stack("two", patches(upstream, "v2.0.0"))
    toml = library.root / "patches/two/stack.toml"
    toml.write_text(toml.read_text().replace('home = "v1.0.0"', 'home = "v2.0.0"'))
    library.manifest("two", name="me/v1.0.0")
    place = ["--repo", str(repo.path), "--root", str(library.root)]
    done = shell("check", "--target", "v1.0.0", *place, "--no-parity", "--no-audit")
    commit = repo.git("rev-parse", "v2.0.0~1")
    assert wanted in (None, commit)
    assert f"were made by {commit[:12]} (Use the helper), which the target lacks" in done.out


def test_on_a_newer_target_it_names_the_commit_that_changed_the_lines(
    tmp_path: Path, shell: Shell
) -> None:
    repo = Repo.make(tmp_path / "repo")
    repo.commit("One\n", {"a.py": BASE.encode()})
    repo.git("tag", "v1.0.0")
    upstream = Repo(tmp_path / "upstream")
    shutil.copytree(repo.path, upstream.path)
    upstream.commit("Change two\n\nIt is needed.\n", {"a.py": BASE.replace("= 2", "= 3").encode()})
    above = "import os\n" + BASE
    repo.commit("Import\n", {"a.py": above.encode()})
    later = above.replace("    two = 2\n", "    two = helper(one)\n")
    repo.commit("Use the helper\n", {"a.py": later.encode()})
    repo.commit("Import more\n", {"a.py": b"import re\n" + later.encode()})
    repo.git("tag", "v2.0.0")
    library = Library.make(tmp_path / "library")
    library.stack("two", patches(upstream, "v1.0.0"))
    library.manifest("two", name="me/v2.0.0", base="v2.0.0")
    place = ["--repo", str(repo.path), "--root", str(library.root)]
    done = shell("check", "--target", "v2.0.0", *place, "--no-parity", "--no-audit")
    commit = repo.git("rev-parse", "v2.0.0~1")
    assert f"were changed by {commit[:12]} (Use the helper), which the target has" in done.out
