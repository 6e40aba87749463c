"""The search for few reactions: what it finds is enough and holds nothing superfluous; it names what starves."""

from __future__ import annotations

import math
import time
from functools import cache
from importlib.resources import as_file, files

import pytest
from hypothesis import given, settings, strategies as st

from failsoft import UpstreamError
from tests import doors  # each name loads on use: COBRApy takes more than a second
from tests.programs.flux import IN_FLUX
from tests.tools.flux.small_data import textbook as textbook_of_cobra

pytestmark = IN_FLUX

TARGET = 0.2


def reaction(low: float = 0.0, high: float = 1_000.0, **coefficients: float) -> doors.NetworkReaction:
    return doors.NetworkReaction("", coefficients, low, high)


def network(**reactions: doors.NetworkReaction) -> doors.Network:
    names = {name for item in reactions.values() for name in item.coefficients}
    return doors.Network({name: doors.NetworkMetabolite(name.upper(), "C6H12O6", 0, "c") for name in names}, reactions)


@cache
def textbook() -> doors.Network:
    with as_file(files("cobra.data") / "textbook.xml.gz") as file:
        return doors.sbml_universe(file)


def inner() -> list[str]:
    """Return what may be taken out and put back: no exchange, and nothing that has to carry flux."""
    return sorted(name for name, item in textbook().reactions.items() if not item.is_boundary and item.low <= 0)


def answer_to(
    model: dict[str, doors.NetworkReaction], ways: dict[str, doors.NetworkReaction], *, target: float
) -> doors.Filling:
    return doors.fill(doors.GapfillProblem(model, ways, "bio", target))


def grown(problem: doors.GapfillProblem, names: tuple[str, ...]) -> float:
    some = doors.GapfillProblem(
        {**problem.model, **{name: problem.candidates[name] for name in names}}, {}, problem.objective, problem.target
    )
    with doors.LinearProblem(some.columns()) as linear:
        outcome, growth = linear.maximum({problem.objective: 1.0})
    return growth if outcome == "optimal" else 0.0


@settings(derandomize=True)  # of thousands of such problems one takes GLPK minutes; a worker would end it in time
@given(removed=st.sets(st.deferred(lambda: st.sampled_from(inner())), max_size=12))
def test_what_was_taken_out_of_a_model_is_put_back_as_far_as_it_is_needed(removed: set[str]) -> None:
    whole = textbook()
    removed -= {whole.objective}
    model = {name: item for name, item in whole.reactions.items() if name not in removed}
    problem = doors.GapfillProblem(model, {name: whole.reactions[name] for name in removed}, whole.objective, TARGET)
    answer = doors.fill(problem)
    assert answer.reactions is not None
    assert set(answer.reactions) <= removed
    assert grown(problem, answer.reactions) == pytest.approx(answer.growth, abs=1e-5)
    assert answer.growth >= TARGET - 1e-5
    for name in answer.reactions:
        assert grown(problem, tuple(set(answer.reactions) - {name})) < TARGET


def test_cobra_and_the_reader_of_sbml_agree_on_a_model() -> None:
    read, known = textbook(), doors.network_of(textbook_of_cobra())
    assert read.objective == known.objective
    assert read.exchanges == known.exchanges
    assert dict(read.metabolites) == dict(known.metabolites)
    without_genes = {
        name: doors.NetworkReaction(item.name, item.coefficients, item.low, item.high)
        for name, item in known.reactions.items()
    }
    assert dict(read.reactions) == without_genes


def test_of_two_ways_the_one_with_fewer_reactions_is_taken_where_that_can_be_searched() -> None:
    model = {"EX_a": reaction(-1_000.0, a=-1.0), "bio": reaction(z=-1.0)}
    # One reaction that needs much flux, or two that need little: the least flux is the longer way.
    ways = {"short": reaction(a=-1.0, z=0.1), "long1": reaction(a=-1.0, b=1.0), "long2": reaction(b=-1.0, z=1.0)}
    answer = answer_to(model, ways, target=1.0)
    assert answer.reactions is not None
    assert answer.reactions == ("short",)


def test_a_reaction_is_used_against_its_direction_only_if_its_bounds_say_so() -> None:
    model = {"EX_a": reaction(-10.0, a=-1.0), "bio": reaction(z=-1.0)}
    assert answer_to(model, {"r": reaction(z=-1.0, a=1.0)}, target=1.0).reactions is None
    answer = answer_to(model, {"r": reaction(-1_000.0, z=-1.0, a=1.0)}, target=1.0)
    assert answer == doors.Filling(("r",), pytest.approx(10.0))  # type: ignore[arg-type]


def test_what_grows_already_gets_nothing() -> None:
    model = {"EX_a": reaction(-10.0, a=-1.0), "bio": reaction(a=-1.0)}
    assert answer_to(model, {"r": reaction(a=-1.0, b=1.0)}, target=1.0) == doors.Filling((), pytest.approx(10.0))  # type: ignore[arg-type]


def test_a_target_above_the_maximum_is_answered_with_the_maximum() -> None:
    model = {"EX_a": reaction(-10.0, a=-1.0), "bio": reaction(z=-1.0)}
    answer = answer_to(model, {"r": reaction(a=-1.0, z=0.5)}, target=6.0)
    assert answer == doors.Filling(None, pytest.approx(5.0))  # type: ignore[arg-type]


