"""Models and media of the callers by id, and what is kept of a model: facts for lists, and a recipe."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NotRequired, Self, TypeAlias, cast

from typing_extensions import TypedDict

from failsoft.framework.call.call import Call
from failsoft.framework.errors import NextStep, NotFound, Public
from failsoft.framework.state.records import Records
from failsoft.tools.flux.conditions import PREDEFINED, Medium
from failsoft.tools.flux.shelf import Shelf

Step: TypeAlias = Mapping[str, Any]
"""A base or a step: a JSON object whose `kind` says who makes it."""

_FIRST_MODEL = NextStep("load_model", {"name": "textbook"})
_FIRST_MEDIUM = NextStep("build_media", {"compounds": list(PREDEFINED["minimal_aerobic"].compounds)})
"""First steps for a caller without models or media; others are referred to the list."""
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
    hints = ("Use an id that list_models returns, or make a model with load_model or build_model",)


class MediaNotFound(NotFound):
    """There is no medium of this id.

    Raised when: `media_id` names no medium, or one that was deleted or has expired.
    Caller: use one of `available_media`, or build a medium first.
    Operator: raise `FAILSOFT_FLUX_KEEP_S` or `FAILSOFT_FLUX_KEEP_COUNT` if media are gone too soon.
    """

    requested_id: Public[str]
    available_media: Public[list[str]]
    num_available: Public[int]
    code = "MEDIA_NOT_FOUND"
    message = 'No medium "{requested_id}"; it was never made, was deleted or has expired.'
    hints = ("Use an id that list_media returns, or make a medium with build_media",)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A complete description of a model as a base and steps, in plain JSON, from which any worker makes it.

    Args:
        base: What it begins with: `{"kind": "shipped", "name": ...}` or `{"kind": "packed", ...}`.
        steps: What is then done to it, in order: `{"kind": "modify", ...}`, `{"kind": "add", ...}`.
        digests: One for the base and one after each step, so that a worker finds the longest part that it has made
            already; worked out if left out.
    """

    base: Step
    steps: tuple[Step, ...] = ()
    digests: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if len(self.digests) != len(self.steps) + 1:
            digests = [_digest("", self.base)]
            for step in self.steps:
                digests.append(_digest(digests[-1], step))
            object.__setattr__(self, "digests", tuple(digests))

    @property
    def digest(self) -> str:
        """The hash of the finished model."""
        return self.digests[-1]

    @classmethod
    def shipped(cls, name: str) -> Self:
        """Return the recipe of a model that comes with cobra."""
        return cls({"kind": "shipped", "name": name})

    def then(self, step: Step) -> Recipe:
        """Return the recipe with one more step."""
        return Recipe(self.base, (*self.steps, step), (*self.digests, _digest(self.digest, step)))


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """What is shown of a stored model.

    Args:
        model_id: Its handle; any caller that has it may use the model.
        name: What its maker called it; may be empty.
        facts: Counts and origin.
    """

    model_id: str
    name: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredModel(ModelRecord):
    """A stored model with its recipe."""

    recipe: Recipe


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
    growth_on_complete_medium: NotRequired[float]


