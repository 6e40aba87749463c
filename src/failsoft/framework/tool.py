"""`BaseTool`: subclass it, decorate methods with `@operation`, and every call fails soft."""

from __future__ import annotations

import copy
import re
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from failsoft.framework.binding import bind
from failsoft.framework.chain import Middleware, connect
from failsoft.framework.context import CallContext
from failsoft.framework.errors import ToolError, UnknownTool
from failsoft.framework.failure import Failure
from failsoft.framework.guarded_metrics import guarded
from failsoft.framework.operation import BoundOperation, Operation
from failsoft.framework.ports import AuditTrail
from failsoft.framework.recovery_port import RecoveryEngine
from failsoft.framework.response import ToolResponse
from failsoft.framework.runtime import Runtime, default_runtime
from failsoft.framework.text import bounded, snake_case
from failsoft.framework.toolbox import Toolbox
from failsoft.framework.violations import Violation

__all__ = ["BaseTool"]

_NAME_LENGTH = 128


class _ToolType(ABCMeta):
    """Binds the operations after `__init__`, so that a subclass need not remember to call anything."""

    if not TYPE_CHECKING:  # type checkers judge a call of the class by its own __init__ where there is no other

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if not cls._declared:
                msg = f"{cls.__name__} is abstract: give it at least one method with @operation"
                raise TypeError(msg)
            tool = super().__call__(*args, **kwargs)
            tool.bind_operations()
            return tool


class BaseTool(metaclass=_ToolType):
    """A toolset: a class whose `@operation` methods are MCP tools.

    Args:
        runtime: The surroundings of its calls; the process-wide default if left out.

    Raises:
        TypeError: The class has no operation, or one that cannot be offered over MCP.
        CONFIG_ERROR: A setting in the environment, or the runtime, is not usable.
    """

    name: str = ""
    """The toolset's name, by default the class name in snake case without `_tool` or `_tools`."""
    wire_format: str = "tool_response"
    """The wire format of this toolset's answers, unless the settings choose another."""
    recovery: RecoveryEngine | None = None
    """A RecoveryManager for this toolset in place of the runtime's."""
    roots: Sequence[Path] = ()
    """The folders that it serves: absolute paths in them may be told in production, all others are hidden."""
    audit: AuditTrail | None = None
    """An audit log for this toolset in place of the runtime's."""
    middleware: Sequence[Middleware] = ()
    """Steps of its own in the chain of every operation; the runtime's at the same place stand outside of them."""
    governed: bool = False
    """Whether calls that change something are audited though they succeed, and if they are cancelled."""

    _declared: ClassVar[dict[str, Operation[..., Any]]] = {}
    _runtime: Runtime | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"_tools?$", "", snake_case(cls.__name__))
        declared: dict[str, Operation[..., Any]] = {}
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
        cls._declared = declared

    def __init__(self, *, runtime: Runtime | None = None) -> None:
        self._runtime = runtime

    @property
    def runtime(self) -> Runtime:
        """What the calls of this toolset run in."""
        if self._runtime is None:
            self._runtime = default_runtime()
        return self._runtime

    @property
    def operations(self) -> Mapping[str, BoundOperation[..., Any]]:
        """The operations by MCP tool name, in the order of their declaration."""
        return self._operations

    @property
    def toolbox(self) -> Toolbox:
        """This toolset alone, as a box: what next steps may name when no server serves it with others."""
        return self._toolbox

    def bound(self, declaration: Operation[..., Any]) -> BoundOperation[..., Any]:
        """Return the operation of a declaration, bound to this toolset; `super()` asks for one that is overridden."""
        bound = self._by_attribute.get(declaration.attribute)
        if bound is None or bound.declaration is not declaration:
            bound = self._overridden.get(declaration)
            if bound is None:
                bound = self._overridden[declaration] = bind(declaration, self)
        return bound

    async def execute_with_error_handling(
        self,
        operation: str,
        params: Mapping[str, Any] | None,
        handler: Callable[..., Any] | None = None,
    ) -> ToolResponse[Any]:
        """Run an operation and return its answer: the only way a handler ever runs.

        Args:
            operation: The MCP tool name, or the method's name.
            params: The arguments, JSON values by name.
            handler: Runs in place of the operation's method, under its schema and its chain. It takes either nothing
                or the arguments by name.

        Returns:
            A `ToolResponse`; a failure of whatever kind is its `error`. Only a real cancellation is raised.
        """
        try:
            bound = self._operations.get(operation) or self._by_attribute.get(operation)
        except TypeError:  # a name that cannot be hashed is no name
            bound = None
        if bound is None:
            return await self._unknown(operation, params)
        return await bound.call(params, handler=handler)

    def describe(self) -> dict[str, list[str]]:
        """Return the links that each operation's calls pass, outermost first."""
        return {name: bound.describe() for name, bound in self._operations.items()}

    def failure_facts(self, error: ToolError, call: CallContext) -> Mapping[str, Any]:  # noqa: ARG002 - for those who override it
        """Return facts on a failure that are the toolset's own, for wire formats with a place for them. Override it.

        Called for every failure of its operations, once, with arguments (`call.params`) that may be anything.
        """
        return {}

    async def on_failure(self, failure: Failure, call: CallContext) -> None:
        """Do what a failure asks of the toolset before the caller learns of it. Override it.

        Called once for every failure of its operations, before it is put on record, with arguments (`call.params`) that
        may be anything. It cannot change the answer: what it raises is logged.
        """

    def self_audit(self) -> Iterable[str]:
        """Return what is wrong with the set-up, a clause each; a governed toolset with faults is not served.

        Override it. It runs in a worker thread before `startup`, and for `failsoft doctor`: it changes nothing.
        """
        return ()

    async def startup(self) -> None:
        """Open what the toolset needs; a server awaits this before it answers. Override it."""

    async def shutdown(self) -> None:
        """Release what `startup` opened; a server awaits this after the last call. Override it."""

    def bind_operations(self) -> None:
        """Bind every operation to this instance; the class does it once, after `__init__`."""
        self._overridden: dict[Operation[..., Any], BoundOperation[..., Any]] = {}
        self._by_attribute = {attribute: bind(item, self) for attribute, item in self._declared.items()}
        self._operations: dict[str, BoundOperation[..., Any]] = {}
        for bound in self._by_attribute.values():
            if bound.name in self._operations:
                msg = f"{type(self).__name__} has two operations named '{bound.name}'"
                raise TypeError(msg)
            self._operations[bound.name] = bound
        if self.runtime.configuration is not None:
            self.runtime.configuration.check_operations(self.name, self._operations)
        self._toolbox = Toolbox([self])

    async def _unknown(self, name: str, params: Mapping[str, Any] | None) -> ToolResponse[Any]:
        stand_in = copy.copy(next(iter(self._operations.values())))
        stand_in.name = bounded(str(name), _NAME_LENGTH)
        stand_in.read_only = True
        stand_in.metrics = guarded(self.runtime.metrics.bind(self.name, "__unknown__"))
        stand_in.proceed = connect(stand_in.links[:1], _refuse_unknown)
        return await stand_in.call(params)


async def _refuse_unknown(call: CallContext) -> Any:
    closest = call.toolbox.closest(call.operation)
    violation = Violation(
        path="",
        reason="unknown_tool",
        message=f"there is no tool named '{call.operation}'",
        expected="the name of a tool of this server",
        allowed=call.toolbox.names[:20],
        suggestion=closest,
    )
    raise UnknownTool(name=call.operation, violations=[violation])
