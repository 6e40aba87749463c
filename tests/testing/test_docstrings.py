"""The examples in the docstrings, run."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["clock", "kit"])
def test_the_examples_in_the_docstrings_say_what_happens(module: str) -> None:
    outcome = doctest.testmod(importlib.import_module(f"failsoft.testing.{module}"))
    assert (outcome.failed, outcome.attempted > 0) == (0, True)
