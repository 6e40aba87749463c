"""Self-audit of governed toolsets before the first call."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import SelfAuditFailure, ToolError, catalogue
from failsoft.framework.standalone import SystemErrorFactory
from failsoft.framework.text import bounded

_FAULTS_AT_MOST = 10


def require_sound(tools: Iterable[BaseTool]) -> None:
    """Audit the governed toolsets among these and what they depend on. Reads and writes files.

    Raises:
        SELF_AUDIT_FAILURE: The audit found faults; the message lists all of them.
    """
    governed = [tool for tool in tools if tool.governed]
    if not governed:
        return
    found = [(f"the catalogue: {fault}", None) for fault in catalogue.faults()]
    own = [(f"{tool.name}: {fault}", cause) for tool in governed for fault, cause in _audited(tool, writing=True)]
    faults = [*found, *own]
    if faults:
        listed = "; ".join(bounded(fault) for fault, _ in faults[:_FAULTS_AT_MOST])
        more = f"; and {len(faults) - _FAULTS_AT_MOST} more" if len(faults) > _FAULTS_AT_MOST else ""
        sentence = f"The server does not pass its own audit: {listed}{more}."
        cause = next((cause for _, cause in faults if cause is not None), None)
        raise SystemErrorFactory.startup_failure(SelfAuditFailure.code, human_message=sentence, cause=cause)


def faults_of(tool: BaseTool) -> list[str]:
    """Return the faults of a governed toolset, without writing anything."""
    return [fault for fault, _ in _audited(tool, writing=False)] if tool.governed else []


def _audited(tool: BaseTool, *, writing: bool) -> list[tuple[str, BaseException | None]]:
    faults: list[tuple[str, BaseException | None]] = []
    try:
        faults += [(str(fault), None) for fault in tool.self_audit()]
    except Exception as error:  # noqa: BLE001 - an audit that raises has failed
        faults.append((f"its self-audit broke ({type(error).__name__})", error))
    # `failsoft doctor` checks the log of the runtime separately.
    trail: Any = tool.audit if tool.audit is not None or not writing else tool.runtime.audit
    if trail is not None:
        faults += _of_log(trail, writing=writing)
    return faults


def _of_log(trail: Any, *, writing: bool) -> list[tuple[str, BaseException | None]]:
    """Return what prevents writing the audit log; third-party logs may lack the check."""
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
