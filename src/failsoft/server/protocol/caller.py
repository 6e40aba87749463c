"""Principal of a request, as authenticated by the transport."""

from __future__ import annotations

from typing import Any

from mcp.server import ServerRequestContext
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import principal_components

from failsoft.framework.safe.principals import LOCAL_PRINCIPAL, oauth_principal, token_principal


def principal_of(request: ServerRequestContext[Any, Any] | None) -> str | None:
    """Return the principal of a request, or None if it is not authenticated.

    Only HTTP has requests that carry one; over stdio the caller is the client on the standard streams.
    """
    if request is None or request.request is None:
        return LOCAL_PRINCIPAL
    token = get_access_token()
    if token is None:
        return None
    client_id, issuer, subject = principal_components(token)
    return token_principal(client_id, subject) if issuer is None else oauth_principal(issuer, subject or client_id)
