"""The flux toolset: builds, modifies, analyzes and stores metabolic models, without loading cobra."""

from __future__ import annotations

import tarfile
import zipfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.errors import ConfigurationError, InvalidParameter
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded
from failsoft.tools.flux.analyses import BUILDING_S, LOADING_S
from failsoft.tools.flux.arguments import (
    Bounds,
    CompoundId,
    CustomBounds,
    DefaultUptake,
    FilePath,
    GeneIds,
    MediaCompounds,
    ModelId,
    ModelPath,
    Objective,
    Query,
    ReactionId,
    ReactionIds,
    SearchLimit,
    ShippedName,
)
from failsoft.tools.flux.building.arguments import (
    Functions,
    MaxComplexity,
    MediaId,
    ModelName,
    ProteinSequences,
    TargetGrowth,
    TemplateName,
    WithRast,
)
from failsoft.tools.flux.building.building import Builders, Wanted
from failsoft.tools.flux.building.sequences import plain_sequences, unusual_residues
from failsoft.tools.flux.building.templates import TemplateData
from failsoft.tools.flux.database import Database
from failsoft.tools.flux.database.tables import TablesError, find_tables
from failsoft.tools.flux.errors.building import EmptyProteinSequences
from failsoft.tools.flux.errors.gapfill import GapfillInfeasible, MaxComplexityExceeded
from failsoft.tools.flux.gaps import guided
from failsoft.tools.flux.inputs.fasta import read_fasta
from failsoft.tools.flux.inputs.files import InputFiles
from failsoft.tools.flux.inputs.table import read_table
from failsoft.tools.flux.lookups.lookups import compound_hits, named_compound, named_reaction, reaction_hits
from failsoft.tools.flux.media.checks import check_media
from failsoft.tools.flux.media.media import described_media, listed_media, medium_of, warn_of_media
from failsoft.tools.flux.models.predefined import PREDEFINED
from failsoft.tools.flux.models.recipes import SHIPPED_MODELS, Recipe
from failsoft.tools.flux.models.store import MediaRecord, ModelRecord, ModelStore
from failsoft.tools.flux.resources import Offers
from failsoft.tools.flux.results import (
    BuiltModel,
    CompoundHits,
    CompoundName,
    DeletedMedia,
    DeletedModel,
    GapfilledModel,
    ListedModel,
    Media,
    MediaList,
    ModelList,
    ReactionHits,
    ReactionName,
)
from failsoft.tools.flux.settings import FluxSettings
from failsoft.tools.flux.tasks import compute, modification, require_known, require_one
from failsoft.tools.flux.workers.pool import Workers


