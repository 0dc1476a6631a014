"""Calls that lack an `await`, or have one too many."""

from __future__ import annotations

import pytest

from tests.audit.builders import said

ENGINE = """
    from contextlib import asynccontextmanager
    from functools import wraps


    def traced(function):
        @wraps(function)
        def inner(*args):
            return function(*args)

        return inner


    async def fetch(a): return a, a

    async def stream(a): yield a

    @traced
    async def wrapped(a): return a

    @asynccontextmanager
    async def opened(a): yield a

    def plain(a): a += 1

    def refusing(a):
        if a:
            raise ValueError
        return None

    def counted(a) -> int: return a

    def listed(a) -> list[int]: return [a]

    def handed(a): return fetch(a)

    def awaitable(a) -> "Awaitable[int]": return fetch(a)

    def left_open(a): raise NotImplementedError


    class Engine:
        async def abort(self, a): ...

        async def maybe(self, a): ...

        def close(self, a) -> None: return None

        def later(self, a) -> None: return None


    class Below(Engine):
        def maybe(self, a): ...

        async def later(self, a): ...
    """
BASE = {"eng/__init__.py": "", "eng/core.py": ENGINE}

FAULTS = {
    "a call that is dropped": ("fetch(1)", "never-awaited fetch"),
    "a method": ("engine.abort(1)", "never-awaited Engine.abort"),
    "a result that is read": ("x = fetch(1).value", "never-awaited fetch"),
    "a result that is unpacked": ("x, y = fetch(1)", "never-awaited fetch"),
    "what returns nothing": ("await plain(1)", "awaited-result plain"),
    "what fails or returns nothing": ("await refusing(1)", "awaited-result refusing"),
    "what returns a number": ("x = await counted(1)", "awaited-result counted"),
    "what returns a list": ("x = await listed(1)", "awaited-result listed"),
    "a plain method": ("await engine.close(1)", "awaited-result Engine.close"),
}

SOUND = {
    "an await": "await fetch(1)\nx, y = await fetch(1)\nawait engine.abort(1)",
    "a coroutine that is kept": "x = fetch(1)\nasyncio.run(fetch(1))\nreturn fetch(1)",
    "a coroutine as one": "fetch(1).close()",
    "an asynchronous generator": "stream(1)\nasync for x in stream(1): pass",
    "a context manager": "async with opened(1) as x: pass",
    "behind a decorator": "wrapped(1)\nawait wrapped(1)",
    "a plain call": "plain(1)\ncounted(1).bit_length()",
    "a coroutine handed on": "await handed(1)",
    "an awaitable that is annotated": "await awaitable(1)",
    "a body that says nothing": "await left_open(1)",
    "an override that is plain": "engine.maybe(1)",
    "an override that is a coroutine function": "await engine.later(1)",
    "a failure that is expected": "try:\n    await plain(1)\nexcept TypeError:\n    pass",
}


def source(text: str) -> str:
    names = "fetch, stream, wrapped, opened, plain, refusing, counted, listed, handed"
    body = "".join(f"    {line}\n" for line in text.split("\n"))
    head = f"import asyncio\nfrom eng.core import Engine, {names}, awaitable, left_open\n\n\n"
    return f"{head}async def run(engine: Engine):\n{body}"


@pytest.mark.parametrize(("text", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(text: str, expected: str) -> None:
    found = said(BASE, {"eng/new.py": source(text)}, checks={"awaits"})
    assert found == [f"eng/new.py:6 {expected}"]


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND.keys())
def test_silence(text: str) -> None:
    assert said(BASE, {"eng/new.py": source(text)}, checks={"awaits"}) == []


def test_a_function_that_other_code_replaces() -> None:
    base = BASE | {"eng/patch.py": "def run(engine):\n    engine.abort = print\n"}
    text = source("fetch(1)\nengine.abort(1)")
    assert said(base, {"eng/new.py": text}, checks={"awaits"}) == [
        "eng/new.py:6 never-awaited fetch"
    ]


def test_a_mock_in_a_test_may_be_either() -> None:
    assert said(BASE, {"tests/test_new.py": source("fetch(1)")}, checks={"awaits"}) == []


def test_callers_that_the_stack_leaves_alone() -> None:
    base = BASE | {"eng/use.py": source("plain(1)\nawait fetch(1)\nengine.close(1)")}
    changed = (
        ENGINE.replace("def plain", "async def plain")
        .replace("async def fetch(a): return a, a", "def fetch(a): print(a)")
        .replace("def close", "async def close")
    )
    assert said(base, {"eng/core.py": changed}, checks={"awaits"}) == [
        "eng/use.py:6 never-awaited plain",
        "eng/use.py:7 awaited-result fetch",
        "eng/use.py:8 never-awaited Engine.close",
    ]


def test_what_the_target_does_itself_is_its_own() -> None:
    base = BASE | {"eng/use.py": source("fetch(1)")}
    assert said(base, {"eng/use.py": source("fetch(1)\nx = 1")}, checks={"awaits"}) == []
