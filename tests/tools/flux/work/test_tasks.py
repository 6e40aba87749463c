"""The door to the workers: names of functions that are loaded there."""

from __future__ import annotations

from importlib import import_module
from inspect import isfunction

from tests.doors import work_module
from tests.programs.flux import IN_FLUX

pytestmark = IN_FLUX


def test_every_task_is_a_function_of_its_module() -> None:
    tasks = [item for item in vars(work_module).values() if isinstance(item, work_module.Task)]
    assert tasks
    assert all(isfunction(vars(import_module(f"{work_module.__name__}.{item.module}"))[item.name]) for item in tasks)
