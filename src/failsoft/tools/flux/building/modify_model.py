"""The operation that makes a changed copy of a model: parts added and removed, genes knocked out, bounds set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from failsoft.framework.arguments.marks import Fault
from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.errors import InvalidParameter
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded, quoted
from failsoft.tools.flux import work
from failsoft.tools.flux.database.database import Database
from failsoft.tools.flux.database.entries import COMPOUNDS, REACTIONS
from failsoft.tools.flux.media.checks import BoundsOutOfOrder, InvalidBoundsFormat
from failsoft.tools.flux.parts import FluxParts
from failsoft.tools.flux.signatures import (
    LOADING_S,
    MAKES_A_MODEL,
    GeneIds,
    ModelId,
    Objective,
    ReactionIds,
    _ReactionId,
)
from failsoft.tools.flux.store import ListedModel, listed

_COMPOUND = re.compile(r"cpd\d{5}")
_Bound = Annotated[float, Field(ge=-1e9, le=1e9)] | None
_Pair = Annotated[list[_Bound], Field(min_length=2, max_length=2)]
_NEW_ID = r"^[A-Za-z0-9_.()\[\]:-]+$"


class NewReaction(TypedDict):
    """A reaction to add. Without an equation it is looked up by its ModelSEED or BiGG id."""

    id: Annotated[
        str,
        Field(
            min_length=1,
            max_length=128,
            pattern=_NEW_ID,
            description="Id of the reaction; without an equation, its ModelSEED or BiGG id",
        ),
    ]
    equation: NotRequired[
        Annotated[
            str,
            Field(
                min_length=3,
                max_length=10_000,
                description="In metabolite ids of the model: --> forward, <-- backward, <=> both ways",
                examples=["glc__D_c + 2 atp_c --> g6p_c + 2 adp_c"],
            ),
        ]
    ]
    bounds: NotRequired[Annotated[_Pair, Field(description="[lower, upper]; left out, as the arrow says, up to 1000")]]
    gene_rule: NotRequired[
        Annotated[str, Field(max_length=10_000, description="Gene ids with and, or", examples=["b1 or (b2 and b3)"])]
    ]


class NewMetabolite(TypedDict):
    """A metabolite to add. The compartment is left out where the id ends with it, as in glc__D_c."""

    id: Annotated[
        str, Field(min_length=1, max_length=128, pattern=_NEW_ID, description="Id of the metabolite, as in glc__D_c")
    ]
    name: NotRequired[Annotated[str, Field(max_length=1_000, description="Its name in words")]]
    formula: NotRequired[
        Annotated[
            str, Field(max_length=200, pattern=r"^([A-Z][a-z]?[0-9]*)+$", description="Elements and counts: C6H12O6")
        ]
    ]
    charge: NotRequired[Annotated[int, Field(ge=-100, le=100, description="Electric charge at the pH of the model")]]
    compartment: NotRequired[
        Annotated[str, Field(min_length=1, max_length=50, description="Id of its compartment, such as c")]
    ]


AddedReactions = Annotated[
    list[NewReaction] | None,
    Field(
        min_length=1,
        max_length=1_000,
        description="Reactions to add, by equation, or by ModelSEED or BiGG id alone",
        examples=[[{"id": "ALAt", "equation": "ala__L_e <=> ala__L_c"}, {"id": "FRUK"}]],
    ),
    Fault(InvalidBoundsFormat, "type", at="*.bounds.*"),
]
AddedMetabolites = Annotated[
    list[NewMetabolite] | None,
    Field(
        min_length=1,
        max_length=1_000,
        description="Metabolites that equations of added reactions use and the model lacks",
        examples=[[{"id": "phb_c", "formula": "C4H6O2", "charge": 0}]],
    ),
]
Bounds = Annotated[
    dict[_ReactionId, _Pair] | None,
    Field(
        min_length=1,
        max_length=10_000,
        description="New bounds by reaction, [lower, upper] in mmol/gDW/h; null is infinite, [0, 0] blocks it",
        examples=[{"EX_glc__D_e": [-5, 1000]}],
    ),
    Fault(InvalidBoundsFormat),
]


@operation(**MAKES_A_MODEL, open_world=False, timeout=LOADING_S, title="Change a model")
async def modify_model(  # noqa: PLR0913, PLR0917 - the arguments that callers give
    flux: FluxParts,
    call: Call,
    model_id: ModelId,
    remove_reactions: ReactionIds = None,
    knock_out_genes: GeneIds = None,
    bounds: Bounds = None,
    objective: Objective = None,
    add_reactions: AddedReactions = None,
    add_metabolites: AddedMetabolites = None,
) -> ListedModel:
    """Make a changed copy of a model and return its new id: reactions added or removed, genes knocked out, bounds set.

    The model itself is not changed. A bound of null is infinite; [0, 0] blocks a reaction. In one call removals come
    first, then what is added, then bounds, then knock-outs, which block a reaction whatever its bounds.
    """
    parent = await flux.models.model(call, model_id)
    given = {
        "remove_reactions": remove_reactions,
        "knock_out_genes": knock_out_genes,
        "bounds": bounds,
        "objective": objective,
        "add_reactions": add_reactions,
        "add_metabolites": add_metabolites,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        raise _nothing_to_change(given)
    _require_order(bounds or {}, add_reactions or [])
    named = [item["id"] for item in add_reactions or () if "equation" not in item]
    entries, universe = {}, {}
    if named:
        entries = await flux.runtime.threads.run(lambda: _entries(flux.database, named))
        universe = await flux.runtime.threads.run(lambda: flux.reference_data.universe_of(parent.recipe.base))
    changed = await flux.compute(call, work.change_model, parent.recipe, changes, entries, universe)
    recipe = parent.recipe
    for step in changed["steps"]:
        recipe = recipe.then(step)
    facts = {**parent.facts, "parent": model_id, **changed["facts"]}
    return listed(await flux.models.add_model(call, recipe, facts, name=parent.name))


def _nothing_to_change(given: Mapping[str, Any]) -> InvalidParameter:
    violation = Violation(
        path="",
        reason="missing",
        message=f"nothing to change; give at least one of {', '.join(given)}",
        expected="one of " + ", ".join(given),
    )
    return InvalidParameter.from_violations([violation])


def _require_order(bounds: Mapping[str, Sequence[float | None]], reactions: Sequence[NewReaction]) -> None:
    """Refuse a lower bound above its upper bound. Equal ones are fine: the flux is then fixed.

    Raises:
        BOUNDS_OUT_OF_ORDER: Each of them is in `violations`.
    """
    pairs = {f"bounds.{name}": (name, pair) for name, pair in bounds.items()} | {
        f"add_reactions.{index}.bounds": (item["id"], item["bounds"])
        for index, item in enumerate(reactions)
        if "bounds" in item
    }
    wrong = {
        path: (name, low, high)
        for path, (name, (low, high)) in pairs.items()
        if low is not None and high is not None and low > high
    }
    for name, low, high in wrong.values():
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        named = bounded(name, 100)
        raise BoundsOutOfOrder(
            message=f"The lower bound of reaction {quoted(named)}{more} is above its upper bound: {low:g} > {high:g}.",
            compound_id=named,
            lower=low,
            upper=high,
            violations=[
                Violation(path=path, reason="range", message="the lower bound is above the upper bound")
                for path in wrong
            ],
        )


def _entries(database: Database, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what the database knows of ModelSEED reactions, with their compounds."""
    found = {}
    for name in ids:
        reaction = database.entry(REACTIONS, name)
        if reaction is None:
            continue
        compounds = (database.entry(COMPOUNDS, item) for item in dict.fromkeys(_COMPOUND.findall(reaction.equation)))
        found[name] = {
            "name": reaction.name,
            "equation": reaction.equation,
            "reversibility": reaction.reversibility,
            "bigg": list(reaction.aliases.get("BiGG", ())),
            "compounds": {
                item.id: {"name": item.name, "formula": item.formula, "charge": item.charge}
                for item in compounds
                if item is not None
            },
        }
    return found
