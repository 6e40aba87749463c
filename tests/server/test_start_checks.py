"""What a server says, or refuses, at its start about names that mean nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from loguru import logger

from failsoft import (
    BaseTool,
    CircuitBreaker,
    ConfigurationError,
    Runtime,
    Settings,
    ToolsetSettings,
    mcp_server,
    operation,
)


class StallSettings(ToolsetSettings):
    """Settings of the stall."""

    limit: int = 5


class Stall(BaseTool):
    """A stall."""

    Settings = StallSettings

    @operation(read_only=True)
    async def price(self) -> int:
        """Return a price."""
        return 1


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    said: list[str] = []
    sink = logger.add(lambda line: said.append(line.record["message"]), level="WARNING")
    logger.enable("failsoft")
    yield said
    logger.disable("failsoft")
    logger.remove(sink)


def test_misspelt_variables_are_named_with_the_closest_one(
    monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    for name in ("FAILSOFT_SHUTDOWN_GRACE", "FAILSOFT_STALL_LIMITS", "FAILSOFT_STALL_LIMIT", "FAILSOFT_XYZZY"):
        monkeypatch.setenv(name, "7")
    monkeypatch.setenv("FAILSOFT_TOKEN", "of a client")
    mcp_server(Stall(runtime=Runtime(settings=Settings())))
    named = [line for line in warnings if line.startswith("No setting is named")]
    assert named == [
        "No setting is named FAILSOFT_SHUTDOWN_GRACE; did you mean FAILSOFT_SHUTDOWN_GRACE_S?",
        "No setting is named FAILSOFT_STALL_LIMITS; did you mean FAILSOFT_STALL_LIMIT?",
        "No setting is named FAILSOFT_XYZZY",
    ]


def test_variables_of_installed_toolsets_that_are_not_served_are_for_another_server(
    monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    monkeypatch.setenv("FAILSOFT_EDIT_MAX_EDITS", "7")
    monkeypatch.setenv("FAILSOFT_FLUX_ANYTHING", "7")
    mcp_server(Stall(runtime=Runtime(settings=Settings())))
    assert not [line for line in warnings if "FAILSOFT_EDIT" in line or "FAILSOFT_FLUX" in line]


class Till(BaseTool):
    """Operations that work on one dependency, each with a breaker for it."""

    @operation(read_only=True, recovery=[CircuitBreaker("billing", min_calls=2)])
    async def pay(self) -> int:
        """Pay."""
        return 1

    @operation(read_only=True, recovery=[CircuitBreaker("billing", min_calls=2)])
    async def refund(self) -> int:
        """Refund."""
        return 1


class Contradicting(Till):
    """One more, with other options."""

    @operation(read_only=True, recovery=[CircuitBreaker("billing", min_calls=9, open_s=7)])
    async def void(self) -> int:
        """Void."""
        return 1


class Misspelling(Till):
    """One more, with another name."""

    @operation(read_only=True, recovery=[CircuitBreaker("biling")])
    async def void(self) -> int:
        """Void."""
        return 1


def test_breakers_of_one_dependency_with_different_options_are_refused() -> None:
    with pytest.raises(ConfigurationError) as refused:
        mcp_server(Contradicting(runtime=Runtime(settings=Settings())))
    assert re.search(r"'contradicting\.pay' .* and 'contradicting\.void' ", refused.value.message)
    assert refused.value.message.rstrip(".").endswith("(min_calls, open_s)")
    mcp_server(Till(runtime=Runtime(settings=Settings())))


def test_a_configuration_that_makes_breakers_of_one_dependency_differ_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "recovery.toml"
    file.write_text("tools.till.operations.pay.circuit_breaker.min_calls = 3\n")
    with pytest.raises(ConfigurationError, match=r"'till\.pay' .* and 'till\.refund' "):
        mcp_server(Till(runtime=Runtime(settings=Settings(recovery_file=file))))
    file.write_text("dependencies.billing.circuit_breaker.min_calls = 3\n")
    tool = Till(runtime=Runtime(settings=Settings(recovery_file=file)))
    mcp_server(tool)
    file.write_text("tools.till.operations.pay.circuit_breaker.min_calls = 3\n")
    assert not tool.runtime.reload_recovery()


@pytest.mark.parametrize(
    ("text", "issue"),
    [
        (
            "dependencies.biling.circuit_breaker.min_calls = 3",
            "no operation uses the dependency 'biling'; did you mean 'billing'?",
        ),
        ("dependencies.weather.bulkhead.limit = 3", "no operation uses the dependency 'weather'"),
    ],
)
def test_a_section_about_a_dependency_that_nothing_works_on_is_refused_with_its_place(text: str, issue: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        mcp_server(Till(runtime=Runtime(settings=Settings(recovery=text))))
    assert issue in refused.value.message
    assert "FAILSOFT_RECOVERY: dependencies." in refused.value.message


@pytest.mark.parametrize(
    ("tool", "text"), [(Misspelling, ""), (Till, 'tools.till.dependency = "biling"\ntools.till.bulkhead.limit = 3')]
)
def test_a_dependency_that_is_one_letter_off_another_is_logged(
    tool: type[BaseTool], text: str, warnings: list[str]
) -> None:
    mcp_server(tool(runtime=Runtime(settings=Settings(recovery=text))))
    assert "The dependencies 'biling' and 'billing' differ in one letter: is one of them misspelt?" in warnings
