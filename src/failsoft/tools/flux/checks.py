"""The operation that says what is wrong with a model as it is."""

from __future__ import annotations

from typing import Any, cast

from typing_extensions import TypedDict

from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.tools.flux import work
from failsoft.tools.flux.parts import FluxParts
from failsoft.tools.flux.signatures import LOADING_S, ModelId


class Imbalance(TypedDict):
    """A reaction and the `excess` of its products over its substrates, by element or as `charge`."""

    reaction_id: str
    equation: str
    excess: dict[str, float]


class Imbalances(TypedDict):
    """How many reactions do not balance, and the first 20 of them."""

    count: int
    reactions: list[Imbalance]


class ListedIds(TypedDict):
    """How many there are, and the first 20 of them."""

    count: int
    ids: list[str]


class EnergyFromNothing(TypedDict):
    """An energy carrier that is charged with every uptake closed; `reactions` are the fluxes that charge one of it."""

    carrier: str
    reactions: dict[str, float]


class CheckedModel(TypedDict):
    """What is wrong with a model; `num_reactions` are those that have to balance: no exchanges and no biomass."""

    model_id: str
    num_reactions: int
    mass_unbalanced: Imbalances
    charge_unbalanced: Imbalances
    not_checked_for_mass: ListedIds
    not_checked_for_charge: ListedIds
    without_formula: ListedIds
    without_charge: ListedIds
    only_consumed: ListedIds
    only_produced: ListedIds
    disconnected: ListedIds
    unused_genes: ListedIds
    energy_from_nothing: list[EnergyFromNothing]
    energy_not_checked: list[str]
    interpretation: str


@operation(read_only=True, open_world=False, timeout=LOADING_S, title="Check a model")
async def check_model(flux: FluxParts, call: Call, model_id: ModelId) -> CheckedModel:
    """Return what is wrong with a model: unbalanced mass and charge, dead ends, missing formulas, energy from nothing.

    Energy from nothing makes growth rates too high: block or turn one of the reactions that it names, by modify_model.
    """
    model = await flux.models.model(call, model_id)
    found = await flux.compute(call, work.check_model, model.recipe)
    return cast("CheckedModel", {"model_id": model_id, **found, "interpretation": _interpretation(found)})


def _interpretation(found: dict[str, Any]) -> str:
    balances = []
    for kind in ("mass", "charge"):
        checked = found["num_reactions"] - found[f"not_checked_for_{kind}"]["count"]
        balances.append(f"{found[f'{kind}_unbalanced']['count']} of {checked} reactions do not balance their {kind}")
    ends = found["only_consumed"]["count"] + found["only_produced"]["count"]
    carriers = [item["carrier"] for item in found["energy_from_nothing"]]
    energy = f"{', '.join(carriers)} from nothing" if carriers else "no energy from nothing"
    return (
        f"{', '.join(balances)}; {ends} metabolites are dead ends; with every uptake closed the model makes {energy}."
    )
