"""Audit logs at the start of a server: looked through before the first call, and the operator told what is wrong."""

from __future__ import annotations

from collections.abc import Iterable

from loguru import logger

from failsoft.framework.errors import ToolError
from failsoft.framework.tool import BaseTool

__all__ = ["open_audit_logs"]


async def open_audit_logs(tools: Iterable[BaseTool]) -> None:
    """Open the audit logs of these toolsets, each once.

    One that cannot be written does not keep the server from starting: failing calls then say so, and the others work.
    Governed toolsets are stricter: their server does not come this far without it, see `require_sound`.
    """
    trails = [tool.audit if tool.audit is not None else tool.runtime.audit for tool in tools]
    for trail in {id(trail): trail for trail in trails}.values():
        opening = getattr(trail, "open", None)  # a trail of somebody else's need not have one
        if opening is None:
            continue
        try:
            await opening()
        except ToolError as error:
            logger.error("The audit log cannot be written", code=error.code, reason=error.message)
