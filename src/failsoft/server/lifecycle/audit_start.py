"""Opens audit logs at start-up and logs what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable

from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import ToolError
from failsoft.framework.safe.author_reports import logger


async def open_audit_logs(tools: Iterable[BaseTool]) -> None:
    """Open each audit log of these toolsets once.

    A log that cannot be written does not prevent start-up: only failing calls report it. Governed toolsets require
    their log, see `require_sound`.
    """
    trails = [tool.audit if tool.audit is not None else tool.runtime.audit for tool in tools]
    for trail in {id(trail): trail for trail in trails}.values():
        opening = getattr(trail, "open", None)  # optional for third-party trails
        if opening is None:
            continue
        try:
            await opening()
        except ToolError as error:
            logger.error("The audit log cannot be written", code=error.code, reason=error.message)
