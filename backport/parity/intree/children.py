"""Ask a question of a tree in a process of its own: JSON in, JSON out."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

NEEDED = ("numpy", "packaging", "regex", "pydantic", "cbor2", "psutil", "zmq", "einops",
          "yaml", "tqdm", "msgspec", "cloudpickle")  # fmt: skip
LIMIT = 600  # seconds; a busy machine is no reason to call a tree unavailable
PACKAGES = Path(__file__).parents[3]


class Unavailable(Exception):
    """The tree could not be asked here; that tells nothing about the tree."""


def ask(module: str, request: Mapping[str, Any], needed: Sequence[str] = NEEDED) -> dict[str, Any]:
    """The answer of `python -m module`, whose working directory is the tree of the request.

    Raises Unavailable where packages are missing or the process gives no answer.
    """
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise Unavailable(f"packages are missing: {', '.join(missing)} (extra `intree`)")
    tree = Path(request["tree"])
    given = tree.with_name(f"{tree.name}-{request['chip']}-{module.rpartition('.')[2]}.json")
    answer = given.with_suffix(".answer")
    given.write_text(json.dumps(request), "utf-8")
    words = [sys.executable, "-m", module, str(given), str(answer)]
    try:
        done = subprocess.run(
            words, cwd=tree, capture_output=True, text=True, timeout=LIMIT, env=_environment(),
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Unavailable(f"no answer within {LIMIT} s") from None
    if done.returncode or not answer.exists():
        last = (done.stderr.strip().splitlines() or ["it ended without an answer"])[-1]
        raise Unavailable(last)
    told: dict[str, Any] = json.loads(answer.read_text("utf-8"))
    return told


def _environment() -> dict[str, str]:
    """AITER on but for its quantized bmm kernels, one thread, nothing of an outer pytest's."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "VLLM_"))}
    off = dict.fromkeys(("VLLM_ROCM_USE_AITER_FP4BMM", "VLLM_ROCM_USE_AITER_FP8BMM"), "0")
    on = dict.fromkeys(
        ("TORCHDYNAMO_DISABLE", "VLLM_ROCM_USE_AITER", "VLLM_NO_USAGE_STATS", "OMP_NUM_THREADS",
         "PYTEST_DISABLE_PLUGIN_AUTOLOAD"),
        "1",
    )  # fmt: skip
    path = os.pathsep.join(filter(None, (str(PACKAGES), os.environ.get("PYTHONPATH"))))
    return kept | off | on | {"VLLM_LOGGING_LEVEL": "ERROR", "PYTHONPATH": path}
