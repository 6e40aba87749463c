"""The flux toolset: metabolic models, made, changed, asked and kept. Nothing here loads cobra."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from failsoft.framework.answer_room import answer_room
from failsoft.framework.context import CallContext
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.operation import operation
from failsoft.framework.runtime import Runtime
from failsoft.framework.tool import BaseTool
from failsoft.tools.flux.arguments import (
    Bounds,
    CompoundId,
    CustomBounds,
    DefaultUptake,
    ExportLimit,
    FluxLimit,
    FluxThreshold,
    GeneIds,
    MediaCompounds,
    ModelId,
    Objective,
    Offset,
    Query,
    ReactionId,
    ReactionIds,
    SearchLimit,
    Section,
    ShippedName,
    UsedMediaId,
)
from failsoft.tools.flux.asking import compute, modification, require_known
from failsoft.tools.flux.building import Builders, Wanted
from failsoft.tools.flux.building_arguments import (
    Functions,
    MaxComplexity,
    MediaId,
    ModelName,
    ProteinSequences,
    TargetGrowth,
    TemplateName,
    WithRast,
)
from failsoft.tools.flux.database import Database
from failsoft.tools.flux.gapfill_errors import GapfillInfeasible, MaxComplexityExceeded
from failsoft.tools.flux.gaps import guided
from failsoft.tools.flux.lookups import compound_hits, named_compound, named_reaction, reaction_hits
from failsoft.tools.flux.media import bounds_by_compound, listed_media, media_told, warn_of_media
from failsoft.tools.flux.media_checks import check_media
from failsoft.tools.flux.pool import Workers
from failsoft.tools.flux.question import Question
from failsoft.tools.flux.recipes import SHIPPED_MODELS, Recipe
from failsoft.tools.flux.results import (
    BuiltModel,
    CompoundHits,
    CompoundName,
    DeletedModel,
    ExportedModel,
    FbaResult,
    GapfilledModel,
    ListedModel,
    Media,
    MediaList,
    ModelList,
    ReactionHits,
    ReactionName,
)
from failsoft.tools.flux.shelf import ModelRecord, Shelf
from failsoft.tools.flux.templates import TemplateData

__all__ = ["Flux"]

_BUILDING_S = 300.0
"""Seconds for calls that compare a whole genome, or search through thousands of reactions."""
_LOADING_S = 60.0
"""Seconds for calls that may have to load a model of a whole genome before they compute."""


class Flux(BaseTool):
    """Metabolic models: load or build one, feed it a medium, fill its gaps, and ask how it grows.

    Args:
        runtime: The surroundings of its calls; its settings hold the limits (`FAILSOFT_FLUX_...`).
        cache_dir: Where the database of compounds is kept; by default in the user's cache folder.

    Raises:
        CONFIG_ERROR: COBRApy is not installed (it comes with the extra `flux`), or a setting names no model.
    """

    name = "flux"
    wire_format = "coded_error"

    def __init__(self, *, runtime: Runtime | None = None, cache_dir: Path | None = None) -> None:
        super().__init__(runtime=runtime)
        if find_spec("cobra") is None:
            raise ConfigurationError(
                issue="the flux toolset needs COBRApy, which is not installed",
                resolution="install the extra: pip install 'failsoft[flux]'",
                details={"extra": "flux"},
            )
        settings = self.runtime.settings
        unknown = [name for name in settings.flux_preload if name not in SHIPPED_MODELS]
        if unknown:
            raise ConfigurationError(
                issue=f"FAILSOFT_FLUX_PRELOAD names {', '.join(unknown)}, which is no published model",
                resolution=f"choose among {', '.join(SHIPPED_MODELS)}",
            )
        self.workers = Workers(settings)
        self.database = Database(settings.flux_tables, cache_dir=cache_dir)
        self.builders = Builders(settings, TemplateData(settings.flux_templates))
        self.shelf = Shelf(
            self.runtime.state.private_to(self), keep_s=settings.flux_keep_s, at_most=settings.flux_keep_count
        )

    @operation(read_only=True, open_world=False, title="Look up a compound")
    def get_compound_name(self, call: CallContext, compound_id: CompoundId) -> CompoundName:
        """Return the name, formula, charge and other ids of a compound. Use search_compounds to find ids by name."""
        return named_compound(call, self.database, compound_id)

    @operation(read_only=True, open_world=False, title="Look up a reaction")
    def get_reaction_name(self, call: CallContext, reaction_id: ReactionId) -> ReactionName:
        """Return the name, equation and other ids of a reaction. Use search_reactions to find ids by name."""
        return named_reaction(call, self.database, reaction_id)

    @operation(read_only=True, open_world=False, title="Search compounds")
    def search_compounds(self, call: CallContext, query: Query, limit: SearchLimit = 10) -> CompoundHits:
        """Return the compounds with a name that holds all words of the query, or with exactly that formula or id."""
        return compound_hits(call, self.database, query, limit)

    @operation(read_only=True, open_world=False, title="Search reactions")
    def search_reactions(self, call: CallContext, query: Query, limit: SearchLimit = 10) -> ReactionHits:
        """Return the reactions with a name that holds all words of the query, or with exactly that EC number or id."""
        return reaction_hits(call, self.database, query, limit)

    @operation(idempotent=False, open_world=False, title="Make a medium")
    async def build_media(
        self,
        call: CallContext,
        compounds: MediaCompounds,
        default_uptake: DefaultUptake = 100.0,
        custom_bounds: CustomBounds = None,
    ) -> Media:
        """Make a growth medium of compounds and return its id, for run_fba and gapfill_model.

        Each compound may be taken up at default_uptake and given off at up to 1000, unless custom_bounds says
        otherwise.
        """
        bounds = bounds_by_compound(compounds, default_uptake, custom_bounds)
        await self.runtime.threads.run(lambda: warn_of_media(call, self.database, compounds, bounds))
        record = await self.shelf.add_media(call, bounds)
        return await self.runtime.threads.run(lambda: media_told(self.database, record))

    @build_media.check
    def medium_is_sound(self, compounds: list[str], default_uptake: float, custom_bounds: Any) -> None:
        """Refuse what is no medium, by the first fault in the order of the seed."""
        check_media(self.database, compounds, default_uptake, custom_bounds)

    @operation(read_only=True, open_world=False, title="List media")
    async def list_media(self, call: CallContext) -> MediaList:
        """Return the media that you have made, oldest first."""
        media = [listed_media(record) for record in await self.shelf.media_of(call)]
        return {"media": media, "total": len(media)}

    @operation(open_world=False, destructive=False, timeout=_LOADING_S, title="Load a model")
    async def load_model(self, call: CallContext, name: ShippedName) -> ListedModel:
        """Load a published model and return its id: textbook (small, quick), iJO1366 (E. coli) or salmonella."""
        recipe = Recipe.shipped(name)
        described = await compute(self.workers, call, "facts:describe", recipe)
        facts = {"source": f"published: {SHIPPED_MODELS[name]}", **described["facts"]}
        return listed(await self.shelf.add_model(call, recipe, facts, name=name))

    @load_model.check
    async def model_is_published(self, call: CallContext, name: str) -> None:
        """Refuse any other name: cobra would look for it in the network."""
        require_known(call, name)

    @operation(open_world=False, destructive=False, timeout=_LOADING_S, title="Change a model")
    async def modify_model(
        self,
        call: CallContext,
        model_id: ModelId,
        remove_reactions: ReactionIds = None,
        knock_out_genes: GeneIds = None,
        bounds: Bounds = None,
        objective: Objective = None,
    ) -> ListedModel:
        """Make a changed copy of a model and return its new id: reactions removed, genes knocked out, bounds set.

        The model itself stays as it is. A bound of null is infinite; [0, 0] blocks a reaction.
        """
        parent = await self.shelf.model(call, model_id)
        step = modification(remove_reactions, knock_out_genes, bounds, objective)
        described = await compute(self.workers, call, "modifying:check_and_describe", parent.recipe, step)
        facts = {**parent.facts, "parent": model_id, **described["facts"]}
        return listed(await self.shelf.add_model(call, parent.recipe.then(step), facts, name=parent.name))

    @operation(destructive=False, timeout=_BUILDING_S, title="Build a model")
    async def build_model(
        self,
        call: CallContext,
        protein_sequences: ProteinSequences,
        template: TemplateName,
        model_name: ModelName = "",
        annotate_with_rast: WithRast = False,  # noqa: FBT002 - arguments of a tool have names
        functions: Functions = None,
    ) -> BuiltModel:
        """Build a draft model of an organism from its proteins and return its id. It seldom grows before gapfill_model.

        The proteins are compared with those of published models; with functions, the template's tables decide.
        """
        wanted = Wanted(protein_sequences, template, model_name, annotate_with_rast, functions)
        built = await self.builders.build(call, self.workers, wanted)
        facts = {**built["facts"], "growth_on_complete_medium": built["growth"]}
        record = await self.shelf.add_model(call, Recipe(built["base"]), facts, name=model_name)
        return cast("BuiltModel", listed(record))

    @build_model.check
    async def model_can_be_built(
        self,
        call: CallContext,
        protein_sequences: dict[str, str],
        template: str,
        annotate_with_rast: bool,  # noqa: FBT001 - the same
        functions: dict[str, str] | None,
    ) -> None:
        """Refuse what cannot be built, by the first fault in the order of the seed."""
        await self.builders.check(call, Wanted(protein_sequences, template, "", annotate_with_rast, functions))

    @operation(open_world=False, destructive=False, timeout=_BUILDING_S, title="Fill the gaps of a model")
    async def gapfill_model(
        self,
        call: CallContext,
        model_id: ModelId,
        media_id: MediaId,
        target_growth: TargetGrowth = 0.01,
        max_complexity: MaxComplexity = 50,
    ) -> GapfilledModel:
        """Add as few reactions to a model as let it grow on a medium, and return the new model's id."""
        parent = await self.shelf.model(call, model_id)
        medium = (await self.shelf.media(call, media_id)).compounds
        universe = await self.runtime.threads.run(lambda: self.builders.universe(parent.recipe.base))
        ids = {"model_id": model_id, "media_id": media_id}
        arguments = parent.recipe, ids, dict(medium), target_growth, max_complexity, universe
        try:
            filled = await compute(self.workers, call, "gapfilling:gapfill", *arguments)
        except (GapfillInfeasible, MaxComplexityExceeded) as error:
            raise guided(error, call, medium) from None
        facts = {**parent.facts, "parent": model_id, **filled["facts"]}
        recipe = parent.recipe.then(filled["step"]) if filled["reactions"] else parent.recipe
        record = await self.shelf.add_model(call, recipe, facts, name=parent.name, suffix=".gf")
        return cast("GapfilledModel", {**listed(record), "media_id": media_id, **filled["told"]})

    @operation(read_only=True, open_world=False, timeout=_LOADING_S, title="Run flux balance analysis")
    async def run_fba(
        self,
        call: CallContext,
        model_id: ModelId,
        media_id: UsedMediaId = None,
        objective: Objective = None,
        flux_threshold: FluxThreshold = 1e-6,
        limit: FluxLimit = 100,
    ) -> FbaResult:
        """Return how a model grows on a medium: the growth rate, the uptakes and secretions, and the largest fluxes."""
        model = await self.shelf.model(call, model_id)
        media = None if media_id is None else await self.shelf.media(call, media_id)
        question = Question(
            model_id=model_id,
            media_id=media_id,
            compounds=None if media is None else media.compounds,
            objective=objective,
            threshold=flux_threshold,
            limit=limit,
        )
        answer = await compute(self.workers, call, "solving:run_fba", model.recipe, question)
        on_media = {} if media_id is None else {"media_id": media_id}
        return cast("FbaResult", {"model_id": model_id, **on_media, **answer["result"]})

    @operation(read_only=True, open_world=False, timeout=_LOADING_S, title="Export a model")
    async def export_model_json(
        self,
        call: CallContext,
        model_id: ModelId,
        section: Section = "all",
        offset: Offset = 0,
        limit: ExportLimit | None = None,
    ) -> ExportedModel:
        """Return a model as cobra's JSON: whole if it fits, else page by page with section, offset and limit."""
        model = await self.shelf.model(call, model_id)
        arguments = model.recipe, model_id, section, offset, limit, answer_room(call)
        exported = await compute(self.workers, call, "exporting:export", *arguments)
        return cast("ExportedModel", {"model_id": model_id, **exported})

    @operation(read_only=True, open_world=False, title="List models")
    async def list_models(self, call: CallContext) -> ModelList:
        """Return the models that you have made, oldest first, with their size and origin."""
        models = [listed(record) for record in await self.shelf.models(call)]
        return {"models": models, "total": len(models)}

    @operation(destructive=True, idempotent=False, open_world=False, title="Delete a model")
    async def delete_model(self, call: CallContext, model_id: ModelId) -> DeletedModel:
        """Delete a model: its id is worth nothing from then on."""
        record = await self.shelf.delete_model(call, model_id)
        return {"model_id": record.model_id, "name": record.name}

    async def startup(self) -> None:
        """Begin to start the workers and to build the database, without waiting for them."""
        self.workers.warm_up()
        self.database.warm_up()

    async def shutdown(self) -> None:
        """End the workers, and close the database."""
        await self.runtime.threads.run(self.workers.close)
        self.database.close()


def listed(record: ModelRecord) -> ListedModel:
    """Return a model as it is told to callers."""
    named = {"name": record.name} if record.name else {}
    told: Any = {"model_id": record.model_id, **named, **record.facts}
    return cast("ListedModel", told)
