"""A server of the flux toolset at which something is to go wrong, and what it takes: models, drafts, media."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from failsoft import CallContext, operation
from failsoft.tools.flux import Flux
from tests.doors import Recipe
from tests.programs.rast import RastServer
from tests.tools.flux.lab import AEROBIC, Lab

__all__ = ["PROTEIN", "Answer", "Case", "Stocked"]

Answer = dict[str, Any]
PROTEIN = "MRVLKFGGTSVANAERFLRVADILESNARQGQVATVLSAPAKITNHLVAM"


class Stocked(Flux):
    """The toolset, and a way to put any model on its shelf."""

    @operation(open_world=False, destructive=False, effects=True)
    async def shelve(self, call: CallContext, base: dict[str, Any]) -> dict[str, str]:
        """Keep a model that is made of this."""
        return {"model_id": (await self.models.add_model(call, Recipe(base), {}, name="")).model_id}


class Case:
    """One server, at which something is to go wrong.

    Args:
        lab: Whose workers it has.
        folder: The data for building models.
        tableless: A toolset without a database.
        rast: A service that knows functions.
    """

    def __init__(self, lab: Lab, folder: Path, tableless: Flux, rast: RastServer) -> None:
        self._lab = lab
        self._folder = folder
        self._tableless = tableless
        self.rast = rast
        self.use()

    def use(self, **settings: Any) -> None:
        """Serve with these settings from now on, and with an empty shelf."""
        self.tool = self._lab.tool(Stocked, **{"flux_templates": (str(self._folder),), **settings})

    def use_modelseedpy(self, python: Path) -> None:
        """Serve with a Python for ModelSEEDpy, with a template of it, and with RAST."""
        folder = {"flux_modelseedpy_templates": self._folder, "flux_modelseedpy_python": python}
        self.use(**folder, flux_rast_url=self.rast.url)
        self.rast.functions = {"a": "Kinase"}

    def call(self, tool: str, /, **arguments: Any) -> Answer:
        """Return the answer to one call, after every check that a client could make."""
        return self._lab.call(self.tool, tool, arguments)

    def without_database(self) -> None:
        """Serve with tables that are no tables."""
        self.tool = self._tableless

    def model(self, **changes: Any) -> str:
        """Return the id of a published model, with changes."""
        model_id = self._lab.loaded(self.tool)
        return self._lab.modified(self.tool, model_id, **changes) if changes else model_id

    def gappy(self) -> str:
        """Return the id of a model without two steps that nothing replaces."""
        return self.model(remove_reactions=["CS", "ENO"])

    def shelved(self, **base: Any) -> str:
        """Return the id of a model that is made of this."""
        draft = {"kind": "packed", "source": "carveme", "template": "GramNegative", "data": ""}
        return str(self.call("shelve", base={**draft, **base})["model_id"])

    def medium(self, *without: str) -> str:
        """Return the id of a medium that lacks some of the usual compounds."""
        return self._lab.fed(self.tool, [item for item in AEROBIC if item not in without])
