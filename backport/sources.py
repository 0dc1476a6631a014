"""Release archives: find, download and read the source distribution of a vLLM release.

pip can only build what it downloads, which for vLLM takes an hour and a GPU tool
chain; unearth finds and fetches the archive and leaves it alone. Its members go
straight from the archive into git, so nothing is ever extracted to disk.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from backport.core.paths import unsafe
from backport.core.trees import EXECUTABLE, REGULAR, SYMLINK
from backport.errors import BadInput, EnvironmentProblem

if TYPE_CHECKING:
    import tarfile

PROJECT = "vllm"
MAX_ARCHIVE = 512 * 1024 * 1024
MAX_MEMBER = 64 * 1024 * 1024
Progress = Callable[[str, int, int], None]


class Member(NamedTuple):
    """A file of an archive: path below the archive's top folder, git mode, content, mtime."""

    path: str
    mode: str
    data: bytes
    modified: int


def cache_dir() -> Path:
    """Where archives and the release repository are kept: BACKPORT_CACHE or the user's cache."""
    given = os.environ.get("BACKPORT_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "backport"


def plain_version(name: str) -> str | None:
    """The release that a tag or version names (`v0.28.0` -> `0.28.0`), or None."""
    found = re.fullmatch(r"v?(\d+(?:\.\d+)+(?:(?:rc|\.post|a|b)\d+)?)", name)
    return found.group(1) if found else None


def archive(version: str, progress: Progress) -> Path:
    """The release's archive in the cache, downloaded and checked against its hash when absent.

    Raises BadInput where there is no such release, EnvironmentProblem where it
    cannot be had or is not what the index says.
    """
    path = cache_dir() / "archives" / f"{PROJECT}-{version}.tar.gz"
    noted = path.with_name(path.name + ".sha256")
    try:
        if path.exists() and noted.exists():
            if _sha256(path) == noted.read_text("ascii").strip():
                return path
            path.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        noted.write_text(_download(version, path, progress) + "\n", "ascii")
    except OSError as error:
        raise EnvironmentProblem(f"{path}: cannot be stored: {error.strerror or error}") from None
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(version: str, path: Path, progress: Progress) -> str:
    """Fetch the archive to `path` and give its checked sha256."""
    import httpx2
    from unearth import PackageFinder

    index = os.environ.get("PIP_INDEX_URL")
    finder = PackageFinder(index_urls=[index] if index else [], no_binary=[PROJECT])
    try:
        links = [found.link for found in finder.find_matches(f"{PROJECT}=={version}")]
        link = next((link for link in links if link.filename.endswith(".tar.gz")), None)
        if link is None:
            raise BadInput(f"the package index has no source archive of {PROJECT} {version}")
        expected = next(iter((link.hash_option or {}).get("sha256", ())), "")
        if not expected:
            raise EnvironmentProblem(f"the index gives no sha256 for {link.filename}; not taken")
        with finder.session.get_stream(link.normalized) as response:
            response.raise_for_status()
            size = int(response.headers.get("content-length", 0))
            pieces = response.iter_bytes(1 << 20)
            return _store(path, pieces, size, expected, progress)
    except httpx2.HTTPError as error:
        said = str(error).partition("\n")[0]
        raise EnvironmentProblem(
            f"{PROJECT} {version} cannot be downloaded: {said}; check the network, "
            "or set PIP_INDEX_URL to an index that can be reached"
        ) from None


def _store(
    path: Path, pieces: Iterator[bytes], size: int, expected: str, progress: Progress
) -> str:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    summed = hashlib.sha256()
    done = 0
    try:
        with part.open("wb") as file:
            for piece in pieces:
                done += len(piece)
                if done > MAX_ARCHIVE:
                    raise EnvironmentProblem(
                        f"{path.name} is over {MAX_ARCHIVE:,} bytes; not taken"
                    )
                file.write(piece)
                summed.update(piece)
                progress(path.name, done, size)
        if summed.hexdigest() != expected:
            raise EnvironmentProblem(
                f"{path.name} has sha256 {summed.hexdigest()}, the index says {expected}; not taken"
            )
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return expected


def members(path: Path) -> Iterator[Member]:
    """Every file and link of the archive, below its top folder, in the archive's order.

    Raises EnvironmentProblem for a member that leaves the folder or is too large.
    """
    import tarfile

    try:
        with tarfile.open(path) as tar:
            for info in tar:
                if not (info.isfile() or info.issym()):
                    continue
                yield _member(path, tar, info)
    except (tarfile.TarError, EOFError) as error:
        raise EnvironmentProblem(f"{path}: is damaged: {error}") from None


def _member(path: Path, tar: tarfile.TarFile, info: tarfile.TarInfo) -> Member:
    name = info.name.partition("/")[2]
    problem = unsafe(name)
    if problem or info.size > MAX_MEMBER:
        raise EnvironmentProblem(
            f"{path}: member {info.name!r}: {problem or f'{info.size:,} bytes are too many'}"
        )
    modified = int(info.mtime)
    if info.issym():
        return Member(name, SYMLINK, info.linkname.encode("utf-8", "surrogateescape"), modified)
    file = tar.extractfile(info)
    data = file.read() if file else b""
    return Member(name, EXECUTABLE if info.mode & 0o100 else REGULAR, data, modified)
