"""A result that has a key `error` and is none."""

from __future__ import annotations

import pytest

from failsoft import BaseTool, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Fits(BaseTool):
    """Fits lines."""

    @operation(read_only=True)
    async def fit_line(self) -> dict[str, float]:
        """Return a slope and its standard error."""
        return {"slope": 2.0, "error": 0.1}


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="A number named `error` in a result that is declared to have numbers makes the call a REPORTED_FAILURE.",
)
async def test_a_number_named_error_in_a_declared_result_is_data() -> None:
    response = await Fits(runtime=quiet_runtime()).fit_line()
    assert (response.success, response.data) == (True, {"slope": 2.0, "error": 0.1})
