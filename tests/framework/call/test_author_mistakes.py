"""Mistakes in the declaration of an operation: refused at once, each with its place and its correction."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import failsoft
from failsoft import BaseTool, CircuitBreaker, Retry, operation
from tests.framework.recording import quiet_runtime


def misnamed_option() -> None:
    class Orders(BaseTool):
        """Orders."""

        @operation(read_onyl=True)  # type: ignore[call-overload]  # the mistake
        async def place_order(self, item: str) -> str:
            """Place an order."""
            return item


def misnamed_strategy_option() -> None:
    class Orders(BaseTool):
        """Orders."""

        @operation(recovery=[Retry(attemps=3)])  # type: ignore[call-arg]  # the mistake
        async def place_order(self, item: str) -> str:
            """Place an order."""
            return item


def class_of_a_strategy() -> None:
    class Orders(BaseTool):
        """Orders."""

        @operation(recovery=[Retry])  # type: ignore[list-item]  # the mistake
        async def place_order(self, item: str) -> str:
            """Place an order."""
            return item

    Orders(runtime=quiet_runtime())


def timeout_with_a_unit() -> None:
    class Orders(BaseTool):
        """Orders."""

        @operation(timeout="5s")  # type: ignore[arg-type]  # the mistake
        async def place_order(self, item: str) -> str:
            """Place an order."""
            return item


def misspelt_operation() -> None:
    class Orders(BaseTool):
        """Orders."""

        @operation(verify_with="get_oder")
        async def place_order(self, item: str) -> str:
            """Place an order."""
            return item

        @operation(read_only=True)
        async def get_order(self, item: str) -> str:
            """Return an order."""
            return item

    Orders(runtime=quiet_runtime())


def undefined_annotation() -> None:
    class Orders(BaseTool):
        """Orders."""

        @operation()
        async def place_order(self, item: Itm) -> str:  # type: ignore[name-defined]  # noqa: F821 - the mistake
            """Place an order."""
            return str(item)

    Orders(runtime=quiet_runtime())


def no_annotation() -> None:
    class Orders(BaseTool):
        """Orders."""

        @operation()
        async def place_order(self, item) -> str:  # type: ignore[no-untyped-def]  # the mistake
            """Place an order."""
            return str(item)

    Orders(runtime=quiet_runtime())


def two_breakers_of_one_dependency() -> None:
    class Orders(BaseTool):
        """Orders."""

        @operation(recovery=[CircuitBreaker(dependency="shop", open_s=5)])
        async def place_order(self, item: str) -> str:
            """Place an order."""
            return item

        @operation(recovery=[CircuitBreaker(dependency="shop", open_s=60)])
        async def send_order(self, item: str) -> str:
            """Send an order."""
            return item

    Orders(runtime=quiet_runtime())


def said(mistake: Callable[[], Any]) -> str:
    """Return what the author is told of a mistake, notes included, but not the stack; empty if it was accepted."""
    try:
        mistake()
    except (TypeError, ValueError, failsoft.ToolError) as refused:
        return "".join(traceback.format_exception_only(refused))
    return ""


def refused(mistake: Callable[[], Any]) -> str:
    """Return what the author is told of a mistake that has to be refused."""
    text = said(mistake)
    if not text:
        pytest.fail("the mistake was accepted")
    return re.sub(r"\. Did you mean '\w+'\?", "", text)  # what Python 3.13 says, and earlier versions do not


def test_a_parameter_without_an_annotation_is_refused() -> None:
    text = said(no_annotation)
    assert "place_order" in text
    assert "item" in text


def test_two_breakers_of_one_dependency_with_different_options_are_refused() -> None:
    assert "shop" in said(two_breakers_of_one_dependency)


def test_a_misspelt_option_of_an_operation_is_refused_with_the_closest_name() -> None:
    assert re.search(r"\bread_only\b", refused(misnamed_option))


def test_a_misspelt_option_of_a_strategy_is_refused_with_the_closest_name() -> None:
    assert re.search(r"\battempts\b", refused(misnamed_strategy_option))


def test_a_misspelt_operation_is_refused_with_the_closest_name() -> None:
    assert re.search(r"\bget_order\b", refused(misspelt_operation))


def test_a_time_limit_with_a_unit_is_refused_with_what_is_accepted() -> None:
    text = refused(timeout_with_a_unit)
    assert "timeout" in text
    assert "seconds" in text


def test_a_refused_declaration_names_its_operation() -> None:
    mistakes = [misspelt_operation, class_of_a_strategy, timeout_with_a_unit, undefined_annotation]
    assert [mistake.__name__ for mistake in mistakes if "place_order" not in refused(mistake)] == []


def test_a_refused_declaration_names_its_file_and_line() -> None:
    wrong = []
    for mistake in (misspelt_operation, class_of_a_strategy, timeout_with_a_unit, undefined_annotation):
        lines, first = inspect.getsourcelines(mistake)
        places = re.findall(r"test_author_mistakes\.py:(\d+)", refused(mistake))
        if not any(first <= int(line) < first + len(lines) for line in places):
            wrong.append(mistake.__name__)
    assert wrong == []
