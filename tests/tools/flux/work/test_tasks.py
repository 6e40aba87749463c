"""The door to the workers: functions that are sent by reference."""

from __future__ import annotations

import inspect
import pkgutil

from tests.doors import work_module


def test_no_task_has_the_name_of_a_module_that_would_take_its_place_in_a_worker() -> None:
    tasks = {name for name, _ in inspect.getmembers(work_module, inspect.isfunction)}
    assert tasks
    assert tasks.isdisjoint(item.name for item in pkgutil.iter_modules(work_module.__path__))
