"""Answers that are kept: for whom, how long, what is never kept, and what waits for what."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from failsoft import (
    BaseTool,
    CallContext,
    ConfigurationError,
    DocumentNotFound,
    Fallback,
    NotFound,
    PermissionDenied,
    RecoveryManager,
    RecoveryResult,
    RepairArguments,
    Retry,
    StaleCache,
    Unavailable,
    operation,
)
from failsoft.testing import FaultScript, InstantClock
from tests.doors import CallScope
from tests.framework.recording import Recording, quiet_runtime
from tests.framework.wellformed import check_wellformed


class Page(BaseModel):
    title: str
    tags: list[str] = []


class Elsewhere:
    """Finds the page under another path."""

    name = "elsewhere"

    async def attempt(self, error: Any, call: CallContext) -> RecoveryResult | None:
        return RecoveryResult(await call.retry(path="other"), "Elsewhere", {"path": "other"})


class Pages(BaseTool):
    """Counts how often it is really asked, and does what its script says."""

    def __init__(self, *script: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.script = list(script)
        self.asked: list[str] = []

    async def _read(self, path: str, call: CallContext) -> Page:
        self.asked.append(path)
        step = self.script.pop(0) if self.script else None
        if isinstance(step, (int, float)):
            await asyncio.sleep(step)
            step = self.script.pop(0) if self.script else None
        if isinstance(step, BaseException):
            raise step
        call.documents_processed = len(self.asked)
        call.warn(f"read {len(self.asked)}")
        return Page(title=f"{path} {len(self.asked)}")

    @operation(read_only=True, timeout=10, recovery=[StaleCache(60, 600)])
    async def read(self, path: str, call: CallContext, depth: dict[str, int] | None = None) -> Page:
        """Read a page."""
        return await self._read(path, call)

    @operation(read_only=True, timeout=10, recovery=[StaleCache(60, 600), Retry(base_s=0)])
    async def retried(self, path: str, call: CallContext) -> Page:
        """Read a page, patiently."""
        return await self._read(path, call)

    @operation(read_only=True, timeout=10, recovery=[StaleCache(60, 600), Elsewhere()])
    async def elsewhere(self, path: str, call: CallContext) -> Page:
        """Read a page, or another one."""
        return await self._read(path, call)

    @operation(read_only=True, timeout=10, recovery=[StaleCache(60, 600), Fallback(lambda: Page(title="plain"))])
    async def second_best(self, path: str, call: CallContext) -> Page:
        """Read a page, or a plain one."""
        return await self._read(path, call)

    @operation(read_only=True, timeout=10, recovery=[StaleCache(60, 600), RepairArguments()])
    async def repaired(self, path: str, call: CallContext, limit: int = 1) -> Page:
        """Read a page, whatever the spelling."""
        return await self._read(path, call)

    @operation(read_only=True, timeout=10, recovery=[StaleCache(60, 600, max_entries=2)])
    async def few(self, path: str, call: CallContext) -> Page:
        """Read a page, and remember two."""
        return await self._read(path, call)


def pages(*script: Any) -> tuple[Pages, Recording]:
    metrics = Recording()
    return Pages(*script, runtime=quiet_runtime(metrics=metrics)), metrics


async def read(tool: Pages, path: str = "a", name: str = "read", **params: Any) -> Any:
    return await tool.execute_with_error_handling(name, {"path": path, **params})


def test_a_fresh_answer_is_served_again_with_its_facts() -> None:
    async def twice() -> tuple[Any, Any]:
        first = await read(tool)
        await asyncio.sleep(59.9)
        return first, await read(tool)

    tool, metrics = pages()
    first, second = InstantClock().run(twice())
    assert (first.data, second.data) == (Page(title="a 1"), Page(title="a 1"))
    assert (first.metadata.cache_hit, second.metadata.cache_hit) == (False, True)
    assert (second.metadata.documents_processed, second.metadata.warnings) == (1, ["read 1"])
    assert second.metadata.recovery is None
    assert check_wellformed(second, tool.operations["read"])["metadata"]["cache_hit"] is True
    assert metrics.of("finished") == ["ok", "ok"]
    assert metrics.of("attempted") == ["ok"]


def test_an_old_answer_is_asked_for_anew() -> None:
    async def twice() -> Any:
        await read(tool)
        await asyncio.sleep(60)
        return await read(tool)

    tool, _ = pages()
    response = InstantClock().run(twice())
    assert (response.data.title, response.metadata.cache_hit) == ("a 2", False)


def test_an_old_answer_stands_in_for_an_error_and_says_how_old_it_is() -> None:
    async def outage() -> Any:
        await read(tool)
        await asyncio.sleep(300)
        return await read(tool)

    tool, metrics = pages(None, Unavailable())
    response = InstantClock().run(outage())
    assert response.data.title == "a 1"
    assert response.metadata.cache_hit is True
    receipt = response.metadata.recovery
    assert (receipt.strategy, receipt.degraded, receipt.attempts) == ("stale_cache", True, 1)
    assert "300 seconds" in receipt.message
    assert metrics.of("finished") == ["ok", "degraded"]
    assert metrics.of("recovery") == [("stale_cache", "recovered")]


def test_an_answer_that_is_too_old_stands_in_for_nothing() -> None:
    async def outage() -> Any:
        await read(tool)
        await asyncio.sleep(660)
        return await read(tool)

    tool, _ = pages(None, Unavailable())
    assert InstantClock().run(outage()).error.code == "UNAVAILABLE"


@pytest.mark.parametrize("error", [NotFound(), PermissionDenied(), ValueError("a crash")])
def test_what_is_gone_or_forbidden_or_broken_is_not_served_from_before(error: BaseException) -> None:
    async def later() -> Any:
        await read(tool)
        await asyncio.sleep(60)
        return await read(tool)

    tool, _ = pages(None, error)
    assert not InstantClock().run(later()).success


def test_an_old_answer_comes_before_the_deadline_does() -> None:
    async def slow() -> Any:
        await read(tool)
        await asyncio.sleep(60)
        return await read(tool)

    clock = InstantClock()
    tool, metrics = pages(None, 3600)
    response = clock.run(slow())
    assert (response.data.title, response.metadata.recovery.degraded) == ("a 1", True)
    assert 69 < clock.elapsed_s < 70
    assert metrics.of("attempted") == ["ok", "timeout"]


def test_failures_are_not_kept() -> None:
    async def both() -> list[Any]:
        return [await read(tool), await read(tool)]

    tool, _ = pages(Unavailable(), None)
    first, second = InstantClock().run(both())
    assert (first.error.code, second.data.title) == ("UNAVAILABLE", "a 2")


@pytest.mark.parametrize("name", ["elsewhere", "second_best"])
def test_answers_that_are_second_best_or_to_other_arguments_are_not_kept(name: str) -> None:
    async def both() -> list[Any]:
        return [await read(tool, name=name), await read(tool, name=name)]

    tool, _ = pages(DocumentNotFound(path="a") if name == "elsewhere" else Unavailable())
    first, second = InstantClock().run(both())
    assert first.metadata.recovery is not None
    assert (second.metadata.recovery, second.metadata.cache_hit) == (None, False)
    assert second.data.title.startswith("a ")


def test_an_answer_that_took_a_retry_is_as_good_as_any() -> None:
    async def both() -> list[Any]:
        return [await read(tool, name="retried"), await read(tool, name="retried")]

    tool, _ = pages(Unavailable())
    first, second = InstantClock().run(both())
    assert (first.metadata.recovery.strategy, second.metadata.recovery) == ("retry", None)
    assert (second.data.title, second.metadata.cache_hit) == ("a 2", True)


def test_a_repair_of_the_arguments_is_the_callers_own() -> None:
    async def both() -> list[Any]:
        return [await read(tool, name="repaired", limitt=1), await read(tool, name="repaired", limit=1)]

    tool, _ = pages()
    first, second = InstantClock().run(both())
    assert first.metadata.recovery.changed == {"limit": 1}
    assert (second.metadata.recovery, second.metadata.cache_hit) == (None, True)


def test_equal_calls_at_one_time_are_one() -> None:
    async def many() -> list[Any]:
        return await asyncio.gather(*[read(tool) for _ in range(50)], read(tool, "b"))

    tool, metrics = pages(1, None, None)
    responses = InstantClock().run(many())
    assert sorted(tool.asked) == ["a", "b"]
    assert [response.metadata.cache_hit for response in responses] == [False, *[True] * 49, False]
    assert {response.data.title for response in responses[:50]} == {responses[0].data.title}
    assert metrics.of("finished") == ["ok"] * 51


def test_equal_calls_share_an_error_without_another_run() -> None:
    async def many() -> list[Any]:
        return await asyncio.gather(*[read(tool) for _ in range(20)])

    tool, metrics = pages(1, Unavailable())
    responses = InstantClock().run(many())
    assert {response.error.code for response in responses} == {"UNAVAILABLE"}
    assert tool.asked == ["a"]
    assert len({id(response.error.exception) for response in responses}) == 20
    facts = [(response.error.stop_reason, response.error.rejected) for response in responses]
    assert facts == 2 * [("no_strategy", False)] + 18 * [("repeated", False)]
    assert metrics.of("attempted") == ["error"]


def test_equal_calls_share_a_second_best_answer_with_its_receipt() -> None:
    async def many() -> list[Any]:
        return await asyncio.gather(*[read(tool, name="second_best") for _ in range(5)])

    tool, _ = pages(1, Unavailable())
    responses = InstantClock().run(many())
    assert [response.metadata.recovery.degraded for response in responses] == [True] * 5
    assert tool.asked == ["a"]


def test_if_the_first_is_cancelled_the_next_takes_over() -> None:
    async def leave() -> tuple[list[Any], list[bool]]:
        calls = [asyncio.create_task(read(tool)) for _ in range(5)]
        await asyncio.sleep(0.5)
        calls[0].cancel()
        calls[3].cancel()
        await asyncio.wait(calls)
        kept = [call.result() for call in calls if not call.cancelled()]
        return kept, [call.cancelled() for call in calls]

    tool, metrics = pages(1, None, 1, None)
    kept, cancelled = InstantClock().run(leave())
    assert cancelled == [True, False, False, True, False]
    assert [response.data.title for response in kept] == ["a 2"] * 3
    assert sorted(metrics.of("finished")) == ["cancelled", "cancelled", "ok", "ok", "ok"]


def test_an_old_answer_is_served_to_all_who_wait_when_the_first_runs_out_of_time() -> None:
    async def late() -> list[Any]:
        await read(tool)
        await asyncio.sleep(60)
        first = asyncio.create_task(read(tool))
        await asyncio.sleep(5)
        return await asyncio.gather(first, read(tool), read(tool))

    tool, _ = pages(None, 3600)
    assert [response.metadata.recovery.degraded for response in InstantClock().run(late())] == [True] * 3
    assert tool.asked == ["a", "a"]


def test_if_the_first_runs_out_of_time_the_later_ones_have_time_left() -> None:
    async def late() -> list[Any]:
        first = asyncio.create_task(read(tool))
        await asyncio.sleep(5)
        return [*await asyncio.gather(first, read(tool), read(tool))]

    tool, _ = pages(3600, None, 1, None)
    tool.script = [3600, 1, None]
    first, *others = InstantClock().run(late())
    assert first.error.code == "DEADLINE_EXCEEDED"
    assert [other.data.title for other in others] == ["a 2", "a 2"]


def test_no_caller_is_served_anothers_answer() -> None:
    async def several() -> list[Any]:
        bound = tool.operations["read"]
        scopes = [
            CallScope(),
            CallScope(principal="ann"),
            CallScope(principal="bob"),
            CallScope(principal="ann", session_id="s"),
            CallScope(principal="ann"),
        ]
        return [await bound.call({"path": "a"}, scope) for scope in scopes]

    tool, _ = pages()
    responses = InstantClock().run(several())
    assert [response.metadata.cache_hit for response in responses] == [False, False, False, False, True]
    other, _ = pages()
    assert InstantClock().run(read(other)).metadata.cache_hit is False


def test_equal_arguments_are_equal_in_any_order() -> None:
    async def several() -> list[Any]:
        given = [{"x": 1, "y": 2}, {"y": 2, "x": 1}, {"x": 1, "y": 3}]
        return [(await read(tool, depth=depth)).metadata.cache_hit for depth in given]

    tool, _ = pages()
    assert InstantClock().run(several()) == [False, True, False]


def test_a_caller_who_changes_an_answer_changes_only_its_own() -> None:
    async def several() -> list[list[str]]:
        tags = []
        for _ in range(3):
            response = await read(tool)
            tags.append(list(response.data.tags))
            response.data.tags.append("mine")
        return tags

    tool, _ = pages()
    assert InstantClock().run(several()) == [[], [], []]


def test_a_handler_that_comes_with_the_call_goes_past_the_cache() -> None:
    async def several() -> list[Any]:
        script = FaultScript(Page(title="one"), Page(title="two"))
        first = await tool.execute_with_error_handling("read", {"path": "a"}, script.run)
        return [first, await tool.execute_with_error_handling("read", {"path": "a"}, script.run)]

    tool, _ = pages()
    assert [response.data.title for response in InstantClock().run(several())] == ["one", "two"]


def test_of_many_answers_the_ones_used_last_are_kept() -> None:
    async def several() -> list[Any]:
        return [(await read(tool, path, "few")).metadata.cache_hit for path in "abacab"]

    tool, _ = pages()
    assert InstantClock().run(several()) == [False, False, True, False, True, False]


def test_a_call_with_very_long_arguments_is_not_kept() -> None:
    async def twice() -> list[Any]:
        return [(await read(tool, "a" * 5_000)).metadata.cache_hit for _ in range(2)]

    tool, _ = pages()
    assert InstantClock().run(twice()) == [None, None]


def test_an_operation_that_changes_something_is_not_cached() -> None:
    manager = RecoveryManager()
    manager.add(StaleCache(1, 1))

    class Writing(BaseTool):
        @operation(idempotent=True)
        async def put(self) -> None:
            """Do it again without harm."""

    with pytest.raises(ConfigurationError, match="not read-only"):
        Writing(runtime=quiet_runtime(recovery=manager))


@pytest.mark.parametrize("options", [(-1, 1), (1, -1), (float("nan"), 1)])
def test_times_that_make_no_sense_are_refused(options: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="StaleCache"):
        StaleCache(*options)


def sized(answer: str) -> BaseTool:
    class Sized(BaseTool):
        runs = 0

        @operation(read_only=True, timeout=10, recovery=[StaleCache(60, 600, max_bytes=10_000)])
        async def read(self, number: int) -> str:
            """Return the answer."""
            self.runs += 1
            return answer

    return Sized(runtime=quiet_runtime())


@pytest.mark.parametrize(
    ("answer", "runs"),
    [("x" * 100, 50), ("x" * 4_000, 98), ("x" * 20_000, 100), ("\u4e2d" * 4_000, 100)],
    ids=["small", "large", "too large", "too large in UTF-8"],
)
def test_what_is_kept_is_bounded_in_bytes(answer: str, runs: int) -> None:
    tool: Any = sized(answer)

    async def main() -> None:
        for number in [*range(50), *reversed(range(50))]:
            assert (await tool.read(number=number)).success

    InstantClock().run(main())
    assert tool.runs == runs


def test_a_reload_keeps_what_is_cached() -> None:
    tool: Any = sized("x" * 100)
    bound = tool.operations["read"]

    async def main() -> None:
        await tool.read(number=1)
        bound.use(bound.make_chain())
        await tool.read(number=1)

    InstantClock().run(main())
    assert tool.runs == 1


def test_a_first_call_that_hangs_does_not_take_the_others_along() -> None:
    class Hanging(BaseTool):
        runs = 0

        @operation(read_only=True, timeout=10, recovery=[StaleCache(60, 600)])
        async def read(self) -> int:
            """Hang the first time."""
            self.runs += 1
            if self.runs == 1:
                await asyncio.sleep(3_600)
            return self.runs

    async def main() -> list[Any]:
        tool = Hanging(runtime=quiet_runtime())
        first = asyncio.create_task(tool.read())
        await asyncio.sleep(0)
        answers = await asyncio.gather(*(tool.read() for _ in range(20)))
        assert (await first).error is not None
        return [answer.data for answer in answers]

    assert InstantClock().run(main()) == [2] * 20
