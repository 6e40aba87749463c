"""The growth that gap filling reports is that of the model, never 0 in place of what the solver could not say."""

from __future__ import annotations

import math

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import AEROBIC, Lab
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX


def test_growth_without_a_limit_is_not_reported_as_none(lab: Lab, rooted: Flux) -> None:
    model = textbook()
    for reaction in model.reactions:
        low, high = reaction.bounds
        reaction.bounds = (-math.inf if low <= -1000 else low, math.inf if high >= 1000 else high)
    model_id = lab.read(rooted, model)
    given = {"compounds": AEROBIC, "custom_bounds": {item: [None, None] for item in AEROBIC}}
    media_id = lab.call(rooted, "build_media", given)["media_id"]
    grown = lab.call(rooted, "run_fba", {"model_id": model_id, "media_id": media_id})
    if grown.get("error_code") != "FBA_UNBOUNDED":
        pytest.fail("the model of this test has to grow without a limit")
    filled = lab.call(rooted, "gapfill_model", {"model_id": model_id, "media_id": media_id})
    assert not filled["success"] or filled["growth_before"] > 0


def test_a_model_that_minimizes_is_not_said_to_reach_the_target_at_its_minimum(lab: Lab, rooted: Flux) -> None:
    model = textbook()
    model.objective = "EX_etoh_e"
    model.objective_direction = "min"
    params = {"model_id": lab.read(rooted, model), "media_id": "minimal_aerobic", "target_growth": 0.5}
    filled = lab.call(rooted, "gapfill_model", params)
    assert not filled["success"] or filled["growth_after"] >= 0.5