class ModelStore:
    """The models and media of all callers.

    Args:
        store: The durable records.
        keep_s: Seconds that a model or a medium is kept.
        at_most: Models, and media, of one caller.
    """

    def __init__(self, store: Records, *, keep_s: float, at_most: int) -> None:
        limits: dict[str, Any] = {"keep_s": keep_s, "at_most": at_most}
        self._models: Shelf[ModelRecord] = Shelf(store, "model", _model, **limits)
        self._media: Shelf[MediaRecord] = Shelf(store, "media", _medium, **limits)

    async def add_model(
        self, call: Call, recipe: Recipe, facts: Mapping[str, Any], *, name: str, suffix: str = ""
    ) -> ModelRecord:
        """Store a model under a new id, as an effect of the call.

        Args:
            call: The call that makes it; the model is listed for its caller.
            recipe: What it is made of.
            facts: Plain JSON, shown by `list_models`.
            name: What the caller calls it.
            suffix: The end of the id, such as `.gf`.
        """
        made = {"base": dict(recipe.base), "steps": list(recipe.steps), "digests": list(recipe.digests)}
        digest = "" if recipe.base["kind"] == "shipped" else recipe.digests[0]
        shown = {"name": name, "facts": dict(facts)}

        async def stored() -> str:
            return await self._models.add(call, shown, made, digest=digest, suffix=suffix)

        model_id: str = await call.effect("store", stored)
        return ModelRecord(model_id, name, facts)

    async def model(self, call: Call, model_id: str) -> StoredModel:
        """Return a model with its recipe.

        Raises:
            MODEL_NOT_FOUND: With the ids that the caller has.
        """
        shown = await self.facts(call, model_id)
        made = await self._models.body(model_id)
        if made is None:  # it was deleted meanwhile
            raise await self._model_not_found(call, model_id)
        recipe = Recipe(made["base"], tuple(made["steps"]), tuple(made["digests"]))
        return StoredModel(model_id, shown.name, shown.facts, recipe)

    async def facts(self, call: Call, model_id: str) -> ModelRecord:
        """Return what is shown of a model, without its recipe.

        Raises:
            MODEL_NOT_FOUND: With the ids that the caller has.
        """
        record = await self._models.get(model_id)
        if record is None:
            raise await self._model_not_found(call, model_id)
        return record

    async def models(self, call: Call) -> list[ModelRecord]:
        """Return the caller's models, oldest first."""
        return await self._models.all(call)

    async def delete_model(self, call: Call, model_id: str) -> ModelRecord:
        """Delete a model for all callers that have its id, and return what it was.

        Raises:
            MODEL_NOT_FOUND: There is none.
        """
        record = await self.facts(call, model_id)
        await self._models.delete(call, model_id)
        return record

    async def add_media(self, call: Call, medium: Medium) -> MediaRecord:
        """Store a medium under a new id."""
        kept = {compound: list(bounds) for compound, bounds in medium.compounds.items()}
        return MediaRecord(await self._media.add(call, {"compounds": kept}), medium)

    async def media(self, call: Call, media_id: str) -> MediaRecord:
        """Return a medium, stored or predefined.

        Raises:
            MEDIA_NOT_FOUND: With the ids that the caller has, and the predefined ones.
        """
        if media_id in PREDEFINED:
            return MediaRecord(media_id, PREDEFINED[media_id])
        record = await self._media.get(media_id)
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
        return await self._media.all(call)

    async def delete_media(self, call: Call, media_id: str) -> None:
        """Delete a medium for all callers that have its id.

        Raises:
            MEDIA_NOT_FOUND: There is none.
        """
        await self.media(call, media_id)
        await self._media.delete(call, media_id)

    async def _model_not_found(self, call: Call, model_id: str) -> ModelNotFound:
        known = [record.model_id for record in await self.models(call)]
        return ModelNotFound(
            requested_id=model_id,
            available_models=known[-_LISTED_AT_MOST:],
            num_available=len(known),
            effect="none",
            next_step=NextStep("list_models") if known or call.operation == "delete_model" else _FIRST_MODEL,
        )


def _model(model_id: str, kept: Mapping[str, Any]) -> ModelRecord:
    return ModelRecord(model_id, kept["name"], kept["facts"])


def _medium(media_id: str, kept: Mapping[str, Any]) -> MediaRecord:
    compounds = {compound: (low, high) for compound, (low, high) in kept["compounds"].items()}
    return MediaRecord(media_id, Medium(compounds))


def _digest(before: str, step: Step) -> str:
    text = json.dumps(step, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{before}\n{text}".encode(errors="replace")).hexdigest()


def listed(record: ModelRecord) -> ListedModel:
    """Return a model as answers show it."""
    named = {"name": record.name} if record.name else {}
    shown: Any = {"model_id": record.model_id, **named, **record.facts}
    return cast("ListedModel", shown)
