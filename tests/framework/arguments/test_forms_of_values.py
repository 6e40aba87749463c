"""The same value in another JSON form: corrected wherever it is declared, for reads and for writes."""

from __future__ import annotations

import enum
import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from failsoft import BaseTool, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Level(enum.IntEnum):
    """A level."""

    LOW = 1
    HIGH = 2


class Line(BaseModel):
    """A line."""

    size: Literal[1, 2, 4]


def schema(**names: Any) -> dict[str, Any]:
    return {"type": "object", "properties": names, "additionalProperties": False}


class Forms(BaseTool):
    """Values of all kinds, of signatures and of schemas."""

    @operation(idempotent=True)
    async def typed(
        self,
        size: Literal[1, 2, 4] = 1,
        sizes: list[Literal[1, 2, 4]] = [],  # noqa: B006 - never changed
        level: Level = Level.LOW,
        really: Literal[True] = True,
        optional: Literal[1, 2] | None = None,
        count_or_all: int | Literal["all"] = "all",
        lines: list[Line] = [],  # noqa: B006 - never changed
        flags: list[bool] = [],  # noqa: B006 - never changed
    ) -> int:
        """Take values of a signature."""
        return 0

    @operation(
        idempotent=True,
        input_schema=schema(
            size={"enum": [1, 2, 4]},
            sizes={"type": "array", "items": {"enum": [1, 2, 4]}},
            level={"const": 2},
            really={"enum": [True]},
            optional={"anyOf": [{"enum": [1, 2]}, {"type": "null"}]},
            count_or_all={"anyOf": [{"type": "integer"}, {"const": "all"}]},
            lines={"type": "array", "items": schema(size={"enum": [1, 2, 4]})},
            flags={"type": "array", "items": {"type": "boolean"}},
        ),
    )
    async def described(self, **values: Any) -> int:
        """Take values of a schema."""
        return 0


@pytest.mark.parametrize("tool", ["typed", "described"])
@pytest.mark.parametrize(
    ("name", "sent", "meant"),
    [
        ("size", "2", 2),
        ("sizes", ["1", "4"], [1, 4]),
        ("sizes", "4", [4]),
        ("sizes", "[1, 4]", [1, 4]),
        ("level", "2", 2),
        ("really", "True", True),
        ("optional", "2", 2),
        ("count_or_all", "5", 5),
        ("count_or_all", "All", "all"),
        ("lines", [{"size": "2"}], [{"size": 2}]),
        ("lines", {"size": "2"}, [{"size": 2}]),
        ("flags", "true", [True]),
    ],
)
async def test_a_value_in_another_form_is_corrected(tool: str, name: str, sent: Any, meant: Any) -> None:
    response = await Forms(runtime=quiet_runtime()).execute_with_error_handling(tool, {name: sent})
    assert response.error is not None
    assert response.error.next_step is not None, response.error.message
    assert json.dumps(response.error.next_step.arguments) == json.dumps({name: meant})


@pytest.mark.parametrize("tool", ["typed", "described"])
@pytest.mark.parametrize(
    ("name", "sent"), [("size", "3"), ("sizes", "1, 4"), ("count_or_all", "5 items"), ("size", "")]
)
async def test_another_value_is_not(tool: str, name: str, sent: str) -> None:
    response = await Forms(runtime=quiet_runtime()).execute_with_error_handling(tool, {name: sent})
    assert response.error is not None
    assert response.error.next_step is None
    assert response.error.violations[0].suggestion is None
