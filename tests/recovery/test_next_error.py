"""Recovery goes on by the class of the error that is there now, not by that of the first one."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft import (
    BaseTool,
    CallContext,
    DocumentNotFound,
    NotFound,
    RateLimited,
    RecoveryEvent,
    RecoveryManager,
    RecoveryResult,
    Timeout,
    ToolError,
    Unavailable,
    operation,
)
from failsoft.recovery import AlternatePaths, Retry
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio
PAGES = {"guide/intro.mdx": "Welcome"}


class Pages(BaseTool):
    """Pages behind a service that is sometimes down."""

    def __init__(self, recovery: RecoveryManager, *outages: ToolError) -> None:
        super().__init__(runtime=quiet_runtime(recovery=recovery))
        self.outages = list(outages)
        self.asked: list[str] = []

    @operation(read_only=True)
    async def get_page(self, path: str) -> str:
        """Return a page."""
        self.asked.append(path)
        if self.outages:
            raise self.outages.pop(0)
        if path not in PAGES:
            raise DocumentNotFound(path=path)
        return PAGES[path]


class Substitute:
    """Answers with a value, in place of a certain error."""

    name = "substitute"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def attempt(self, error: ToolError, call: CallContext) -> RecoveryResult | None:
        self.asked.append(error.code)
        return RecoveryResult("instead", "Took another one", degraded=True)


def manager(**strategies: Any) -> RecoveryManager:
    own = RecoveryManager()
    own.register(Unavailable, Retry(base_s=0.0))
    own.register(Timeout, Retry(base_s=0.0))
    for name, strategy in strategies.items():
        own.register({"missing": DocumentNotFound, "anything": NotFound, "limited": RateLimited}[name], strategy)
    return own


async def test_the_same_miss_is_recovered_where_it_is_the_first_error():
    pages = Pages(manager(missing=AlternatePaths()))
    answer = await pages.get_page(path="guide/intro.md")
    assert answer.unwrap() == "Welcome"
    assert answer.metadata.recovery is not None
    assert answer.metadata.recovery.strategy == "alternate_path"


@pytest.mark.parametrize("outage", [Unavailable, Timeout])
async def test_a_miss_after_an_outage_is_recovered_like_any_other(outage):
    pages = Pages(manager(missing=AlternatePaths()), outage())
    answer = await pages.get_page(path="guide/intro.md")
    assert answer.error is None
    assert answer.data == "Welcome"


async def test_a_strategy_of_the_later_errors_category_is_asked():
    substitute = Substitute()
    pages = Pages(manager(anything=substitute), Unavailable())
    answer = await pages.get_page(path="guide/intro.md")
    assert substitute.asked == ["DOC_NOT_FOUND"]
    assert answer.data == "instead"


async def test_a_strategy_of_another_transient_error_is_asked():
    substitute = Substitute()
    pages = Pages(manager(limited=substitute), Unavailable(), RateLimited(retry_after_seconds=90))
    answer = await pages.get_page(path="guide/intro.mdx")
    assert substitute.asked == ["RATE_LIMITED"]
    assert answer.data == "instead"


class Raising:
    """Fails with the next one of its errors, in place of any error."""

    def __init__(self, name: str, *errors: ToolError) -> None:
        self.name = name
        self.errors = list(errors)
        self.asked: list[str] = []

    async def attempt(self, error: ToolError, call: CallContext) -> RecoveryResult | None:
        self.asked.append(error.code)
        raise self.errors.pop(0)


async def test_each_strategy_is_asked_once_for_a_class_and_never_for_its_own_error():
    first, second = Raising("first", Timeout(), NotFound("x")), Raising("second", Unavailable(), RateLimited())
    own = RecoveryManager()
    own.register(Unavailable, first)
    own.register(Timeout, first, second)
    answer = await Pages(own, Unavailable()).get_page(path="guide/intro.mdx")
    assert (first.asked, second.asked) == (["UNAVAILABLE"], ["TIMEOUT"])
    assert answer.error is not None
    assert answer.error.code == "UNAVAILABLE"


async def test_strategies_for_every_error_end_whatever_they_raise():
    first, second = Raising("first", Unavailable(), Timeout()), Raising("second", RateLimited(), NotFound("x"))
    own = RecoveryManager()
    own.add(first, second)
    answer = await Pages(own, Timeout()).get_page(path="guide/intro.mdx")
    assert (first.asked, second.asked) == (["TIMEOUT"], ["UNAVAILABLE"])
    assert answer.error is not None
    assert answer.error.code == "RATE_LIMITED"


async def test_a_retry_for_several_classes_gives_up_once():
    retry = Retry(base_s=0.0)
    own = RecoveryManager({Unavailable: retry, Timeout: retry})
    pages = Pages(own, Unavailable(), Timeout(), Timeout(), Timeout())
    captured: list[RecoveryEvent] = []
    pages.runtime.events.subscribe(captured.append, RecoveryEvent)
    answer = await pages.get_page(path="guide/intro.mdx")
    assert answer.error is not None
    assert (answer.error.code, len(pages.asked)) == ("TIMEOUT", 3)
    assert [(event.strategy, event.result) for event in captured] == [("retry", "failed")]


async def test_alternate_paths_of_an_operation_are_for_missing_documents_only():
    class Documents(Pages):
        """Pages whose operation lists its strategies, which are asked for every error."""

        @operation(read_only=True, recovery=[AlternatePaths()])
        async def read_page(self, path: str) -> str:
            """Return a page."""
            return await Pages.get_page.function(self, path)

    down = Documents(RecoveryManager(), Unavailable(), Unavailable())
    answer = await down.read_page(path="guide/intro.md")
    assert answer.error is not None
    assert answer.error.code == "UNAVAILABLE"
    assert down.asked == ["guide/intro.md"]
    assert (await Documents(RecoveryManager()).read_page(path="guide/intro.md")).unwrap() == "Welcome"
