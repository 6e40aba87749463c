"""The SDK's checks of a request's headers, remembered for the header values that passed them."""

from __future__ import annotations

from mcp.server.streamable_http import check_accept_headers
from mcp.server.transport_security import TransportSecurityMiddleware
from starlette.requests import Request
from starlette.types import Scope

_NAMES = (b"content-type", b"accept")
"""The headers that the checks read; Host and Origin have been checked before."""
_REMEMBERED_AT_MOST = 256


class Passed(set[tuple[bytes | None, ...]]):
    """Values of headers that have passed a check, a bounded number of them."""

    def add(self, values: tuple[bytes | None, ...]) -> None:
        """Remember values; beyond the bound, all others are forgotten."""
        if len(self) >= _REMEMBERED_AT_MOST:
            self.clear()
        super().add(values)


class Acceptance:
    """Whether the SDK would read the body of a POST."""

    def __init__(self) -> None:
        self._security = TransportSecurityMiddleware()
        self._passed = Passed()

    async def accepts(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        """Return whether the headers pass.

        Args:
            scope: The ASGI scope of the POST.
            headers: Its headers; a request that repeats one of them is not to be checked here.
        """
        values = tuple(map(headers.get, _NAMES))
        if values in self._passed:
            return True
        request = Request(scope)
        if not all(check_accept_headers(request)):
            return False
        if await self._security.validate_request(request, is_post=True) is not None:
            return False
        self._passed.add(values)
        return True
