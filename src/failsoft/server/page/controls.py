"""What an operator may do to a running server: hold, close and reset breakers, pause operations, drain (`/admin/...`).

There are no controls without `FAILSOFT_ADMIN_TOKEN`. Each is audited before it is done. Breakers and pauses are shared
through the state store with other workers and replicas; a drain is that of this server, with all of its workers.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from failsoft.framework.audit import change_entry
from failsoft.framework.clock import utc_timestamp
from failsoft.framework.errors import StateUnavailable, ToolError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.state.backend import KEPT, Changed
from failsoft.framework.text import bounded, printable
from failsoft.metrics.board import in_use
from failsoft.server.assembly import Assembly
from failsoft.server.lifecycle import Pause
from failsoft.server.page.status import circuits_of

OPERATOR = "the holder of the admin token"
"""Who holds a breaker or pauses an operation, as callers and audit entries are told."""
_DRAINING = "draining"
_POLL_S = 1.0
_KEPT_S = 30 * 86_400.0
_BODY_AT_MOST, _REASON_AT_MOST = 10_000, 300
_NEVER_STORED = {"cache-control": "no-store"}
Control: TypeAlias = Callable[[Mapping[str, str], dict[str, Any]], Awaitable[dict[str, Any]]]


class _Refused(Exception):
    """The answer to a request that changes nothing: the status, the error, and further headers."""


class _Target(NamedTuple):
    """An operation by the names in its path."""

    tool: str
    operation: str


class Controls:
    """The controls of one server.

    Args:
        assembly: The server.
        token: What their requests send as a bearer token.
    """

    def __init__(self, assembly: Assembly, token: SecretStr) -> None:
        self._assembly, self._token = assembly, token.get_secret_value().encode()
        self._state = assembly.tools[0].runtime.state
        self._key = f"paused:{assembly.name}"
        board = in_use()
        self._drain_file = None if board is None or board.file is None else board.file.parent / _DRAINING
        assembly.lifecycle.while_running(self._follow_others)

    def is_admin(self, request: Request) -> bool:
        """Return whether a request has the token, compared in constant time."""
        kind, _, sent = request.headers.get("authorization", "").partition(" ")
        presented = sent.strip().encode("latin-1", errors="replace")
        return kind.lower() == "bearer" and secrets.compare_digest(presented, self._token)

    def routes(self) -> list[Route]:
        """Return the routes; each takes JSON by POST."""
        return [
            Route("/admin/circuits/{name:path}", self._endpoint(self._set_circuit), methods=["POST"]),
            Route("/admin/operations/{tool}/{operation:path}", self._endpoint(self._pause), methods=["POST"]),
            Route("/admin/drain", self._endpoint(self._drain), methods=["POST"]),
        ]

    def _endpoint(self, control: Control) -> Callable[[Request], Awaitable[JSONResponse]]:
        async def answer(request: Request) -> JSONResponse:
            try:
                self._check_sender(request)
                return JSONResponse(await control(request.path_params, await _body(request)), headers=_NEVER_STORED)
            except _Refused as refused:
                status, error, *headers = refused.args
                return JSONResponse({"error": error}, status, {**_NEVER_STORED, **(headers[0] if headers else {})})
            except ToolError as failed:
                facts = {"error": failed.message, "code": failed.code}
                return JSONResponse(facts, failed.http_status, _NEVER_STORED)

        return answer

    def _check_sender(self, request: Request) -> None:
        if self.is_admin(request):
            return
        if isinstance(request.scope.get("user"), AuthenticatedUser):
            raise _Refused(403, "This token may read, and change nothing: the controls take the admin token.")
        raise _Refused(401, "The controls take the admin token.", {"www-authenticate": "Bearer"})

    async def _set_circuit(self, path: Mapping[str, str], body: dict[str, Any]) -> dict[str, Any]:
        circuits = [circuit for circuit in circuits_of(self._assembly) if circuit.dependency == path["name"]]
        if not circuits:
            unknown = _unknown(
                "circuit breaker", path["name"], {circuit.dependency for circuit in circuits_of(self._assembly)}
            )
            raise unknown
        state = body.get("state")
        if not isinstance(state, str) or state not in {"open", "closed", "reset"}:
            raise _Refused(400, '`state` has to be "open", "closed" or "reset".')
        await self._require_store()
        await self._audited(f"circuit {state}", name=path["name"])
        for circuit in circuits:
            if state == "open":
                await circuit.open(by=OPERATOR)
            elif state == "closed":
                await circuit.close(by=OPERATOR)
            else:
                await circuit.reset()
        return {"name": path["name"], "circuit": (await circuits[0].view()).state}

    async def _pause(self, path: Mapping[str, str], body: dict[str, Any]) -> dict[str, Any]:
        target = _Target(path["tool"], path["operation"])
        known = {_Target(bound.tool_name, bound.name) for bound in self._assembly.toolbox}
        if target not in known:
            unknown = _unknown("operation", "/".join(target), {"/".join(one) for one in known})
            raise unknown
        is_paused, reason = body.get("paused"), body.get("reason", "")
        if not isinstance(is_paused, bool) or not isinstance(reason, str) or (is_paused and not reason.strip()):
            raise _Refused(400, "`paused` has to be true with a `reason` that callers are told, or false.")
        reason = printable(bounded(reason.strip(), _REASON_AT_MOST))
        await self._require_store()
        await self._audited("pause" if is_paused else "resume", name="/".join(target), reason=reason or None)
        pause = {"reason": reason, "by": OPERATOR, "since": utc_timestamp()} if is_paused else None
        self._follow(await self._state.change(_set_pause, self._key, "/".join(target), pause))
        return {"tool": target.tool, "operation": target.operation, **({"paused": pause} if pause else {})}

    async def _drain(self, _path: Mapping[str, str], _body: dict[str, Any]) -> dict[str, Any]:
        await self._audited("drain")
        if self._drain_file is not None:
            await asyncio.to_thread(self._drain_file.touch)
        self._assembly.lifecycle.drain()
        return {"phase": self._assembly.lifecycle.phase}

    async def _require_store(self) -> None:
        """Refuse a change that other workers and replicas would not be told, and that the store would forget.

        Raises:
            STATE_UNAVAILABLE: The state store is lost, or takes no writes.
        """
        await self._state.change(_write_time, f"{self._key}:asked")
        if not self._is_shared():
            raise StateUnavailable(effect="none", retry_after_seconds=_POLL_S)

    def _is_shared(self) -> bool:
        """Return whether states are those of the store, and not what stands in for a lost one."""
        return bool(getattr(self._state, "is_available", True))

    async def _audited(self, operation: str, **about: Any) -> None:
        """Log a change, and write it to the audit logs; an entry that cannot be written refuses it.

        Raises:
            AUDIT_LOG_FAILED: An entry cannot be written.
            AUDIT_LOCK_FAILED: Another process held the log for too long.
        """
        for trail in {id(trail): trail for tool in self._assembly.tools if (trail := tool.runtime.audit)}.values():
            await trail.record(change_entry(f"admin {operation}", principal=OPERATOR, **about))
        logger.bind(event="operator", operation=operation, **about).warning("An operator has changed the server")

    async def _follow_others(self) -> None:
        """Follow what other workers and replicas were told; pauses stay while the store is lost."""
        while True:
            pauses = await self._state.change(_read_pauses, self._key)
            if self._is_shared():
                self._follow(pauses)
            if self._drain_file is not None and await asyncio.to_thread(self._drain_file.exists):
                self._assembly.lifecycle.drain()
            await asyncio.sleep(_POLL_S)

    def _follow(self, pauses: Mapping[str, Mapping[str, str]]) -> None:
        self._assembly.lifecycle.paused = {
            operation: Pause(facts["reason"], facts["by"], facts["since"]) for operation, facts in pauses.items()
        }


def _set_pause(pauses: dict[str, Any] | None, _now: float, operation: str, facts: dict[str, str] | None) -> Changed:
    """Pause an operation, or resume it without `facts`; answer with all pauses."""
    left = {name: kept for name, kept in (pauses or {}).items() if name != operation}
    if facts is not None:
        left[operation] = facts
    return Changed(left or None, left, _KEPT_S)


def _write_time(_before: dict[str, Any] | None, now: float) -> Changed:
    """Write something: a store that is full, or can only be read, shares no change either."""
    return Changed({"at": now}, None, _POLL_S)


def _read_pauses(pauses: dict[str, Any] | None, _now: float) -> Changed:
    return Changed(KEPT, pauses or {})


async def _body(request: Request) -> dict[str, Any]:
    """Return the object that a request sends."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise _Refused(415, "The body has to be JSON, as Content-Type: application/json.")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _BODY_AT_MOST:
            raise _Refused(400, f"The body has more than {_BODY_AT_MOST} bytes.")
    try:
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _Refused(400, "The body has to be a JSON object.")
    return found


def _unknown(kind: str, name: str, known: Iterable[str]) -> _Refused:
    meant = closest_name(name, sorted(known))
    said = f"There is no {kind} {json.dumps(bounded(name, 100))}"
    return _Refused(404, f"{said}; did you mean {json.dumps(meant)}?" if meant else f"{said}.")
