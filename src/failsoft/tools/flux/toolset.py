"""The flux toolset: metabolic models, made, changed, asked and kept. Nothing here loads cobra."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, cast

from failsoft.framework.context import CallContext
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.operation import operation
from failsoft.framework.runtime import Runtime
from failsoft.framework.tool import BaseTool
from failsoft.tools.flux.arguments import ModelId
from failsoft.tools.flux.results import DeletedModel, ListedModel, ModelList
from failsoft.tools.flux.shelf import ModelRecord, Shelf

__all__ = ["Flux"]


class Flux(BaseTool):
    """Metabolic models: load or build one, feed it a medium, fill its gaps, and ask how it grows.

    Args:
        runtime: The surroundings of its calls; its settings hold the limits (`FAILSOFT_FLUX_...`).

    Raises:
        CONFIG_ERROR: COBRApy is not installed: it comes with the extra `flux`.
    """

    name = "flux"
    wire_format = "coded_error"

    def __init__(self, *, runtime: Runtime | None = None) -> None:
        super().__init__(runtime=runtime)
        if find_spec("cobra") is None:
            raise ConfigurationError(
                issue="the flux toolset needs COBRApy, which is not installed",
                resolution="install the extra: pip install 'failsoft[flux]'",
            )
        settings = self.runtime.settings
        self.shelf = Shelf(
            self.runtime.state.private_to(self), keep_s=settings.flux_keep_s, at_most=settings.flux_keep_count
        )

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


def listed(record: ModelRecord) -> ListedModel:
    """Return a model as it is told to callers."""
    named = {"name": record.name} if record.name else {}
    told: Any = {"model_id": record.model_id, **named, **record.facts}
    return cast("ListedModel", told)
