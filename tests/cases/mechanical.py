"""Cases about text, patch files and repositories."""

from __future__ import annotations

import base64
import gzip
import os
import quopri
import shutil
from pathlib import Path

from backport.core.display import visible
from tests.builders import diff, mail, numbered
from tests.cases.scene import Files, Found, Play, Scene, case
from tests.repos import BRANCH, Repo, child, finished

NINE = numbered(1, 9).encode()
FIVE = NINE.replace(b"line 5\n", b"five\n")
SUBJECT = "[ROCm][Perf] Fuse the gather [MI355X] (#123)"


def five(scene: Scene, **files: bytes) -> bytes:
    """The change of one line of `f`, as git mails it."""
    return scene.change({"f": NINE}, {"f": FIVE, **files})


def subject(scene: Scene) -> str:
    return scene.repo.git("log", "-1", "--format=%s", BRANCH)


# ---------------------------------------------------------------- messages


@case("m01-bracketed-subject", "KEEP")
def _(scene: Scene) -> Found:
    scene.release({"f": NINE})
    repo = scene.upstream({"f": NINE}, {"f": FIVE})
    repo.git("commit", "-q", "--amend", "-m", SUBJECT)
    imported = scene.shell(
        *("import", "before..HEAD", "--stack", "stack", "--repo", str(repo.path)),
        *("--root", str(scene.library.root)),
    )
    assert imported.code == 0
    (patch,) = (scene.library.root / "patches/stack").glob("*.patch")
    assert f"Subject: [PATCH] {SUBJECT}\n" in patch.read_text()
    scene.stack(patch.read_bytes(), title=SUBJECT)
    found = scene.apply()
    assert subject(scene) == f"{SUBJECT} (backport)"
    return found.called("KEEP")


@case("m20-hash-lines-in-message", "KEEP")
def _(scene: Scene) -> Found:
    scene.release({"f": NINE})
    why = "Of these:\n#16 [ROCm] one\n#17 [ROCm] two\n\n# Notes\nlast line"
    scene.repo.git("config", "commit.cleanup", "strip")
    scene.stack(five(scene), why=why)
    found = scene.apply()
    assert scene.repo.message(BRANCH).count(f"\n\n{why}\n\n".encode()) == 1
    return found.called("KEEP")


HOSTILE = {
    "markup": "[ROCm][/bold] fix split(/[/?#]/) [red]x",
    "escapes": "\x1b]0;pwned\x07\x1b[2J[Perf] clear",
    "bidi": "[Perf] access \u202e\u2066 txt.exe\u2069",
    "a carriage return": "[Perf] good\rEVIL",
    "length": "a" * 3000,
    "a link": "\x1b]8;;https://example.com\x1b\\click\x1b]8;;\x1b\\",
    "a workflow command": "::set-output name=x::y",
}


def _shown(text: str) -> Play:
    def play(scene: Scene) -> Found:
        scene.release({"f": NINE})
        scene.stack(five(scene), title=text, why=f"{text}.")
        found = scene.apply("-v")
        assert scene.repo.message(BRANCH).startswith(f"{text} (backport)\n".encode())
        done = scene.shell("show", "stack", *scene.words[2:])
        printed = found.text + done.out
        assert visible(text) in done.out
        assert not set("\x1b\r\x07\u202e\u2066\u2069") & set(printed)
        return found.called("KEEP")

    return play


for _name, _text in HOSTILE.items():
    case(f"m34-terminal-and-markup-text {_name}", "KEEP")(_shown(_text))

# ---------------------------------------------------------------- patch files


@case("m03-hunk-count-too-large the first file", "REFUSE")
def _(scene: Scene) -> Found:
    return _counts(scene, b"line", "f hunk 1 ends early")


@case("m03-hunk-count-too-large the last file", "REFUSE")
def _(scene: Scene) -> Found:
    return _counts(scene, b"row", "g hunk 1 ends early")


def _counts(scene: Scene, word: bytes, said: str) -> Found:
    rows = numbered(1, 9, "row").encode()
    scene.release({"f": NINE, "g": rows})
    after = {"f": FIVE, "g": rows.replace(b"row 5", b"five")}
    text = scene.change({"f": NINE, "g": rows}, after)
    assert text.count(b"@@ -2,7 +2,7 @@ %s 1" % word) == 1
    scene.stack(text.replace(b"@@ -2,7 +2,7 @@ %s" % word, b"@@ -2,9 +2,9 @@ %s" % word))
    return scene.apply().says(said)


