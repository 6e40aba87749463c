"""The runtime of a test: isolated, or with recovery turned off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.chain import Chain, Recovery, connect
from failsoft.framework.call.run import invoke
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.settings import Settings
from failsoft.metrics import PrometheusRecorder
from failsoft.recovery import RecoveryManager

__all__ = ["fresh_runtime", "without_recovery"]


def fresh_runtime(*, settings: Settings | None = None, **parts: Any) -> Runtime:
    """Return a runtime like the default one, with its own state, strategies and metrics.

    Args:
        settings: By default read from the environment.
        parts: Arguments of `Runtime` that replace the fresh parts.
    """
    settings = settings or Settings.load()
    parts.setdefault("recovery", RecoveryManager.default())
    parts.setdefault("metrics", PrometheusRecorder(label_limit=settings.metrics_label_limit))
    return Runtime(settings=settings, **parts)


@contextmanager
def without_recovery(*tools: BaseTool) -> Iterator[None]:
    """Let each call of these toolsets run its handler once while the block lasts, with no strategy around it.

    Nothing is repeated, waited for, cached, replaced or rejected. Limits on the whole call and idempotency keys stay.

    Args:
        tools: The toolsets.

    Examples:
        >>> import asyncio
        >>> from failsoft import BaseTool, Unavailable, operation
        >>> from failsoft.testing import FaultScript, without_recovery
        >>> class Stock(BaseTool):
        ...     @operation(read_only=True)
        ...     async def count(self, item: str) -> int: "Count."
        >>> stock, script = Stock(), FaultScript(Unavailable(), 7)
        >>> with without_recovery(stock), script.replaces(stock.count):
        ...     answer = asyncio.run(stock.count(item="tea"))
        >>> answer.error.code, len(script.calls)
        ('UNAVAILABLE', 1)
    """
    operations = {bound for tool in tools for bound in tool.operations.values()}
    for bound in operations:
        blocks, chain = _switched_off.get(bound, (0, bound.chain))
        _switched_off[bound] = blocks + 1, chain
        bound.use(_plain(chain))
    try:
        yield
    finally:
        for bound in operations:
            blocks, chain = _switched_off.pop(bound)
            if blocks > 1:
                _switched_off[bound] = blocks - 1, chain
            else:
                bound.use(chain)


_switched_off: dict[BoundOperation, tuple[int, Chain]] = {}
"""The number of blocks around an operation, which tasks may leave in any order, and its chain outside of them."""


def _plain(chain: Chain) -> Chain:
    """Return a chain without the strategies, but for idempotency keys, which every operation has."""
    dropped = [link for link in chain.recovery.links if link.place != "idempotency"]
    links = tuple(link for link in chain.links if link.place != "recover" and link not in dropped)
    recovery = Recovery(
        links=[link for link in chain.recovery.links if link not in dropped],
        derives_keys=chain.recovery.derives_keys,
        shared=chain.recovery.shared,
    )
    return Chain(links, connect(links, invoke), chain.timeout_s, recovery)
