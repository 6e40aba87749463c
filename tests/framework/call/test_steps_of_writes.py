"""On operations that change something, next steps and suggestions keep what the caller meant."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from failsoft import BaseTool, DocumentNotFound, InvalidParameter, Reference, ToolResponse, Violation, operation
from failsoft.recovery import Call

pytestmark = pytest.mark.anyio

Unit = Literal["metric", "imperial"]
State = Literal["paid", "refunded"]
Role = Literal["buyer", "trainer", "tester", "testes"]


class Box(BaseModel):
    """A box."""

    count: int


class Bank(BaseTool):
    """Writes whose arguments have names and values that are easily taken for others."""

    def known_page(self, path: str) -> None:
        """Look a page up."""
        if path != "menu.txt":
            raise DocumentNotFound(path=path, suggestions=["menu.txt"])

    @operation(destructive=True)
    async def transfer(self, from_account: str, amount: float) -> str:
        """Take an amount from an account."""
        return f"{from_account} {amount}"

    @operation(destructive=True)
    async def delete_order(self, order_id: str) -> str:
        """Delete an order."""
        return order_id

    @operation
    async def charge(self, customer: str, amount: float) -> str:
        """Charge a customer."""
        return f"{customer} {amount}"

    @operation(idempotent=True)
    async def mark(self, invoice: str, state: State) -> str:
        """Set the state of an invoice."""
        return f"{invoice} {state}"

    @operation(idempotent=True)
    async def set_timeout(self, seconds: float, *, active: bool = True) -> str:
        """Set a time limit in seconds."""
        return f"{seconds} {active}"

    @operation(idempotent=True)
    async def set_price(self, max_price: float, line2: str = "", note: str = "none") -> str:
        """Set the highest price."""
        return f"{max_price} {line2} {note}"

    @operation(idempotent=True)
    async def place_order(self, customer_name: str, items: list[str], count: int = 1, unit: Unit = "metric") -> str:
        """Place an order."""
        return f"{customer_name} {items} {count} {unit}"

    @operation(idempotent=True)
    async def ship(self, weight: Annotated[float, Field(description="Weight in kg")]) -> float:
        """Ship a parcel."""
        return weight

    @operation(idempotent=True)
    async def write_page(self, path: Annotated[str, Reference(known_page, kind="spelled")], text: str) -> str:
        """Replace a page."""
        return f"{path} {text}"

    @operation
    async def notify(self, payer: str, recipients: list[str] = [], role: Role = "buyer") -> str:  # noqa: B006 - unchanged
        """Notify people."""
        return f"{payer} {recipients} {role}"

    @operation
    async def pack(self, boxes: list[Box]) -> str:
        """Pack boxes."""
        return str(boxes)

    @operation(idempotent=True)
    async def promote(self, call: Call, level: str, draft: bool = False, dry_run: bool = False) -> str:
        """Look first, and change something then."""
        call.read_only = True
        if level not in {"standard", "critical"}:
            fault = Violation(path="level", reason="enum", message="no level", suggestion="critical")
            raise InvalidParameter.from_violations([fault])
        raise InvalidParameter.from_violations([Violation(path="draft", reason="unexpected", message="is surplus")])

    @operation(idempotent=True)
    async def check(self, state: str) -> str:
        """Refuse a value with a suggestion of the author's own."""
        fault = Violation(path="state", reason="value", message="is unknown", suggestion="closed")
        raise InvalidParameter.from_violations([fault])