@case("m07-crlf-patch-file", "REFUSE")
def _(scene: Scene) -> Found:
    scene.release({"f": NINE})
    scene.stack(five(scene).replace(b"\n", b"\r\n"))
    return scene.apply().says("CRLF line endings")


@case("m09-merge-in-range", "REFUSE")
def _(scene: Scene) -> Found:
    repo = scene.upstream({"f": NINE, "g": b"x\n"}, {"f": NINE.replace(b"line 8", b"unwanted")})
    repo.git("checkout", "-q", "-b", "topic", "before")
    repo.commit("Topic\n", {"f": NINE.replace(b"line 2", b"two")})
    repo.git("merge", "-q", "--no-commit", "main")
    repo.write({"g": b"merged\n"})
    repo.git("commit", "-q", "-a", "-m", "Merge")
    merge = repo.git("rev-parse", "HEAD")
    repo.commit("More\n", {"f": repo.raw("show", "HEAD:f").replace(b"line 5", b"five")})
    done = scene.shell(
        *("import", "before..HEAD", "--stack", "s", "--repo", str(repo.path)),
        *("--root", str(scene.library.root)),
    )
    assert not list((scene.library.root / "patches").iterdir())
    assert done.code == 2
    return Found("REFUSE", done.err).says(f"holds the merge {merge[:12]}")


@case("m14-prefix-config default", "APPLY")
def _(scene: Scene) -> Found:
    return _prefixed(scene, "x.y=z")


@case("m14-prefix-config mnemonic", "APPLY")
def _(scene: Scene) -> Found:
    return _prefixed(scene, "diff.mnemonicPrefix=true")


@case("m14-prefix-config noprefix", "REFUSE")
def _(scene: Scene) -> Found:
    return _prefixed(scene, "diff.noprefix=true").says("no a/ or b/ prefix", "diff.noprefix=false")


def _prefixed(scene: Scene, config: str) -> Found:
    before, after = {"pkg/f": NINE, "top": NINE}, {"pkg/f": FIVE, "top": FIVE}
    scene.release(before)
    text = scene.change(before, after, config=config)
    if "mnemonic" in config:  # format-patch keeps to a/ and b/, `git diff` does not
        text = Repo(scene.folder / "upstream").raw("-c", config, "diff", "before")
        assert b"--- c/pkg/f\n+++ w/pkg/f\n" in text
    scene.stack(text)
    for setting in ("diff.noprefix", "diff.mnemonicPrefix", "diff.external", "color.ui"):
        scene.repo.git("config", setting, "true")  # of the target: must not matter
    return scene.apply(want=None if "noprefix" in config else after)


MAILS = ("plain", "quoted-printable", "base64", "wrong charset", "base64 of CRLF", "flowed")


def _encoded(kind: str) -> Play:
    def play(scene: Scene) -> Found:
        before = {"f": NINE, "eq": b"a = b\n"}
        after = {"f": NINE.replace(b"line 5", "fünf = 1 ".encode()), "eq": b'a = "=3D"\n'}
        scene.release(before)
        text = scene.change(before, after)
        head, _, body = text.partition(b"\n\n")
        head = b"\n".join(x for x in head.split(b"\n") if not x.startswith((b"MIME", b"Content-")))
        codes = {
            "quoted-printable": (b"quoted-printable", quopri.encodestring(body)),
            "base64": (b"base64", base64.encodebytes(body)),
            "base64 of CRLF": (b"base64", base64.encodebytes(body.replace(b"\n", b"\r\n"))),
        }
        transfer, coded = codes.get(kind, (b"8bit", body))
        charset = b"us-ascii" if kind == "wrong charset" else b"UTF-8"
        flowed = b"; format=flowed" if kind == "flowed" else b""
        scene.stack(
            head
            + b"\nMIME-Version: 1.0\nContent-Type: text/plain; charset=%s%s\n" % (charset, flowed)
            + b"Content-Transfer-Encoding: %s\n\n" % transfer
            + coded
        )
        refused = {"flowed": "format=flowed", "base64 of CRLF": "CRLF line endings"}
        found = scene.apply(want=None if kind in refused else after)
        return found.says(refused.get(kind, "applied"))

    return play


