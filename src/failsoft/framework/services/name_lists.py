"""A bounded list of names in a store's records, changed in atomic steps. A store cannot list its keys cheaply."""

from __future__ import annotations

from typing import Any

from failsoft.framework.services.transitions import Changed, State, Transition

__all__ = ["NAME_LIST", "changed_names"]


def changed_names(state: State | None, _now: float, added: str, removed: str, at_most: int, ttl_s: float) -> Changed:
    """Append a name and remove another; the answer is the list, the name added last at its end.

    Args:
        state: The state of the list.
        added: A name, or empty. One that is in the list already moves to its end.
        removed: A name, or empty.
        at_most: The length of the list; beyond it names are dropped from its beginning.
        ttl_s: The time to live of the list, in seconds.
    """
    before: list[Any] = [] if state is None else state["names"]
    names = [kept for kept in before if kept not in {added, removed}]
    names = [*names, added][-at_most:] if added else names[-at_most:]
    return Changed({"names": names} if names else None, names, ttl_s)


NAME_LIST = Transition(
    "name_list",
    changed_names,
    """
    local added, removed, at_most, ttl_s = unpack(arguments)
    local names = {}
    for _, kept in ipairs(state and state.names or {}) do
        if kept ~= added and kept ~= removed then names[#names + 1] = kept end
    end
    if added ~= '' then names[#names + 1] = added end
    while #names > at_most do table.remove(names, 1) end
    if #names == 0 then return nil, names, ttl_s end
    return {names = names}, names, ttl_s
    """,
)
