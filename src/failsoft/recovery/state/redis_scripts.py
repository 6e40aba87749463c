"""What a Redis server runs: the swap of a value with the quota of its owner, and the reading of an older format."""

from __future__ import annotations

from failsoft.framework.state.backend import LEAST_BYTES

FORMAT = 2
"""The format of what is stored, which the server keeps under `#format` as long as any key: a version that
reads less refuses it."""
WRONG_TYPE = "wrong type"
"""The version of a key that another program has given another type than text, or a text beyond every record."""
BYTES_AT_MOST = 16_000_000
"""The longest text that is read."""
_ACCOUNTS = """
local OWNER_OF, UNTIL, SIZES, USED = base .. 'owner:', base .. 'until:', base .. 'sizes:', base .. 'used'
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local function leave(owner, key)
    local size = redis.call('HGET', SIZES .. owner, key)
    if size then
        redis.call('HDEL', SIZES .. owner, key)
        redis.call('ZADD', USED, redis.call('HINCRBY', SIZES .. owner, '', -size), owner)
        redis.call('ZREMRANGEBYSCORE', USED, '-inf', 0)
    end
    redis.call('ZREM', UNTIL .. owner, key)
end
local function leave_expired(owner)
    for _, gone in ipairs(redis.call('ZRANGEBYSCORE', UNTIL .. owner, '-inf', now_ms, 'LIMIT', 0, 1000)) do
        leave(owner, gone)
    end
end
"""
SWAP = f"""
local key, base = KEYS[1], KEYS[2]
local before, after, json, ttl_ms, owner, quota, may_grow = unpack(ARGV)
{_ACCOUNTS}
local format = redis.call('GET', base .. 'format')
if format and (tonumber(format) or 0) > {FORMAT} then return {{3, time[1], time[2], format}} end
local held, version = redis.pcall('GET', key), ''
if type(held) == 'table' or (held and #held > {BYTES_AT_MOST}) then
    held, version = false, '{WRONG_TYPE}'
elseif held then
    version = string.sub(held, 1, 18)
    if string.sub(held, 19, 19) ~= '\\n' or string.find(version, '[^0-9a-f]') then version = redis.sha1hex(held) end
end
if version == after then return {{1, time[1], time[2]}} end
if version ~= before then return {{0, time[1], time[2], held or (version ~= '' and version)}} end
if json == '' then
    local known = redis.call('GET', OWNER_OF .. key)
    if known then
        leave(known, key)
        redis.call('DEL', OWNER_OF .. key)
    end
    redis.call('DEL', key)
    return {{1, time[1], time[2]}}
end
if held and redis.call('EXISTS', OWNER_OF .. key) == 1 then
    redis.call('DEL', base .. 'room')
else
    redis.call('SET', base .. 'room', '', 'PX', 1)
end
local known = redis.call('GET', OWNER_OF .. key)
if owner ~= '' or (held and known) then
    owner = known or owner
    leave_expired(owner)
    if not held then leave(owner, key) end
    local size = math.max({LEAST_BYTES}, #key + #json)
    local was = tonumber(redis.call('HGET', SIZES .. owner, key) or 0)
    local total = tonumber(redis.call('HGET', SIZES .. owner, '') or 0) + size - was
    if (not held or (size > was and may_grow == '0')) and total > tonumber(quota) then
        return {{2, time[1], time[2]}}
    end
    redis.call('ZADD', UNTIL .. owner, now_ms + ttl_ms, key)
    redis.call('HSET', SIZES .. owner, key, size, '', total)
    redis.call('ZADD', USED, total, owner)
    redis.call('SET', OWNER_OF .. key, owner, 'PX', ttl_ms)
    for _, account in ipairs({{UNTIL .. owner, SIZES .. owner, USED}}) do
        if redis.call('PTTL', account) < tonumber(ttl_ms) then redis.call('PEXPIRE', account, ttl_ms) end
    end
end
redis.call('SET', key, after .. '\\n' .. json, 'PX', ttl_ms)
if redis.call('PTTL', base .. 'format') < tonumber(ttl_ms) then
    redis.call('SET', base .. 'format', {FORMAT}, 'PX', ttl_ms)
end
return {{1, time[1], time[2]}}
"""
"""Swaps a value: 1 if it was done, 0 and what is there if the version is another, 2 if the quota has no space, 3 if a
newer version has written to the server; with the server's time. Keys of an owner are kept by expiry, and their sizes
with the sum under an empty name; owners by the sum.

A server without memory refuses a script whose first write needs some, and no later one: so a new key is refused before
anything has happened, and what was begun under one, such as a call, is ended."""
FULLEST = f"""
local base = KEYS[1]
{_ACCOUNTS}
local first = time[2] % math.max(1, redis.call('ZCARD', USED) - 99)
for _, owner in ipairs(redis.call('ZRANGE', USED, first, first + 99)) do
    if redis.call('EXISTS', SIZES .. owner) == 0 then redis.call('ZREM', USED, owner) end
end
for _ = 1, 100 do
    local owner, bytes = unpack(redis.call('ZREVRANGE', USED, 0, 0, 'WITHSCORES'))
    if not owner then return 0 end
    leave_expired(owner)
    local total = tonumber(redis.call('HGET', SIZES .. owner, '') or 0)
    if total > 0 and total == tonumber(bytes) then return total end
    redis.call('ZREM', USED, owner)
    if total > 0 then redis.call('ZADD', USED, total, owner) end
end
return 0
"""
"""Returns the most bytes that one owner's quota counts, without the records of that owner that have expired.

Owners whose records have all expired leave in passing: of 100 that are next to each other, from a random one on."""
OF_FORMAT_1 = "return cjson.encode(cmsgpack.unpack(ARGV[1]))"
"""Returns a state as JSON that an older version of failsoft has stored."""
