"""Reading diffs: what git and GNU diff write is read in full, anything else is refused."""

from __future__ import annotations

import pytest

from backport.core.cursors import PatchError
from backport.core.parsing import parse_diff
from backport.core.patches import FilePatch, Hunk
from tests.builders import diff

HUNK = b"@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"


def one(data: bytes) -> FilePatch:
    (file,) = parse_diff(data)
    return file


def refusal(data: bytes, first_line: int = 1) -> tuple[int, str]:
    """The line and the words with which the diff is refused."""
    with pytest.raises(PatchError) as caught:
        parse_diff(data, first_line)
    return caught.value.line, caught.value.message


# ---------------------------------------------------------------- what is read


def test_a_git_diff_is_read_in_full() -> None:
    file = one(
        b"diff --git a/pkg/f.txt b/pkg/f.txt\n"
        b"index 1234567..89abcde 100755\n"
        b"--- a/pkg/f.txt\n"
        b"+++ b/pkg/f.txt\n"
        b"@@ -4,3 +5,4 @@ def f(x):\n"
        b" one\n"
        b"-two\n"
        b"+2\n"
        b"+2.5\n"
        b" three\n"
    )
    assert file == FilePatch(
        "pkg/f.txt",
        "pkg/f.txt",
        (Hunk(4, 5, (b" one\n", b"-two\n", b"+2\n", b"+2.5\n", b" three\n"), "def f(x):"),),
        "100755",
        "100755",
        "1234567",
        "89abcde",
    )
    assert (file.at, file.hunks[0].at) == (1, 5)


def test_lines_are_counted_from_the_given_first_line() -> None:
    file = parse_diff(b"\n" + diff("f", "a\n", "b\n"), first_line=10)[0]
    assert (file.at, file.hunks[0].at) == (11, 14)


def test_every_file_is_read_in_order_and_text_around_them_is_passed_over() -> None:
    text = b"words\n" + diff("z", "1\n", "2\n") + b"more words\n" + diff("a", "1\n", "2\n")
    assert [file.path for file in parse_diff(text)] == ["z", "a"]


def test_a_text_without_a_diff_has_no_files() -> None:
    assert parse_diff(b"just words\n- a bullet\n+ another\n") == ()
    assert parse_diff(b"") == ()


def test_a_count_of_one_may_be_left_out() -> None:
    hunk = one(b"--- a/f\n+++ b/f\n@@ -3 +3 @@\n-a\n+b\n").hunks[0]
    assert (hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count) == (3, 1, 3, 1)


def test_hunks_without_context_are_read() -> None:
    hunk = one(b"--- a/f\n+++ b/f\n@@ -7,0 +8,2 @@\n+a\n+b\n").hunks[0]
    assert (hunk.old_start, hunk.before, hunk.after) == (7, b"", b"a\nb\n")


def test_an_empty_line_in_a_hunk_is_context_that_lost_its_space() -> None:
    hunk = one(b"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n").hunks[0]
    assert hunk.before == b"a\n\nb\n"


NO_NEWLINE = b"\\ No newline at end of file\n"


@pytest.mark.parametrize(
    ("lines", "before", "after"),
    [
        (b" a\n-b\n%s+c\n", b"a\nb", b"a\nc\n"),
        (b" a\n-b\n+c\n%s", b"a\nb\n", b"a\nc"),
        (b"-a\n+c\n b\n%s", b"a\nb", b"c\nb"),
    ],
    ids=["only before", "only after", "both, as context"],
)
def test_a_missing_final_newline_is_kept(lines: bytes, before: bytes, after: bytes) -> None:
    data = b"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n" + lines.replace(b"%s", NO_NEWLINE)
    hunk = one(data).hunks[0]
    assert (hunk.before, hunk.after) == (before, after)


def test_the_words_about_a_missing_newline_may_be_in_any_language() -> None:
    data = b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n\\ Kein Zeilenumbruch\n"
    assert one(data).hunks[0].after == b"b"


def test_only_a_newline_ends_a_line() -> None:
    odd = "a\u2028b\x0b\x0c\x1c\u0085 c\rd\n".encode()
    hunk = one(b"--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n " + odd + b"+" + odd).hunks[0]
    assert hunk.lines == (b" " + odd, b"+" + odd)