for _name in MAILS:
    _right = "REFUSE" if _name in ("flowed", "base64 of CRLF") else "APPLY"
    case(f"m18-mbox-encodings {_name}", _right)(_encoded(_name))


def _not_a_patch(make: str, said: str) -> Play:
    def play(scene: Scene) -> Found:
        scene.release({"f": NINE})
        good = five(scene)
        at = good.index(b"@@")
        kinds = {
            "empty": b"",
            "HTML": b"<!DOCTYPE html>\n<title>Sign in</title>\n",
            "JSON": b'{"message":"Not Found"}\n',
            "a cover letter": mail("[PATCH 0/1] cover", b"", "*** BLURB ***"),
            "no change": mail("[PATCH] nothing", b""),
            "UTF-16": good.decode().encode("utf-16"),
            "a byte order mark": b"\xef\xbb\xbf" + good,
            "cut in a hunk": good[: at + 60],
            "cut in a header": good[: good.index(b"--- a/f")],
            "a zip": b"PK\x03\x04abc\0\0",
            "gzip": gzip.compress(good),
        }
        scene.stack(kinds[make])
        return scene.apply().says(said)

    return play


NOT_PATCHES = {
    "empty": "it is empty",
    "HTML": "it is HTML or XML",
    "JSON": "it is JSON",
    "a cover letter": "this is a cover letter",
    "no change": "this mail holds no diff",
    "UTF-16": "it is UTF-16 text",
    "a byte order mark": "byte order mark",
    "cut in a hunk": "f hunk 1 ends early",
    "cut in a header": "the diff of f changes nothing",
    "a zip": "it is a zip archive",
    "gzip": "it is gzip data",
}
for _name, _text in NOT_PATCHES.items():
    case(f"m27-not-a-patch {_name}", "REFUSE")(_not_a_patch(_name, _text))


@case("m27-not-a-patch two copies", "APPLY")
def _(scene: Scene) -> Found:
    scene.release({"f": NINE})
    good = five(scene)
    scene.stack(good, good)
    found = scene.apply(want={"f": FIVE}).says("2 hunks (1 exact, 1 already)")
    assert scene.repo.git("rev-list", "--count", f"base..{BRANCH}") == "1"
    return found


@case("m37-zero-context", "CONFLICT")
def _(scene: Scene) -> Found:
    before = {"f": NINE, "empty": b""}
    after = {"f": NINE.replace(b"line 9\n", b"line 9\nten\n"), "empty": b"x\n", "new": b"n\n"}
    scene.release({**before, "f": b"one\ntwo\n" + NINE})
    scene.stack(scene.change(before, after, "-U0"))
    return scene.apply().says("f: has no context")


def _combined(option: str) -> Play:
    def play(scene: Scene) -> Found:
        scene.release({"f": NINE})
        repo = scene.upstream({"f": NINE}, {"f": NINE.replace(b"line 5", b"main")})
        repo.git("checkout", "-q", "-b", "topic", "before")
        repo.commit("Topic\n", {"f": NINE.replace(b"line 5", b"topic")})
        repo.git("merge", "-q", "-s", "ours", "--no-commit", "main")
        repo.write({"f": NINE.replace(b"line 5", b"merged")})
        repo.git("commit", "-q", "-a", "-m", "Merge")
        scene.stack(repo.raw("show", option, "--format="))
        return scene.apply().says("combined diff of a merge", "`git show -m --first-parent`")

    return play


for _name in ("-c", "--cc"):
    case(f"m38-combined-diff {_name}", "REFUSE")(_combined(_name))

# ---------------------------------------------------------------- text


@case("m05-already-applied", "ALREADY")
def _(scene: Scene) -> Found:
    scene.release({"f": NINE})
    scene.stack(five(scene, g=b"new\n"))
    scene.release({"f": FIVE, "g": b"new\n"})
    return scene.apply().says("stack: already: 2 hunks (2 already)")


CRLF = b"class A:\r\n    x = 1\r\n    y = 2\r\n    z = 3\r\n"


@case("m06-crlf-target", "APPLY")
def _(scene: Scene) -> Found:
    before = {"a.py": CRLF, "lf.txt": NINE}
    after = {"a.py": CRLF.replace(b"y = 2", b"y = 22"), "lf.txt": FIVE}
    scene.release(before)
    scene.stack(scene.change(before, after))
    return scene.apply(want=after)


