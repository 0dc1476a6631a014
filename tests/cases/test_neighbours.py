"""What stands near the cases: inputs of the same kinds that a weaker tool gets wrong."""

from __future__ import annotations

import base64
import bz2
import lzma
import zlib
from collections.abc import Mapping

import pytest

from tests.builders import diff, git_blob_id, hunks, mail, numbered
from tests.cases.scene import quick
from tests.cases.test_cases import names
from tests.named import exists

NINE = numbered(1, 9).encode()
FIVE = NINE.replace(b"line 5\n", b"five\n")
CHANGE = diff("f", NINE, FIVE)
CRLF = NINE.replace(b"\n", b"\r\n")
TABLE: list[object] = []
Bytes = Mapping[str, bytes]


def near(
    kind: str,
    label: str,
    word: str,
    base: Bytes,
    *patches: bytes,
    want: Bytes | None = None,
    says: str = "",
    audited: bool = False,
) -> None:
    """One input: on `base` the patches must come to `word`; APPLY gives the files of `want`."""
    values = (word, base, patches, want, says, audited)
    TABLE.append(pytest.param(*values, id=f"{kind} {label} {word}"))


@pytest.mark.parametrize(("word", "base", "patches", "want", "says", "audited"), TABLE)
def test_neighbour(
    word: str, base: Bytes, patches: list[bytes], want: Bytes | None, says: str, audited: bool
) -> None:
    found = quick(base, *patches, audited=audited)
    assert found.word == word, found.text
    assert says in found.text
    if word == "APPLY" or want is not None:
        assert found.files == want
    elif word != "FLAG":
        assert found.files == base


# ---------------------------------------------------------------- counts

F = {"f": NINE}
near(
    "m03",
    "counts too small",
    "REFUSE",
    F,
    CHANGE.replace(b"-2,7 +2,7", b"-2,6 +2,6"),
    says="more lines",
)
near("m03", "a milliard of lines", "REFUSE", F, CHANGE.replace(b"-2,7 +2,7", b"-2,999999999 +2,7"))
near("m03", "more digits than a line has", "REFUSE", F, CHANGE.replace(b"-2,7", b"-2," + b"7" * 99))
near("m03", "a hunk of nothing", "REFUSE", F, CHANGE + b"@@ -9,0 +9,0 @@\n", says="changes nothing")
near(
    "m03",
    "an end that was lost with the last context",
    "REFUSE",
    F,
    CHANGE.removesuffix(b" line 8\n"),
)

# ---------------------------------------------------------------- what is there already

near("m05", "further down", "ALREADY", {"f": numbered(1, 5, "new").encode() + FIVE}, CHANGE)
near(
    "m05",
    "a deletion",
    "ALREADY",
    {"f": NINE.replace(b"line 5\n", b"")},
    diff("f", NINE, NINE.replace(b"line 5\n", b"")),
)
near(
    "m05",
    "a new file of another mode",
    "CONFLICT",
    {"g": b"x\n"},
    diff("g", None, "x\n", mode="100755"),
    says="mode 100644",
)
near("m05", "a changed neighbour", "CONFLICT", {"f": FIVE.replace(b"line 4", b"4")}, CHANGE)
near(
    "m05",
    "a look-alike with the result",
    "CONFLICT",
    {"f": b"top\n" + FIVE + b"mid\n" + FIVE},
    CHANGE,
    says="its own place cannot be told",
)
near(
    "m05",
    "one of two patches",
    "CONFLICT",
    {"f": FIVE, "g": NINE},
    CHANGE,
    diff("g", NINE, FIVE),
    says="g: exact",
)

# ---------------------------------------------------------------- line endings

