"""The two ways a run can stop short; everything else is a result or a bug."""

from __future__ import annotations

from collections.abc import Iterable


class BackportError(Exception):
    """A run that cannot go on; `exit_code` is what the process ends with."""

    exit_code = 1


class BadInput(BackportError):
    """A file or an argument that cannot be used: what, where, and the mend, a line each."""

    exit_code = 2

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


class EnvironmentProblem(BackportError):
    """Something around the tool is not as it must be: git, the repository, the disk, the net."""

    exit_code = 3
