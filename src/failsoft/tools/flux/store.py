"""Models and media of the callers as durable records, shared by replicas; a model is kept as its recipe."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NotRequired, Self, TypeAlias, TypeVar, cast

from typing_extensions import TypedDict

from failsoft.framework.call import NO_SCOPE
from failsoft.framework.call.call import Call
from failsoft.framework.errors import NextStep, NotFound, Public
from failsoft.framework.safe.principals import LOCAL_PRINCIPAL
from failsoft.framework.state.records import Records
from failsoft.framework.state.store import changed_names
from failsoft.tools.flux.conditions import PREDEFINED, Medium

T = TypeVar("T")
_LISTED_AT_MOST = 20
"""Ids that an error names."""


class ModelNotFound(NotFound):
    """There is no model of this id.

    Raised when: `model_id` names no model, or one that was deleted or has expired; or `name` names none that can be
    loaded.
    Caller: use one of `available_models`, or load or build a model first.
    Operator: raise `FAILSOFT_FLUX_KEEP_S` or `FAILSOFT_FLUX_KEEP_COUNT` if models are gone too soon.
    """

    requested_id: Public[str]
    available_models: Public[list[str]]
    num_available: Public[int]
    code = "MODEL_NOT_FOUND"
    message = 'No model "{requested_id}"; it was never made, was deleted or has expired.'
    hints = (
        "Use the id of a model that list_models returns",
        "Make a model with load_model or build_model",
    )


class MediaNotFound(NotFound):
    """There is no medium of this id.

    Raised when: `media_id` names no medium, or one that has expired.
    Caller: use one of `available_media`, or build a medium first.
    Operator: raise `FAILSOFT_FLUX_KEEP_S` or `FAILSOFT_FLUX_KEEP_COUNT` if media are gone too soon.
    """

    requested_id: Public[str]
    available_media: Public[list[str]]
    num_available: Public[int]
    code = "MEDIA_NOT_FOUND"
    message = 'No medium "{requested_id}"; it was never made, was deleted or has expired.'
    hints = (
        "Use the id of a medium that list_media returns",
        "Make a medium with build_media",
    )


Step: TypeAlias = Mapping[str, Any]
"""A base or a step: a JSON object whose `kind` says who makes it."""

SHIPPED_MODELS = {
    "textbook": "Core metabolism of Escherichia coli, 95 reactions",
    "iJO1366": "Whole genome of Escherichia coli K-12, 2,583 reactions",
    "salmonella": "Whole genome of Salmonella Typhimurium, 3,357 reactions",
}
"""The models that come with cobra, and what they are."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A complete description of a model as a base and steps, in plain JSON.

    Args:
        base: What it begins with: `{"kind": "shipped", "name": ...}` or `{"kind": "draft", ...}`.
        steps: What is then done to it, in order: `{"kind": "modify", ...}`, `{"kind": "add", ...}`.
        digests: One for the base and one after each step, so that a worker finds the longest part that it has made
            already; worked out if left out.
    """

    base: Step
    steps: tuple[Step, ...] = ()
    digests: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if len(self.digests) != len(self.steps) + 1:
            object.__setattr__(self, "digests", _digests(self.base, self.steps))

    @property
    def digest(self) -> str:
        """What names the finished model."""
        return self.digests[-1]

    @classmethod
    def shipped(cls, name: str) -> Self:
        """Return the recipe of a model that comes with cobra."""
        return cls({"kind": "shipped", "name": name})

    def then(self, step: Step) -> Recipe:
        """Return the recipe with one more step."""
        digest = _digest(self.digest, step)
        return Recipe(self.base, (*self.steps, step), (*self.digests, digest))

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {"base": dict(self.base), "steps": [dict(step) for step in self.steps], "digests": list(self.digests)}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """Return the recipe that `to_json` wrote."""
        return cls(kept["base"], tuple(kept["steps"]), tuple(kept.get("digests", ())))


def _digests(base: Step, steps: tuple[Step, ...]) -> tuple[str, ...]:
    found = [_digest("", base)]
    for step in steps:
        found.append(_digest(found[-1], step))
    return tuple(found)


def _digest(before: str, step: Step) -> str:
    text = json.dumps(step, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()


_FIRST_MODEL = NextStep("load_model", {"name": "textbook"})
_FIRST_MEDIUM = NextStep("build_media", {"compounds": list(PREDEFINED["minimal_aerobic"].compounds)})
"""First steps for a caller without models or media; others are referred to the list."""


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """A stored model.

    Args:
        model_id: Its handle; any caller that has it may use the model.
        name: What its maker called it; may be empty.
        recipe: What it is made of.
        facts: Counts and origin, as `list_models` shows them.
    """

    model_id: str
    name: str
    recipe: Recipe
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MediaRecord:
    """A stored medium, or a predefined one."""

    media_id: str
    medium: Medium


class ListedModel(TypedDict):
    """A model: where it comes from and how large it is."""

    model_id: str
    name: NotRequired[str]
    source: NotRequired[str]
    template: NotRequired[str]
    parent: NotRequired[str]
    num_reactions: NotRequired[int]
    num_metabolites: NotRequired[int]
    num_genes: NotRequired[int]
    num_exchange_reactions: NotRequired[int]
    objective: NotRequired[str]


class ModelStore:
    """Stores models and media for a time, and for each caller the list of what it has made.

    Args:
        store: The durable records; keys are hashes of ids, so reading the keys gives no access.
        keep_s: Seconds until an entry expires.
        at_most: Models, and media, of one caller; above it the oldest is deleted.
    """

    predefined = PREDEFINED

    def __init__(self, store: Records, *, keep_s: float, at_most: int) -> None:
        self._store = store
        self._keep_s = keep_s
        self._at_most = at_most

    async def add_model(
        self, call: Call, recipe: Recipe, facts: Mapping[str, Any], *, name: str = "", suffix: str = ""
    ) -> ModelRecord:
        """Store a model under a new id.

        Args:
            call: The call that makes it; the model is listed for its caller.
            recipe: What it is made of.
            facts: Plain JSON, shown by `list_models`.
            name: What the caller calls it.
            suffix: The end of the id, such as `.gf`.
        """
        kept = {"name": name, "recipe": recipe.to_json(), "facts": dict(facts)}
        model_id = await self._put(call, "model", kept, suffix)
        return ModelRecord(model_id, name, recipe, facts)

    async def model(self, call: Call, model_id: str) -> ModelRecord:
        """Return a model.

        Raises:
            MODEL_NOT_FOUND: With the ids that the caller has.
        """
        record = await self._stored("model", model_id, _model)
        if record is None:
            known = [record.model_id for record in await self.models(call)]
            raise ModelNotFound(
                requested_id=model_id,
                available_models=known[-_LISTED_AT_MOST:],
                num_available=len(known),
                effect="none",
                next_step=NextStep("list_models") if known or call.operation == "delete_model" else _FIRST_MODEL,
            )
        return record

    async def models(self, call: Call) -> list[ModelRecord]:
        """Return the caller's models, oldest first."""
        found = [await self._stored("model", item, _model) for item in await self._list(call, "model")]
        return [record for record in found if record is not None]

    async def delete_model(self, call: Call, model_id: str) -> ModelRecord:
        """Delete a model for all callers that have its id, and return what it was.

        Raises:
            MODEL_NOT_FOUND: There is none.
        """
        record = await self.model(call, model_id)
        await self._delete(call, "model", model_id)
        return record

    async def add_media(self, call: Call, medium: Medium) -> MediaRecord:
        """Store a medium under a new id."""
        kept = {compound: list(bounds) for compound, bounds in medium.compounds.items()}
        return MediaRecord(await self._put(call, "media", {"compounds": kept}), medium)

    async def media(self, call: Call, media_id: str) -> MediaRecord:
        """Return a medium, stored or predefined.

        Raises:
            MEDIA_NOT_FOUND: With the ids that the caller has, and the predefined ones.
        """
        if media_id in PREDEFINED:
            return MediaRecord(media_id, PREDEFINED[media_id])
        record = await self._stored("media", media_id, _media)
        if record is not None:
            return record
        known = [record.media_id for record in await self.media_of(call)]
        is_first = not known and media_id.startswith("media_")  # another name may be a misspelt predefined one
        raise MediaNotFound(
            requested_id=media_id,
            available_media=[*known[-_LISTED_AT_MOST:], *PREDEFINED],
            num_available=len(known) + len(PREDEFINED),
            effect="none",
            next_step=_FIRST_MEDIUM if is_first and call.operation != "delete_media" else NextStep("list_media"),
        )

    async def media_of(self, call: Call) -> list[MediaRecord]:
        """Return the caller's media, oldest first, without the predefined ones."""
        found = [await self._stored("media", item, _media) for item in await self._list(call, "media")]
        return [record for record in found if record is not None]

    async def _stored(self, kind: str, name: str, read: Callable[[str, Any], T]) -> T | None:
        record: T | None = await self._store.get(_key(kind, name), lambda kept: read(name, kept))
        return record

    async def delete_media(self, call: Call, media_id: str) -> MediaRecord:
        """Delete a medium for all callers that have its id, and return what it was.

        Raises:
            MEDIA_NOT_FOUND: There is none.
        """
        record = await self.media(call, media_id)
        await self._delete(call, "media", media_id)
        return record

    async def _delete(self, call: Call, kind: str, name: str) -> None:
        await self._store.delete(_key(kind, name))
        await self._list(call, kind, removed=name)

    async def _put(self, call: Call, kind: str, kept: Mapping[str, Any], suffix: str = "") -> str:
        is_alone = _owner(call) == LOCAL_PRINCIPAL and self._store.is_local
        while True:
            # 128 random bits make an id unguessable; with a single client a short one saves tokens.
            day = datetime.now(UTC).strftime("%Y%m%d")
            new_id = f"{kind}_{day}_{secrets.token_hex(3 if is_alone else 16)}{suffix}"
            if await self._store.put(
                _key(kind, new_id), kept, self._keep_s, only_if_absent=True, principal=_owner(call)
            ):
                break
        before = await self._list(call, kind)
        after = await self._list(call, kind, added=new_id)
        for dropped in sorted(set(before) - set(after)):
            await self._store.delete(_key(kind, dropped))
            call.warn(f"{dropped} was deleted, since at most {self._at_most} are stored for each caller.")
        return new_id

    async def _list(self, call: Call, kind: str, *, added: str = "", removed: str = "") -> list[str]:
        """Return the ids that a caller has made; none for a caller without identity."""
        owner = _owner(call)
        if owner is None:
            return []
        key = _key(f"{kind}-list", owner)
        answer: list[str] = await self._store.change(
            changed_names, key, added, removed, self._at_most, self._keep_s, principal=owner
        )
        return list(answer or ())


def _owner(call: Call) -> str | None:
    """Return whose list a call uses; None for a caller without identity."""
    is_direct = call.scope is NO_SCOPE  # from code in this process, which has a single client, as stdio has
    return LOCAL_PRINCIPAL if is_direct else call.principal or call.session_id


def _model(model_id: str, kept: Mapping[str, Any]) -> ModelRecord:
    return ModelRecord(model_id, kept["name"], Recipe.from_json(kept["recipe"]), kept["facts"])


def _media(media_id: str, kept: Mapping[str, Any]) -> MediaRecord:
    compounds = {compound: (low, high) for compound, (low, high) in kept["compounds"].items()}
    return MediaRecord(media_id, Medium(compounds))


def _key(kind: str, name: str) -> str:
    return f"flux-{kind}:{hashlib.sha256(name.encode(errors='replace')).hexdigest()}"


def listed(record: ModelRecord) -> ListedModel:
    """Return a model as answers show it."""
    named = {"name": record.name} if record.name else {}
    shown: Any = {"model_id": record.model_id, **named, **record.facts}
    return cast("ListedModel", shown)