MIXED = NINE.replace(b"line 5\n", b"line 5\r\n")
near(
    "m06",
    "one CRLF line in an LF file",
    "APPLY",
    {"f": MIXED},
    diff("f", MIXED, MIXED.replace(b"line 5", b"five")),
    want={"f": MIXED.replace(b"line 5", b"five")},
)
near(
    "m06",
    "a patch that makes LF of CRLF",
    "APPLY",
    {"f": CRLF},
    diff("f", CRLF, NINE),
    want={"f": NINE},
)
near(
    "m06",
    "a CRLF patch on an LF file",
    "CONFLICT",
    F,
    diff("f", CRLF, CRLF.replace(b"line 5", b"five")),
    says="the target has LF line endings and the patch has CRLF",
)
near(
    "m06",
    "a last line with CR alone",
    "APPLY",
    {"f": NINE + b"x\r"},
    diff("f", NINE + b"x\r", NINE + b"y\r"),
    want={"f": NINE + b"y\r"},
)
near(
    "m07",
    "CRLF from the second file on",
    "REFUSE",
    {"f": NINE, "g": NINE},
    CHANGE + diff("g", NINE, FIVE).replace(b"\n", b"\r\n"),
    says="CRLF line endings",
)
near(
    "m07",
    "CRLF in the mail's head alone",
    "APPLY",
    F,
    mail("[PATCH] x", b"").replace(b"\n", b"\r\n").removesuffix(b"-- \r\n2.39.5\r\n\r\n") + CHANGE,
    want={"f": FIVE},
)
near(
    "m07",
    "CRLF in the hunk's lines alone",
    "CONFLICT",
    F,
    CHANGE[: CHANGE.index(b"@@")]
    + CHANGE[CHANGE.index(b"@@") :].replace(b"\n", b"\r\n").replace(b"@@\r\n", b"@@\n"),
    says="line endings",
)

# ---------------------------------------------------------------- the end of a file

BARE = NINE.removesuffix(b"\n")
near("m08", "a newline is added", "APPLY", {"f": BARE}, diff("f", BARE, NINE), want={"f": NINE})
near(
    "m08",
    "the last line of a file without one changes",
    "APPLY",
    {"f": BARE},
    diff("f", BARE, NINE + b"x"),
    want={"f": NINE + b"x"},
)
near(
    "m08",
    "the target has a newline that the patch lacks",
    "CONFLICT",
    F,
    diff("f", BARE, NINE + b"x"),
)
near(
    "m08",
    "the target lacks a newline that the patch has",
    "CONFLICT",
    {"f": BARE},
    diff("f", NINE, NINE + b"x\n"),
)
near(
    "m08",
    "the marker before any line",
    "REFUSE",
    F,
    CHANGE.replace(b"@@\n", b"@@\n\\ No newline at end of file\n"),
)
near(
    "m08",
    "lines behind the one without newline",
    "REFUSE",
    F,
    CHANGE.replace(b"+five\n", b"+five\n\\ No newline at end of file\n"),
)

# ---------------------------------------------------------------- prefixes and names

near(
    "m14",
    "the prefixes of an index diff",
    "APPLY",
    F,
    CHANGE.replace(b"a/f", b"i/f").replace(b"b/f", b"w/f"),
    want={"f": FIVE},
)
near(
    "m14",
    "prefixes of a person's own",
    "REFUSE",
    F,
    CHANGE.replace(b"a/f", b"old/f").replace(b"b/f", b"new/f"),
    says="prefix",
)
near(
    "m14",
    "no prefix and a folder named a",
    "REFUSE",
    {"a/f": NINE, "f": NINE},
    CHANGE.replace(b"b/f", b"a/f"),
    says="no a/ or b/ prefix",
)
near(
    "m14",
    "coloured",
    "REFUSE",
    F,
    CHANGE.replace(b"diff", b"\x1b[1mdiff").replace(b"--- a", b"\x1b[1m--- a"),
    says="a hunk without a file header",
)
for _path in (
    "-rf",
    "@{1}",
    ":(top)f",
    "HEAD",
    "--",
    "a => b",
    "x b/x",
    "trail ",
    "%s",
    "$(touch x)",
    "~/f",
):
    near(
        "m15",
        f"the name {_path}",
        "APPLY",
        {_path: NINE},
        diff(_path, NINE, FIVE),
        want={_path: FIVE},
    )
