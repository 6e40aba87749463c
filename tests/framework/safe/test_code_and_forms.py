"""Lines of code that hold no secret, and forms of secrets that no name announces."""

from __future__ import annotations

import pytest

from tests.doors import redact_text


@pytest.mark.parametrize("line", ["cookie = self.jar", "    auth = self._auth", "self.token = token"])
def test_a_line_of_code_that_assigns_a_name_stays(line: str) -> None:
    assert redact_text(line) == line


@pytest.mark.parametrize(
    "text",
    [
        "machine api.example.org login bob password s3cr3tpw",
        "machine api.example.org\n  login bob\n  password s3cr3tpw\n",
        "default login bob password s3cr3tpw",
        "machine api.example.org login bob account acme password s3cr3tpw",
    ],
)
def test_the_password_of_a_netrc_entry_is_hidden(text: str) -> None:
    assert "s3cr3tpw" not in redact_text(text)


@pytest.mark.parametrize(
    "token",
    [
        "glsa_HOruNAb7SOiCdshU7algkrq7FDsNSLAa_55e2f8be",
        "glc_eyJvIjoiNzQ0NTA5IiwibiI6InN0YWNrLTEyMyIsImsiOiJtYXBQWTc5MmFuOXY4eDZiIiwibSI6eyJyIjoidXMifX0=",
        "eyJrIjoiT0tTcG1pUlY2RnVKZTFVaDFsNFZXdE9ZWmNrMkZYbkEiLCJuIjoiY3VybCIsImlkIjoxfQ==",
    ],
)
def test_a_token_of_grafana_is_hidden(token: str) -> None:
    shown = redact_text(f"the token {token} was refused by grafana.example.org")
    assert token[:24] not in shown
    assert token[5:] not in shown
