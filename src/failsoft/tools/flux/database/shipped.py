"""Packaged SBML as plain data, and the compounds and reactions that the models of COBRApy are annotated with.

The files are streamed instead of read by COBRApy: that takes a fifth of the time, and importing COBRApy alone takes the
server more than a second.
"""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree as ET

from failsoft.tools.flux.database.entries import COMPOUNDS, REACTIONS, Aliases, Compound, Entries, Metabolite, Reaction

SHIPPED_MODELS: Final = {
    "textbook": "Core metabolism of Escherichia coli, 95 reactions",
    "iJO1366": "Whole genome of Escherichia coli K-12, 2,583 reactions",
    "salmonella": "Whole genome of Salmonella Typhimurium, 3,357 reactions",
}
"""The models that come with cobra, and what they are."""
_CORE: Final = "{http://www.sbml.org/sbml/level3/version1/core}"
_FBC: Final = "{http://www.sbml.org/sbml/level3/version1/fbc/version2}"
_GROUPS: Final = "{http://www.sbml.org/sbml/level3/version1/groups/version1}"
_RESOURCE: Final = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}resource"
_REGISTRY: Final = "http://identifiers.org/"
_COMPARTMENT: Final = re.compile(r"_[a-z]\d?$")
_SOURCES: Final = {
    "bigg.metabolite": "BiGG",
    "bigg.reaction": "BiGG",
    "kegg.compound": "KEGG",
    "kegg.reaction": "KEGG",
    "chebi": "ChEBI",
    "metanetx.chemical": "MetaNetX",
    "metanetx.reaction": "MetaNetX",
}
_COMMON_NAMES: Final[Mapping[str, Aliases]] = {
    "cpd00001": {"Name": ("Water",)},
    "cpd00007": {"Name": ("Oxygen",)},
    "cpd00011": {"Name": ("Carbon dioxide",)},
    "cpd00013": {"Name": ("Ammonia",)},
    "cpd00067": {"Name": ("Proton",)},
    "cpd00149": {"Name": ("Cobalt",)},
    "cpd10515": {"Name": ("Iron (Fe2+)",)},
}
"""Common names of compounds that the models name by a formula or unusually."""
_CORRECTED: Final = """
14glucan cpd11735 cpd21754; arab__L cpd00224 cpd19109 cpd27351; but cpd00211; cbi cpd03422; cbl1 cpd00635;
cd2 cpd01012; dca cpd01107; ddca cpd01741; f6p cpd00072 cpd19035; feenter cpd03726; feoxam cpd04761;
fuc__L cpd00751; glc__D cpd00027 cpd26821; glcr cpd00609 cpd00571; gln__L cpd00053 cpd00253; glu__L cpd00023;
hacolipa cpd15482; hdcea cpd05274 cpd15237; lac__D cpd00221; mal__L cpd00130; melib cpd03198;
metsox_R__L cpd15497 cpd14720; metsox_S__L cpd01914 cpd14721 cpd15498; ni2 cpd00244; no cpd00418; o2 cpd00007;
o2s cpd00532; pheme cpd00028; ppa cpd00141; r5p cpd00101 cpd19028; ttdca cpd03847; ttdcea cpd15298;
xylu__D cpd00259; xylu__L cpd00261
"""
"""ModelSEED ids by BiGG id, the usual one first. They replace the annotations of the models that COBRApy ships, which
take oxygen for superoxide, D-xylulose for L-xylulose, and name no id for some fatty acids."""
_CORRECTED_IDS: Final = {name: ids for name, *ids in map(str.split, _CORRECTED.split(";"))}

Annotations = Mapping[str, list[str]]
"""Ids elsewhere, by the collection of identifiers.org that they are from: `seed.compound`, `kegg.reaction`."""


class SbmlSpecies(NamedTuple):
    """A species of SBML: a metabolite in a compartment; the charge is None where the file gives none."""

    name: str
    formula: str
    charge: int | None
    compartment: str
    annotations: Annotations


class SbmlReaction(NamedTuple):
    """A reaction of SBML: positive coefficients by species on either side, bounds in mmol/gDW/h."""

    name: str
    reactants: Mapping[str, float]
    products: Mapping[str, float]
    low: float
    high: float
    is_reversible: bool
    annotations: Annotations


