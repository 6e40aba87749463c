"""COBRApy as the judge of figures that no other test names: seeded knock-outs, bounds, media and objectives.

Solver: GLPK on both sides, with the tolerance of 1e-7 that COBRApy sets. Bounds: those of the model as published, but
for what the case changes; an exchange that is not in the medium takes nothing up. Figures are equal within `TOLERANCE`.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import ALL_CASES, IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import shipped

pytestmark = IN_FLUX

TOLERANCE = 1e-6
"""Of a figure, or of 1 if that is less."""
RANGES = 1e-4
"""Of an end of a range in mmol/gDW/h, or of 1 if that is less: the objective is kept within the solver's tolerance,
and a flux that costs it little moves by more than that."""
TRACE = 1e-5
"""A maximum below it may be none: of thousands of constraints each may be missed by the solver's tolerance."""

OUTSIDE = "carveme/data/benchmark/models/mgen.xml"
"""Mycoplasma genitalium, drafted by CarveMe: 740 reactions, 125 genes."""


def made(name: str, data: Path) -> Any:
    """Return a model of COBRApy, which is the caller's own; the folder of data holds the package carveme."""
    from cobra.io import load_json_model, read_sbml_model  # noqa: PLC0415 - it takes more than a second

    if name in {"textbook", "iJO1366", "salmonella"}:
        return shipped(name)
    if name == "mgen":
        return read_sbml_model(str(data / OUTSIDE))
    import cobra  # noqa: PLC0415 - as above

    model = load_json_model(str(Path(cobra.__file__).parent / "data" / "mini.json"))
    if name == "mini":  # as published it has no way out for lactate, and cannot make the ATP that it demands
        of = model.metabolites.get_by_id
        model.reactions.D_LACt2.add_metabolites({of("h_e"): -1, of("lac__D_e"): -1, of("h_c"): 1, of("lac__D_c"): 1})
        for item in ("h2o_e", "pi_e"):
            model.add_boundary(of(item))
    return model


def minimizing(name: str, data: Path) -> Any:
    """Return a model that makes as little as it can of what it makes while it lives."""
    model = made(name, data)
    if name == "mini":
        model.objective = {model.reactions.EX_lac__D_e: 1.0, model.reactions.PFK: 2.0}
    else:
        (growth,) = (item for item in model.reactions if item.objective_coefficient)
        growth.lower_bound = 0.25 * model.slim_optimize()
        model.objective = {item: 1.0 for item in model.exchanges if item.id in {"EX_co2_e", "EX_ac_e", "EX_lac__L_e"}}
    model.objective_direction = "min"
    return model


MODELS: dict[str, Callable[[Path], Any]] = {
    "textbook": partial(made, "textbook"),
    "mini": partial(made, "mini"),
    "mgen": partial(made, "mgen"),
    "iJO1366": partial(made, "iJO1366"),
    "salmonella": partial(made, "salmonella"),
    "textbook minimizing": partial(minimizing, "textbook"),
    "mgen minimizing": partial(minimizing, "mgen"),
    "mini minimizing": partial(minimizing, "mini"),
}
NAMES = [name for name in MODELS if ALL_CASES or name not in {"salmonella", "mgen minimizing"}]
CASES = {"iJO1366": 2, "salmonella": 2, "mgen": 6, "mgen minimizing": 4} if ALL_CASES else {"iJO1366": 1, "mgen": 3}
"""Random changes to judge of each model; else ten."""


@dataclass
class Subject:
    """A model here and in a toolset, with calls that name the model."""

    name: str
    model: Any
    model_id: str
    lab: Lab
    tool: Flux

    def drawn(self, what: str) -> random.Random:
        """Return what draws the cases of one test, the same ones in whatever order tests run."""
        return random.Random(f"{self.name}, {what}, 20261127")  # noqa: S311 - cases of a test

    def ask(self, operation: str, model_id: str | None = None, **params: Any) -> dict[str, Any]:
        return self.lab.call(self.tool, operation, {"model_id": model_id or self.model_id, **params})

    def changed(self, **changes: Any) -> str:
        return self.lab.modified(self.tool, self.model_id, **changes)


@pytest.fixture(scope="module")
def judged(lab: Lab, flux_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Subject]]:
    """Give a model as this process and as the toolset has it; each is read once."""
    root = tmp_path_factory.mktemp("judged")
    tool = Flux(root=root)
    tool.workers = lab.workers

    @cache
    def subject(name: str) -> Subject:
        from cobra.io import save_json_model, write_sbml_model  # noqa: PLC0415 - as above

        model = MODELS[name](flux_data)
        if name in {"textbook", "iJO1366", "salmonella"}:
            return Subject(name, model, lab.loaded(tool, name), lab, tool)
        path = name.replace(" ", "-") + (".xml" if "minimizing" in name else ".json")
        (write_sbml_model if path.endswith(".xml") else save_json_model)(model, str(root / path))
        answer = lab.call(tool, "load_model", {"path": path})
        assert answer["success"], answer
        return Subject(name, model, answer["model_id"], lab, tool)

    yield subject
    subject.cache_clear()


