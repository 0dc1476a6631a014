"""Release archives: downloaded once, checked against their hash, one commit each."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import signal
import tarfile
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from backport import releases, sources
from backport.errors import BadInput, EnvironmentProblem
from tests.builders import diff, mail
from tests.repos import Library, Repo, Shell, child, finished

NAME = "vllm-9.9.9.tar.gz"
FILES = {
    "vllm/__init__.py": b"",
    "vllm/crlf.py": b"x = 1\r\n",
    "vllm/no newline [x].txt": b"end",
    'quo"te\\back\ttab.txt': b"odd\n",
    "caf\u00e9.txt": b"\xff\x00",
    "PKG-INFO": b"Name: vllm\n",
}


def archive(
    files: Mapping[str, bytes], top: str = "vllm-9.9.9", mtime: int = 1_700_000_000
) -> bytes:
    """A source archive of these files, with one executable and one symbolic link."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(f"{top}/{name}")
            info.size, info.mtime = len(data), mtime
            tar.addfile(info, io.BytesIO(data))
        tool = tarfile.TarInfo(f"{top}/tools/run.sh")
        tool.mode, tool.size, tool.mtime = 0o755, 3, mtime + 5
        tar.addfile(tool, io.BytesIO(b"ok\n"))
        link = tarfile.TarInfo(f"{top}/link")
        link.type, link.linkname = tarfile.SYMTYPE, "vllm/__init__.py"
        tar.addfile(link)
    return packed.getvalue()


