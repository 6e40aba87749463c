"""`RedisState`: states and records on a Redis or Valkey server, changed atomically by Lua scripts."""

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
from failsoft.framework.records import Account, Record, State, StoreLost, Transition, UnreadableValue
from failsoft.recovery.state.lua import DELETE, DUMP, PUT, SEED, BadValue, argument, as_answer, parsed, script

T = TypeVar("T")
_SCHEMES = {"redis": "redis", "rediss": "rediss", "unix": "unix", "valkey": "redis", "valkeys": "rediss"}
_CONNECTIONS = 16
"""The largest number of connections per event loop. Further commands wait, which does not count as a failure."""
_MEANWHILE = "lost meanwhile"
_LATE = 2.0
_IN_LUA = re.compile(
    r"(ERR )?(Error running script [^:]*: )?@?user_script: ?\d+: "
    r"(?!(@?user_script: ?\d+: )?(-?[A-Z]{2,} |Script killed))"
)
"""An error that Lua itself raised at a line of a script, in the words of Redis 5 to 7 and Valkey."""


class RedisState:
    """States on one server. Raises `StoreLost` when the server does not answer; `ResilientState` handles that.

    Args:
        url: `redis://[user:password@]host[:port][/db]`, `rediss://...` with TLS, or `unix://[:password@]/path?db=0`;
            `valkey://` and `valkeys://` mean the same. It never appears in logs or errors.
        prefix: The prefix of every key, so that several services can share a server.
        limit_s: The time limit for connecting and for each command, in seconds.

    Raises:
        CONFIG_ERROR: The address is invalid; the message says why.
    """

    is_local = False
    default_root = ""

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
        """Check that the server answers, and read its clock."""
        seconds, microseconds = await self._run(lambda redis: redis.time())
        self._offset_s = int(seconds) + int(microseconds) / 1e6 - loop_time()

    async def change(self, transition: Transition, key: str, *arguments: Any, account: Account | None = None) -> Any:
        """See `RecordBackend`."""
        source = script(transition)
        return await self._answered(key, source, self._keys(key, account), *map(argument, arguments))

    async def seed(self, key: str, state: State, ttl_s: float) -> bool:
        """Store a state unless the key exists; return whether it was stored."""
        return bool(
            await self._evaluate(SEED, [self._prefix + ":" + key], json.dumps(state), str(_milliseconds(ttl_s)))
        )

    async def get(self, key: str) -> Any:
        """See `RecordBackend`."""
        try:
            dumped = await self._evaluate(DUMP, [self._prefix + ":" + key])
            return None if dumped is None else parsed(dumped[0])
        except BadValue as bad:
            raise UnreadableValue(key) from bad

    async def put(
        self, key: str, value: Any, ttl_s: float, *, only_if_absent: bool = False, account: Account | None = None
    ) -> bool:
        """See `RecordBackend`."""
        arguments = (json.dumps(value), str(_milliseconds(ttl_s)), str(int(only_if_absent)))
        return bool(await self._answered(key, PUT, self._keys(key, account), *arguments))

    async def delete(self, key: str) -> bool:
        """See `RecordBackend`."""
        return bool(await self._evaluate(DELETE, self._keys(key, None)))

    async def find(self, prefix: str) -> list[Record]:
        """See `RecordBackend`. Scans all keys of the server: for operators and rare calls."""
        start = self._prefix + ":"
        pattern = re.sub(r"([*?\[\]\\])", r"\\\1", start + prefix) + "*"

        async def scan(redis: Redis) -> list[str]:
            return [str(name) async for name in redis.scan_iter(match=pattern, count=1_000)]

        found = []
        for name in sorted(set(await self._run(scan))):
            try:
                dumped = await self._evaluate(DUMP, [name])
                if dumped is not None:
                    found.append(Record(name.removeprefix(start), parsed(dumped[0]), int(dumped[1]) / 1_000))
            except BadValue:  # one damaged value does not hide the others
                continue
        return found

    async def _answered(self, key: str, source: str, keys: list[str], *arguments: str) -> Any:
        """Return the answer of a script.

        Raises:
            UnreadableValue: The value under the key cannot be decoded.
        """
        try:
            return as_answer(await self._evaluate(source, keys, *arguments))
        except BadValue as bad:
            raise UnreadableValue(key) from bad

    def _keys(self, key: str, account: Account | None) -> list[str]:
        """Return the `KEYS` of a script, see `failsoft.recovery.state.lua`."""
        owner, quota = ("", (0, 0)) if account is None else account
        return [f"{self._prefix}:{key}", self._prefix + "#", owner, str(quota[0]), str(quota[1])]

    async def close(self) -> None:
        """Close the connections of this event loop; those of closed loops are closed already."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _evaluate(self, source: str, keys: list[str], *arguments: str) -> Any:
        digest = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()

        async def evaluate(redis: Redis) -> Any:
            try:
                return await redis.evalsha(digest, len(keys), *keys, *arguments)
            except exceptions.NoScriptError:  # a new or restarted server
                return await redis.eval(source, len(keys), *keys, *arguments)

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
        """Run one command within the limit; a failure that is not the server's fault is retried once."""
        faults = self._faults
        async with self._turn:
            if self._faults != faults:  # the server was lost while this command waited: fail without another time-out
                raise StoreLost(_MEANWHILE)
            began = loop_time()
            try:
                try:
                    return await self._limited(command)
                except (exceptions.TimeoutError, TimeoutError):
                    if loop_time() - began < _LATE * self._limit_s:
                        raise
                    # The timer itself fired late: this process was blocked, not the server.
                    return await self._limited(command)
                except exceptions.ConnectionError:
                    # The server was restarted between two calls, so all idle connections are dead, too.
                    await self._pool.disconnect(inuse_connections=False)
                    return await self._limited(command)
            except (exceptions.ResponseError, UnicodeDecodeError) as error:
                if isinstance(error, UnicodeDecodeError) or _is_of_value(error):
                    raise BadValue(type(error).__name__) from error
                self._faults += 1
                raise StoreLost(_kind(error)) from error
            except (exceptions.RedisError, OSError, EOFError, ValueError, TypeError, LookupError) as error:
                self._faults += 1
                raise StoreLost(type(error).__name__) from error

    async def close(self) -> None:
        await self._redis.aclose()
        await self._pool.aclose()

    async def _limited(self, command: Callable[[Redis], Awaitable[T]]) -> T:
        async with asyncio.timeout(_LATE * self._limit_s):  # covers name resolution, too
            return await command(self._redis)


