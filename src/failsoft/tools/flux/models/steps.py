"""Atomic updates of the list of a caller's models and media, safe across replicas."""

from __future__ import annotations

from typing import Any

from failsoft.framework.services.transitions import Changed, State, Transition

__all__ = ["LISTED", "listed"]


def listed(state: State | None, _now: float, added: str, removed: str, at_most: int, ttl_s: float) -> Changed:
    """Add an id, remove another, and forget the oldest above the bound; the answer is the list, oldest first.

    Args:
        state: Of one caller's list; its `ids` are what was made, oldest first.
        added: An id, or empty.
        removed: An id, or empty.
        at_most: Ids that are kept.
        ttl_s: Seconds until the list is forgotten, unless it is asked for before.
    """
    before: list[Any] = [] if state is None else state["ids"]
    ids = [kept for kept in before if kept not in {added, removed}]
    if added:
        ids.append(added)
    ids = ids[-at_most:]
    return Changed({"ids": ids} if ids else None, ids, ttl_s)


LISTED = Transition(
    "flux.listed",
    listed,
    """
    local added, removed, at_most, ttl_s = unpack(arguments)
    local ids = {}
    for _, kept in ipairs(state and state.ids or {}) do
        if kept ~= added and kept ~= removed then
            ids[#ids + 1] = kept
        end
    end
    if added ~= '' then
        ids[#ids + 1] = added
    end
    local latest = {}
    for place = math.max(1, #ids - at_most + 1), #ids do
        latest[#latest + 1] = ids[place]
    end
    if #latest == 0 then
        return nil, latest, ttl_s
    end
    return {ids = latest}, latest, ttl_s
    """,
)
