"""Bearer tokens with the names of those who hold them, as a setting gives them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, SecretStr

__all__ = ["NamedTokens", "holders_by_token"]

_TOKEN_AT_LEAST = 8


def holders_by_token(tokens: SecretStr) -> dict[str, str]:
    """Return token -> the name of its holder, from `alice:token,bob:token`. One may hold several, as while they change.

    Raises:
        ValueError: An entry is not of that form, its token is shorter than 8 characters, or two have one token.
    """
    found: dict[str, str] = {}
    for entry in filter(None, map(str.strip, tokens.get_secret_value().split(","))):
        holder, _, token = entry.partition(":")
        if not holder or len(token) < _TOKEN_AT_LEAST:
            msg = f"must be of the form name:token,name:token, with tokens of at least {_TOKEN_AT_LEAST} characters"
            raise ValueError(msg)
        if token in found:
            msg = "must not give the same token twice"
            raise ValueError(msg)
        found[token] = holder
    return found


def _checked(tokens: SecretStr) -> SecretStr:
    holders_by_token(tokens)
    return tokens


NamedTokens: TypeAlias = Annotated[SecretStr, AfterValidator(_checked)]