near(
    "m15",
    "a quoted newline",
    "APPLY",
    {"a\nb": NINE},
    diff("Q", NINE, FIVE).replace(b"a/Q", b'"a/a\\nb"').replace(b"b/Q", b'"b/a\\nb"'),
    want={"a\nb": FIVE},
)
near(
    "m15",
    "a quote that never ends",
    "REFUSE",
    F,
    CHANGE.replace(b"a/f", b'"a/f').replace(b"b/f", b'"b/f'),
)
near(
    "m15",
    "a header that contradicts its lines",
    "REFUSE",
    {**F, "g": NINE},
    CHANGE.replace(b"+++ b/f", b"+++ b/g"),
    says="contradict",
)

# ---------------------------------------------------------------- separators, mails

for _char in ("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r", "\ufeff"):
    _old = NINE.replace(b"line 5", f"a{_char}diff --git a/x b/x{_char}--- a/x".encode())
    near(
        "m16", f"U+{ord(_char):04X}", "APPLY", {"f": _old}, diff("f", _old, FIVE), want={"f": FIVE}
    )


def encoded(kind: str, body: bytes) -> bytes:
    head = f"MIME-Version: 1.0\nContent-Transfer-Encoding: {kind}\n"
    text = mail("[PATCH] x", b"", headers=head)
    return text[: text.index(b"---\n")] + body


LONG = NINE.replace(b"line 5", b"x" * 500)
_soft = diff("f", NINE, LONG).replace(b"x" * 70, b"x" * 69 + b"=78=\n")
near("m18", "soft line breaks", "APPLY", F, encoded("quoted-printable", _soft), want={"f": LONG})
near(
    "m18",
    "base64 that is cut short",
    "REFUSE",
    F,
    encoded("base64", base64.encodebytes(CHANGE)[:90]),
)
near("m18", "base64 that is none", "REFUSE", F, encoded("base64", b"!" * 200))
near(
    "m18",
    "an attachment among other parts",
    "REFUSE",
    F,
    mail(
        "[PATCH] x",
        CHANGE + b"\n--next--\n",
        headers="Content-Type: multipart/mixed; boundary=next\n",
    ),
)

# ---------------------------------------------------------------- whole files

MOVE = b"diff --git a/f b/g\nrename from f\nrename to g\n"
near(
    "m21",
    "a rename onto a file that is there",
    "CONFLICT",
    {"f": NINE, "g": NINE},
    MOVE,
    says="g is there already",
)
near(
    "m21",
    "a rename of what has gone",
    "CONFLICT",
    {"x": b""},
    MOVE + b"--- a/f\n+++ b/g\n" + hunks(NINE, FIVE),
    says="the target has no f",
)
near(
    "m21",
    "names that change places",
    "APPLY",
    {"f": b"1\n", "g": b"2\n"},
    MOVE + b"diff --git a/g b/f\nrename from g\nrename to f\n",
    want={"f": b"2\n", "g": b"1\n"},
)
near(
    "m21",
    "a mode that no file has",
    "REFUSE",
    F,
    b"diff --git a/f b/f\nold mode 100644\nnew mode 100666\n",
    says="100666",
)
near("m21", "a set-uid mode", "REFUSE", F, diff("s", None, "x\n", mode="104755"), says="104755")


def literal(data: bytes, size: int | None = None) -> bytes:
    """A binary diff that creates `b`, with a size that may be a lie."""
    packed = zlib.compress(data)
    lines = b""
    for at in range(0, len(packed), 52):
        piece = packed[at : at + 52]
        sign = chr(len(piece) + (64 if len(piece) <= 26 else 70)).encode()
        lines += sign + base64.b85encode(piece, pad=True) + b"\n"
    head = f"diff --git a/b b/b\nnew file mode 100644\nindex {'0' * 40}..{git_blob_id(data)}\n"
    return head.encode() + b"GIT binary patch\nliteral %d\n%s\n" % (
        len(data) if size is None else size,
        lines,
    )


near("m22", "a new file", "APPLY", {}, literal(b"\0\1\2"), want={"b": b"\0\1\2"})
near("m22", "more data than it says", "REFUSE", {}, literal(bytes(10_000_000), 10), says="not 10")
near(
    "m22", "fewer data than it says", "REFUSE", {}, literal(b"\0", 10), says="have 1 bytes, not 10"
)
near("m22", "a size that no file has", "REFUSE", {}, literal(b"\0", 10**12), says="over the limit")
near("m22", "a letter that is none", "REFUSE", {}, literal(b"\0\1\2").replace(b"K", b"K\x7f", 1))


