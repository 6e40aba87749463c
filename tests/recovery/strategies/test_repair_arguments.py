"""Mistakes in arguments: which are repaired, which never are, and what the caller gets."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, Field

from failsoft import BaseTool, CallContext, RecoveryManager, RepairArguments, Retry, Unavailable, operation
from tests.doors import correction
from tests.framework.recording import Recording, quiet_runtime
from tests.framework.wellformed import check_wellformed

REPAIR = [RepairArguments()]


class Edit(BaseModel):
    old_string: str
    new_string: str
    count: int = 1


class Library(BaseTool):
    """Returns what it was given."""

    @operation(read_only=True, recovery=REPAIR)
    async def search(  # noqa: PLR0913, PLR0917 - a parameter of each kind
        self,
        query: str,
        call: CallContext,
        limit: Annotated[int, Field(ge=1)] = 10,
        max_results: int = 5,
        exact: bool = False,
        score: float = 0.5,
        tags: list[str] | None = None,
        years: list[int] = [],  # noqa: B006 - a default is only shown
        mode: Literal["lexical", "semantic"] = "lexical",
        scope: dict[str, int] | None = None,
        api_key: str = "",
        day2: int = 0,
        payer: str = "",
    ) -> dict[str, Any]:
        """Search."""
        return call.arguments

    @operation(recovery=REPAIR)
    async def write(  # noqa: PLR0913, PLR0917 - a parameter of each kind
        self,
        path: str,
        content: str,
        call: CallContext,
        edits: list[Edit] | None = None,
        paths: list[str] | None = None,
        dry_run: bool = False,
        mode: int = 420,
        line2: str = "",
        weight_kg: float = 1.0,
        payer: str = "",
    ) -> dict[str, Any]:
        """Write."""
        return call.arguments

    @operation(
        read_only=True,
        recovery=REPAIR,
        input_schema={
            "type": "object",
            "properties": {"limit": {"type": "integer"}, "name": {"type": "string"}},
            "required": ["limit"],
        },
    )
    async def proxied(self, **arguments: Any) -> dict[str, Any]:
        """Pass on."""
        return arguments


def answer(name: str, params: Any, metrics: Recording | None = None) -> Any:
    tool = Library(runtime=quiet_runtime(metrics=metrics))
    return asyncio.run(tool.execute_with_error_handling(name, params))


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({"limit": "5"}, {"limit": 5}),
        ({"limitt": 5}, {"limit": 5}),
        ({"limitt": "5"}, {"limit": 5}),
        ({"lmit": 5}, {"limit": 5}),
        ({"maxResults": 3}, {"max_results": 3}),
        ({"max-results": "3"}, {"max_results": 3}),
        ({"exact": "true"}, {"exact": True}),
        ({"exact": "False"}, {"exact": False}),
        ({"score": "0.25"}, {"score": 0.25}),
        ({"score": "1"}, {"score": 1}),
        ({"tags": "guide"}, {"tags": ["guide"]}),
        ({"tags": '["a", "b"]'}, {"tags": ["a", "b"]}),
        ({"years": 1984}, {"years": [1984]}),
        ({"years": "1984"}, {"years": [1984]}),
        ({"years": ["1984", 1985]}, {"years.0": 1984}),
        ({"scope": '{"a": 1}'}, {"scope": {"a": 1}}),
        ({"scope": {"a": "1"}}, {"scope.a": 1}),
        ({"limit": None}, {"limit": 10}),
        ({"limit": " 5"}, {"limit": 5}),
        ({"mode": "Lexical"}, {"mode": "lexical"}),
        ({"mode": "lexicall"}, {"mode": "lexical"}),
        ({"limit": "5", "exact": "true", "tagss": "x"}, {"limit": 5, "exact": True, "tags": ["x"]}),
    ],
    ids=str,
)
def test_what_can_mean_only_one_thing_is_repaired_and_reported(given: dict[str, Any], changed: dict[str, Any]) -> None:
    metrics = Recording()
    response = answer("search", {"query": "tea", **given}, metrics)
    assert response.success, response.error
    receipt = response.metadata.recovery
    assert (receipt.strategy, receipt.degraded, receipt.attempts) == ("repair_arguments", False, 1)
    assert dict(receipt.changed) == changed
    for path, value in changed.items():
        name, _, step = path.partition(".")
        if given.get(name, ...) is not None:
            found = response.data[name]
            assert (found[int(step) if step.isdecimal() else step] if step else found) == value
    assert metrics.of("recovery") == [("repair_arguments", "recovered")]
    assert metrics.of("finished") == ["recovered"]
    assert metrics.of("attempted") == ["ok"]


@pytest.mark.parametrize(
    "given",
    [
        {"limit": "five"},
        {"limit": "007"},
        {"limit": "+5"},
        {"limit": "5.5"},
        {"limit": 5.5},
        {"limit": True},
        {"limit": "0"},
        {"limit": "9" * 30},
        {"limit": [5]},
        {"limit": {}},
        {"exact": "yes"},
        {"exact": 1},
        {"exact": "1"},
        {"score": "NaN"},
        {"score": "1e999"},
        {"tags": "a, b"},
        {"tags": "a\nb"},
        {"tags": "[broken"},
        {"tags": ""},
        {"tags": 5},
        {"years": "1984, 1985"},
        {"mode": "nonlexical"},
        {"query": 1984},
        {"something": 1},
        {"lim": 5},
        {"day1": 5},
        {"payee": "x"},
        {"scope": '{"a": 1, "a": 2}'},
        {"limitt": 5, "limit": 6},
        {"limitt": 5, "lmit": 6},
        {"api_key": 12345},
        {"api_keyy": "12345"},
        {"limit": "5", "exact": "perhaps"},
    ],
    ids=str,
)
def test_what_may_mean_something_else_is_refused_as_it_came(given: dict[str, Any]) -> None:
    metrics = Recording()
    response = answer("search", {"query": "tea", **given}, metrics)
    assert response.error.category == "invalid_argument"
    assert response.metadata.recovery is None
    assert response.error.stop_reason == "rejected"
    assert metrics.of("finished") == ["rejected"]


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({"dryRun": "true"}, {"dry_run": True}),
        ({"mode": "420"}, {"mode": 420}),
        ({"paths": "a.md"}, {"paths": ["a.md"]}),
        ({"edits": [{"old_string": "a", "new_string": "b", "count": "2"}]}, {"edits.0.count": 2}),
        ({"edits": {"old_string": "a", "new_string": "b"}}, {"edits": [{"old_string": "a", "new_string": "b"}]}),
        ({"edits": '[{"old_string": "a", "new_string": "b"}]'}, {"edits": [{"old_string": "a", "new_string": "b"}]}),
    ],
    ids=str,
)
def test_a_write_is_helped_where_no_text_is_made(given: dict[str, Any], changed: dict[str, Any]) -> None:
    response = answer("write", {"path": "a.md", "content": "x", **given})
    assert response.success, response.error
    assert dict(response.metadata.recovery.changed) == changed


@pytest.mark.parametrize(
    "given",
    [
        {"line1": "x"},
        {"weight_g": 5},
        {"payee": "x"},
        {"dry_rn": True},
        {"mode": None},
    ],
    ids=str,
)
def test_a_write_is_not_changed_into_another_one(given: dict[str, Any]) -> None:
    response = answer("write", {"path": "a.md", "content": "x", **given})
    assert response.error.category == "invalid_argument"


@pytest.mark.parametrize(
    "given",
    [
        {"content": 5},
        {"path": 5},
        {"content": ["x"]},
        {"edits": [{"old_string": 1, "new_string": "b"}]},
        {"paths": "my notes.md"},
    ],
    ids=str,
)
def test_no_text_is_made_for_a_write(given: dict[str, Any]) -> None:
    response = answer("write", {"path": "a.md", "content": "x", **given})
    assert response.error.category == "invalid_argument"


def test_a_required_name_that_was_misspelt_is_found() -> None:
    response = answer("search", {"qeury": "tea"})
    assert (response.data, dict(response.metadata.recovery.changed)) == ({"query": "tea"}, {"query": "tea"})


def test_arguments_declared_by_a_schema_are_repaired_too() -> None:
    response = answer("proxied", {"limitt": "5"})
    assert (response.data, dict(response.metadata.recovery.changed)) == ({"limit": 5}, {"limit": 5})


def test_valid_arguments_are_left_alone() -> None:
    response = answer("search", {"query": "5", "tags": ["1"]})
    assert (response.data, response.metadata.recovery) == ({"query": "5", "tags": ["1"]}, None)


class Failing(BaseTool):
    """Fails after its arguments were repaired."""

    def __init__(self, *raised: BaseException, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.raised = list(raised)
        self.given: list[Any] = []
        self.checked = 0

    @operation(read_only=True, recovery=[RepairArguments(), Retry(base_s=0)])
    async def count(self, number: int) -> int:
        """Count."""
        self.given.append(number)
        if self.raised:
            raise self.raised.pop(0)
        return number

    @count.check
    def is_small(self, number: int) -> None:
        self.checked += 1
        if number > 100:
            raise TypeError


def test_a_failure_says_what_was_repaired() -> None:
    tool = Failing(ValueError("a crash"), runtime=quiet_runtime())
    response = asyncio.run(tool.execute_with_error_handling("count", {"number": "5"}))
    assert response.error is not None
    assert response.metadata.warnings[0].startswith("Arguments were repaired")
    check_wellformed(response, tool.operations["count"])


def test_a_retry_after_it_runs_with_the_repaired_arguments_and_both_are_reported() -> None:
    tool = Failing(Unavailable(), runtime=quiet_runtime())
    response = asyncio.run(tool.execute_with_error_handling("count", {"number": "5"}))
    assert response.data == 5
    assert tool.given == [5, 5]
    receipt = response.metadata.recovery
    assert receipt is not None
    assert (receipt.strategy, dict(receipt.changed), receipt.attempts) == ("retry", {"number": 5}, 2)


def test_only_what_stage_one_refuses_is_looked_at() -> None:
    tool = Failing(runtime=quiet_runtime())
    response = asyncio.run(tool.execute_with_error_handling("count", {"number": 500}))
    assert not response.success
    assert tool.checked == 1


def test_it_can_be_added_to_a_manager() -> None:
    manager = RecoveryManager()
    manager.add(RepairArguments())

    class Plain(BaseTool):
        @operation()
        async def double(self, number: int) -> int:
            """Double a number."""
            return number * 2

    tool = Plain(runtime=quiet_runtime(recovery=manager))
    assert asyncio.run(tool.execute_with_error_handling("double", {"number": "4"})).data == 8
    assert tool.describe()["double"][:3] == ["observe", "repair_arguments", "validate"]


NAMES = st.text("abcdefgh_", min_size=1, max_size=8)


@given(name=NAMES, options=st.lists(NAMES, max_size=5, unique=True))
def test_a_name_is_never_taken_for_one_of_two(name: str, options: list[str]) -> None:
    found = correction(name, options, what="parameter", changes=False)
    if found is None:
        return
    assert found.meant in options
    assert correction(name, [found.meant], what="parameter", changes=False) == found


@given(st.dictionaries(NAMES, st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text())))
def test_repaired_arguments_are_valid(arguments: dict[str, Any]) -> None:
    response = answer("search", {"query": "tea", **arguments})
    assert response.success or response.error.category == "invalid_argument"
    if response.success and response.metadata.recovery is not None:
        assert response.metadata.recovery.changed
