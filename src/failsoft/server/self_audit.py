"""What a governed server looks over before its first call, and what it does not start without."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from failsoft.framework import catalogue
from failsoft.framework.canonical import SystemErrorFactory
from failsoft.framework.errors import SelfAuditFailure, ToolError
from failsoft.framework.text import bounded
from failsoft.framework.tool import BaseTool

__all__ = ["faults_of", "require_sound"]

_FAULTS_AT_MOST = 10


def require_sound(tools: Iterable[BaseTool]) -> None:
    """Look over the governed toolsets among these, and everything that they rely on. It reads and writes files.

    Raises:
        SELF_AUDIT_FAILURE: Something is not as it has to be; the message names all of it.
    """
    governed = [tool for tool in tools if tool.governed]
    if not governed:
        return
    found = [(f"the catalogue: {fault}", None) for fault in catalogue.faults()]
    told = [(f"{tool.name}: {fault}", cause) for tool in governed for fault, cause in _looked_over(tool, writing=True)]
    faults = [*found, *told]
    if faults:
        listed = "; ".join(bounded(fault) for fault, _ in faults[:_FAULTS_AT_MOST])
        more = f"; and {len(faults) - _FAULTS_AT_MOST} more" if len(faults) > _FAULTS_AT_MOST else ""
        sentence = f"The server does not pass its own audit: {listed}{more}."
        cause = next((cause for _, cause in faults if cause is not None), None)
        raise SystemErrorFactory.startup_failure(SelfAuditFailure.code, human_message=sentence, cause=cause)


def faults_of(tool: BaseTool) -> list[str]:
    """Return what is wrong with a governed toolset, without changing anything, for those who only want to know."""
    return [fault for fault, _ in _looked_over(tool, writing=False)] if tool.governed else []


def _looked_over(tool: BaseTool, *, writing: bool) -> list[tuple[str, BaseException | None]]:
    faults: list[tuple[str, BaseException | None]] = []
    try:
        faults += [(str(fault), None) for fault in tool.self_audit()]
    except Exception as error:  # noqa: BLE001 - an audit that breaks is not passed
        faults.append((f"its self-audit broke ({type(error).__name__})", error))
    # The doctor looks at the log of the runtime by itself: it need not belong to a toolset.
    trail: Any = tool.audit if tool.audit is not None or not writing else tool.runtime.audit
    if trail is not None:
        faults += _of_log(trail, writing=writing)
    return faults


def _of_log(trail: Any, *, writing: bool) -> list[tuple[str, BaseException | None]]:
    """Return what keeps the audit log from being written; a log of somebody else's need not be able to say."""
    path, check = getattr(trail, "path", None), getattr(trail, "check", None)
    if check is None:
        return []
    if not writing and isinstance(path, Path) and not path.exists():
        return [] if _may_write(path.parent) else [(f"the audit log {path} cannot be made", None)]
    try:
        check()
    except ToolError as error:
        return [(error.message.rstrip("."), error.__cause__ or error)]
    return []


def _may_write(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