async def refused(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the error of a refused call in full."""
    response: ToolResponse[Any] = await Bank().execute_with_error_handling(tool, arguments)
    assert not response.success
    whole = response.to_dict()["error"]
    assert whole["category"] in {"invalid_argument", "not_found"}
    return whole  # type: ignore[no-any-return]


OTHER_MEANINGS: list[tuple[str, dict[str, Any], str]] = [
    ("transfer", {"to_account": "DE1", "amount": 5.0}, "opposite names"),
    ("transfer", {"account": "DE1", "amount": 5.0}, "the only name that is left"),
    ("delete_order", {"user_id": "7"}, "an id of another kind"),
    ("delete_order", {"id": "7"}, "an id of an unknown kind"),
    ("delete_order", {"draft": {"order_id": "7"}}, "an object around the arguments"),
    ("place_order", {"customer_name": "c", "items": "a, b"}, "several items in one text"),
    ("place_order", {"customer_name": "c", "items": "a and b"}, "several words for an item"),
    ("place_order", {"payer_name": "c", "items": ["a"]}, "another role"),
    ("charge", {"customer": "c", "amount": "41.300"}, "a dot that may part thousands"),
    ("charge", {"customer": "c", "amount_cents": 500}, "a unit in the name"),
    ("charge", {"customer": "c", "percent": 5}, "another quantity"),
    ("charge", {"customer": "c", "amount": "5 EUR"}, "a currency"),
    ("mark", {"invoice": "i", "state": "unpaid"}, "a negating prefix"),
    ("mark", {"invoice": "i", "state": "prepaid"}, "an opposing prefix"),
    ("set_timeout", {"seconds": "500 ms"}, "another unit"),
    ("set_timeout", {"seconds": 1.0, "inactive": True}, "a negating prefix of a name"),
    ("set_timeout", {"seconds": 1.0, "active": 0}, "a number for a truth value"),
    ("set_price", {"min_price": 5.0}, "opposite bounds"),
    ("set_price", {"max_price": 5.0, "line1": "x"}, "another number"),
    ("set_price", {"max_price": 5.0, "verbose": True}, "an unknown name"),
    ("set_price", {"max_price": 5.0, "note": None}, "null"),
    ("place_order", {"customer_id": "c", "items": ["a"]}, "an id for a name"),
    ("place_order", {"customer_name": "c", "items": ["a"], "unit": "nonmetric"}, "a negated value"),
    ("notify", {"payer": "p", "payee": "x"}, "who pays for whom is paid"),
    ("notify", {"payee": "p"}, "whom is paid for who pays"),
    ("notify", {"payer": "p", "role": "trainee"}, "whom is trained for who trains"),
    ("notify", {"payer": "p", "role": "testen"}, "two values that are equally near"),
    ("notify", {"payer": "p", "recipients": "a@example.org, b@example.org"}, "several values in one text"),
    ("notify", {"payer": "p", "recipients": '["a@example.org"'}, "JSON that is cut off"),
    ("notify", {"payer": "p", "recipients": '"a@example.org"'}, "a value in quotes"),
    ("notify", {"payer": "p", "recipients": " "}, "a text without a value"),
    ("pack", {"boxes": '[{"count": 1, "count": 100}]'}, "a name twice in JSON text"),
]


@pytest.mark.parametrize(("tool", "arguments", "why"), OTHER_MEANINGS, ids=[item[2] for item in OTHER_MEANINGS])
async def test_no_step_and_no_suggestion_names_what_means_something_else(
    tool: str, arguments: dict[str, Any], why: str
) -> None:
    error = await refused(tool, arguments)
    assert "next_step" not in error, why
    assert not error.get("suggestions"), why
    assert [fault["suggestion"] for fault in error["violations"] if "suggestion" in fault] == [], why
    said = json.dumps(error).casefold()
    assert "did you mean" not in said, why
    assert "leave" not in said, why


async def test_what_was_sent_is_never_advised_to_be_left_out_of_a_nested_object() -> None:
    class Shop(BaseTool):
        @operation
        async def order(self, where: dict[str, Annotated[str, Field(min_length=1)]], gift: str = "") -> str:
            """Order."""
            return f"{where}{gift}"

    response: ToolResponse[Any] = await Shop().execute_with_error_handling(
        "order", {"where": {"a": None}, "gift": None}
    )
    assert "leave" not in json.dumps(response.to_dict()).casefold()


ORDER = {"customer_name": "c", "items": ["a"]}
SAME_MEANINGS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("transfer", {"fromAccount": "DE1", "amount": 5.0}, {"from_account": "DE1", "amount": 5.0}),
    ("transfer", {"FROM-ACCOUNT": "DE1", "Amount": 5.0}, {"from_account": "DE1", "amount": 5.0}),
    ("charge", {"customer": "c", "amount": "5"}, {"customer": "c", "amount": 5.0}),
    ("charge", {"arguments": {"customer": "c", "amount": 5.0}}, {"customer": "c", "amount": 5.0}),
    ("place_order", {"order": {"customer_name": "c", "items": ["a"]}}, {"customer_name": "c", "items": ["a"]}),
    ("mark", {"invoice": "i", "state": "Paid"}, {"invoice": "i", "state": "paid"}),
    ("set_timeout", {"seconds": 1.0, "active": "false"}, {"seconds": 1.0, "active": False}),
    ("place_order", {"customer_name": "c", "items": "a"}, {"customer_name": "c", "items": ["a"]}),
    ("place_order", {"customer_name": "c", "items": '["a", "b"]'}, {"customer_name": "c", "items": ["a", "b"]}),
    ("place_order", {**ORDER, "count": "2"}, {**ORDER, "count": 2}),
]


@pytest.mark.parametrize(("tool", "arguments", "meant"), SAME_MEANINGS)
async def test_a_step_corrects_case_separators_and_another_json_form(
    tool: str, arguments: dict[str, Any], meant: dict[str, Any]
) -> None:
    error = await refused(tool, arguments)
    assert error["next_step"] == {"tool": tool, "arguments": meant}


SLIPS: list[tuple[str, dict[str, Any], str]] = [
    ("transfer", {"from_acount": "DE1", "amount": 5.0}, "from_account"),
    ("place_order", {"custmer_name": "c", "items": ["a"]}, "customer_name"),
    ("mark", {"invoice": "i", "state": "refnded"}, "refunded"),
]


@pytest.mark.parametrize(("tool", "arguments", "meant"), SLIPS)
async def test_a_spelling_mistake_is_asked_about_and_not_corrected(
    tool: str, arguments: dict[str, Any], meant: str
) -> None:
    error = await refused(tool, arguments)
    assert "next_step" not in error
    assert meant in [fault.get("suggestion") for fault in error["violations"]]


async def test_a_unit_that_the_description_names_may_be_suggested_and_is_not_stripped_by_a_step() -> None:
    named, other = await refused("ship", {"weight": "5 kg"}), await refused("ship", {"weight": "5 lb"})
    assert "next_step" not in named
    assert "next_step" not in other
    assert "suggestion" not in other["violations"][0]
    assert named["violations"][0]["suggestion"] == 5.0


async def test_no_step_turns_to_another_record_than_was_sent() -> None:
    for path in ("menu.tx", "Menu.txt", "wine.txt"):
        error = await refused("write_page", {"path": path, "text": "Soup"})
        assert "next_step" not in error
        assert error["suggestions"] == ["Did you mean: menu.txt?"]


async def test_a_suggestion_of_the_author_is_no_step_of_a_write() -> None:
    error = await refused("check", {"state": "closd"})
    assert "next_step" not in error


async def test_an_operation_that_has_only_read_so_far_is_still_one_that_changes_something() -> None:
    error = await refused("promote", {"level": "critcal"})
    assert "next_step" not in error
    surplus = await refused("promote", {"level": "standard", "draft": True})
    assert "leave" not in json.dumps(surplus).casefold()


async def test_the_value_of_a_dry_run_may_be_corrected() -> None:
    error = await refused("promote", {"level": "critcal", "dry_run": True})
    assert error["next_step"]["arguments"] == {"level": "critical", "dry_run": True}


async def test_a_tool_described_by_a_json_schema_follows_the_same_rules() -> None:
    class Proxied(BaseTool):
        @operation(
            input_schema={
                "type": "object",
                "properties": {"from_account": {"type": "string"}, "amount": {"type": "number"}},
                "required": ["from_account", "amount"],
            }
        )
        async def transfer(self, **arguments: Any) -> str:
            """Take an amount from an account."""
            return str(arguments)

    async def error_of(arguments: dict[str, Any]) -> dict[str, Any]:
        response: ToolResponse[Any] = await Proxied().execute_with_error_handling("transfer", arguments)
        return response.to_dict()["error"]  # type: ignore[no-any-return]

    for arguments in ({"to_account": "DE1", "amount": 5}, {"from_account": "DE1", "amount_cents": 5}):
        error = await error_of(arguments)
        assert "next_step" not in error
        assert [fault for fault in error["violations"] if "suggestion" in fault] == []
    same = await error_of({"fromAccount": "DE1", "amount": "5"})
    assert same["next_step"]["arguments"] == {"from_account": "DE1", "amount": 5}
