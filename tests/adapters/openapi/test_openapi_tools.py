"""Tools from a document: what is sent, what failures say of effects, and where credentials go."""

from __future__ import annotations

import asyncio
import json

import pytest

from failsoft import ConfigurationError
from failsoft.adapters.openapi import OpenAPITools
from failsoft.testing import connected
from tests.adapters.openapi.shop import PATHS, document, serving, target

KEY = "dev.failsoft/idempotency-key"


@pytest.fixture
def service():
    with serving() as service:
        yield service


@pytest.fixture
def tools(service):
    return OpenAPITools(document(), settings={"base_url": f"{service.url}/v1", "token": "secret-token-1"})


def called(tools, operation, **arguments):
    """Return the answer to one call."""

    async def play():
        async with tools:
            return await tools.execute_with_error_handling(operation, arguments)

    return asyncio.run(play())


def test_operations_are_annotated_by_their_methods(tools):
    hints = {name: bound.annotations for name, bound in tools.operations.items()}
    assert hints == {
        "list_items": {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True},
        "create_item": {"readOnlyHint": False, "idempotentHint": False},
        "get_item": {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True},
        "put_item": {"readOnlyHint": False, "idempotentHint": True},
        "delete_item": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False},
        "place_order": {"readOnlyHint": False, "idempotentHint": False},
    }


def test_parameters_are_written_in_their_styles(tools, service):
    service.answer(200, [{"id": 1, "title": "tea"}])
    answer = called(
        tools, "list_items", limit=5, tag=["a", "b&c"], ids=[1, 2], filter={"size": {"min": 2}}, x_trace="t1"
    )
    assert answer.data == [{"id": 1, "title": "tea"}]
    (request,) = service.requests
    query = "limit=5&tag=a&tag=b%26c&ids=1%2C2&filter%5Bsize%5D%5Bmin%5D=2"
    assert (request[0], target(request)) == ("GET", ("/v1/items", query))
    assert request[2]["x-trace"] == "t1"


def test_a_body_is_sent_as_json_or_as_a_form(tools, service):
    assert called(tools, "put_item", item_id="a/b", title="tea", price=2.5).success
    assert called(tools, "place_order", item="tea", address={"city": "Oslo"}, expand=["a"]).success
    put, order = service.requests
    assert (target(put)[0], json.loads(put[3])) == ("/v1/items/a%2Fb", {"title": "tea", "price": 2.5})
    assert order[3] == b"item=tea&address%5Bcity%5D=Oslo&expand%5B0%5D=a"


@pytest.mark.parametrize("item_id", ["..", ".", ""])
def test_no_argument_leads_to_another_path(tools, service, item_id):
    answer = called(tools, "delete_item", item_id=item_id)
    assert (answer.error.category, answer.error.effect) == ("invalid_argument", "none")
    assert service.requests == []


def test_a_header_takes_no_line_break(tools, service):
    assert called(tools, "list_items", x_trace="a\r\nHost: evil").error.category == "invalid_argument"
    assert service.requests == []


def test_arguments_are_checked_by_the_document(tools, service):
    found = called(tools, "create_item", title="", size="huge", price=0, id=3).error
    assert sorted(fault.path for fault in found.violations) == ["id", "price", "size", "title"]
    assert service.requests == []


@pytest.mark.parametrize(
    ("operation", "status", "category", "effect", "when"),
    [
        ("get_item", 404, "not_found", "none", "after_fix"),
        ("delete_item", 404, "not_found", "none", "after_fix"),
        ("create_item", 400, "invalid_argument", "none", "after_fix"),
        ("create_item", 409, "conflict", "none", "after_fix"),
        ("create_item", 408, "timeout", "unknown", "never"),
        ("create_item", 401, "unauthenticated", "none", "after_fix"),
        ("create_item", 500, "upstream_error", "unknown", "never"),
        ("create_item", 503, "unavailable", "unknown", "never"),
        ("create_item", 307, "upstream_error", "unknown", "never"),
        ("create_item", None, "unavailable", "unknown", "never"),
    ],
)
def test_a_failure_says_what_was_changed(tools, service, operation, status, category, effect, when):
    service.answers.append(None if status is None else (status, {"Location": "/elsewhere"}, {"title": "No."}))
    arguments = {"title": "tea"} if operation == "create_item" else {"item_id": "7"}
    error = called(tools, operation, **arguments).error
    assert (error.category, error.effect, error.retry.when) == (category, effect, when)
    assert len(service.requests) == 1


