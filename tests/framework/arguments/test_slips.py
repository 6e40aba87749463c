"""The usual slips of models: which corrections a refused call offers, and which it does not guess."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from failsoft import BaseTool, NotFound, Reference, operation
from tests.doors import in_another_form, near_names
from tests.each import each
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Change(BaseModel):
    """One change."""

    old: str
    new: str


def known(value: str) -> None:
    """Look an order or a title up."""
    if value not in {"A-123", "The Road"}:
        raise NotFound(message=f'Nothing is called "{value[:80]}".', suggestions=["A-123", "The Road"])


class Shop(BaseTool):
    """Operations with parameters of many kinds."""

    @operation(read_only=True)
    async def search(
        self,
        query: str,
        limit: int = 10,
        mode: Literal["lexical", "hybrid"] = "lexical",
        min_score: float | None = None,
    ) -> str:
        """Search."""
        return f"{query}{limit}{mode}{min_score}"

    @operation(read_only=True)
    async def switch(self, *, is_on: bool) -> bool:
        """Return a flag."""
        return is_on

    @operation(read_only=True)
    async def wait(self, pause: Annotated[float, Field(description="In milliseconds.")]) -> float:
        """Wait."""
        return pause

    @operation(verify_with="find_order")
    async def order(self, changes: list[Change], timeout_ms: int = 5, tags: list[str] | None = None) -> int:
        """Order something."""
        return len(changes) + timeout_ms + len(tags or [])

    @operation(read_only=True)
    async def find_order(self, order_id: Annotated[str, Reference(known)]) -> str:
        """Find an order."""
        return order_id

    @operation(read_only=True)
    async def find_title(self, title: Annotated[str, Reference(known, kind="spelled")]) -> str:
        """Find a title."""
        return title

    @operation(read_only=True)
    async def find_session(self, session: Annotated[str, Reference(known, kind="handle")]) -> str:
        """Find a session."""
        return session

    @operation(read_only=True)
    async def open_session(self, session: Annotated[str, Reference(kind="handle")]) -> str:
        """Open a session, which the handler looks up itself."""
        raise NotFound("It has ended.", next_step={"tool": "open_session", "arguments": {"session": f"{session}5"}})


CHANGE = {"old": "a", "new": "b"}
CURED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("order", {"changes": CHANGE}, {"changes": [CHANGE]}),
    ("order", {"changes": '[{"old": "a", "new": "b"}]'}, {"changes": [CHANGE]}),
    ("order", {"changes": '{"old": "a", "new": "b"}'}, {"changes": [CHANGE]}),
    ("order", {"changes": [CHANGE], "tags": "new"}, {"changes": [CHANGE], "tags": ["new"]}),
    ("order", {"changes": [CHANGE], "timeoutMs": "10"}, {"changes": [CHANGE], "timeout_ms": 10}),
    ("search", {"query": "x", "minScore": "0.5"}, {"query": "x", "min_score": 0.5}),
    ("search", {"query": "x", "min-score": "0.5", "limit": None}, {"query": "x", "min_score": 0.5}),
    ("search", {"qurey": "x"}, {"query": "x"}),
    ("switch", {"is_on": "True"}, {"is_on": True}),
    ("wait", {"pause": "10 ms"}, {"pause": 10.0}),
    ("search", {"query": "x", "mode": "Hybrid"}, {"query": "x", "mode": "hybrid"}),
    ("search", {"search": {"query": "x", "limit": 3}}, {"query": "x", "limit": 3}),
    ("search", {"input": {"query": "x", "limit": "3"}}, {"query": "x", "limit": 3}),
    ("find_title", {"title": "the raod"}, {"title": "The Road"}),
]
NOT_GUESSED: list[tuple[str, dict[str, Any]]] = [
    ("order", {"changes": "text"}),
    ("order", {"changes": [CHANGE], "timeout_ms": "10 s"}),
    ("order", {"changes": 5}),
    ("order", {"changes": [CHANGE], "timeout_ms": "10 ms"}),
    ("find_order", {"order_id": 27}),
    ("find_order", {"order_id": "A-124"}),
    ("find_order", {"customer_id": "C-1", "more": 1}),
    ("find_session", {"session": "A-124"}),
    ("open_session", {"session": "A-124"}),
    ("search", {"search": {"query": "x", "color": "red"}}),
    ("search", {"query": 27}),
    ("search", {"q": "x"}),
    ("search", {"text": "x"}),
    ("find_title", {"name": "The Road"}),
    ("switch", {"is_on": 1}),
    ("wait", {"pause": "10 s"}),
    ("search", {"query": "x", "min_score": "10 mM"}),
    ("search", {"query": "x", "min_score": "90%"}),
    ("search", {"query": "x", "sort_order": "up"}),
    ("search", {"query": "x", "limit": "5", "mode": "fuzzy"}),  # one fault has a correction, the other has none
]


@each(("name", "given", "corrected"), CURED)
async def test_a_slip_is_corrected_in_the_next_step(name: str, given: Any, corrected: Any) -> None:
    shop = Shop(runtime=quiet_runtime())
    response = await shop.execute_with_error_handling(name, given)
    assert response.error is not None
    assert response.error.next_step is not None
    assert (response.error.next_step.tool, dict(response.error.next_step.arguments)) == (name, corrected)
    again = await shop.execute_with_error_handling(name, response.error.next_step.arguments)
    assert again.success


@each(("name", "given"), NOT_GUESSED)
async def test_what_is_not_certain_is_no_next_step(name: str, given: Any) -> None:
    response = await Shop(runtime=quiet_runtime()).execute_with_error_handling(name, given)
    assert response.error is not None
    assert response.error.next_step is None


async def test_many_equal_faults_are_short() -> None:
    given = {"changes": [{"Old": "a", "New": "b"} for _ in range(40)]}
    response = await Shop(runtime=quiet_runtime()).execute_with_error_handling("order", given)
    assert response.error is not None
    assert response.error.faults == 80
    assert {item.suggestion for item in response.error.violations} == {"old", "new"}
    assert len(json.dumps(response.to_dict())) <= 900


async def test_a_near_identifier_is_a_candidate_and_no_order() -> None:
    response = await Shop(runtime=quiet_runtime()).find_order(order_id="A-124")
    assert response.error is not None
    assert "A-123" in response.error.suggestions
    assert response.error.message.endswith('Closest: "A-123".')


@pytest.mark.parametrize(
    ("name", "meant", "step"),
    [
        ("Search", "search", True),
        ("find-order", "find_order", True),
        ("find_ordre", "find_order", True),
        ("search_order", None, False),  # it may answer another question
        ("find_ord", None, False),
        ("orders", "order", False),  # it may change something
        ("delete_order", None, False),
        ("get_ordr", None, False),  # a read never leads to a change
    ],
)
async def test_another_tool_is_named_only_where_it_is_certain(name: str, meant: str | None, *, step: bool) -> None:
    params = {"query": "x"} if meant == "search" else {"order_id": "A-123"}
    response = await Shop(runtime=quiet_runtime()).execute_with_error_handling(name, params)
    assert response.error is not None
    assert response.error.violations[0].suggestion == meant
    assert (response.error.next_step is not None) is step


def test_candidates_are_compared_without_case_and_separators() -> None:
    assert near_names("result", ["max_results", "min_results", "color"]) == ["max_results", "min_results"]


@pytest.mark.parametrize(
    ("value", "kinds", "items", "same"),
    [
        ("a", {"array"}, {"object"}, None),
        (27, {"string"}, set(), None),
        ("10 mM", {"integer"}, set(), 10),
        ("5.5 mM", {"integer"}, set(), None),
        (["AB-123"], {"string"}, set(), None),
    ],
)
def test_only_what_loses_nothing_is_retyped(value: Any, kinds: set[str], items: set[str], same: Any) -> None:
    assert in_another_form(value, frozenset(kinds), frozenset(items)) == same