class SbmlModel(NamedTuple):
    """What a file of SBML holds, by ids without their prefixes (`M_`, `R_`, `C_`).

    Args:
        species: By id.
        reactions: By id.
        pathways: Names of groups by the reactions that are in them.
        objective: The first reaction of the objective; empty if there is none.
    """

    species: dict[str, SbmlSpecies]
    reactions: dict[str, SbmlReaction]
    pathways: dict[str, list[str]]
    objective: str


def shipped_files() -> list[Path]:
    """Return the files of the models that COBRApy ships; none, where it is not installed."""
    spec = find_spec("cobra")
    if spec is None or spec.origin is None:
        return []
    folder = Path(spec.origin).parent / "data"
    return [path for name in SHIPPED_MODELS if (path := folder / f"{name}.xml.gz").is_file()]


def read_sbml(file: Path) -> SbmlModel:
    """Return what a packed file of an installed package holds.

    Raises:
        OSError, ET.ParseError, ValueError: The file is not what its name says.
    """
    model = SbmlModel({}, {}, {}, "")
    bounds: dict[str, float] = {}
    with gzip.open(file) as packed:
        for _, item in ET.iterparse(packed):  # noqa: S314 - files of packages that are installed here
            if item.tag == f"{_CORE}species":
                model.species[_bare(item, "id", "M_")] = _species(item)
            elif item.tag == f"{_CORE}reaction":
                model.reactions[_bare(item, "id", "R_")] = _reaction(item, bounds)
            elif item.tag == f"{_CORE}parameter":
                bounds[item.get("id", "")] = float(item.get("value", "nan"))
            elif item.tag == f"{_GROUPS}group":
                for member in item.iter(f"{_GROUPS}member"):
                    name = item.get(f"{_GROUPS}name", "")
                    model.pathways.setdefault(_bare(member, f"{_GROUPS}idRef", "R_"), []).append(name)
            elif item.tag == f"{_FBC}fluxObjective":
                model = model._replace(objective=model.objective or _bare(item, f"{_FBC}reaction", "R_"))
                continue
            else:
                continue
            item.clear()
    return model


def read_models() -> list[SbmlModel]:
    """Return the models that COBRApy ships.

    Raises:
        OSError, ET.ParseError, ValueError: A file is not what its name says.
    """
    return [read_sbml(file) for file in shipped_files()]


def entries_of(models: Sequence[SbmlModel]) -> Entries:
    """Return what the annotations of some models name."""
    return Entries(_compounds(models), _reactions(models), metabolites_of(models))


def _species(item: ET.Element) -> SbmlSpecies:
    charge = item.get(f"{_FBC}charge")
    return SbmlSpecies(
        name=item.get("name", ""),
        formula=item.get(f"{_FBC}chemicalFormula", ""),
        charge=int(charge) if charge else None,
        compartment=_bare(item, "compartment", "C_"),
        annotations=_annotations(item),
    )


def _reaction(item: ET.Element, bounds: Mapping[str, float]) -> SbmlReaction:
    return SbmlReaction(
        name=item.get("name", ""),
        reactants=_side(item, "listOfReactants"),
        products=_side(item, "listOfProducts"),
        low=bounds.get(item.get(f"{_FBC}lowerFluxBound", ""), -math.inf),
        high=bounds.get(item.get(f"{_FBC}upperFluxBound", ""), math.inf),
        is_reversible=item.get("reversible") == "true",
        annotations=_annotations(item),
    )


def _side(item: ET.Element, which: str) -> dict[str, float]:
    side: dict[str, float] = {}
    for term in item.iterfind(f"{_CORE}{which}/{_CORE}speciesReference"):
        name = _bare(term, "species", "M_")
        side[name] = side.get(name, 0.0) + float(term.get("stoichiometry", "1"))
    return side


def _annotations(item: ET.Element) -> Annotations:
    found: dict[str, list[str]] = {}
    for link in item.iter():
        resource = link.get(_RESOURCE)
        if resource is not None:
            collection, _, own = resource.removeprefix(_REGISTRY).partition("/")
            known = found.setdefault(collection, [])
            if own not in known:
                known.append(own)
    return found


def _bare(item: ET.Element, name: str, prefix: str) -> str:
    return item.get(name, "").removeprefix(prefix)