def test_problem_details_are_quoted(tools, service):
    problem = {"type": "about:blank", "title": "Refused", "detail": "no `tea`\nleft", "status": 422}
    service.answers.append((422, {"Content-Type": "application/problem+json"}, problem))
    error = called(tools, "create_item", title="tea").error
    assert "\"no 'tea' left\"" in error.message


def test_a_read_is_repeated_after_the_wait_that_the_service_asks_for(tools, service):
    service.answer(503, Retry_After="0")
    service.answer(200, {"id": 7, "title": "tea"})
    answer = called(tools, "get_item", item_id="7")
    assert answer.data["id"] == 7
    assert len(service.requests) == 2


def test_a_limited_write_says_how_long_to_wait(tools, service):
    service.answer(429, Retry_After="3600")
    error = called(tools, "create_item", title="tea").error
    assert (error.effect, error.retry.when, error.retry.after_seconds) == ("none", "after_delay", 3600)


def test_a_keyed_write_is_repeated_with_its_key_where_the_service_takes_one(tools, service):
    service.answers.append(None)
    service.answer(201, {"number": 1})

    async def play():
        async with connected(tools) as client:
            answer = await client.call_tool("place_order", {"item": "tea"}, meta={KEY: "5f1b9f5e-7a0c-4f0e"})
            await client.call_tool("create_item", {"title": "tea"}, meta={KEY: "5f1b9f5e-7a0c-4f0f"})
            return answer.structured_content

    assert asyncio.run(play())["data"] == {"number": 1}
    *orders, item = service.requests
    keys = {headers.get("idempotency-key") for _, _, headers, _ in orders}
    assert (len(orders), len(keys), None in keys) == (2, 1, False)
    assert "idempotency-key" not in item[2]


def test_credentials_are_sent_where_the_operation_needs_them(service):
    settings = {"base_url": service.url, "token": "secret-token-1", "key": "secret-key-1"}
    tools = OpenAPITools(document(), settings=settings)
    called(tools, "place_order", item="tea")
    called(tools, "get_item", item_id="7")
    order, item = service.requests
    assert (order[2]["authorization"], target(order)[1]) == ("Bearer secret-token-1", "")
    assert "authorization" not in item[2]
    called(OpenAPITools(document(), settings={**settings, "token": None}), "place_order", item="tea")
    assert target(service.requests[-1])[1] == "api_key=secret-key-1"


def test_credentials_do_not_follow_a_redirect_to_another_host(service):
    tools = OpenAPITools(document(security=[{"token": []}]), settings={"base_url": service.url, "token": "secret-1"})
    with serving() as other:
        service.answer(302, Location=f"{other.url}/items/7")
        error = called(tools, "get_item", item_id="7").error
        assert other.requests == []
    assert error.category == "upstream_error"
    assert "secret-1" not in repr(error)
    service.answer(302, Location="/items/8")
    service.answer(200, {"id": 8, "title": "tea"})
    assert called(tools, "get_item", item_id="7").data["id"] == 8
    assert service.requests[-1][2]["authorization"] == "Bearer secret-1"


def test_a_secret_in_the_query_is_in_no_message_and_no_log(service, capfd):
    settings = {"base_url": service.url, "key": "secret-key-1"}
    service.answer(500, {"detail": "?"})
    answer = called(OpenAPITools(document(), settings=settings), "place_order", item="tea")
    assert "secret-key-1" not in repr(answer)
    assert "secret-key-1" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("status", [200, 400, 401, 404, 409, 500])
@pytest.mark.parametrize("form", ["{}", "Basic {}", "https%3A%2F%2Fx%2F%3Fk%3D{}"])
def test_a_credential_that_the_service_repeats_reaches_no_caller_and_no_log(service, capfd, status, form):
    tools = OpenAPITools(document(), settings={"base_url": service.url, "key": 'Zq7v"Tr9xLm2'})
    spelt = {"{}": 'Zq7v"Tr9xLm2', "Basic {}": "WnE3diJUcjl4TG0y"}.get(form, "Zq7v%22Tr9xLm2")
    service.answer(status, {"error": f"no account of {form.format(spelt)}"})
    answer = called(tools, "place_order", item="tea")
    assert "<redacted>" in repr(answer) or status == 500
    for shown in (repr(answer), *capfd.readouterr()):
        assert not any(part in shown for part in (spelt, "Tr9xLm2"))


