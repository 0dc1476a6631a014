"""What a repository lacks, why, and how to get it: asked only once something is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backport import plumbing
from backport.core.paths import decode
from backport.errors import EnvironmentProblem

if TYPE_CHECKING:
    from backport.checkout import Checkout


def missing(checkout: Checkout, object_id: str) -> EnvironmentProblem:
    """The problem of an object that git does not give, in git's words where it has some."""
    said = _complaint(checkout, object_id)
    why = ": ".join(filter(None, (_kind(checkout), said)))
    mend = "use a full clone, or get everything with `git fetch --refetch --no-filter`"
    if "alternate" in said:
        why = said
        mend = f"bring that folder back, or mend {checkout.common_dir}/objects/info/alternates"
    return EnvironmentProblem(f"{checkout.shown}: object {object_id} is missing ({why}); {mend}")


def no_commit(checkout: Checkout, name: str) -> EnvironmentProblem:
    """The problem of a commit that is not there.

    Where a tag or branch of that name is, what it names is missing: fetching tags is no help.
    """
    named = _named(checkout, name)
    lost = named and _lost(checkout, named)
    if lost:
        return missing(checkout, lost)
    shallow = (checkout.common_dir / "shallow").exists()
    mend = "git fetch --unshallow --tags" if shallow else "git fetch --tags"
    kind = " (a shallow clone)" if shallow else ""
    return EnvironmentProblem(
        f"{checkout.shown}{kind} has no commit {name}; get it with `{mend}`, "
        f"or `backport fetch {name.removeprefix('v')}` for the release archive"
    )


def _named(checkout: Checkout, name: str) -> str:
    """The id that a tag or branch gives, "" where there is none or the name is an id itself."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", name)
    try:
        found = decode(plumbing.run(checkout.git_dir, *words)).strip()
    except EnvironmentProblem as error:
        if "broken ref" in str(error):
            raise EnvironmentProblem(f"{checkout.shown}: {error}; delete it, and fetch") from None
        return ""
    return "" if found == name else found


def _lost(checkout: Checkout, object_id: str) -> str:
    """The object itself, or the one that it tags, where it is not there; else ""."""
    while found := checkout.lookup(object_id):
        _, kind, data = found
        if kind != "tag":
            return ""
        object_id = decode(data.partition(b"\n")[0]).removeprefix("object ")
    return object_id


def _complaint(checkout: Checkout, object_id: str) -> str:
    """What git says of an object that it does not give: a damaged file, folders that are gone."""
    with plumbing.start(checkout.git_dir, "cat-file", "-t", object_id) as child:
        _, err = child.communicate()
    lines = err.decode("utf-8", "replace").split("\n")
    return next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), "")


def _kind(checkout: Checkout) -> str:
    if (checkout.common_dir / "shallow").exists():
        return "this is a shallow clone"
    if any(checkout.common_dir.glob("objects/pack/*.promisor")):
        return "this is a partial clone"
    return "the repository is damaged"
