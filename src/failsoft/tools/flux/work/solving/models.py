"""Build a `cobra.Model` from a recipe, with a cache of models in the worker."""

from __future__ import annotations

import collections
import gzip
import importlib
import importlib.resources
from collections.abc import Callable, Mapping
from typing import Any, cast

import cobra
import cobra.io

from failsoft.tools.flux.models.recipes import Recipe, Step

_HERE = "failsoft.tools.flux.work"
BASES: dict[str, str] = {
    "shipped": f"{_HERE}.solving.models:shipped",
    "draft": f"{_HERE}.networks.drafts:draft_model",
    "file": f"{_HERE}.solving.reading:file_model",
}
"""Kind of base -> `module:function`, which takes the base and returns a new model."""
STEPS: dict[str, str] = {"modify": f"{_HERE}.solving.modifying:modify", "add": f"{_HERE}.networks.drafts:add_reactions"}
"""Kind of step -> `module:function`, which takes a model and the step, and changes the model."""

_kept: collections.OrderedDict[str, cobra.Model] = collections.OrderedDict()
_at_most = 8


def configure(*, models_at_most: int) -> None:
    """Set how many models are kept; the one used longest ago goes first."""
    global _at_most  # noqa: PLW0603 - a worker has one set of models
    _at_most = models_at_most


def model_of(recipe: Recipe) -> cobra.Model:
    """Return the model of a recipe: kept, or made from the longest part of the recipe that is kept.

    It is shared by all tasks of this worker: change it inside `with model:` only.
    """
    steps = len(recipe.steps)
    start = next((index for index in range(steps, -1, -1) if recipe.digests[index] in _kept), None)
    if start is None:
        start = 0
        _keep(recipe.digests[0], _function(BASES, recipe.base)(recipe.base))
    model = _kept[recipe.digests[start]]
    _kept.move_to_end(recipe.digests[start])
    if start < steps:
        model = model.copy()
        for step in recipe.steps[start:]:
            _function(STEPS, step)(model, step)
        _keep(recipe.digest, model)
    return model


def preload(name: str) -> None:
    """Make one of the shipped models, to be kept."""
    model_of(Recipe.shipped(name))


def shipped(base: Step) -> cobra.Model:
    """Return a model from cobra's own files; never from the network, where cobra itself would look for it."""
    file = importlib.resources.files("cobra.data").joinpath(f"{base['name']}.xml.gz")
    text = gzip.decompress(file.read_bytes()).decode()
    model = cast("cobra.Model", cobra.io.read_sbml_model(text))
    model.solver = "glpk"  # the one solver that is always there, so that every replica says the same
    return model


def _keep(digest: str, model: cobra.Model) -> None:
    _kept[digest] = model
    _kept.move_to_end(digest)
    while len(_kept) > _at_most:
        _kept.popitem(last=False)


def _function(known: Mapping[str, str], step: Step) -> Callable[..., Any]:
    module, _, name = known[step["kind"]].partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function