def test_carriage_returns_of_a_changed_file_are_content() -> None:
    hunk = one(b"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n").hunks[0]
    assert (hunk.before, hunk.after) == (b"a\r\nb\r\n", b"a\r\nc\r\n")


def test_a_removed_line_that_looks_like_a_header_is_a_line() -> None:
    hunk = one(b"--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n--- a comment\n same\n").hunks[0]
    assert hunk.removed == (b"-- a comment\n",)


def test_a_mail_signature_is_not_a_line_of_the_hunk() -> None:
    file = one(diff("f", "a\n", "b\n") + b"-- \n2.39.5\n\n")
    assert file.hunks[0].removed == (b"a\n",)


@pytest.mark.parametrize("below", [b"2.39.5\n\n", b"2.39.5", b"\n\n", b""])
def test_a_signature_whose_space_was_cut_is_not_a_line_of_the_hunk(below: bytes) -> None:
    file = one(diff("f", "a\n", "b\n") + b"--\n" + below)
    assert file.hunks[0].removed == (b"a\n",)


@pytest.mark.parametrize("below", [b" a\n", b"+b\n", b"words\n", b"@@ -9 +9 @@\n-a\n+b\n"])
def test_a_removed_line_beyond_the_counts_is_no_signature(below: bytes) -> None:
    change = diff("f", "a\n", "b\n")
    line, message = refusal(change + b"--\n" + below)
    told = "f hunk 1 has more lines than its counts say"
    assert (line, message) == (change.count(b"\n") + 1, told)


def test_a_removed_line_that_looks_like_a_signature_is_a_line() -> None:
    hunk = one(b"--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n-- \n 2.39.5\n-- \n2.39.5\n\n").hunks[0]
    assert hunk.before == b"- \n2.39.5\n"


def test_a_plain_diff_follows_another_without_a_line_between() -> None:
    plain = b"--- a/%s\t2025-01-01\n+++ b/%s\t2025-01-02\n" + HUNK
    files = parse_diff(plain % (b"f", b"f") + plain % (b"g", b"g"))
    assert [file.path for file in files] == ["f", "g"]


# ---------------------------------------------------------------- whole files


def test_a_new_empty_file_is_real() -> None:
    file = one(b"diff --git a/pkg/__init__.py b/pkg/__init__.py\nnew file mode 100644\n")
    assert (file.old_path, file.new_path, file.hunks) == (None, "pkg/__init__.py", ())
    assert file.creates


def test_a_deleted_empty_file_is_real() -> None:
    file = one(b"diff --git a/f b/f\ndeleted file mode 100644\nindex e69de29..0000000\n")
    assert (file.old_path, file.new_path, file.path) == ("f", None, "f")
    assert file.deletes


def test_a_created_file_has_its_mode() -> None:
    assert one(diff("run.sh", None, "#!/bin/sh\n", mode="100755")).new_mode == "100755"


def test_a_deleted_file_has_its_mode() -> None:
    assert one(diff("link", "there", None, mode="120000")).old_mode == "120000"


def test_a_mode_change_alone_is_a_change() -> None:
    file = one(b"diff --git a/r.sh b/r.sh\nold mode 100644\nnew mode 100755\n")
    assert (file.old_mode, file.new_mode, file.hunks) == ("100644", "100755", ())


def test_a_mode_change_with_hunks_keeps_the_new_mode() -> None:
    file = one(
        b"diff --git a/r b/r\nold mode 100644\nnew mode 100755\nindex 1234567..89abcde\n"
        b"--- a/r\n+++ b/r\n" + HUNK
    )
    assert (file.old_mode, file.new_mode, len(file.hunks)) == ("100644", "100755", 1)


def test_a_binary_change_is_read_and_the_next_file_after_it() -> None:
    binary, text = parse_diff(
        b"diff --git a/t b/t\nindex 1234567..89abcde 100644\nGIT binary patch\n"
        b"literal 7\nOcmb=ZtYTnf;sO8&m;reJ\n\nliteral 8\nPcmYdHN@hq&P2&Op3#9^J\n\n"
        + diff("u", "1\n", "2\n")
    )
    assert binary.binary is not None
    assert (binary.binary.data, binary.hunks) == (b"xyz\0\1\2\n", ())
    assert (text.path, text.binary) == ("u", None)


