"""What an operation needs of the toolset that has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from failsoft.framework.chain import Middleware
    from failsoft.framework.ports import AuditTrail
    from failsoft.framework.recovery_port import RecoveryEngine
    from failsoft.framework.runtime import Runtime

__all__ = ["Toolset"]


class Toolset(Protocol):
    """A toolset, as its operations know it; `BaseTool` is the real one.

    Properties, since what is only read may be of a narrower type, as `recovery = RecoveryManager()` is.
    """

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def wire_format(self) -> str:
        """The wire format of its answers."""

    @property
    def recovery(self) -> RecoveryEngine | None:
        """Its own means of recovery; None for those of its runtime."""

    @property
    def audit(self) -> AuditTrail | None:
        """Its own audit log; None for the one of its runtime."""

    @property
    def middleware(self) -> Sequence[Middleware]:
        """Steps of its own in the chain."""

    @property
    def governed(self) -> bool:
        """Whether calls that change something are audited though they succeed."""

    @property
    def runtime(self) -> Runtime:
        """What its calls run in."""

    def bound(self, declaration: Any) -> Any:
        """Return the operation of a declaration, bound to this toolset."""
