"""Operations that analyze a model: flux balance, flux variability, deletions and exports."""

from __future__ import annotations

from typing import Any, cast

from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.call.toolset import BaseTool
from failsoft.tools.flux.arguments import (
    ExportFormat,
    ExportLimit,
    FluxLimit,
    FluxThreshold,
    Fraction,
    GeneIds,
    Maximize,
    ModelId,
    Objective,
    Offset,
    Parsimonious,
    ReactionIds,
    Section,
    TextOffset,
    UsedMediaId,
)
from failsoft.tools.flux.database import Database
from failsoft.tools.flux.models.store import ModelStore
from failsoft.tools.flux.question import Question
from failsoft.tools.flux.results import DeletionResult, ExportedModel, FbaResult, FvaResult, ModelText
from failsoft.tools.flux.tasks import compute
from failsoft.tools.flux.workers.pool import Workers

BUILDING_S = 300.0
"""Seconds for calls that compare a whole genome, or solve thousands of problems."""
LOADING_S = 60.0
"""Seconds for calls that may have to load a model of a whole genome before they compute."""


class Analyses(BaseTool):
    """The part of the flux toolset that analyzes models without changing them."""

    workers: Workers
    database: Database
    models: ModelStore

    @operation(read_only=True, open_world=False, timeout=LOADING_S, title="Run flux balance analysis")
    async def run_fba(
        self,
        call: Call,
        model_id: ModelId,
        media_id: UsedMediaId = None,
        objective: Objective = None,
        maximize: Maximize = None,
        pfba: Parsimonious = False,  # noqa: FBT002 - arguments of a tool have names
        flux_threshold: FluxThreshold = 1e-6,
        limit: FluxLimit = 100,
    ) -> FbaResult:
        """Return how a model grows on a medium: growth rate, what limits it, uptakes, secretions and largest fluxes."""
        model = await self.models.model(call, model_id)
        question = await self._question(
            call, model_id, media_id, objective, maximize=maximize, pfba=pfba, threshold=flux_threshold, limit=limit
        )
        answer = await compute(self, call, "solving.fba:run_fba", model.recipe, question)
        conditions = _conditions(model_id, media_id)
        steps = [
            {"tool": "run_fva", "arguments": conditions, "why": "ranges of the fluxes near this optimum"},
            {"tool": "delete_genes", "arguments": conditions, "why": "which genes this growth needs"},
        ]
        return cast("FbaResult", {**conditions, **answer["result"], "next_steps": steps if answer["is_own"] else []})

    @operation(read_only=True, open_world=False, timeout=BUILDING_S, title="Run flux variability analysis")
    async def run_fva(
        self,
        call: Call,
        model_id: ModelId,
        media_id: UsedMediaId = None,
        fraction: Fraction = 1.0,
        reactions: ReactionIds = None,
    ) -> FvaResult:
        """Return the smallest and largest flux of each reaction while the objective keeps a fraction of its optimum.

        Without reactions, of all of them, which takes a minute for a whole genome.
        """
        model = await self.models.model(call, model_id)
        question = await self._question(call, model_id, media_id)
        arguments = model.recipe, question, fraction, reactions
        answer = await compute(self, call, "solving.variability:run_fva", *arguments)
        return cast("FvaResult", {**_conditions(model_id, media_id), **answer["result"]})

    @operation(read_only=True, open_world=False, timeout=BUILDING_S, title="Delete genes one at a time")
    async def delete_genes(
        self, call: Call, model_id: ModelId, media_id: UsedMediaId = None, genes: GeneIds = None
    ) -> DeletionResult:
        """Return the growth without each gene, one at a time; 0 is lethal. The model is not changed.

        Without genes, all of the model. To keep a knock-out use modify_model.
        """
        return await self._deletions(call, model_id, media_id, "genes", genes)

    @operation(read_only=True, open_world=False, timeout=BUILDING_S, title="Delete reactions one at a time")
    async def delete_reactions(
        self, call: Call, model_id: ModelId, media_id: UsedMediaId = None, reactions: ReactionIds = None
    ) -> DeletionResult:
        """Return the growth without each reaction, one at a time; 0 is lethal. The model is not changed.

        Without reactions, all of the model. To remove reactions for good use modify_model.
        """
        return await self._deletions(call, model_id, media_id, "reactions", reactions)

    @operation(read_only=True, open_world=False, timeout=LOADING_S, title="Export a model as data")
    async def export_model_json(
        self,
        call: Call,
        model_id: ModelId,
        section: Section = "all",
        offset: Offset = 0,
        limit: ExportLimit | None = None,
    ) -> ExportedModel:
        """Return a model as cobra's JSON data: whole if it fits, else page by page with section, offset and limit.

        Use export_model for a file.
        """
        model = await self.models.model(call, model_id)
        arguments = model.recipe, model_id, section, offset, limit, call.data_limit_bytes
        exported = await compute(self, call, "solving.exporting:export", *arguments)
        return cast("ExportedModel", {"model_id": model_id, **exported})

    @operation(read_only=True, open_world=False, timeout=LOADING_S, title="Export a model as a file")
    async def export_model(
        self,
        call: Call,
        model_id: ModelId,
        format: ExportFormat,  # noqa: A002 - the name that callers use
        offset: TextOffset = 0,
    ) -> ModelText:
        """Return a model as the text of an SBML or JSON file that cobra reads.

        A long one comes in parts: call again with offset set to next_offset, and join the contents.
        """
        model = await self.models.model(call, model_id)
        arguments = model.recipe, format, offset, call.data_limit_bytes
        exported = await compute(self, call, "solving.exporting:export_text", *arguments)
        return cast("ModelText", {"model_id": model_id, **exported})

    async def _question(
        self, call: Call, model_id: str, media_id: str | None, objective: str | None = None, **more: Any
    ) -> Question:
        record = None if media_id is None else await self.models.media(call, media_id)
        medium = None if record is None else record.medium
        return Question(model_id=model_id, media_id=media_id, medium=medium, objective=objective, **more)

    async def _deletions(
        self, call: Call, model_id: str, media_id: str | None, kind: str, names: list[str] | None
    ) -> DeletionResult:
        model = await self.models.model(call, model_id)
        question = await self._question(call, model_id, media_id)
        answer = await compute(self, call, "solving.deletions:delete", model.recipe, question, kind, names)
        return cast("DeletionResult", {**_conditions(model_id, media_id), **answer["result"]})


def _conditions(model_id: str, media_id: str | None) -> dict[str, Any]:
    return {"model_id": model_id, **({} if media_id is None else {"media_id": media_id})}
