"""The message of a squashed commit: what, why, what differs here, where it came from."""

from __future__ import annotations

import pytest

from backport.core.manifests import Adaptation, Anchor, Drop, Manifest, Reanchor, Replace
from backport.core.messages import digests_of_message, squash_message
from backport.core.objects import Identity
from backport.core.outcomes import HunkResult, Outcome
from backport.core.patches import HunkId
from backport.core.stacks import Stack, Upstream
from tests.builders import diff, stack
from tests.core.conftest import Git

ME = Identity("Release Bot", "bot@example.com", "1750000000 +0000")
UPSTREAM = Upstream("vllm-project/vllm", 47757, "open", "rewrite", ("a" * 40, "b" * 40))
CHANGE = stack(diff("f", "a\n", "b\n"), name="fuse", title="[ROCm][MLA] Fuse it")._replace(
    why="It was slow.\n\n# not a comment\nNow it is not.",
    upstream=UPSTREAM,
    digest="0123456789ab",
)


def manifest(*entries: Adaptation) -> Manifest:
    return Manifest("moreh/v0.28.0", "v0.28.0", "moreh/v0.28.0", ("fuse",), entries)


def hunk(number: int, outcome: Outcome, reason: str = "", path: str = "pkg/a.py") -> HunkResult:
    return HunkResult(HunkId("fuse", "p", path, number, "0" * 8), path, outcome, reason=reason)


def message(
    *hunks: HunkResult, change: Stack = CHANGE, entries: tuple[Adaptation, ...] = ()
) -> str:
    return squash_message(change, manifest(*entries), hunks, ME)


def differences(*hunks: HunkResult, entries: tuple[Adaptation, ...] = ()) -> list[str]:
    """The lines of the paragraph on differences, without its heading."""
    paragraphs = message(*hunks, entries=entries).split("\n\n")
    (found,) = [text for text in paragraphs if text.startswith("Differences from upstream")]
    heading, *lines = found.split("\n")
    assert heading == "Differences from upstream on moreh/v0.28.0:"
    return lines


def test_a_whole_message() -> None:
    dropped = hunk(1, Outcome.DROPPED, "the release has no such line")
    assert message(dropped, hunk(2, Outcome.EXACT)) == (
        "[ROCm][MLA] Fuse it (backport #47757)\n"
        "\n"
        "It was slow.\n"
        "\n"
        "# not a comment\n"
        "Now it is not.\n"
        "\n"
        "Differences from upstream on moreh/v0.28.0:\n"
        "- pkg/a.py: the release has no such line\n"
        "\n"
        "Backport-of: vllm-project/vllm#47757\n"
        f"Upstream-commit: {'a' * 40}\n"
        f"Upstream-commit: {'b' * 40}\n"
        "Stack: fuse@0123456789ab\n"
        "Manifest: moreh/v0.28.0@e3b0c44298fc\n"
        "Signed-off-by: Release Bot <bot@example.com>\n"
    )


@pytest.mark.parametrize(
    ("upstream", "subject", "trailers"),
    [
        (Upstream(), "[ROCm][MLA] Fuse it (backport)", []),
        (
            Upstream("o/r", commits=("c" * 40,)),
            "[ROCm][MLA] Fuse it (backport)",
            ["Backport-of: o/r", f"Upstream-commit: {'c' * 40}"],
        ),
        (Upstream("o/r", 7), "[ROCm][MLA] Fuse it (backport #7)", ["Backport-of: o/r#7"]),
    ],
    ids=["a fork's own", "commits alone", "a pull request alone"],
)
def test_what_is_unknown_of_upstream_is_left_out(
    upstream: Upstream, subject: str, trailers: list[str]
) -> None:
    lines = message(change=CHANGE._replace(upstream=upstream)).rstrip("\n").split("\n")
    assert lines[0] == subject
    assert lines[lines.index("Now it is not.") + 2 :] == [
        *trailers,
        "Stack: fuse@0123456789ab",
        "Manifest: moreh/v0.28.0@e3b0c44298fc",
        "Signed-off-by: Release Bot <bot@example.com>",
    ]