def _compounds(models: Iterable[SbmlModel]) -> list[Compound]:
    """Return a compound for each ModelSEED id; of two species with an id, that with fewer ids decides."""
    found: dict[str, Compound] = {}
    exactness: dict[str, int] = {}
    for name, species in (pair for model in models for pair in model.species.items()):
        ids = _compound_ids(name, species)
        for item in ids:
            if exactness.get(item, len(ids) + 1) <= len(ids):
                continue
            exactness[item] = len(ids)
            found[item] = Compound(
                id=item,
                name=_name(species) or name,
                abbreviation=next(iter(species.annotations.get("bigg.metabolite", ())), ""),
                formula=species.formula,
                charge=species.charge,
                mass=None,
                is_obsolete=False,
                linked=(),
                aliases={**_aliases(species.annotations), **_COMMON_NAMES.get(item, {})},
            )
    return sorted(found.values())


def _reactions(models: Sequence[SbmlModel]) -> list[Reaction]:
    """Return a reaction for each ModelSEED id as the first of the models has it, with the pathways of all of them."""
    groups = {name: names for model in models for name, names in model.pathways.items()}
    found: dict[str, Reaction] = {}
    pathways: dict[str, list[str]] = {}
    for model in models:
        for name, reaction in model.reactions.items():
            ids = [item for item in reaction.annotations.get("seed.reaction", ()) if REACTIONS.is_id(item)]
            for item in ids:
                pathways.setdefault(item, []).extend(groups.get(name, ()))
                if item not in found:
                    found[item] = _entry(item, name, reaction, model.species)
    return [entry._replace(pathways=tuple(dict.fromkeys(pathways[item]))) for item, entry in sorted(found.items())]


def _entry(reaction_id: str, name: str, reaction: SbmlReaction, species: Mapping[str, SbmlSpecies]) -> Reaction:
    sides = reaction.reactants, reaction.products
    arrow = " <=> " if reaction.is_reversible else " => "

    def written(label: Callable[[str, SbmlSpecies], str]) -> str:
        def term(key: str, count: float) -> str:
            return f"({count:g}) {label(key, species[key])}[{species[key].compartment}]"

        return arrow.join(" + ".join(term(*item) for item in side.items()) for side in sides)

    return Reaction(
        id=reaction_id,
        name=reaction.name or reaction_id,
        abbreviation=name,
        equation=written(lambda key, item: next(iter(_compound_ids(key, item)), key)),
        definition=written(lambda key, item: _name(item) or key),
        reversibility="=" if reaction.is_reversible else ">",
        is_transport=len({species[key].compartment for side in sides for key in side}) > 1,
        ec_numbers=tuple(reaction.annotations.get("ec-code", ())),
        is_obsolete=False,
        linked=(),
        aliases=_aliases(reaction.annotations),
    )


def metabolites_of(models: Iterable[SbmlModel]) -> list[Metabolite]:
    """Return the metabolites by their BiGG ids, each once, with all ModelSEED ids that the models give them."""
    found: dict[str, Metabolite] = {}
    for name, species in (pair for model in models for pair in model.species.items()):
        bigg = _COMPARTMENT.sub("", name)
        new = Metabolite(bigg, _name(species), species.formula, species.charge, (), bigg in _CORRECTED_IDS)
        known = found.setdefault(bigg, new)
        ids = dict.fromkeys((*known.compounds, *_compound_ids(name, species)))
        found[bigg] = known._replace(compounds=tuple(ids))
    return list(found.values())


def _compound_ids(name: str, species: SbmlSpecies) -> list[str]:
    """Return the ModelSEED ids of a species: the corrected ones, else those of its annotation."""
    corrected = _CORRECTED_IDS.get(_COMPARTMENT.sub("", name))
    annotated = species.annotations.get("seed.compound", ())
    return list(corrected) if corrected else sorted(item for item in annotated if COMPOUNDS.is_id(item))


def _name(species: SbmlSpecies) -> str:
    """Return the name of a species without the formula that BiGG writes behind some, as in `H2O H2O`."""
    return species.name.removesuffix(f" {species.formula}")


def _aliases(annotations: Annotations) -> dict[str, tuple[str, ...]]:
    return {_SOURCES[source]: tuple(names) for source, names in annotations.items() if source in _SOURCES}
