"""What a type checker and a reader of the annotations see is what there is at run time."""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

import pytest
from pydantic import BaseModel

from failsoft import BaseTool, CallContext, ToolResponse, operation
from failsoft.recovery import AlternatePaths, Call, PathSource, RecoveryManager, RecoveryStrategy, Retry
from tests.doors import (
    Arguments,
    BoundOperation,
    NullMetrics,
    Operation,
    OperationMetrics,
    Recorder,
    RecoveryEngine,
)
from tests.framework.recording import Recording, quiet_runtime

pytestmark = pytest.mark.anyio


class Book(BaseModel):
    title: str


class Library(BaseTool):
    """One of each."""

    @operation(read_only=True)
    async def get(self, title: str) -> Book:
        """Return a book."""
        return Book(title=title)

    @operation()
    def count(self, call: CallContext) -> int:
        """Return a number."""
        return call.attempt


async def test_the_data_is_of_the_declared_type() -> None:
    library = Library(runtime=quiet_runtime())
    assert type((await library.get(title="Dune")).data) is Book
    assert type((await library.count()).data) is int
    assert isinstance(await library.get(title="Dune"), ToolResponse)
    mapped = await library.execute_with_error_handling("get", {"title": "Dune"}, lambda: {"title": "other"})
    assert mapped.data == Book(title="other")


def test_the_class_has_the_declaration_and_the_instance_what_is_bound() -> None:
    library = Library(runtime=quiet_runtime())
    assert isinstance(Library.get, Operation)
    assert isinstance(library.get, BoundOperation)
    assert library.get is library.operations["get"]
    assert library.get is library.get
    assert inspect.iscoroutinefunction(type(library.get).__call__)


def test_annotations_of_the_public_parts_can_be_read() -> None:
    for part in (BaseTool.execute_with_error_handling, CallContext.effect, Call.retry, AlternatePaths.attempt):
        assert get_type_hints(part)


def test_the_parts_have_what_their_protocols_ask_for() -> None:
    library = Library(runtime=quiet_runtime())
    pairs: list[tuple[Any, type]] = [
        (NullMetrics(), Recorder),
        (NullMetrics(), OperationMetrics),
        (Recording(), Recorder),
        (Recording(), OperationMetrics),
        (RecoveryManager(), RecoveryEngine),
        (Retry(), RecoveryStrategy),
        (AlternatePaths(), RecoveryStrategy),
        (library.get.arguments, Arguments),
    ]
    for part, protocol in pairs:
        asked = {name for name in (*protocol.__annotations__, *vars(protocol)) if not name.startswith("_")}
        assert [name for name in asked if not hasattr(part, name)] == []
    assert not isinstance(library, PathSource)
