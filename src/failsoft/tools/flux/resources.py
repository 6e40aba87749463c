"""Models and media as MCP resources, and the modelling walkthrough as a prompt."""

from __future__ import annotations

from typing import Any

from failsoft.framework.call.call import Call
from failsoft.framework.offers import ListedResource, ResourcePage, prompt, resource
from failsoft.tools.files import name_roots
from failsoft.tools.flux.analyses import Analyses
from failsoft.tools.flux.media.media import described_media

_WALKTHROUGH = """Build and check a metabolic model with the flux tools:
1. load_model with name=textbook, or with path for a file of your own; for a genome build_model.
2. build_media with ModelSEED or BiGG ids, or take a predefined medium: minimal_aerobic, complete_aerobic.
3. run_fba on the medium. If it fails, follow next_step: a missing nutrient, or gapfill_model.
4. run_fva with fraction=0.9 for the ranges, delete_genes for the genes that growth needs.
5. modify_model to test a change; the original stays. Compare the growth rates.
6. export_model with format=sbml to keep the result.
Report growth rates per hour with model_id and media_id, and name what limits growth."""


class Offers(Analyses):
    """The part of the flux toolset that offers resources and prompts, and names the root in the schemas."""

    def bind_operations(self) -> None:
        """Bind every operation; schemas name the folders that are served."""
        super().bind_operations()
        name_roots(self.operations.values(), self.roots)

    @resource("flux://models/{model_id}", title="Model")
    async def model_resource(self, call: Call, model_id: str) -> dict[str, Any]:
        """The origin and size of a model, as list_models shows it."""
        record = await self.models.model(call, model_id)
        return {"model_id": record.model_id, "name": record.name, **record.facts}

    @model_resource.list
    async def model_resources(self, call: Call) -> ResourcePage:
        """Return the models of the caller."""
        records = await self.models.models(call)
        return ResourcePage(resources=[_listed("models", item.model_id, item.name) for item in records])

    @resource("flux://media/{media_id}", title="Medium")
    async def media_resource(self, call: Call, media_id: str) -> dict[str, Any]:
        """The compounds of a medium with their names and bounds."""
        record = await self.models.media(call, media_id)
        described = await self.runtime.threads.run(lambda: described_media(self.database, record))
        return dict(described)

    @media_resource.list
    async def media_resources(self, call: Call) -> ResourcePage:
        """Return the predefined media and those of the caller."""
        names = [*self.models.predefined, *(item.media_id for item in await self.models.media_of(call))]
        return ResourcePage(resources=[_listed("media", name) for name in names])

    @prompt(title="Model an organism")  # type: ignore[untyped-decorator]  # it takes a function or options, so it is Any
    async def model_an_organism(self, call: Call, organism: str = "") -> str:
        """Walk through loading, feeding, checking, gap filling and exporting a metabolic model."""
        del call
        return f"{_WALKTHROUGH}\nThe organism: {organism}." if organism else _WALKTHROUGH


def _listed(kind: str, name: str, title: str = "") -> ListedResource:
    listed = ListedResource(uri=f"flux://{kind}/{name}", name=name)
    if title:
        listed["title"] = title
    return listed
