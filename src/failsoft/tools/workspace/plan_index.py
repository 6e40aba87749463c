"""The list of a workspace's plans in the state store, as one atomic step, and the same step in Lua.

A store cannot be asked for all keys of a kind without looking through every key that it has. So the hashes are kept
under a key of their own, and added in a step that no other comes between.
"""

from __future__ import annotations

from typing import Any

from failsoft.framework.state_port import Changed, State, Transition

__all__ = ["LIST", "listed"]


def listed(state: State | None, now: float, plan_hash: str, at_most: int, ttl_s: float) -> Changed:  # noqa: ARG001 - every step is given the time
    """Add a hash, unless it is there or empty; the answer is all of them, the oldest first.

    Args:
        state: Of one list.
        now: Seconds.
        plan_hash: What to add; empty to look only.
        at_most: Above this many the oldest are dropped.
        ttl_s: How long the list is kept from now on.
    """
    hashes: list[Any] = list(state["hashes"]) if state else []
    if plan_hash and plan_hash not in hashes:
        hashes = [*hashes, plan_hash][-at_most:]
    return Changed({"hashes": hashes} if hashes else None, hashes, ttl_s)


LIST = Transition(
    "workspace_plans.list",
    listed,
    """
    local plan_hash, at_most, ttl_s = unpack(arguments)
    local hashes, is_known = {}, plan_hash == ''
    for place, one in ipairs(state and state.hashes or {}) do
        hashes[place] = one
        if one == plan_hash then is_known = true end
    end
    if not is_known then hashes[#hashes + 1] = plan_hash end
    while #hashes > at_most do table.remove(hashes, 1) end
    if #hashes == 0 then return nil, hashes, ttl_s end
    return {hashes = hashes}, hashes, ttl_s
    """,
)
