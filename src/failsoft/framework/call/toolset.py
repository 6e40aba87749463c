"""`BaseTool`: subclass it, decorate methods with `@operation`, and every call fails soft."""

from __future__ import annotations

import asyncio
import re
from abc import ABCMeta
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Failed, Success, ToolResponse
from failsoft.framework.call import NO_SCOPE
from failsoft.framework.call.bound import BoundOperation, Toolbox
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Middleware, RecoveryEngine, check_shared
from failsoft.framework.call.operation import Offer, Operation
from failsoft.framework.call.run import answer_failure
from failsoft.framework.call.runtime import Runtime, default_runtime
from failsoft.framework.errors import InitializationError, ToolError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.recorders import bound_late
from failsoft.framework.safe.author_reports import is_real_cancellation
from failsoft.framework.text import bounded, prose, quoted, snake_case

if TYPE_CHECKING:
    from failsoft.framework.audit.trail import AuditLog
    from failsoft.framework.settings import ToolsetSettings
    from failsoft.framework.threads import LoopUse


_NAME_LENGTH = 128


_starting: ContextVar[tuple[BaseTool, ...]] = ContextVar("starting", default=())
"""The toolsets whose `startup` is running: its own calls, also those of tasks that it started, do not wait for it."""


class _ToolType(ABCMeta):
    """Binds the operations after `__init__`, so that subclasses need no call for it."""

    if not TYPE_CHECKING:  # otherwise type checkers would use the metaclass's signature

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if not cls._declared and not cls._adds_operations:
                msg = f"{cls.__name__} is abstract: give it at least one method with @operation"
                raise TypeError(msg)
            tool = super().__call__(*args, **kwargs)
            tool.bind_operations()
            return tool


