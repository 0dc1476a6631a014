"""In a process of its own: a vLLM tree on a machine without a GPU, as if it had one of AMD's.

Nothing of the tree is patched but four answers of RocmPlatform: the dispatch key and
device type of its ops, whether memory can be pinned, how many compute units there are.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import inspect
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

DUMMIES = {
    "transformers", "tokenizers", "safetensors", "huggingface_hub", "openai", "openai_harmony",
    "aiohttp", "requests", "PIL", "fastapi", "starlette", "uvicorn", "xgrammar", "llguidance",
    "uvloop", "pybase64", "cachetools", "compressed_tensors", "prometheus_client",
    "partial_json_parser", "cpuinfo", "tiktoken", "gguf", "mistral_common", "cv2",
    "outlines_core", "diskcache", "lark", "sentencepiece", "blake3", "setproctitle", "depyf",
    "watchfiles", "numba", "scipy", "python_json_logger", "urllib3", "httpx", "anthropic", "mcp",
    "opentelemetry", "model_hosting_container_standards", "prometheus_fastapi_instrumentator",
    "soundfile", "av", "librosa", "ijson", "grpc", "torchvision", "torchaudio", "ray",
    "tblib", "datasets", "modelscope",
}  # fmt: skip
VERSION = "99.0.0"
COMPUTE_UNITS = 256
Mismatches = dict[str, str]


class Dummy(type):
    """A class of a missing package: has every attribute, and pydantic takes it for anything."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return dummy(name)

    def __or__(cls, other: object) -> Any:
        return cls

    __ror__ = __or__

    def __iter__(cls) -> Any:
        return iter(())

    def __getitem__(cls, item: object) -> Any:
        return cls


def dummy(name: str) -> Dummy:
    """A dummy class; called with one function it is a decorator that changes nothing."""

    def called(self: object, *given: Any, **_: Any) -> Any:
        return given[0] if len(given) == 1 and callable(given[0]) else self

    def attribute(_: object, wanted: str) -> Any:
        if wanted.startswith("__"):
            raise AttributeError(wanted)
        return dummy(wanted)()

    def schema(*_: object) -> Any:
        return importlib.import_module("pydantic_core.core_schema").any_schema()

    return Dummy(name, (), {
        "__init__": lambda self, *_, **__: None,
        "__call__": called,
        "__getattr__": attribute,
        "__iter__": lambda self: iter(()),
        "__class_getitem__": classmethod(lambda cls, item: cls),
        "__get_pydantic_core_schema__": classmethod(schema),
    })  # fmt: skip


class DummyModule(types.ModuleType):
    """A missing package: classes for capitalised names, objects for the others."""

    def __getattr__(self, name: str) -> Any:
        if name == "__version__":
            return VERSION
        if name.startswith("__"):
            raise AttributeError(name)
        value = _named(name)
        setattr(self, name, value)
        return value


def _named(name: str) -> Any:
    if name.endswith(("Error", "Exception", "Timeout")):
        return type(name, (Exception,), {})
    return dummy(name) if name[0].isupper() else dummy(name)()


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports of the dummies' names."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in DUMMIES:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = DummyModule(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def amdsmi(chip: str) -> types.ModuleType:
    """Just enough of amdsmi for one GPU of this kind."""
    info = {
        "target_graphics_version": chip,
        "device_id": "0x75a0",
        "market_name": "simulated",
        "num_compute_units": COMPUTE_UNITS,
    }
    return stand_in(
        "amdsmi",
        AmdSmiException=type("AmdSmiException", (Exception,), {}),
        amdsmi_init=lambda *_, **__: None,
        amdsmi_shut_down=lambda *_, **__: None,
        amdsmi_get_processor_handles=lambda: [0],
        amdsmi_get_gpu_asic_info=lambda handle: info,
        amdsmi_topo_get_link_type=lambda a, b: {"hops": 1, "type": 2},
        amdsmi_topo_get_numa_node_number=lambda handle: 0,
        amdsmi_get_gpu_device_uuid=lambda handle: "0",
        amdsmi_get_gpu_memory_total=lambda handle, kind: 288 << 30,
        AmdSmiMemoryType=types.SimpleNamespace(VRAM=0),
    )


def stand_in(module_name: str, **names: Any) -> types.ModuleType:
    """An importable module of these names."""
    module = types.ModuleType(module_name)
    module.__spec__ = importlib.machinery.ModuleSpec(module_name, None, is_package=True)
    module.__path__ = []
    vars(module).update(names)
    sys.modules[module_name] = module
    return module


def versions() -> None:
    """Dummies have a version too."""
    real: Callable[[str], str] = importlib.metadata.version

    def version(name: str) -> str:
        try:
            return real(name)
        except importlib.metadata.PackageNotFoundError:
            if name.replace("-", "_") in DUMMIES:
                return VERSION
            raise

    vars(importlib.metadata)["version"] = version


def boot(tree: str, chip: str, with_aiter: bool = True) -> Any:
    """Make the tree importable as a ROCm machine, with an empty `aiter` or none; its fp8 dtype."""
    sys.meta_path.insert(0, Finder())
    sys.path.insert(0, tree)
    amdsmi(chip)
    if with_aiter:
        stand_in("aiter")
    versions()
    torch = importlib.import_module("torch")
    torch.version.hip = torch.version.hip or "7.0"
    vars(torch.accelerator)["empty_cache"] = lambda: None
    platform = importlib.import_module("vllm.platforms.rocm").RocmPlatform
    platform.dispatch_key, platform.device_type = "CPU", "cpu"
    platform.is_pin_memory_available = classmethod(lambda cls: False)
    platform.num_compute_units = classmethod(lambda cls, device_id=0: COMPUTE_UNITS)
    # Read at its import, which may be earlier than the platform's.
    vars(importlib.import_module("vllm.utils.torch_utils"))["PIN_MEMORY"] = False
    return platform.fp8_dtype()


def record_ops(mismatches: Mismatches) -> list[str]:
    """Have every later registration of a custom op compared with its fake."""
    utils = importlib.import_module("vllm.utils.torch_utils")
    real, seen = utils.direct_register_custom_op, list[str]()

    def register(op_name: str, op_func: Any, *given: Any, **named: Any) -> Any:
        seen.append(op_name)
        fake = named.get("fake_impl", given[1] if len(given) > 1 else None)
        if fake is not None:
            ours, theirs = (list(inspect.signature(f).parameters) for f in (op_func, fake))
            if ours != theirs:
                odd = sorted(set(ours) ^ set(theirs)) or ["their order"]
                mismatches[op_name] = f"op and fake differ in {', '.join(odd)}"
        return real(op_name, op_func, *given, **named)

    vars(utils)["direct_register_custom_op"] = register
    return seen


def import_failures(modules: Sequence[str]) -> dict[str, str]:
    """The modules that do not import, with the reason; `absent: ...` where there is none."""
    failed: dict[str, str] = {}
    for module in ("vllm._aiter_ops", *modules):
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            absent = "absent: " if error.name == module else ""
            failed[module] = f"{absent}{error}"
        except Exception as error:  # noqa: BLE001 - whatever the tree raises is the finding
            failed[module] = f"{type(error).__name__}: {error}".split("\n")[0]
    return failed
