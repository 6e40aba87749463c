"""The flux toolset: builds, modifies, analyzes and stores metabolic models, without loading cobra."""

from __future__ import annotations

from typing import Any

from failsoft.framework.call.call import Call
from failsoft.framework.offers import ListedResource, ResourcePage, prompt, resource
from failsoft.tools.flux import analyses, comparisons, lookups, models, searches
from failsoft.tools.flux.building import build_model, gapfill_model, modify_model
from failsoft.tools.flux.conditions import PREDEFINED
from failsoft.tools.flux.media import media
from failsoft.tools.flux.media.media import described_media
from failsoft.tools.flux.parts import FluxParts

_WALKTHROUGH = """Build and check a metabolic model with the flux tools:
1. load_model with name=textbook, or with path for a file of your own; for a genome build_model.
2. build_media with ModelSEED or BiGG ids, or take a predefined medium: minimal_aerobic, complete_aerobic.
3. run_fba on the medium. If it fails, follow next_step: a change undone, a missing nutrient, or gapfill_model.
4. check_model for faults of the model, run_fva with fraction=0.9 for the ranges, delete_genes for the essential genes.
5. modify_model to test a change; the original stays. Compare the growth rates.
6. export_model with format=sbml to keep the result.
Report growth rates per hour with model_id and media_id, and name what limits growth."""


class Flux(FluxParts):
    """Metabolic models: load or build one, fill its gaps, and compute its growth on a medium.

    Usual order: load_model for a published model or a file, build_model for proteins; build_media, or a predefined
    medium; run_fba; gapfill_model where the model does not grow; then run_fva, delete_genes or modify_model.

    Args:
        root: The folder of the files that callers may load; the current one if left out.
        runtime: The runtime of its calls.
        settings: Its limits and its data (`FAILSOFT_FLUX_...`).
        cache_dir: Where the database of compounds is kept; by default in the user's cache folder.

    Raises:
        CONFIG_ERROR: COBRApy is not installed (it comes with the extra `flux`), or a setting does not name a model.

    Examples:
        >>> flux = Flux(root=".")
    """

    get_compound_name = lookups.get_compound_name
    get_reaction_name = lookups.get_reaction_name
    search_compounds = searches.search_compounds
    search_reactions = searches.search_reactions

    build_media = media.build_media
    list_media = media.list_media
    delete_media = media.delete_media

    load_model = models.load_model
    modify_model = modify_model.modify_model
    build_model = build_model.build_model
    gapfill_model = gapfill_model.gapfill_model
    check_model = models.check_model
    list_models = models.list_models
    delete_model = models.delete_model
    export_model_json = models.export_model_json
    export_model = models.export_model

    run_fba = analyses.run_fba
    run_fva = analyses.run_fva
    delete_genes = analyses.delete_genes
    delete_reactions = analyses.delete_reactions
    growth_on_media = comparisons.growth_on_media
    production_envelope = comparisons.production_envelope

    @resource("flux://models/{model_id}", title="Model")
    async def model_resource(self, call: Call, model_id: str) -> dict[str, Any]:
        """The origin and size of a model, as list_models shows it."""
        record = await self.models.facts(call, model_id)
        return {"model_id": record.model_id, "name": record.name, **record.facts}

    @model_resource.list
    async def model_resources(self, call: Call) -> ResourcePage:
        """Return the models of the caller."""
        records = await self.models.models(call)
        return ResourcePage(resources=[_listed_resource("models", item.model_id, item.name) for item in records])

    @resource("flux://media/{media_id}", title="Medium")
    async def media_resource(self, call: Call, media_id: str) -> dict[str, Any]:
        """The compounds of a medium with their names and bounds."""
        record = await self.models.media(call, media_id)
        described = await self.runtime.threads.run(lambda: described_media(self.database, record))
        return dict(described)

    @media_resource.list
    async def media_resources(self, call: Call) -> ResourcePage:
        """Return the predefined media and those of the caller."""
        names = [*PREDEFINED, *(item.media_id for item in await self.models.media_of(call))]
        return ResourcePage(resources=[_listed_resource("media", name) for name in names])

    @prompt(title="Model an organism")  # type: ignore[untyped-decorator]  # it takes a function or options, so it is Any
    async def model_an_organism(self, call: Call, organism: str = "") -> str:
        """Walk through loading, feeding, checking, gap filling and exporting a metabolic model."""
        del call
        return f"{_WALKTHROUGH}\nThe organism: {organism}." if organism else _WALKTHROUGH


def _listed_resource(kind: str, name: str, title: str = "") -> ListedResource:
    listed = ListedResource(uri=f"flux://{kind}/{name}", name=name)
    if title:
        listed["title"] = title
    return listed
