"""A failing call, and the categories that several calls are expected to have."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["BAD", "DENIED", "GONE", "ODD", "STATE", "THERE", "VAGUE", "Call", "calls", "each"]

BAD = "invalid_argument"
GONE = "not_found"
DENIED = "permission_denied"
THERE = "already_exists"
STATE = "precondition_failed|conflict|invalid_argument|upstream_error"
VAGUE = "upstream_error"
ODD = "invalid_argument|upstream_error"


class Call(NamedTuple):
    """A call of one tool."""

    tool: str
    arguments: dict[str, Any]
    category: str
    needs: tuple[str, ...] = ()


def calls(*rows: tuple[Any, ...]) -> list[Call]:
    return [Call(row[0], row[1], row[2], tuple(row[3:])) for row in rows]


def each(tool: str, name: str, /, *rows: tuple[Any, ...], **others: Any) -> list[Call]:
    """Return calls that differ in one argument."""
    return [Call(tool, {**others, name: row[0]}, row[1], tuple(row[2:])) for row in rows]