def test_a_pure_rename_is_a_change() -> None:
    file = one(
        b"diff --git a/old.py b/new.py\nsimilarity index 100%\n"
        b"rename from old.py\nrename to new.py\n"
    )
    assert (file.old_path, file.new_path, file.copy, file.renames) == (
        "old.py",
        "new.py",
        False,
        True,
    )


def test_a_rename_with_hunks_keeps_both_names() -> None:
    file = one(
        b"diff --git a/old b/new\nsimilarity index 90%\nrename from old\nrename to new\n"
        b"index 1234567..89abcde 100644\n--- a/old\n+++ b/new\n" + HUNK
    )
    assert (file.old_path, file.new_path, len(file.hunks)) == ("old", "new", 1)


def test_a_copy_is_no_rename() -> None:
    file = one(b"diff --git a/a b/b\nsimilarity index 100%\ncopy from a\ncopy to b\n")
    assert (file.old_path, file.new_path, file.copy) == ("a", "b", True)


# ---------------------------------------------------------------- names

PATHS = {
    "a space": "na me.txt",
    "spaces everywhere": " a  b .txt ",
    "the second prefix inside": "a b/b.txt",
    "brackets": "E=1,block_shape=[128,128].json",
    "a leading dash": "-dash.txt",
    "a single letter": "b",
    "a folder called a": "a/x",
    "a folder called b": "b/x",
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS.keys())
def test_an_unquoted_name_is_read_whole(path: str) -> None:
    assert one(diff(path, "1\n", "2\n")).path == path


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS.keys())
def test_an_unquoted_name_is_read_from_the_header_alone(path: str) -> None:
    assert one(diff(path, None, "")).path == path


def test_a_name_ends_at_the_tab_that_git_writes_after_a_space() -> None:
    assert one(b"--- a/na me\t\n+++ b/na me\t\n" + HUNK).path == "na me"


QUOTED = rb'"%s/caf\303\251 \"x\"\t.txt"'


def test_a_quoted_name_is_read_from_its_lines() -> None:
    old, new = QUOTED % b"a", QUOTED % b"b"
    file = one(b"diff --git %s %s\n--- %s\n+++ %s\n%s" % (old, new, old, new, HUNK))
    assert file.path == 'café "x"\t.txt'


def test_a_quoted_name_is_read_from_the_header_alone() -> None:
    header = b"diff --git %s %s\nnew file mode 100644\n" % (QUOTED % b"a", QUOTED % b"b")
    assert one(header).path == 'café "x"\t.txt'


def test_quoted_names_of_a_rename_are_read() -> None:
    file = one(
        rb'diff --git a/plain "b/t\303\251"' + b"\nsimilarity index 100%\n"
        b"rename from plain\n" + rb'rename to "t\303\251"' + b"\n"
    )
    assert (file.old_path, file.new_path) == ("plain", "té")


def test_a_name_that_is_not_utf8_survives() -> None:
    assert one(b'--- "a/caf\\351"\n+++ "b/caf\\351"\n' + HUNK).path == "caf\udce9"


@pytest.mark.parametrize("prefixes", ["ab", "iw", "ci", "cw", "ow", "12"])
def test_the_prefixes_that_git_may_be_told_to_use_are_known(prefixes: str) -> None:
    old, new = (f"{letter}/pkg/f.txt" for letter in prefixes)
    file = one(f"diff --git {old} {new}\n--- {old}\n+++ {new}\n".encode() + HUNK)
    assert file.path == "pkg/f.txt"


def test_gnu_diff_compares_a_file_with_its_original() -> None:
    assert one(b"--- a/f.txt.orig\n+++ b/f.txt\n" + HUNK).path == "f.txt"


def test_a_plain_diff_creates_and_deletes_against_dev_null() -> None:
    made = one(b"--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n")
    gone = one(b"--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n")
    assert (made.old_path, made.new_path) == (None, "f")
    assert (gone.old_path, gone.new_path) == ("f", None)