def link(to: str, path: str = "pkg/ln") -> bytes:
    return diff(path, None, to, mode="120000")


near("m23", "a link beside itself", "APPLY", {}, link("other"), want={"pkg/ln": b"other"})
near(
    "m23",
    "a link up and back into the tree",
    "APPLY",
    {},
    link("../pkg/x"),
    want={"pkg/ln": b"../pkg/x"},
)
near("m23", "a link one step too far up", "FLAG", {}, link("../../x"), says="links out of the tree")
near(
    "m23", "a link out by a detour", "FLAG", {}, link("a/../../../x"), says="links out of the tree"
)
near("m23", "a link into git's folder", "FLAG", {}, link("../.git/hooks"), says="git's own folder")
near(
    "m23",
    "a new submodule",
    "CONFLICT",
    {},
    diff("sub", None, "Subproject commit " + "1" * 40 + "\n", mode="160000"),
    says="is a submodule",
)
near(
    "m23",
    "the list of submodules",
    "FLAG",
    {},
    diff(".gitmodules", None, '[submodule "x"]\n\turl = -u./x\n'),
    says="how git itself",
)

# ---------------------------------------------------------------- unsafe paths

for _path in (
    ".g\u200cit/config",
    ".git\u200d/x",
    ".GiT::$INDEX_ALLOCATION/x",
    ".git./x",
    ".git /x",
    "a/.git...",
    "GIT~1/x",
    ".git\\hooks\\x",
    "a\\..\\..\\x",
    "..\\x",
    "C:\\x",
    "C:/x",
    "\\\\host\\x",
    "a//b",
    "./x",
    "a/./b",
    "a/",
):
    near(
        "m24",
        f"the path {_path.encode('unicode_escape').decode()}",
        "UNSAFE",
        {},
        diff(_path, None, "owned\n"),
    )
for _path in ("con", "pkg/NUL.txt", "aux.py", "com1", "LPT9.c", "pkg/CON .txt", "conin$"):
    near(
        "m24",
        f"the device {_path}",
        "FLAG",
        {},
        diff(_path, None, "x\n"),
        says="is a device on Windows",
    )
for _path in (
    ".GITATTRIBUTES",
    "pkg/.gitattributes",
    ".gitmodule\u200cs",
    ".gitattributes .",
    "GITATT~1",
    "gitmod~2",
    ".lfsconfig",
):
    near(
        "m24",
        f"settings in {_path.encode('unicode_escape').decode()}",
        "FLAG",
        {},
        diff(_path, None, "x\n"),
        says="how git itself treats",
    )
for _path in (
    ".GitHub/Workflows/x.yml",
    ".github/actions/x/action.yml",
    ".buildkite/p.yaml",
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    "Jenkinsfile",
    "azure-pipelines.yml",
    ".pre-commit-config.yaml",
):
    near(
        "m24",
        f"what CI runs in {_path}",
        "FLAG",
        {},
        diff(_path, None, "x\n"),
        says="changes what CI runs",
    )
near(
    "m24",
    "attributes that go",
    "FLAG",
    {".gitattributes": b"x\n"},
    diff(".gitattributes", "x\n", None),
    says="how git itself",
)
for _path in (
    ".github.md",
    "pkg/git~2x",
    ".gitignore",
    "console.py",
    "com10.txt",
    "auxiliary.c",
    "nullable",
    "..a",
    "a..b",
    ".git-blame-ignore-revs",
    "x.git",
):
    near(
        "m24",
        f"the harmless {_path}",
        "APPLY",
        {},
        diff(_path, None, "x = 1\n"),
        want={_path: b"x = 1\n"},
    )

# ---------------------------------------------------------------- deleted and changed

near("m26", "deleted there too", "ALREADY", {"x": b""}, diff("f", NINE, None))
near("m26", "deleted with other line ends", "CONFLICT", {"f": CRLF}, diff("f", NINE, None))
near(
    "m26",
    "deleted with another mode",
    "CONFLICT",
    F,
    diff("f", NINE, None, mode="100755"),
    says="mode",
)
near(
    "m26",
    "changed where a folder is now",
    "CONFLICT",
    {"f/x": NINE},
    CHANGE,
    says="f is a folder on the target",
)
near(
    "m26",
    "deleted by one patch and changed by the next",
    "CONFLICT",
    F,
    diff("f", NINE, None),
    CHANGE,
    says="the target has no f",
)

