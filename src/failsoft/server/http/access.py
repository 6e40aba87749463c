"""HTTP access control: accepted Host and Origin headers, bearer tokens, and where a server may listen."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Mapping, Sequence

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware

from failsoft.framework.clock import OnceAMinute
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.setting_types import SHARED_HOLDER, holders_by_token
from failsoft.framework.settings import Settings

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_EVERYWHERE = frozenset({"", "0.0.0.0", "::", "[::]"})  # noqa: S104 - recognised here, never bound to by default


class StaticTokens:
    """Verifies the tokens of the settings, in constant time.

    Args:
        holders: Token -> the principal who holds it.
    """

    def __init__(self, holders: Mapping[str, str]) -> None:
        self._holders = [(token.encode(), holder) for token, holder in holders.items()]

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the access that a token grants, or None. HTTP headers are decoded as latin-1."""
        presented = token.encode("latin-1", errors="replace")
        found = None
        for known, holder in self._holders:  # no early exit: the time taken must not depend on the match
            if secrets.compare_digest(presented, known):
                found = AccessToken(token=token, client_id=holder, scopes=[])
        return found


class _FailClosedVerifier:
    """Refuses the token when the wrapped verifier raises (fail closed)."""

    def __init__(self, inner: TokenVerifier) -> None:
        self._inner = inner
        self._failures = OnceAMinute()

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            return await self._inner.verify_token(token)
        except Exception as error:  # noqa: BLE001 - an exception here would become a bare 500
            if count := self._failures.due():
                facts = logger.bind(event="verifier_failed", count=count)
                facts.opt(exception=error).error("The token verifier failed; requests are refused")
            return None


def authentication(verifier: TokenVerifier) -> list[Middleware]:
    """Return the middleware that reads bearer tokens; each route decides whether one is required."""
    return [
        Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(verifier)),
        Middleware(AuthContextMiddleware),
    ]


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server that listens on this host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_exposure(host: str, *, has_token: bool, insecure: bool) -> None:
    """Refuse to serve beyond this machine without a token.

    Raises:
        CONFIG_ERROR: The host is not loopback, there is no token, and `insecure` is not set.
    """
    if is_loopback(host) or has_token:
        return
    if not insecure:
        raise ConfigurationError(
            issue=f"serving on {host or 'every address'} without a token would let every client call the tools",
            resolution="set FAILSOFT_AUTH_TOKEN(S), serve on 127.0.0.1, or confirm it with --insecure",
        )
    logger.warning(
        "Serving on {} without a token: every client that can connect can call every tool", host or "every address"
    )


def transport_security(host: str, allowed_hosts: Sequence[str]) -> TransportSecuritySettings:
    """Return the Host and Origin headers that are accepted, against DNS rebinding.

    Loopback names always are, and so is the host that is listened on. A server on every address also answers to this
    machine's name; any further name has to be allowed. `*` allows all and switches the check off.

    Args:
        host: Where the server listens.
        allowed_hosts: Names or addresses, with a port (`example.org:8321`) or for every port (`example.org`).
    """
    if "*" in allowed_hosts:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    own = socket.gethostname() if host in _EVERYWHERE else host
    names = dict.fromkeys((*_LOOPBACK, *(name.lower() for name in (_bracketed(own), *allowed_hosts))))
    hosts = [pattern for name in names for pattern in _patterns(name)]
    origins = [f"{scheme}://{pattern}" for pattern in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


def _patterns(name: str) -> tuple[str, ...]:
    has_port = ":" in name.rpartition("]")[2]
    return (name,) if has_port else (name, f"{name}:*")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def chosen_verifier(
    given: TokenVerifier | None, settings: Settings, *, auth: AuthSettings | None
) -> TokenVerifier | None:
    """Return the verifier that was given, else one for the tokens of the settings, else None.

    Raises:
        CONFIG_ERROR: OAuth settings without a token verifier: the SDK would accept every request.
    """
    if given is not None:
        return _FailClosedVerifier(given)
    holders = {} if settings.auth_tokens is None else holders_by_token(settings.auth_tokens)
    if settings.auth_token is not None and settings.auth_token.get_secret_value():
        holders.setdefault(settings.auth_token.get_secret_value(), SHARED_HOLDER)
    if holders:
        return StaticTokens(holders)
    if auth is not None:
        raise ConfigurationError(
            issue="OAuth settings without a token verifier protect nothing", resolution="pass token_verifier"
        )
    return None