def _is_of_value(error: exceptions.ResponseError) -> bool:
    """Return whether a script failed because of the value stored under its key.

    A server that refuses a command (it is a replica, full, lacks replicas or a permission) names the script and its
    line, too; before Redis 7 behind the place, as `user_script: 5: -OOM command not allowed`.
    """
    text = str(error)
    return "WRONGTYPE" in text or (type(error) is exceptions.ResponseError and _IN_LUA.match(text) is not None)


def _kind(error: Exception) -> str:
    """Return the kind of fault: the server's own word, such as NOREPLICAS, else the name of the exception."""
    word = str(error).partition(" ")[0]
    is_code = type(error) is exceptions.ResponseError and word.isalpha() and word.isupper()
    return word if is_code else type(error).__name__


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
    """Return the address in the client's form; errors do not repeat it, since it may hold a password."""
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
        return "it is not a URL"
    if not parts.scheme:
        return "it must begin with redis://, rediss:// or unix://"
    if not (parts.path.strip("/") if parts.scheme == "unix" else parts.hostname):
        return "it names no host, or no socket"
    if parts.scheme != "unix" and not re.fullmatch(r"/?|/[0-9]+", parts.path):
        return "what follows the host must be the number of a database"
    try:
        _pool(url, 1.0).make_connection()  # type: ignore[no-untyped-call]  # redis has no types here
    except Exception:  # noqa: BLE001 - the client passes any parameter on, so any exception is possible
        return "it has a parameter that the client does not know, or a wrong value"
    return ""


def _milliseconds(ttl_s: float) -> int:
    return max(1, math.ceil(ttl_s * 1000))
