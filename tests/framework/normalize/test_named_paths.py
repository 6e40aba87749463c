"""An error of the operating system names the path that the caller sent."""

from __future__ import annotations

import pytest

from failsoft import BaseTool, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Reader(BaseTool):
    """Reads files."""

    @operation(read_only=True)
    async def read_text(self, path: str) -> str:
        """Read a file."""
        raise FileNotFoundError(2, "No such file or directory", path)


async def test_a_missing_file_is_named_as_the_caller_sent_it() -> None:
    failure = (await Reader(runtime=quiet_runtime()).read_text(path="menu.txt")).error
    if failure is None:
        pytest.fail("the call has worked")
    assert '"menu.txt"' in failure.message
