"""A list of names in the state store (plans of a workspace, roots of a principal): atomic steps, also in Lua.

A store cannot list the keys of a kind without scanning all keys, so the names are kept under a key of their own.
"""

from __future__ import annotations

from typing import Any

from failsoft.framework.services.transitions import Changed, State, Transition

__all__ = ["LIST", "listed"]


def listed(state: State | None, now: float, plan_hash: str, at_most: int, ttl_s: float) -> Changed:  # noqa: ARG001 - every step is given the time
    """Add a hash unless it is empty or listed; the answer is the list, oldest first.

    Args:
        state: The state of the list.
        now: The time, in seconds.
        plan_hash: The hash to add; empty to only read the list.
        at_most: The maximum length; beyond it the oldest entries are dropped.
        ttl_s: The time to live of the list, in seconds.
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