@pytest.mark.parametrize("name", ["a; sid=evil; b", "a\r\nX-Evil: 1", "", "é", "a=b"])
def test_no_name_of_a_field_becomes_another_cookie(service, name):
    cookie = {"name": "c", "in": "cookie", "schema": {"type": "object"}}
    tools = OpenAPITools(
        document({"/x": {"get": {"operationId": "x", "parameters": [cookie]}}}), settings={"base_url": service.url}
    )
    assert called(tools, "x", c={name: "1"}).error.category == "invalid_argument"
    assert service.requests == []


def test_no_argument_is_sent_beside_a_credential_of_its_name(service):
    parameters = [
        {"name": "q", "in": "query", "schema": {"type": "object"}},
        {"name": "x-key", "in": "header", "schema": {"type": "string"}},
    ]
    schemes = {
        "q": {"type": "apiKey", "in": "query", "name": "k"},
        "h": {"type": "apiKey", "in": "header", "name": "X-Key"},
    }
    paths = {"/x": {"get": {"operationId": "x", "parameters": parameters}}}
    tree = document(paths, components={"securitySchemes": schemes}, security=[{"q": [], "h": []}])
    tools = OpenAPITools(tree, settings={"base_url": service.url, "q": "secret-1", "h": "secret-2"})
    assert called(tools, "x", q={"k": "evil", "n": "1"}, x_key="evil").success
    assert target(service.requests[0])[1] == "n=1&k=secret-1"
    assert service.requests[0][2]["x-key"] == "secret-2"


def test_a_redirect_to_no_address_is_the_fault_of_the_service(tools, service):
    service.answer(302, Location="http://[::1")
    assert called(tools, "get_item", item_id="7").error.category == "upstream_error"


def test_an_answer_without_a_body_and_one_that_is_no_json(tools, service):
    service.answer(204)
    assert called(tools, "delete_item", item_id="7").data is None
    service.answers.append((200, {"Content-Type": "application/json", "Content-Length": "0"}, {}))
    assert called(tools, "get_item", item_id="7").data is None
    service.answers.append((200, {"Content-Type": "text/plain"}, "plain"))
    assert called(tools, "get_item", item_id="7").data == '"plain"'
    service.answers.append((200, {"Content-Type": "application/json", "Content-Length": "1"}, {}))
    error = called(tools, "create_item", title="tea").error
    assert (error.code, error.effect) == ("BAD_OUTPUT", "applied")


def test_settings_come_from_the_environment(service, monkeypatch):
    monkeypatch.setenv("FAILSOFT_SHOP_BASE_URL", service.url)
    monkeypatch.setenv("FAILSOFT_SHOP_TOKEN", "secret-token-2")
    called(OpenAPITools(document()), "place_order", item="tea")
    assert service.requests[0][2]["authorization"] == "Bearer secret-token-2"


def test_an_address_that_is_missing_names_its_setting():
    with pytest.raises(ConfigurationError, match="base_url"):
        OpenAPITools(document())


def test_only_operations_of_the_tags_are_offered():
    settings = {"base_url": "http://127.0.0.1:1"}
    assert list(OpenAPITools(document(), tags=["orders"], settings=settings).operations) == ["place_order"]
    with pytest.raises(ConfigurationError, match="did you mean 'orders'"):
        OpenAPITools(document(), tags=["order"], settings=settings)


def test_two_toolsets_in_one_process_have_their_own_settings(service):
    one = OpenAPITools(document(), name="one", settings={"base_url": service.url})
    two = OpenAPITools(document({"/x": PATHS["/orders"]}), name="two", settings={"base_url": service.url})
    assert [type(tool.settings).variables()["base_url"] for tool in (one, two)] == [
        ("FAILSOFT_ONE_BASE_URL",),
        ("FAILSOFT_TWO_BASE_URL",),
    ]
