"""The tasks of the workers, which load cobra when they are run, so that the server can name them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any


@dataclass(frozen=True, slots=True)
class Task:
    """A function of a module in this package; pickled as the two names."""

    module: str
    name: str

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Load the module and run the function."""
        return getattr(import_module(f"{__name__}.{self.module}"), self.name)(*arguments, **named)


if TYPE_CHECKING:
    from failsoft.tools.flux.work.analyses import delete as delete, run_fba as run_fba, run_fva as run_fva
    from failsoft.tools.flux.work.building.drafts import (
        build_from_functions as build_from_functions,
        build_from_proteins as build_from_proteins,
    )
    from failsoft.tools.flux.work.building.gapfill import gapfill_model as gapfill_model
    from failsoft.tools.flux.work.checking import check_model as check_model
    from failsoft.tools.flux.work.comparisons import (
        growth_on_media as growth_on_media,
        production_envelope as production_envelope,
    )
    from failsoft.tools.flux.work.exchanges import with_database as with_database
    from failsoft.tools.flux.work.facts import (
        describe as describe,
        export_model as export_model,
        export_model_json as export_model_json,
    )
    from failsoft.tools.flux.work.model_files import read_model as read_model
    from failsoft.tools.flux.work.modifying import change_model as change_model
else:
    _TASKS = {
        "analyses": ("delete", "run_fba", "run_fva"),
        "building.drafts": ("build_from_functions", "build_from_proteins"),
        "building.gapfill": ("gapfill_model",),
        "checking": ("check_model",),
        "comparisons": ("growth_on_media", "production_envelope"),
        "exchanges": ("with_database",),
        "facts": ("describe", "export_model", "export_model_json"),
        "model_files": ("read_model",),
        "modifying": ("change_model",),
    }
    globals().update({name: Task(module, name) for module, names in _TASKS.items() for name in names})
