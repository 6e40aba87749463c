"""What recovery costs a call that succeeds: retry, breaker, retry budget and deadline around a bare coroutine.

Ours are the links of the chain as they are linked for a call, with the default state in memory, metrics listening, and
one call context made for each call; validation, counting and the answer are the call path's (`call_path.py`). The peers
are composed as their documentation says, with what comes closest: a library that lacks a part is measured without it,
and the note says so. Times are CPU times, ratios are taken inside each round.

`deadline` of nopanic limits pauses and ends nothing; the composition with its `timeout` ends a call that is late, as
ours does. Both are measured.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

from measure import Contender, Figure, benchmark, figure, interleave, us

from failsoft import BaseTool, RecoveryManager, Retry, Runtime, operation
from failsoft.framework.call import NO_SCOPE, CallContext
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import connect
from failsoft.framework.state.store import LocalState
from failsoft.recovery import CircuitBreaker, RetryBudget

LINKS = ("deadline", "recover", "circuit_breaker")
Work = Callable[[], Awaitable[Any]]


async def bare() -> int:
    """Return at once: the work that every contender wraps."""
    return 1


def _repeat(work: Work) -> Contender:
    async def contender(times: int) -> None:
        for _ in range(times):
            await work()

    return contender


class Guarded(BaseTool):
    """One operation with the strategies that are compared."""

    @operation(read_only=True, timeout=10, recovery=[Retry(), RetryBudget(), CircuitBreaker()])
    async def fetch(self) -> int:
        """Return at once."""
        return await bare()


def ours() -> Contender:
    """Return the four links, around the same coroutine as the peers."""
    tool = Guarded(runtime=Runtime(recovery=RecoveryManager(), state=LocalState()))
    bound = tool.operations["fetch"]
    links = [link for link in bound.chain.links if link.name in LINKS]
    if {link.name for link in links} != set(LINKS):
        msg = f"the chain is {bound.describe()}, and lacks one of {LINKS}"
        raise RuntimeError(msg)

    async def innermost(_: CallContext) -> int:
        return await bare()

    proceed = connect(links, innermost)

    async def contender(times: int) -> None:
        for _ in range(times):
            await proceed(Call(bound, {}, NO_SCOPE))

    return contender


def nopanic() -> dict[str, Contender]:
    """Return nopanic's composition, without and with what ends a late call."""
    from nopanic import (  # noqa: PLC0415 - a peer may be missing
        RetryBudget as Budget,
        circuit_breaker,
        compose,
        deadline,
        retry,
        timeout,
    )

    bounded: Work = compose(deadline(10), retry(attempts=3, budget=Budget()), circuit_breaker())(bare)
    ended: Work = compose(deadline(10), retry(attempts=3, budget=Budget()), circuit_breaker(), timeout(10))(bare)
    return {"nopanic": _repeat(bounded), "nopanic, with its timeout": _repeat(ended)}


def redress() -> dict[str, Contender]:
    """Return redress' policy: retry with a deadline, breaker, budget."""
    from redress import (  # noqa: PLC0415 - a peer may be missing
        AsyncPolicy,
        AsyncRetry,
        Budget,
        CircuitBreaker as Breaker,
        decorrelated_jitter,
        default_classifier,
    )

    policy = AsyncPolicy(
        retry=AsyncRetry(
            classifier=default_classifier,
            strategy=decorrelated_jitter(max_s=5.0),
            deadline_s=10.0,
            max_attempts=3,
            budget=Budget(max_retries=100, window_s=10.0),
        ),
        circuit_breaker=Breaker(),
    )
    return {"redress": _repeat(lambda: policy.call(bare))}


def tenacity() -> dict[str, Contender]:
    """Return tenacity's retry with a deadline; it has neither breaker nor budget."""
    from tenacity import (  # noqa: PLC0415 - as above
        retry,
        stop_after_attempt,
        stop_after_delay,
        wait_random_exponential,
    )

    guarded: Any = retry(stop=stop_after_attempt(3) | stop_after_delay(10), wait=wait_random_exponential(max=5))(bare)
    return {"tenacity": _repeat(guarded)}


