"""Every exception of failsoft survives pickle and copy, those outside the catalogue included."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
from collections.abc import Iterator

import pytest

import failsoft
from failsoft import ToolError

PROGRAMS = ("__main__", "modelseedpy_builder")


def exceptions() -> Iterator[type[Exception]]:
    """Yield the exception classes of failsoft; those of the catalogue have laws of their own.

    A module whose extra is not installed is left out.
    """
    for found in pkgutil.walk_packages(failsoft.__path__, "failsoft."):
        if found.name.endswith(PROGRAMS):
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError as error:
            if str(error.name).startswith("failsoft"):
                raise
            continue
        values = [value for value in vars(module).values() if isinstance(value, type)]
        own = [value for value in values if value.__module__ == found.name and issubclass(value, Exception)]
        yield from (value for value in own if not issubclass(value, ToolError))


def survives(kind: type[Exception]) -> bool:
    made = kind.__new__(kind, "a text")
    made.__dict__.update(path="a.md", effect="none")
    try:
        copies = [pickle.loads(pickle.dumps(made)), copy.copy(made)]  # noqa: S301 - our own
    except TypeError:
        return False
    return all((type(item), item.args, vars(item)) == (kind, made.args, vars(made)) for item in copies)


@pytest.mark.xdist_group("flux")  # it imports cobra, as do the tests of that group
def test_every_exception_outside_the_catalogue_survives_pickle_and_copy() -> None:
    found = list(exceptions())
    assert len(found) > 20
    assert [kind.__qualname__ for kind in found if not survives(kind)] == []
