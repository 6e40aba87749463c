"""The shelf: the models and media of the callers, in the state store, so that replicas and restarts share them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from failsoft.framework.context import LOCAL_PRINCIPAL, NO_SCOPE, CallContext
from failsoft.framework.did_you_mean import closest_name
from failsoft.framework.errors import NextStep, NotFound
from failsoft.framework.state_port import StateStore
from failsoft.tools.flux.model_errors import MediaNotFound, ModelNotFound
from failsoft.tools.flux.recipes import Recipe
from failsoft.tools.flux.shelf_steps import LISTED

__all__ = ["MediaRecord", "ModelRecord", "Shelf"]

_FIRST_MODEL = NextStep("load_model", {"name": "textbook"})
_FIRST_MEDIUM = NextStep(
    "build_media",
    # Glucose, oxygen, water, salts: what Escherichia coli needs.
    {
        "compounds": [
            f"cpd{number:05}" for number in (27, 7, 1, 9, 13, 48, 67, 205, 99, 254, 63, 10515, 30, 34, 58, 149)
        ]
    },
)
"""What to begin with: to list what there is would lead a caller who has nothing yet nowhere."""
_TOLD_AT_MOST = 20
"""Ids that an error names."""


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """A model on the shelf.

    Args:
        model_id: Its handle: whoever has it may use the model.
        name: What its maker called it; may be empty.
        recipe: What it is made of.
        facts: Counts and origin, as `list_models` tells them.
    """

    model_id: str
    name: str
    recipe: Recipe
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MediaRecord:
    """A medium on the shelf: bounds of the exchange by ModelSEED id; a negative lower bound is uptake."""

    media_id: str
    compounds: Mapping[str, tuple[float, float]]


class Shelf:
    """Keeps models and media for a time, and for each caller the list of what it has made.

    Args:
        store: Where they are kept, under the hash of their id: whoever reads the store's keys cannot use them.
        keep_s: Seconds that something is kept.
        at_most: Models, and media, that a caller may have; above it the oldest is dropped from the list.
    """

    def __init__(self, store: StateStore, *, keep_s: float, at_most: int) -> None:
        self._store = store
        self._keep_s = keep_s
        self._at_most = at_most

    async def add_model(
        self, call: CallContext, recipe: Recipe, facts: Mapping[str, Any], *, name: str = "", suffix: str = ""
    ) -> ModelRecord:
        """Put a model on the shelf under a new id.

        Args:
            call: The call that makes it; the model is listed for its caller.
            recipe: What it is made of.
            facts: Plain JSON that `list_models` tells.
            name: What the caller calls it.
            suffix: The end of the id, such as `.gf`.
        """
        kept = {"name": name, "recipe": recipe.to_json(), "facts": dict(facts)}
        model_id = await self._put(call, "model", kept, suffix)
        return ModelRecord(model_id, name, recipe, facts)

    async def model(self, call: CallContext, model_id: str) -> ModelRecord:
        """Return a model.

        Raises:
            MODEL_NOT_FOUND: With the ids that there are, and the closest one.
        """
        kept = await self._store.get(_key("model", model_id))
        if kept is None:
            raise await self.model_not_found(call, model_id)
        return _model(model_id, kept)

    async def models(self, call: CallContext) -> list[ModelRecord]:
        """Return the caller's models, oldest first."""
        found = [(item, await self._store.get(_key("model", item))) for item in await self._list(call, "model")]
        return [_model(model_id, kept) for model_id, kept in found if kept is not None]

    async def delete_model(self, call: CallContext, model_id: str) -> ModelRecord:
        """Take a model off the shelf, for everybody who has its id, and return what it was.

        Raises:
            MODEL_NOT_FOUND: It is not there.
        """
        record = await self.model(call, model_id)
        await self._store.delete(_key("model", model_id))
        await self._list(call, "model", removed=model_id)
        return record

    async def model_not_found(self, call: CallContext, model_id: str) -> ModelNotFound:
        """Return the error for a model that is not there."""
        known = [record.model_id for record in await self.models(call)]
        error = ModelNotFound(requested_id=model_id, available_models=known[-_TOLD_AT_MOST:], num_available=len(known))
        _guide(error, "model_id", model_id, known, call, NextStep("list_models") if known else _FIRST_MODEL)
        return error

    async def add_media(self, call: CallContext, compounds: Mapping[str, tuple[float, float]]) -> MediaRecord:
        """Put a medium on the shelf under a new id: bounds by ModelSEED id."""
        kept = {compound: list(bounds) for compound, bounds in compounds.items()}
        return MediaRecord(await self._put(call, "media", {"compounds": kept}), dict(compounds))

    async def media(self, call: CallContext, media_id: str) -> MediaRecord:
        """Return a medium.

        Raises:
            MEDIA_NOT_FOUND: With the ids that there are, and the closest one.
        """
        kept = await self._store.get(_key("media", media_id))
        if kept is not None:
            return _media(media_id, kept)
        known = [record.media_id for record in await self.media_of(call)]
        error = MediaNotFound(requested_id=media_id, available_media=known[-_TOLD_AT_MOST:], num_available=len(known))
        _guide(error, "media_id", media_id, known, call, NextStep("list_media") if known else _FIRST_MEDIUM)
        raise error

    async def media_of(self, call: CallContext) -> list[MediaRecord]:
        """Return the caller's media, oldest first."""
        found = [(item, await self._store.get(_key("media", item))) for item in await self._list(call, "media")]
        return [_media(media_id, kept) for media_id, kept in found if kept is not None]

    async def _put(self, call: CallContext, kind: str, kept: Mapping[str, Any], suffix: str = "") -> str:
        is_alone = _owner(call) == LOCAL_PRINCIPAL and self._store.is_local
        while True:
            # 128 random bits, so that nobody guesses the handle of somebody else's; where there is nobody else, a
            # short one costs a model fewer tokens each time.
            day = datetime.now(UTC).strftime("%Y%m%d")
            new_id = f"{kind}_{day}_{secrets.token_hex(3 if is_alone else 16)}{suffix}"
            if await self._store.put(_key(kind, new_id), kept, self._keep_s, only_if_absent=True):
                break
        before = await self._list(call, kind)
        after = await self._list(call, kind, added=new_id)
        for dropped in sorted(set(before) - set(after)):
            await self._store.delete(_key(kind, dropped))
            call.warn(f"{dropped} was dropped, since {self._at_most} are kept for each caller.")
        return new_id

    async def _list(self, call: CallContext, kind: str, *, added: str = "", removed: str = "") -> list[str]:
        """Return the ids that a caller has made; of a caller whom nothing tells apart from others, none."""
        owner = _owner(call)
        if owner is None:
            return []
        key = _key(f"{kind}-list", owner)
        answer: list[str] = await self._store.change(LISTED, key, added, removed, self._at_most, self._keep_s)
        return list(answer or ())


