"""Protocol of a toolset, as far as its operations use it."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from failsoft.framework.call.chain import Middleware
    from failsoft.framework.call.ports import AuditTrail
    from failsoft.framework.call.recovery_port import RecoveryEngine
    from failsoft.framework.tool.runtime import Runtime

__all__ = ["Toolset"]


class Toolset(Protocol):
    """A toolset, as far as its operations use it; implemented by `BaseTool`.

    Its members are properties, because read-only members may have a narrower type: `recovery = RecoveryManager()`.
    """

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def wire_format(self) -> str:
        """The wire format of its responses."""

    @property
    def recovery(self) -> RecoveryEngine | None:
        """Its own recovery engine; None for that of its runtime."""

    @property
    def audit(self) -> AuditTrail | None:
        """Its own audit log; None for that of its runtime."""

    @property
    def middleware(self) -> Sequence[Middleware]:
        """Its own middleware."""

    @property
    def governed(self) -> bool:
        """Whether calls that change something are audited though they succeed."""

    @property
    def runtime(self) -> Runtime:
        """The runtime of its calls."""

    def call_started(self, bound: Any, params: Any, handler: Any = None) -> Awaitable[Any]:
        """Run an operation; a toolset that was not started is started first."""

    def verifier_of(self, declaration: Any) -> str | None:
        """Return the MCP name of the read-only operation that shows what a declared one has done, or None.

        Raises:
            TypeError: `verify_with` names no such operation.
        """

    def bound(self, declaration: Any) -> Any:
        """Return the operation of a declaration, bound to this toolset."""