def close(mine: float | None, theirs: float | None, tolerance: float = TOLERANCE) -> bool:
    """Return whether two figures are the same; none and not a number are no figure."""
    if mine is None or theirs is None or math.isnan(theirs):
        return mine is None and (theirs is None or math.isnan(theirs))
    return abs(mine - theirs) <= tolerance * max(1.0, abs(theirs))


def told(subject: Subject, case: object, tolerance: float = TOLERANCE) -> str:
    solver = subject.model.solver.interface.__name__
    return f"{subject.name}: {case} ({solver}, solver's {subject.model.tolerance:g}, judged at {tolerance:g})"


def some(seed: random.Random, parts: Any, at_most: int) -> list[str]:
    """Return ids of genes or reactions of a model, drawn at random."""
    ids = sorted(item.id for item in parts)
    return seed.sample(ids, min(at_most, len(ids)))


def outcome(model: Any) -> tuple[str, float | None]:
    """Return how COBRApy's optimization ends and, if there is one, the optimum."""
    value = model.slim_optimize()
    return model.solver.status, None if model.solver.status != "optimal" else value


def judge(subject: Subject, answer: dict[str, Any], case: object) -> None:
    """Compare an answer of `run_fba` with COBRApy's optimum of the model as it is now.

    A maximum of 0 is infeasible, as the seed demands: the objective reaction cannot carry flux.
    """
    status, optimum = outcome(subject.model)
    case = told(subject, case)
    if status != "optimal":
        code = {"infeasible": "FBA_INFEASIBLE", "unbounded": "FBA_UNBOUNDED"}[status]
        assert answer.get("error_code") == code, (case, status, answer)
    elif answer.get("error_code") == "FBA_INFEASIBLE":
        assert subject.model.objective_direction == "max", (case, optimum, answer)
        assert abs(optimum or 0.0) < TRACE, (case, optimum, answer)
    else:
        assert answer["success"], (case, optimum, answer)
        assert answer["status"] == "optimal"
        found = answer["objective_value"]
        assert close(found, optimum) or max(abs(found), abs(optimum or 0.0)) < TRACE, (case, found, optimum)


def changes_of(subject: Subject) -> Iterator[dict[str, Any]]:
    """Yield changes as `modify_model` takes them: knock-outs, removals, tighter and forced fluxes."""
    seed, model = subject.drawn("changes"), subject.model
    genes = sorted(item.id for item in model.genes)
    fluxes = model.optimize().fluxes
    active = sorted(item for item in fluxes.index if abs(fluxes[item]) > TOLERANCE)
    others = sorted(set(fluxes.index) - set(active))
    for number in range(CASES.get(subject.name, 10)):
        changes: dict[str, Any] = {}
        if number % 3 != 1 and genes:
            changes["knock_out_genes"] = seed.sample(genes, seed.choice([1, 2, min(6, len(genes))]))
        if number % 4 == 3:
            changes["remove_reactions"] = seed.sample(others, 1 + len(others) // 20)
        bounds: dict[str, list[float]] = {}
        tightened = {name: sorted((0.0, fluxes[name] * seed.uniform(0.4, 1.0))) for name in seed.sample(active, 2)}
        forced = {
            name: [low := seed.uniform(0.01, 0.2), low + seed.choice([0.0, 5.0])] for name in seed.sample(others, 1)
        }
        bounds = tightened if number % 2 else forced
        removed = set(changes.get("remove_reactions", ()))
        changes["bounds"] = {name: given for name, given in bounds.items() if name not in removed}
        yield {kind: given for kind, given in changes.items() if given}


def apply(model: Any, changes: dict[str, Any]) -> None:
    """Make the same changes in COBRApy; a gene's knock-out closes what has no other enzyme, whatever its bounds."""
    for name, given in changes.get("bounds", {}).items():
        model.reactions.get_by_id(name).bounds = tuple(
            sign * math.inf if item is None else item for sign, item in zip((-1, 1), given, strict=True)
        )
    for name in changes.get("knock_out_genes", ()):
        model.genes.get_by_id(name).knock_out()
    for name in changes.get("remove_reactions", ()):
        model.reactions.get_by_id(name).bounds = (0, 0)


@pytest.mark.parametrize("name", NAMES)
def test_optima_and_ends_of_changed_models_are_those_of_cobra(judged: Callable[[str], Subject], name: str) -> None:
    subject = judged(name)
    for changes in changes_of(subject):
        with subject.model as model:
            apply(model, changes)
            judge(subject, subject.ask("run_fba", subject.changed(**changes)), changes)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "salmonella"])
