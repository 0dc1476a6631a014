"""Work spread over forked processes, each task's end told as soon as it comes.

A worker that dies costs the one task it was at, which is told as such; the others
go on. The workers are forked at once, before anything starts a thread.
"""

from __future__ import annotations

import os
import selectors
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

_WIDTH = 4  # bytes of a task's number, and of an answer's length


class Died(Exception):
    """A worker ended without an answer."""


@dataclass(slots=True)
class _Worker:
    pid: int
    orders: int
    answers: int
    at: int = -1


def usable_cores() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


class Workers:
    """Up to `count` forked processes that answer for `tasks` numbers with `work`."""

    def __init__(self, work: Callable[[int], bytes], tasks: int, count: int) -> None:
        self._work = work
        self._tasks = tasks
        self._pool: list[_Worker] = []
        if min(count, tasks) > 1 and hasattr(os, "fork"):
            for _ in range(min(count, tasks)):
                self._pool.append(self._fork())

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for worker in self._pool:
            self._end(worker, kill=kind is not None)
        self._pool = []

    def answers(self) -> Iterator[tuple[int, bytes | Died]]:
        """Every task's number and answer, in the order in which they are done."""
        if not self._pool:
            for number in range(self._tasks):
                yield number, self._work(number)
            return
        left = iter(range(self._tasks))
        with selectors.DefaultSelector() as ready:
            for worker in self._pool:
                if self._order(worker, left):
                    ready.register(worker.answers, selectors.EVENT_READ, worker)
            while ready.get_map():
                for key, _ in ready.select():
                    worker = key.data
                    number, answer = worker.at, _receive(worker)
                    if isinstance(answer, Died) or not self._order(worker, left):
                        ready.unregister(worker.answers)
                    yield number, answer
        yield from ((number, Died("no worker was left")) for number in left)

    def _fork(self) -> _Worker:
        take, orders = os.pipe()
        answers, give = os.pipe()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                for other in self._pool:
                    os.close(other.orders)
                    os.close(other.answers)
                os.close(orders)
                os.close(answers)
                self._serve(take, give)
                status = 0
            finally:
                os._exit(status)
        os.close(take)
        os.close(give)
        return _Worker(pid, orders, answers)

    def _serve(self, take: int, give: int) -> None:
        while True:
            order = _read(take, _WIDTH)
            if not order:
                return
            answer = self._work(int.from_bytes(order, "big"))
            _write(give, len(answer).to_bytes(_WIDTH, "big") + answer)

    def _order(self, worker: _Worker, left: Iterator[int]) -> bool:
        number = next(left, None)
        if number is None:
            return False
        worker.at = number
        with suppress(BrokenPipeError):  # its missing answer tells
            _write(worker.orders, number.to_bytes(_WIDTH, "big"))
        return True

    def _end(self, worker: _Worker, kill: bool) -> None:
        os.close(worker.orders)
        os.close(worker.answers)
        if kill:
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGTERM)
        with suppress(ChildProcessError):
            os.waitpid(worker.pid, 0)


def _receive(worker: _Worker) -> bytes | Died:
    head = _read(worker.answers, _WIDTH)
    if len(head) == _WIDTH:
        size = int.from_bytes(head, "big")
        answer = _read(worker.answers, size)
        if len(answer) == size:
            return answer
    return Died("the process that worked on it ended")


def _read(pipe: int, size: int) -> bytes:
    pieces = []
    while size:
        piece = os.read(pipe, min(size, 1 << 20))
        if not piece:
            break
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _write(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]