# ---------------------------------------------------------------- what is refused

GIT = b"diff --git a/f b/f\n"
NAMES = b"--- a/f\n+++ b/f\n"
NO_PREFIX = (
    "has no a/ or b/ prefix (made with diff.noprefix?); "
    "export it again with `git -c diff.noprefix=false format-patch`"
)
MERGE = (
    "this is the combined diff of a merge, which cannot be applied; "
    "export the merge with `git show -m --first-parent`"
)
CONTRADICTION = "the header and the `---`/`+++` lines contradict each other"
CRLF = "the patch file has CRLF line endings, in its headers too; save it with LF"

REFUSED = {
    "fewer lines than the counts, at the end": (
        NAMES + b"@@ -1,9 +1,9 @@\n a\n-b\n+c\n",
        (7, "f hunk 1 ends early: its counts ask for 7 more old and 7 more new lines"),
    ),
    "fewer lines than the counts, before the next file": (
        GIT + NAMES + b"@@ -1,3 +1,3 @@\n a\n-b\n+c\n" + GIT,
        (8, "f hunk 1 ends early: its counts ask for 1 more old and 1 more new lines"),
    ),
    "fewer lines than the counts, before the next hunk": (
        NAMES + b"@@ -1,3 +1,3 @@\n a\n-b\n+c\n@@ -8 +8 @@\n-a\n+b\n",
        (7, "f hunk 1 ends early: its counts ask for 1 more old and 1 more new lines"),
    ),
    "fewer lines than the counts, before a mail's signature": (
        NAMES + b"@@ -1,2 +1 @@\n-a\n+b\n-- \n2.39.5\n\n",
        (6, "f hunk 1 ends early: its counts ask for 1 more old and 0 more new lines"),
    ),
    "more old lines than the count": (
        NAMES + b"@@ -1,1 +1,2 @@\n-a\n-b\n+c\n+d\n",
        (5, "f hunk 1 has more lines than its counts say"),
    ),
    "more new lines than the count": (
        NAMES + b"@@ -1,2 +1,1 @@\n+a\n+b\n-c\n-d\n",
        (5, "f hunk 1 has more lines than its counts say"),
    ),
    "a line after the counts are met": (
        NAMES + b"@@ -1 +1 @@\n-a\n+b\n c\n",
        (6, "f hunk 1 has more lines than its counts say"),
    ),
    "an added line after the counts are met": (
        NAMES + b"@@ -1 +1 @@\n-a\n+b\n+c\n",
        (6, "f hunk 1 has more lines than its counts say"),
    ),
    "lines after an empty one when the counts are met": (
        NAMES + b"@@ -1 +1 @@\n-a\n+b\n\n\n+c\n",
        (8, "f hunk 1 has more lines than its counts say"),
    ),
    "the second hunk is named by its number": (
        NAMES + b"@@ -1 +1 @@\n-a\n+b\n@@ -9,2 +9 @@\n-a\n",
        (8, "f hunk 2 ends early: its counts ask for 1 more old and 1 more new lines"),
    ),
    "a hunk of context only": (
        NAMES + b"@@ -1,2 +1,2 @@\n a\n b\n",
        (3, "f hunk 1 changes nothing"),
    ),
    "a hunk with no lines": (NAMES + b"@@ -1,0 +1,0 @@\n", (3, "f hunk 1 changes nothing")),
    "a hunk header that is no header": (
        NAMES + b"@@ -1,x +1 @@\n-a\n",
        (3, "f hunk 1: a hunk header that cannot be read"),
    ),
    "a missing newline before any line": (
        NAMES + b"@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n",
        (4, "f hunk 1: a missing newline is noted before any line"),
    ),
    "an old line after the one without newline": (
        NAMES + b"@@ -1,2 +1,2 @@\n-a\n" + NO_NEWLINE + b"+x\n b\n",
        (3, "f hunk 1: lines follow one that has no newline at its end"),
    ),
    "a new line after the one without newline": (
        NAMES + b"@@ -1 +1,2 @@\n-a\n+b\n" + NO_NEWLINE + b"+c\n",
        (3, "f hunk 1: lines follow one that has no newline at its end"),
    ),
    "a hunk of no file": (b"@@ -1 +1 @@\n-a\n+b\n", (1, "a hunk without a file header above it")),
    "a header cut short": (GIT, (1, "the diff of f changes nothing")),
    "names but no hunk": (GIT + NAMES, (1, "the diff of f changes nothing")),
    "a combined diff": (b"diff --cc f\n", (1, MERGE)),
    "a combined diff by its long name": (b"diff --combined f\n", (1, MERGE)),
    "a hunk of a combined diff": (b"x\n@@@ -1 -1 +1 @@@\n", (2, MERGE)),
    "no prefixes": (
        b"diff --git pkg/f pkg/f\n--- pkg/f\n+++ pkg/f\n" + HUNK,
        (2, "pkg/f " + NO_PREFIX),
    ),
    "no prefixes below a folder called a": (
        b"diff --git a/f a/f\n--- a/f\n+++ a/f\n" + HUNK,
        (2, "a/f " + NO_PREFIX),
    ),
    "no prefixes for a new file below a folder called b": (
        b"diff --git b/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n",
        (1, "b/f " + NO_PREFIX),
    ),
    "no prefixes for a deleted file below a folder called a": (
        (
            b"diff --git a/f a/f\ndeleted file mode 100644\n"
            b"--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
        ),
        (1, "a/f " + NO_PREFIX),
    ),
    "no prefixes for a change of mode": (
        b"diff --git pkg/f pkg/f\nold mode 100644\nnew mode 100755\n",
        (1, "pkg/f " + NO_PREFIX),
    ),
    "no prefixes in a plain diff": (b"--- f.txt\n+++ f.txt\n" + HUNK, (1, "f.txt " + NO_PREFIX)),
    "two names and no rename": (
        b"diff --git a/f b/g\n--- a/f\n+++ b/g\n" + HUNK,
        (1, "two names in a header without rename or copy lines"),
    ),
    "two names of other lengths and no rename": (
        b"diff --git a/f b/longer\nold mode 100644\nnew mode 100755\n",
        (1, "the names in this header cannot be told apart (no prefix?)"),
    ),
    "two names, one of them quoted, and no rename": (
        b'diff --git a/f "b/\\303\\251"\nold mode 100644\nnew mode 100755\n',
        (1, "two names in a header without rename or copy lines"),
    ),
    "broken quoting in the header": (
        b'diff --git "a/f b/f\nold mode 100644\nnew mode 100755\n',
        (1, "a quoted path is not closed or holds an unknown escape"),
    ),
    "names that differ from the header's": (
        GIT + b"--- a/g\n+++ b/g\n" + HUNK,
        (1, CONTRADICTION),
    ),
    "a creation that names an old file": (
        GIT + b"new file mode 100644\n" + NAMES + b"@@ -0,0 +1 @@\n+a\n",
        (1, CONTRADICTION),
    ),
    "a deletion that names a new file": (
        GIT + b"deleted file mode 100644\n" + NAMES + b"@@ -1 +0,0 @@\n-a\n",
        (1, CONTRADICTION),
    ),
    "a change of a file that does not exist": (
        GIT + b"--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n",
        (1, CONTRADICTION),
    ),
    "a creation that expects old lines": (
        GIT + b"new file mode 100644\n--- /dev/null\n+++ b/f\n@@ -1 +1,2 @@\n a\n+b\n",
        (1, "the diff creates f, but expects old lines in it"),
    ),
    "a deletion that leaves lines": (
        GIT + b"deleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1,2 +1 @@\n a\n-b\n",
        (1, "the diff deletes f, but leaves lines in it"),
    ),
    "nothing on either side": (
        b"--- /dev/null\n+++ /dev/null\n" + HUNK,
        (1, "both sides are /dev/null"),
    ),
    "a mode that git does not write": (
        GIT + b"new file mode 100666\n",
        (2, "the file mode '100666' is none that git writes"),
    ),
    "an index line of a merge": (
        GIT + b"index 1234567,2345678..89abcde\n",
        (2, "an index line that cannot be read"),
    ),
    "broken quoting": (
        b'--- "a/f\n+++ b/f\n' + HUNK,
        (1, "a quoted path is not closed or holds an unknown escape"),
    ),
    "carriage returns in the git header": (GIT.replace(b"\n", b"\r\n"), (1, CRLF)),
    "carriage returns in the names": (
        NAMES.replace(b"\n", b"\r\n") + HUNK.replace(b"\n", b"\r\n"),
        (1, CRLF),
    ),
    "a binary change without data": (
        GIT + b"index 1234567..89abcde 100644\nBinary files a/f and b/f differ\n",
        (3, "the binary change of f carries no data; export it with `--binary`"),
    ),
    "a new file made from a delta": (
        GIT + b"new file mode 100644\nindex 0000000..89abcde\nGIT binary patch\n"
        b"delta 12\nTcmZn^XcgGN$iY&Qn3)3r7KQ_k\n\n",
        (5, "the diff creates f from a delta, which needs an old content"),
    ),
    "unreadable binary data": (
        GIT + b"index 1234567..89abcde 100644\nGIT binary patch\nliteral x\n",
        (4, "the binary change of f: neither literal nor delta data follow"),
    ),
}


