"""`ToolsetSettings`: the settings of one toolset, read from `FAILSOFT_<TOOLSET>_...` variables."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.services.environment import PREFIX, EnvironmentSettings
from failsoft.framework.services.settings import Settings

__all__ = ["ToolsetSettings"]


class ToolsetSettings(EnvironmentSettings):
    """Subclass it with a field for each setting and name the subclass in the toolset: `Settings = ShopSettings`.

    A field `limit` of a toolset named `shop` is read from `FAILSOFT_SHOP_LIMIT`. Give each field a `description`, and
    its bounds: `failsoft doctor` and the settings page show them. Values given as
    keywords take precedence over the environment.

    Raises:
        CONFIG_ERROR: A value is not usable, or there is no such setting.
    """

    _bound_to: ClassVar[str]

    @classmethod
    def bind(cls, toolset: str) -> None:
        """Set the prefix of the variables; `BaseTool` does it once, for the class that declares the settings.

        Raises:
            TypeError: Another toolset declares the same settings, or a variable would be one of the framework's.
        """
        prefix = f"{PREFIX}{toolset.upper()}_"
        if cls is ToolsetSettings:
            return
        bound = vars(cls).get("_bound_to", toolset)
        if bound != toolset:
            msg = f"{cls.__name__} belongs to the toolset '{bound}': subclass it for '{toolset}'"
            raise TypeError(msg)
        framework = [variable for variables in Settings.variables().values() for variable in variables]
        taken = [variable for variable in framework if f"{variable}_".startswith(prefix)]
        if taken:
            msg = f"the settings of a toolset named '{toolset}' would collide with {', '.join(sorted(taken))}"
            raise TypeError(msg)
        cls._bound_to = toolset
        cls.model_config["env_prefix"] = prefix
