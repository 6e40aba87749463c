"""Sealed texts that clients keep for this server: only its replicas can read and make them, for one principal each."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Callable
from typing import Any

from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState

from failsoft.framework.setting_types import seal_keys
from failsoft.framework.settings import Settings
from failsoft.framework.state.backend import KEPT, Changed, State
from failsoft.framework.state.store import StateStore

_VERSION = 1
_SKEW_S = 60.0
"""How far the clocks of replicas may differ, in seconds: a text that is from later is refused."""
_KEY_KEPT_S = 10 * 365 * 86_400.0


class NotOurs(Exception):
    """A sealed text is refused; its text is the reason, a clause."""


class Expired(NotOurs):
    """A sealed text would be accepted, were it not too late; its one argument is what was sealed."""

    def __str__(self) -> str:
        return "it has expired"

    @property
    def claims(self) -> dict[str, Any]:
        """What was sealed."""
        return self.args[0]  # type: ignore[no-any-return]  # raised with claims only


class Sealer:
    """Seals claims, bound to a principal, to this server's name and to a purpose.

    The keys are those of the settings, else one that is made once in the state store, where replicas share it.

    Args:
        state: The state store.
        settings: Name the keys.
        clock: The wall clock, in seconds.

    Attributes:
        server_name: The name of the server, set before it serves.
        records: Durable records of what was sealed.
    """

    name = "asking"
    roots = ()

    def __init__(self, state: StateStore, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self.server_name = ""
        self.records = state.records(self)
        self.clock = clock
        self._given = settings.ask_key
        self._codec: AESGCMRequestStateCodec | None = None

    async def make(self, purpose: str, principal: str | None, ttl_s: float, **claims: Any) -> str:
        """Return the sealed claims, as visible ASCII.

        Raises:
            STATE_UNAVAILABLE, STATE_UNUSABLE: The state store, which has the key, cannot be read.
        """
        now = self.clock()
        facts = {"v": _VERSION, "for": purpose, "server": self.server_name, "of": _hashed(principal)}
        whole = {**facts, "made": now, "ends": now + ttl_s, **claims}
        return (await self._opened_codec()).seal(json.dumps(whole, separators=(",", ":")).encode())

    async def open(self, purpose: str, text: str, principal: str | None) -> dict[str, Any]:
        """Return the claims of a sealed text.

        Raises:
            NotOurs: It was not sealed by this server, or for another purpose or principal.
            Expired: It was, and is over.
            STATE_UNAVAILABLE, STATE_UNUSABLE: As `make`.
        """
        codec = await self._opened_codec()
        try:
            claims: dict[str, Any] = json.loads(codec.unseal(text))
        except (InvalidRequestState, ValueError):
            msg = "this server has not issued it"
            raise NotOurs(msg) from None
        if (claims["v"], claims["for"], claims["server"]) != (_VERSION, purpose, self.server_name):
            msg = "this server has not issued it"
            raise NotOurs(msg)
        if claims["of"] != _hashed(principal):
            msg = "it was issued to another caller"
            raise NotOurs(msg)
        if claims["made"] - _SKEW_S > self.clock():
            msg = "it is from the future"
            raise NotOurs(msg)
        if claims["ends"] <= self.clock():
            raise Expired(claims)
        return claims

    async def spend(self, claims: dict[str, Any], principal: str | None) -> bool:
        """Return whether nobody has spent these claims before, on any replica; from now on they are spent.

        Raises:
            STATE_UNAVAILABLE, STATE_UNUSABLE, QUOTA_EXHAUSTED: The state store does not take it down.
        """
        ttl_s = claims["ends"] - self.clock() + 2 * _SKEW_S
        return await self.records.put(f"spent:{claims['once']}", 1, ttl_s, only_if_absent=True, principal=principal)

    async def _opened_codec(self) -> AESGCMRequestStateCodec:
        if self._codec is None:
            if self._given is not None:
                keys = seal_keys(self._given)
            else:
                keys = [await self.records.change(_kept_key, "seal:key", secrets.token_hex(32), is_free=True)]
            self._codec = AESGCMRequestStateCodec(keys)
        return self._codec


def new_once() -> str:
    """Return what no other sealed text has, for `Seal.spend`."""
    return secrets.token_urlsafe(12)


def digest(value: Any) -> str:
    """Return the digest of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:32]


def _hashed(principal: str | None) -> str:
    return "" if principal is None else hashlib.sha256(principal.encode(errors="surrogatepass")).hexdigest()[:32]


def _kept_key(state: State | None, _now: float, made: str) -> Changed:
    if state is not None:
        return Changed(KEPT, state["key"])
    return Changed({"key": made}, made, _KEY_KEPT_S)
