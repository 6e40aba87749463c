"""`build_model`: its arguments, its checks in the order of seed 002, and the way from proteins to a draft."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from failsoft.framework.arguments.marks import Fault, Reference
from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.errors import InvalidArgument, InvalidParameter, NextStep, Public, ToolError
from failsoft.framework.errors.corrections import slip_of
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded
from failsoft.tools.flux import work
from failsoft.tools.flux.building.proteins import (
    AMINO_ACIDS,
    LISTED_AT_MOST,
    PROTEINS_AT_MOST,
    SEQUENCE_AT_MOST,
    SEQUENCE_ID,
    EmptyProteinSequences,
    InvalidProteinSequences,
    Proteins,
    checked,
    read_fasta,
    require_recognized,
    warnings_of,
)
from failsoft.tools.flux.building.rast import Rast, RastUnavailable
from failsoft.tools.flux.database.reference_data import UNIVERSES
from failsoft.tools.flux.parts import FluxParts
from failsoft.tools.flux.signatures import BUILDING_S, MAKES_A_MODEL, FilePath
from failsoft.tools.flux.store import ListedModel, Recipe, listed

_ANSWER_S = 5.0
"""Seconds of the call's time that are left for what comes after the longest step."""
_LONGEST_S = 600.0
_REPEATED_AT_MOST = 1_800
"""Characters of arguments that a next step repeats."""

ProteinSequences = Annotated[
    dict[str, str] | None,
    Field(
        min_length=1,
        description=f"Proteins, sequence by id, in the letters {AMINO_ACIDS}; {PROTEINS_AT_MOST:,} at most",
        examples=[{"b0002": "MRVLKFGGTSVANAERFLRVADILESNARQGQVATVLSAPAKITNHLVAMIEKTISGQDALP"}],
        # Checked one by one, so that one answer lists every invalid protein with positions.
        json_schema_extra={
            "propertyNames": {"pattern": f"^{SEQUENCE_ID}$"},
            "additionalProperties": {
                "type": "string",
                "pattern": f"^[{AMINO_ACIDS}U{AMINO_ACIDS.lower()}u]+[*]?$",
                "maxLength": SEQUENCE_AT_MOST,
            },
        },
    ),
    Fault(EmptyProteinSequences, "length", at=""),
]
TemplateName = Annotated[
    str,
    Reference(kind="spelled"),
    Field(
        description=f"What kind of organism it is: {', '.join(UNIVERSES)}; with annotate_with_rast also a template of "
        "ModelSEED that this server holds",
        examples=["GramNegative"],
    ),
]
ModelName = Annotated[str, Field(max_length=100, description="A display name for the model; not an id")]
WithRast = Annotated[
    bool,
    Field(
        description="Send the proteins to RAST, and build with ModelSEEDpy from the functions that it finds; false "
        "where the server has no RAST"
    ),
]
SkipInvalid = Annotated[
    bool,
    Field(description="Leave out proteins that cannot be used, such as those with internal stops, and name them"),
]


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


class LeftOutProtein(TypedDict):
    """A protein that the draft was built without, and why."""

    id: str
    reason: str


class BuiltModel(ListedModel):
    """A draft of a model. `growth_on_complete_medium` is per hour, 0 if it cannot grow at all yet.

    `num_recognized` counts the proteins that are like known ones of metabolism, or that RAST knows a function of;
    `left_out` lists up to 50 of the `num_left_out` proteins that `skip_invalid` left out.
    """

    num_proteins: int
    num_recognized: int
    num_left_out: NotRequired[int]
    left_out: NotRequired[list[LeftOutProtein]]


@operation(**MAKES_A_MODEL, open_world=True, timeout=BUILDING_S, title="Build a model")
async def build_model(
    flux: FluxParts,
    call: Call,
    template: TemplateName,
    protein_sequences: ProteinSequences = None,
    model_name: ModelName = "",
    annotate_with_rast: WithRast = False,  # noqa: FBT002 - arguments of a tool have names
    fasta_path: FilePath = None,
    skip_invalid: SkipInvalid = False,  # noqa: FBT002 - the same
) -> BuiltModel:
    """Build a draft model of an organism from its proteins and return its id. It seldom grows before gapfill_model.

    The proteins are compared with those of published models; annotate_with_rast has ModelSEEDpy build instead.
    """
    request = _Request(protein_sequences, fasta_path, template, annotate_with_rast, skip_invalid)
    # Here and not as a check of arguments: a file is parsed once, in a thread.
    proteins = await call.bound.threads.run(lambda: _accepted(flux, call, request))
    for warning in warnings_of(proteins):
        call.warn(warning)
    by = _from_functions if annotate_with_rast else _from_proteins
    built = await by(flux, call, proteins, template, model_name)
    facts = {**built["facts"], "growth_on_complete_medium": built["growth"]}
    record = await flux.models.add_model(call, Recipe(built["base"]), facts, name=model_name)
    counted = {"num_proteins": len(proteins.sequences), "num_recognized": built["recognized"]}
    return cast("BuiltModel", {**listed(record), **counted, **_left_out(proteins)})


@dataclass(frozen=True, slots=True)
class _Request:
    """What a model is to be built from."""

    sequences: Mapping[str, str] | None
    path: str | None
    template: str
    with_rast: bool
    skip_invalid: bool


