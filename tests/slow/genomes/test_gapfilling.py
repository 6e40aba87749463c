"""Gaps of a small model, filled from the reactions of two organisms: whichever nutrient is missing."""

from __future__ import annotations

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.work.building.test_gapfill import assert_that_a_missing_nutrient_is_named_and_then_it_grows

pytestmark = IN_FLUX


@pytest.mark.parametrize("lacking", ["cpd00009", "cpd00027"], ids=["phosphorus", "carbon"])
def test_a_nutrient_that_is_missing_is_named_and_then_it_grows(lab: Lab, tool: Flux, gappy: str, lacking: str) -> None:
    assert_that_a_missing_nutrient_is_named_and_then_it_grows(lab, tool, gappy, lacking)