def test_any_reaction_can_be_the_objective_and_be_minimized(judged: Callable[[str], Subject], name: str) -> None:
    subject = judged(name)
    number = max(1, CASES[name] // 2) if name in CASES else 8
    picked = some(subject.drawn("objectives"), subject.model.reactions, number)
    for objective in picked:
        for maximize in (True, False):
            with subject.model as model:
                model.objective = objective
                model.objective_direction = "max" if maximize else "min"
                answer = subject.ask("run_fba", objective=objective, maximize=maximize)
                judge(subject, answer, (objective, maximize))


@pytest.mark.parametrize("name", NAMES)
def test_the_least_total_flux_is_that_of_cobra(judged: Callable[[str], Subject], name: str) -> None:
    from cobra.flux_analysis import pfba  # noqa: PLC0415 - as above

    subject = judged(name)
    answer = subject.ask("run_fba", pfba=True)
    expected = float(pfba(subject.model).fluxes.abs().sum())
    assert close(answer["total_flux"], expected), told(subject, (answer["total_flux"], expected))


@pytest.mark.parametrize(
    ("name", "fraction"),
    [
        (name, fraction)
        for name in NAMES
        if name != "iJO1366"  # see test_against_cobra.py
        for fraction in ((1.0,) if "minimizing" in name else (0.9,) if name in CASES else (1.0, 0.8, 0.0))
    ],
)
def test_ranges_are_those_of_cobra(judged: Callable[[str], Subject], name: str, fraction: float) -> None:
    """A part of a minimum above 0 is beyond reach for COBRApy, which has no ranges for it then."""
    from cobra.flux_analysis import flux_variability_analysis  # noqa: PLC0415 - as above

    subject = judged(name)
    names = some(subject.drawn("ranges"), subject.model.reactions, 40)
    answer = subject.ask("run_fva", fraction=fraction, reactions=names)
    frame = flux_variability_analysis(subject.model, names, fraction_of_optimum=fraction, processes=1)
    expected = {row.Index: (row.minimum, row.maximum) for row in frame.itertuples()}
    found = {item["reaction_id"]: (item["minimum"], item["maximum"]) for item in answer["results"]}
    assert found.keys() == expected.keys()
    wrong = {
        item: (found[item], ends)
        for item, ends in expected.items()
        if not all(close(*pair, RANGES) for pair in zip(found[item], ends, strict=True))
    }
    assert wrong == {}, told(subject, "(found, of cobra)", RANGES)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "salmonella"])
def test_deletions_from_a_changed_model_are_those_of_cobra(judged: Callable[[str], Subject], name: str) -> None:
    """Tightened bounds, so that other genes and reactions matter than those of the published model."""
    from cobra.flux_analysis import single_gene_deletion, single_reaction_deletion  # noqa: PLC0415 - as above

    subject = judged(name)
    model, seed = subject.model, subject.drawn("deletions")
    fluxes = model.optimize().fluxes
    active = [item for item in sorted(fluxes.index) if abs(fluxes[item]) > 1e-3]
    bounds = {item: sorted((0.0, float(fluxes[item]) * 0.7)) for item in seed.sample(active, 3) if "ATPM" not in item}
    at_most = (150 if ALL_CASES else 50) if name in CASES else 10_000
    genes = sorted(item.id for item in model.genes)
    reactions = sorted(item.id for item in model.reactions)
    picked = {
        "delete_genes": ("genes", seed.sample(genes, min(at_most, len(genes))), single_gene_deletion),
        "delete_reactions": (
            "reactions",
            seed.sample(reactions, min(at_most, len(reactions))),
            single_reaction_deletion,
        ),
    }
    with model:
        apply(model, {"bounds": bounds})
        if outcome(model)[0] != "optimal":
            bounds = {}
    changed_id = subject.changed(bounds=bounds) if bounds else subject.model_id
    for operation, (argument, names, oracle) in picked.items():
        with model:
            apply(model, {"bounds": bounds})
            frame = oracle(model, names, processes=1)
        answer = subject.ask(operation, changed_id, **{argument: names})
        assert answer["success"], told(subject, (operation, bounds, answer))
        expected = {next(iter(row.ids)): 0.0 if math.isnan(row.growth) else row.growth for row in frame.itertuples()}
        found = {item["id"]: item["growth"] for item in answer["results"]}
        assert found.keys() == expected.keys()
        wrong = {item: (found[item], value) for item, value in expected.items() if not close(found[item], value)}
        assert wrong == {}, told(subject, (operation, bounds, "(found, of cobra)"))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in {"mini minimizing", "mgen minimizing"}])
