"""Declaring operations: what is offered, what is refused when the class or the tool is made, and how they inherit."""

from __future__ import annotations

import functools
from typing import Annotated, Any

import pytest
from pydantic import Field

from failsoft import BaseTool, CallContext, NotFound, Reference, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Shelf(BaseTool):
    """What is declared is what is offered."""

    @operation(read_only=True, title="Look it up")
    async def look_up(self, word: str, limit: Annotated[int, Field(ge=1, description="How many")] = 3) -> list[str]:
        """Return the lines that have the word.

        Every line is cut.
        """
        return [word] * limit

    @operation(name="shelf.put", destructive=True, open_world=False, timeout=2.5)
    async def put(self, call: CallContext, word: str, *, twice: bool = False) -> int:
        """Put a word on the shelf."""
        assert call.operation == "shelf.put"
        return len(word) * (2 if twice else 1)

    @operation(idempotent=True)
    def plain(self) -> None:
        """Do nothing."""


@pytest.fixture
def shelf() -> Shelf:
    return Shelf(runtime=quiet_runtime())


def test_an_operation_is_offered_with_what_was_declared(shelf: Shelf) -> None:
    bound = shelf.operations["look_up"]
    assert (bound.name, bound.title, bound.read_only) == ("look_up", "Look it up", True)
    assert bound.description == "Return the lines that have the word.\n\nEvery line is cut."
    assert bound.input_schema == {
        "type": "object",
        "properties": {
            "word": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "description": "How many", "default": 3},
        },
        "required": ["word"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("name", "annotations"),
    [
        ("look_up", {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}),
        (
            "shelf.put",
            {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False},
        ),
        ("plain", {"readOnlyHint": False, "idempotentHint": True}),
    ],
)
def test_annotations_say_what_was_declared_and_nothing_else(shelf: Shelf, name: str, annotations: Any) -> None:
    assert shelf.operations[name].annotations == annotations


def test_the_context_is_never_part_of_the_schema(shelf: Shelf) -> None:
    assert list(shelf.operations["shelf.put"].input_schema["properties"]) == ["word", "twice"]


async def test_a_renamed_operation_is_reached_by_both_names(shelf: Shelf) -> None:
    for name in ("shelf.put", "put"):
        assert (await shelf.execute_with_error_handling(name, {"word": "abc", "twice": True})).data == 6
    assert (await shelf.put(word="abc")).data == 3
    assert "put" not in shelf.operations


async def test_positional_arguments_of_a_direct_call_take_the_parameters_in_order(shelf: Shelf) -> None:
    assert (await shelf.look_up("a", 2)).data == ["a", "a"]
    assert (await shelf.put("abc")).data == 3


async def test_one_argument_too_many_and_one_given_twice_are_refused(shelf: Shelf) -> None:
    surplus: Any = shelf.look_up
    for response in (await surplus("a", 2, 3), await surplus("a", word="b")):
        assert response.error is not None
        assert response.error.code == "INVALID_PARAM"
        assert [item.reason for item in response.error.violations] == ["unexpected"]


async def test_an_annotation_may_name_what_is_local_to_a_function() -> None:
    Word = Annotated[str, Field(max_length=2)]  # noqa: N806 - a type

    class Local(BaseTool):
        @operation(read_only=True)
        async def take(self, word: Word) -> Word:
            """Return the word."""
            return word

    tool = Local(runtime=quiet_runtime())
    assert (await tool.take(word="ab")).data == "ab"
    assert (await tool.take(word="abc")).error is not None


async def test_an_annotation_may_name_what_is_defined_later() -> None:
    class Forward(BaseTool):
        @operation(read_only=True)
        async def take(self, item: Later) -> int:
            """Return the number."""
            return item["number"]

    assert (await Forward(runtime=quiet_runtime()).take(item={"number": 3})).data == 3


def _generator(self: Any) -> Any:
    yield 1


async def _async_generator(self: Any) -> Any:
    yield 1


REFUSED_FUNCTIONS: dict[str, Any] = {
    "static": staticmethod(lambda: 1),
    "class": classmethod(lambda cls: cls),
    "property": property(lambda self: self),
    "generator": _generator,
    "async generator": _async_generator,
    "no function": 5,
}


@pytest.mark.parametrize("kind", REFUSED_FUNCTIONS)
def test_what_is_no_method_with_one_value_is_refused_at_once(kind: str) -> None:
    with pytest.raises(TypeError):
        operation(name="x")(REFUSED_FUNCTIONS[kind])


