"""Recovery as an operator configures it: what applies where, what is refused, and how it is read anew."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from failsoft import (
    BaseTool,
    Bulkhead,
    CircuitBreaker,
    CircuitEvent,
    ConfigurationError,
    Fallback,
    RecoveryManager,
    Retry,
    Runtime,
    Settings,
    ToolError,
    Unavailable,
    operation,
)
from failsoft.testing import CapturedEvents, FaultScript, InstantClock
from tests.doors import LocalState, read_configuration
from tests.framework.recording import Recording


class Shop(BaseTool):
    """One operation with the runtime's strategies, and others with their own."""

    @operation(read_only=True)
    async def plain(self) -> int:
        """Have what the runtime has."""
        return 1

    @operation(read_only=True, timeout=9, recovery=[Retry(attempts=2, base_s=1, cap_s=1)])
    async def own(self) -> int:
        """Have a list of its own."""
        return 1

    @operation(read_only=True, recovery=[CircuitBreaker("billing", min_calls=2), Bulkhead(5, dependency="billing")])
    async def pay(self) -> int:
        """Work on a dependency that others work on."""
        return 1

    @operation(read_only=True, recovery=[CircuitBreaker("billing", min_calls=2)])
    async def refund(self) -> int:
        """Work on it too."""
        return 1

    @operation(recovery=[])
    async def bare(self) -> int:
        """Have none."""
        return 1


def shop(text: str = "", *, file: Path | None = None, manager: RecoveryManager | None = None) -> Shop:
    return Shop(
        runtime=Runtime(
            settings=Settings(recovery=text, recovery_file=file),
            metrics=Recording(),
            state=LocalState(),
            recovery=manager if manager is not None else RecoveryManager({ToolError: Retry()}),
        )
    )


def chain(tool: Shop, name: str) -> list[str]:
    fixed = {"observe", "validate", "deadline", "idempotency", "recover", "handler"}
    return [link for link in tool.describe()[name] if link not in fixed]


def runs(tool: Shop, name: str) -> int:
    """Return how often a handler runs that never gets through."""
    with FaultScript(Unavailable()).replaces(tool.operations[name]) as script:
        InstantClock().run(tool.operations[name].call({}))  # type: ignore[arg-type]
    return len(script.calls)


def test_without_a_configuration_everything_is_as_the_code_says() -> None:
    tool = shop()
    assert tool.runtime.configuration is None
    assert (chain(tool, "plain"), runs(tool, "plain"), runs(tool, "own")) == (["recover:retry"], 3, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("defaults.retry.attempts = 5", {"plain": 5, "own": 2, "bare": 1}),
        ("defaults.retry = false", {"plain": 1, "own": 2, "bare": 1}),
        ("tools.shop.retry.attempts = 5", {"plain": 5, "own": 5}),
        ("tools.shop.operations.own.retry.attempts = 4", {"plain": 3, "own": 4}),
        ("tools.shop.retry.attempts = 5\ntools.shop.operations.own.retry = false", {"plain": 5, "own": 1}),
        ("tools.shop.retry.attempts = 5\ntools.shop.operations.own.retry.attempts = 2", {"plain": 5, "own": 2}),
        ("tools.shop.operations.bare.retry = true", {"bare": 1, "plain": 3}),
    ],
)
def test_the_particular_goes_before_the_general(text: str, expected: dict[str, int]) -> None:
    tool = shop(text)
    assert {name: runs(tool, name) for name in expected} == expected


def test_what_the_configuration_does_not_say_stays_as_the_code_has_it() -> None:
    """A list of code keeps its other options: the bound of its pauses."""
    random.seed(2)
    tool = shop("tools.shop.operations.own.retry.attempts = 4")
    clock = InstantClock()
    with FaultScript(Unavailable()).replaces(tool.own):
        clock.run(tool.operations["own"].call({}))  # type: ignore[arg-type]
    assert len(clock.jumps) == 3
    assert 0.4 < max(clock.jumps) <= 1  # by default 0.1, 0.2 and 0.4 s at most


def test_strategies_are_added_where_they_stand_in_the_chain() -> None:
    tool = shop(
        """
        [tools.shop.operations.plain]
        stale_cache = {ttl_s = 60, stale_s = 600}
        circuit_breaker = {min_calls = 3}
        rate_limit = {limit = "10/minute"}
        attempt_timeout = {seconds = 2}
        bulkhead = {limit = 3}
        hedge = {delay_s = 1}
        """
    )
    assert chain(tool, "plain") == [
        *("rate_limit", "stale_cache", "recover:retry", "hedge", "circuit_breaker", "bulkhead", "attempt_timeout")
    ]


def test_a_dependency_has_its_options_wherever_it_is_used() -> None:
    tool = shop(
        """
        [dependencies.billing]
        circuit_breaker = {min_calls = 1}

        [tools.shop.operations.plain]
        dependency = "billing"
        """
    )
    assert "circuit_breaker" in chain(tool, "plain")

    async def main() -> list[str | None]:
        with FaultScript(Unavailable()).replaces(tool.pay):
            await tool.pay()
        answers = [await tool.plain(), await tool.refund()]
        return [answer.error.code if answer.error else None for answer in answers]

    assert InstantClock().run(main()) == ["CIRCUIT_OPEN", "CIRCUIT_OPEN"]


