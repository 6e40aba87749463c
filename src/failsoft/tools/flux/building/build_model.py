"""Choose how a model is built from proteins, with which data, and refuse invalid requests before the build."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NotRequired, cast

from typing_extensions import TypedDict

from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.errors import (
    InvalidArgument,
    InvalidParameter,
    NextStep,
    Public,
    ToolError,
)
from failsoft.framework.errors.corrections import slip_of
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded
from failsoft.tools.flux import work
from failsoft.tools.flux.building.arguments import Functions, ModelName, ProteinSequences, TemplateName, WithRast
from failsoft.tools.flux.building.proteins import (
    EmptyProteinSequences,
    invalid_sequences,
    plain_sequences,
    read_fasta,
    unusual_lengths,
    unusual_residues,
)
from failsoft.tools.flux.building.rast import Rast
from failsoft.tools.flux.database.reference_data import TEMPLATES, Route, TemplateNotLoaded
from failsoft.tools.flux.parts import FluxParts
from failsoft.tools.flux.signatures import BUILDING_S, FilePath
from failsoft.tools.flux.store import Recipe, listed


class InvalidTemplateName(InvalidArgument):
    """There is no template of that name.

    Raised when: `template` is not the name of a known template, loaded or not.
    Caller: use one of `allowed_templates`.
    """

    requested_template: Public[str]
    allowed_templates: Public[tuple[str, ...]] = ()
    closest: Public[str | None] = None
    code = "INVALID_TEMPLATE_NAME"
    message = 'No template "{requested_template}".'
    hints = ("Did you mean {closest}?", "Use one of these templates: {allowed_templates}")


class BuiltModel(TypedDict):
    """A draft of a model. `growth_on_complete_medium` is per hour, 0 if it cannot grow at all yet."""

    model_id: str
    name: NotRequired[str]
    source: str
    template: str
    num_reactions: int
    num_metabolites: int
    num_genes: int
    num_exchange_reactions: int
    objective: str
    growth_on_complete_medium: float


_HINT = "Name folders, wheels or sdists with the data in FAILSOFT_FLUX_TEMPLATES: pip download --no-deps carveme pyfba"
_DIAMOND_HINT = "Install diamond (Debian: diamond-aligner), or name it in FAILSOFT_FLUX_DIAMOND"
_WITH_FUNCTIONS = "Give the functional roles of the proteins as functions: the tables of this template are installed"
_ANSWER_S = 5.0
"""Seconds of the call's time that are left for what comes after the longest step."""
_LONGEST_S = 600.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request of a build_model call."""

    sequences: Mapping[str, str]
    template: str
    name: str
    with_rast: bool
    functions: Mapping[str, str] | None


def _abbreviated(given: str) -> str | None:
    """Return the only template that begins so: `gramneg`."""
    plain = "".join(filter(str.isalnum, given)).casefold()
    found = [name for name in TEMPLATES if plain and name.casefold().startswith(plain)]
    return found[0] if len(found) == 1 else None


def _template_fault(wanted: Wanted) -> ToolError | None:
    if wanted.template in TEMPLATES:
        return None
    closest = slip_of(wanted.template, TEMPLATES) or _abbreviated(wanted.template)
    given = bounded(wanted.template, 80)
    violation = Violation(
        path="template",
        reason="enum",
        message="is not a template",
        expected="the name of a template",
        allowed=tuple(TEMPLATES),
        suggestion=closest,
        received=given,
    )
    return InvalidTemplateName(
        requested_template=given, allowed_templates=tuple(TEMPLATES), closest=closest, violations=[violation]
    )


def _functions_fault(wanted: Wanted) -> ToolError | None:
    unknown = [name for name in wanted.functions or () if name not in wanted.sequences]
    if not unknown:
        return None
    return InvalidParameter.from_violations(
        [
            Violation(
                path=f"functions.{bounded(name, 100)}",
                reason="reference",
                message="is not an id in protein_sequences",
                expected="the id of a protein that is given",
            )
            for name in unknown[:20]
        ]
    )


def _left(call: Call) -> float:
    """Return the seconds that the longest step may take."""
    left = call.remaining_s()
    return _LONGEST_S if left is None else max(1.0, left - _ANSWER_S)


@operation(open_world=True, destructive=False, timeout=BUILDING_S, verify_with="list_models", title="Build a model")
async def build_model(
    flux: FluxParts,
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
    wanted = await _wanted(flux, protein_sequences, template, annotate_with_rast, functions, fasta_path, model_name)
    for warning in unusual_residues(wanted.sequences):
        call.warn(warning)
    wanted = replace(wanted, sequences=plain_sequences(wanted.sequences))
    built = await _build(flux, call, wanted)
    facts = {**built["facts"], "growth_on_complete_medium": built["growth"]}
    record = await flux.models.add_model(call, Recipe(built["base"]), facts, name=model_name)
    return cast("BuiltModel", listed(record))


@build_model.check
async def model_can_be_built(
    flux: FluxParts,
    call: Call,
    protein_sequences: dict[str, str] | None,
    template: str,
    annotate_with_rast: bool,  # noqa: FBT001 - the same
    functions: dict[str, str] | None,
    fasta_path: str | None,
) -> None:
    """Refuse an invalid request, by the first fault in the order of the seed."""
    wanted = await _wanted(flux, protein_sequences, template, annotate_with_rast, functions, fasta_path)
    await _check(flux, call, wanted)


async def _wanted(
    flux: FluxParts,
    sequences: dict[str, str] | None,
    template: str,
    with_rast: bool,  # noqa: FBT001 - the same
    functions: dict[str, str] | None,
    fasta_path: str | None,
    name: str = "",
) -> Wanted:
    given = dict(sequences or {})
    if fasta_path is not None:
        data = await flux.runtime.threads.run(lambda: flux.files.read(fasta_path))
        given |= read_fasta(fasta_path, data)
    if not given:
        raise EmptyProteinSequences(effect="none")
    return Wanted(given, template, name, with_rast, functions)


async def _check(flux: FluxParts, call: Call, wanted: Wanted) -> None:
    """Refuse what cannot be built, in the order of seed 002; all faults of the arguments in one answer.

    Raises:
        INVALID_PROTEIN_SEQUENCES: Ids or sequences that cannot be used.
        INVALID_TEMPLATE_NAME: There is no such template.
        INVALID_PARAM: Functions of proteins that are not given.
        TEMPLATE_NOT_LOADED: What the template needs is not on this server.
        RAST_UNAVAILABLE: RAST is requested and does not answer.
    """
    faults = [
        fault
        for fault in (invalid_sequences(wanted.sequences), _template_fault(wanted), _functions_fault(wanted))
        if fault is not None
    ]
    if faults:
        first = faults[0]
        first.violations = tuple(violation for fault in faults for violation in fault.violations)
        if len(faults) == 1 and isinstance(first, InvalidTemplateName) and first.closest:
            first.next_step = NextStep(call.operation, {**call.params, "template": first.closest})
        raise first
    await call.bound.threads.run(lambda: _require_data(flux, wanted))
    if wanted.with_rast:
        await Rast(flux.settings.rast_url).probe()


async def _build(flux: FluxParts, call: Call, wanted: Wanted) -> dict[str, Any]:
    """Return base, facts and growth of the new model."""
    functions = wanted.functions
    limit_s = _left(call)
    if wanted.with_rast:
        call.report_progress(0, 4, "Asking RAST for the functions of the proteins")
        functions = {
            **await Rast(flux.settings.rast_url).functions(wanted.sequences, limit_s=limit_s),
            **(functions or {}),
        }
    order = {"route": _route(flux, wanted), "template": wanted.template, "name": wanted.name, "limit_s": limit_s}
    order |= await call.bound.threads.run(lambda: _places(flux))
    for warning in unusual_lengths(wanted.sequences):
        call.warn(warning)
    return await flux.compute(call, work.build_model, order, dict(wanted.sequences), dict(functions or {}))


def _route(flux: FluxParts, wanted: Wanted) -> Route:
    """Return the route: the operator's choice, else the one that suits the arguments."""
    chosen = flux.settings.builder
    if chosen != "auto":
        return chosen
    return "template" if wanted.with_rast or wanted.functions else "homology"