def test_optima_on_media_are_those_of_cobra(judged: Callable[[str], Subject], name: str) -> None:
    """Media of the model's own uptakes without one of them, and with other things to eat."""
    subject = judged(name)
    model, seed = subject.model, subject.drawn("media")
    own = {item.id: -item.lower_bound for item in model.exchanges if item.lower_bound < 0}
    all_of = sorted(item.id for item in model.exchanges)
    for number in range(CASES.get(name, 8)):
        uptakes = dict(own)
        for item in seed.sample(sorted(own), min(len(own), number % 3)):
            del uptakes[item]
        uptakes.update({item: seed.choice([0.5, 7.0, 20.0]) for item in seed.sample(all_of, min(5, len(all_of)))})
        ids = {item: item.removeprefix("EX_").removesuffix("_e") for item in uptakes}
        bounds = {ids[item]: [-uptake, 1000.0] for item, uptake in uptakes.items()}
        params = {"compounds": list(bounds), "custom_bounds": bounds}
        medium = subject.lab.call(subject.tool, "build_media", params)
        if not medium["success"]:  # of compounds that no database here knows
            known = set(bounds) - set(medium["details"]["invalid_ids"])
            uptakes = {item: uptake for item, uptake in uptakes.items() if ids[item] in known}
            params = {"compounds": sorted(known), "custom_bounds": {item: bounds[item] for item in sorted(known)}}
            medium = subject.lab.call(subject.tool, "build_media", params)
        with model:
            for item in model.exchanges:
                item.bounds = (-uptakes.get(item.id, 0.0), 1000.0)
            judge(subject, subject.ask("run_fba", media_id=medium["media_id"]), uptakes)


@pytest.mark.parametrize("form", ["json", "sbml"])
@pytest.mark.parametrize("name", ["textbook", "mini", "mgen", "textbook minimizing", "mini minimizing"])
def test_cobra_reads_an_export_back_to_the_same_optimum(judged: Callable[[str], Subject], name: str, form: str) -> None:
    """cobra's JSON has no direction of the objective, so the file has one of its own, which the caller applies."""
    from cobra.io import from_json, read_sbml_model  # noqa: PLC0415 - as above

    subject = judged(name)
    genes = [] if "minimizing" in name else some(subject.drawn("exports"), subject.model.genes, 1)
    with subject.model as model:
        apply(model, {"knock_out_genes": genes})
        expected = outcome(model)
    model_id = subject.changed(knock_out_genes=genes) if genes else subject.model_id
    path = f"exported-{name.replace(' ', '-')}{'.json' if form == 'json' else '.xml'}"
    answer = subject.ask("export_model", model_id, format=form, path=path)
    assert answer["success"], told(subject, answer.get("message"))
    content = (subject.tool.roots[0] / path).read_text()
    read = (from_json if form == "json" else read_sbml_model)(content)
    if form == "json":
        read.objective_direction = json.loads(content).get("objective_direction", "max")
    status, optimum = outcome(read)
    assert status == expected[0], told(subject, (genes, status, expected))
    assert close(optimum, expected[1]), told(subject, (genes, optimum, expected))
    assert {item.id for item in read.genes} == {item.id for item in subject.model.genes}


