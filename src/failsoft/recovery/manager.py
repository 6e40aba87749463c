"""`RecoveryManager`: which strategies an operation has, whether they go together, and the loop that tries them."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Self, cast

from failsoft.framework.answer.response import RecoveryReceipt
from failsoft.framework.asking import has_no_outcome
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import (
    PlacedStrategy,
    Recovery,
    RecoveryResult,
    RecoveryStrategy,
    strategy_name,
)
from failsoft.framework.errors import (
    BadOutput,
    ConfigurationError,
    DatabaseError,
    DocumentNotFound,
    Overloaded,
    RateLimited,
    Timeout,
    ToolError,
    Unavailable,
    UpstreamError,
)
from failsoft.framework.events import RecoveryOutcome
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import bounded
from failsoft.recovery.idempotency.strategy import Idempotency
from failsoft.recovery.strategies.alternate_paths import AlternatePaths
from failsoft.recovery.strategies.attempt_timeout import AttemptTimeout
from failsoft.recovery.strategies.bulkhead import Bulkhead
from failsoft.recovery.strategies.circuit_breaker import CircuitBreaker
from failsoft.recovery.strategies.hedge import Hedge
from failsoft.recovery.strategies.retry import Retry
from failsoft.recovery.strategies.retry_budget import RetryBudget
from failsoft.recovery.strategy import note_recovery


class RecoveryManager:
    """Strategies per error class, looked up along the class's MRO, the most specific class first.

    A new manager holds only the strategies passed in; `RecoveryManager.default()` is the one a runtime uses.

    Args:
        strategies: One strategy, or several in order, for each error class.

    Raises:
        TypeError: As with `register`.

    Examples:
        >>> manager = RecoveryManager({Unavailable: Retry(attempts=5)})
        >>> manager.register(DocumentNotFound, AlternatePaths("path"))
        >>> manager.describe()
        ['retry', 'alternate_path']
    """

    def __init__(
        self, strategies: Mapping[type[ToolError], RecoveryStrategy | Sequence[RecoveryStrategy]] | None = None
    ) -> None:
        self._table: dict[type[ToolError], list[RecoveryStrategy]] = {}
        self._found: dict[type[ToolError], tuple[tuple[type[ToolError], RecoveryStrategy], ...]] = {}
        self._placed: list[PlacedStrategy] = []
        self._place = ""
        for error, listed in (strategies or {}).items():
            self.register(error, *(listed if isinstance(listed, Sequence) else (listed,)))

    @classmethod
    def default(cls) -> Self:
        """Return the manager of the default runtime.

        It tries alternate paths for missing documents and retries transient errors, within one budget per toolset.
        """
        manager = cls()
        manager.register(DocumentNotFound, AlternatePaths())
        retry = Retry()
        for transient in (Timeout, Unavailable, Overloaded, RateLimited, UpstreamError, DatabaseError):
            manager.register(transient, retry)
        manager.add(RetryBudget())
        return manager

    def register(self, error: type[ToolError], *strategies: RecoveryStrategy) -> None:
        """Add strategies for an error class and its subclasses, after the registered ones.

        Raises:
            TypeError: A strategy lacks `async def attempt(error, call)`.
        """
        for strategy in strategies:
            if isinstance(strategy, type) or not isinstance(strategy, RecoveryStrategy):
                msg = f"{bounded(repr(strategy))} is not a recovery strategy: {_what_is_missing(strategy)}"
                raise TypeError(msg)
        self._table.setdefault(error, []).extend(strategies)
        self._found.clear()

    def add(self, *strategies: RecoveryStrategy | PlacedStrategy) -> None:
        """Add strategies for every call: those that wrap the call, and those that react to any error.

        Raises:
            TypeError: A strategy is neither.
        """
        for strategy in strategies:
            is_placed = not isinstance(strategy, type) and isinstance(strategy, PlacedStrategy)
            if is_placed:
                self._placed.append(cast("PlacedStrategy", strategy))
            if not is_placed or isinstance(strategy, RecoveryStrategy):
                self.register(ToolError, cast("RecoveryStrategy", strategy))

    @property
    def strategies(self) -> tuple[Any, ...]:
        """All registered strategies, without duplicates."""
        listed = [*self._placed, *(strategy for listed in self._table.values() for strategy in listed)]
        return tuple({id(strategy): strategy for strategy in listed}.values())

    def reconfigured(self, change: Callable[[Any], Any | None], added: Sequence[Any], place: str) -> Self:
        """Return a changed copy of this manager.

        Args:
            change: Returns the replacement for a strategy; None removes it.
            added: Further strategies for every call.
            place: Where an operator has set this, for messages.
        """
        made = {id(strategy): change(strategy) for strategy in self.strategies}
        twin = copy.copy(self)
        twin._take(  # noqa: SLF001 - of its own class
            {error: [made[id(item)] for item in listed] for error, listed in self._table.items()},
            [made[id(item)] for item in self._placed],
        )
        twin.add(*added)
        twin._place = place  # noqa: SLF001 - as above
        return twin

    def _take(self, table: dict[type[ToolError], list[Any]], placed: list[Any]) -> None:
        self._table = {error: [item for item in listed if item is not None] for error, listed in table.items()}
        self._placed = [item for item in placed if item is not None]
        self._found = {}

    def with_strategies(self, strategies: Sequence[RecoveryStrategy | PlacedStrategy]) -> RecoveryManager:
        """Return a manager with only these strategies, for every error: what `@operation(recovery=[...])` sets.

        The current retry budget is kept unless the list contains one.
        """
        if isinstance(strategies, (str, RecoveryStrategy, PlacedStrategy)):
            msg = f"recovery takes a list of strategies: recovery=[{bounded(repr(strategies))}]"
            raise TypeError(msg)
        own = RecoveryManager()
        own.add(*strategies)
        if not any(isinstance(strategy, RetryBudget) for strategy in own._placed):
            own.add(*(strategy for strategy in self._placed if isinstance(strategy, RetryBudget)))
        return own

    def protect(self, bound: BoundOperation) -> Recovery:
        """Return what the strategies add to the chain of one operation.

        Idempotency keys are always supported, whether or not `Idempotency` is listed.

        Raises:
            CONFIG_ERROR: The strategies conflict, or do not suit this operation; the message says why.
        """
        try:
            return self._protected(bound)
        except TypeError as refused:
            if not self._place:
                raise
            raise ConfigurationError(issue=f"{refused} ({self._place})") from refused
        except ConfigurationError as error:
            if not self._place:
                raise
            raise ConfigurationError(issue=f"{error.issue} ({self._place})", resolution=error.resolution) from error

    def _protected(self, bound: BoundOperation) -> Recovery:
        _check_singles(self._placed, bound)
        _check_hedge(self._placed, bound)
        for error in self._table:
            _check_retries(self.strategies_for(error), error.__name__, bound)
        keys = [strategy for strategy in self._placed if isinstance(strategy, Idempotency)] or [Idempotency()]
        placed = [*keys, *(strategy for strategy in self._placed if strategy not in keys)]
        ledgers = [strategy.ledger(bound) for strategy in self._placed if isinstance(strategy, RetryBudget)]
        attempts = [item.attempts for item in self.strategies if isinstance(item, Retry)]
        return Recovery(
            links=[link for strategy in placed for link in strategy.links(bound)],
            strategies=self.strategies,
            described=self.describe(),
            budget=ledgers[-1] if ledgers else None,
            most_runs=max(attempts, default=None),
            derives_keys=not bound.read_only and any(strategy.derive is not None for strategy in keys),
            shared=dict(_shared(self.strategies)),
        )

    def strategies_for(self, error: type[ToolError]) -> tuple[RecoveryStrategy, ...]:
        """Return the strategies for an error class in the order in which they are tried, without duplicates."""
        return tuple(strategy for _, strategy in self._entries(error))

    def _entries(self, error: type[ToolError]) -> tuple[tuple[type[ToolError], RecoveryStrategy], ...]:
        """Return the strategies for an error class, each with the class that it is registered for."""
        found = self._found.get(error)
        if found is None:
            listed: dict[int, tuple[type[ToolError], RecoveryStrategy]] = {}
            for kind in error.__mro__:
                for strategy in self._table.get(kind, ()):
                    listed.setdefault(id(strategy), (kind, strategy))
            found = self._found[error] = tuple(listed.values())
        return found

    def describe(self) -> list[str]:
        """Return the names of the registered strategies, in the order of registration."""
        strategies = [strategy for listed in self._table.values() for strategy in listed]
        return list(dict.fromkeys(map(strategy_name, strategies)))

    async def recover(self, error: ToolError, call: Call) -> Any:
        """Return a value in place of the error and note the receipt on the call.

        Where a strategy fails with another error, as a run of the handler may, those for its class are next. A
        strategy is tried once for each error class that it is registered for, and never for an error of its own.

        Raises:
            ToolError: No strategy succeeded: the error itself, or the last one that a strategy raised. The reason why
                the handler was not run again is noted on the call.
        """
        arguments = call.arguments
        tried: set[tuple[type[ToolError], int]] | None = None
        entries, position = self._entries(type(error)), 0
        while position < len(entries):
            entry, position = entries[position], position + 1
            if tried is not None and _key(entry) in tried:
                continue
            strategy = entry[1]
            call.error, call.arguments = error, arguments  # the previous strategy may have changed them
            name, began = strategy_name(strategy), time.perf_counter()
            try:
                result = await strategy.attempt(error, call)
                value, receipt = (None, None) if result is None else _accepted(strategy, result, call)
            except BaseException as raised:
                if call.expired or has_no_outcome(raised):
                    raise
                note_recovery(call, name, "failed", error, duration_s=time.perf_counter() - began)
                if not issubclass(type(raised), ToolError) or raised is call.refused:
                    _report_broken(strategy, raised)
                    continue
                if type(raised) is not type(error):
                    tried = {*(tried or ()), *map(_key, entries[:position])}
                    entries, position = self._entries(cast("type[ToolError]", type(raised))), 0
                    tried.update(_key(one) for one in entries if one[1] is strategy)
                error = cast("ToolError", raised)
                continue
            finally:
                call.refused = None  # its traceback refers to this call
            outcome: RecoveryOutcome = "skipped" if receipt is None else "recovered"
            note_recovery(call, name, outcome, error, duration_s=time.perf_counter() - began)
            if receipt is not None:
                call.recovered(receipt)
                return value
        try:
            raise error
        finally:
            del error  # its traceback holds this frame: a reference cycle


def _key(entry: tuple[type[ToolError], RecoveryStrategy]) -> tuple[type[ToolError], int]:
    """Return a hashable key of a strategy for an error class; a strategy may be a dataclass that compares by value."""
    return entry[0], id(entry[1])


def _accepted(strategy: RecoveryStrategy, result: RecoveryResult, call: Call) -> tuple[Any, RecoveryReceipt]:
    """Return a strategy's value, conformed to the operation's result type, and its receipt."""
    try:
        value = call.bound.result.conform(result.value)
    except BadOutput as error:
        msg = f"the strategy '{strategy_name(strategy)}' found a value that does not fit the operation"
        raise TypeError(msg) from error
    message, changed = bounded(str(result.message)), dict(result.changed)
    rule = bounded(str(result.rule), 64) if result.rule else ""
    receipt = RecoveryReceipt(strategy_name(strategy), message, call.attempt, changed, bool(result.degraded), rule)
    return value, receipt


def _report_broken(strategy: RecoveryStrategy, raised: BaseException) -> None:
    """Log a strategy that raised: the caller gets the original error, which is more useful."""
    logger.opt(exception=raised).error("A recovery strategy failed", strategy=strategy_name(strategy))


def _what_is_missing(strategy: object) -> str:
    """Return why an object is not a recovery strategy."""
    if isinstance(strategy, type):
        return f"it is a class; make one, {strategy.__name__}(...)"
    if isinstance(strategy, PlacedStrategy):
        return "it has a place in the chain; say manager.add(...), or recovery=[...] of an operation"
    return "it needs `async def attempt(error, call)`"


def _shared(strategies: Iterable[Any]) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """Yield the strategies for a dependency with the options that all operations on it have to agree about."""
    for strategy in strategies:
        if dependency := getattr(strategy, "dependency", None):
            listed = fields(strategy) if isinstance(strategy, (Bulkhead, CircuitBreaker, RetryBudget)) else ()
            # How long a run waits for its slot is the operation's own.
            options = {item.name: getattr(strategy, item.name) for item in listed if item.name != "wait_s"}
            yield (strategy_name(strategy), dependency), options


def _check_singles(strategies: Iterable[Any], bound: BoundOperation) -> None:
    """Reject a strategy that an operation, or one of its dependencies, has twice and may have once."""
    seen: set[tuple[str, str | None]] = set()
    for strategy in strategies:
        name, one_for = strategy_name(strategy), getattr(strategy, "one_for", None)
        if one_for is None:
            continue
        dependency = strategy.dependency if one_for == "dependency" else None
        if (name, dependency) in seen:
            where = f" for the dependency '{dependency}'" if dependency else ""
            issue = f"'{bound.name}' has two strategies '{name}'{where}, and it is not clear which one counts"
            raise ConfigurationError(issue=issue, resolution="keep one of them")
        seen.add((name, dependency))


def _check_hedge(strategies: Sequence[Any], bound: BoundOperation) -> None:
    """Reject a hedge whose delay exceeds the attempt's time limit."""
    limit = next((item.seconds for item in strategies if isinstance(item, AttemptTimeout)), None)
    delay = next((item.delay_s for item in strategies if isinstance(item, Hedge)), None)
    if limit is not None and delay is not None and delay >= limit:
        raise ConfigurationError(
            issue=f"'{bound.name}' ends a run after {limit:g} seconds and hedges it after {delay:g}, which is too late",
            resolution="lower Hedge's delay_s, or raise AttemptTimeout",
        )


def _check_retries(strategies: Iterable[Any], error: str, bound: BoundOperation) -> None:
    """Reject two `Retry` for one error class: the second would continue where the first gave up."""
    if sum(isinstance(item, Retry) for item in strategies) > 1:
        raise ConfigurationError(
            issue=f"'{bound.name}' has two Retry for {error}, so their attempts would add up", resolution="keep one"
        )
