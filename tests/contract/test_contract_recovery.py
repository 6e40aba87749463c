"""Contract, section 5: the manager, the strategies, `call.retry`, the idempotency guard, and which paths are served."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from failsoft import (
    AlternatePaths,
    BaseTool,
    CallContext,
    DocumentNotFound,
    Hedge,
    Middleware,
    NotFound,
    RateLimited,
    RecoveryManager,
    RecoveryResult,
    Retry,
    RetryBudget,
    Runtime,
    ToolError,
    Unavailable,
    operation,
)
from failsoft.testing import InstantClock
from failsoft.tools.docs import Docs
from tests.contract.surroundings import runtime, write_documents

pytestmark = pytest.mark.anyio


class Change:
    """Runs the handler again with other arguments."""

    def __init__(self, **changed: Any) -> None:
        self.changed = changed

    async def attempt(self, error: ToolError, call: CallContext) -> RecoveryResult | None:
        return RecoveryResult(await call.retry(**self.changed), "Changed the arguments.", self.changed)


class Nothing:
    """Has nothing to offer."""

    name = "nothing"

    async def attempt(self, error: ToolError, call: CallContext) -> RecoveryResult | None:
        return None


@dataclass
class SevenInstead:
    """A strategy that cannot be hashed."""

    message: str = "Seven."

    async def attempt(self, error: ToolError, call: CallContext) -> RecoveryResult | None:
        return RecoveryResult(7, self.message, degraded=True)


class Doors(BaseTool):
    """Doors, of which number 0 is locked."""

    def __init__(self, *strategies: Any, error: type[ToolError] = ToolError, **given: Any) -> None:
        manager = RecoveryManager()
        manager.register(error, *strategies)
        super().__init__(runtime=Runtime(recovery=manager, **given))
        self.knocks: list[int] = []

    def knock(self, number: int, error: type[ToolError], effect: Any = None) -> int:
        self.knocks.append(number)
        if number == 0:
            raise error(message="The door is locked.", effect=effect)
        return number

    @operation(read_only=True)
    async def look(self, number: Annotated[int, Field(le=9)]) -> int:
        """Look behind a door."""
        return self.knock(number, Unavailable)

    @operation()
    async def open(self, number: int) -> int:
        """Open a door, with unknown effect."""
        return self.knock(number, Unavailable)

    @operation()
    async def try_handle(self, number: int) -> int:
        """Try the handle, which for certain changes nothing where it fails."""
        return self.knock(number, Unavailable, effect="none")

    @operation(idempotent=True)
    async def lock(self, number: int) -> int:
        """Lock a door: twice is the same as once."""
        return self.knock(number, Unavailable)

    @operation(timeout=0.05)
    async def wait(self, number: int) -> int:
        """Wait for ever."""
        await asyncio.sleep(60)
        return number


# The manager.


async def test_strategies_are_looked_up_along_the_mro_of_the_error() -> None:
    response = await Doors(SevenInstead(), error=ToolError).look(number=0)
    assert response.data == 7
    response = await Doors(SevenInstead(), error=NotFound).look(number=0)
    assert response.error is not None
    assert response.error.code == "UNAVAILABLE"


async def test_a_strategy_that_has_nothing_to_offer_leaves_it_to_the_next() -> None:
    response = await Doors(Nothing(), SevenInstead()).look(number=0)
    assert response.metadata.recovery is not None
    assert response.metadata.recovery.strategy == "seven_instead"


async def test_the_receipt_says_everything_that_was_done() -> None:
    response = await Doors(Change(number=3)).look(number=0)
    assert response.to_dict()["metadata"]["recovery"] == {
        "strategy": "change",
        "message": "Changed the arguments.",
        "attempts": 2,
        "changed": {"number": 3},
    }


async def test_a_manager_in_the_class_body_takes_precedence_over_the_runtimes() -> None:
    class OwnDoors(Doors):
        """Doors with a manager of their own."""

        recovery = RecoveryManager({Unavailable: SevenInstead("own")})

    response = await OwnDoors(Nothing()).look(number=0)
    assert response.metadata.recovery is not None
    assert response.metadata.recovery.message == "own"


async def test_an_operation_may_have_strategies_of_its_own() -> None:
    class Bells(BaseTool):
        """Bells."""

        @operation(read_only=True, recovery=[SevenInstead()])
        async def ring(self) -> int:
            """Ring."""
            raise NotFound(message="There is no bell.")

        @operation(read_only=True, recovery=[])
        async def toll(self) -> int:
            """Toll."""
            raise NotFound(message="There is no bell.")

    bells = Bells(runtime=Runtime(recovery=RecoveryManager({ToolError: SevenInstead()})))
    assert (await bells.ring()).data == 7
    assert not (await bells.toll()).success


def test_a_result_has_the_four_fields_of_the_contract_and_the_rule_that_applied() -> None:
    assert list(inspect.signature(RecoveryResult).parameters) == ["value", "message", "changed", "degraded", "rule"]
    result = RecoveryResult(1, "One.")
    assert (result.changed, result.degraded, result.rule) == ({}, False, "")


# `call.retry`.


async def test_changed_arguments_are_validated_again() -> None:
    doors = Doors(Change(number="three"))
    response = await doors.look(number=0)
    assert response.error is not None
    assert doors.knocks == [0]


async def test_retry_raises_what_the_handler_raises() -> None:
    doors = Doors(Change(number=0))
    response = await doors.look(number=0)
    assert response.error is not None
    assert response.error.code == "UNAVAILABLE"
    assert doors.knocks == [0, 0]


@pytest.mark.parametrize(
    ("name", "runs_again"), [("look", True), ("lock", True), ("try_handle", True), ("open", False)]
)
async def test_what_may_have_been_done_is_never_done_twice(name: str, runs_again: bool) -> None:
    doors = Doors(Change(number=5))
    response = await doors.execute_with_error_handling(name, {"number": 0})
    assert doors.knocks == ([0, 5] if runs_again else [0])
    assert response.success is runs_again


@pytest.mark.parametrize("name", ["look", "lock", "try_handle", "open"])
async def test_retry_respects_the_guard_too(name: str) -> None:
    doors = Doors(Retry(attempts=3, base_s=0.0, cap_s=0.0))
    await doors.execute_with_error_handling(name, {"number": 0})
    assert len(doors.knocks) == (1 if name == "open" else 3)


async def test_recovery_ends_with_the_deadline() -> None:
    class Slow:
        async def attempt(self, error: ToolError, call: CallContext) -> RecoveryResult | None:
            await asyncio.sleep(60)
            return None

    class Gates(BaseTool):
        """Gates."""

        @operation(read_only=True, timeout=0.05, recovery=[Slow()])
        async def push(self) -> int:
            """Push."""
            raise Unavailable

    response = await Gates().push()
    assert response.error is not None
    assert response.error.code == "DEADLINE_EXCEEDED"


# The strategies of this stage, and their options.


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (Retry, {"attempts": 3, "base_s": 0.1, "cap_s": 5.0, "patience_s": 5.0}),
        (RetryBudget, {"ratio": 0.2, "floor": 10, "dependency": None}),
        (Hedge, {"delay_s": None, "percentile": 0.95, "extra": 1}),
        (AlternatePaths, {"parameter": "path", "folder_index": False}),
    ],
)
def test_the_options_have_the_names_and_defaults_of_the_contract(kind: type, options: dict[str, Any]) -> None:
    parameters = inspect.signature(kind).parameters
    assert {name: parameters[name].default for name in options} == options


def test_a_wait_that_was_asked_for_is_a_minimum_and_a_long_one_is_the_caller_s() -> None:
    class Line(BaseTool):
        """A line."""

        @operation(read_only=True, recovery=[Retry(attempts=2, base_s=0.001, cap_s=4.0)])
        async def stand(self, wait_s: float) -> int:
            """Stand."""
            raise RateLimited(retry_after_seconds=wait_s)

    for asked, at_most in ((3.0, 5.0), (4.5, 6.75), (5.5, 0), (3_600, 0)):
        clock = InstantClock()
        clock.run(Line().stand(wait_s=asked))
        assert [asked <= wait <= at_most for wait in clock.jumps] == ([True] if at_most else [])


async def test_errors_that_waiting_does_not_cure_are_not_retried() -> None:
    class Wall(BaseTool):
        """A wall."""

        runs = 0

        @operation(read_only=True, recovery=[Retry(base_s=0.0, cap_s=0.0)])
        async def climb(self) -> int:
            """Climb."""
            self.runs += 1
            raise NotFound(message="There is no way.")

    wall = Wall()
    await wall.climb()
    assert wall.runs == 1


@pytest.mark.parametrize(
    ("documents", "asked", "served"),
    [
        ({"a.mdx": "x"}, "a.md", "a.mdx"),
        ({"a.md": "x"}, "a.mdx", "a.md"),
        ({"guide/index.md": "x"}, "guide", "guide/index.md"),
        ({"guide/index.mdx": "x"}, "guide", "guide/index.mdx"),
        ({"guide/README.md": "x"}, "guide", "guide/README.md"),
        ({"Guide/Intro.md": "x"}, "guide/intro.md", "Guide/Intro.md"),
        ({"new.md": "---\naliases: [old.md]\n---\nx"}, "old.md", "new.md"),
        ({"new.md": "---\nredirect_from: /old.md\n---\nx"}, "old.md", "new.md"),
    ],
    ids=["mdx", "md", "index.md", "index.mdx", "README.md", "case", "aliases", "redirect_from"],
)
async def test_the_same_document_is_served_from_its_other_path(
    tmp_path: Path, documents: dict[str, str], asked: str, served: str
) -> None:
    response = await Docs(write_documents(tmp_path, documents)).get_documentation(path=asked)
    assert response.data is not None, response.error
    assert response.data["documents"][0]["path"] == served
    assert response.metadata.recovery is not None
    assert response.metadata.recovery.strategy == "alternate_path"
    assert response.metadata.recovery.changed == {"path": served}


async def test_several_alternatives_are_suggested_and_none_is_served(tmp_path: Path) -> None:
    documents = {"a.md": "---\naliases: [old.md]\n---\nx", "b.md": "---\naliases: [old.md]\n---\ny"}
    response = await Docs(write_documents(tmp_path, documents)).get_documentation(path="old.md")
    assert response.error is not None
    reported = " ".join(response.error.suggestions)
    assert "a.md" in reported
    assert "b.md" in reported


async def test_a_search_that_breaks_the_syntax_is_tried_once_as_plain_words(tmp_path: Path) -> None:
    docs = Docs(write_documents(tmp_path, {"a.md": "hello world"}))
    response = await docs.search_documents(query='"hello world')
    assert response.success
    assert response.metadata.recovery is not None
    assert response.metadata.recovery.changed == {"query": "hello world"}
    assert response.metadata.recovery.message


async def test_a_search_that_plain_words_cannot_repair_names_the_accepted_syntax(tmp_path: Path) -> None:
    docs = Docs(write_documents(tmp_path, {"a.md": "hello world"}))
    response = await docs.search_documents(query='"')
    assert response.error is not None
    assert response.error.code == "SEARCH_ERROR"
    assert '"' in response.error.message


# The chain.


def test_describe_returns_the_linked_chain_outermost_first(tmp_path: Path) -> None:
    chain = Docs(write_documents(tmp_path, {"a.md": "x"})).describe()["search_documents"]
    places = [name for name in chain if ":" not in name]
    assert places == ["observe", "validate", "deadline", "recover", "check", "handler"]


async def test_a_middleware_is_at_the_place_that_it_names() -> None:
    seen: list[str] = []

    async def note(call: CallContext, proceed: Any) -> Any:
        seen.append(call.operation)
        return await proceed(call)

    doors = Doors(middleware=[Middleware(name="note", run=note, before="recover")])
    chain = doors.describe()["look"]
    assert chain[chain.index("note") + 1] == "recover"
    await doors.look(number=1)
    assert seen == ["look"]


async def test_a_middleware_that_fails_is_a_typed_error() -> None:
    async def broken(call: CallContext, proceed: Any) -> Any:
        raise RuntimeError

    response = await Doors(middleware=[Middleware(name="broken", run=broken)]).look(number=1)
    assert response.error is not None
    assert response.error.code == "SYSTEM_ERROR"


async def test_the_default_runtime_recovers_without_any_set_up(tmp_path: Path) -> None:
    folder = write_documents(tmp_path, {"a.mdx": "x"})

    class Pages(BaseTool):
        """Pages on disk, with nothing but a handler that raises."""

        @operation(read_only=True)
        def page(self, path: str) -> str:
            """Return a page."""
            if not (folder / path).exists():
                raise DocumentNotFound(path=path)
            return (folder / path).read_text()

    response = await Pages(runtime=runtime()).page(path="a.md")
    assert response.data == "x"
    assert response.metadata.recovery is not None
    assert response.metadata.recovery.changed == {"path": "a.mdx"}