def universe_of(flux: FluxParts, base: Mapping[str, Any]) -> dict[str, str]:
    """Return the source of the reactions for gapfilling a model.

    Raises:
        TEMPLATE_NOT_LOADED: The model is made of a template whose data are gone.
    """
    template = TEMPLATES.get(str(base.get("template")), TEMPLATES["GramNegative"])
    if base.get("source") in {"modelseed-template", "modelseedpy"}:
        if flux.reference_data.pyfba is None or not template.tables:
            raise _not_loaded(flux, str(base.get("template")), "template", ("the tables of PyFBA",), _HINT)
        return {"source": "modelseed", "folder": str(flux.reference_data.pyfba), "template": str(base["template"])}
    if flux.reference_data.carveme is not None:
        file = flux.reference_data.carveme / f"universe_{template.universe or 'bacteria'}.xml.gz"
        if file.is_file():
            return {"source": "carveme", "file": str(file)}
    return {"source": "shipped"}


def _require_data(flux: FluxParts, wanted: Wanted) -> None:
    """Refuse a template whose data, or the program that needs them, are not installed."""
    route, template = _route(flux, wanted), TEMPLATES[wanted.template]
    if route == "homology":
        missing = [] if flux.reference_data.carveme is not None else ["the data of carveme"]
        program = [] if _diamond(flux) else ["the program diamond"]
        if not missing and not template.universe:
            missing = [f"proteins for '{wanted.template}': give functions to build it from its tables"]
        if missing or program:
            hint = _HINT if missing else _DIAMOND_HINT
            raise _not_loaded(flux, wanted.template, route, (*missing, *program), hint)
    elif route == "template" and (flux.reference_data.pyfba is None or not template.tables):
        lacks = "the tables of PyFBA" if flux.reference_data.pyfba is None else f"tables for '{wanted.template}'"
        raise _not_loaded(flux, wanted.template, route, (lacks,), _HINT)


def _not_loaded(flux: FluxParts, template: str, route: Route, missing: tuple[str, ...], hint: str) -> TemplateNotLoaded:
    has_program = route != "homology" or _diamond(flux)
    loaded = flux.reference_data.loaded(route) if has_program else ()
    return TemplateNotLoaded(
        requested_template=template,
        missing=missing,
        loaded_templates=loaded,
        operator_hint=hint,
        effect="none",
        suggestions=[_WITH_FUNCTIONS]
        if route == "homology" and template in flux.reference_data.loaded("template")
        else [],
        next_step=None if loaded else NextStep("load_model", {"name": "iJO1366"}),
    )


def _places(flux: FluxParts) -> dict[str, str]:
    settings = flux.settings
    return {
        "carveme": str(flux.reference_data.carveme or ""),
        "pyfba": str(flux.reference_data.pyfba or ""),
        "diamond": _diamond(flux),
        "python": str(settings.modelseedpy_python or ""),
        "templates": str(settings.modelseedpy_templates or ""),
    }


def _diamond(flux: FluxParts) -> str:
    return shutil.which(flux.settings.diamond) or ""
