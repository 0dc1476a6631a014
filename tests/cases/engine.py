"""A toy engine for the cases in which a change applies and is wrong all the same."""

from __future__ import annotations

from collections.abc import Mapping

REG = b"""\
OPS = {}


def direct_register_custom_op(op_name, op_func, mutates_args=None, fake_impl=None):
    if op_name in OPS:
        raise RuntimeError(op_name)
    OPS[op_name] = (op_func, fake_impl)
"""
ENVS = b"""\
import os

environment_variables = {
    "ENGINE_USE_AITER": lambda: bool(int(os.getenv("ENGINE_USE_AITER", "0"))),
}


def __getattr__(name):
    if name in environment_variables:
        return environment_variables[name]()
    raise AttributeError(name)
"""
OPS = b"def concat(a, b):\n    return list(a) + list(b)\n"
ATTENTION = b"""\
from engine.reg import direct_register_custom_op


def attend(
    q,
    kv,
    output,
    layer,
    scale=None,
):
    output[:] = [a + b for a, b in zip(q, kv)]


def attend_fake(
    q,
    kv,
    output,
    layer,
    scale=None,
):
    return None


direct_register_custom_op(
    op_name="attend",
    op_func=attend,
    mutates_args=["output"],
    fake_impl=attend_fake,
)
"""
ENGINE: Mapping[str, bytes] = {
    "engine/__init__.py": b"",
    "engine/reg.py": REG,
    "engine/envs.py": ENVS,
    "engine/ops.py": OPS,
    "engine/attention.py": ATTENTION,
    "tests/__init__.py": b"",
}
BODY = b"    output[:] = [a + b for a, b in zip(q, kv)]\n"


def engine(**files: bytes) -> dict[str, bytes]:
    """The engine with other files in it; `a__b` stands for `engine/a/b.py`."""
    named = {f"engine/{name.replace('__', '/')}.py": data for name, data in files.items()}
    return {**ENGINE, **named}
