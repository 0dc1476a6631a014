"""What the standard library gained in which version of Python."""

from __future__ import annotations

MODULES = {
    "zoneinfo": (3, 9),
    "graphlib": (3, 9),
    "tomllib": (3, 11),
    "asyncio.taskgroups": (3, 11),
    "asyncio.timeouts": (3, 11),
    "wsgiref.types": (3, 11),
    "importlib.resources.abc": (3, 11),
    "dbm.sqlite3": (3, 13),
    "annotationlib": (3, 14),
    "compression": (3, 14),
    "compression.zstd": (3, 14),
    "concurrent.interpreters": (3, 14),
    "concurrent.futures.interpreter": (3, 14),
    "pathlib.types": (3, 14),
    "string.templatelib": (3, 14),
}
"""Modules by the version that brought them."""

_SYMBOLS = {
    (3, 10): """
        builtins.aiter builtins.anext builtins.EncodingWarning contextlib.aclosing
        contextlib.AsyncContextDecorator dataclasses.KW_ONLY
        importlib.metadata.packages_distributions inspect.get_annotations itertools.pairwise
        statistics.correlation statistics.covariance statistics.linear_regression
        sys.orig_argv sys.stdlib_module_names threading.getprofile threading.gettrace
        types.EllipsisType types.NoneType types.NotImplementedType types.UnionType
        typing.Concatenate typing.ParamSpec typing.ParamSpecArgs typing.ParamSpecKwargs
        typing.TypeAlias typing.TypeGuard typing.is_typeddict
    """,
    (3, 11): """
        asyncio.Barrier asyncio.BrokenBarrierError asyncio.Runner asyncio.TaskGroup
        asyncio.timeout asyncio.timeout_at builtins.BaseExceptionGroup builtins.ExceptionGroup
        contextlib.chdir datetime.UTC enum.CONTINUOUS enum.EnumCheck enum.EnumType
        enum.FlagBoundary enum.NAMED_FLAGS enum.ReprEnum enum.StrEnum enum.UNIQUE
        enum.global_enum enum.member enum.nonmember enum.property enum.verify
        hashlib.file_digest http.HTTPMethod inspect.getmembers_static inspect.ismethodwrapper
        locale.getencoding logging.getLevelNamesMapping math.cbrt math.exp2 operator.call
        re.NOFLAG sqlite3.Blob sys.exception typing.LiteralString typing.Never
        typing.NotRequired typing.Required typing.Self typing.TypeVarTuple typing.Unpack
        typing.assert_never typing.assert_type typing.clear_overloads
        typing.dataclass_transform typing.get_overloads typing.reveal_type
    """,
    (3, 12): """
        asyncio.create_eager_task_factory asyncio.eager_task_factory calendar.Day
        calendar.Month collections.abc.Buffer inspect.BufferFlags inspect.getasyncgenlocals
        inspect.getasyncgenstate inspect.markcoroutinefunction itertools.batched math.sumprod
        random.binomialvariate sys.activate_stack_trampoline sys.monitoring
        threading.setprofile_all_threads threading.settrace_all_threads
        types.get_original_bases typing.TypeAliasType typing.override
    """,
    (3, 13): """
        asyncio.QueueShutDown base64.z85decode base64.z85encode
        builtins.PythonFinalizationError copy.replace glob.translate math.fma
        os.process_cpu_count os.timerfd_create pathlib.UnsupportedOperation queue.ShutDown
        re.PatternError statistics.kde statistics.kde_random sys._is_gil_enabled
        types.CapsuleType typing.NoDefault typing.ReadOnly typing.TypeIs
        typing.get_protocol_members typing.is_protocol warnings.deprecated
    """,
    (3, 14): """
        asyncio.capture_call_graph asyncio.format_call_graph asyncio.print_call_graph
        concurrent.futures.InterpreterPoolExecutor functools.Placeholder heapq.heapify_max
        heapq.heappop_max heapq.heappush_max heapq.heappushpop_max heapq.heapreplace_max
        operator.is_none operator.is_not_none os.reload_environ
        sys.is_remote_debug_enabled sys.remote_exec typing.evaluate_forward_ref uuid.MAX
        uuid.NIL uuid.uuid6 uuid.uuid7 uuid.uuid8
    """,
}

SYMBOLS = {name: version for version, names in _SYMBOLS.items() for name in names.split()}
"""Symbols by their dotted name, with the version that brought them."""