HOSTILE: dict[str, tuple[str, dict[str, Any]]] = {
    "more maintenance than food": ("textbook", {"bounds": {"ATPM": [1000, 1000]}}),
    "a flux forced through a dead end": ("textbook", {"bounds": {"EX_fru_e": [-5, -5], "FRUpts2": [0, 0]}}),
    "a forced uptake": ("textbook", {"bounds": {"EX_glc__D_e": [-7.5, -7.5]}}),
    "a forced secretion": ("textbook", {"bounds": {"EX_etoh_e": [3, 3]}}),
    "a forced growth": ("textbook", {"bounds": {"Biomass_Ecoli_core": [0.2, 0.4]}}),
    "growth forced beyond the food": ("textbook", {"bounds": {"Biomass_Ecoli_core": [2, 3]}}),
    "a growth of nothing": ("textbook", {"bounds": {"EX_glc__D_e": [0, 1000], "ATPM": [0, 1000]}}),
    "a tiny growth": ("textbook", {"bounds": {"Biomass_Ecoli_core": [0, 3e-6]}}),
    "a growth below the tolerance": ("textbook", {"bounds": {"Biomass_Ecoli_core": [0, 3e-8]}}),
    "an objective that runs backwards": ("textbook", {"objective": "PGK", "bounds": {"PGK": [-1000, -4]}}),
    "an open loop": ("mini", {"bounds": {"EX_glc__D_e": [None, None], "GLCpts": [0, None], "PFK": [0, None]}}),
    "all of it infinite": ("mini", {"bounds": "all"}),
    "all of it infinite, minimizing": ("mini minimizing", {"bounds": "all"}),
    "an objective of two reactions": ("mini", {"bounds": {"PFK": [0, 7]}}),
    "a knock-out with bounds": ("mini", {"knock_out_genes": ["b1779"], "bounds": {"GAPD": [0, 9]}}),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_bounds_end_as_in_cobra(judged: Callable[[str], Subject], case: str) -> None:
    name, changes = HOSTILE[case]
    subject = judged(name)
    if changes.get("bounds") == "all":
        changes = {"bounds": {item.id: [None, None] for item in subject.model.reactions}}
    with subject.model as model:
        apply(model, changes)
        if "objective" in changes:
            model.objective = changes["objective"]
        judge(subject, subject.ask("run_fba", subject.changed(**changes)), case)


def test_the_smallest_model_as_published_is_infeasible_here_and_there(
    lab: Lab, flux_data: Path, tmp_path: Path
) -> None:
    from cobra.io import save_json_model  # noqa: PLC0415 - as above

    model = made("mini as published", flux_data)
    save_json_model(model, str(tmp_path / "mini.json"))
    tool = Flux(root=tmp_path)
    tool.workers = lab.workers
    model_id = lab.call(tool, "load_model", {"path": "mini.json"})["model_id"]
    for operation in ("run_fba", "run_fva", "delete_genes", "delete_reactions"):
        answer = lab.call(tool, operation, {"model_id": model_id})
        assert answer.get("error_code") == "FBA_INFEASIBLE", (operation, json.dumps(answer)[:300])
    assert outcome(model) == ("infeasible", None)


@pytest.mark.parametrize("name", ["textbook", "iJO1366"])
def test_a_table_of_media_and_an_envelope_are_those_of_cobra(judged: Callable[[str], Subject], name: str) -> None:
    """Of the media, those of the model's own uptakes with another carbon source in place of the first."""
    from cobra.flux_analysis import production_envelope  # noqa: PLC0415 - as above

    subject = judged(name)
    model, seed = subject.model, subject.drawn("tables")
    own = {item.id: -item.lower_bound for item in model.exchanges if item.lower_bound < 0}
    foods = seed.sample(sorted({"EX_glc__D_e", "EX_ac_e", "EX_fru_e", "EX_pyr_e", "EX_glyc_e"} & own.keys()), 1)
    media: dict[str, dict[str, float]] = {}
    for food in ("EX_glc__D_e", "EX_fru_e", "EX_pyr_e", "EX_ac_e"):
        if food in model.reactions:
            uptakes = {item: most for item, most in own.items() if item not in foods} | {food: 6.0}
            bounds = {item.removeprefix("EX_").removesuffix("_e"): [-most, 1000.0] for item, most in uptakes.items()}
            params = {"compounds": list(bounds), "custom_bounds": bounds}
            made_one = subject.lab.call(subject.tool, "build_media", params)
            if made_one["success"]:
                media[made_one["media_id"]] = uptakes
    table = subject.ask("growth_on_media", media_ids=list(media))
    assert [item["media_id"] for item in table["results"]] == list(media)
    for row in table["results"]:
        uptakes = media[row["media_id"]]
        with model:
            for item in model.exchanges:
                item.bounds = (-uptakes.get(item.id, 0.0), 1000.0)
            status, optimum = outcome(model)
        expected = optimum if status == "optimal" and optimum is not None and optimum >= TRACE else 0.0
        assert close(row["growth"], expected), told(subject, (row, status, optimum))
        assert ("reason" in row) is (not row["growth"])
    stepped = [item for item in ("EX_ac_e", "EX_lac__L_e") if item in model.reactions][:1]
    answer = subject.ask("production_envelope", reactions=stepped, points=5)
    rows = production_envelope(model, stepped, points=5).to_dict("records")
    for mine, theirs in zip(answer["results"], rows, strict=True):
        assert close(mine["maximum"], theirs["flux_maximum"]), told(subject, (mine, theirs))
        assert close(mine["fluxes"][stepped[0]], theirs[stepped[0]]), told(subject, (mine, theirs))
