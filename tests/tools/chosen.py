"""Settings for a toolset under test: `flux_workers=1` is its own, `environment="staging"` the framework's."""

from __future__ import annotations

from typing import Any

from failsoft import BaseTool, Settings


def chosen(toolset: type[BaseTool], settings: dict[str, Any]) -> tuple[Settings, Any]:
    """Return the framework's settings and the toolset's, of names as variables have them."""
    prefix = toolset.Settings.model_config["env_prefix"].removeprefix("FAILSOFT_").lower()
    own = {name.removeprefix(prefix): value for name, value in settings.items() if name.startswith(prefix)}
    general = {name: value for name, value in settings.items() if not name.startswith(prefix)}
    return Settings(**general), toolset.Settings(**own)
