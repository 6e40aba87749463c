"""Other accepted names of a parameter."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field

from failsoft import Alias, BaseTool, CallContext, NotFound, Reference, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


def known(value: str) -> None:
    """Look a person up."""
    if value == "nobody":
        raise NotFound("No such person.")


class Post(BaseTool):
    """Sends letters."""

    @operation
    async def send(
        self,
        call: CallContext,
        to: Annotated[str, Alias("recipient", "sent_to"), Reference(known)],
        text: Annotated[str, Alias("body")] = "",
        copies: Annotated[int, Alias("number")] = 1,
    ) -> dict[str, Any]:
        """Send a letter."""
        return {"to": to, "text": text, "copies": copies, "params": dict(call.params)}

    @operation(read_only=True)
    async def find(self, query: Annotated[str, Alias("q"), Field(min_length=1)]) -> str:
        """Find a letter."""
        return query


async def answered(name: str, arguments: dict[str, Any]) -> Any:
    return await Post(runtime=quiet_runtime()).execute_with_error_handling(name, arguments)


async def test_a_call_with_another_name_is_accepted_as_if_the_own_one_had_been_sent() -> None:
    response = await answered("send", {"recipient": "Ann", "body": "Hello", "number": 2})
    own = {"to": "Ann", "text": "Hello", "copies": 2}
    assert response.unwrap() == {**own, "params": own}
    assert (await answered("find", {"q": "x"})).unwrap() == "x"


async def test_the_schema_has_the_own_names_alone() -> None:
    schema = Post(runtime=quiet_runtime()).operations["send"].input_schema
    assert list(schema["properties"]) == ["to", "text", "copies"]
    assert (schema["required"], schema["additionalProperties"]) == (["to"], False)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"to": "Ann", "recipient": "Bob"}, "recipient"),
        ({"recipient": "Bob", "to": "Ann"}, "recipient"),
        ({"recipient": "Bob", "sent_to": "Ann"}, "sent_to"),
    ],
)
async def test_two_names_of_one_parameter_are_refused(given: dict[str, Any], path: str) -> None:
    failure = (await answered("send", given)).error
    assert [(item.path, item.reason, item.suggestion) for item in failure.violations] == [(path, "unexpected", None)]
    assert failure.next_step is None


async def test_another_spelling_of_another_name_is_corrected_to_the_own_name_even_for_a_write() -> None:
    failure = (await answered("send", {"Sent-To": "Ann"})).error
    assert failure.next_step.to_dict() == {"tool": "send", "arguments": {"to": "Ann"}}
    failure = (await answered("send", {"recipiant": "Ann"})).error
    assert failure.next_step is None
    assert {item.path: item.suggestion for item in failure.violations} == {"recipiant": "to"}


async def test_faults_are_told_by_the_own_name() -> None:
    failure = (await answered("send", {"recipient": "Ann", "number": "2"})).error
    assert [(item.path, item.reason) for item in failure.violations] == [("copies", "type")]
    assert failure.next_step.to_dict() == {"tool": "send", "arguments": {"to": "Ann", "copies": 2}}
    assert (await answered("send", {"recipient": "nobody"})).error.code == "NOT_FOUND"


async def test_a_direct_call_may_use_another_name_too() -> None:
    response = await Post(runtime=quiet_runtime()).send(recipient="Ann")  # type: ignore[call-arg]  # callers of a tool
    assert response.unwrap()["to"] == "Ann"


def declared(first: Any, second: Any) -> None:
    class Taken(BaseTool):
        """Has two parameters."""

        @operation
        async def act(self, one: first, two: second = "") -> str:
            """Act."""
            return f"{one}{two}"

    Taken(runtime=quiet_runtime())


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        (Annotated[str, Alias("two")], str, ("two", "one")),
        (Annotated[str, Alias("Two")], str, ("Two", "one", "two")),
        (Annotated[str, Alias("three")], Annotated[str, Alias("three")], ("three", "one", "two")),
        (Annotated[str, Alias("one")], str, ("one",)),
        (list[Annotated[str, Alias("three")]], str, ("one",)),
    ],
)
def test_a_name_of_two_parameters_is_refused_at_import(first: Any, second: Any, names: tuple[str, ...]) -> None:
    with pytest.raises(TypeError) as refused:
        declared(first, second)
    assert [name for name in names if f"'{name}'" not in str(refused.value)] == []


@pytest.mark.parametrize("names", [(), ("",), ("a", " ")])
def test_an_alias_has_names(names: Any) -> None:
    with pytest.raises(TypeError):
        Alias(*names)
