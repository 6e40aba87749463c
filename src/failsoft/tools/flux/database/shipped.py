"""The models that COBRApy ships, read as a stream: their compounds, reactions and pathways."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from failsoft.tools.flux.database.entries import COMPOUND_ID, CORRECTED, REACTION_ID, Compound, Metabolite, Reaction

_MODELS = ("textbook", "iJO1366", "salmonella")
_FBC = "{http://www.sbml.org/sbml/level3/version1/fbc/version2}"
_GROUPS = "{http://www.sbml.org/sbml/level3/version1/groups/version1}"
_RESOURCE = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}resource"
_SOURCES = {
    "bigg.metabolite": "BiGG",
    "bigg.reaction": "BiGG",
    "kegg.compound": "KEGG",
    "kegg.reaction": "KEGG",
    "chebi": "ChEBI",
    "metanetx.chemical": "MetaNetX",
    "metanetx.reaction": "MetaNetX",
}
_ALSO_CALLED = {
    "cpd00001": "Water",
    "cpd00007": "Oxygen",
    "cpd00011": "Carbon dioxide",
    "cpd00013": "Ammonia",
    "cpd00067": "Proton",
    "cpd00149": "Cobalt",
    "cpd10515": "Iron (Fe2+)",
}
"""Common names of compounds that the models name by a formula or unusually."""
_COMPOUND, _REACTION, _EC = "seed.compound", "seed.reaction", "ec-code"
_COMPARTMENT = re.compile(r"^M_|_[a-z]\d?$")


@dataclass(slots=True)
class _Species:
    """The fields of a species that equations need."""

    label: str
    name: str
    compartment: str


@dataclass(slots=True)
class _Found:
    """The entries read so far, by id."""

    compounds: dict[str, Compound] = field(default_factory=dict)
    reactions: dict[str, Reaction] = field(default_factory=dict)
    pathways: dict[str, list[str]] = field(default_factory=dict)
    """Names of pathways by the BiGG ids of reactions, which the models share; one model has them."""
    reaction_ids: dict[str, list[str]] = field(default_factory=dict)
    """ModelSEED ids by the BiGG ids of reactions."""
    exactness: dict[str, int] = field(default_factory=dict)
    """By id, how many ids its species is annotated with; species with fewer ids take precedence."""


def shipped_models() -> list[Path]:
    """Return the files of the models that COBRApy ships; none, where it is not installed."""
    spec = find_spec("cobra")
    if spec is None or spec.origin is None:
        return []
    folder = Path(spec.origin).parent / "data"
    return [path for name in _MODELS if (path := folder / f"{name}.xml.gz").is_file()]


def read_models(paths: Sequence[Path]) -> tuple[Sequence[Compound], Sequence[Reaction]]:
    """Return the compounds and reactions that the annotations of these models name.

    Raises:
        OSError, ET.ParseError: A file is not what its name says.
    """
    found = _Found()
    for path in paths:
        species: dict[str, _Species] = {}
        with gzip.open(path) as file:
            for element in _elements(file):
                if element.tag.endswith("}species"):
                    _take_species(element, species, found)
                elif element.tag.endswith("}reaction"):
                    _take_reaction(element, species, found)
                else:
                    _take_pathway(element, found)
    for bigg, pathways in found.pathways.items():
        for item in found.reaction_ids.get(bigg, ()):
            found.reactions[item] = found.reactions[item]._replace(pathways=tuple(pathways))
    return sorted(found.compounds.values()), sorted(found.reactions.values())


def read_metabolites(paths: Sequence[Path]) -> list[Metabolite]:
    """Return the metabolites of these models by their BiGG ids, each once, with the ModelSEED ids that they have.

    Raises:
        OSError, ET.ParseError: A file is not what its name says.
    """
    found: dict[str, Metabolite] = {}
    for path in paths:
        with gzip.open(path) as file:
            for element in _elements(file):
                if element.tag.endswith("}reaction"):
                    break  # species come before reactions, and reactions are most of the file
                if element.tag.endswith("}group"):
                    continue
                one = _metabolite(element)
                known = found.setdefault(one.id, one)
                found[one.id] = known._replace(compounds=tuple(dict.fromkeys((*known.compounds, *one.compounds))))
    return list(found.values())


def _metabolite(element: ET.Element) -> Metabolite:
    formula = element.get(f"{_FBC}chemicalFormula", "")
    charge = element.get(f"{_FBC}charge")
    return Metabolite(
        id=_bigg_id(element),
        name=(element.get("name") or "").removesuffix(f" {formula}"),
        formula=formula,
        charge=None if charge is None else int(charge),
        compounds=tuple(_compound_ids(element, _annotations(element))),
    )


def _bigg_id(element: ET.Element) -> str:
    return _COMPARTMENT.sub("", element.get("id", ""))


def _compound_ids(element: ET.Element, own: dict[str, list[str]]) -> list[str]:
    """Return the ModelSEED ids of a species: the corrected ones, else those of its annotation."""
    corrected = CORRECTED.get(_bigg_id(element))
    annotated = own.pop(_COMPOUND, ())
    return list(corrected) if corrected else sorted(item for item in annotated if COMPOUND_ID.fullmatch(item))


def _elements(file: Any) -> Iterator[ET.Element]:
    for _, element in ET.iterparse(file):  # noqa: S314 - files of a package that is installed here
        if element.tag.endswith(("}species", "}reaction", "}group")):
            yield element
            element.clear()


def _take_species(element: ET.Element, species: dict[str, _Species], found: _Found) -> None:
    # BiGG writes the formula behind some names, so that water is `H2O H2O`.
    own = _annotations(element)
    ids = _compound_ids(element, own)
    formula = element.get(f"{_FBC}chemicalFormula", "")
    name = (element.get("name") or element.get("id") or "").removesuffix(f" {formula}")
    label = ids[0] if ids else element.get("id", "").removeprefix("M_")
    species[element.get("id", "")] = _Species(label, name, element.get("compartment", ""))
    charge = element.get(f"{_FBC}charge")
    for item in ids:
        if found.exactness.get(item, len(ids) + 1) <= len(ids):
            continue
        found.exactness[item] = len(ids)
        found.compounds[item] = Compound(
            id=item,
            name=name,
            abbreviation=next(iter(own.get("bigg.metabolite", ())), ""),
            formula=formula,
            charge=None if charge is None else int(charge),
            mass=None,
            is_obsolete=False,
            linked=(),
            aliases={
                **{_SOURCES[source]: tuple(names) for source, names in own.items() if source in _SOURCES},
                **({"Name": (_ALSO_CALLED[item],)} if item in _ALSO_CALLED else {}),
            },
        )


def _take_reaction(element: ET.Element, species: dict[str, _Species], found: _Found) -> None:
    own = _annotations(element)
    ids = [item for item in own.pop(_REACTION, ()) if REACTION_ID.fullmatch(item)]
    found.reaction_ids.setdefault(element.get("id", ""), []).extend(ids)
    new = [item for item in ids if item not in found.reactions]
    if not new:
        return
    is_reversible = element.get("reversible") == "true"
    sides = [_side(element, which, species) for which in ("listOfReactants", "listOfProducts")]
    places = {species[name].compartment for side in sides for _, name in side if name in species}
    arrow = " <=> " if is_reversible else " => "
    for item in new:
        found.reactions[item] = Reaction(
            id=item,
            name=element.get("name") or item,
            abbreviation=element.get("id", "").removeprefix("R_"),
            equation=arrow.join(_written(side, species, "label") for side in sides),
            definition=arrow.join(_written(side, species, "name") for side in sides),
            reversibility="=" if is_reversible else ">",
            is_transport=len(places) > 1,
            ec_numbers=tuple(own.get(_EC, ())),
            is_obsolete=False,
            linked=(),
            aliases={_SOURCES[source]: tuple(names) for source, names in own.items() if source in _SOURCES},
        )


def _take_pathway(element: ET.Element, found: _Found) -> None:
    """Note the name of a group for its members; groups come before the reactions."""
    name = element.get(f"{_GROUPS}name", "")
    for member in element.iter(f"{_GROUPS}member"):
        found.pathways.setdefault(member.get(f"{_GROUPS}idRef", ""), []).append(name)


def _annotations(element: ET.Element) -> dict[str, list[str]]:
    """Return the ids that an element is annotated with, by the collection that they are from."""
    found: dict[str, list[str]] = {}
    for item in element.iter():
        resource = item.get(_RESOURCE)
        if resource is not None:
            collection, _, own = resource.removeprefix("http://identifiers.org/").partition("/")
            known = found.setdefault(collection, [])
            if own not in known:
                known.append(own)
    return found


def _side(element: ET.Element, which: str, species: dict[str, _Species]) -> list[tuple[float, str]]:
    terms = []
    for listed in element:
        if listed.tag.endswith(which):
            terms = [(float(term.get("stoichiometry", "1")), term.get("species", "")) for term in listed]
    return [term for term in terms if term[1] in species]


def _written(side: list[tuple[float, str]], species: dict[str, _Species], fact: str) -> str:
    return " + ".join(
        f"({count:g}) {getattr(species[name], fact)}[{species[name].compartment}]" for count, name in side
    )
