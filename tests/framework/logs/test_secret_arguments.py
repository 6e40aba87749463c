"""The value of a secret argument is in no log line and no audit entry, wherever an exception quotes it."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from failsoft import AuditLog, BaseTool, Unavailable, configure_logging, operation
from failsoft.testing import fresh_runtime

SECRET = "Hx7 correct horse"


class Vault(BaseTool):
    """Opens."""

    @operation
    async def unlock(self, password: str, account: dict[str, Any], how: str) -> None:
        """Open it."""
        quoted = account["api_key"] if how == "nested" else password
        message = f"cannot use {quoted} here"
        if how == "typed":
            raise Unavailable(message, details={"tried": [quoted]})
        raise ValueError(message)


@pytest.mark.parametrize("how", ["crash", "nested", "typed"])
def test_the_value_of_a_secret_argument_is_nowhere(how: str, tmp_path: Path) -> None:
    vault = Vault(runtime=fresh_runtime(audit=AuditLog(tmp_path / "audit.jsonl")))
    account = {"api_key": "one two three"}
    lines = io.StringIO()
    configure_logging("INFO", json_lines=True, stream=lines)
    asyncio.run(vault.execute_with_error_handling("unlock", {"password": SECRET, "account": account, "how": how}))
    logger.remove()
    logger.disable("failsoft")
    written = lines.getvalue() + (tmp_path / "audit.jsonl").read_text()
    assert "cannot use <redacted> here" in written
    assert SECRET not in written
    assert "one two three" not in written