def test_a_toolset_has_a_dependency_and_an_operation_may_have_another() -> None:
    tool = shop(
        """
        dependencies.billing.circuit_breaker = {min_calls = 1}
        dependencies.stock.bulkhead = {limit = 3}

        [tools.shop]
        dependency = "billing"
        operations.plain.dependency = "stock"
        """
    )
    assert "circuit_breaker" in chain(tool, "bare")
    assert "bulkhead" in chain(tool, "plain")
    assert "circuit_breaker" not in chain(tool, "plain")


def test_a_limit_on_the_whole_call_can_be_set() -> None:
    text = "defaults.timeout_s = 7\ntools.shop.operations.pay.timeout_s = 2"
    tool = shop(text)
    assert {name: bound.timeout_s for name, bound in tool.operations.items()} == {
        "plain": 7,
        "own": 9,
        "pay": 2,
        "refund": 7,
        "bare": 7,
    }
    assert shop("tools.shop.timeout_s = 3").operations["own"].timeout_s == 3


def test_a_text_goes_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "recovery.toml"
    file.write_text("[tools.shop.retry]\nattempts = 5\nbase_s = 0.5\n")
    tool = shop("tools.shop.retry.attempts = 4", file=file)
    assert runs(tool, "plain") == 4


REFUSED = {
    "defaults.retri = true": ("defaults.retri", "retry"),
    "defalts.retry = true": ("defalts", "defaults"),
    "[defaults]\n\nretry.atempts = 3": ("defaults.retry.atempts", "attempts"),
    'defaults.retry.attempts = "3"': ("defaults.retry.attempts", "integer"),
    "defaults.retry.attempts = true": ("defaults.retry.attempts", "integer"),
    "defaults.retry.attempts = 1": ("defaults.retry", "attempts >= 2"),
    "defaults.retry = 3": ("defaults.retry", "table"),
    "defaults = 3": ("defaults", "table"),
    "tools = []": ("tools", "table"),
    "tools.shop = 1": ("tools.shop", "table"),
    "tools.shop.operations.own = true": ("tools.shop.operations.own", "table"),
    "defaults.timeout_s = 0": ("defaults.timeout_s", "more than 0"),
    "defaults.timeout_s = inf": ("defaults.timeout_s", "number"),
    "tools.shop.dependency = 1": ("tools.shop.dependency", "string"),
    "tools.shop.operations.own.dependency = 1": ("tools.shop.operations.own.dependency", "string"),
    "dependencies.billing.retry.attempts = 3": ("dependencies.billing.retry", "circuit_breaker"),
    "dependencies.billing.circuit_breaker = false": ("dependencies.billing.circuit_breaker", "switch it off"),
    "tools.shop.operations.onw.retry = true": ("tools.shop.operations.onw", "own"),
    "tools.shop.operations.own.bulkhead.wait_s = 1": ("tools.shop.operations.own", "limit"),
    "tools.shop.operations.own.fallback.reserve_s = 1": ("tools.shop.operations.own", "code"),
    "tools.shop.operations.own.attempt_timeout.seconds = 60": ("tools.shop.operations.own", "60 seconds"),
    "tools.shop.operations.bare.stale_cache = {ttl_s=1, stale_s=1}": ("tools.shop.operations.bare", "read-only"),
    "defaults.circuit_breaker = {failure_ratio = 2}": ("defaults.circuit_breaker", "failure_ratio"),
    "= nothing": ("FAILSOFT_RECOVERY", "TOML"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_means_nothing_is_refused_with_its_place_and_the_reason(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        shop(text)
    for code_of in REFUSED[text]:
        assert code_of in caught.value.message


def test_all_faults_are_reported_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_configuration(None, "defaults.retri = true\ntools.x.hedge.delay_s = 'soon'")
    assert caught.value.message.count(": ") >= 3
    assert all(key in caught.value.message for key in ("defaults.retri", "tools.x.hedge.delay_s"))


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"x" * 1_000_001])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "recovery.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigurationError):
        shop(file=file)


def test_a_toolset_that_is_not_served_is_refused() -> None:
    configuration = read_configuration(None, "tools.shob.retry = true")
    assert configuration is not None
    with pytest.raises(ConfigurationError, match="'shop'"):
        configuration.check([shop()], are_all=True)
    configuration.check([shop()], are_all=False)


def test_a_dependency_that_no_operation_uses_is_refused() -> None:
    configuration = read_configuration(None, "dependencies.biling.bulkhead.limit = 1")
    assert configuration is not None
    with pytest.raises(ConfigurationError, match="'billing'"):
        configuration.check([shop()], are_all=True)


def test_means_of_recovery_of_ones_own_cannot_be_configured() -> None:
    class Own:
        def describe(self) -> list[str]:
            return []

        def links(self, bound: Any) -> list[Any]:
            return []

        def with_strategies(self, strategies: Any) -> Own:
            return self

        async def recover(self, error: ToolError, call: Any) -> Any:
            raise error

    with pytest.raises(ConfigurationError, match="RecoveryManager"):
        shop("tools.shop.retry = true", manager=Own())  # type: ignore[arg-type]


def test_a_fallback_of_the_code_can_be_switched_off_and_given_more_time() -> None:
    class Careful(Shop):
        name = "shop"

        @operation(read_only=True, timeout=5, recovery=[Fallback(lambda: 7)])
        async def fetch(self) -> int:
            """Fall back."""
            raise Unavailable

    def made(text: str) -> Careful:
        return Careful(
            runtime=Runtime(settings=Settings(recovery=text), metrics=Recording(), recovery=RecoveryManager())
        )

    assert InstantClock().run(made("tools.shop.operations.fetch.fallback.reserve_s = 2").fetch()).data == 7
    assert InstantClock().run(made("tools.shop.operations.fetch.fallback = false").fetch()).error is not None


# --- read anew ------------------------------------------------------------------------------------------------------


def test_a_reload_changes_the_chain_and_what_a_dependency_remembers_stays(tmp_path: Path) -> None:
    file = tmp_path / "recovery.toml"
    file.write_text("dependencies.billing.circuit_breaker.open_s = 60\n")
    tool = shop(file=file)

    async def main() -> None:
        with FaultScript(Unavailable()).replaces(tool.pay):
            await tool.pay()
            await tool.pay()
        assert code_of(await tool.refund()) == "CIRCUIT_OPEN"
        file.write_text(
            "dependencies.billing.circuit_breaker.open_s = 30\ntools.shop.operations.own.retry.attempts = 4\n"
        )
        assert tool.runtime.reload_recovery()
        assert code_of(await tool.refund()) == "CIRCUIT_OPEN"
        await asyncio.sleep(61)
        assert code_of(await tool.refund()) is None

    with CapturedEvents(tool.runtime, CircuitEvent) as captured:
        InstantClock().run(main())
    assert [event.state for event in captured.of(CircuitEvent) if event.was is not None] == [
        "open",
        "half_open",
        "closed",
    ]
    assert runs(tool, "own") == 4


def code_of(response: Any) -> str | None:
    return None if response.error is None else str(response.error.code)


TOO_SHORT = "tools.shop.attempt_timeout.seconds = 8.5\ntools.shop.timeout_s = 1"


@pytest.mark.parametrize(
    "bad",
    [
        "defaults.retri = 1",
        "= no TOML",
        "tools.shop.operations.onw.retry = true",
        TOO_SHORT,
    ],
)
def test_a_new_file_that_cannot_be_used_changes_nothing(tmp_path: Path, bad: str) -> None:
    file = tmp_path / "recovery.toml"
    file.write_text("tools.shop.retry.attempts = 4\n")
    tool = shop(file=file)
    before = tool.describe(), {name: bound.timeout_s for name, bound in tool.operations.items()}
    file.write_text(bad)
    assert tool.runtime.reload_recovery() is False
    assert (tool.describe(), {name: bound.timeout_s for name, bound in tool.operations.items()}) == before
    assert runs(tool, "plain") == 4
    file.write_text("tools.shop.retry.attempts = 5\n")
    assert tool.runtime.reload_recovery() is True
    assert runs(tool, "plain") == 5


def test_a_call_that_is_under_way_finishes_on_the_chain_it_began_with(tmp_path: Path) -> None:
    file = tmp_path / "recovery.toml"
    file.write_text("tools.shop.operations.own.retry.attempts = 3\n")
    tool = shop(file=file)

    async def main() -> tuple[int, int]:
        with FaultScript(Unavailable(retry_after_seconds=1)).replaces(tool.own) as script:
            calling = asyncio.ensure_future(tool.own())
            await asyncio.sleep(0.5)
            file.write_text("tools.shop.operations.own.retry = false\n")
            assert tool.runtime.reload_recovery()
            await calling
            under_way = len(script.calls)
            await tool.own()
        return under_way, len(script.calls) - under_way

    assert InstantClock().run(main()) == (3, 1)


def test_a_reload_without_a_file_takes_the_configuration_away(tmp_path: Path) -> None:
    tool = shop("tools.shop.retry.attempts = 4")
    assert tool.runtime.reload_recovery()
    assert runs(tool, "plain") == 4


@pytest.mark.anyio
async def test_a_breaker_that_a_file_adds_is_opened_and_reset_by_hand() -> None:
    text = "tools.shop.operations.own.circuit_breaker = {dependency = 'stock'}"
    tool = shop(text)
    assert CircuitBreaker.of(tool.operations["bare"]) is None
    circuit = CircuitBreaker.of(tool.operations["own"])
    assert circuit is not None
    await circuit.open()
    response = await tool.operations["own"].call({})
    assert response.error is not None
    assert response.error.code == "CIRCUIT_OPEN"
    assert (await circuit.view()).dependency == "stock"
    await circuit.reset()
    assert (await tool.operations["own"].call({})).success