# ---------------------------------------------------------------- no patch at all

near("m27", "bzip2", "REFUSE", F, mail("", b"")[:0] + b"From x\n" + bz2.compress(CHANGE))
near("m27", "xz", "REFUSE", F, b"From x\n" + lzma.compress(CHANGE))
near(
    "m27",
    "a context diff",
    "REFUSE",
    F,
    b"*** a/f\n--- b/f\n***************\n*** 1,3 ****\n! x\n--- 1,3 ----\n! y\n",
)
near("m27", "an ed script", "REFUSE", F, b"From x\n5c\nfive\n.\n", says="no diff")
near(
    "m27", "a word diff", "REFUSE", F, CHANGE.replace(b"-line 5\n+five\n", b"[-line 5-]{+five+}\n")
)
near("m27", "a NUL in a text", "REFUSE", F, CHANGE.replace(b"five", b"fi\0ve"), says="NUL")
near(
    "m27",
    "a hunk without its file",
    "REFUSE",
    F,
    CHANGE[CHANGE.index(b"@@") :],
    says="a hunk without a file header",
)
near(
    "m27",
    "the first patch again within a longer one",
    "APPLY",
    {"f": NINE, "g": NINE},
    CHANGE,
    CHANGE + diff("g", NINE, FIVE),
    want={"f": FIVE, "g": FIVE},
)

# ---------------------------------------------------------------- context

near(
    "m37",
    "a deletion without context",
    "CONFLICT",
    F,
    diff("f", NINE, NINE.replace(b"line 5\n", b""), context=0),
    says="no context",
)
near(
    "m37",
    "a change without context",
    "CONFLICT",
    F,
    diff("f", NINE, FIVE, context=0),
    says="no context",
)
near(
    "m37",
    "without context but for the very text",
    "APPLY",
    F,
    diff("f", NINE, FIVE, context=0, index=True),
    want={"f": FIVE},
)
near(
    "m37",
    "one line of context that stands twice",
    "CONFLICT",
    {"f": b"a\nb\nc\n" * 2},
    diff("f", "a\nb\nc\nx\n", "a\nB\nc\nx\n", context=1),
    says="fits at lines 2, 5",
)
near(
    "m38",
    "behind a good file",
    "REFUSE",
    F,
    CHANGE
    + b"diff --cc g\nindex 1,2..3\n--- a/g\n+++ b/g\n@@@ -1,1 -1,1 +1,1 @@@\n- a\n -b\n++c\n",
    says="combined diff",
)
near(
    "m38",
    "of three parents",
    "REFUSE",
    F,
    b"diff --combined f\n--- a/f\n+++ b/f\n@@@@ -1 -1 -1 +1 @@@@\n+++x\n",
    says="combined diff",
)
near(
    "m38",
    "its hunk alone",
    "REFUSE",
    F,
    b"--- a/f\n+++ b/f\n@@@ -1,1 -1,1 +1,1 @@@\n++c\n",
    says="combined diff",
)

# ---------------------------------------------------------------- in part

TWICE = NINE + numbered(20, 29).encode()
BOTH = TWICE.replace(b"line 5\n", b"five\n").replace(b"line 25\n", b"25\n")
near(
    "m45",
    "one of two hunks of a file",
    "CONFLICT",
    {"f": TWICE.replace(b"line 25", b"other")},
    diff("f", TWICE, BOTH),
    says="f: exact",
)
near(
    "m45",
    "a new file beside a lost hunk",
    "CONFLICT",
    {"x": b""},
    diff("new", None, "x\n") + CHANGE,
    says="new: exact",
)
near(
    "m45",
    "a mode beside a lost hunk",
    "CONFLICT",
    {"f": b"x\n", "run": b""},
    b"diff --git a/run b/run\nold mode 100644\nnew mode 100755\n" + CHANGE,
)
near(
    "s25",
    "one of two hunks of a file",
    "CONFLICT",
    {"f": b"top\n" + TWICE.replace(b"line 5\n", b"five\n")},
    diff("f", TWICE, BOTH),
    says="f: already",
)
near(
    "s25",
    "all but a new file",
    "CONFLICT",
    {"f": FIVE},
    CHANGE + diff("g", None, "x\n"),
    says="g: exact",
)
near("s25", "both hunks, at other lines", "ALREADY", {"f": b"top\n" + BOTH}, diff("f", TWICE, BOTH))