def test_a_solver_that_is_out_of_time_says_so() -> None:
    whole = textbook()
    problem = doors.GapfillProblem(whole.reactions, {}, whole.objective, TARGET, deadline=time.monotonic())
    with pytest.raises(UpstreamError) as caught:
        doors.fill(problem)
    assert (caught.value.code, caught.value.exception_type) == ("COBRAPY_SOLVER_ERROR", "TimeLimit")


def shortage(model: doors.Network, target: float, compounds: dict[str, str]) -> doors.Shortage:
    given = model.metabolites, model.reactions, {"bio": 1.0}, model.exchanges, compounds
    return doors.shortage_of(*given, target=target)


def test_missing_nutrients_are_distinguished_from_missing_reactions() -> None:
    model = network(
        EX_a_e=reaction(-10.0, a_e=-1.0),
        EX_n_e=reaction(0.0, n_e=-1.0),
        a_in=reaction(a_e=-1.0, a=1.0),
        n_in=reaction(n_e=-1.0, n=1.0),
        bio=reaction(a=-1.0, n=-1.0, atp=-5.0, adp=5.0),
        burn=reaction(a=-1.0, adp=-1.0, atp=1.0),
    )
    found = shortage(model, 0.1, {"EX_a_e": "cpd00027", "EX_n_e": "cpd00013"})
    assert [(item["metabolite_id"], item["missing"]) for item in found.precursors] == [("n", "nutrients")]
    assert [(item["compound_id"], item["uptake"]) for item in found.nutrients] == [("cpd00013", 0.1)]
    starved = network(**{name: item for name, item in model.reactions.items() if name != "n_in"})
    found = shortage(starved, 0.1, {})
    assert [(item["metabolite_id"], item["missing"]) for item in found.precursors] == [("n", "reactions")]
    assert found.nutrients == ()


def test_upkeep_that_cannot_be_met_hides_nothing() -> None:
    model = network(
        EX_a_e=reaction(0.0, a_e=-1.0), a_in=reaction(a_e=-1.0, a=1.0), keep=reaction(5.0, a=-1.0), bio=reaction(a=-1.0)
    )
    found = shortage(model, 1.0, {"EX_a_e": "cpd00027"})
    assert [item["uptake"] for item in found.nutrients] == [6.0]


def test_candidates_add_no_uptake_that_the_medium_lacks() -> None:
    model = network(EX_a_e=reaction(-1_000.0, a_e=-1.0), bio=reaction(a_e=-1.0))
    universe = doors.Network(
        {
            name: doors.NetworkMetabolite(name, "", 0, "e", (f"cpd0000{place}",))
            for place, name in enumerate(("a_e", "b_e", "c_e"))
        },
        {
            "EX_a_e": reaction(-1_000.0, a_e=-1.0),
            "EX_b_e": reaction(-1_000.0, b_e=-1.0),
            "EX_c_e": reaction(-1_000.0, c_e=-1.0),
            "sink_b": reaction(-10.0, b_e=-1.0),
            "drain_b": reaction(b_e=-1.0),
            "BIOMASS_other": reaction(a_e=-1.0),
            "r": reaction(a_e=-1.0, b_e=1.0),
            "upkeep": reaction(8.39, a_e=-1.0, b_e=1.0),
        },
    )
    found = doors.candidates(model, universe, doors.Medium({"cpd00002": (-3.0, 7.0)}), ["cpd00002"])
    assert set(found) == {"r", "drain_b", "EX_b_e", "EX_c_e"}
    assert (found["EX_c_e"].low, found["EX_c_e"].high) == (-3.0, 7.0)
    assert (found["EX_b_e"].low, found["EX_b_e"].high) == (0.0, 1_000.0)


def test_infinite_bounds_and_unbounded_growth_are_understood() -> None:
    columns = [doors.Column("in", {"a": 1.0}, -math.inf, math.inf), doors.Column("out", {"a": -1.0}, 0.0, math.inf)]
    with doors.LinearProblem(columns) as linear:
        assert linear.maximum({"out": 1.0})[0] == "unbounded"
        linear.bound("in", -math.inf, 4.0)
        assert linear.maximum({"out": 1.0}) == ("optimal", pytest.approx(4.0))
        linear.bound("in", 2.0, 2.0)
        linear.bound("out", 3.0, math.inf)
        assert linear.minimum({"out": 1.0})[0] == "infeasible"


def test_gene_rules_are_as_short_as_they_can_be() -> None:
    assert doors.any_of([frozenset({"b", "a"}), frozenset({"c"})]) == "(a and b) or c"
    assert doors.any_of([frozenset({"a", "b"}), frozenset({"a"})]) == "a"
    assert not doors.any_of([frozenset({"a"}), frozenset()])


def test_genes_have_ids_that_rules_can_hold_and_that_differ() -> None:
    assert doors.gene_ids(["fig|1", "fig_1", "b|c|d"]) == {"fig|1": "fig_1", "fig_1": "fig_1_2", "b|c|d": "b_c_d"}
