"""Start-up checks of a server: unknown variables, and the names of dependencies."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from failsoft.framework.call.chain import check_shared
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors.meanings import edits_between
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.settings import PREFIX, EnvironmentSettings, Settings, unknown_variables
from failsoft.framework.text import bounded
from failsoft.server.registry import find_toolsets

_SHORT = 4
"""Minimum length of names to compare: `eu` and `us` are two dependencies."""


def misspelt_variables(tools: Sequence[BaseTool]) -> Iterator[str]:
    """Yield a sentence for each `FAILSOFT_` variable that is not a setting of these tools, with the closest setting.

    Variables with the prefix of an installed toolset that is not served are ignored: they may be for another server.
    """
    models: list[type[EnvironmentSettings]] = [Settings]
    models += [type(tool.settings) for tool in tools if isinstance(tool.settings, EnvironmentSettings)]
    served = {tool.name for tool in tools}
    elsewhere = tuple(f"{PREFIX}{name}_".upper() for name in find_toolsets() if name not in served)
    for name, closest in unknown_variables(models).items():
        if not name.upper().startswith(elsewhere):
            meant = f"; did you mean {closest}?" if closest else ""
            yield f"No setting is named {bounded(name)}{meant}"


def warn_of_misspelt_variables(tools: Sequence[BaseTool]) -> None:
    """Log what `misspelt_variables` finds."""
    for sentence in misspelt_variables(tools):
        logger.warning("{}", sentence)


def check_dependencies(tools: Sequence[BaseTool]) -> None:
    """Reject contradicting options of a dependency.

    Two names that differ in one letter are logged, unless it is a digit: one of them may be misspelt.

    Raises:
        CONFIG_ERROR: Strategies that share a state by their dependency have different options.
    """
    chains = {bound: bound.chain for tool in tools for bound in tool.operations.values()}
    check_shared(chains)
    used = sorted({dependency for chain in chains.values() for _, dependency in chain.recovery.shared})
    for one, other in itertools.combinations(used, 2):
        is_numbered = re.sub(r"\d", "", one) == re.sub(r"\d", "", other)
        if (
            min(len(one), len(other)) >= _SHORT
            and not is_numbered
            and edits_between(one.casefold(), other.casefold(), 1) <= 1
        ):
            logger.warning("The dependencies '{}' and '{}' differ in one letter: is one of them misspelt?", one, other)
