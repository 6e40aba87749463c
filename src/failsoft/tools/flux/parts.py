"""What the operations of the flux toolset share: files, database, workers and store; and how it starts and ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from failsoft.framework.call.call import Call
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.plugins import missing_extra
from failsoft.tools.files import name_roots
from failsoft.tools.flux.conditions import Conditions
from failsoft.tools.flux.database.database import Database
from failsoft.tools.flux.database.reference_data import ReferenceData
from failsoft.tools.flux.database.shipped import SHIPPED_MODELS
from failsoft.tools.flux.database.tables import TablesError, find_tables
from failsoft.tools.flux.input_files import InputFiles
from failsoft.tools.flux.signatures import FluxSettings
from failsoft.tools.flux.store import ModelStore
from failsoft.tools.flux.work import with_database
from failsoft.tools.flux.workers.pool import Workers

P = ParamSpec("P")
T = TypeVar("T")


class FluxParts(BaseTool):
    """The parts of the flux toolset; its operations are functions of one, and `Flux` names and describes them."""

    name = "flux"
    wire_format = "coded_error"
    Settings = FluxSettings
    settings: FluxSettings

    def __init__(
        self,
        root: Path | None = None,
        *,
        runtime: Runtime | None = None,
        settings: FluxSettings | None = None,
        cache_dir: Path | None = None,
    ) -> None:
        super().__init__(runtime=runtime, settings=settings)
        if find_spec("cobra") is None:
            raise missing_extra(extra="flux", what="the toolset 'flux'", package="cobra")
        settings = self.settings
        unknown = [name for name in settings.preload if name not in SHIPPED_MODELS]
        if unknown:
            raise ConfigurationError(
                issue=f"FAILSOFT_FLUX_PRELOAD names {', '.join(unknown)}, which is not a published model",
                resolution=f"choose among {', '.join(SHIPPED_MODELS)}",
            )
        _require_tables(settings.tables)
        self.files = InputFiles(root)
        self.roots = () if root is None else (self.files.folder,)  # without one, replicas share their models
        self.workers = Workers(settings)
        self.database = Database(settings.tables, cache_dir=cache_dir)
        self.reference_data = ReferenceData(settings)
        self.models = ModelStore(self.runtime.state.records(self), keep_s=settings.keep_s, at_most=settings.keep_count)

    def bind_operations(self) -> None:
        """Bind every operation; schemas name the folders that are served."""
        super().bind_operations()
        name_roots(self.operations.values(), self.roots)

    async def startup(self) -> None:
        """Start the workers and the build of the database in the background."""
        self.workers.warm_up()
        self.database.warm_up()

    async def shutdown(self) -> None:
        """End the workers, and close the database."""
        await self.runtime.threads.run(self.workers.close)
        self.database.close()

    async def conditions(
        self, call: Call, model_id: str, media_id: str | None, objective: str | None = None, **more: Any
    ) -> Conditions:
        """Return the conditions of an analysis, with the medium of that id.

        Raises:
            MEDIA_NOT_FOUND: There is no such medium.
        """
        record = None if media_id is None else await self.models.media(call, media_id)
        medium = None if record is None else record.medium
        return Conditions(model_id=model_id, media_id=media_id, medium=medium, objective=objective, **more)

    async def compute(self, call: Call, task: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Return what a task returns, and pass its `warnings` on.

        Args:
            call: The call that it is for.
            task: A function of `work`.
            arguments: What it is given; anything that pickles.
            named: Its keyword arguments.

        Raises:
            ToolError: What the task raised; it has changed nothing.
        """
        file = await call.bound.threads.run(self.database.file)
        answer = await self.workers.run(call, partial(with_database, file, partial(task, *arguments, **named)))
        if isinstance(answer, dict):
            for warning in answer.get("warnings", ()):
                call.warn(warning)
        return answer


def _require_tables(place: Path | None) -> None:
    """Raise if the configured tables do not exist or cannot be read."""
    if place is None:
        return
    try:
        find_tables(place)
    except (OSError, TablesError) as error:
        raise ConfigurationError(
            issue="FAILSOFT_FLUX_TABLES does not name tables of ModelSEED",
            resolution="name a folder that holds compounds.tsv and reactions.tsv",
            operator_hint=f"{type(error).__name__}: {error}",
        ) from error
