"""`RedisState`: states on a Redis or Valkey server, changed in atomic steps by Lua."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
import time
import weakref
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

from redis import exceptions
from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from failsoft.framework.clock import loop_time
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.state_port import State, Transition
from failsoft.recovery.state.lua import SEED, argument, as_answer, script
from failsoft.recovery.state.resilient import StoreLost

__all__ = ["RedisState"]

T = TypeVar("T")
_SCHEMES = {"redis": "redis", "rediss": "rediss", "unix": "unix", "valkey": "redis", "valkeys": "rediss"}
_CONNECTIONS = 16
"""At most, for one event loop. Further commands wait for their turn, which is no fault of the server's."""
_MEANWHILE = "lost meanwhile"
_LATE = 2.0


class RedisState:
    """States on one server. Raises `StoreLost` when the server does not answer; `ResilientState` goes on then.

    Args:
        url: `redis://[user:password@]host[:port][/db]`, `rediss://...` with TLS, or `unix://[:password@]/path?db=0`;
            `valkey://` and `valkeys://` mean the same. It is never logged and never in an error.
        prefix: What every key begins with, so that several services can share a server.
        limit_s: How long connecting may take, and a command, in seconds.

    Raises:
        CONFIG_ERROR: The address cannot be used; the message says why.
    """

    def __init__(self, url: str, *, prefix: str = "failsoft", limit_s: float = 0.25) -> None:
        self._url = _checked(url)
        self._prefix = prefix
        self._limit_s = limit_s
        self._offset_s: float | None = None
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Client] = weakref.WeakKeyDictionary()

    def clock(self) -> float:
        """Return the server's time in seconds, as of the last `ping`; before that, this machine's."""
        if self._offset_s is None:
            self._offset_s = time.time() - loop_time()
        return loop_time() + self._offset_s

    async def ping(self) -> None:
        """Ask the server whether it is there, and for its time."""
        seconds, microseconds = await self._run(lambda redis: redis.time())
        self._offset_s = int(seconds) + int(microseconds) / 1e6 - loop_time()

    async def change(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """See `StateStore`."""
        source = script(transition)
        return as_answer(await self._evaluate(source, self._prefix + ":" + key, *map(argument, arguments)))

    async def seed(self, key: str, state: State, ttl_s: float) -> bool:
        """Keep a state under a key that has none; return whether it was kept."""
        return bool(await self._evaluate(SEED, self._prefix + ":" + key, json.dumps(state), str(_milliseconds(ttl_s))))

    async def get(self, key: str) -> Any:
        """See `StateStore`."""
        text = await self._run(lambda redis: redis.get(self._prefix + ":" + key))
        return None if text is None else json.loads(text)

    async def put(self, key: str, value: Any, ttl_s: float, *, only_if_absent: bool = False) -> bool:
        """See `StateStore`."""
        text, ttl_ms = json.dumps(value), _milliseconds(ttl_s)
        name = self._prefix + ":" + key
        return bool(await self._run(lambda redis: redis.set(name, text, px=ttl_ms, nx=only_if_absent)))

    async def delete(self, key: str) -> None:
        """See `StateStore`."""
        await self._run(lambda redis: redis.delete(self._prefix + ":" + key))

    async def close(self) -> None:
        """Let go of the connections of this event loop; those of loops that have ended went with them."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _evaluate(self, source: str, key: str, *arguments: str) -> Any:
        digest = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()

        async def evaluate(redis: Redis) -> Any:
            try:
                return await redis.evalsha(digest, 1, key, *arguments)
            except exceptions.NoScriptError:  # a server that is new, or has been restarted
                return await redis.eval(source, 1, key, *arguments)

        return await self._run(evaluate)

    async def _run(self, command: Callable[[Redis], Awaitable[T]]) -> T:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = _Client(self._url, self._limit_s)
        return await client.run(command)


class _Client:
    """The connections of one event loop."""

    def __init__(self, url: str, limit_s: float) -> None:
        self._pool = _pool(url, limit_s)
        self._redis = Redis(connection_pool=self._pool)
        self._limit_s = limit_s
        self._turn = asyncio.Semaphore(_CONNECTIONS)
        self._faults = 0

    async def run(self, command: Callable[[Redis], Awaitable[T]]) -> T:
        """Run one command within the limit; what is no fault of the server's is tried a second time."""
        faults = self._faults
        async with self._turn:
            if self._faults != faults:  # those before found nobody: do not wait for the same, one after another
                raise StoreLost(_MEANWHILE)
            began = loop_time()
            try:
                try:
                    return await self._limited(command)
                except (exceptions.TimeoutError, TimeoutError):
                    if loop_time() - began < _LATE * self._limit_s:
                        raise
                    # The timer itself was late: it was this process that did not get to look.
                    return await self._limited(command)
                except exceptions.ConnectionError:
                    # The server was restarted between two calls: all idle connections are as dead as this one.
                    await self._pool.disconnect(inuse_connections=False)
                    return await self._limited(command)
            except (exceptions.RedisError, OSError, EOFError) as error:
                self._faults += 1
                raise StoreLost(type(error).__name__) from error

    async def close(self) -> None:
        await self._redis.aclose()
        await self._pool.aclose()

    async def _limited(self, command: Callable[[Redis], Awaitable[T]]) -> T:
        async with asyncio.timeout(_LATE * self._limit_s):  # whatever it is that takes long: also looking up a name
            return await command(self._redis)


def _pool(url: str, limit_s: float) -> ConnectionPool:
    return ConnectionPool.from_url(
        url,
        decode_responses=True,
        protocol=2,
        retry=Retry(NoBackoff(), 0),
        socket_connect_timeout=limit_s,
        socket_timeout=limit_s,
    )


def _checked(url: str) -> str:
    """Return the address as the client takes it, or say why it cannot be used, without repeating it."""
    scheme, _, rest = url.partition("://")
    usable = f"{_SCHEMES.get(scheme, '')}://{rest}"
    fault = _fault(usable)
    if fault:
        raise ConfigurationError(
            issue=f"FAILSOFT_STATE_URL cannot be used: {fault}", resolution="give redis://host:6379/0, or unset it"
        )
    return usable


def _fault(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "it is no address"
    if not parts.scheme:
        return "it must begin with redis://, rediss:// or unix://"
    if not (parts.path.strip("/") if parts.scheme == "unix" else parts.hostname):
        return "it names no host, or no socket"
    if parts.scheme != "unix" and not re.fullmatch(r"/?|/[0-9]+", parts.path):
        return "what follows the host must be the number of a database"
    try:
        _pool(url, 1.0).make_connection()  # type: ignore[no-untyped-call]
    except Exception:  # noqa: BLE001 - of whatever kind: the client takes any parameter and hands it on
        return "it has a parameter that the client does not know, or a wrong value"
    return ""


def _milliseconds(ttl_s: float) -> int:
    return max(1, math.ceil(ttl_s * 1000))