@case("m06-crlf-target a stripped patch", "CONFLICT")
def _(scene: Scene) -> Found:
    scene.release({"a.py": CRLF})
    text = scene.change({"a.py": CRLF}, {"a.py": CRLF.replace(b"y = 2", b"y = 22")})
    scene.stack(text.replace(b"\r\n", b"\n"))
    return scene.apply().says("a.py: the target has CRLF line endings and the patch has LF")


@case("m08-no-newline-at-eof", "APPLY")
def _(scene: Scene) -> Found:
    before: Files = {"keep": b"a: 1\nb: 2", "append": b"a: 1\nb: 2", "strip": b"a: 1\nb: 2\n"}
    after: Files = {"keep": b"a: 11\nb: 2", "append": b"a: 1\nb: 2\nc: 3", "strip": b"a: 1\nb: 2"}
    scene.release(before)
    scene.stack(scene.change(before, after))
    return scene.apply(want=after)


ODD = (
    *("cfg dir/E=128,block_shape=[128,128].json", "na ve café.txt", 'quo"te.txt', "tab\tx.txt"),
    *("a b/b.txt", "-dash.txt", "star*.txt", "back\\slash.txt", "b", "x b/y", "--output=x"),
)


@case("m15-odd-paths", "APPLY")
def _(scene: Scene) -> Found:
    before, after = dict.fromkeys(ODD, NINE), dict.fromkeys((*ODD, "new [id].tsx"), FIVE)
    bystander = {"cfg dir/E=128,block_shape=1.json": NINE}
    scene.release({**before, **bystander})
    scene.stack(scene.change(before, after))
    found = scene.apply("-v", want={**after, **bystander})
    return found.says(*(visible(path) for path in ODD if "\t" not in path))


@case("m16-line-separators-inside-lines", "APPLY")
def _(scene: Scene) -> Found:
    before = {"f": b"a = 1\nb = 2\nc = 3\n\x0c\nd = 4\ne = 5\n"}
    line = (
        "b = 'x\u2028diff --git a/evil b/evil'\nc = 'n\u0085m'\n\x0c\nd = '\x0b'\ne = 'c\rx\x1c'\n"
    )
    after = {"f": b"a = 1\n" + line.encode() + b"f = 6\n"}
    scene.release(before)
    scene.stack(scene.change(before, after))
    return scene.apply(want=after).says("1 hunk (1 exact)")


@case("m21-renames-copies-modes", "APPLY")
def _(scene: Scene) -> Found:
    texts = {name: numbered(1, 30, name).encode() for name in ("old", "both", "src")}
    scene.release({**texts, "run.sh": b"#!/bin/sh\n"})
    repo = scene.upstream({**texts, "run.sh": b"#!/bin/sh\n"}, {})
    repo.git("mv", "old", "new")
    repo.git("mv", "both", "other")
    (repo.path / "run.sh").chmod(0o755)
    (repo.path / "other").write_bytes(texts["both"].replace(b"both 15\n", b"fifteen\n"))
    repo.commit("Move them\n", {"copy": texts["src"]})
    text = repo.raw("format-patch", "-1", "--stdout", "-M", "-C", "--find-copies-harder")
    assert (text.count(b"\nrename from "), text.count(b"\ncopy from ")) == (2, 1)
    scene.stack(text)
    found = scene.apply("-v")
    assert scene.repo.git("rev-parse", f"{BRANCH}^{{tree}}") == repo.git("rev-parse", "HEAD^{tree}")
    return found.says("exact stack/p1:new#", "/p1:other#", "/p1:copy#", "/p1:run.sh#")


@case("m22-binary", "APPLY")
def _(scene: Scene) -> Found:
    before, after = _binary()
    scene.release(before)
    scene.stack(scene.change(before, after))
    return scene.apply(want=after)


@case("m22-binary without data", "REFUSE")
def _(scene: Scene) -> Found:
    before, after = _binary()
    scene.release(before)
    scene.stack(scene.change(before, after, "--no-binary"))
    return scene.apply().says("the binary change of b.bin carries no data")


