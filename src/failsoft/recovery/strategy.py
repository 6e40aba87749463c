"""What strategies share: their declaration as the dataclass of their options."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeVar, dataclass_transform

from failsoft.framework.errors.corrections import closest_name

S = TypeVar("S")
IN_CODE: Final = MappingProxyType({"in_code": True})
"""Metadata of an option that a recovery file cannot set: its values are functions, classes or objects."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def strategy(cls: type[S]) -> type[S]:
    """Make a strategy the frozen dataclass of its options.

    A class variable `name` is its label in receipts, metrics and recovery files; `one_for` says whether an operation,
    or each of its dependencies, may have only one of them. What it counts or keeps belongs to the links that it makes
    for an operation, never to itself: `dataclasses.replace` returns it with other options.

    Its constructor names the closest option to one that is misspelt.
    """
    made: type[Any] = dataclass(frozen=True, slots=True, eq=False)(cls)
    construct = made.__init__
    known = list(inspect.signature(construct).parameters)[1:]

    @functools.wraps(construct)
    def named(self: object, *arguments: object, **options: object) -> None:
        try:
            construct(self, *arguments, **options)
        except TypeError as refused:
            for option in sorted(options.keys() - set(known)):
                if closest := closest_name(option, known):
                    refused.add_note(f"{made.__name__} has no option '{option}'; did you mean '{closest}'?")
            raise

    made.__init__ = named
    return made
