"""`RateLimit`: limits the number of calls in a period, across all replicas if state is shared."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed, Step
from failsoft.framework.errors import ConfigurationError, RateLimited
from failsoft.recovery.facts import StrategyFacts
from failsoft.recovery.reporting import shown_wait_s

if TYPE_CHECKING:
    from limits import RateLimitItem
    from limits.aio.strategies import MovingWindowRateLimiter


Per: TypeAlias = Literal["dependency", "principal", "server"]


@dataclass(frozen=True, slots=True)
class RateLimitOptions:
    """The rate, and which calls count towards it.

    Args:
        limit: In the syntax of the `limits` library: `100/minute`, `5 per 2 seconds`, `1000/day`.
        per: Which calls share the limit. `dependency`: all calls to `dependency`, or to the operation if none is named.
            `principal`: the same, separately for each caller. `server`: all operations with this limit.
        dependency: The dependency to protect. By default every operation of a toolset has its own, under
            `<toolset>.<operation>`.
    """

    limit: str
    per: Per = "dependency"
    dependency: str | None = None

    def __post_init__(self) -> None:
        if self.per not in get_args(Per) or (self.per == "server" and self.dependency):
            msg = f"RateLimit is per 'dependency', 'principal' or 'server', the last without a dependency, not {self}"
            raise ValueError(msg)


class RateLimit:
    """Rejects calls beyond a rate with RATE_LIMITED and the exact wait, before any work is done for them.

    It is a sliding window, so no period of that length contains more calls than the limit. The `limits` library parses
    the rate and implements the strategy; the counts are in the state store, which replicas can share.

    Args:
        limit: See `RateLimitOptions`.
        per: See `RateLimitOptions`.
        dependency: See `RateLimitOptions`.

    Raises:
        ValueError: The rate cannot be parsed, or allows no call.
        CONFIG_ERROR: The `limits` library is not installed: `pip install 'failsoft[limits]'`.
    """

    name = "rate_limit"
    facts = StrategyFacts(
        options=RateLimitOptions,
        place="admit",
        use="a service has a quota of calls per minute, or one caller must not use up what all callers share.",
        not_for="protection from overload: calls within the rate may still be too many at once; use a `Bulkhead`.",
        example={"limit": "100/minute"},
    )

    def __init__(self, limit: str, *, per: Per = "dependency", dependency: str | None = None) -> None:
        self.options = RateLimitOptions(limit, per, dependency)
        _parsed(limit)

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link that counts calls and rejects those beyond the rate."""
        from failsoft.recovery.strategies.rate_limit.limits_storage import limiter  # noqa: PLC0415 - an extra, and 50 ms

        is_own = self.options.dependency is None and self.options.per != "server"
        store = bound.state.private_to(bound.tool) if is_own else bound.state
        return [Link(self.name, self._counted(limiter(store), self._subject(bound)), "admit")]

    def _subject(self, bound: BoundOperation) -> str:
        if self.options.per == "server":
            return "server"
        return self.options.dependency or f"{bound.tool_name}.{bound.name}"

    def _counted(self, limiter: MovingWindowRateLimiter, subject: str) -> Step:
        from failsoft.recovery.strategies.rate_limit.limits_storage import TooMany  # noqa: PLC0415 - as above

        item, is_personal = _parsed(self.options.limit), self.options.per == "principal"

        async def step(call: Call, proceed: Proceed) -> Any:
            whose = (subject, _fingerprint(call.principal)) if is_personal else (subject,)
            try:
                await limiter.hit(item, *whose)
            except TooMany as refused:
                raise RateLimited(
                    retry_after_seconds=shown_wait_s(refused.wait_s),
                    effect=call.effect_of(call.error),
                    details={"limit": str(item), "per": self.options.per},
                ) from None
            return await proceed(call)

        return step


def _parsed(limit: str) -> RateLimitItem:
    try:
        from limits import parse_many  # noqa: PLC0415 - as above
    except ImportError as error:
        raise ConfigurationError(
            issue="RateLimit needs the limits library, which is not installed; it is in failsoft[limits]",
            resolution="pip install 'failsoft[limits]'",
        ) from error
    try:
        items = parse_many(limit)
    except (TypeError, ValueError):
        items = []
    if len(items) != 1 or items[0].amount < 1:
        msg = f"RateLimit takes one rate of at least one call, such as '100/minute', not {limit!r}"
        raise ValueError(msg)
    return items[0]


def _fingerprint(principal: str | None) -> str:
    """Return the hash of a caller, so that a shared store contains no names of people."""
    return "" if principal is None else hashlib.sha256(principal.encode("utf-8", "replace")).hexdigest()[:20]
