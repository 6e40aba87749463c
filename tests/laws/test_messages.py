"""Every error of the catalogue, from every kind of operation in every phase, has a message that helps the caller."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given, strategies as st

from failsoft import BaseTool, CallContext, Failure, InvalidParameter, NextStep, NotFound, Runtime, ToolError, operation
from failsoft.recovery import Call
from tests.catalogue import ERRORS
from tests.doors import CallScope, Toolbox, explain, lint_failure, lint_toolbox
from tests.each import each
from tests.framework.recording import quiet_runtime
from tests.laws.hostile import json_trees, odd_trees

_UNSEEN = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
EFFECTS = (None, "none", "unknown", "applied")
LEVELS = ("minimal", "standard", "full")


class Store(BaseTool):
    """Operations of each kind."""

    @operation(read_only=True)
    async def look(self, key: str = "", limit: int = 10) -> list[str]:
        """Return what is there."""
        return [key] * limit

    @operation(idempotent=True)
    async def put(self, key: str, value: Any = None) -> None:
        """Set a value."""

    @operation()
    async def push(self, key: str) -> None:
        """Add one more."""


STORES = {level: Store(runtime=quiet_runtime(detail=level)) for level in LEVELS}


def phases(bound: Any, params: Any, box: Toolbox) -> list[CallContext]:
    """Return a call that never ran, one whose handler failed, and one whose handler was done."""
    calls = [Call(bound, params, CallScope(toolbox=box)) for _ in range(3)]
    for call, (attempt, done) in zip(calls, [(0, False), (1, False), (2, True)], strict=True):
        call.attempt, call.handler_done = attempt, done
        call.arguments = dict(params) if isinstance(params, dict) else {}
    return calls


def held(failure: Failure, call: CallContext, box: Toolbox) -> None:
    """Hold a failure to every law there is for its words."""
    assert lint_failure(failure, box) == []
    bound = call.bound
    if bound.read_only or call.attempt == 0:
        assert failure.effect == "none"
    elif call.handler_done:
        assert failure.effect == "applied"
    if failure.retry.when == "after_delay":
        assert failure.effect == "none" or bound.idempotent or bound.read_only
        assert re.search(rf"call `{bound.name}` again in \d+(\.\d+)? seconds?\.", failure.message)
    if failure.next_step is not None:
        target = box.find(failure.next_step.tool)
        assert target is not None
        target.arguments.validate(failure.next_step.arguments)
        repeats = target.name == bound.name and not (bound.read_only or bound.idempotent)
        asks_for_the_same = failure.next_step.arguments == call.params and failure.exception.next_step is None
        assert not (repeats and asks_for_the_same and failure.effect != "none" and failure.retry.when != "after_fix")
    if failure.retry.when == "never" and failure.next_step is None and failure.exception.actor != "caller":
        assert failure.error_id in failure.message
    assert failure.message.isprintable()
    assert len(failure.message) <= 1_200


@pytest.mark.parametrize("level", LEVELS)
@each("kind", ERRORS)
def test_every_code_lets_a_caller_act(kind: type[ToolError], level: str) -> None:
    store = STORES[level]
    box = store.toolbox
    for bound in box:
        for effect in EFFECTS:
            for call in phases(bound, {"key": "a"}, box):
                error = kind(message="What was asked for could not be done.", effect=effect)
                held(explain(error, call), call, box)


@each("kind", ERRORS)
def test_every_code_says_so_in_its_own_words_too(kind: type[ToolError]) -> None:
    fields = {name: "sample" for name in kind.fields if name not in kind.field_defaults}
    box = STORES["minimal"].toolbox
    for bound in box:
        for call in phases(bound, {"key": "a"}, box):
            held(explain(kind(**fields), call), call, box)


steps = st.one_of(
    st.none(),
    st.builds(
        NextStep,
        st.sampled_from(["look", "put", "push", "nothing", "`look`"]),
        st.one_of(st.just({}), st.just({"key": "b"})),
    ),
    st.builds(NextStep, st.text(max_size=9), st.dictionaries(st.text(max_size=5), json_trees, max_size=3)),
)


@given(
    kind=st.sampled_from([kind for kind in ERRORS if kind.__module__.startswith("failsoft.framework")]),
    message=st.text(max_size=300),
    suggestions=st.lists(st.text(max_size=100), max_size=12),
    step=steps,
    wait=st.one_of(st.none(), st.floats(), st.integers(-5, 10**12)),
    effect=st.sampled_from(EFFECTS),
    details=st.dictionaries(st.text(max_size=9), odd_trees, max_size=3),
    params=st.one_of(st.just({"key": "a"}), odd_trees),
)
def test_whatever_an_author_puts_into_an_error_the_guidance_holds(kind: type[ToolError], **facts: Any) -> None:
    """The author's own sentence may say anything; what the framework adds to it always helps."""
    box = STORES["full"].toolbox
    params, effect = facts["params"], facts["effect"]
    for bound in box:
        for call in phases(bound, params, box)[: None if isinstance(params, dict) else 1]:
            error = kind(
                message=f"What was asked for could not be done: {facts['message']}",
                suggestions=facts["suggestions"],
                next_step=facts["step"],
                retry_after_seconds=facts["wait"],
                effect=effect,
                details=facts["details"],
            )
            failure = explain(error, call)
            found = {finding.name for finding in lint_failure(failure, box)}
            if failure.dropped_step:
                found -= {"next-step"}
            assert found <= {"url", "stack", "path", "command", "variable"}
            assert not _UNSEEN & set(map(unicodedata.category, failure.message))


@given(params=st.one_of(json_trees, st.dictionaries(st.sampled_from(["key", "limit", "ky", "value"]), json_trees)))
def test_whatever_is_refused_is_refused_with_a_way_out(params: Any) -> None:
    store = STORES["minimal"]
    for bound in store.toolbox:
        try:
            bound.arguments.validate(params)
        except InvalidParameter as error:
            call = phases(bound, params, store.toolbox)[0]
            failure = explain(error, call)
            assert lint_failure(failure, store.toolbox) == []
            assert failure.is_corrected or f"`{bound.name}`" in failure.message


def test_the_toolsets_that_ship_pass_the_lint() -> None:
    from failsoft.tools.docs import Docs  # noqa: PLC0415 - the toolset loads only here
    from failsoft.tools.edit import Edit  # noqa: PLC0415 - the same

    runtime = Runtime(settings=quiet_runtime().settings)
    box = Toolbox([Docs(runtime=runtime), Edit(runtime=runtime), Store(runtime=quiet_runtime())])
    assert lint_toolbox(box) == []


def test_an_error_without_a_way_out_says_so_alone() -> None:
    class Alone(BaseTool):
        @operation(read_only=True)
        async def look(self) -> None:
            """Look."""

    box = Alone(runtime=quiet_runtime()).toolbox
    for bound in box:
        for call in phases(bound, {}, box):
            held(explain(NotFound(message="There is nothing to be seen."), call), call, box)