def _accepted(flux: FluxParts, call: Call, request: _Request) -> Proteins:
    """Return the proteins of a request that can be built, in the order of seed 002; it runs in a thread.

    Raises:
        EMPTY_PROTEIN_SEQUENCES: There are none.
        INPUT_FILE_NOT_FOUND, INVALID_INPUT_FILE: The FASTA file cannot be read.
        INVALID_PROTEIN_SEQUENCES: Ids or sequences that cannot be used, in one answer with a wrong template.
        INVALID_TEMPLATE_NAME: There is no such template.
        TEMPLATE_NOT_LOADED: What the template needs is not on this server.
        RAST_UNAVAILABLE: The same for building from functions, where the proteins alone would do.
        INVALID_PARAM: Both or too many proteins are given, or the template needs RAST.
    """
    given, template = _given(flux, request), request.template
    faults: list[ToolError] = []
    try:
        given = checked(given, skip_invalid=request.skip_invalid)
    except InvalidProteinSequences as error:
        if given.path and error.suggestions:
            error.next_step = _same_call(call, skip_invalid=True)
        faults.append(error)
    known = flux.reference_data.templates
    if template not in known:
        faults.append(_wrong_template(call, template, known))
    if faults:
        first = faults[0]
        first.violations = tuple(violation for fault in faults for violation in fault.violations)
        first.next_step = first.next_step if len(faults) == 1 else None
        raise first
    _require_loaded(flux, call, request)
    return given


def _given(flux: FluxParts, request: _Request) -> Proteins:
    if request.path is None:
        if not request.sequences:
            raise EmptyProteinSequences
        return Proteins(request.sequences)
    if request.sequences:
        violation = Violation(
            path="fasta_path", reason="value", message="give protein_sequences or fasta_path, not both"
        )
        raise InvalidParameter.from_violations([violation])
    return read_fasta(request.path, flux.files.read(request.path))


def _wrong_template(call: Call, template: str, known: tuple[str, ...]) -> InvalidTemplateName:
    closest = slip_of(template, known) or _abbreviated(template, known)
    given = bounded(template, 80)
    violation = Violation(
        path="template",
        reason="enum",
        message="is not a template",
        expected="the name of a template",
        allowed=known,
        suggestion=closest,
        received=given,
    )
    return InvalidTemplateName(
        requested_template=given,
        allowed_templates=known,
        closest=closest,
        violations=[violation],
        next_step=_same_call(call, template=closest) if closest else None,
        effect="none",
    )


def _abbreviated(given: str, known: tuple[str, ...]) -> str | None:
    """Return the only template that begins so: `gramneg`."""
    plain = "".join(filter(str.isalnum, given)).casefold()
    found = [name for name in known if plain and name.casefold().startswith(plain)]
    return found[0] if len(found) == 1 else None


def _require_loaded(flux: FluxParts, call: Call, request: _Request) -> None:
    """Refuse what this server cannot build, with everything that it lacks for that."""
    template, with_rast, data = request.template, request.with_rast, flux.reference_data
    lacks = data.lacks(template, with_rast=with_rast)
    if with_rast and lacks and not data.lacks(template, with_rast=False):
        raise RastUnavailable(
            reason=f"this server lacks {', '.join(lacks)}",
            operator_hint="; ".join(lacks.values()),
            next_step=_same_call(call, annotate_with_rast=False),
        )
    if lacks:
        error = data.not_loaded(template, lacks, with_rast=with_rast)
        error.next_step = None if error.loaded_templates else NextStep("load_model", {"name": "iJO1366"})
        raise error
    if template not in UNIVERSES and not with_rast:
        said = f"has to be true for the template {template}, which is built from the functions of proteins"
        raise InvalidParameter.from_violations(
            [Violation(path="annotate_with_rast", reason="value", message=said, suggestion=True)]
        )


async def _from_proteins(flux: FluxParts, call: Call, proteins: Proteins, template: str, name: str) -> dict[str, Any]:
    """Return base, facts and growth of a draft of the reactions that known proteins like these bring."""
    data = flux.reference_data
    places = {"folder": str(data.carveme), "universe": str(data.universe(template)), "diamond": data.diamond}
    built = await flux.compute(
        call, work.build_from_proteins, dict(proteins.sequences), template, name, places, _left(call)
    )
    require_recognized(proteins, built["recognized"])
    return built


async def _from_functions(flux: FluxParts, call: Call, proteins: Proteins, template: str, name: str) -> dict[str, Any]:
    """Return base, facts and growth of a draft that ModelSEEDpy builds from the functions that RAST knows."""
    rast = Rast(str(flux.settings.rast_url))
    await rast.probe()
    call.report_progress(0, 4, "Asking RAST for the functions of the proteins")
    functions = await rast.functions(proteins.sequences, limit_s=_left(call))
    require_recognized(proteins, len(functions))
    python, file = flux.settings.modelseedpy_python, flux.reference_data.modelseedpy_template(template)
    places = {"python": str(python or ""), "template": str(file)}
    built = await flux.compute(
        call, work.build_from_functions, dict(proteins.sequences), functions, template, name, places, _left(call)
    )
    return {**built, "recognized": len(functions)}


def _left_out(proteins: Proteins) -> dict[str, Any]:
    found = proteins.left_out
    if not found:
        return {}
    shown = [{"id": bounded(name, 100), "reason": found[name]} for name in [*found][:LISTED_AT_MOST]]
    return {"num_left_out": len(found), "left_out": shown}


def _same_call(call: Call, **changed: Any) -> NextStep | None:
    """Return the call with other arguments; None where it would repeat whole proteomes, which no next step holds."""
    again = {**call.params, **changed}
    return NextStep(call.operation, again) if len(str(again)) < _REPEATED_AT_MOST else None


def _left(call: Call) -> float:
    """Return the seconds that the longest step may take."""
    left = call.remaining_s()
    return _LONGEST_S if left is None else max(1.0, left - _ANSWER_S)
