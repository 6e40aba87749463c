"""Questions through a proxy: the upstream's reach the person whose call it is, and its own guard foreign tools."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client

from tests.doors import question_from
from tests.proxy.conftest import proxied
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).with_name("asking_server.py")
FORM = {"type": "object", "properties": {"day": {"type": "string", "title": "Day"}}, "required": ["day"]}
QUESTION = {"message": "Which day?\nAnswer!", "requestedSchema": FORM}


class Person:
    """Answers every question in the same way, and keeps what was shown."""

    def __init__(self, action: Any = "accept", **content: Any) -> None:
        self.result = types.ElicitResult(action=action, content=content or None)
        self.shown: list[types.ElicitRequestFormParams] = []

    async def __call__(self, _ctx: Any, params: Any) -> types.ElicitResult:
        self.shown.append(params)
        return self.result


def upstream(file: Path) -> list[str]:
    return [PYTHON, str(SERVER), str(file)]


async def told(client: Client, tool: str, arguments: dict[str, Any]) -> Any:
    result = await client.call_tool(tool, arguments)
    return result.structured_content if result.is_error else json.loads(result.content[0].text)


async def test_a_question_of_the_upstream_reaches_the_person_marked_as_its_own(tmp_path: Path) -> None:
    person = Person(day="Monday")
    async with proxied(
        "--name", "calendar", upstream=upstream(tmp_path / "f"), mode="legacy", elicitation_callback=person
    ) as client:
        assert await told(client, "ask", dict(QUESTION)) == {"action": "accept", "content": {"day": "Monday"}}
        (shown,) = person.shown
        assert shown.message.startswith('The server "calendar" asks')
        assert "\n" not in shown.message
        assert shown.requested_schema["properties"] == FORM["properties"]
        person.result = types.ElicitResult(action="decline")
        assert (await told(client, "ask", dict(QUESTION)))["action"] == "decline"


async def test_a_question_that_nobody_can_tell_whose_it_is_is_declined(tmp_path: Path) -> None:
    person = Person(day="Monday")
    async with proxied(upstream=upstream(tmp_path / "f"), mode="legacy", elicitation_callback=person) as client:
        answers = await asyncio.gather(*(told(client, "ask", {**QUESTION, "wait": 2}) for _ in range(2)))
    assert [answer["action"] for answer in answers] == ["decline", "decline"]
    assert person.shown == []


async def test_a_question_for_a_secret_is_declined(tmp_path: Path) -> None:
    person, form = Person(login="x"), {"type": "object", "properties": {"login": {"type": "string"}}}
    async with proxied(upstream=upstream(tmp_path / "f"), mode="legacy", elicitation_callback=person) as client:
        for question in ({"message": "Your password, please"}, {"message": "Your API key?"}):
            answer = await told(client, "ask", {**question, "requestedSchema": form})
            assert answer["action"] == "decline"
    assert person.shown == []


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_result_of_the_upstream_that_asks_reaches_the_person_in_both_eras(mode: str) -> None:
    person, command = Person(day="Monday"), [PYTHON, str(SERVER.with_name("input_server.py"))]
    async with proxied("--name", "calendar", upstream=command, mode=mode, elicitation_callback=person) as client:
        assert (await client.call_tool("book", {"field": "day"})).content[0].text == "Monday"
        (shown,) = person.shown
        assert shown.message.startswith('The server "calendar" asks')
        refused = await client.call_tool("book", {"field": "password"})
        assert (refused.is_error, "secret" in refused.content[0].text) == (True, True)
    assert len(person.shown) == 1


@pytest.mark.parametrize(
    "properties",
    [
        {"password": {"type": "string"}},
        {"login": {"type": "string", "format": "password"}},
        {"login": {"type": "string", "title": "Access token"}},
        {"login": {"type": "string", "writeOnly": True}},
        {"login": {"type": "object"}},
        {f"field_{number}": {"type": "string"} for number in range(21)},
        {"login": {"type": "string", "title": "PIN"}},
        {"login": {"type": "string", "description": "Your credit card number"}},
        {"login": {"type": "string", "title": "Seed phrase"}},
        {"login": {"type": ["string"]}},
        {"day\nThe server asks": {"type": "string"}},
        {"d" * 81: {"type": "string"}},
        {"day": {"type": "string", "enum": []}},
        {"day": {"type": "array", "items": {"type": "string"}}},
        {"day": {"type": "array", "items": {"type": "string", "enum": ["Monday\nTuesday"]}}},
        {"day": {"type": "array", "items": {"anyOf": [{"const": "1"}]}}},
        {"day": {"type": "string", "enum": ["Monday\nTuesday"]}},
        {"day": {"type": "string", "enum": ["x" * 201]}},
        {"day": {"type": "string", "enum": [["Monday"]]}},
        {"day": {"type": "string", "enum": [str(number) for number in range(101)]}},
        {"day": {"type": "string", "oneOf": [{"const": "1", "title": "Monday\n" * 99}]}},
        {"day": {"type": "string", "oneOf": [{"title": "Monday"}]}},
        {"day": {"type": "string", "enum": ["1"], "enumNames": ["Monday\n"]}},
        {"password": {"type": "string", "enumNames": ["x"]}},
    ],
    ids=lambda one: str(next(iter(one.items())))[:60],
)
def test_what_is_no_plain_form_without_secrets_is_not_asked(properties: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"it is no form|its field"):
        question_from("calendar", "Which?", {"type": "object", "properties": properties})


def test_several_may_be_chosen_of_what_is_listed() -> None:
    titled = {"anyOf": [{"const": "1", "title": "Monday"}]}
    days = {"type": "array", "items": {"type": "string", "enum": ["Monday"]}, "minItems": 1, "maxItems": 2}
    question = question_from("calendar", "Which?", {**FORM, "properties": {"days": {**days, "uniqueItems": True}}})
    assert question.schema["properties"] == {"days": days}
    question = question_from("calendar", "Which?", {**FORM, "properties": {"days": {**days, "items": titled}}})
    assert question.schema["properties"] == {"days": {**days, "items": titled}}


def test_a_warning_of_giving_secrets_away_asks_for_none() -> None:
    said = "Your favorite integer (do not give us your phone number, pin, or other sensitive info)"
    field = {"type": "integer", "description": said}
    question = question_from("calendar", "Which?", {**FORM, "properties": {"integer": field}})
    assert question.schema["properties"] == {"integer": field}
    field["description"] = "Never share it; your pin"
    with pytest.raises(ValueError, match="is a secret"):
        question_from("calendar", "Which?", {**FORM, "properties": {"integer": field}})


@pytest.mark.parametrize(("message", "required"), [("Which?", 5), ("Which?", [["day"]]), (None, []), (["Which?"], [])])
def test_a_question_that_is_malformed_is_not_asked(message: Any, required: Any) -> None:
    with pytest.raises(ValueError, match=r"it is no form|it says nothing"):
        question_from("calendar", message, {**FORM, "required": required})


def test_a_field_has_nothing_that_is_unbounded_or_unknown() -> None:
    bounds = {"type": "string", "minLength": 1, "maxLength": 9, "format": "date", "title": "Day"}
    unknown = {"default": "x" * 5_000, "pattern": "(a+)+$", "minimum": [1], "$ref": "http://x", "x": {}}
    question = question_from("calendar", "Which?", {**FORM, "properties": {"day": {**bounds, **unknown}}})
    assert question.schema["properties"] == {"day": bounds}
    listed = {"type": "string", "oneOf": [{"const": "1", "title": "Monday"}], "default": "1"}
    question = question_from("calendar", "Which?", {**FORM, "properties": {"day": listed}})
    assert question.schema["properties"] == {"day": listed}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_that_a_person_has_allowed_asks_nothing_more(tmp_path: Path, mode: str) -> None:
    overrides, command = tmp_path / "tools.toml", [PYTHON, str(SERVER.with_name("input_server.py"))]
    overrides.write_text("[defaults]\nconfirm = true\n")
    person = Person(confirm=True, day="Monday")
    async with proxied(
        "--overrides", str(overrides), upstream=command, mode=mode, elicitation_callback=person
    ) as client:
        refused = await client.call_tool("book", {"field": "day"})
    assert (refused.is_error, "UNSUPPORTED" in refused.content[0].text, len(person.shown)) == (True, True, 1)


async def test_a_question_ends_with_the_call_that_it_was_asked_in(tmp_path: Path) -> None:
    taken_back = asyncio.Event()

    async def person(_ctx: Any, _params: Any) -> Any:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            taken_back.set()
            raise

    async with proxied(upstream=upstream(tmp_path / "f"), mode="legacy", elicitation_callback=person) as client:
        assert await told(client, "ask", {**QUESTION, "waits": False}) == {"waits": False}
        async with asyncio.timeout(10):
            await taken_back.wait()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_foreign_tool_runs_only_with_the_consent_that_the_operator_asks_for(tmp_path: Path, mode: str) -> None:
    overrides, file = tmp_path / "tools.toml", tmp_path / "wiped"
    overrides.write_text('[defaults]\nconfirm = "when destructive"\n[tools.ask]\nconfirm = false\n')
    person = Person(confirm=False)
    options = ("--overrides", str(overrides))
    async with proxied(*options, upstream=upstream(file), mode=mode, elicitation_callback=person) as client:
        refused = await client.call_tool("wipe", {})
        assert (refused.is_error, file.exists()) == (True, False)
        person.result = types.ElicitResult(action="accept", content={"confirm": True})
        assert not (await client.call_tool("wipe", {})).is_error
    assert file.read_text() == "wiped\n"
    assert len(person.shown) == 2


async def test_a_client_that_cannot_be_asked_runs_no_tool_that_needs_consent(tmp_path: Path) -> None:
    overrides, file = tmp_path / "tools.toml", tmp_path / "wiped"
    overrides.write_text("[tools.wipe]\nconfirm = true\n")
    async with proxied("--overrides", str(overrides), upstream=upstream(file)) as client:
        refused = await client.call_tool("wipe", {})
    assert (refused.is_error, "APPROVAL_REQUIRED" in refused.content[0].text, file.exists()) == (True, True, False)
