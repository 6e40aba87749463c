"""An operation that needs consent runs only with the consent of a person to the arguments that were shown."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from pydantic import Field, SecretStr

from failsoft import (
    ApprovalRequired,
    BaseTool,
    CallContext,
    CircuitBreaker,
    Fallback,
    Hedge,
    NotFound,
    Retry,
    StaleCache,
    ToolError,
    ToolResponse,
    Unavailable,
    operation,
)
from failsoft.testing import InstantClock
from tests.doors import META_KEY, Answer, AwaitingAnswer, CallScope, Question
from tests.framework.recording import quiet_runtime

YES = Answer("accept", {"confirm": True})


class Person:
    """Answers in order, each after some seconds; then never again."""

    def __init__(self, *answers: Answer, after_s: float = 0.0) -> None:
        self.answers = list(answers)
        self.questions: list[Question] = []
        self.asked = asyncio.Event()
        self.after_s = after_s

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        self.asked.set()
        await asyncio.sleep(self.after_s)
        if not self.answers:
            await asyncio.get_running_loop().create_future()
        return self.answers.pop(0)


class Shelf(BaseTool):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.deleted: list[str] = []
        self.added: list[str] = []
        self.failures: list[BaseException] = []

    @operation(confirm=True, timeout=5.0, recovery=[Retry(base_s=0, cap_s=0), CircuitBreaker(min_calls=3)])
    async def delete(self, book: str, reason: str = "", password: SecretStr | None = None) -> str:
        """Delete a book.

        For ever.
        """
        if self.failures:
            raise self.failures.pop()
        self.deleted.append(book)
        return book

    @delete.check
    async def exists(self, book: str) -> None:
        if book == "none":
            raise NotFound(f"No book {book}.", effect="none")

    @operation(confirm="when destructive")
    async def write(self, book: str, call: CallContext, dry_run: bool = False) -> str:
        """Write a book."""
        self.deleted.append(book)
        return book

    @write.check
    async def is_dry(self, call: CallContext, dry_run: bool = False) -> None:
        call.read_only = dry_run

    @operation(confirm="when destructive", destructive=False)
    async def add(self, book: str) -> str:
        """Add a book."""
        await asyncio.sleep(0)
        self.added.append(book)
        return book

    @operation(confirm="when destructive", read_only=True)
    async def read(self, book: str) -> str:
        """Read a book."""
        return book

    @operation(confirm=True, read_only=True)
    async def reveal(self) -> str:
        """Reveal the shelf."""
        return "shelf"


def _tool() -> Shelf:
    return Shelf(runtime=quiet_runtime())


def _call(tool: BaseTool, name: str, arguments: Any, person: Person | None, **scope: Any) -> ToolResponse[Any]:
    async def run() -> ToolResponse[Any]:
        asked = CallScope(ask=None if person is None else person.ask, **scope)
        return await tool.operations[name].call(arguments, asked)

    return InstantClock().run(run())


def _call_of(tool: BaseTool, name: str, ask: Any) -> ToolResponse[Any]:
    async def run() -> ToolResponse[Any]:
        return await tool.operations[name].call({}, CallScope(ask=ask))

    return asyncio.run(run())


class Vault(BaseTool):
    @operation(
        confirm=True,
        input_schema={
            "type": "object",
            "properties": {
                "opening": {"$ref": "#/definitions/a~1word"},
                "again": {"$ref": "#/definitions/same"},
                "either": {"anyOf": [{"type": "integer"}, {"$ref": "#/definitions/same"}]},
                "beside": {"anyOf": [{"type": "string"}, {"type": "null"}], "format": "password"},
                "all": {"type": "array", "items": {"$ref": "#/definitions/same"}},
                "by_door": {"type": "object", "additionalProperties": {"$ref": "#/definitions/same"}},
                "visit": {
                    "type": "object",
                    "properties": {"who": {"type": "string"}, "word": {"$ref": "#/definitions/same"}},
                },
            },
            "definitions": {
                "a/word": {"type": "string", "writeOnly": True},
                "same": {"$ref": "#/definitions/a~1word"},
            },
        },
    )
    async def unlock(self, /, **arguments: Any) -> str:
        """Open a vault."""
        return "open"


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"opening": "sesame"}, "`opening`: <redacted>"),
        ({"again": "sesame"}, "`again`: <redacted>"),
        ({"either": "sesame"}, "`either`: <redacted>"),
        ({"beside": "sesame"}, "`beside`: <redacted>"),
        ({"all": ["sesame", "simsim"]}, '`all`: ["<redacted>", "<redacted>"]'),
        ({"by_door": {"front": "sesame"}}, '`by_door`: {"front": "<redacted>"}'),
        ({"visit": {"who": "Ali", "word": "sesame"}}, '`visit`: {"who": "Ali", "word": "<redacted>"}'),
    ],
)
def test_what_a_schema_marks_as_secret_is_not_shown_wherever_the_mark_is(arguments: Any, shown: str) -> None:
    person = Person(YES)
    _call(Vault(runtime=quiet_runtime()), "unlock", arguments, person)
    (question,) = person.questions
    assert question.message.splitlines()[-1] == f"- {shown}"


def test_a_person_sees_the_call_and_its_arguments_without_secrets() -> None:
    person, tool = Person(YES), _tool()
    response = _call(tool, "delete", {"book": 'a"\n`b`', "reason": "x" * 400, "password": "hunter2"}, person)
    (question,) = person.questions
    assert (question.about, question.schema["required"]) == ("confirm", ["confirm"])
    *lines, reason, password = question.message.splitlines()
    assert lines == [
        "May `delete` run with these arguments?",
        'It does this: "Delete a book."',
        '- `book`: "a\\" \'b\'"',
    ]
    assert password == "- `password`: <redacted>"
    assert reason.endswith('…" (400 characters in all)')
    assert tool.deleted == ['a"\n`b`']
    assert response.metadata.recovery is not None
    assert response.metadata.recovery.to_dict() == {
        "strategy": "ask_person",
        "message": "A person allowed this call of `delete`",
        "attempts": 1,
        "rule": "confirm",
    }


REFUSALS: Mapping[str, tuple[Answer | None, str]] = {
    "declined": (Answer("decline"), "decline"),
    "cancelled": (Answer("cancel"), "cancel"),
    "unanswered": (None, "unanswered"),
    "confirm is false": (Answer("accept", {"confirm": False}), "accept"),
    "confirm is a text": (Answer("accept", {"confirm": "true"}), "accept"),
    "no confirm": (Answer("accept", {}), "accept"),
    "declined with content": (Answer("decline", {"confirm": True}), "decline"),
}


@pytest.mark.parametrize(("answer", "asked"), REFUSALS.values(), ids=REFUSALS)
def test_without_consent_nothing_is_done_and_the_key_is_free(answer: Answer | None, asked: str) -> None:
    tool, meta = _tool(), {META_KEY: "once"}
    metrics: Any = tool.runtime.metrics
    response = _call(tool, "delete", {"book": "a"}, Person(*[answer] if answer else []), meta=meta)
    assert response.error is not None
    assert (response.error.code, response.error.effect, tool.deleted) == ("APPROVAL_REQUIRED", "none", [])
    assert response.error.exception.details == {"asked": asked}
    assert response.error.retry.when == "never"
    assert "has to decide" not in response.error.message
    assert (metrics.of("recovery")[0], metrics.of("attempted")) == (("ask_person", "failed"), [])
    assert _call(tool, "delete", {"book": "a"}, Person(YES), meta=meta).data == "a"
    replay = _call(tool, "delete", {"book": "a"}, None, meta=meta)
    assert (replay.data, tool.deleted) == ("a", ["a"])


def test_what_was_not_asked_for_is_no_part_of_an_answer() -> None:
    told: list[Any] = []

    class Watched(Shelf):
        async def on_failure(self, _failure: Any, call: Any) -> None:
            told.append(call.told.audit_facts["asked"])

    more = {f"field_{number}": 300 * "x" for number in range(20)}
    _call(
        Watched(runtime=quiet_runtime()), "delete", {"book": "a"}, Person(Answer("accept", {**more, "confirm": False}))
    )
    assert told == [{"about": "confirm", "action": "accept", "answer": {"confirm": False}}]


def test_a_client_that_cannot_ask_a_person_is_told_so() -> None:
    tool = _tool()
    metrics: Any = tool.runtime.metrics
    error = _call(tool, "delete", {"book": "a"}, None).error
    assert error is not None
    assert metrics.of("recovery")[0] == ("ask_person", "skipped")
    assert (error.code, error.exception.details, tool.deleted) == ("APPROVAL_REQUIRED", {"asked": "unavailable"}, [])


@pytest.mark.parametrize("arguments", [{"book": "none"}, {"book": 5}, {}])
def test_nobody_is_asked_about_a_call_that_cannot_be_done(arguments: Any) -> None:
    person = Person(YES)
    response = _call(_tool(), "delete", arguments, person)
    assert response.error is not None
    assert response.error.code != "APPROVAL_REQUIRED"
    assert person.questions == []


def test_a_run_that_is_repeated_is_asked_about_once() -> None:
    tool, person = _tool(), Person(YES)
    tool.failures = [Unavailable(effect="none"), Unavailable(effect="none")]
    assert _call(tool, "delete", {"book": "a"}, person).data == "a"
    assert len(person.questions) == 1


@pytest.mark.parametrize(
    ("name", "arguments", "asked"),
    [
        ("write", {"book": "a"}, 1),
        ("write", {"book": "a", "dry_run": True}, 0),
        ("add", {"book": "a"}, 0),
        ("read", {"book": "a"}, 0),
        ("reveal", {}, 1),
    ],
)
def test_only_what_may_destroy_or_always_needs_consent_asks(name: str, arguments: Any, asked: int) -> None:
    person = Person(YES)
    assert _call(_tool(), name, arguments, person).success
    assert len(person.questions) == asked
    assert ("confirm" in _tool().describe()[name]) is (name in {"write", "reveal", "delete"})


def test_the_deadline_stands_still_while_the_person_thinks() -> None:
    class Slow(BaseTool):
        @operation(confirm=True, timeout=5.0)
        async def work(self, seconds: float) -> float | None:
            """Work."""
            await asyncio.sleep(seconds)
            return seconds

    tool = Slow(runtime=quiet_runtime())
    assert _call(tool, "work", {"seconds": 4.0}, Person(YES, after_s=100)).data == 4.0
    late = _call(tool, "work", {"seconds": 6.0}, Person(YES, after_s=100))
    assert late.error is not None
    assert (late.error.code, late.error.effect) == ("DEADLINE_EXCEEDED", "unknown")


@pytest.mark.parametrize("after_s", [3.0, 100.0])
def test_the_deadlines_of_other_calls_do_not_wait_for_it(after_s: float) -> None:
    class Slow(BaseTool):
        @operation(confirm=True, timeout=5.0)
        async def work(self, seconds: float) -> float | None:
            """Work."""
            await asyncio.sleep(seconds)
            return seconds

    tool = Slow(runtime=quiet_runtime())

    async def run() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        work = tool.operations["work"]
        asked = asyncio.create_task(work.call({"seconds": 9.0}, CallScope(ask=Person(YES, after_s=after_s).ask)))
        ends = []
        for delay in (0.0, 2.0, 2.0):
            await asyncio.sleep(delay)
            other = asyncio.create_task(work.call({"seconds": 9.0}, CallScope(ask=Person(YES).ask)))
            other.add_done_callback(lambda _: ends.append(round(loop.time() - began, 3)))
        assert not (await asked).success
        assert round(loop.time() - began, 3) == after_s + 5.0
        await asyncio.sleep(5.0)
        assert ends == [5.0, 7.0, 9.0]

    InstantClock().run(run())


class Outer(BaseTool):
    """Calls another toolset in its handlers."""

    def __init__(self, inner: Shelf) -> None:
        super().__init__(runtime=quiet_runtime())
        self.inner = inner
        self.book = "a"

    @operation(read_only=True, timeout=5.0)
    async def look(self) -> str:
        """Delete in a handler that changes nothing itself."""
        return (await self.inner.delete(book="a")).unwrap()

    @operation(timeout=5.0)
    async def change(self) -> str:
        """Delete in a handler that may have begun."""
        return (await self.inner.delete(book="a")).unwrap()

    @operation(effects=True)
    async def twice(self) -> str:
        """Delete after another call that changed something."""
        await self.inner.add(book="b")
        return (await self.inner.delete(book="a")).unwrap()

    @operation(read_only=True, recovery=[CircuitBreaker(min_calls=1, slow_call_s=9.0, slow_ratio=0.1)])
    async def look_fast(self) -> str:
        """Delete in a handler that has little time."""
        return (await self.inner.delete(book="a")).unwrap()

    @operation(read_only=True, recovery=[Hedge(delay_s=1.0)])
    async def look_twice(self) -> str:
        """Delete in a handler that may run twice at once."""
        return (await self.inner.delete(book="a")).unwrap()

    @operation(read_only=True)
    async def long(self) -> str:
        """Delete a book whose title is longer than what is shown of it."""
        return (await self.inner.delete(book=self.book)).unwrap()

    @operation(effects=True)
    async def beside(self) -> str:
        """Delete while another call changes something, which a task group would cancel."""
        _, deleted = await asyncio.gather(self.inner.add(book="b"), self.inner.delete(book="a"))
        return deleted.unwrap()

    @operation(effects=True)
    async def both(self) -> list[str | None]:
        """Delete two books."""
        return [(await self.inner.delete(book=book)).data for book in ("a", "b")]


@pytest.mark.parametrize("name", ["look", "change", "twice"])
def test_a_nested_call_asks_through_the_outer_one_whose_deadline_waits_too(name: str) -> None:
    inner, person = _tool(), Person(YES, after_s=60)
    assert _call(Outer(inner), name, {}, person).data == "a"
    assert [question.about for question in person.questions] == ["confirm"]


@pytest.mark.parametrize(
    ("name", "is_put_off"), [("look", True), ("change", False), ("twice", False), ("beside", False)]
)
def test_a_question_never_leaves_an_outer_handler_half_done(name: str, is_put_off: bool) -> None:
    inner = _tool()

    async def put_off(question: Question) -> Answer:
        raise AwaitingAnswer(question)

    if is_put_off:
        with pytest.raises(AwaitingAnswer):
            _call_of(Outer(inner), name, put_off)
    else:
        error = _call_of(Outer(inner), name, put_off).error
        assert error is not None
        assert error.code == "APPROVAL_REQUIRED"
    assert inner.deleted == []


@pytest.mark.parametrize("name", ["look_fast", "look_twice"])
def test_the_time_of_a_person_makes_no_dependency_slow(name: str) -> None:
    outer = Outer(_tool())
    assert [_call(outer, name, {}, Person(YES, after_s=60)).data for _ in range(9)] == 9 * ["a"]


def test_consent_in_another_request_is_to_all_of_the_arguments_not_to_what_is_shown_of_them() -> None:
    questions: list[Question] = []

    async def put_off(question: Question) -> Answer:
        questions.append(question)
        raise AwaitingAnswer(question)

    outer = Outer(_tool())
    for end in "aab":
        outer.book = 400 * "x" + end
        with pytest.raises(AwaitingAnswer):
            _call_of(outer, "long", put_off)
    assert len({question.message for question in questions}) == 1
    assert [question.digest == questions[0].digest for question in questions] == [True, True, False]


def test_one_question_a_call_whoever_asks() -> None:
    inner, person = _tool(), Person(YES, YES)
    assert _call(Outer(inner), "both", {}, person).data == ["a", None]
    assert (inner.deleted, len(person.questions)) == (["a"], 1)


def test_a_client_that_leaves_a_keyed_call_ends_the_wait() -> None:
    tool, person = _tool(), Person()

    async def run() -> None:
        scope = CallScope(ask=person.ask, meta={META_KEY: "once"}, cancels=lambda: False)
        task = asyncio.ensure_future(tool.operations["delete"].call({"book": "a"}, scope))
        await person.asked.wait()
        began = asyncio.get_running_loop().time()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (left,) = scope.left_running
        response = await left
        assert response.error.exception.details == {"asked": "unanswered"}
        assert asyncio.get_running_loop().time() == began

    InstantClock().run(run())
    assert tool.deleted == []
    assert _call(tool, "delete", {"book": "a"}, Person(YES), meta={META_KEY: "once"}).data == "a"


def test_a_client_that_has_left_a_keyed_call_is_not_asked() -> None:
    person, looked, may_go_on = Person(), asyncio.Event(), asyncio.Event()

    class Late(Shelf):
        async def exists(self, book: str) -> None:  # type: ignore[override]
            looked.set()
            await may_go_on.wait()

    tool = Late(runtime=quiet_runtime())

    async def run() -> None:
        scope = CallScope(ask=person.ask, meta={META_KEY: "once"}, cancels=lambda: False)
        task = asyncio.ensure_future(tool.operations["delete"].call({"book": "a"}, scope))
        await looked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        may_go_on.set()
        (left,) = scope.left_running
        assert (await left).error.exception.details == {"asked": "unavailable"}

    InstantClock().run(run())
    assert (tool.deleted, person.questions) == ([], [])


class Diary(BaseTool):
    @operation(read_only=True, confirm=True, recovery=[StaleCache(60, 60)])
    async def read(self) -> str:
        """Read a page."""
        return "page"

    @operation(confirm=True, recovery=[Fallback(lambda: "substitute", on=ToolError)])
    async def tear(self) -> str:
        """Tear a page out."""
        return "page"

    @operation(confirm=True, recovery=[Fallback(lambda: "substitute", on=ApprovalRequired)])
    async def cover(self) -> str:
        """Cover a page."""
        return "page"


def test_no_answer_that_was_kept_goes_out_without_consent() -> None:
    tool, person = Diary(runtime=quiet_runtime()), Person(YES, Answer("decline"))
    assert _call(tool, "read", {}, person).data == "page"
    assert [_call(tool, "read", {}, one).success for one in (person, None)] == [False, False]
    assert len(person.questions) == 2


@pytest.mark.parametrize(("name", "data"), [("tear", None), ("cover", "substitute")])
def test_a_substitute_for_a_call_without_consent_is_one_that_its_author_names(name: str, data: str | None) -> None:
    assert _call(Diary(runtime=quiet_runtime()), name, {}, Person(Answer("decline"))).data == data


def test_consent_is_declared_in_one_of_three_ways() -> None:
    with pytest.raises(TypeError, match="confirm is True, False or 'when destructive', not 'always'"):

        @operation(confirm="always")  # type: ignore[call-overload]
        async def f(self: Any, book: Annotated[str, Field()]) -> str:
            """F."""
            return book