class Flux(Offers):
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
    """

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
            raise ConfigurationError(
                issue="the flux toolset needs COBRApy, which is not installed",
                resolution="install the extra: pip install 'failsoft[flux]'",
                details={"extra": "flux"},
            )
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
        self.builders = Builders(settings, TemplateData(settings.templates))
        self.models = ModelStore(self.runtime.state.records(self), keep_s=settings.keep_s, at_most=settings.keep_count)

    @operation(read_only=True, open_world=False, title="Look up a compound")
    def get_compound_name(self, call: Call, compound_id: CompoundId) -> CompoundName:
        """Return the name, formula, charge and other ids of a compound. Use search_compounds to find ids by name."""
        return named_compound(call, self.database, compound_id)

    @operation(read_only=True, open_world=False, title="Look up a reaction")
    def get_reaction_name(self, call: Call, reaction_id: ReactionId) -> ReactionName:
        """Return the name, equation and other ids of a reaction. Use search_reactions to find ids by name."""
        return named_reaction(call, self.database, reaction_id)

    @operation(read_only=True, open_world=False, title="Search compounds")
    def search_compounds(self, call: Call, query: Query, limit: SearchLimit = 10) -> CompoundHits:
        """Return the compounds with a name that holds all words of the query, or with exactly that formula or id."""
        return compound_hits(call, self.database, query, limit)

    @operation(read_only=True, open_world=False, title="Search reactions")
    def search_reactions(self, call: Call, query: Query, limit: SearchLimit = 10) -> ReactionHits:
        """Return the reactions with a name that holds all words of the query, or with exactly that EC number or id."""
        return reaction_hits(call, self.database, query, limit)

    @operation(idempotent=False, destructive=False, open_world=False, verify_with="list_media", title="Make a medium")
    async def build_media(
        self,
        call: Call,
        compounds: MediaCompounds | None = None,
        default_uptake: DefaultUptake = 100.0,
        custom_bounds: CustomBounds = None,
        table_path: FilePath = None,
    ) -> Media:
        """Make a growth medium of compounds and return its id, for run_fba and gapfill_model.

        Each compound may be taken up at default_uptake and secreted at up to 1000, unless custom_bounds says
        otherwise. A table (table_path: CSV or TSV with compound, lower, upper) may take the place of compounds.
        """
        compounds, custom_bounds = await self._medium(compounds, custom_bounds, table_path)
        if table_path is not None:
            await self.runtime.threads.run(lambda: check_media(self.database, compounds, default_uptake, custom_bounds))
        medium = medium_of(compounds, default_uptake, custom_bounds)
        await self.runtime.threads.run(lambda: warn_of_media(call, self.database, compounds, medium))
        record = await self.models.add_media(call, medium)
        return await self.runtime.threads.run(lambda: described_media(self.database, record))

    @build_media.check
    def medium_is_sound(
        self, compounds: list[str] | None, default_uptake: float, custom_bounds: Any, table_path: str | None
    ) -> None:
        """Refuse an invalid medium, by the first fault in the order of the seed; a table is checked later."""
        if table_path is None or compounds:
            check_media(self.database, compounds or [], default_uptake, custom_bounds)

    @operation(read_only=True, open_world=False, title="List media")
    async def list_media(self, call: Call) -> MediaList:
        """Return the predefined media, and those that you have made, oldest first."""
        predefined = [MediaRecord(name, medium) for name, medium in PREDEFINED.items()]
        media = [
            *(listed_media(record, is_predefined=True) for record in predefined),
            *(listed_media(record) for record in await self.models.media_of(call)),
        ]
        return {"media": media, "total": len(media)}

    @operation(destructive=True, idempotent=False, open_world=False, verify_with="list_media", title="Delete a medium")
    async def delete_media(self, call: Call, media_id: MediaId) -> DeletedMedia:
        """Delete a medium that you have made. Predefined media cannot be deleted."""
        record = await self.models.delete_media(call, media_id)
        return {"media_id": record.media_id}

    @delete_media.check
    def medium_can_be_deleted(self, media_id: str) -> None:
        """Refuse to delete a predefined medium."""
        if media_id in PREDEFINED:
            message = f'"{media_id}" is predefined and cannot be deleted'
            violation = Violation(path="media_id", reason="value", message=message, expected="a medium of build_media")
            raise InvalidParameter.from_violations([violation])

    @operation(open_world=False, destructive=False, timeout=LOADING_S, verify_with="list_models", title="Load a model")
    async def load_model(self, call: Call, name: ShippedName = None, path: ModelPath = None) -> ListedModel:
        """Load a published model by name, or your own from a file, and return its id.

        Names: textbook (small, quick), iJO1366 (E. coli), salmonella. Files: SBML, cobra JSON, MAT, YAML.
        """
        if path is not None:
            published = f"Published models are loaded by `name`: {', '.join(SHIPPED_MODELS)}."
            data = await self.runtime.threads.run(lambda: self.files.read(path, otherwise=published))
            recipe = Recipe(await compute(self, call, "solving.reading:read_model", path, data))
            origin = f"file: {bounded(path, 200)}"
        else:
            recipe = Recipe.shipped(str(name))
            origin = f"published: {SHIPPED_MODELS[str(name)]}"
        described = await compute(self, call, "solving.facts:describe", recipe)
        facts = {"source": origin, **described["facts"]}
        return listed(await self.models.add_model(call, recipe, facts, name=name or Path(str(path)).name))

    @load_model.check
    def model_is_named_once(self, call: Call, name: str | None, path: str | None) -> None:
        """Refuse a call with neither name nor path, with both, or with a name that is not published."""
        require_one(name=name, path=path)
        if name is not None:
            require_known(call, name)

    @operation(
        open_world=False, destructive=False, timeout=LOADING_S, verify_with="list_models", title="Change a model"
    )
    async def modify_model(
        self,
        call: Call,
        model_id: ModelId,
        remove_reactions: ReactionIds = None,
        knock_out_genes: GeneIds = None,
        bounds: Bounds = None,
        objective: Objective = None,
    ) -> ListedModel:
        """Make a changed copy of a model and return its new id: reactions removed, genes knocked out, bounds set.

        The model itself is not changed. A bound of null is infinite; [0, 0] blocks a reaction.
        """
        parent = await self.models.model(call, model_id)
        step = modification(remove_reactions, knock_out_genes, bounds, objective)
        described = await compute(self, call, "solving.modifying:check_and_describe", parent.recipe, step)
        facts = {**parent.facts, "parent": model_id, **described["facts"]}
        return listed(await self.models.add_model(call, parent.recipe.then(step), facts, name=parent.name))

    @operation(open_world=True, destructive=False, timeout=BUILDING_S, verify_with="list_models", title="Build a model")
    async def build_model(
        self,
        call: Call,
        template: TemplateName,
        protein_sequences: ProteinSequences | None = None,
        model_name: ModelName = "",
        annotate_with_rast: WithRast = False,  # noqa: FBT002 - arguments of a tool have names
        functions: Functions = None,
        fasta_path: FilePath = None,
    ) -> BuiltModel:
        """Build a draft model of an organism from its proteins and return its id. It seldom grows before gapfill_model.

        The proteins are compared with those of published models; with functions, the template's tables decide.
        """
        wanted = await self._wanted(protein_sequences, template, annotate_with_rast, functions, fasta_path, model_name)
        for warning in unusual_residues(wanted.sequences):
            call.warn(warning)
        wanted = replace(wanted, sequences=plain_sequences(wanted.sequences))
        built = await self.builders.build(call, self, wanted)
        facts = {**built["facts"], "growth_on_complete_medium": built["growth"]}
        record = await self.models.add_model(call, Recipe(built["base"]), facts, name=model_name)
        return cast("BuiltModel", listed(record))

    @build_model.check
    async def model_can_be_built(
        self,
        call: Call,
        protein_sequences: dict[str, str] | None,
        template: str,
        annotate_with_rast: bool,  # noqa: FBT001 - the same
        functions: dict[str, str] | None,
        fasta_path: str | None,
    ) -> None:
        """Refuse an invalid request, by the first fault in the order of the seed."""
        wanted = await self._wanted(protein_sequences, template, annotate_with_rast, functions, fasta_path)
        await self.builders.check(call, wanted)

    @operation(open_world=False, destructive=False, timeout=BUILDING_S, verify_with="list_models", title="Fill gaps")
    async def gapfill_model(
        self,
        call: Call,
        model_id: ModelId,
        media_id: MediaId,
        target_growth: TargetGrowth = 0.01,
        max_complexity: MaxComplexity = 50,
    ) -> GapfilledModel:
        """Add as few reactions to a model as let it grow on a medium, and return the new model's id."""
        parent = await self.models.model(call, model_id)
        medium = (await self.models.media(call, media_id)).medium
        universe = await self.runtime.threads.run(lambda: self.builders.universe(parent.recipe.base))
        ids = {"model_id": model_id, "media_id": media_id}
        arguments = parent.recipe, ids, medium, target_growth, max_complexity, universe
        try:
            filled = await compute(self, call, "gapfilling.gapfill:gapfill", *arguments)
        except (GapfillInfeasible, MaxComplexityExceeded) as error:
            raise guided(error, call, medium) from None
        facts = {**parent.facts, "parent": model_id, **filled["facts"]}
        recipe = parent.recipe.then(filled["step"]) if filled["reactions"] else parent.recipe
        record = await self.models.add_model(call, recipe, facts, name=parent.name, suffix=".gf")
        growth = filled["answer"]["growth_after"]
        ids = {"model_id": record.model_id, "media_id": media_id}
        steps = [{"tool": "run_fba", "arguments": ids, "why": "the fluxes of the new model"}]
        count = len(filled["reactions"])
        added = "1 more reaction" if count == 1 else f"{count} more reactions"
        text = f"With {added} the model grows at {growth:.4g} per hour on {media_id}."
        more = {**ids, **filled["answer"], "interpretation": text, "next_steps": steps}
        return cast("GapfilledModel", {**listed(record), **more})

    @operation(read_only=True, open_world=False, title="List models")
    async def list_models(self, call: Call) -> ModelList:
        """Return the models that you have made, oldest first, with their size and origin."""
        models = [listed(record) for record in await self.models.models(call)]
        return {"models": models, "total": len(models)}

    @operation(destructive=True, idempotent=False, open_world=False, verify_with="list_models", title="Delete a model")
    async def delete_model(self, call: Call, model_id: ModelId) -> DeletedModel:
        """Delete a model; calls with its id are refused from then on."""
        record = await self.models.delete_model(call, model_id)
        return {"model_id": record.model_id, "name": record.name}

    async def _medium(
        self, compounds: list[str] | None, custom_bounds: Any, table_path: str | None
    ) -> tuple[list[str], Any]:
        """Return the compounds and bounds of the arguments and, before them, of the table."""
        if table_path is None:
            return compounds or [], custom_bounds
        data = await self.runtime.threads.run(lambda: self.files.read(table_path))
        listed_compounds, bounds = read_table(table_path, data)
        return [*listed_compounds, *(compounds or [])], {**bounds, **(custom_bounds or {})}

    async def _wanted(
        self,
        sequences: dict[str, str] | None,
        template: str,
        with_rast: bool,  # noqa: FBT001 - the same
        functions: dict[str, str] | None,
        fasta_path: str | None,
        name: str = "",
    ) -> Wanted:
        given = dict(sequences or {})
        if fasta_path is not None:
            data = await self.runtime.threads.run(lambda: self.files.read(fasta_path))
            given |= read_fasta(fasta_path, data)
        if not given:
            raise EmptyProteinSequences(effect="none")
        return Wanted(given, template, name, with_rast, functions)

    async def startup(self) -> None:
        """Start the workers and the build of the database in the background."""
        self.workers.warm_up()
        self.database.warm_up()

    async def shutdown(self) -> None:
        """End the workers, and close the database."""
        await self.runtime.threads.run(self.workers.close)
        self.database.close()


def _require_tables(place: Path | None) -> None:
    """Raise if the configured tables do not exist or cannot be read."""
    if place is None:
        return
    try:
        find_tables(place)
    except (OSError, TablesError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise ConfigurationError(
            issue="FAILSOFT_FLUX_TABLES does not name tables of ModelSEED",
            resolution="name a folder, wheel or sdist that holds compounds.tsv and reactions.tsv",
            operator_hint=f"{type(error).__name__}: {error}",
        ) from error


def listed(record: ModelRecord) -> ListedModel:
    """Return a model as answers show it."""
    named = {"name": record.name} if record.name else {}
    shown: Any = {"model_id": record.model_id, **named, **record.facts}
    return cast("ListedModel", shown)
