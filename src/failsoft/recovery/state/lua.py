"""Lua scripts for Redis: transitions with accounts and quotas, and the encoding of arguments and answers."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from failsoft.framework.records import QuotaReached, Transition

SERVER_TIME = "(function() local t = redis.call('TIME'); return t[1] + t[2] / 1e6 end)()"
"""The server's clock, so that the clocks of replicas need not agree."""

_ACCOUNTS = """
local BASE = KEYS[2] or ''
local OWNER_OF, UNTIL, SIZES = BASE .. 'owner:', BASE .. 'until:', BASE .. 'sizes:'
local function leave(owner, key)
    local size = redis.call('HGET', SIZES .. owner, key)
    if size then
        redis.call('HDEL', SIZES .. owner, key)
        redis.call('HINCRBY', SIZES .. owner, '', -size)
    end
    redis.call('ZREM', UNTIL .. owner, key)
end
local function charge(size, ttl_ms, may_grow, is_new)
    if not KEYS[3] or KEYS[3] == '' then return nil end
    local time = redis.call('TIME')
    local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
    local owner = redis.call('GET', OWNER_OF .. KEYS[1]) or KEYS[3]
    for _, key in ipairs(redis.call('ZRANGEBYSCORE', UNTIL .. owner, '-inf', now_ms, 'LIMIT', 0, 1000)) do
        leave(owner, key)
    end
    if is_new then leave(owner, KEYS[1]) end
    local before = tonumber(redis.call('HGET', SIZES .. owner, KEYS[1]) or 0)
    local total = tonumber(redis.call('HGET', SIZES .. owner, '') or 0) + size - before
    if is_new and redis.call('ZCARD', UNTIL .. owner) + 1 > tonumber(KEYS[4]) then return 'records' end
    local is_bound = is_new or (size > before and not may_grow)
    if is_bound and total > tonumber(KEYS[5]) then return 'bytes' end
    redis.call('ZADD', UNTIL .. owner, now_ms + ttl_ms, KEYS[1])
    redis.call('HSET', SIZES .. owner, KEYS[1], size, '', total)
    redis.call('SET', OWNER_OF .. KEYS[1], owner, 'PX', ttl_ms)
    for _, key in ipairs({{UNTIL .. owner, SIZES .. owner}}) do
        if redis.call('PTTL', key) < ttl_ms then redis.call('PEXPIRE', key, ttl_ms) end
    end
end
local function forget()
    local owner = redis.call('GET', OWNER_OF .. KEYS[1])
    if owner then
        leave(owner, KEYS[1])
        redis.call('DEL', OWNER_OF .. KEYS[1])
    end
    return redis.call('DEL', KEYS[1])
end
"""
"""Accounts per principal: its keys by expiry time, and their sizes with the sum under an empty name.

`KEYS` are the record's key, the prefix of account keys, the owner (empty: no account), and its quota in records and in
bytes."""

_AROUND = (
    _ACCOUNTS
    + """
local function step(state, now, arguments)
{body}
end
local encoded
encoded = function(value)
    if type(value) == 'number' then return string.format('%.17g', value) end
    if type(value) ~= 'table' then return cjson.encode(value) end
    local parts = {{}}
    for _, one in ipairs(value) do parts[#parts + 1] = encoded(one) end
    return '[' .. table.concat(parts, ',') .. ']'
end
local packed = redis.call('GET', KEYS[1])
local arguments = {{}}
for index, given in ipairs(ARGV) do
    local text = string.sub(given, 2)
    arguments[index] = string.sub(given, 1, 1) == 'n' and tonumber(text) or text
end
local before = packed and cmsgpack.unpack(packed) or nil
if packed and type(before) ~= 'table' then error('no state') end
local state, answer, ttl_s = step(before, {now}, arguments)
if state then
    local text, ttl_ms = cmsgpack.pack(state), math.max(1, math.ceil(ttl_s * 1000))
    local fault = charge(#KEYS[1] + #text, ttl_ms, true, not packed)
    if fault then return '!' .. fault end
    redis.call('SET', KEYS[1], text, 'PX', ttl_ms)
elseif packed then
    forget()
end
return encoded(answer)
"""
)
# cjson writes numbers with 14 digits, too few for a time in microseconds; cmsgpack and '%.17g' are exact.

SEED = """
if redis.call('SET', KEYS[1], cmsgpack.pack(cjson.decode(ARGV[1])), 'NX', 'PX', ARGV[2]) then return 1 end
return 0
"""
"""Stores a state unless the key exists."""

_PLAIN_ACCOUNTS = _ACCOUNTS.format()

PUT = (
    _PLAIN_ACCOUNTS
    + """
local is_there = redis.call('EXISTS', KEYS[1]) == 1
if is_there and ARGV[3] == '1' then return '0' end
local fault = charge(#KEYS[1] + #ARGV[1], tonumber(ARGV[2]), false, not is_there)
if fault then return '!' .. fault end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return '1'
"""
)
"""Stores a JSON value under a key if the quota allows it."""

DELETE = _PLAIN_ACCOUNTS + "return forget()"
"""Deletes a key and returns how many were deleted."""

DUMP = """
local kept = redis.call('GET', KEYS[1])
if not kept then return nil end
if not pcall(cjson.decode, kept) then kept = cjson.encode(cmsgpack.unpack(kept)) end
return {kept, redis.call('PTTL', KEYS[1])}
"""
"""Returns the state or value of a key as JSON, and its remaining time to live in milliseconds."""


@lru_cache(maxsize=256)
def script(transition: Transition, now: str = SERVER_TIME) -> str:
    """Return the script that runs a transition on the state under its one key.

    Args:
        transition: The transition.
        now: The Lua expression for the time in seconds.
    """
    return _AROUND.format(body=transition.lua, now=now)


def argument(value: Any) -> str:
    """Return a number or a text encoded for a script, prefixed with its type; floats keep every digit."""
    return f"s{value}" if isinstance(value, str) else f"n{value!r}"


def as_answer(text: Any) -> Any:
    """Return the decoded answer of a script.

    Raises:
        QuotaReached: The quota is used up.
        BadValue: The answer cannot be decoded.
    """
    text = text.decode() if isinstance(text, bytes) else text
    if isinstance(text, str) and text.startswith("!"):
        raise QuotaReached(text[1:])
    return parsed(text)


class BadValue(Exception):
    """The stored value of a key cannot be decoded."""


def parsed(text: Any) -> Any:
    """Return the value of a JSON text from the store.

    Raises:
        BadValue: It is not JSON.
    """
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        msg = "it is not JSON"
        raise BadValue(msg) from error
