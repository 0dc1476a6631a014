"""Which AITER a release pins, and the order of AITER's version numbers."""

from __future__ import annotations

import re

from backport.parity.intree.extract import Source

PIN = "docker/Dockerfile.rocm_base"
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:\.post(\d+))?$")
_ARGUMENT = re.compile(r'^ARG AITER_BRANCH="?([^"\s]+)"?', re.MULTILINE)


def parse(version: str) -> tuple[int, int, int, int]:
    """Major, minor, patch and post release of `v0.1.19.post1`; raises ValueError otherwise."""
    found = _VERSION.match(version)
    if not found:
        raise ValueError(f"{version!r} is not an AITER version")
    major, minor, patch, post = (int(part or 0) for part in found.groups())
    return major, minor, patch, post


def at_least(version: str, bound: str) -> bool:
    """True where `version` is `bound` or newer."""
    return parse(version) >= parse(bound)


def pinned(source: Source) -> str | None:
    """The AITER tag that the tree's ROCm base image is built from, or None where it names none."""
    text = source.text(PIN) if source.exists(PIN) else ""
    found = _ARGUMENT.search(text)
    if not found or not _VERSION.match(found.group(1)):
        return None
    return found.group(1)
