"""Files that reach beyond the tree: a person has to say that they are wanted.

Names are compared as the least particular file system would: without case, without
what HFS+ and NTFS leave out, and by the short names that NTFS makes up.
"""

from __future__ import annotations

import re

from backport.core.paths import alike, decode, means_git_folder
from backport.core.trees import SYMLINK, Entry

_GIT_SETTINGS = re.compile(
    r"\.gitattributes|\.gitmodules|\.lfsconfig|(?:gitatt|gitmod|gi[\da-f]{4})~\d"
)
_CI_SETTINGS = re.compile(
    r"\.github/(?:workflows|actions)/.*|\.(?:buildkite|circleci|gitlab)/.*|\.gitlab-ci\.yml"
    r"|jenkinsfile|azure-pipelines\.yml|\.travis\.yml|\.pre-commit-config\.yaml"
)
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[\d¹²³])(?:\..*)?")


def hazard(path: str, before: Entry | None, after: Entry | None) -> tuple[str, str] | None:
    """A code and what is dangerous about this change of a file, or None where nothing is."""
    names = [alike(part) for part in path.split("/")]
    if _GIT_SETTINGS.fullmatch(names[-1]):
        return "git-settings", "changes how git itself treats the tree"
    if _CI_SETTINGS.fullmatch("/".join(names)):
        return "ci-settings", "changes what CI runs"
    if before is None and (device := next(filter(_means_device, path.split("/")), None)):
        return "device-name", f"{device!r} is a device on Windows, or a drive or stream there"
    if after is not None and after.mode == SYMLINK:
        return _link(path, decode(after.data))
    return None


def _means_device(part: str) -> bool:
    name, colon, _ = part.lower().partition(":")
    return bool(name and colon) or _DEVICE.fullmatch(re.sub(r" +(?=\.|$)", "", name)) is not None


def _link(path: str, target: str) -> tuple[str, str] | None:
    if _leaves(path, target):
        return "link-outside", f"links out of the tree: {target}"
    if any(map(means_git_folder, target.split("/"))):
        return "link-outside", f"links into git's own folder: {target}"
    return None


def _leaves(path: str, target: str) -> bool:
    """True where a link at `path` points out of the tree."""
    depth = path.count("/")
    for part in re.split(r"[/\\]", target):
        depth += 0 if part in ("", ".") else -1 if part == ".." else 1
        if depth < 0:
            return True
    return target.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", target) is not None