class Index:
    """A package index on this machine, and what was asked of it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.asked: list[str] = []

    def offer(self, data: bytes, digest: str | None = "") -> None:
        """Offer an archive; `digest` is what the index says (None: nothing, "": the truth)."""
        (self.folder / NAME).write_bytes(data)
        told = hashlib.sha256(data).hexdigest() if digest == "" else digest
        fragment = f"#sha256={told}" if told else ""
        page = self.folder / "simple" / "vllm" / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f'<a href="/{NAME}{fragment}">{NAME}</a>')


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    folder = tmp_path / "index"
    folder.mkdir()
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    made = Index(folder, f"http://127.0.0.1:{server.server_port}/simple/")
    made.asked = asked
    monkeypatch.setenv("PIP_INDEX_URL", made.url)
    monkeypatch.setenv("BACKPORT_CACHE", str(tmp_path / "cache"))
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


def silent(what: str, done: int, total: int) -> None:
    """A progress function that shows nothing."""


def cached(tmp_path: Path) -> list[str]:
    folder = tmp_path / "cache/archives"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


# ---------------------------------------------------------------- download


def test_an_archive_is_downloaded_checked_and_kept(index: Index, tmp_path: Path) -> None:
    data = archive(FILES)
    index.offer(data)
    steps: list[tuple[str, int, int]] = []
    path = sources.archive("9.9.9", lambda *step: steps.append(step))
    assert path.read_bytes() == data
    assert cached(tmp_path) == [NAME, f"{NAME}.sha256"]
    assert steps[-1] == (NAME, len(data), len(data))


def test_a_second_call_asks_nobody(index: Index) -> None:
    index.offer(archive(FILES))
    first = sources.archive("9.9.9", silent)
    index.asked.clear()
    assert sources.archive("9.9.9", silent) == first
    assert index.asked == []


def test_a_damaged_archive_in_the_cache_is_downloaded_again(index: Index) -> None:
    index.offer(archive(FILES))
    path = sources.archive("9.9.9", silent)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert sources.archive("9.9.9", silent).read_bytes() == whole


@pytest.mark.parametrize(
    ("digest", "problem"),
    [("0" * 64, f"the index says {'0' * 64}; not taken"), (None, "gives no sha256")],
    ids=["another hash", "no hash"],
)
def test_what_the_index_does_not_vouch_for_is_not_taken(
    digest: str | None, problem: str, index: Index, tmp_path: Path
) -> None:
    index.offer(archive(FILES), digest)
    with pytest.raises(EnvironmentProblem, match=problem):
        sources.archive("9.9.9", silent)
    assert cached(tmp_path) == []


def test_a_release_that_the_index_lacks(index: Index) -> None:
    index.offer(archive(FILES))
    with pytest.raises(BadInput, match=r"has no source archive of vllm 9\.9\.8"):
        sources.archive("9.9.8", silent)


def test_an_index_that_cannot_be_reached_is_one_line(
    index: Index, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    done = shell("fetch", "9.9.9")
    assert (done.code, done.out) == (3, "")
    (line,) = done.problems
    assert line.startswith("backport: error: vllm 9.9.9 cannot be downloaded: ")
    assert "PIP_INDEX_URL" in line


def test_an_archive_that_is_gone_is_one_line(index: Index, shell: Shell) -> None:
    index.offer(archive(FILES))
    (index.folder / NAME).unlink()
    done = shell("fetch", "9.9.9")
    assert done.code == 3
    (line,) = done.problems
    assert line.startswith("backport: error: vllm 9.9.9 cannot be downloaded: ")
    assert "PIP_INDEX_URL" in line


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("v0.28.0", "0.28.0"),
        ("0.28.0", "0.28.0"),
        ("0.28.0rc1", "0.28.0rc1"),
        ("v0.9.0.post1", "0.9.0.post1"),
        ("main", None),
        ("8711f503131a", None),
        ("v1", None),
        ("0.28.0; rm -rf x", None),
        ("", None),
    ],
)
def test_which_names_are_releases(name: str, version: str | None) -> None:
    assert sources.plain_version(name) == version


# ---------------------------------------------------------------- as a repository


def fetched(index: Index, shell: Shell) -> Repo:
    """The repository that `fetch` prints."""
    done = shell("fetch", "v9.9.9")
    assert (done.code, done.err) == (0, "")
    return Repo(Path(done.out.strip()))


def test_a_release_becomes_one_tagged_commit_with_every_file_as_it_is(
    index: Index, shell: Shell
) -> None:
    index.offer(archive(FILES))
    repo = fetched(index, shell)
    expected = {**FILES, "tools/run.sh": b"ok\n", "link": b"vllm/__init__.py"}
    assert repo.files("v9.9.9") == expected
    modes = {
        line.partition("\t")[2]: line.split()[0]
        for line in repo.git("ls-tree", "-r", "v9.9.9").splitlines()
    }
    assert (modes["tools/run.sh"], modes["link"], modes["PKG-INFO"]) == (
        "100755",
        "120000",
        "100644",
    )
    assert repo.git("rev-list", "--count", "v9.9.9") == "1"
    assert repo.git("for-each-ref", "--format=%(refname)") == "refs/tags/v9.9.9"
    assert repo.is_sound()


def test_the_commit_depends_on_the_archive_alone(
    index: Index, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.offer(archive(FILES))
    first = fetched(index, shell)
    monkeypatch.setenv("BACKPORT_CACHE", str(tmp_path / "second"))
    monkeypatch.setenv("GIT_COMMITTER_NAME", "Somebody")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    second = fetched(index, shell)
    assert first.path != second.path
    commits = {repo.git("rev-parse", "v9.9.9") for repo in (first, second)}
    assert len(commits) == 1
    assert first.git("log", "-1", "--format=%cn %ct", "v9.9.9") == "Release archive 1700000005"


def test_fetching_again_changes_nothing(index: Index, shell: Shell) -> None:
    index.offer(archive(FILES))
    repo = fetched(index, shell)
    before = repo.snapshot(), repo.objects()
    index.asked.clear()
    assert fetched(index, shell) == repo
    assert (repo.snapshot(), repo.objects()) == before
    assert index.asked == []


WRAPPER = """\
#!/bin/sh
# lets git see all but the last lines of the stream, and kills who sends it
case "$*" in
*" fast-import "*)
    cat > '{stream}'
    head -n -{missing} '{stream}' | '{git}' "$@"
    kill -KILL $PPID;;