@pytest.mark.parametrize(
    "facts",
    [
        {"name": "with space"},
        {"name": "umläut"},
        {"name": "a" * 129},
        {"name": "slash/name"},
        {"timeout": 0},
        {"timeout": -1},
        {"timeout": float("nan")},
    ],
)
def test_facts_that_cannot_be_are_refused_at_once(facts: Any) -> None:
    async def handler(self: Any) -> None: ...

    with pytest.raises(TypeError):
        operation(**facts)(handler)


async def _star(self: Any, *words: str) -> None: ...
async def _positional(self: Any, word: str, /) -> None: ...
async def _undefined(self: Any, word: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821 - it leads nowhere on purpose
async def _keywords(self: Any, **words: str) -> None: ...
async def _no_json(self: Any, word: BaseTool) -> None: ...
async def _no_self(*, word: str) -> None: ...
async def _nothing() -> None: ...
async def _deep_reference(self: Any, words: dict[str, Annotated[str, Reference(print)]]) -> None: ...


@pytest.mark.parametrize(
    "handler",
    [_star, _positional, _undefined, _keywords, _no_json, _no_self, _nothing, _deep_reference],
    ids=lambda handler: handler.__name__,
)
def test_a_signature_that_cannot_be_offered_is_refused_when_the_tool_is_made(handler: Any) -> None:
    kind = type("Refused", (BaseTool,), {"take": operation(name="take")(handler)})
    with pytest.raises(TypeError):
        kind(runtime=quiet_runtime())


@pytest.mark.parametrize("attribute", ["name", "runtime", "operations", "bound", "describe", "startup", "toolbox"])
def test_an_operation_may_not_hide_a_part_of_the_base(attribute: str) -> None:
    async def handler(self: Any) -> None: ...

    with pytest.raises(TypeError):
        type("Hiding", (BaseTool,), {attribute: operation(name="free")(handler)})


def test_two_operations_of_one_name_are_refused() -> None:
    class Twice(BaseTool):
        @operation(name="same")
        async def one(self) -> None: ...

        @operation(name="same")
        async def two(self) -> None: ...

    with pytest.raises(TypeError, match="same"):
        Twice(runtime=quiet_runtime())


def test_a_check_that_asks_for_what_is_not_there_is_refused_when_the_tool_is_made() -> None:
    class Typo(BaseTool):
        @operation()
        async def take(self, word: str) -> None: ...

        @take.check
        def check_word(self, wrod: str) -> None: ...

    with pytest.raises(TypeError, match="wrod"):
        Typo(runtime=quiet_runtime())


class Base(BaseTool):
    """A toolset to inherit from."""

    @operation(read_only=True)
    async def double(self, number: int) -> int:
        """Return twice the number."""
        return number * 2

    @double.check
    def not_zero(self, number: int) -> None:
        if number == 0:
            raise NotFound(message="There is no zero here.")

    @operation(read_only=True)
    async def other(self) -> str:
        """Return a word."""
        return "other"


class Overriding(Base):
    """Overrides one operation and one check, and hides another operation."""

    @operation(read_only=True, timeout=3)
    async def double(self, number: int) -> int:
        """Return twice the number and one."""
        below = await super().double(number=number)
        assert below.data is not None
        return below.data + 1

    other = None  # type: ignore[assignment]


class Stricter(Base):
    """Adds a check to an operation that it inherits, and overrides the other check."""

    @Base.double.check
    def not_one(self, number: int) -> None:
        if number == 1:
            raise NotFound(message="There is no one here.")

    def not_zero(self, number: int) -> None:
        """Accept zero as well."""


class Sibling(Base):
    """Adds nothing."""


async def test_super_reaches_the_operation_that_was_overridden() -> None:
    tool = Overriding(runtime=quiet_runtime())
    assert (await tool.double(number=4)).data == 9
    assert list(tool.operations) == ["double"]
    assert tool.operations["double"].timeout_s == 3


@pytest.mark.parametrize(
    ("kind", "number", "succeeds"),
    [(Base, 0, False), (Base, 1, True), (Sibling, 1, True), (Stricter, 0, True), (Stricter, 1, False)],
)
async def test_checks_of_a_subclass_are_its_own(kind: type[Base], number: int, succeeds: bool) -> None:
    response = await kind(runtime=quiet_runtime()).double(number=number)
    assert response.success is succeeds


async def test_a_sync_wrapper_around_an_async_handler_is_awaited() -> None:
    def plainly(function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return inner

    class Wrapped(BaseTool):
        @operation(read_only=True)
        @plainly
        async def take(self, number: int) -> int:
            """Return the number."""
            return number

    assert (await Wrapped(runtime=quiet_runtime()).take(number=3)).data == 3


Later = dict[str, int]
