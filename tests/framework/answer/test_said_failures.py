"""What a handler returns may say that it failed; an `error` that is a number is data."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft import BaseTool, operation
from failsoft.testing import fresh_runtime

pytestmark = pytest.mark.anyio


class Models(BaseTool):
    """Fits models."""

    @operation(read_only=True)
    async def fit(self, result: dict[str, Any]) -> dict[str, Any]:
        """Return what was given."""
        return result


@pytest.mark.parametrize("result", [{"error": "no"}, {"error": {"message": "no"}}, {"error": True}, {"success": False}])
async def test_a_result_that_says_it_failed_is_a_failure(result):
    answer = await Models(runtime=fresh_runtime()).fit(result=result)
    assert answer.error is not None
    assert answer.error.code == "REPORTED_FAILURE"


@pytest.mark.parametrize("result", [{"error": None}, {"error": False}, {"error": "", "steps": 7}])
async def test_a_result_whose_error_says_nothing_is_a_success(result):
    assert (await Models(runtime=fresh_runtime()).fit(result=result)).error is None


@pytest.mark.parametrize("result", [{"error": 0.02, "steps": 7}, {"error": 3}])
async def test_a_result_whose_error_is_a_number_is_a_success(result):
    answer = await Models(runtime=fresh_runtime()).fit(result=result)
    assert answer.error is None
    assert answer.data == result
