"""Classes of Python and torch that project classes extend, and what they provide.

A class chain that ends in one of these is known to its end; one that ends anywhere
else may have any attribute.
"""

from __future__ import annotations

import abc
import builtins
import enum
import re
import sys
import typing
from functools import cache

_PLAIN = (
    *("builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "typing.NamedTuple"),
    *("typing_extensions.Protocol", "typing_extensions.Generic", "typing.TypedDict"),
    *("typing_extensions.TypedDict", "typing_extensions.NamedTuple"),
)

_ENUMS = ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")

MODULES = frozenset({"torch.nn.Module", "torch.nn.modules.Module"})
"""Calling an instance of these calls its `forward`."""

_MODULE = """
    T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda
    double dump_patches eval extra_repr float forward get_buffer get_extra_state get_parameter
    get_submodule half ipu load_state_dict modules mtia named_buffers named_children
    named_modules named_parameters parameters register_backward_hook register_buffer
    register_forward_hook register_forward_pre_hook register_full_backward_hook
    register_full_backward_pre_hook register_load_state_dict_post_hook
    register_load_state_dict_pre_hook register_module register_parameter
    register_state_dict_post_hook register_state_dict_pre_hook requires_grad_
    set_extra_state set_submodule share_memory state_dict to to_empty train training type xpu
    zero_grad _apply _backward_hooks _backward_pre_hooks _buffers _call_impl
    _compiled_call_impl _forward_hooks _forward_hooks_always_called
    _forward_hooks_with_kwargs _forward_pre_hooks _forward_pre_hooks_with_kwargs _get_name
    _is_full_backward_hook _load_from_state_dict _load_state_dict_post_hooks
    _load_state_dict_pre_hooks _maybe_warn_non_full_backward_hook _modules _named_members
    _non_persistent_buffers_set _parameters _register_load_state_dict_pre_hook
    _register_state_dict_hook _replicate_for_data_parallel _save_to_state_dict _slow_forward
    _state_dict_hooks _state_dict_pre_hooks _version _wrapped_call_impl
"""

_NAMED_TUPLE = frozenset(
    {"_asdict", "_replace", "_make", "_fields", "_field_defaults"}
) | frozenset(dir(tuple))

_METACLASSES: dict[str, type] = {
    "builtins.type": type,
    "abc.ABCMeta": abc.ABCMeta,
    "enum.EnumMeta": enum.EnumMeta,
    "enum.EnumType": enum.EnumMeta,
}
_ABSTRACT = frozenset({"abc.ABC", "typing.Protocol", "typing_extensions.Protocol"})

METACLASSES = frozenset(_METACLASSES)
"""Metaclasses that add nothing to what the objects of a class have."""

TRANSPARENT = frozenset(
    {
        "functools.lru_cache", "functools.cache", "functools.singledispatch",
        "contextlib.contextmanager", "contextlib.asynccontextmanager",
        "abc.abstractmethod", "typing.override", "typing_extensions.override",
        "typing.final", "typing.no_type_check", "typing_extensions.deprecated",
        "warnings.deprecated", "torch.no_grad", "torch.inference_mode", "torch.compile",
        "torch._dynamo.disable", "torch.compiler.disable", "torch.jit.ignore", "torch.jit.unused",
        "torch.jit.script", "torch.jit.export", "torch.enable_grad", "atexit.register",
        "builtins.staticmethod", "builtins.classmethod", "builtins.property",
        "functools.cached_property",
        "typing.runtime_checkable", "typing_extensions.runtime_checkable",
        "functools.total_ordering", "enum.unique", "triton.jit", "dataclasses.dataclass",
    }
)  # fmt: skip
"""Decorators after which a function takes what it took before."""


@cache
def provided(name: str) -> frozenset[str] | None:
    """The attributes that instances of an external class have; None where nobody knows."""
    if name in MODULES:
        return frozenset(_MODULE.split()) | frozenset(dir(object))
    if name in _PLAIN:
        return frozenset((*dir(dict), *dir(typing.Protocol))) | _NAMED_TUPLE
    module, _, last = name.rpartition(".")
    if module == "enum" and last in _ENUMS:
        return _enum_attributes(last)
    found = getattr(builtins, last, None) if module == "builtins" else None
    return frozenset(dir(found)) if isinstance(found, type) else None


def on_classes(name: str) -> frozenset[str]:
    """The attributes that a class has, and its objects have not, by an external base or
    metaclass."""
    metaclass = abc.ABCMeta if name in _ABSTRACT else _METACLASSES.get(name, type)
    return frozenset(dir(metaclass))


def is_inscrutable(name: str) -> bool:
    """True for a class of the standard library that is not listed here: its objects have
    private attributes that code reads without ever having named them before."""
    return provided(name) is None and name.partition(".")[0] in sys.stdlib_module_names


def own_attributes(name: str) -> frozenset[str]:
    """What an external class puts before its bases': nothing, for those that only mark."""
    return frozenset() if name in _PLAIN else provided(name) or frozenset()


def _enum_attributes(name: str) -> frozenset[str]:
    base = getattr(enum, name, enum.Enum)
    names = {"name", "value", "_name_", "_value_", "_missing_", "_generate_next_value_"}
    extra = {"_member_map_", "_value2member_map_", "_member_names_", "__members__", "_ignore_"}
    made = {word for cls in (base, re.RegexFlag) for word in vars(cls) if word.startswith("_")}
    return frozenset(dir(base)) | frozenset(dir(abc.ABCMeta)) | names | extra | made