class BaseTool(metaclass=_ToolType):
    """A toolset: a class whose `@operation` methods are MCP tools.

    Args:
        runtime: Settings, recovery, metrics and audit of its calls; by default the process-wide runtime.
        settings: The toolset's own settings; by default read from the environment.

    Raises:
        TypeError: The class has no operation, or one that MCP cannot represent.
        CONFIG_ERROR: A setting in the environment, or the runtime, is not usable.

    Examples:
        >>> class Shelf(BaseTool):
        ...     @operation(read_only=True)
        ...     async def count(self, title: str) -> int:
        ...         "Count the copies of a book."
        ...         return 2
        >>> asyncio.run(Shelf().count(title="Dune")).data
        2
    """

    name: str = ""
    """The toolset's name, by default the class name in snake case without `_tool` or `_tools`."""
    wire_format: str = "tool_response"
    """The wire format of this toolset's answers, unless the settings choose another."""
    recovery: RecoveryEngine | None = None
    """A RecoveryManager for this toolset that replaces the runtime's."""
    roots: Sequence[Path] = ()
    """The folders that it serves: absolute paths in them are shown in production, all others are redacted."""
    audit: AuditLog | None = None
    """An audit log for this toolset that replaces the runtime's."""
    middleware: Sequence[Middleware] = ()
    """Middleware of this toolset's operations; the runtime's at the same place is outside of it."""
    server_name: str = ""
    """The name of the server, once it is served; with `name` and `roots` the scope of its records."""
    server_identity: str = ""
    """What identifies a foreign server beside its name, a hash; part of the scope of its records."""
    governed: bool = False
    """Whether calls that change something are audited if they succeed or are cancelled."""

    message_at_most: ClassVar[int] = 1_000
    """Characters of the sentence that says what failed; the advice comes behind it."""
    loop_use: LoopUse | None = None
    """The event loop of its calls; there is one at a time."""

    Settings: ClassVar[type[ToolsetSettings]]
    """The settings of this toolset (`FAILSOFT_<TOOLSET>_...`), a subclass of `ToolsetSettings`; by default none."""
    settings: Any = None
    """The values of `Settings`, read once when the toolset is created, or passed to it."""

    _adds_operations: ClassVar[bool] = False
    _declared: ClassVar[dict[str, Operation]] = {}
    _offered: ClassVar[dict[str, Offer]] = {}
    _runtime: Runtime | None = None
    _is_started: bool = False
    _start_lock: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"_tools?$", "", snake_case(cls.__name__))
        if "Settings" in cls.__dict__:
            cls.Settings.bind(cls.name)
        declared: dict[str, Operation] = {}
        for base in reversed(cls.__mro__):
            for attribute, value in vars(base).items():
                if isinstance(value, Operation):
                    declared[attribute] = value
                else:
                    declared.pop(attribute, None)
        for attribute, declaration in declared.items():
            if hasattr(BaseTool, attribute):
                msg = f"{cls.__name__}.{attribute} hides a part of BaseTool: call the method otherwise, and set name="
                raise TypeError(msg)
            if attribute not in vars(cls):
                declared[attribute] = declaration.inherited_by(cls)
        cls._declared = {name: item for name, item in declared.items() if not isinstance(item, Offer)}
        cls._offered = {name: item for name, item in declared.items() if isinstance(item, Offer)}

    def __init__(self, *, runtime: Runtime | None = None, settings: ToolsetSettings | None = None) -> None:
        self._runtime = runtime
        if settings is not None:
            self.settings = settings
        elif declared := getattr(type(self), "Settings", None):
            self.settings = declared()

    @property
    def runtime(self) -> Runtime:
        """The runtime of this toolset's calls."""
        if self._runtime is None:
            self._runtime = default_runtime()
        return self._runtime

    @property
    def recovery_engine(self) -> RecoveryEngine | None:
        """The recovery engine of this toolset's calls: its own, or the runtime's."""
        return self.recovery if self.recovery is not None else self.runtime.recovery

    @property
    def operations(self) -> Mapping[str, BoundOperation]:
        """The operations by MCP tool name, in the order of their declaration."""
        return self._operations

    @property
    def offers(self) -> Sequence[BoundOperation]:
        """The declarations of `@resource`, `@prompt` and `@completion`; their `declaration` has the kind."""
        return self._offers

    @property
    def toolbox(self) -> Toolbox:
        """A toolbox with this toolset only, for next steps when no server serves it with others."""
        return self._toolbox

    def bound(self, declaration: Operation) -> BoundOperation:
        """Return the bound operation of a declaration, also of an overridden one, for `super()`."""
        bound = self._by_attribute.get(declaration.attribute)
        if bound is None or bound.declaration is not declaration:
            bound = self._overridden.get(declaration)
            if bound is None:
                bound = self._overridden[declaration] = BoundOperation(declaration, self)
        return bound

    async def execute_with_error_handling(
        self,
        operation: str,
        params: Mapping[str, Any] | None,
        handler: Callable[..., Any] | None = None,
    ) -> ToolResponse[Any]:
        """Run an operation and return its response. Handlers run in no other way.

        Args:
            operation: The MCP tool name, or the method's name.
            params: The arguments, JSON values by name.
            handler: A function that replaces the operation's method, with its schema and chain. It takes no parameters,
                or the arguments by name.

        Returns:
            A `ToolResponse`; any failure is its `error`. Only a genuine cancellation is raised.
        """
        try:
            bound = self._operations.get(operation) or self._by_attribute.get(operation)
        except TypeError:  # a name that is not hashable cannot be looked up
            bound = None
        if bound is None:
            return await self._unknown(operation, params)
        return await self.call_started(bound, params, handler)

    def call_started(
        self,
        bound: BoundOperation,
        params: Mapping[str, Any] | None,
        handler: Callable[..., Any] | None = None,
    ) -> Awaitable[Success[Any] | Failed]:
        """Run an operation; a toolset that was not started is started first, once.

        If `startup` raises, the call fails with INIT_ERROR, and the next call tries again.
        """
        if type(self).startup is BaseTool.startup or self._is_started:
            return bound.call(params, handler=handler)
        return self._call_after_start(bound, params, handler)

    async def _call_after_start(
        self,
        bound: BoundOperation,
        params: Mapping[str, Any] | None,
        handler: Callable[..., Any] | None,
    ) -> Success[Any] | Failed:
        try:
            await self.start()
        except BaseException as error:
            if is_real_cancellation(error):
                raise
            failed = InitializationError(f"The toolset '{self.name}' could not be started.", component=self.name)
            failed.__cause__ = error
            return await answer_failure(bound, failed, _mapping(params), NO_SCOPE)
        return await bound.call(params, handler=handler)

    async def start(self) -> None:
        """Run `startup`, unless that was done; concurrent calls wait for it."""
        if any(tool is self for tool in _starting.get()):
            return
        loop = asyncio.get_running_loop()
        if self._start_lock is None or self._start_lock[0] is not loop:
            self._start_lock = (loop, asyncio.Lock())
        async with self._start_lock[1]:
            if self._is_started:
                return
            starting = _starting.set((*_starting.get(), self))
            try:
                await self.startup()
                self._is_started = True
            finally:
                _starting.reset(starting)

    async def stop(self) -> None:
        """Run `shutdown`; the toolset may be started again."""
        self._is_started = False
        await self.shutdown()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()

    def describe(self) -> dict[str, list[str]]:
        """Return the names of the steps of a call of each operation by name, outermost first."""
        return {name: bound.describe() for name, bound in self._operations.items()}

    def failure_facts(self, error: ToolError, call: Call) -> Mapping[str, Any]:  # noqa: ARG002 - for those who override it
        """Return the toolset's own facts about a failure, for wire formats with fields for them. Override it.

        Called once for every failure of its operations; the arguments (`call.params`) may not be valid.
        """
        return {}

    async def on_failure(self, failure: Failure, call: Call) -> None:
        """React to a failure before it is returned to the caller. Override it.

        Called once for every failure of its operations, before it is audited; the arguments (`call.params`) may not be
        valid. It cannot change the response, and its exceptions are logged.
        """

    def introduction(self) -> str:
        """Return the description of the toolset for the server instructions, which models read before the first call.

        By default the docstring of the class without its Python sections (`Args:`, `Raises:`), then the folders that it
        serves. Override it.
        """
        folders = ", ".join(quoted(folder) for folder in self.roots)
        return "\n".join(filter(None, (prose(type(self).__doc__), folders and f"Root: {folders}.")))

    def self_audit(self) -> Iterable[str]:
        """Return the faults of the set-up, one clause each; a governed toolset with faults is not served.

        Override it. It runs in a worker thread before `startup`, and in `failsoft doctor`; it must change nothing.
        """
        return ()

    async def startup(self) -> None:
        """Acquire the toolset's resources; a server awaits this before it accepts calls. Override it."""

    async def shutdown(self) -> None:
        """Release the resources of `startup`; a server awaits this after the last call. Override it."""

    def bind_operations(self) -> None:
        """Bind every operation to this instance; the class does it once, after `__init__`."""
        self._overridden: dict[Operation, BoundOperation] = {}
        self._by_attribute = {attribute: BoundOperation(item, self) for attribute, item in self._declared.items()}
        self._operations: dict[str, BoundOperation] = {}
        for bound in self._by_attribute.values():
            if bound.name in self._operations:
                msg = f"{type(self).__name__} has two operations named '{bound.name}'"
                raise TypeError(msg)
            self._operations[bound.name] = bound
        self._offers = tuple(self.bound(offer) for offer in self._offered.values())
        if self.runtime.configuration is not None:
            self.runtime.configuration.check([self], are_all=False)
        check_shared({bound: bound.chain for bound in self._operations.values()})
        self._toolbox = Toolbox([self])

    def verifier_of(self, declaration: Operation) -> str | None:
        """Return the MCP name of the operation that `verify_with` names, by its name or its method's.

        Raises:
            TypeError: There is no such operation, or it is not read-only.
        """
        named = declaration.verify_with
        if named is None:
            return None
        by_name = {item.name: item for item in self._declared.values()}
        verifier = by_name.get(named) or self._declared.get(named)
        if verifier is None or not verifier.read_only:
            closest = closest_name(named, [name for name, item in by_name.items() if item.read_only])
            meant = f"; did you mean {closest!r}?" if closest else ""
            msg = (
                f"{type(self).__name__}.{declaration.name}: verify_with names no read-only operation: {named!r}{meant}"
            )
            raise TypeError(msg)
        return verifier.name

    async def _unknown(self, name: str, params: Mapping[str, Any] | None) -> ToolResponse[Any]:
        shown = bounded(str(name), _NAME_LENGTH)
        received = _mapping(params)
        metrics = bound_late(self.runtime.metrics, self.name, "__unknown__")
        unknown = next(iter(self._operations.values())).under_name(metrics=metrics, name=shown, read_only=True)
        return await answer_failure(unknown, self._toolbox.unknown(shown, received), received, NO_SCOPE)


def _mapping(params: Any) -> Mapping[str, Any]:
    return params if isinstance(params, Mapping) else {}
