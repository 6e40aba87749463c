"""The value of a secret argument is in no log line and no audit entry, wherever an exception quotes it."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Annotated, Any

import pytest
from loguru import logger
from pydantic import Field, SecretStr

from failsoft import AuditLog, BaseTool, Unavailable, configure_logging, operation
from failsoft.testing import fresh_runtime

SECRET = "Hx7 correct horse"
WORD = "open sesame"
Word = Annotated[SecretStr, Field(max_length=20)]
"""Secret by its type, and not by the name of what has it."""


class Vault(BaseTool):
    """Opens."""

    @operation
    async def unlock(self, password: str, account: dict[str, Any], how: str, word: Word | None = None) -> None:
        """Open it."""
        quoted = account["api_key"] if how == "nested" else password if word is None else word.get_secret_value()
        message = f"cannot use {quoted} here"
        if how == "typed":
            raise Unavailable(message, details={"tried": [quoted]})
        raise ValueError(message)


@pytest.mark.parametrize("how", ["crash", "nested", "typed", "marked"])
def test_the_value_of_a_secret_argument_is_nowhere(how: str, tmp_path: Path) -> None:
    vault = Vault(runtime=fresh_runtime(audit=AuditLog(tmp_path / "audit.jsonl")))
    account = {"api_key": "one two three"}
    lines = io.StringIO()
    configure_logging("INFO", json_lines=True, stream=lines)
    given = {"password": SECRET, "account": account, "how": how, **({"word": WORD} if how == "marked" else {})}
    asyncio.run(vault.execute_with_error_handling("unlock", given))
    logger.remove()
    logger.disable("failsoft")
    written = lines.getvalue() + (tmp_path / "audit.jsonl").read_text()
    assert "cannot use <redacted> here" in written
    assert WORD not in written
    assert SECRET not in written
    assert "one two three" not in written


@pytest.mark.parametrize("word", [WORD * 2, [WORD], {"is": WORD}, 1234567])
def test_the_value_of_an_argument_that_is_secret_by_its_type_is_not_quoted_by_its_refusal(word: Any) -> None:
    given = {"password": "", "account": {}, "how": "", "word": word}
    answer = asyncio.run(Vault(runtime=fresh_runtime()).execute_with_error_handling("unlock", given))
    assert answer.error is not None
    assert [fault.path for fault in answer.error.violations] == ["word"]
    said = str(answer.to_dict())
    assert WORD not in said
    assert "1234567" not in said
