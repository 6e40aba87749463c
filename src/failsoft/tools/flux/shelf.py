"""Entries of callers as durable records, shared by replicas: ids, lists, lifetimes and what entries share.

What lists show of an entry is one record, its body another, and the base of a body a third, which all entries of one
caller with the same base share. The caller's list says which entries need a base; it is deleted with the last of them.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from failsoft.framework.call import NO_SCOPE
from failsoft.framework.call.call import Call
from failsoft.framework.safe.principals import LOCAL_PRINCIPAL
from failsoft.framework.state.backend import KEPT, Changed, State
from failsoft.framework.state.records import Records

T = TypeVar("T")
_SLACK_S = 60.0
"""How much longer than its entries a base lives at least, since records are written one after the other."""


class Shelf(Generic[T]):
    """The entries of one kind: all of them by id, and for each caller the list of what it has made.

    An entry expires a fixed time after it was made, however often it is used.

    Args:
        store: The durable records; keys are hashes of ids, so reading the keys gives no access.
        kind: The beginning of every id, such as `model`.
        read: Makes an entry of its id and its facts.
        keep_s: Seconds until an entry expires.
        at_most: Entries of one caller; above it the oldest is deleted.
    """

    def __init__(
        self, store: Records, kind: str, read: Callable[[str, Any], T], *, keep_s: float, at_most: int
    ) -> None:
        self._store = store
        self._kind = kind
        self._read = read
        self._keep_s = keep_s
        self._options = {"at_most": at_most, "life_s": keep_s + _SLACK_S}

    async def get(self, entry_id: str) -> T | None:
        """Return an entry, or None if there is none."""
        entry: T | None = await self._store.get(self._key("facts", entry_id), lambda facts: self._read(entry_id, facts))
        return entry

    async def body(self, entry_id: str) -> dict[str, Any] | None:
        """Return the body of an entry with its base, or None if there is none."""
        body: dict[str, Any] | None = await self._store.get(self._key("body", entry_id))
        if body is not None and isinstance(body["base"], str):
            base = await self._store.get(self._key("base", body["base"]))
            return None if base is None else {**body, "base": base}
        return body

    async def all(self, call: Call) -> list[T]:
        """Return what the caller has made and what is still there, oldest first; none for one without identity."""
        found = [await self.get(entry_id) for entry_id in await self._ids(call)]
        return [entry for entry in found if entry is not None]

    async def add(
        self,
        call: Call,
        facts: Mapping[str, Any],
        body: Mapping[str, Any] | None = None,
        *,
        digest: str = "",
        suffix: str = "",
    ) -> str:
        """Store an entry under a new id, and return the id.

        Args:
            call: The call that makes it; the entry is listed for its caller.
            facts: What lists show.
            body: Everything else.
            digest: The hash of the `base` in the body, if it is to be shared.
            suffix: The end of the id.
        """
        owner = _owner(call)
        entry_id = await self._new_id(call, suffix)
        try:
            if body and digest and owner is not None:
                body = {**body, "base": await self._shared(call, owner, entry_id, digest, body["base"])}
            elif owner is not None:
                await self._enlist(call, owner, entry_id)
            for part, record in (("body", body), ("facts", facts)):  # once it can be listed, it is complete
                if record is not None:
                    await self._store.put(self._key(part, entry_id), record, self._keep_s, principal=owner)
        except Exception:
            await self.delete(call, entry_id)
            raise
        return entry_id

    async def delete(self, call: Call, entry_id: str) -> None:
        """Delete an entry for all callers that have its id."""
        await self._forget(entry_id)
        owner = _owner(call)
        if owner is not None:
            await self._change(owner, removed=entry_id)

    async def _shared(self, call: Call, owner: str, entry_id: str, digest: str, base: Any) -> str:
        """List an entry, and return the key of a base that lives as long; the base is stored if there is none."""
        if known := await self._enlist(call, owner, entry_id, digest=digest):
            return known
        fresh = _hash(entry_id)  # not that of the content, which another call may be about to delete
        await self._store.put(self._key("base", fresh), base, 2 * self._options["life_s"], principal=owner)
        used = await self._enlist(call, owner, entry_id, digest=digest, base=fresh)
        if used != fresh:
            await self._store.delete(self._key("base", fresh))
        return used

    async def _enlist(self, call: Call, owner: str, entry_id: str, **base: str) -> str:
        """List an entry and return the key of its base; if that is empty, it has to be stored first."""
        answer = await self._change(owner, added=entry_id, **base)
        for dropped in answer["dropped"]:
            await self._forget(dropped)
            at_most = self._options["at_most"]
            call.warn(f"{dropped} was deleted, since at most {at_most} are stored for each caller.")
        key: str = answer["base"]
        return key

    async def _change(self, owner: str, **changes: str) -> dict[str, Any]:
        options = {**self._options, **changes}
        answer: dict[str, Any] = await self._store.change(_changed, self._key("shelf", owner), options, principal=owner)
        for freed in answer["freed"]:
            await self._store.delete(self._key("base", freed))
        return answer

    async def _forget(self, entry_id: str) -> None:
        for part in ("facts", "body"):
            await self._store.delete(self._key(part, entry_id))

    async def _ids(self, call: Call) -> list[str]:
        owner = _owner(call)
        kept = None if owner is None else await self._store.get(self._key("shelf", owner))
        return [entry[0] for entry in kept["entries"]] if kept else []

    async def _new_id(self, call: Call, suffix: str) -> str:
        # 128 random bits make an id unguessable; with a single client a short one saves tokens.
        is_alone = _owner(call) == LOCAL_PRINCIPAL and self._store.is_local
        taken = await self._ids(call) if is_alone else ()
        day = datetime.now(UTC).strftime("%Y%m%d")
        while (made := f"{self._kind}_{day}_{secrets.token_hex(3 if is_alone else 16)}{suffix}") in taken:
            pass
        return made

    def _key(self, part: str, name: str) -> str:
        return f"flux-{self._kind}-{part}:{_hash(name)}"


def _changed(state: State | None, now: float, options: Mapping[str, Any]) -> Changed:
    """List an entry, and unlist another, those that have expired, and the oldest ones beyond the limit: a step.

    The state holds `entries`, each its id, its end and the key of its base, or an empty one; and `bases`, for each
    digest the newest, its key and its end. An end is when the record has expired for certain.

    Args:
        state: The list of a caller.
        now: The time of the store.
        options: `at_most` entries; `life_s`, after which an entry has expired; `added` and `removed`, their ids; of the
            added one `digest`, that of its base, and `base`, the key of a base that was stored just now.

    Returns:
        The list with the answer: `base`, the key for the added entry: the known one unless it expires before the entry,
        else the given one; where both are missing nothing was changed. `dropped`, entries beyond the limit; `freed`,
        bases that no entry needs any more.
    """
    added, removed, digest = options.get("added"), options.get("removed"), options.get("digest")
    base: str = options.get("base", "")
    before, bases = (state["entries"], state["bases"]) if state else ([], {})
    end = now + options["life_s"]
    if digest:
        known = bases.get(digest)
        if known is None or known[1] < end:
            if not base:
                return Changed(KEPT, {"base": "", "dropped": [], "freed": []})
            known = [base, end + options["life_s"]]
        base, bases = known[0], {**bases, digest: known}
    entries = [entry for entry in before if entry[1] > now and entry[0] not in {added, removed}]
    if added:
        entries = [*entries, [added, end, base]]
    dropped, kept = entries[: -options["at_most"]], entries[-options["at_most"] :]
    used = {entry[2] for entry in kept}
    bases = {name: held for name, held in bases.items() if held[0] in used}
    freed = {entry[2] for entry in before} - used - {""}
    answer = {"base": base, "dropped": [entry[0] for entry in dropped], "freed": sorted(freed)}
    # It lives as long as a base, which would otherwise not be freed with the last entry.
    return Changed({"entries": kept, "bases": bases} if kept else None, answer, 2 * options["life_s"])


def _owner(call: Call) -> str | None:
    """Return whose list a call uses; None for a caller without identity."""
    is_direct = call.scope is NO_SCOPE  # from code in this process, which has a single client, as stdio has
    return LOCAL_PRINCIPAL if is_direct else call.principal or call.session_id


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
