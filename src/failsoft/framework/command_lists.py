"""Commands as a setting gives them: a program, and what it is given, without a shell in between."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator
from pydantic_settings import NoDecode

__all__ = ["Commands"]


def _read(value: Any) -> Any:
    """Return commands as tuples. They are written as JSON: blanks and commas may stand in what a program is given."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, (list, tuple)) or not all(map(_is_command, found)):
        msg = 'must be a JSON list of commands, each a list of texts, as [["cargo", "test"]]'
        raise ValueError(msg)
    return tuple(tuple(command) for command in found)


def _is_command(value: Any) -> bool:
    if not isinstance(value, (list, tuple)) or not value or not value[0]:
        return False
    return all(isinstance(part, str) and "\0" not in part for part in value)


Commands: TypeAlias = Annotated[tuple[tuple[str, ...], ...], NoDecode, BeforeValidator(_read)]