*) exec '{git}' "$@";;
esac
"""


@pytest.mark.parametrize("missing", [1, 3, 6])
def test_a_killed_fetch_leaves_no_release_and_the_next_one_is_whole(
    missing: int, index: Index, shell: Shell, tmp_path: Path
) -> None:
    index.offer(archive(FILES))
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        WRAPPER.format(stream=tmp_path / "stream", missing=missing, git=shutil.which("git"))
    )
    wrapper.chmod(0o755)
    path = f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}"
    assert finished(child("fetch", "9.9.9", env={"PATH": path})).code == -signal.SIGKILL
    assert Repo(releases.repository()).git("for-each-ref") == ""
    assert len(fetched(index, shell).files("v9.9.9")) == len(FILES) + 2


@pytest.mark.parametrize("name", ["../escape", "vllm/../../escape", ".git/config", "a//b"])
def test_a_member_with_an_unsafe_path_is_refused(name: str, index: Index, shell: Shell) -> None:
    index.offer(archive({"vllm/__init__.py": b"", name: b"x"}))
    done = shell("fetch", "9.9.9")
    assert (done.code, done.out) == (3, "")
    (line,) = done.problems
    assert f"member 'vllm-9.9.9/{name}'" in line
    assert Repo(releases.repository()).git("for-each-ref") == ""


def test_an_archive_that_ends_early_is_refused(index: Index, shell: Shell) -> None:
    index.offer(archive(FILES)[:200])
    done = shell("fetch", "9.9.9")
    assert (done.code, done.out) == (3, "")
    (line,) = done.problems
    assert "is damaged" in line
    assert Repo(releases.repository()).git("for-each-ref") == ""


def test_a_cache_that_cannot_be_made_is_one_line(
    index: Index, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BACKPORT_CACHE", str(tmp_path / "file" / "cache"))
    done = shell("fetch", "9.9.9")
    assert (done.code, done.out) == (3, "")
    (line,) = done.problems
    assert f"{tmp_path}/file/cache" in line


def test_without_a_repository_the_cached_release_is_fetched_and_used(
    index: Index, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.offer(archive({"vllm/__init__.py": b"x = 1\n"}))
    library = Library.make(tmp_path / "library")
    patch = (
        b"From: A <a@example.com>\nSubject: [PATCH] Change\n\n---\n"
        b"diff --git a/vllm/__init__.py b/vllm/__init__.py\n"
        b"--- a/vllm/__init__.py\n+++ b/vllm/__init__.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    )
    library.stack("change", [patch])
    library.manifest("change", name="me/v9.9.9", base="v9.9.9", branch="me/v9.9.9")
    monkeypatch.chdir(tmp_path)
    done = shell("apply", "--target", "9.9.9", "--root", str(library.root))
    assert (done.code, done.err) == (0, "")
    assert Repo(releases.repository()).files("me/v9.9.9")["vllm/__init__.py"] == b"x = 2\n"


def test_port_fetches_the_release_that_it_goes_to(
    index: Index, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.offer(archive(FILES))
    library = Library.make(tmp_path / "library")
    library.stack("new", [mail("[PATCH] New", diff("vllm/new.py", None, "x = 1\n"))])
    library.manifest("new", name="me/v9.9.9", base="v9.9.9", branch="b")
    monkeypatch.chdir(library.root)
    done = shell("port", "--from", "me/v9.9.9", "--to", "other/9.9.9", "--no-audit")
    assert done.err == ""
    assert "other/v9.9.9 (0 hunks to decide)" in done.out
    assert (library.root / "manifests/other/v9.9.9.toml").exists()
    assert any(path.endswith(NAME) for path in index.asked)