def _binary() -> tuple[dict[str, bytes], dict[str, bytes]]:
    return {"b.bin": bytes(200), "a": b"a\n"}, {"b.bin": b"x" * 150 + b"\0\1\2", "a": b"b\n"}


LINK = "third_party/x"


@case("m23-submodule-and-symlink a bump", "CONFLICT")  # stricter than to apply and flag it
def _(scene: Scene) -> Found:
    def bump(repo: Repo, commit: str) -> None:
        repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit * 40},{LINK}")

    scene.release({"a": b"a\n"})
    repo = scene.upstream({"a": b"a\n"}, {})
    for one in (scene.repo, repo):
        bump(one, "1")
        one.git("commit", "-q", "-m", "A submodule")
    scene.repo.git("branch", "-f", "base")
    bump(repo, "2")
    repo.write({"a": b"b\n"})
    repo.git("add", "a")
    repo.git("commit", "-q", "-m", "Bump it")
    scene.stack(repo.raw("format-patch", "-1", "--stdout"))
    return scene.apply().says(f"{LINK} is a submodule")


@case("m23-submodule-and-symlink a link inside", "APPLY")
def _(scene: Scene) -> Found:
    scene.release({"a": b"a\n"})
    scene.stack(diff("link", None, "a", mode="120000"))
    found = scene.apply()
    assert scene.repo.git("ls-tree", BRANCH, "link").startswith("120000 ")
    return found


UNSAFE = {
    "two dots": ("../escape", "it has the component '..'"),
    "two dots in the middle": ("pkg/../../escape", "it has the component '..'"),
    "git's folder": (".git/hooks/post-commit", "names git's own folder"),
    "git's folder in another case": (".GIT/config", "names git's own folder"),
    "git's short name": ("git~1/config", "names git's own folder"),
    "a nested folder of git": ("pkg/.git/config", "names git's own folder"),
}
FLAGGED = {
    "a link to the outside": ("ln", "/etc/passwd", "120000", "links out of the tree: /etc/passwd"),
    "attributes": (".gitattributes", "*.txt filter=evil\n", "100644", "how git itself treats"),
    "a workflow": (".github/workflows/x.yml", "on: push\n", "100644", "changes what CI runs"),
}


def _unsafe(path: str, said: str) -> Play:
    def play(scene: Scene) -> Found:
        scene.release({"pkg/a": b"a\n"})
        scene.stack(diff(path, None, "owned\n", mode="100755"))
        return scene.apply().says(f"unsafe path '{path}'", said)

    return play


def _flagged(path: str, text: str, mode: str, said: str) -> Play:
    def play(scene: Scene) -> Found:
        scene.release({"pkg/a": b"a\n"})
        scene.stack(diff(path, None, text, mode=mode))
        return scene.apply().says(path, said)

    return play


for _name, _how in UNSAFE.items():
    case(f"m24-unsafe-paths {_name}", "UNSAFE")(_unsafe(*_how))
for _name, _what in FLAGGED.items():
    case(f"m24-unsafe-paths {_name}", "FLAG")(_flagged(*_what))


@case("m24-unsafe-paths absolute", "UNSAFE")
def _(scene: Scene) -> Found:
    scene.release({"pkg/a": b"a\n"})
    text = diff("x", None, "owned\n").replace(b"+++ b/x", b"+++ /nonexistent/x")
    scene.stack(text)
    return scene.apply().says("unsafe path '/nonexistent/x': it is absolute")


@case("m24-unsafe-paths a rename out of the tree", "UNSAFE")
def _(scene: Scene) -> Found:
    scene.release({"pkg/a": b"a\n"})
    scene.stack(b"diff --git a/pkg/a b/../a\nrename from pkg/a\nrename to ../a\n")
    return scene.apply().says("unsafe path '../a'")


@case("m24-unsafe-paths through a link of its own", "UNSAFE")
def _(scene: Scene) -> Found:
    scene.release({"pkg/a": b"a\n"})
    scene.stack(diff("ln", None, "..", mode="120000") + diff("ln/escape", None, "owned\n"))
    return scene.apply().says("unsafe path 'ln/escape'")


@case("m24-unsafe-paths through a link of the target", "UNSAFE")
def _(scene: Scene) -> Found:
    (scene.repo.path / "ln").symlink_to("..")
    scene.release({"pkg/a": b"a\n"})
    scene.stack(diff("ln/escape", None, "owned\n"))
    found = scene.apply().says("unsafe path: ln is a symbolic link on the target")
    assert not (scene.folder / "escape").exists()
    return found


