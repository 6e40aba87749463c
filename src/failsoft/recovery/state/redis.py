"""`RedisBackend`: keys on a Redis or Valkey server, swapped by one Lua script."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
import time
import weakref
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from redis import exceptions
from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from failsoft.framework.clock import loop_time
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.state.backend import (
    NOTHING,
    UNREADABLE,
    Held,
    QuotaReached,
    Record,
    StoreFault,
    StoreLost,
    UnreadableValue,
    Write,
    WriteRefused,
    age_of,
)
from failsoft.framework.text import newer_format
from failsoft.recovery.state.redis_scripts import BYTES_AT_MOST, FORMAT, FULLEST, OF_FORMAT_1, SWAP, WRONG_TYPE

T = TypeVar("T")
_SCHEMES = {"redis": "redis", "rediss": "rediss", "unix": "unix", "valkey": "redis", "valkeys": "rediss"}
_CONNECTIONS = 16
"""The largest number of connections per event loop. Further commands wait, which does not count as a failure."""
_MEANWHILE = "lost meanwhile"
_FAULTS: dict[str, StoreFault] = {
    "READONLY": "read_only",
    "NOREPLICAS": "read_only",
    "MISCONF": "read_only",
    "OOM": "full",
    "BUSY": "busy",
    "TRYAGAIN": "busy",
    "LOADING": "loading",
    "MASTERDOWN": "loading",
    "NOAUTH": "denied",
    "NOPERM": "denied",
    "WRONGPASS": "denied",
    "DENIED": "denied",
}
"""What the first word of a server's error says of the store; other errors are a loss."""
_WORDS: dict[type[Exception], str] = {
    exceptions.ReadOnlyError: "READONLY",
    exceptions.OutOfMemoryError: "OOM",
    exceptions.BusyLoadingError: "LOADING",
    exceptions.MasterDownError: "MASTERDOWN",
    exceptions.ClusterDownError: "CLUSTERDOWN",
    exceptions.TryAgainError: "TRYAGAIN",
    exceptions.NoPermissionError: "NOPERM",
    exceptions.AuthenticationError: "NOAUTH",
}
"""The words that the client takes off."""
_ANSWERS = (
    *(exceptions.ResponseError, exceptions.BusyLoadingError, exceptions.AuthenticationError),
    exceptions.AuthorizationError,
)
"""What a server answered, though the client calls some of it a failure of the connection."""
_LATE = 2.0
"""How many times its limit a command may take, name resolution included."""
_FOUND_AT_ONCE = 500
_PARTS_AT_MOST = 500_000
"""Commas and brackets of a value: an object takes a hundred bytes of memory for two of its text."""
_VALUE = re.compile(rb"([0-9a-f]{18})\n")
"""How a value begins: the version, in a line of its own; the rest is JSON."""
_IN_LUA = re.compile(
    r"(ERR )?(Error running script [^:]*: )?@?user_script: ?\d+: "
    r"(?!(@?user_script: ?\d+: )?(-?[A-Z]{2,} |Script killed))"
)
"""An error that Lua itself raised at a line of a script, in the words of Redis 5 to 7 and Valkey."""
_WORD = re.compile(r"(?:.*user_script: ?\d+: )?-?([A-Z]{2,}) ")
"""The word with which a server's error begins, behind the place of the script before Redis 7."""
_DONE, _FULL, _NEWER = 1, 2, 3


