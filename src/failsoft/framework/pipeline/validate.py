"""Stage 1: validates types, formats and names of arguments, and reports all problems together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from failsoft.framework.arguments.spellings import under_own_names
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Proceed, Step
from failsoft.framework.errors import ConfigurationError, InvalidParameter, ToolError
from failsoft.framework.errors.violations import Violation
from failsoft.framework.pipeline.check import Check


class LoopUse:
    """The event loop of a toolset's calls, and how many of them it runs."""

    __slots__ = ("calls", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.calls = 0


def validate(joined: Sequence[Check] = ()) -> Step:
    """Return the link that validates the arguments, and counts the calls that the toolset's event loop runs.

    Args:
        joined: The checks of stage 2 if their faults are reported together with those of stage 1 (seed 003): if an
            argument has a fault, the checks of the other arguments still run.
    """

    async def step(call: Call, proceed: Proceed) -> Any:
        """Validate the arguments before any other work.

        Raises:
            INVALID_PARAM: With every fault as a violation; or the error class declared for a faulty parameter.
            CONFIG_ERROR: The toolset has calls on another event loop.
        """
        loop = asyncio.get_running_loop()
        use = call.bound.tool.loop_use
        if use is None or use.loop is not loop:
            use = _use_on(loop, call)
        arguments = call.bound.arguments
        aliases = arguments.aliases
        if aliases:  # sent by an alias, an argument gets its own name, so that the rest of the call knows that alone
            call.params = under_own_names(call.params, aliases)
        try:
            if arguments.is_slow is not None and arguments.is_slow(call.params):
                call.arguments = await _validated_in_thread(call)
            else:
                call.arguments = arguments.validate(call.params)
        except InvalidParameter as refused:
            if not joined:
                raise
            more = await _faults(call, refused, joined)
            raise (InvalidParameter.from_violations([*refused.violations, *more]) if more else refused) from None
        use.calls += 1
        try:
            return await proceed(call)
        finally:
            use.calls -= 1

    return step


async def _validated_in_thread(call: Call) -> dict[str, Any]:
    return await call.bound.threads.run(partial(call.bound.arguments.validate, call.params))


def _use_on(loop: asyncio.AbstractEventLoop, call: Call) -> LoopUse:
    """Move the toolset of a call to this event loop.

    Locks, queues and caches of a toolset belong to the loop of its calls. A loop that was stopped or closed in the
    middle of its calls does not count.

    Raises:
        CONFIG_ERROR: The toolset has calls on another event loop.
    """
    tool = call.bound.tool
    use = tool.loop_use
    if use is not None and use.calls and use.loop.is_running():
        raise ConfigurationError(
            issue=f"the toolset '{call.tool}' is in use on another event loop",
            resolution="make a toolset for each event loop, or make its calls on one of them",
            effect="none",
        )
    tool.loop_use = use = LoopUse(loop)
    return use


async def _faults(call: Call, refused: InvalidParameter, checks: Sequence[Check]) -> list[Violation]:
    """Return the faults that checks find in the arguments that are valid so far."""
    faulty = {violation.path.partition(".")[0] for violation in refused.violations}
    known = call.bound.input_schema.get("properties", {})
    call.arguments = {name: value for name, value in call.params.items() if name in known and name not in faulty}
    found: list[Violation] = []
    for item in checks:
        work = item.of(call)
        try:
            if work is not None:
                await call.bound.threads.run_author(work, is_async=item.is_async)
        except ToolError as error:
            found += error.violations
        except Exception:  # noqa: BLE001, S112 - a check that misses an argument; the call is refused in any case
            continue
    call.arguments = {}
    return found