def stamina() -> dict[str, Contender]:
    """Return stamina's retry with a deadline; it has neither breaker nor budget."""
    from stamina import retry  # noqa: PLC0415 - as above

    return {"stamina": _repeat(retry(on=OSError, attempts=3, timeout=10)(bare))}


def hyx() -> dict[str, Contender]:
    """Return hyx's retry, breaker and time-out; it has no budget."""
    from hyx.circuitbreaker import consecutive_breaker  # noqa: PLC0415 - as above
    from hyx.retry import retry  # noqa: PLC0415 - as above
    from hyx.timeout import timeout  # noqa: PLC0415 - as above

    breaker: Any = consecutive_breaker(exceptions=(OSError,), failure_threshold=5, recovery_time_secs=30)
    return {"hyx": _repeat(timeout(10)(retry(on=OSError, attempts=3)(breaker(bare))))}


def purgatory() -> dict[str, Contender]:
    """Return purgatory's breaker; it has nothing else."""
    from purgatory import AsyncCircuitBreakerFactory  # noqa: PLC0415 - as above

    factory = AsyncCircuitBreakerFactory(default_threshold=5, default_ttl=30)
    return {"purgatory": _repeat(factory("api")(bare))}


def pyresilience() -> dict[str, Contender]:
    """Return pyresilience's retry with a budget, breaker and time-out."""
    from pyresilience import (  # noqa: PLC0415 - as above
        CircuitBreakerConfig,
        RetryBudgetConfig,
        RetryConfig,
        TimeoutConfig,
        resilient,
    )

    guarded: Any = resilient(
        retry=RetryConfig(max_attempts=3),
        retry_budget=RetryBudgetConfig(),
        circuit_breaker=CircuitBreakerConfig(),
        timeout=TimeoutConfig(seconds=10),
    )(bare)
    return {"pyresilience": _repeat(guarded)}


PEERS = (nopanic, redress, tenacity, stamina, hyx, purgatory, pyresilience)
NOTES = {
    "nopanic": "its deadline ends nothing",
    "tenacity": "retry and deadline only",
    "stamina": "retry and deadline only",
    "hyx": "no budget",
    "purgatory": "breaker only",
}
GOALS = {"nopanic": "<= 0.75", "redress": "<= 0.44"}


def contenders() -> dict[str, Contender]:
    """Return the bare coroutine, ours, and every peer that is installed."""
    found = {"bare coroutine": _repeat(bare), "failsoft": ours()}
    for peer in PEERS:
        try:
            found |= peer()
        except ImportError as missing:
            print(f"{peer.__name__} is left out ({missing}): pip install -r bench/requirements.txt")
    return found


@benchmark("Recovery around a call that succeeds", rounds=(60, 3), times=(500, 20))
async def measure(given: Any) -> list[Figure]:
    """Return all figures, measured in one run."""
    seconds = await interleave(contenders(), rounds=given.rounds, times=given.times, clock=time.process_time)
    bare_s, own_s = seconds["bare coroutine"], seconds["failsoft"]
    found = [figure("bare coroutine", us(bare_s), "us")]
    for name, taken in seconds.items():
        if name == "bare coroutine":
            continue
        over = [value - base for value, base in zip(taken, bare_s, strict=True)]
        edition = "" if name == "failsoft" else version(name.split(",")[0])
        note = ", ".join(filter(None, (edition, NOTES.get(name, ""))))
        found.append(figure(f"over the bare: {name}", us(over), "us", note=note))
    for name, taken in seconds.items():
        if name in {"bare coroutine", "failsoft"}:
            continue
        ratio = [(own - base) / (other - base) for own, other, base in zip(own_s, taken, bare_s, strict=True)]
        found.append(figure(f"failsoft over {name}", ratio, "times", goal=GOALS.get(name, "")))
    return found