@case("m26-delete-or-modify-conflict a deleted file", "CONFLICT")
def _(scene: Scene) -> Found:
    fixed = NINE.replace(b"line 3", b"branch_fix")
    found = scene.carry({"gone": NINE, "x": b""}, {"gone": None}, {"gone": fixed})
    return found.says("gone has other content than the patch deletes")


@case("m26-delete-or-modify-conflict a changed file", "CONFLICT")
def _(scene: Scene) -> Found:
    found = scene.carry({"kept": NINE}, {"kept": FIVE}, {"gone": NINE})  # a look-alike
    return found.says("the target has no kept")


@case("m44-huge-input", "APPLY")
def _(scene: Scene) -> Found:
    count = 20_000  # ten times as many in the measurements; see docs/guarantees.md
    before = {"big": numbered(1, count).encode(), **{f"s{n}": b"%d\n" % n for n in range(40)}}
    after = {name: text.replace(b"\n", b"x\n") for name, text in before.items()}
    scene.release(before)
    scene.stack(scene.change(before, after))
    found = scene.apply(want=after)
    assert len(found.text) < 2000
    return found


@case("m44-huge-input a GiB", "REFUSE")
def _(scene: Scene) -> Found:
    scene.release({"f": NINE})
    scene.stack(b"x")
    with (scene.library.root / "patches/stack/p1.patch").open("wb") as file:
        file.truncate(1_100_000_000)  # takes no room
    return scene.apply().says("is 1,100,000,000 bytes, over the limit of 268,435,456")


@case("m45-partial-multi-file", "CONFLICT")
def _(scene: Scene) -> Found:
    texts = {name: numbered(1, 12, name).encode() for name in "abc"}
    after = {name: text.replace(b" 6\n", b" 66\n") for name, text in texts.items()}
    found = scene.carry(texts, after, {**texts, "b": texts["b"].replace(b" 6\n", b" 7\n")})
    return found.says("b: the target has no line 'b 6'", "(2 exact, 1 conflict)")


@case("m46-gitpython-strips-final-newline", "KEEP")
def _(scene: Scene) -> Found:
    before, after = {"f": b"a\nb\nc\n"}, {"f": b"a\nb\nc   \n"}
    repo = scene.upstream(before, after)
    place = ("--stack", "stack", "--repo", str(repo.path), "--root", str(scene.library.root))
    assert scene.shell("import", "before..HEAD", *place).code == 0
    (patch,) = (scene.library.root / "patches/stack").glob("*.patch")
    assert patch.read_bytes().endswith(b"\n+c   \n")
    scene.release(before)
    scene.stack(patch.read_bytes())
    return scene.apply(want=after).called("KEEP")


# ---------------------------------------------------------------- repositories


@case("m04-nested-repo-silent-skip", "STATE")
def _(scene: Scene) -> Found:
    scene.release({"vendor/engine/f": NINE, "README": b"toolkit\n"})
    scene.stack(five(scene))
    scene.manifest()
    inner = scene.repo.path / "vendor/engine"
    before = scene.repo.snapshot()
    place = ("--repo", str(inner), "--root", str(scene.library.root))
    found = scene.judged(scene.shell("apply", "--target", "v1.0.0", *place))
    assert scene.repo.snapshot() == before
    return found.says("is not the top of a git repository")


@case("m11-dirty-tree", "STATE")
def _(scene: Scene) -> Found:
    scene.release({"f": NINE, "other": NINE})
    scene.stack(five(scene, created=b"new\n"))
    scene.repo.write({"f": b"MINE\n", "other": b"MINE\n", "created": b"precious\n"})
    found = scene.apply("--checkout").says("uncommitted changes in f, other; commit or stash them")
    scene.repo.git("checkout", "-q", "f", "other")
    scene.apply("--checkout").says("created")  # untracked, and in the way
    scene.repo.write({"f": b"MINE\n"})
    assert scene.apply().word == "APPLY"  # without --checkout nobody's work is in the way
    return found


