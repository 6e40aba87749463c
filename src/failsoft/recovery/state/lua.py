"""Transitions as Redis scripts: what stands around their Lua, and how arguments and answers get through."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from failsoft.framework.state_port import Transition

__all__ = ["SEED", "SERVER_TIME", "argument", "as_answer", "script"]

SERVER_TIME = "(function() local t = redis.call('TIME'); return t[1] + t[2] / 1e6 end)()"
"""Replicas need not agree on the time: they all go by the server's."""

_AROUND = """
local function step(state, now, arguments)
{body}
end
local function encoded(value)
    if type(value) == 'number' then return string.format('%.17g', value) end
    if type(value) ~= 'table' then return cjson.encode(value) end
    local parts = {{}}
    for _, one in ipairs(value) do parts[#parts + 1] = encoded(one) end
    return '[' .. table.concat(parts, ',') .. ']'
end
local packed = redis.call('GET', KEYS[1])
local arguments = {{}}
for place, given in ipairs(ARGV) do
    local text = string.sub(given, 2)
    arguments[place] = string.sub(given, 1, 1) == 'n' and tonumber(text) or text
end
local state, answer, ttl_s = step(packed and cmsgpack.unpack(packed) or nil, {now}, arguments)
if state then
    redis.call('SET', KEYS[1], cmsgpack.pack(state), 'PX', math.max(1, math.ceil(ttl_s * 1000)))
else
    redis.call('DEL', KEYS[1])
end
return encoded(answer)
"""
# cjson writes numbers with 14 digits, which a time in microseconds has more of; cmsgpack and '%.17g' keep them all.
# A global cannot be made in a script, so the one function that calls itself is declared before it is defined.

SEED = """
if redis.call('SET', KEYS[1], cmsgpack.pack(cjson.decode(ARGV[1])), 'NX', 'PX', ARGV[2]) then return 1 end
return 0
"""
"""Puts a state under a key that has none."""


@lru_cache(maxsize=256)
def script(transition: Transition, now: str = SERVER_TIME) -> str:
    """Return the script that runs a transition on the state under its one key.

    Args:
        transition: Which one.
        now: The Lua expression for the time in seconds.
    """
    around = _AROUND.replace("local function encoded(value)", "local encoded\nencoded = function(value)")
    return around.format(body=transition.lua, now=now)


def argument(value: Any) -> str:
    """Return a number or a text as a script gets it, the kind first; floats keep every digit."""
    return f"s{value}" if isinstance(value, str) else f"n{value!r}"


def as_answer(text: str | bytes) -> Any:
    """Return what a script answered."""
    return json.loads(text)