# ---------------------------------------------------------------- the right function

ONE = b"def a(y):\n    y = f(y)\n    y = g(y)\n    return y\n"
PAIR = ONE + b"\n\n" + ONE.replace(b"def a", b"def b")
IN_B = diff(
    "m.py",
    PAIR,
    PAIR[::1].replace(b"def b(y):\n    y = f(y)\n", b"def b(y):\n    y = f(y)\n    y = h(y)\n"),
    context=1,
    section="b",
)
near(
    "s10",
    "the scope is there",
    "APPLY",
    {"m.py": PAIR},
    IN_B,
    want={
        "m.py": PAIR.replace(
            b"def b(y):\n    y = f(y)\n", b"def b(y):\n    y = f(y)\n    y = h(y)\n"
        )
    },
)
near(
    "s10",
    "the scope has gone",
    "CONFLICT",
    {"m.py": PAIR.replace(b"def b(", b"def c(")},
    IN_B,
    says="belongs in b",
)
near(
    "s10",
    "the function became a method",
    "CONFLICT",
    {"m.py": b"class A:\n" + b"".join(b"    %s\n" % x if x else b"\n" for x in PAIR.split(b"\n"))},
    IN_B,
)
ARM = b"if X:\n\n    def f():\n        return 1\n"
ARMS = ARM + b"else:\n\n    def f():\n        return 2\n"
near("s11", "in another arm", "APPLY", {"m.py": ARM}, diff("m.py", ARM, ARMS), want={"m.py": ARMS})
near(
    "s11",
    "a class",
    "FLAG",
    {"m.py": b"class A:\n    x = 1\n\n\ny = 2\n"},
    diff("m.py", "y = 2\n", "y = 2\n\n\nclass A:\n    x = 1\n"),
    says="A is defined 2 times",
)
near(
    "s11",
    "a method",
    "FLAG",
    {"m.py": b"class A:\n    def f(self): ...\n\n    def g(self): ...\n"},
    diff(
        "m.py",
        "\n    def g(self): ...\n",
        "\n    def g(self): ...\n\n    def f(self): ...\n",
        section="A.g",
    ),
    says="A.f is defined 2 times",
)
near(
    "s24",
    "moved and renamed",
    "CONFLICT",
    {"b/other.py": NINE},
    diff("a/f.py", NINE, FIVE),
    says="the target has no a/f.py",
)
near(
    "s24",
    "several of that name",
    "CONFLICT",
    {"b/f.py": NINE, "a/c/f.py": NINE},
    diff("a/f.py", NINE, FIVE),
    says="is it a/c/f.py or b/f.py?",
)
near(
    "s24",
    "a new file where the old one stays",
    "APPLY",
    {"b/f.txt": NINE},
    diff("a/f.txt", None, FIVE),
    want={"a/f.txt": FIVE, "b/f.txt": NINE},
)

# ---------------------------------------------------------------- every kind has its neighbours

