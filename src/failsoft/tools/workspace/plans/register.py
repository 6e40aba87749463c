"""The register of a workspace's plans in the store: atomic changes, quotas, contents verified against their hash.

A workspace has one record that holds for each of its plans who submitted it, when, and who approved it. Every change
of it is one atomic step, so that quotas and approvals also hold for calls at the same time on several servers. The
content of a plan is a record of its own, which never changes.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from failsoft.framework.audit.chain import canonical
from failsoft.framework.clock import utc_timestamp
from failsoft.framework.state.backend import KEPT, Changed
from failsoft.framework.state.records import Records
from failsoft.tools.workspace.invariants import PLAN_IS_ITS_HASH, violated
from failsoft.tools.workspace.signatures import PlanFacts

PLANS_PER_AUTHOR = 50
"""Plans that one author may have in one workspace."""
PLANS_AT_MOST = 500
"""Plans of all authors in one workspace, above which those who have their share submit no more."""
SHARE = 5
"""Plans that an author has room for however many others there are."""
UNKNOWN = "session"
"""The first word of an author who is no principal and no role."""
PREFIX_AT_LEAST = 6
"""Characters of a hash that may stand for the whole of it."""
REGISTER_KIND = "plans"
"""The kind of the key of a register."""
_CONTENTS_AT_MOST = 500
"""Contents that a process keeps in memory once they are verified."""
_CONTENT = frozenset({"body", "files", "title", "workspace_root"})

Outcome: TypeAlias = Literal["done", "missing", "own", "others", "author", "workspace"]
"""What became of a change: done; or why it was refused. `author` and `workspace` name the quota that is used up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One plan.

    Args:
        plan_hash: SHA-256 of its content and its workspace.
        title: Its title.
        files: The paths and globs that may be written, sorted.
        body: Its text.
        workspace_root: The folder that it is for.
        author: Who submitted it first, as `author_of` says.
        role: The role of the author.
        submitted_at: When it was submitted, UTC.
        clock: When it was submitted, in seconds on the store's clock: finer, for the order of plans.
        until: When it expires, on the same clock.
        waive: The policy rules that do not apply to its writes.
        approver: Who approved it; None before that.
    """

    plan_hash: str
    title: str
    files: tuple[str, ...]
    body: str
    workspace_root: str
    author: str
    role: str
    submitted_at: str
    clock: float
    until: float
    waive: tuple[str, ...] = ()
    approver: str | None = None

    def shown_to(self, author: str) -> PlanFacts:
        """Return the facts for a session: not who submitted it, but whether the session's author did."""
        return {
            "plan_hash": self.plan_hash,
            "title": self.title,
            "files": list(self.files),
            "body": self.body,
            "waive": list(self.waive),
            "approved": self.approver is not None,
            "own": self.author == author,
            "role": self.role,
            "submitted_at": self.submitted_at,
        }


class PlanRegister:
    """The plans in a store, by workspace, without any rule on who may do what.

    Args:
        store: The records.
        lifetime_s: Seconds after its submission when a plan expires; needed to add plans.
    """

    def __init__(self, store: Records, *, lifetime_s: float = 0.0) -> None:
        self._store = store
        self._lifetime_s = lifetime_s
        self._contents: OrderedDict[str, Mapping[str, Any]] = OrderedDict()

    async def entries(self, workspace_root: str) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the hash and the entry of each plan that has not expired, the newest first. One look at the store.

        Raises:
            INVARIANT_VIOLATION: The register is damaged.
        """
        state = await self._store.get(_register_key(workspace_root))
        try:
            live = _live(state, self._store.clock())
            found = sorted(live.items(), key=lambda item: (item[1]["clock"], item[0]), reverse=True)
        except (AttributeError, KeyError, TypeError) as error:
            raise violated(PLAN_IS_ITS_HASH) from error
        return found

    async def read(self, workspace_root: str, entries: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Plan]:
        """Return the plans of some entries, without those whose content is gone.

        Raises:
            INVARIANT_VIOLATION: A content does not match its hash, or an entry is damaged.
        """
        contents = await asyncio.gather(*(self._content(workspace_root, plan_hash) for plan_hash, _ in entries))
        return [
            _plan(plan_hash, content, entry)
            for (plan_hash, entry), content in zip(entries, contents, strict=True)
            if content is not None
        ]

    async def find(self, workspace_root: str, plan_hash: str) -> Plan | None:
        """Return a plan; None if there is none with this hash."""
        entries = [entry for entry in await self.entries(workspace_root) if entry[0] == plan_hash]
        return next(iter(await self.read(workspace_root, entries)), None)

    async def add(self, content: Mapping[str, Any], *, author: str, role: str, principal: str | None) -> Outcome:
        """Keep a plan; one that is there already keeps its author and approval."""
        plan_hash, root = hash_of(content), content["workspace_root"]
        key = _content_key(root, plan_hash)
        origin = {"author": author, "role": role, "submitted_at": utc_timestamp()}
        entries = await self.entries(root)
        if quota(dict(entries), plan_hash, author) == "done":  # else its content would be kept in vain
            await self._store.put(key, content, self._lifetime_s, principal=principal)
        return await self._change(_added, root, plan_hash, origin, self._lifetime_s)

    async def approve(self, workspace_root: str, plan_hash: str, approver: str) -> Outcome:
        """Approve a plan, unless the approver is its author; the first approval stays."""
        return await self._change(_approved, workspace_root, plan_hash, approver)

    async def remove(self, workspace_root: str, plan_hash: str, who: str | None) -> Outcome:
        """Remove a plan with its approval; `who` has to be its author or approver, None may be anybody."""
        return await self._change(_removed, workspace_root, plan_hash, who)

    async def _change(self, step: Callable[..., Changed], workspace_root: str, *arguments: Any) -> Outcome:
        key = _register_key(workspace_root)
        outcome: Outcome = await self._store.change(step, key, workspace_root, *arguments, is_free=True)
        return outcome

    async def _content(self, workspace_root: str, plan_hash: str) -> Mapping[str, Any] | None:
        content = self._contents.get(plan_hash)
        if content is None:
            content = await self._store.get(_content_key(workspace_root, plan_hash))
            if content is None:
                return None
            if not isinstance(content, Mapping) or not content.keys() >= _CONTENT or hash_of(content) != plan_hash:
                raise violated(PLAN_IS_ITS_HASH)
            self._contents[plan_hash] = content
            if len(self._contents) > _CONTENTS_AT_MOST:
                self._contents.popitem(last=False)
        return content if content["workspace_root"] == workspace_root else None


def hash_of(content: Mapping[str, Any]) -> str:
    """Return the hash of a plan's content: of its canonical JSON."""
    return hashlib.sha256(canonical(content)).hexdigest()


