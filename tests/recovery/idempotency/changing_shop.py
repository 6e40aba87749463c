"""A shop whose one operation returns another type in each version of its code; run as a program for one keyed call."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from mcp_types import TextContent
from pydantic import BaseModel

from failsoft import BaseTool, Runtime, Settings, operation
from failsoft.events import Events
from tests.doors import META_KEY, CallScope, open_state


class Receipt(BaseModel):
    """A receipt."""

    number: int
    day: date


class LongerReceipt(Receipt):
    """A receipt that has a note since."""

    note: str = ""


class ShorterReceipt(BaseModel):
    """A receipt without its day."""

    number: int


class RenamedReceipt(BaseModel):
    """A receipt whose number has another name."""

    day: date
    serial: int = 0


@dataclass
class PlainReceipt:
    """The same as a dataclass."""

    number: int
    day: date


class ForeignName:
    """What its JSON does not make: pydantic cannot parse it."""


TYPES: dict[str, tuple[Any, Any]] = {
    "receipt": (Receipt, Receipt(number=7, day=date(2026, 1, 19))),
    "longer": (LongerReceipt, None),
    "shorter": (ShorterReceipt, None),
    "renamed": (RenamedReceipt, None),
    "plain": (PlainReceipt, None),
    "untyped": (Any, None),
    "text": (str, "7"),
    "number": (int, 7),
    "moment": (datetime, None),
    "truth": (bool, None),
    "blocks": (list, [TextContent(type="text", text="sold"), 7]),
}


def shop(kind: str, runs: Path, **options: Any) -> BaseTool:
    """Return a shop whose operation returns this type; each run adds a line to a file."""
    annotation, value = TYPES[kind]

    async def sell(self: Any, item: str) -> Any:
        """Sell."""
        with runs.open("a") as file:
            file.write("run\n")
        return value

    sell.__annotations__["return"] = annotation
    return type("Shop", (BaseTool,), {"sell": operation()(sell), "__doc__": "A shop."})(**options)


async def called(folder: Path, kind: str) -> list[Any]:
    """Return data and code of one keyed call over the file in a folder."""
    events = Events()
    state = open_state(f"sqlite:{folder / 'state.sqlite'}", events)
    async with shop(kind, folder / "runs", runtime=Runtime(settings=Settings(), events=events, state=state)) as tool:
        answer = await tool.operations["sell"].call({"item": "tea"}, CallScope(meta={META_KEY: "k1"}))
    await state.close()
    return [answer.to_dict().get("data"), None if answer.error is None else answer.error.code]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(called(Path(sys.argv[1]), sys.argv[2]))))