@case("m12-two-runs-at-once", "STATE")
def _(scene: Scene) -> Found:
    scene.release({"f": NINE})
    scene.stack(five(scene))
    scene.manifest()
    lock = scene.repo.path / f".git/refs/heads/{BRANCH}.lock"
    lock.parent.mkdir()
    lock.touch()  # the other run, at its last step
    found = scene.apply().says("Unable to create")
    lock.unlink()
    running = [child("apply", *scene.words) for _ in range(2)]
    codes = {finished(process).code for process in running}
    assert 0 in codes <= {0, 3}
    assert scene.repo.git("rev-list", "--count", f"base..{BRANCH}") == "1"
    return found


def _clone(kind: str) -> Play:
    def play(scene: Scene) -> Found:
        before = {"f": numbered(1, 20).encode()}
        after = {"f": before["f"].replace(b"line 10\n", b"ten\n")}
        eight = before["f"].replace(b"line 8\n", b"eight\n")
        scene.release({"f": eight})
        scene.stack(scene.change(before, after))
        scene.repo.git("config", "uploadpack.allowFilter", "true")
        other = scene.folder / "clone"
        option = {"full": "-q"}.get(kind, kind)
        scene.repo.git("clone", "-q", option, f"file://{scene.repo.path}", str(other))
        Repo(other).git("branch", "-f", "base", "origin/base" if kind == "full" else "HEAD")
        scene.manifest()
        place = ("--repo", str(other), "--root", str(scene.library.root))
        found = scene.judged(scene.shell("apply", "--target", "v1.0.0", *place))
        return found.says("the target has no line 'line 8'")

    return play


for _name in ("full", "--depth=1", "--filter=blob:none", "--filter=tree:0"):
    case(f"m13-shallow-clone-3way {_name}", "CONFLICT")(_clone(_name))


@case("m28-locale", "ALREADY")
def _(scene: Scene) -> Found:
    scene.release({"f": NINE})
    scene.stack(five(scene))
    scene.release({"f": FIVE})
    scene.manifest()
    texts = []
    for locale in ("C", "de_DE.UTF-8"):
        env = dict.fromkeys(("LANG", "LC_ALL", "LANGUAGE"), locale)
        done = finished(child("check", *scene.words, env=env))
        assert done.code == 0
        texts.append(done.out)
    assert texts[0] == texts[1]
    return scene.apply().says("stack: already")


@case("m30-worktree-detached", "APPLY")
def _(scene: Scene) -> Found:
    scene.release({"f": NINE})
    scene.stack(five(scene))
    scene.manifest()
    linked = Repo(scene.folder / "linked")
    scene.repo.git("worktree", "add", "-q", "--detach", str(linked.path), "base")
    assert (linked.path / ".git").is_file()
    before = scene.repo.tip("main")
    place = ("--repo", str(linked.path), "--root", str(scene.library.root))
    found = scene.judged(scene.shell("apply", "--target", "v1.0.0", *place))
    assert scene.repo.files(BRANCH) == {"f": FIVE}
    assert scene.repo.tip("main") == before
    return found


@case("m31-hooks-and-signing", "KEEP")
def _(scene: Scene) -> Found:
    scene.release({"f.py": b"x = 1\ny = 2\n"})
    scene.stack(scene.change({"f.py": b"x = 1\ny = 2\n"}, {"f.py": b"x = 1\ny = 22\n"}))
    hooks = scene.repo.path / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{scene.folder}/ran'\nexit 1\n")
        (hooks / name).chmod(0o755)
    for setting in ("commit.gpgSign=true", "gpg.program=false", "user.signingKey=nobody"):
        scene.repo.git("config", *setting.split("="))
    found = scene.apply(want={"f.py": b"x = 1\ny = 22\n"})
    assert not (scene.folder / "ran").exists()
    return found.called("KEEP")


@case("m39-no-identity", "STATE")
def _(scene: Scene) -> Found:
    scene.release({"f": NINE})
    scene.stack(five(scene))
    home, old = scene.folder / "home", os.environ["HOME"]
    home.mkdir()
    shutil.copy(Path(old) / ".gitconfig", home / ".gitconfig")
    os.environ["HOME"] = str(home)
    try:
        text = (home / ".gitconfig").read_text()
        (home / ".gitconfig").write_text(text.replace("name = Test Person", ""))
        return scene.apply().says("git does not know who commits", "git config --global user.name")
    finally:
        os.environ["HOME"] = old