BRANCH, REPOS = "tests/workflows/test_apply_branch.py", "tests/workflows/test_apply_repositories.py"
COMMITS, MAIL = "tests/workflows/test_commits.py", "tests/core/test_mail.py"
ELSEWHERE = {  # neighbours of whole repositories, messages and meanings stand with their subject
    "m01": [f"{MAIL}::test_only_the_patch_tag_leaves_the_subject"],
    "m04": [
        f"{REPOS}::test_a_sub_folder_of_another_repository_is_not_its_top",
        f"{REPOS}::test_a_submodule",
        f"{REPOS}::test_variables_that_point_git_elsewhere_are_not_followed",
    ],
    "m09": ["tests/workflows/test_importing.py::test_a_merge_in_the_range_is_refused"],
    "m11": [f"{BRANCH}::test_checkout_of_a_dirty_work_tree_is_refused_and_changes_nothing"],
    "m12": [
        f"{BRANCH}::test_two_runs_at_once_leave_one_right_branch",
        f"{BRANCH}::test_a_branch_that_somebody_else_moved_meanwhile_is_not_overwritten",
        f"{BRANCH}::test_a_branch_that_another_run_moved_to_the_same_commit_is_fine",
    ],
    "m13": [
        f"{REPOS}::test_a_shallow_clone_with_the_base_is_enough",
        f"{REPOS}::test_a_partial_clone_without_the_files_names_one_and_the_command_that_gets_them",
        f"{REPOS}::test_a_partial_clone_gives_the_same_branch_once_that_command_has_run",
    ],
    "m20": [f"{COMMITS}::test_the_reason_is_kept_byte_for_byte"],
    "m28": [f"{REPOS}::test_another_language_of_git_changes_nothing"],
    "m30": [
        f"{REPOS}::test_a_work_tree_of_a_bare_repository",
        f"{REPOS}::test_a_git_folder_that_lies_elsewhere",
        f"{REPOS}::test_an_unborn_head",
    ],
    "m31": [f"{REPOS}::test_hostile_settings_and_hooks_change_nothing_and_none_of_them_runs"],
    "m34": [
        "tests/test_hostile_text.py::test_nothing_of_a_hostile_stack_reaches_an_output_raw",
        "tests/core/test_display.py::test_what_would_act_on_a_terminal_is_written_out",
    ],
    "m39": [
        f"{REPOS}::test_the_identity_is_found_wherever_git_finds_it",
        f"{REPOS}::test_a_name_with_characters_that_git_leaves_out",
        f"{REPOS}::test_check_needs_no_identity",
    ],
    "m44": ["tests/test_limits.py::test_huge_input_is_read_or_refused_in_bounded_time_and_memory"],
    "m46": [f"{COMMITS}::test_bytes_are_kept"],
    "s01": ["tests/audit/test_ops.py::test_a_fake_that_differs"],
    "s03": ["tests/audit/test_imports.py::test_fault"],
    "s05": [
        "tests/audit/test_overrides.py::test_a_new_back_end_that_lacks_what_callers_pass",
        "tests/audit/test_overrides.py::test_silence_until_somebody_passes_it",
        "tests/audit/test_overrides.py::test_a_class_of_another_family_is_not_meant",
    ],
    "s07": ["tests/audit/test_names.py::test_fault"],
    "s08": ["tests/audit/test_names.py::test_silence"],
    "s13": [
        "tests/audit/test_flags.py::test_a_flag_of_which_only_the_annotation_was_carried",
        "tests/audit/test_flags.py::test_a_flag_that_the_stack_takes_away",
        "tests/audit/test_flags.py::test_a_flag_whose_entry_was_carried",
    ],
    "s14": ["tests/audit/test_fixtures.py::test_fault"],
    "s15": [
        "tests/parity/test_results.py::test_without_torch_nothing_has_run",
        "tests/parity/test_results.py::test_a_stack_whose_case_cannot_run_has_not_passed",
        "tests/parity/test_results.py::test_without_a_pinned_aiter_nothing_has_run",
    ],
    "s16": ["tests/core/test_anchoring.py::test_added_lines_go_to_the_named_place"],
    "s17": ["tests/audit/test_attributes.py::test_fault"],
    "s21": [
        "tests/audit/test_ops.py::test_an_op_of_two_modules",
        "tests/audit/test_ops.py::test_an_op_of_two_branches_is_registered_once",
        "tests/audit/test_ops.py::test_a_registration_that_the_stack_removes",
    ],
    "s22": ["tests/audit/test_stdlib.py::test_fault"],
}


@pytest.mark.parametrize("kind", sorted({name.split("-")[0] for name in names()}))
def test_every_kind_has_three_neighbours(kind: str) -> None:
    here = [param for param in TABLE if str(param.id).startswith(f"{kind} ")]  # type: ignore[attr-defined]
    named = ELSEWHERE.get(kind, [])
    assert len(here) >= 3 or named
    assert all(map(exists, named)), named
