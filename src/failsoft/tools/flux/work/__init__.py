"""The tasks of the workers: functions that load cobra when they are run, so that the server can name them.

A task is sent by reference, so none may have the name of a module in this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from failsoft.tools.flux.conditions import Conditions
from failsoft.tools.flux.store import Recipe

T = TypeVar("T")


def with_database(file: str, task: Callable[[], T]) -> T:
    """Return what a task returns that looks ids up in a database file; in none if the path is empty."""
    from failsoft.tools.flux.work.exchanges import use_database

    use_database(file)
    return task()


def read_model(path: str, data: bytes) -> dict[str, Any]:
    """See `model_files`."""
    from failsoft.tools.flux.work import model_files

    return model_files.read_model(path, data)


def export_model_json(
    recipe: Recipe, model_id: str, section: str, offset: int, limit: int | None, bytes_at_most: int | None
) -> dict[str, Any]:
    """See `model_files.export`."""
    from failsoft.tools.flux.work import model_files

    return model_files.export(recipe, model_id, section, offset, limit, bytes_at_most)


def export_model(
    recipe: Recipe, model_id: str, form: Literal["json", "sbml"], bytes_at_most: int | None
) -> dict[str, Any]:
    """See `model_files.export_text`."""
    from failsoft.tools.flux.work import model_files

    return model_files.export_text(recipe, model_id, form, bytes_at_most)


def describe(recipe: Recipe) -> dict[str, Any]:
    """See `facts`."""
    from failsoft.tools.flux.work import facts

    return facts.describe(recipe)


def check_model(recipe: Recipe) -> dict[str, Any]:
    """See `checking`."""
    from failsoft.tools.flux.work import checking

    return checking.check_model(recipe)


def change_model(
    recipe: Recipe, changes: Mapping[str, Any], entries: Mapping[str, Any], universe: Mapping[str, str]
) -> dict[str, Any]:
    """See `modifying`."""
    from failsoft.tools.flux.work import modifying

    return modifying.change_model(recipe, changes, entries, universe)


def run_fba(recipe: Recipe, conditions: Conditions) -> dict[str, Any]:
    """See `analyses`."""
    from failsoft.tools.flux.work import analyses

    return analyses.run_fba(recipe, conditions)


def run_fva(recipe: Recipe, conditions: Conditions, fraction: float, names: Sequence[str] | None) -> dict[str, Any]:
    """See `analyses`."""
    from failsoft.tools.flux.work import analyses

    return analyses.run_fva(recipe, conditions, fraction, names)


def delete(
    recipe: Recipe, conditions: Conditions, kind: Literal["genes", "reactions"], names: Sequence[str] | None
) -> dict[str, Any]:
    """See `analyses`."""
    from failsoft.tools.flux.work import analyses

    return analyses.delete(recipe, conditions, kind, names)


def growth_on_media(recipe: Recipe, conditions: Sequence[Conditions]) -> dict[str, Any]:
    """See `comparisons`."""
    from failsoft.tools.flux.work import comparisons

    return comparisons.growth_on_media(recipe, conditions)


def production_envelope(recipe: Recipe, conditions: Conditions, names: Sequence[str], points: int) -> dict[str, Any]:
    """See `comparisons`."""
    from failsoft.tools.flux.work import comparisons

    return comparisons.production_envelope(recipe, conditions, names, points)


def gapfill_model(
    recipe: Recipe, conditions: Conditions, target: float, max_complexity: int, universe: Mapping[str, str]
) -> dict[str, Any]:
    """See `gapfill`."""
    from failsoft.tools.flux.work.building import gapfill

    return gapfill.gapfill(recipe, conditions, target, max_complexity, universe)


def build_from_proteins(
    sequences: Mapping[str, str], template: str, name: str, places: Mapping[str, str], limit_s: float
) -> dict[str, Any]:
    """See `homology.build`."""
    from failsoft.tools.flux.work.building import homology

    return homology.build(sequences, template, name, places, limit_s)


def build_from_functions(
    sequences: Mapping[str, str],
    functions: Mapping[str, str],
    template: str,
    name: str,
    places: Mapping[str, str],
    limit_s: float,
) -> dict[str, Any]:
    """See `modelseedpy.build`."""
    from failsoft.tools.flux.work.building import modelseedpy

    return modelseedpy.build(sequences, functions, template, name, places, limit_s)
