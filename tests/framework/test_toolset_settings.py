"""A toolset declares its own settings, read once when it is made."""

from __future__ import annotations

import asyncio
import re
from typing import Any, ClassVar

import pytest
from pydantic import Field

from failsoft import BaseTool, ConfigurationError, Settings, ToolsetSettings, operation
from tests.doors import unknown_variables


class ShopSettings(ToolsetSettings):
    limit: int = Field(default=3, ge=1, description="Orders at a time.")
    brands: list[str] = Field(default=[], description="What is on sale.")
    sizes: tuple[int, ...] = Field(default=(), description="The sizes of each.")
    prices: dict[str, int] = Field(default={}, description="What each costs.")


class Shop(BaseTool):
    """A shop."""

    Settings = ShopSettings

    @operation(read_only=True)
    async def limit(self) -> int:
        """Return the limit."""
        return int(self.settings.limit)


class Kiosk(Shop):
    """A shop of another name, with the same settings."""


@pytest.mark.parametrize("toolset", [Shop, Kiosk])
def test_settings_are_read_from_the_variables_of_the_toolset_that_declares_them(
    toolset: type[Shop], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert toolset().settings.limit == 3
    monkeypatch.setenv("FAILSOFT_SHOP_LIMIT", "7")
    made = toolset()
    monkeypatch.setenv("FAILSOFT_SHOP_LIMIT", "8")
    assert asyncio.run(made.execute_with_error_handling("limit", {})).data == 7
    assert toolset(settings=ShopSettings(limit=9)).settings.limit == 9


def test_a_bad_value_stops_the_toolset_from_being_made_and_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILSOFT_SHOP_LIMIT", "0")
    with pytest.raises(ConfigurationError, match="FAILSOFT_SHOP_LIMIT must be greater than or equal to 1"):
        Shop()


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("BRANDS", "tea,rice", ' must be JSON, such as ["one", "two"] for a list.'),
        ("SIZES", "4", ' must be JSON, such as ["one", "two"] for a list.'),
        ("PRICES", "tea", " must be JSON"),
        ("SIZES", '[4, "four"]', " item 1 must be a whole number"),
    ],
)
def test_a_bad_list_is_refused_with_the_form_that_is_accepted(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, fault: str
) -> None:
    monkeypatch.setenv(f"FAILSOFT_SHOP_{name}", value)
    with pytest.raises(ConfigurationError, match=re.escape(f"FAILSOFT_SHOP_{name}{fault}")):
        Shop()


def test_a_list_is_read_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILSOFT_SHOP_BRANDS", '["tea", "rice"]')
    assert Shop().settings.brands == ["tea", "rice"]


def test_a_toolset_without_settings_has_none() -> None:
    class Bare(BaseTool):
        """Nothing to set."""

        @operation(read_only=True)
        async def look(self) -> int:
            """Look."""
            return 1

    assert Bare().settings is None


@pytest.mark.parametrize("name", ["audit", "state", "auth", "log", "max", "recovery"])
def test_a_toolset_whose_variables_would_collide_with_the_frameworks_is_refused(name: str) -> None:
    made: dict[str, Any] = {"name": name, "Settings": type("Own", (ToolsetSettings,), {}), "__doc__": "A toolset."}
    with pytest.raises(TypeError, match=f"FAILSOFT_{name.upper()}"):
        type("Toolset", (BaseTool,), made)


def test_settings_belong_to_one_toolset() -> None:
    with pytest.raises(TypeError, match="ShopSettings belongs to the toolset 'shop': subclass it for 'market'"):

        class Market(BaseTool):
            """Another toolset."""

            Settings: ClassVar[type[ToolsetSettings]] = ShopSettings


def test_variables_of_known_toolsets_are_not_taken_for_misspelt_ones() -> None:
    environ = {"FAILSOFT_SHOP_LIMIT": "1", "FAILSOFT_SHOP_LIMITS": "1"}
    assert unknown_variables([Settings, ShopSettings], environ) == {"FAILSOFT_SHOP_LIMITS": "FAILSOFT_SHOP_LIMIT"}