@pytest.mark.parametrize(
    "outcome", [Outcome.EXACT, Outcome.MOVED, Outcome.ALREADY, Outcome.CONFLICT, Outcome.AMBIGUOUS]
)
def test_what_a_manifest_did_not_change_is_no_difference(outcome: Outcome) -> None:
    assert "Differences" not in message(hunk(1, outcome))


@pytest.mark.parametrize("outcome", [Outcome.DROPPED, Outcome.REANCHORED, Outcome.REPLACED])
def test_what_a_manifest_changed_is_a_difference(outcome: Outcome) -> None:
    assert differences(hunk(1, outcome, "why")) == ["- pkg/a.py: why"]


def test_a_reanchored_hunk_says_where_it_went() -> None:
    entry = Reanchor(
        "no such method", (), "m:1", hunk(1, Outcome.EXACT).id, Anchor("before", "A.f")
    )
    found = differences(hunk(1, Outcome.REANCHORED, "no such method"), entries=(entry,))
    assert found == ["- pkg/a.py: placed before A.f: no such method"]


def test_the_same_difference_of_a_file_is_told_once() -> None:
    assert differences(
        hunk(1, Outcome.DROPPED, "one"),
        hunk(2, Outcome.DROPPED, "two"),
        hunk(3, Outcome.DROPPED, "one"),
        hunk(1, Outcome.DROPPED, "one", "pkg/b.py"),
    ) == ["- pkg/a.py: one", "- pkg/a.py: two", "- pkg/b.py: one"]


def test_a_long_reason_is_wrapped_and_its_words_stay_whole() -> None:
    reason = "a long reason about well-known-things-with-dashes\n  over several lines " * 2
    long_path = "pkg/" + "x" * 90 + ".py"
    assert differences(hunk(1, Outcome.DROPPED, reason, long_path)) == [
        f"- {long_path}:",
        "  a long reason about well-known-things-with-dashes over several lines a",
        "  long reason about well-known-things-with-dashes over several lines",
    ]


def test_entries_of_other_stacks_say_nothing_here() -> None:
    other = Drop("not mine", (), "m:1", HunkId("remap", "p", "pkg/a.py", 1, "0" * 8))
    assert "not mine" not in message(hunk(1, Outcome.EXACT), entries=(other,))


def test_git_sees_every_trailer_and_nothing_else(git: Git) -> None:
    reason = "Key: this looks like a trailer"
    text = message(
        hunk(1, Outcome.DROPPED, reason), change=CHANGE._replace(why="Why: so.\nAnd: so")
    )
    found = git("interpret-trailers", "--parse", feed=text.encode()).decode().splitlines()
    assert found == [
        "Backport-of: vllm-project/vllm#47757",
        f"Upstream-commit: {'a' * 40}",
        f"Upstream-commit: {'b' * 40}",
        "Stack: fuse@0123456789ab",
        "Manifest: moreh/v0.28.0@e3b0c44298fc",
        "Signed-off-by: Release Bot <bot@example.com>",
    ]


def test_what_the_manifest_decides_has_a_digest_and_its_reasons_have_none() -> None:
    one = HunkId("fuse", "p", "a.py", 1, "0" * 8)
    entries: list[tuple[Adaptation, ...]] = [
        (),
        (Drop("why", (), "", one),),
        (Reanchor("why", (), "", one, Anchor.parse("last-in f")),),
        (Reanchor("why", (), "", one, Anchor.parse("first-in f")),),
        *(
            (
                Replace(
                    "why", (), "", one, "x.patch", stack(diff("a.py", "a\n", text)).patches[0].files
                ),
            )
            for text in ("b\n", "c\n")
        ),
    ]
    digests = [manifest(*some).decides("fuse") for some in entries]
    assert len(set(digests)) == len(entries)
    assert manifest(Drop("other", (), "m.toml:3", one)).decides("fuse") == digests[1]
    assert manifest(*entries[1]).decides("other") == digests[0]
    text = message(entries=entries[1])
    assert digests_of_message(text) == ("0123456789ab", digests[1])
    without = text.replace("Manifest: ", "Manifests: ")
    assert digests_of_message(without) == ("0123456789ab", "")
