"""Messages that are templates over fields."""

from __future__ import annotations

import pytest

from failsoft import BaseTool, StorageError, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


async def test_a_field_without_a_value_does_not_cost_an_error_its_code() -> None:
    class TooLarge(StorageError):
        """A file is too large."""

        code = "FILE_TOO_LARGE_FOR_DISK"
        size_mb: float | None = None
        message = "The file has {size_mb:.1f} MB."

    class Files(BaseTool):
        """Files."""

        @operation(read_only=True)
        async def measure(self) -> int:
            """Measure a file."""
            raise TooLarge(size_mb=None)

    response = await Files(runtime=quiet_runtime()).measure()
    if response.error is None:
        pytest.fail("the call has worked")
    assert response.error.code == "FILE_TOO_LARGE_FOR_DISK"