def _guide(error: NotFound, name: str, given: str, known: list[str], call: CallContext, otherwise: NextStep) -> None:
    """Say which call to make: the same with the closest id, or the one that lists them."""
    closest = closest_name(given, known)
    meant = NextStep(call.operation, {**call.params, name: closest}) if closest is not None else otherwise
    error.effect = "none"
    error.next_step = meant if call.bound.read_only else otherwise
    if closest is not None:
        error.suggestions = (f"Did you mean '{closest}'?",)


def _owner(call: CallContext) -> str | None:
    """Return whose list a call sees; None for a caller whom nothing tells apart from others."""
    is_direct = call.scope is NO_SCOPE  # from code in this process, as over stdio: there is nobody else
    return LOCAL_PRINCIPAL if is_direct else call.principal or call.session_id


def _model(model_id: str, kept: Mapping[str, Any]) -> ModelRecord:
    return ModelRecord(model_id, kept["name"], Recipe.from_json(kept["recipe"]), kept["facts"])


def _media(media_id: str, kept: Mapping[str, Any]) -> MediaRecord:
    return MediaRecord(media_id, {compound: (low, high) for compound, (low, high) in kept["compounds"].items()})


def _key(kind: str, name: str) -> str:
    return f"flux-{kind}:{hashlib.sha256(name.encode(errors='replace')).hexdigest()}"
