"""Addresses and tokens of running servers, and requests of the command line to their pages and controls."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any
from urllib.parse import SplitResult, urlsplit

from failsoft.cli.errors import usage
from failsoft.framework.errors import ConfigurationError, NotFound, PermissionDenied, Unauthenticated, Unavailable
from failsoft.framework.text import bounded

TOKEN = "FAILSOFT_TOKEN"  # noqa: S105 - the name of a variable
_WITHIN_S = 15.0
_BYTES_AT_MOST = 16_000_000
_FOUND, _UNAUTHENTICATED, _FORBIDDEN, _MISSING, _UNAVAILABLE = 200, 401, 403, 404, 503


def mcp_address(url: str) -> str:
    """Return the address of the tools of a server: `/mcp` where a URL has no path.

    Raises:
        INVALID_PARAM: It is no HTTP address.
    """
    path = _parts(url, hint="--url http://127.0.0.1:8321/mcp").path
    return url if path.strip("/") else url.rstrip("/") + "/mcp"


def bearer(token: str | None) -> dict[str, str]:
    """Return the header with a token, by default FAILSOFT_TOKEN; empty without one."""
    known = token or os.environ.get(TOKEN)
    return {"Authorization": f"Bearer {known}"} if known else {}


def status_of(url: str, *, token: str | None) -> dict[str, Any]:
    """Return the whole status of a running server; the other errors are those of `ask`.

    Raises:
        UNAUTHENTICATED: Without its token it says its name and phase alone.
    """
    found = ask(url, "status.json", token=token)
    if "operations" not in found:
        raise Unauthenticated(message=f"{bounded(url)} asks for a token.", operator_hint=f"--token TOKEN, or {TOKEN}")
    return found


def ask(url: str, path: str, *, token: str | None, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what a running server answers.

    Args:
        url: Its address, with or without the path of its tools.
        path: What is asked for.
        token: Its bearer token; by default FAILSOFT_TOKEN.
        body: What is posted; None asks by GET.

    Raises:
        INVALID_PARAM: The URL is not an HTTP address.
        UNAVAILABLE: Nothing answers there, or something else than a failsoft server; or it drains, or lost its store.
        UNAUTHENTICATED: It asks for a token, or for another one.
        PERMISSION_DENIED: The token may only read.
        NOT_FOUND: There is nothing of that name, or there are no controls.
        CONFIG_ERROR: It refused or could not make the change.
    """
    import httpx2  # noqa: PLC0415 - half a second that commands on local tools save

    parts = _parts(url, hint="--url http://127.0.0.1:8321")
    address = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/mcp')}/{path}"
    try:
        with (
            httpx2.Client(timeout=_WITHIN_S, trust_env=False, headers=bearer(token)) as client,
            client.stream("GET" if body is None else "POST", address, json=body) as answer,
        ):
            found = json.loads(_whole(answer.iter_bytes()))
    except (httpx2.HTTPError, ValueError, RecursionError, OSError) as error:
        cause = f"{type(error).__name__}: {bounded(str(error))}"
        raise Unavailable(message=f"No failsoft server answers at {address} ({cause}).") from error
    if answer.status_code == _FOUND and isinstance(found, dict):
        return found
    said = bounded(str(found.get("error", ""))) if isinstance(found, dict) else ""
    if answer.status_code == _UNAUTHENTICATED:
        raise Unauthenticated(
            message=said or f"{address} asks for a token.", operator_hint=f"--token TOKEN, or {TOKEN}"
        )
    if answer.status_code == _FORBIDDEN:
        raise PermissionDenied(message=said or f"{address} does not accept this token.")
    if answer.status_code == _MISSING:
        raise NotFound(
            message=said or f"{address} is not there: the server has no controls.",
            operator_hint="" if said else "start it with FAILSOFT_ADMIN_TOKEN",
        )
    if answer.status_code == _UNAVAILABLE:
        raise Unavailable(message=said or f"{address} takes no requests at the moment: the server drains, or starts.")
    raise ConfigurationError(issue=said or f"{address} answered {answer.status_code}")


def _whole(parts: Iterable[bytes]) -> bytes:
    """Return a body that comes in parts. Raises ValueError if it is larger than that of any server."""
    whole = bytearray()
    for part in parts:
        whole += part
        if len(whole) > _BYTES_AT_MOST:
            msg = f"it has more than {_BYTES_AT_MOST:,} bytes"
            raise ValueError(msg)
    return bytes(whole)


def _parts(url: str, *, hint: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise usage(message=f"'{bounded(url)}' is no HTTP address.", hint=hint)
    return parts
