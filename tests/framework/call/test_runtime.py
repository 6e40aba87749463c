"""`Runtime`: what is left out is the process's default, and nothing needs to be set up."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from failsoft import BaseTool, ConfigurationError, RecoveryManager, Runtime, Settings, operation
from failsoft.metrics import render
from failsoft.recovery import AlternatePaths
from tests.doors import OTHER, NullMetrics, default_runtime
from tests.framework.recording import Recording

pytestmark = pytest.mark.anyio


class Plain(BaseTool):
    """Needs nothing."""

    @operation(read_only=True)
    async def give(self) -> int:
        """Return a number."""
        return 1


async def test_a_tool_works_without_any_set_up() -> None:
    tool = Plain()
    assert tool.runtime is default_runtime() is Plain().runtime
    assert (await tool.give()).data == 1
    assert isinstance(tool.runtime.recovery, RecoveryManager)


def test_a_runtime_may_bring_its_own_parts() -> None:
    recorder, manager, settings = Recording(), RecoveryManager(), Settings(default_timeout_s=3)
    runtime = Runtime(settings=settings, metrics=recorder, recovery=manager)
    assert (runtime.settings, runtime.metrics, runtime.recovery) == (settings, recorder, manager)
    tool = Plain(runtime=runtime)
    assert tool.operations["give"].timeout_s == 3
    assert recorder.bound_to == [("plain", "give")]


def test_what_is_left_out_is_the_default() -> None:
    first, second = Runtime(settings=Settings()), Runtime(settings=Settings())
    assert first.metrics is second.metrics
    assert first.recovery is second.recovery
    assert first.threads is not second.threads
    assert isinstance(first.recovery, RecoveryManager)
    assert any(isinstance(one, AlternatePaths) for one in first.recovery.strategies_for(_document_not_found()))


def _document_not_found() -> type:
    from failsoft import DocumentNotFound  # noqa: PLC0415 - used in one place

    return DocumentNotFound


def test_metrics_can_be_switched_off() -> None:
    assert isinstance(Runtime(settings=Settings(metrics_enabled=False)).metrics, NullMetrics)
    assert isinstance(Runtime(settings=Settings(), metrics=NullMetrics()).metrics, NullMetrics)


def test_a_limit_of_labels_that_is_given_is_kept_by_a_recorder_of_its_own() -> None:
    class Several(BaseTool):
        @operation(read_only=True)
        async def first(self) -> None: ...

        @operation(read_only=True)
        async def second(self) -> None: ...

    settings = Settings(metrics_label_limit=1)
    narrow, wide = Runtime(settings=settings), Runtime(settings=Settings(metrics_label_limit=7))
    assert narrow.metrics is Runtime(settings=settings).metrics
    assert narrow.metrics is not wide.metrics
    for runtime in (narrow, wide):
        Several(runtime=runtime)
    shown = [render(runtime.metrics)[0].decode() for runtime in (narrow, wide)]  # type: ignore[arg-type]
    assert [('operation="second"' in text, OTHER in text) for text in shown] == [(False, True), (True, False)]


def test_the_default_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    before = default_runtime()
    monkeypatch.setenv("FAILSOFT_ENVIRONMENT", "development")
    assert default_runtime().settings.environment == "development"
    monkeypatch.delenv("FAILSOFT_ENVIRONMENT")
    assert default_runtime() is before


def test_a_setting_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILSOFT_DEFAULT_TIMEOUT_S", "soon")
    with pytest.raises(ConfigurationError) as caught:
        Plain()
    assert "FAILSOFT_DEFAULT_TIMEOUT_S" in str(caught.value.all_details())
    assert "soon" not in str(caught.value)


def test_strategies_without_a_manager_are_a_configuration_error() -> None:
    class Wanting(BaseTool):
        @operation(recovery=[AlternatePaths()])
        async def give(self) -> None: ...

    runtime = Runtime(settings=Settings())
    runtime.recovery = None
    with pytest.raises(ConfigurationError):
        Wanting(runtime=runtime)


HEAVY = (
    "mcp",
    "prometheus_client",
    "typer",
    "rich",
    "starlette",
    "jsonschema",
    "tenacity",
    "sqlite3",
    "yaml",
    "rapidfuzz",
)


def test_a_first_call_loads_nothing_that_it_does_not_need() -> None:
    """In a process of its own: what this one has loaded says nothing."""
    script = f"""
import asyncio, sys
import failsoft
assert not [name for name in {HEAVY!r} if name in sys.modules], "import"
from failsoft import BaseTool, Runtime, Settings, operation
from tests.doors import NullMetrics
class Plain(BaseTool):
    @operation(read_only=True)
    async def give(self, number: int) -> int:
        "Return a number."
        return number
tool = Plain(runtime=Runtime(settings=Settings(), metrics=NullMetrics()))
assert asyncio.run(tool.give(number=1)).to_dict()["data"] == 1
loaded = [name for name in {HEAVY!r} if name in sys.modules]
assert loaded == [], loaded
"""
    subprocess.run(
        [sys.executable, "-c", script], check=True, timeout=60, env={**os.environ, "PYTHONWARNINGS": "error"}
    )
