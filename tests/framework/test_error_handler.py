"""`ErrorHandler` answers whatever happens around it."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft import ErrorContext, ErrorHandler, NotFound
from tests.framework.recording import Recording, quiet_runtime

pytestmark = pytest.mark.anyio


class Broken(Recording):
    """A recorder that raises with every failure."""

    def bind(self, tool: str, operation: str) -> Any:
        return self

    def failed(self, category: str, code: str) -> None:
        raise RuntimeError(category, code)


async def test_a_recorder_that_raises_does_not_stop_the_error_handler() -> None:
    handler = ErrorHandler(runtime=quiet_runtime(metrics=Broken()))
    raised = None
    try:
        response = await handler.handle_error(NotFound("Nothing."), ErrorContext(tool="a", operation="b"))
    except RuntimeError as broken:
        raised = broken
    assert raised is None
    assert response.error is not None
    assert response.error.code == "NOT_FOUND"
