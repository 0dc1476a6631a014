"""A run that is killed at one of its write steps, the first, the second, and so on.

A step is whatever would change something outside of the process: opening a file to
write, renaming, deleting, making a folder, starting a child. The process gets
SIGKILL just before the step, so that nothing of its own can tidy up, or SIGINT, as by Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence

from backport.cli import run

STEPS = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "subprocess.Popen"})


class _Killer:
    """An audit hook that sends its process a signal at the chosen step."""

    def __init__(self, step: int, signum: int) -> None:
        self.left = step
        self.signum = signum

    def __call__(self, event: str, values: tuple[object, ...]) -> None:
        if event in STEPS or (event == "open" and _writes(values)):
            self.left -= 1
            if not self.left:
                os.kill(os.getpid(), self.signum)


def _writes(values: tuple[object, ...]) -> bool:
    path, _, flags = values
    writing = isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))
    return writing and "__pycache__" not in str(path) and str(path) != os.devnull


def killed_at(step: int, words: Sequence[str], signum: int = signal.SIGKILL) -> bool:
    """Run the command line in a fork; True where it was killed, False where it ended before."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 1)
            os.dup2(null, 2)
            signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
            sys.addaudithook(_Killer(step, signum))
            status = run([*words])
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) in (0, 130)
    return os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 130


def killed_at_each(words: Sequence[str]) -> Iterator[int]:
    """Every step at which the run can be killed; the last one that is tried lets it end."""
    step = 1
    while killed_at(step, words):
        yield step
        step += 1
        assert step < 100