@pytest.mark.parametrize(("data", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_a_damaged_diff_is_refused_at_its_line(data: bytes, expected: tuple[int, str]) -> None:
    assert refusal(data) == expected


def test_the_line_of_a_refusal_counts_from_the_given_first_line() -> None:
    assert refusal(NAMES + b"@@ -1 +1 @@\n-a\n", first_line=20)[0] == 24


def test_a_damaged_file_is_refused_though_the_others_are_whole() -> None:
    whole = diff("a", "1\n", "2\n")
    assert refusal(whole + NAMES + b"@@ -1,2 +1 @@\n-a\n")[1].startswith("f hunk 1 ends early")


UNSAFE_HEADERS = {
    "created": "diff --git a/{0} b/{0}\nnew file mode 100644\n",
    "changed": "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-a\n+b\n",
    "plain": "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-a\n+b\n",
    "deleted": "diff --git a/{0} b/{0}\ndeleted file mode 100644\n",
    "re-moded": "diff --git a/{0} b/{0}\nold mode 100644\nnew mode 100755\n",
    "renamed to": "diff --git a/x b/{0}\nrename from x\nrename to {0}\n",
    "renamed from": "diff --git a/{0} b/x\nrename from {0}\nrename to x\n",
    "copied to": "diff --git a/x b/{0}\ncopy from x\ncopy to {0}\n",
}


@pytest.mark.parametrize("path", ["../x", "a/../../x", ".git/hooks/x", "p/.GIT/config", "git~1/x"])
@pytest.mark.parametrize("header", UNSAFE_HEADERS.values(), ids=UNSAFE_HEADERS.keys())
def test_an_unsafe_path_is_refused_wherever_it_stands(header: str, path: str) -> None:
    line, message = refusal(header.format(path).encode())
    assert line == 1
    assert message.startswith(f"unsafe path {path!r}: ")


def test_an_absolute_path_is_refused() -> None:
    header = b"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ /etc/x\n"
    assert refusal(header + b"@@ -0,0 +1 @@\n+a\n") == (3, "unsafe path '/etc/x': it is absolute")


def test_an_unsafe_path_is_refused_in_its_quoted_form() -> None:
    header = rb'diff --git "a/\056\056/x" "b/\056\056/x"' + b"\nnew file mode 100644\n"
    assert refusal(header)[1] == "unsafe path '../x': it has the component '..'"


@pytest.mark.parametrize("deep", ["ln/x", "ln/deep/x"])
@pytest.mark.parametrize("link_first", [True, False])
def test_a_path_below_a_link_that_the_patch_makes_is_refused(deep: str, link_first: bool) -> None:
    link, below = diff("ln", None, "..", mode="120000"), diff(deep, None, "owned\n")
    with pytest.raises(PatchError) as caught:
        parse_diff(link + below if link_first else below + link)
    assert caught.value.line == (8 if link_first else 1)
    assert caught.value.message == (
        f"unsafe path '{deep}': it lies below 'ln', which the patch makes a symbolic link"
    )


# ---------------------------------------------------------------- what `diff -r` and hg tell


PLAIN = b"diff -ru a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"
NO_DATA = (
    b"Binary files a/b.bin and b/b.bin differ",
    b"Binary file b.bin has changed",
    b"Only in b: new.py",
    b"Only in a/pkg: gone.py",
    b"Cannot display: file marked as a binary type.",
    b"Symbolic links a/l and b/l differ",
    b"File a/x is a directory while file b/x is a regular file",
    b"Submodule third fa31e3d..5ce9fb4:",
    b"Submodule third 0000000...5ce9fb4 (new submodule)",
    b"Submodule third contains modified content",
    b"* Unmerged path g",
    b"Property changes on: f",
)


@pytest.mark.parametrize("told", NO_DATA)
def test_a_change_without_its_data_is_refused_where_it_stands(told: bytes) -> None:
    for before, after in (
        (b"", b"\n" + PLAIN),
        (PLAIN, b"\n"),
        (b"diff -r 1 2 x\n", b"\n" + PLAIN),
    ):
        line, message = refusal(before + told + after)
        assert line == before.count(b"\n") + 1
        assert "without its data" in message
        assert "--binary" in message


@pytest.mark.parametrize("told", NO_DATA)
def test_prose_of_a_message_that_reads_like_it_is_no_change(told: bytes) -> None:
    message = b"A message.\n\n" + told + b"\nand so on.\n" + told + b"\n---\n\n"
    assert [file.path for file in parse_diff(message + PLAIN)] == ["f"]


def test_a_submodule_and_its_commits_above_the_diff_are_refused() -> None:
    told = b"Submodule third fa31e3d..5ce9fb4:\n  > second\n  < first\n"
    assert refusal(b"A message.\n\n" + told + PLAIN)[0] == 3
    assert refusal(PLAIN + told)[0] == PLAIN.count(b"\n") + 1


def test_a_message_above_what_diff_tells_does_not_hide_it() -> None:
    told = b"Only in b: x\nBinary files a/y and b/y differ\n"
    assert refusal(b"A message.\n\n" + told + PLAIN)[0] == 3


# ---------------------------------------------------------------- `diff -N` has no /dev/null

EPOCHS = (
    b"1970-01-01 00:00:00.000000000 +0000",
    b"1970-01-01 02:00:00 +0200",
    b"1969-12-31 19:00:00.000000000 -0500",
)


@pytest.mark.parametrize("epoch", EPOCHS)
def test_the_epoch_and_no_lines_are_a_file_that_is_not_there(epoch: bytes) -> None:
    now = b"2026-01-02 03:04:05.000000006 +0000"
    made = one(b"--- a/f\t" + epoch + b"\n+++ b/f\t" + now + b"\n@@ -0,0 +1 @@\n+x\n")
    assert (made.old_path, made.new_path, made.creates) == (None, "f", True)
    gone = one(b"--- a/f\t" + now + b"\n+++ b/f\t" + epoch + b"\n@@ -1,2 +0,0 @@\n-x\n-y\n")
    assert (gone.old_path, gone.new_path, gone.deletes) == ("f", None, True)


@pytest.mark.parametrize(
    ("stamp", "hunk"),
    [
        (EPOCHS[0], b"@@ -1 +1 @@\n-a\n+b\n"),  # as old as that, and there
        (EPOCHS[0], b"@@ -7,0 +8 @@\n+b\n"),  # written without context
        (b"1970-01-01 00:00:01.000000000 +0000", b"@@ -0,0 +1 @@\n+b\n"),
        (b"1970-01-01 00:00:00.000000000 +0200", b"@@ -0,0 +1 @@\n+b\n"),
        (b"2026-01-01 00:00:00.000000000 +0000", b"@@ -0,0 +1 @@\n+b\n"),
    ],
)
def test_another_time_or_lines_are_a_file_that_is_there(stamp: bytes, hunk: bytes) -> None:
    file = one(b"--- a/f\t" + stamp + b"\n+++ b/f\t" + stamp + b"\n" + hunk)
    assert (file.old_path, file.new_path) == ("f", "f")
