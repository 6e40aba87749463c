import asyncio
import json
import math
import time

import httpx2
import jwt
from loguru import logger
from mcp.server.auth.provider import AccessToken

# Never add HS256: anyone who knows the public key could sign then.
ALGORITHMS = ("RS256", "ES256")
CLOCKS_DIFFER_S = 10
READ_IN_S, KEYS_BYTES = 5, 256_000
# Keys are read again after FRESH_S, and given up after STALE_S without an answer.
FRESH_S, STALE_S = 300, 3600


class JwtVerifier:
    """Verifies tokens of one authorization server for one resource (RFC 9068)."""

    def __init__(
        self, *, issuer: str, audience: str, jwks_uri: str, pause_s: float = 10
    ) -> None:
        self._issuer, self._audience, self._jwks_uri = issuer, audience, jwks_uri
        self._pause_s = pause_s  # at least between two requests for the keys
        self._keys: dict[str, jwt.PyJWK] = {}
        self._read_at = self._asked_at = -math.inf
        self._reading: asyncio.Task[None] | None = None
        self._places = asyncio.Semaphore(100)  # for requests that wait for the keys

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            key = await self._key(jwt.get_unverified_header(token).get("kid"))
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                issuer=self._issuer,
                audience=self._audience,
                leeway=CLOCKS_DIFFER_S,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, RecursionError):
            return None
        return AccessToken(
            token=token,
            client_id=claims.get("client_id", claims["sub"]),
            scopes=claims.get("scope", "").split(),
            expires_at=int(claims["exp"]),
            resource=self._audience,
            subject=claims["sub"],
            claims=claims,
        )

    async def _key(self, kid: str | None) -> jwt.PyJWK | None:
        now = time.monotonic()
        if now - self._read_at > STALE_S:
            self._keys = {}
        is_due = kid not in self._keys or now - self._read_at > FRESH_S
        is_idle = self._reading is None or self._reading.done()
        if is_due and is_idle and now - self._asked_at > self._pause_s:
            self._asked_at = now
            self._reading = asyncio.create_task(self._read_keys())
        if (
            kid not in self._keys
            and self._reading is not None
            and not self._places.locked()
        ):
            async with self._places:  # tokens of known keys never wait
                await asyncio.wait([self._reading])
        return None if kid is None else self._keys.get(kid)

    async def _read_keys(self) -> None:
        body = b""
        try:
            # In a thread, because it loads the certificates, which takes 50 ms.
            client = await asyncio.to_thread(httpx2.AsyncClient)
            async with (
                asyncio.timeout(READ_IN_S),
                client as http,
                http.stream(
                    "GET", self._jwks_uri, headers={"accept-encoding": "identity"}
                ) as response,
            ):
                response.raise_for_status()
                async for part in response.aiter_raw():
                    body += part
                    if len(body) > KEYS_BYTES:
                        break
            keys = jwt.PyJWKSet.from_dict(json.loads(body)).keys
        except Exception as error:  # noqa: BLE001 - whatever it answers, the keys that are known stay
            logger.warning(
                "The keys of {} could not be read: {!r}", self._issuer, error
            )
            return
        self._keys = {
            key.key_id: key
            for key in keys
            if key.key_id and key.public_key_use in {None, "sig"}
        }
        self._read_at = time.monotonic()
