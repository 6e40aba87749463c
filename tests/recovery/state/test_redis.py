"""Shared state on a real Redis: what replicas agree on, and what happens when the server is lost, hangs, comes back."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from loguru import logger

from failsoft import ConfigurationError, Runtime, Unavailable
from failsoft.events import Events, StoreEvent
from failsoft.metrics import PrometheusRecorder, render
from failsoft.recovery import CircuitBreaker, RateLimit, RetryBudget
from failsoft.testing import CapturedEvents, fresh_runtime
from tests.doors import SharedStore, StateStore, open_state, withdraw
from tests.programs.redis import RedisServer, RunningRedis
from tests.recovery.protected import Protected, codes, protected
from tests.recovery.state.stores import add, looked_at
from tests.thorough import THOROUGH
from tests.zygote import PYTHON

PATIENCE_S = 60.0
BUDGET = (0, 0.0, 10.0, 20.0, 300.0)


@asynccontextmanager
async def replicas(server: RunningRedis, number: int = 2, limit_s: float = PATIENCE_S) -> AsyncIterator[list[Runtime]]:
    """Give so many runtimes that share a server, as processes would.

    They are patient, so that a busy machine is not taken for a lost server.
    """
    runtimes = []
    for _ in range(number):
        events = Events()
        runtimes.append(fresh_runtime(events=events, state=open_state(server.url, events, limit_s=limit_s)))
    try:
        yield runtimes
    finally:
        for runtime in runtimes:
            await runtime.state.close()


async def until(condition: Callable[[], Any]) -> None:
    """Wait for a condition that has no event."""
    async with asyncio.timeout(PATIENCE_S):
        while not (await holds if asyncio.iscoroutine(holds := condition()) else holds):  # noqa: ASYNC110 - as it says
            await asyncio.sleep(0.005)


async def are_available(stores: Sequence[StateStore]) -> bool:
    return all(isinstance(store, SharedStore) and store.is_available for store in stores)


async def has_code(tool: Protected, code: str) -> bool:
    return await tool.code() == code


def fail() -> Any:
    raise Unavailable


def test_a_circuit_opened_in_one_replica_is_open_in_the_other_at_its_next_call(redis_server: RunningRedis) -> None:
    async def main() -> None:
        async with replicas(redis_server) as runtimes:
            breaker = {"min_calls": 3, "open_s": 1.0}
            one, other = (protected(CircuitBreaker(**breaker), runtime=runtime) for runtime in runtimes)
            refused = asyncio.Semaphore(0)

            async def once_all_others_are_refused() -> str:
                for _ in range(199):
                    await refused.acquire()
                return "well again"

            async def code_of(tool: Protected) -> str:
                code = await tool.code()
                refused.release()
                return code

            assert await other.code() == "ok"
            one.work = fail
            assert [await one.code() for _ in range(5)][-1] == "CIRCUIT_OPEN"
            assert await other.code() == "CIRCUIT_OPEN"
            other.work = one.work = once_all_others_are_refused
            await asyncio.sleep(1.1)
            everybody = [code_of(tool) for tool in (one, other) for _ in range(100)]
            async with asyncio.timeout(PATIENCE_S):
                assert await codes(everybody) == ["CIRCUIT_OPEN"] * 199 + ["ok"]
            other.work = one.work = lambda: asyncio.sleep(0, "well")
            assert [await one.code(), await other.code()] == ["ok", "ok"]

    asyncio.run(main())


def test_successes_of_all_replicas_count_in_one_window(redis_server: RunningRedis) -> None:
    async def main() -> None:
        async with replicas(redis_server) as runtimes:
            breaker = CircuitBreaker("api", min_calls=4, window_s=60)
            one, other = (protected(breaker, runtime=runtime) for runtime in runtimes)
            assert await codes(one.code() for _ in range(10)) == ["ok"] * 10
            assert [await one.code(), await other.code()] == ["ok", "ok"]
            other.work = fail
            assert [await other.code() for _ in range(9)] == ["UNAVAILABLE"] * 9
            view = await breaker.circuit(other.operations["fetch"]).view()
            assert (view.state, view.calls, view.failed) == ("closed", 20, 9)

    asyncio.run(main())


def test_successes_before_a_run_that_is_too_late_count(redis_server: RunningRedis) -> None:
    async def main() -> None:
        async with replicas(redis_server, 1) as [runtime]:
            circuit = CircuitBreaker("api").circuit(protected(runtime=runtime).operations["fetch"])
            admission = await circuit.admit(60)
            for _ in range(3):
                circuit.succeeded()
            circuit.gave_up(admission, failed=True, slow=False)
            async with asyncio.timeout(PATIENCE_S):
                while not (view := await circuit.view()).failed:  # noqa: ASYNC110 - there is no event for it
                    await asyncio.sleep(0.01)
            assert (view.calls, view.failed) == (4, 1)

    asyncio.run(main())


def test_a_probe_cancelled_at_any_point_gives_its_place_back(redis_server: RunningRedis) -> None:
    async def main() -> None:
        async with replicas(redis_server, 1) as [runtime]:
            breaker = CircuitBreaker(min_calls=1, open_s=0.01)
            tool = protected(breaker, runtime=runtime, work=fail)
            for turns in range(0, 60, 2):
                await breaker.circuit(tool.operations["fetch"]).reset()
                tool.work = fail
                assert [await tool.code(), await tool.code()][0] == "UNAVAILABLE"
                tool.work = lambda: asyncio.sleep(60)
                await asyncio.sleep(0.02)
                probe = asyncio.create_task(tool.code())
                for _ in range(turns):
                    await asyncio.sleep(0)
                probe.cancel()
                await asyncio.wait([probe])
                tool.work = lambda: "ok"
                await until(lambda: has_code(tool, "ok"))  # the place is given back in the background

    asyncio.run(main())


def test_a_rate_limit_is_exact_over_all_replicas(redis_server: RunningRedis) -> None:
    async def main() -> None:
        async with replicas(redis_server, 3) as runtimes:
            tools = [protected(RateLimit("100/hour"), runtime=runtime) for runtime in runtimes]
            answers = await codes(tool.code() for tool in tools for _ in range(60))
            assert answers.count("ok") == 100

    asyncio.run(main())


def test_replicas_spend_one_retry_budget(redis_server: RunningRedis) -> None:
    async def main() -> None:
        async with replicas(redis_server) as runtimes:
            budgets = [
                protected(RetryBudget(0.2, 10), runtime=runtime).operations["fetch"].chain.recovery.budget
                for runtime in runtimes
            ]
            granted = [await budget.withdraw() for _ in range(10) for budget in budgets if budget is not None]
            assert granted == [True] * 10 + [False] * 10

    asyncio.run(main())


def test_keys_have_their_prefix_and_a_time_to_live_and_services_do_not_meet(redis_server: RunningRedis) -> None:
    async def main() -> None:
        stores = [
            open_state(redis_server.url, Events(), prefix=prefix, limit_s=PATIENCE_S) for prefix in ("shop", "bank")
        ]
        await stores[0].change(add, "key:1", 1, 60)
        await stores[0].change(withdraw, "budget:x", *BUDGET)
        assert [await store.change(looked_at, "key:1") for store in stores] == [{"number": 1}, None]
        for store in stores:
            await store.close()

    asyncio.run(main())
    import redis  # noqa: PLC0415 - to look at what is there

    with redis.Redis.from_url(redis_server.url, decode_responses=True) as client:
        assert sorted(client.keys()) == ["shop#format", "shop:budget:x", "shop:key:1"]  # type: ignore[type-var]
        assert all(0 < int(str(client.ttl(key))) <= 600 for key in ("shop:budget:x", "shop:key:1"))


def test_a_lost_store_stops_no_call_shows_in_a_metric_and_is_logged_once(own_redis: RedisServer) -> None:
    async def main() -> None:
        async with replicas(own_redis, 1) as [runtime]:
            tool = protected(CircuitBreaker(failure_ratio=0.1), RateLimit("1000/hour"), runtime=runtime)
            assert await tool.code() == "ok"
            assert store_metrics(runtime) == (0, 0)
            own_redis.kill()
            assert await codes(tool.code() for _ in range(50)) == ["ok"] * 50
            assert store_metrics(runtime) == (1, 1)
            tool.work = fail
            assert [await tool.code() for _ in range(30)][-1] == "CIRCUIT_OPEN"
            own_redis.start()
            await until(lambda: store_metrics(runtime) == (0, 1))

    lines: list[str] = []
    logger.enable("failsoft")
    sink = logger.add(
        lambda message: lines.append(str(message.record["level"].name)),
        filter=lambda record: "fault" in record["extra"],
    )
    try:
        asyncio.run(main())
    finally:
        logger.remove(sink)
        logger.disable("failsoft")
    assert lines == ["WARNING", "INFO"]


def store_metrics(runtime: Runtime) -> tuple[float, float]:
    """Return whether the store is lost, and how often it was, as a scrape would show it."""
    recorder = runtime.metrics
    assert isinstance(recorder, PrometheusRecorder)
    lines = dict(line.rsplit(" ", 1) for line in render(recorder)[0].decode().splitlines() if not line.startswith("#"))
    return float(lines['mcp_state_store_unavailable{fault="lost"}']), float(lines["mcp_state_store_losses_total"])


def test_a_store_that_hangs_delays_no_call_for_long(own_redis: RedisServer) -> None:
    async def main() -> None:
        async with replicas(own_redis, 1, limit_s=0.25) as [runtime]:
            tool = protected(CircuitBreaker(), runtime=runtime)
            assert await tool.code() == "ok"
            own_redis.suspend()
            try:
                async with asyncio.timeout(PATIENCE_S):
                    assert await codes(tool.code() for _ in range(200)) == ["ok"] * 200
                    assert [await tool.code() for _ in range(20)] == ["ok"] * 20
                state = runtime.state
                assert isinstance(state, SharedStore)
                assert not state.is_available
            finally:
                own_redis.resume()
            await until(lambda: state.is_available)

    asyncio.run(main())


def test_a_server_that_is_not_there_at_the_start_may_come_later(own_redis: RedisServer) -> None:
    own_redis.kill()

    async def main() -> None:
        async with replicas(own_redis, 1) as [runtime]:
            with CapturedEvents(runtime, StoreEvent) as captured:
                tool = protected(CircuitBreaker(), runtime=runtime)
                assert await tool.code() == "ok"
                own_redis.start()
                await until(lambda: len(captured.all) == 2)
            assert [event.available for event in captured.of(StoreEvent)] == [False, True]
            assert await tool.code() == "ok"

    asyncio.run(main())


async def load_while_it_is_killed(server: RedisServer, times: int) -> None:
    """Four callers and two replicas never stop; the server is killed and started again so many times."""
    answered = lost = 0
    slowest_s = 0.0
    over = asyncio.Event()

    async def caller(tool: Protected) -> None:
        nonlocal answered, lost, slowest_s
        while not over.is_set():
            began = time.monotonic()
            code = await tool.code()
            slowest_s = max(slowest_s, time.monotonic() - began)
            answered, lost = answered + 1, lost + (code != "ok")
            await asyncio.sleep(0)

    async with replicas(server) as runtimes:
        strategies = (CircuitBreaker("api"), RateLimit("1000000/hour"), RetryBudget(dependency="api"))
        tools = [protected(*strategies, runtime=runtime) for runtime in runtimes]
        stores = [runtime.state for runtime in runtimes]
        callers = [asyncio.create_task(caller(tool)) for tool in tools for _ in range(2)]
        for _ in range(times):
            before = answered
            await until(lambda before=before: answered > before + 20)  # type: ignore[misc]
            server.kill()
            before = answered
            await until(lambda before=before: answered > before + 20)  # type: ignore[misc]
            await asyncio.to_thread(server.start)
            await until(lambda: are_available(stores))
        over.set()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*callers)
    assert lost == 0
    assert answered > 40 * times
    assert slowest_s < PATIENCE_S / 3, "a call hung"


def test_no_call_is_lost_while_the_server_is_killed_under_load(own_redis: RedisServer) -> None:
    asyncio.run(load_while_it_is_killed(own_redis, 20 if THOROUGH else 3))


def test_one_store_serves_one_event_loop_after_another(redis_server: RunningRedis) -> None:
    store = open_state(redis_server.url, Events(), limit_s=PATIENCE_S)

    async def use(store: StateStore) -> Any:
        try:
            return await store.change(withdraw, "budget:x", *BUDGET)
        finally:
            await store.close()

    assert [asyncio.run(use(store)) for _ in range(3)] == [[1, pytest.approx(left, abs=0.5)] for left in (9, 8, 7)]


REPLICA = """
import asyncio, sys
from failsoft import Unavailable
from failsoft.events import Events
from failsoft.recovery import CircuitBreaker, RateLimit
from tests.doors import open_state
from failsoft.testing import fresh_runtime
from tests.recovery.protected import protected