class RedisBackend:
    """See `Backend`. Raises `StoreLost` when the server does not answer, or refuses what it is asked.

    Args:
        url: `redis://[user:password@]host[:port][/db]`, `rediss://...` with TLS, or `unix://[:password@]/path?db=0`;
            `valkey://` and `valkeys://` mean the same. It never appears in logs or errors.
        prefix: The prefix of every key, so that several services can share a server.
        limit_s: The time limit for connecting and for each command, in seconds.

    Raises:
        CONFIG_ERROR: The address is invalid; the message says why.
    """

    is_local = False
    is_of_machine = False
    default_root = ""

    def __init__(self, url: str, *, prefix: str = "failsoft", limit_s: float = 0.25) -> None:
        self._url = _checked(url)
        self._prefix = prefix
        self._limit_s = limit_s
        self._offset_s: float | None = None
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Client] = weakref.WeakKeyDictionary()
        self._digest = hashlib.sha1(SWAP.encode(), usedforsecurity=False).hexdigest()

    def clock(self) -> float:
        """Return the server's time in seconds by its last answer; before that, this machine's."""
        if self._offset_s is None:
            self._offset_s = time.time() - loop_time()
        return loop_time() + self._offset_s

    async def ping(self) -> None:
        """Check that the server answers, and read its clock."""
        self._tell_time(*await self._run(lambda redis: redis.time()))

    async def read(self, key: str) -> Held:
        """See `Backend`."""
        name = f"{self._prefix}:{key}"
        raw, now, made = await self._piped(
            lambda pipe: pipe.getrange(name, 0, BYTES_AT_MOST).time().get(self._prefix + "#format")
        )
        if not isinstance(now, Exception):
            self._tell_time(*now)
        if isinstance(made, bytes) and made.isdigit() and int(made) > FORMAT:
            raise _newer(made)
        return await self._held(raw or None)

    async def swap(self, key: str, version: str, write: Write) -> Held | None:
        """See `Backend`."""
        name = f"{self._prefix}:{key}"
        owner, quota_bytes = write.account or ("", 0)
        text = "" if write.value is None else json.dumps(write.value)
        ttl_ms = max(1, math.ceil(write.ttl_s * 1000))
        facts = (version, write.version, text, ttl_ms, owner, quota_bytes, int(write.may_grow))
        answer = await self._swapped([name, self._prefix + "#"], facts)
        try:
            verdict, seconds, microseconds, *there = answer
            self._tell_time(seconds, microseconds)
        except (TypeError, ValueError) as error:
            raise StoreLost(type(error).__name__, may_be_written=True) from error
        if verdict == _FULL:
            raise QuotaReached
        if verdict == _NEWER:
            raise _newer(there[0])
        return None if verdict == _DONE else await self._held(there[0] if there else None)

    async def find(self, prefix: str) -> list[Record]:
        """See `Backend`. Scans all keys of the server: for operators and rare calls."""
        start = self._prefix + ":"
        pattern = re.sub(r"([*?\[\]\\])", r"\\\1", start + prefix) + "*"

        async def scan(redis: Redis) -> list[str]:
            return [name.decode(errors="surrogateescape") async for name in redis.scan_iter(match=pattern, count=1_000)]

        await self.ping()  # tells the time, which ages are by
        names, found = sorted(set(await self._run(scan))), []
        for first in range(0, len(names), _FOUND_AT_ONCE):
            some = names[first : first + _FOUND_AT_ONCE]
            answers = await self._piped(partial(_ask_all, some))
            for name, raw, left_ms in zip(some, answers[::2], answers[1::2], strict=True):
                key, held = name.removeprefix(start), await self._held(raw or None)
                if held.version != NOTHING and held.value is not UNREADABLE:
                    found.append(Record(key, held.value, max(0, left_ms) / 1_000, age_of(held.version, self.clock())))
        return found

    async def fullest(self) -> int:
        """See `Backend`."""
        return int(await self._run(lambda redis: redis.eval(FULLEST, 1, self._prefix + "#")))

    async def close(self) -> None:
        """Close the connections of this event loop; those of a loop that has ended are closed already."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def _tell_time(self, seconds: Any, microseconds: Any) -> None:
        self._offset_s = int(seconds) + int(microseconds) / 1e6 - loop_time()

    async def _held(self, raw: Any) -> Held:
        """Return what a stored text says."""
        if raw is None:
            return Held(NOTHING, None)
        if isinstance(raw, Exception) or raw == WRONG_TYPE.encode() or len(raw) > BYTES_AT_MOST:
            return Held(WRONG_TYPE, UNREADABLE)
        found = _VALUE.match(raw)
        version = hashlib.sha1(raw, usedforsecurity=False).hexdigest() if found is None else found[1].decode()
        if sum(map(raw.count, (b",", b"[", b"{"))) > _PARTS_AT_MOST:
            return Held(version, UNREADABLE)
        try:
            if found is not None or raw < b"\x80":
                return Held(version, json.loads(raw[found.end() :] if found else raw))
            return Held(version, json.loads(await self._run(lambda redis: redis.eval(OF_FORMAT_1, 0, raw))))
        except (ValueError, RecursionError, UnreadableValue):
            return Held(version, UNREADABLE)

    async def _piped(self, ask: Callable[[Any], Any]) -> list[Any]:
        """Return the answers to several commands, which need not be atomic; an error that is about a value is one."""

        async def run(redis: Redis) -> list[Any]:
            async with redis.pipeline(transaction=False) as pipe:
                ask(pipe)
                answers = await pipe.execute(raise_on_error=False)
            for answer in answers:
                if isinstance(answer, Exception) and not _is_of_value(answer):
                    raise answer
            return answers

        return await self._run(run)

    async def _swapped(self, keys: list[str], facts: tuple[Any, ...]) -> Any:
        async def evaluate(redis: Redis) -> Any:
            try:
                return await redis.evalsha(self._digest, len(keys), *keys, *facts)
            except exceptions.NoScriptError:  # a new or restarted server
                return await redis.eval(SWAP, len(keys), *keys, *facts)

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
            is_second = False
            try:
                try:
                    return await self._limited(command)
                except _ANSWERS:
                    raise
                except (exceptions.TimeoutError, TimeoutError):
                    if loop_time() - began < _LATE * self._limit_s:
                        raise
                    # The timer itself fired late: this process was blocked, not the server.
                except exceptions.ConnectionError:
                    # The server was restarted between two calls, so all idle connections are dead, too.
                    await self._pool.disconnect(inuse_connections=False)
                is_second = True
                return await self._limited(command)
            except _ANSWERS as error:
                if _is_of_value(error):
                    raise UnreadableValue(type(error).__name__) from error
                raise _lost(error, WriteRefused, may_be_written=is_second) from error
            except (exceptions.RedisError, OSError, EOFError, ValueError, TypeError, LookupError) as error:
                self._faults += 1
                raise _lost(error, StoreLost, may_be_written=True) from error

    async def close(self) -> None:
        await self._redis.aclose()
        await self._pool.aclose()

    async def _limited(self, command: Callable[[Redis], Awaitable[T]]) -> T:
        async with asyncio.timeout(_LATE * self._limit_s):  # covers name resolution, too
            return await command(self._redis)


def _is_of_value(error: Exception) -> bool:
    """Return whether a script failed because of the value stored under its key.

    A server that refuses a command (it is a replica, full, lacks replicas or a permission) names the script and its
    line, too; before Redis 7 behind the place, as `user_script: 5: -OOM command not allowed`.
    """
    text = str(error)
    return "WRONGTYPE" in text or (type(error) is exceptions.ResponseError and _IN_LUA.match(text) is not None)


def _newer(made: bytes) -> StoreLost:
    return StoreLost(newer_format(made.decode(), FORMAT, "set another FAILSOFT_STATE_PREFIX"), fault="damaged")


def _lost(error: Exception, kind: type[StoreLost], *, may_be_written: bool) -> StoreLost:
    """Return what describes a failure: by the server's own word, such as NOREPLICAS, else by the exception's name."""
    word = _WORDS.get(type(error), "")
    if not word and isinstance(error, exceptions.ResponseError):
        found = _WORD.match(str(error))
        # Many arguments from a client without a password are an error of the protocol.
        word = found[1] if found is not None else "NOAUTH" if "unauthenticated" in str(error) else ""
    return kind(word or type(error).__name__, fault=_FAULTS.get(word, "lost"), may_be_written=may_be_written)


def _pool(url: str, limit_s: float) -> ConnectionPool:
    return ConnectionPool.from_url(
        url,
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
            issue=f"FAILSOFT_STATE_URL cannot be used ({fault})", resolution="give redis://host:6379/0, or unset it"
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


def _ask_all(names: list[str], pipe: Any) -> None:
    for name in names:
        pipe.getrange(name, 0, BYTES_AT_MOST).pttl(name)