def _plan(plan_hash: str, content: Mapping[str, Any], entry: Mapping[str, Any]) -> Plan:
    try:
        lists = {name: tuple(content.get(name, ())) for name in ("files", "waive")}
        plan = Plan(**{**content, **entry, **lists}, plan_hash=plan_hash)
        is_whole = all(isinstance(one, str) for one in (plan.author, plan.role, plan.submitted_at))
        is_whole = is_whole and isinstance(plan.approver, (str, type(None)))
    except TypeError as error:
        raise violated(PLAN_IS_ITS_HASH) from error
    if not is_whole:
        raise violated(PLAN_IS_ITS_HASH)
    return plan


def _live(state: Mapping[str, Any] | None, now: float) -> dict[str, Mapping[str, Any]]:
    plans = {} if state is None else state["plans"]
    return {plan_hash: entry for plan_hash, entry in plans.items() if entry["until"] > now}


def quota(plans: Mapping[str, Mapping[str, Any]], plan_hash: str, author: str) -> Outcome:
    """Return whether an author may submit this plan beside others, `done`; or the quota that is used up."""
    if plan_hash in plans:
        return "done"
    own = sum(_payer(entry["author"]) == _payer(author) for entry in plans.values())
    if own >= PLANS_PER_AUTHOR:
        return "author"
    return "workspace" if len(plans) >= PLANS_AT_MOST and own >= SHARE else "done"


def _payer(author: str) -> str:
    """Return whose quota a plan counts against: unknown callers share one, as they begin sessions at will."""
    return UNKNOWN if author.startswith(f"{UNKNOWN} ") else author


def _kept(root: str, plans: Mapping[str, Mapping[str, Any]], now: float) -> Changed:
    state = {"workspace_root": root, "plans": plans} if plans else None
    return Changed(state, "done", max((entry["until"] - now for entry in plans.values()), default=0.0))


def _added(state: Any, now: float, root: str, plan_hash: str, origin: Mapping[str, Any], lifetime_s: float) -> Changed:
    plans = _live(state, now)
    outcome = quota(plans, plan_hash, origin["author"])
    if outcome != "done" or plan_hash in plans:
        return Changed(KEPT, outcome)
    return _kept(root, {**plans, plan_hash: {**origin, "clock": now, "until": now + lifetime_s, "approver": None}}, now)


def _approved(state: Any, now: float, root: str, plan_hash: str, approver: str) -> Changed:
    plans = _live(state, now)
    entry = plans.get(plan_hash)
    if entry is None or entry["author"] == approver or entry["approver"] is not None:
        is_own = entry is not None and entry["author"] == approver
        return Changed(KEPT, "missing" if entry is None else "own" if is_own else "done")
    return _kept(root, {**plans, plan_hash: {**entry, "approver": approver}}, now)


def _removed(state: Any, now: float, root: str, plan_hash: str, who: str | None) -> Changed:
    plans = _live(state, now)
    entry = plans.pop(plan_hash, None)
    if entry is None or (who is not None and who not in {entry["author"], entry["approver"]}):
        return Changed(KEPT, "missing" if entry is None else "others")
    return _kept(root, plans, now)


def _register_key(workspace_root: str) -> str:
    return f"{REGISTER_KIND}:{_digest(workspace_root)}"


def _content_key(workspace_root: str, plan_hash: str) -> str:
    return f"plan:{_digest(workspace_root)}:{plan_hash}"


def _digest(workspace_root: str) -> str:
    return hashlib.sha256(workspace_root.encode(errors="replace")).hexdigest()