def fail():
    raise Unavailable

async def main():
    events = Events()
    runtime = fresh_runtime(events=events, state=open_state(sys.argv[1], events, limit_s=60))
    guarded = protected(CircuitBreaker("api", min_calls=3, open_s=600), runtime=runtime)
    limited = protected(RateLimit("1000/hour", dependency="api"), runtime=runtime)
    print("ready", flush=True)
    for line in sys.stdin:
        word = line.strip()
        if word == "hit":
            print(sum([await limited.code() == "ok" for _ in range(800)]), flush=True)
        else:
            guarded.work = fail if word == "fail" else lambda: "ok"
            print(await guarded.code(), flush=True)
    await runtime.state.close()

asyncio.run(main())
"""


class Replica:
    """A process of its own."""

    def __init__(self, url: str) -> None:
        self._process = subprocess.Popen(
            [PYTHON, "-c", REPLICA, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def tell(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def ask(self, word: str) -> str:
        self.tell(word)
        return self.answer()

    def end(self) -> None:
        self._process.communicate(timeout=PATIENCE_S)


def test_two_processes_share_circuits_and_limits(redis_server: RunningRedis) -> None:
    both = [Replica(redis_server.url) for _ in range(2)]
    try:
        assert [replica.answer() for replica in both] == ["ready", "ready"]
        assert both[1].ask("work") == "ok"
        assert [both[0].ask("fail") for _ in range(4)] == ["UNAVAILABLE"] * 3 + ["CIRCUIT_OPEN"]
        assert both[1].ask("work") == "CIRCUIT_OPEN"
        for replica in both:
            replica.tell("hit")
        assert sum(int(replica.answer()) for replica in both) == pytest.approx(1_000, rel=0.01)
    finally:
        for replica in both:
            replica.end()


@pytest.mark.parametrize(
    "url",
    [
        "redis://",
        "redis://:secret@",
        "redis://host:port",
        "redis://host:99999",
        "redis://host/first",
        "unix://",
        "http://host:6379",
        "host:6379",
        "redis://host?no_such_option=1",
        "redis://[::1",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_state(url, Events())
    assert "FAILSOFT_STATE_URL" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_without_the_client_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "failsoft.recovery.state.redis", raising=False)
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ConfigurationError) as caught:
        open_state("redis://localhost", Events())
    assert "failsoft[redis]" in caught.value.resolution


def test_a_password_is_never_logged_nor_announced() -> None:
    server = RedisServer("--requirepass", "correct-horse")

    async def main() -> list[Any]:
        events = Events()
        seen: list[Any] = []
        events.subscribe(seen.append, StoreEvent)
        right = open_state(f"unix://:correct-horse@{server.socket}", events, limit_s=PATIENCE_S)
        wrong = open_state(f"unix://:battery-staple@{server.socket}", events, limit_s=PATIENCE_S)
        try:
            assert await right.change(withdraw, "budget:x", *BUDGET) == [1, 9.0]
            assert await wrong.change(withdraw, "budget:x", *BUDGET) == [1, 9.0]
        finally:
            await right.close()
            await wrong.close()
        return seen

    lines: list[str] = []
    logger.enable("failsoft")
    sink = logger.add(lambda message: lines.append(str(message)), backtrace=True, diagnose=True)
    try:
        seen = asyncio.run(main())
    finally:
        logger.remove(sink)
        logger.disable("failsoft")
        server.close()
    assert [event.available for event in seen] == [False]
    assert lines
    assert not [text for text in (*lines, repr(seen)) if "correct-horse" in text or "battery-staple" in text]
