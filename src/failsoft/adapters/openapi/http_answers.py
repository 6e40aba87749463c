"""Answers of an HTTP API: read within bounds, without credentials, and failures by what they changed."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from typing import Any, Literal
from urllib.parse import quote

import httpx2
import pydantic_core

from failsoft.adapters.openapi.records import READS
from failsoft.framework.errors import BadOutput, ResultTooLarge, ToolError, UpstreamError
from failsoft.framework.normalize import normalize

_PERHAPS_DONE = frozenset({408, 424, 499})
"""Statuses of the 4xx family that are also sent after work was begun."""
_CLIENT_ERRORS = range(400, 500)
_BYTES_AT_MOST = 8_000_000
_OF_ENCODED_BODY = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_HIDDEN_FROM = 8
"""Characters of a credential that is hidden where an answer repeats it."""


def spellings(values: Iterable[str]) -> re.Pattern[bytes] | None:
    """Return a pattern of the values as services repeat them; of short ones, which stand in other texts, none."""
    found: set[str] = set()
    for value in values:
        if len(value) >= _HIDDEN_FROM:
            encoded = base64.b64encode(value.encode()).decode()
            found |= {value, quote(value, safe=""), quote(value), json.dumps(value)[1:-1], encoded, encoded.rstrip("=")}
    longest_first = sorted(found, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)).encode()) if found else None


def may_follow(request: httpx2.Request, response: httpx2.Response) -> bool:
    """Return whether a redirect stays within the origin, for a request that changes nothing."""
    if request.method not in READS or not response.has_redirect_location:
        return False
    try:
        there = request.url.join(response.headers["location"])
    except httpx2.InvalidURL:
        return False
    return (there.scheme, there.host, there.port) == (request.url.scheme, request.url.host, request.url.port)


async def read(response: httpx2.Response, request: httpx2.Request, hidden: re.Pattern[bytes] | None) -> httpx2.Response:
    """Return the response with its decoded body, without what is hidden."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _BYTES_AT_MOST:
            if not response.is_success:
                break  # the status says enough
            changed: Literal["none", "applied"] = "none" if request.method in READS else "applied"
            raise ResultTooLarge(size_bytes=len(body), limit_bytes=_BYTES_AT_MOST, effect=changed)
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in _OF_ENCODED_BODY]
    content = bytes(body) if hidden is None else hidden.sub(b"<redacted>", body)
    return httpx2.Response(response.status_code, headers=headers, content=content, request=request)


def failure_of(raised: Exception, *, is_read: bool) -> ToolError:
    """Return the error for an exception, with what the request can have changed."""
    error = normalize(raised)
    status = raised.response.status_code if isinstance(raised, httpx2.HTTPStatusError) else None
    if is_read or error.effect == "none" or (status in _CLIENT_ERRORS and status not in _PERHAPS_DONE):
        error.effect = "none"
        error.effect_is_foreign = False  # the request is all that the handler does
    return error


def redirected() -> UpstreamError:
    """Return the failure of a request that was answered with a redirect, which would take credentials along."""
    error = UpstreamError(message="The service behind this tool redirects to another address, which is not followed.")
    error.retry = "never"  # type: ignore[misc]  # of this failure: it is no passing one
    return error


def data_of(response: httpx2.Response, *, is_read: bool) -> Any:
    """Return the data of a success."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not response.content:
        return None
    if kind == "application/json" or kind.endswith("+json"):
        try:
            return pydantic_core.from_json(response.content, allow_inf_nan=False)
        except ValueError as error:
            message = "The service sent an answer that is no JSON."
            raise BadOutput(message=message, effect="none" if is_read else "applied") from error
    if kind.startswith("text/") or kind.endswith(("/xml", "+xml", "/yaml")):
        return response.text
    return {"content_type": kind, "size_bytes": len(response.content)}
