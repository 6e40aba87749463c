"""`BaseTool`: one way to run a handler, three stages of validation, and nothing but real cancellation ever raised."""

from __future__ import annotations

import asyncio
import gc
from abc import abstractmethod
from typing import Annotated, Any

import pytest

from failsoft import (
    BaseTool,
    CallContext,
    DocumentNotFound,
    InvalidParameter,
    NotFound,
    PermissionDenied,
    Reference,
    ToolResponse,
    operation,
)
from tests.each import each
from tests.framework.recording import Recording, quiet_runtime

pytestmark = pytest.mark.anyio


def known_word(tool: Words, word: str) -> None:
    tool.stages.append(f"reference {word}")
    if word == "unknown":
        raise DocumentNotFound(path=word)


async def known_letter(letter: str) -> None:
    await asyncio.sleep(0)
    if letter not in "abc":
        raise NotFound(message=f"There is no letter {letter}.")


def one_argument(word: str, letters: str = "abc", *_more: str, strict: bool = False, **_others: str) -> None:
    assert (letters, strict) == ("abc", False)
    if word == "unknown":
        raise DocumentNotFound(path=word)


class Words(BaseTool):
    """Words, with a note of every stage that ran."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stages: list[str] = []

    @operation()
    async def take(
        self,
        word: Annotated[str, Reference(known_word)],
        letters: list[Annotated[str, Reference(known_letter)]] | None = None,
        limit: int = 3,
    ) -> str:
        """Return the word."""
        self.stages.append("handler")
        return word * limit if not letters else "".join(letters)

    @take.check
    def is_allowed(self, word: str, call: CallContext, limit: int) -> None:
        self.stages.append(f"check {limit}")
        assert call.attempt == 0
        if word == "forbidden":
            raise PermissionDenied(message="This word is forbidden.")

    @take.check
    async def is_allowed_later(self, word: str) -> None:
        self.stages.append("second check")
        if word == "late":
            raise PermissionDenied(message="This word is forbidden later.")

    @take.plausibility
    def looks_long(self, result: str) -> list[str]:
        self.stages.append("review")
        return ["long"] if len(result) > 10 else []

    @take.plausibility
    async def looks_odd(self, result: str) -> str | None:
        return "odd" if len(result) % 2 else None


@pytest.fixture
def words() -> Words:
    return Words(runtime=quiet_runtime())


def test_a_toolset_without_operations_cannot_be_made() -> None:
    class Empty(BaseTool):
        """Has none."""

    for kind in (BaseTool, Empty):
        with pytest.raises(TypeError):
            kind()


def test_an_abstract_toolset_cannot_be_made() -> None:
    class Abstract(Words):
        @abstractmethod
        def more(self) -> None: ...

    with pytest.raises(TypeError):
        Abstract()


@pytest.mark.parametrize(
    ("class_name", "name"),
    [("Docs", "docs"), ("DocsTool", "docs"), ("HTTPTools", "http"), ("MyHTTPTool", "my_http"), ("V2Docs", "v2_docs")],
)
def test_the_name_comes_from_the_class(class_name: str, name: str) -> None:
    kind = type(class_name, (Words,), {})
    assert kind.name == name


def test_the_name_can_be_set() -> None:
    assert type("Docs", (Words,), {"name": "library"}).name == "library"


async def test_a_direct_call_and_an_executed_one_are_the_same(words: Words) -> None:
    direct = await words.take(word="ab")
    assert direct.data == "ababab"
    seen = list(words.stages)
    words.stages.clear()
    executed = await words.execute_with_error_handling("take", {"word": "ab"})
    assert executed.data == direct.data
    assert words.stages == seen == ["reference ab", "check 3", "second check", "handler", "review"]


async def test_the_stages_come_in_order_and_each_ends_the_call(words: Words) -> None:
    stages = ["reference unknown"]
    for params, code, ran in [
        ({"word": 1, "limit": "x"}, "INVALID_PARAM", []),
        ({"word": "unknown"}, "DOC_NOT_FOUND", stages),
        ({"word": "a", "letters": ["a", "z"]}, "NOT_FOUND", ["reference a"]),
        ({"word": "forbidden"}, "PERMISSION_DENIED", ["reference forbidden", "check 3"]),
        ({"word": "late"}, "PERMISSION_DENIED", ["reference late", "check 3", "second check"]),
    ]:
        words.stages.clear()
        response = await words.execute_with_error_handling("take", params)
        assert response.error is not None
        assert response.error.code == code
        assert words.stages == ran
        assert response.error.effect == "none"
        assert response.error.rejected


async def test_a_lookup_is_given_the_tool_only_if_it_needs_two_arguments() -> None:
    class Looking(BaseTool):
        @operation(read_only=True)
        async def take(self, word: Annotated[str | None, Reference(one_argument)] = None) -> str | None:
            """Return the word."""
            return word

    tool = Looking(runtime=quiet_runtime())
    assert (await tool.take(word="a")).data == "a"
    assert (await tool.take(word=None)).success
    assert (await tool.take(word="unknown")).error is not None


async def test_a_tool_that_calls_itself_for_ever_is_answered() -> None:
    class Endless(BaseTool):
        @operation(read_only=True, timeout=float("inf"))
        async def take(self, word: str = "a") -> Any:
            """Call itself."""
            return await self.take(word=word)

    response = await Endless(runtime=quiet_runtime()).take()
    assert response.error is not None
    assert len(response.encode().text) < 5_000


async def test_plausibility_warns_and_never_fails(words: Words) -> None:
    response = await words.take(word="abcde", limit=3)
    assert response.success
    assert response.metadata.warnings == ["long", "odd"]
    assert response.to_dict()["metadata"]["warnings"] == ["long", "odd"]


@pytest.mark.parametrize("raised", [ValueError("x"), SystemExit(), KeyboardInterrupt(), GeneratorExit(), NotFound()])
async def test_a_plausibility_check_that_breaks_is_no_failure(raised: BaseException) -> None:
    class Broken(BaseTool):
        @operation()
        async def take(self) -> int:
            """Return a number."""
            return 1

        @take.plausibility
        def review(self, result: int) -> None:
            raise raised

        @take.plausibility
        async def no_list(self, result: int) -> Any:
            return result

        @take.plausibility
        async def fine(self, result: int) -> str:
            return f"number {result}"

    response = await Broken(runtime=quiet_runtime()).take()
    assert response.data == 1
    assert response.metadata.warnings == ["number 1"]


async def test_an_operation_that_does_not_exist_is_answered_with_the_closest_name(words: Words) -> None:
    response = await words.execute_with_error_handling("takes", {"word": "ab"})
    assert response.error is not None
    assert (response.error.code, response.error.operation, response.error.effect) == ("UNKNOWN_TOOL", "takes", "none")
    (violation,) = response.error.violations
    assert (violation.reason, violation.suggestion) == ("unknown_tool", "take")
    assert response.error.next_step is None  # it may change something
    assert response.error.retry.when == "never"
    assert not response.error.recoverable


@each("name", ["", "nothing like it", "x" * 10_000, "\ud800", 5, None, ["take"], {}])
@each("params", [None, {}, {"word": "a"}, [1], 5])
async def test_any_unknown_name_is_answered(words: Words, name: Any, params: Any) -> None:
    response = await words.execute_with_error_handling(name, params)
    assert response.error is not None
    assert response.error.code == "UNKNOWN_TOOL"
    assert len(response.encode().text) < 5_000


async def test_unknown_names_are_counted_under_one_label() -> None:
    metrics = Recording()
    words = Words(runtime=quiet_runtime(metrics=metrics))
    for number in range(3):
        await words.execute_with_error_handling(f"nothing {number}", {})
    assert set(metrics.bound_to) == {("words", "take"), ("words", "__unknown__")}
    assert metrics.of("finished") == ["rejected"] * 3
    assert metrics.of("failed") == [("invalid_argument", "UNKNOWN_TOOL")] * 3


async def test_a_handler_that_is_passed_runs_under_the_operation_schema_and_chain(words: Words) -> None:
    async def with_arguments(word: str, limit: int = 1) -> str:
        return f"{word} {limit}"

    def without() -> str:
        return "none"

    async def failing() -> str:
        raise NotFound(message="There is no such word.")

    assert (await words.execute_with_error_handling("take", {"word": "a"}, with_arguments)).data == "a 1"
    assert (await words.execute_with_error_handling("take", {"word": "a"}, without)).data == "none"
    assert (await words.execute_with_error_handling("take", {"word": "a"}, lambda: with_arguments("b"))).data == "b 1"
    refused = await words.execute_with_error_handling("take", {"word": 1}, without)
    assert refused.error is not None
    assert refused.error.code == "INVALID_PARAM"
    failed = await words.execute_with_error_handling("take", {"word": "a"}, failing)
    assert failed.error is not None
    assert failed.error.code == "NOT_FOUND"
    assert words.stages.count("handler") == 0


async def test_concurrent_calls_on_one_tool_do_not_meet(words: Words) -> None:
    responses = await asyncio.gather(*(words.take(word=f"w{number}", limit=1) for number in range(200)))
    assert [response.data for response in responses] == [f"w{number}" for number in range(200)]


async def test_two_tools_of_one_class_have_their_own_runtimes() -> None:
    first, second = Recording(), Recording()
    loud = Words(runtime=quiet_runtime(metrics=first, environment="development"))
    quiet = Words(runtime=quiet_runtime(metrics=second))
    reported = (await loud.take(word="unknown")).to_dict()["error"]
    withheld = (await quiet.take(word="unknown")).to_dict()["error"]
    assert reported["details"]["path"] == "unknown"
    assert "details" not in withheld
    assert first.events == second.events
    assert first.of("finished") == ["rejected"]


SHARED = DocumentNotFound(path="shared.md", suggestions=["other.md"])


class Sharing(BaseTool):
    """Raises one and the same instance again and again, as a constant of its module."""

    @operation(read_only=True)
    async def fetch(self, word: str) -> str:
        """Fail."""
        weight = Weight(word)
        if weight.word == "context":
            try:
                raise KeyError(word)  # noqa: TRY301 - the handler is what raises
            except KeyError:
                raise SHARED  # noqa: B904 - the context is the point
        raise SHARED

    @operation(read_only=True)
    def fetch_in_thread(self, word: str) -> str:
        """Fail in a thread."""
        Weight(word)
        raise SHARED

    @operation(read_only=True)
    async def foreign(self) -> str:
        """Fail with an error outside the catalogue."""
        raise FOREIGN


FOREIGN = ValueError("shared")


class Weight:
    """Something that a frame holds on to."""

    alive = 0

    def __init__(self, word: str) -> None:
        self.word = word
        type(self).alive += 1

    def __del__(self) -> None:
        type(self).alive -= 1


def depth(error: BaseException) -> int:
    count, link = 0, error.__traceback__
    while link is not None:
        count, link = count + 1, link.tb_next
    return count


async def test_an_instance_that_is_raised_again_and_again_keeps_nothing_of_earlier_calls() -> None:
    tool = Sharing(runtime=quiet_runtime(environment="development"))
    depths = set()
    for number in range(20):
        for call in (tool.fetch, tool.fetch_in_thread):
            response = await call(word=f"{number}")
            assert response.error is not None
            assert response.error.suggestions[-1] == "Did you mean: other.md?"
            assert response.error.details == {"path": "shared.md"}
            assert response.error.next_step is None
            depths.add(depth(SHARED))
    for _ in range(20):
        await tool.foreign()
        depths.add(depth(FOREIGN))
    assert max(depths) < 20
    assert (SHARED.suggestions, SHARED.effect, SHARED.details, SHARED.__cause__) == (("other.md",), None, {}, None)
    assert not getattr(SHARED, "__notes__", [])
    del response
    gc.collect()
    assert Weight.alive <= 1


async def test_a_result_can_be_typed_by_the_class_that_was_declared(words: Words) -> None:
    response = await words.take(word="a")
    assert isinstance(response, ToolResponse)
    assert response.error is None


async def test_the_answer_of_another_operation_counts_as_what_it_says() -> None:
    class Nested(Words):
        @operation(read_only=True)
        async def outer(self, word: Any) -> str:
            """Return what another operation answers."""
            return await self.take(word=word)  # type: ignore[return-value]

    tool = Nested(runtime=quiet_runtime())
    assert (await tool.outer(word="ab")).data == "ababab"
    missing = await tool.outer(word="unknown")
    assert missing.error is not None
    assert (missing.error.code, missing.error.operation) == ("DOC_NOT_FOUND", "outer")
    invalid = await tool.outer(word=1)
    assert invalid.error is not None
    assert (invalid.error.code, invalid.error.violations) == ("REPORTED_FAILURE", ())


async def test_startup_and_shutdown_do_nothing_unless_they_are_overridden(words: Words) -> None:
    await words.startup()
    await words.shutdown()
    assert words.describe() == {
        "take": ["observe", "validate", "deadline", "idempotency", "recover", "check", "handler"]
    }


async def test_a_handler_may_raise_an_error_of_stage_one_itself() -> None:
    class Own(BaseTool):
        @operation()
        async def take(self, word: str) -> str:
            """Refuse the word."""
            raise InvalidParameter(param="word", expected="another one")

    response = await Own(runtime=quiet_runtime()).take(word="a")
    assert response.error is not None
    assert (response.error.code, response.error.effect, response.error.rejected) == ("INVALID_PARAM", "unknown", False)
