"""Roles: what each may do, and which principals may take it. The settings say so, and are checked at start-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from failsoft.framework.did_you_mean import closest_name
from failsoft.framework.errors import ConfigurationError, InvalidParameter
from failsoft.framework.settings import Settings
from failsoft.framework.violations import Violation
from failsoft.tools.workspace.session_errors import InsufficientPermissions, UnauthorizedAction

__all__ = ["Power", "Roles"]

Power: TypeAlias = Literal["read", "plan", "approve", "write"]
_POWERS: tuple[Power, ...] = get_args(Power)


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of a server.

    Args:
        powers: What each may do, in the order of the settings.
        principals: The roles of each principal; empty where the first session decides.
    """

    powers: Mapping[str, frozenset[str]]
    principals: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def from_settings(cls, settings: Settings) -> Roles:
        """Return the roles that the settings name.

        Raises:
            CONFIG_ERROR: There is none, or a principal is given one that does not exist.
        """
        powers: dict[str, frozenset[str]] = {}
        for entry in settings.workspace_roles:
            name, _, given = entry.partition(":")
            powers[name] = frozenset(given.split("+"))
            if not name or not powers[name] <= set(_POWERS):
                issue = "FAILSOFT_WORKSPACE_ROLES has an entry that is not of the form ROLE:power+power"
                raise ConfigurationError(issue=issue, resolution=f"use the powers {_listed(_POWERS)}")
            if powers[name] >= {"write", "approve"}:
                issue = "FAILSOFT_WORKSPACE_ROLES lets one role both write and approve"
                raise ConfigurationError(issue=issue, resolution="give the two powers to two roles")
        if not powers:
            issue = "FAILSOFT_WORKSPACE_ROLES names no role"
            raise ConfigurationError(issue=issue, resolution="name at least one role")
        principals: dict[str, frozenset[str]] = {}
        for entry in settings.workspace_principals:
            principal, _, given = entry.rpartition(":")
            roles = frozenset(given.split("+"))
            if not principal or not roles <= powers.keys():
                issue = "FAILSOFT_WORKSPACE_PRINCIPALS has an entry that is not of the form principal:ROLE+ROLE"
                raise ConfigurationError(issue=issue, resolution=f"use the roles {_listed(list(powers))}")
            principals[principal] = principals.get(principal, frozenset()) | roles
        return cls(powers, principals)

    @property
    def names(self) -> tuple[str, ...]:
        """The roles, in the order of the settings."""
        return tuple(self.powers)

    def require_power(self, role: str, power: Power) -> None:
        """Raise unless the role may do this.

        Raises:
            UNAUTHORIZED_ACTION: It may not, or there is no such role any more.
        """
        if power not in self.powers.get(role, ()):
            raise UnauthorizedAction(role=role, action=power, effect="none")

    def require(self, role: str) -> None:
        """Raise unless there is such a role.

        Raises:
            INVALID_PARAM: There is none; the violation lists those that there are.
        """
        if role not in self.names:
            raise InvalidParameter.from_violations(
                [
                    Violation(
                        path="role",
                        reason="enum",
                        message=f"expected one of {_listed(self.names)}",
                        expected="a role of this server",
                        allowed=self.names[:20],
                        suggestion=closest_name(role, self.names),
                    )
                ]
            )

    def require_granted(self, role: str, principal: str) -> None:
        """Raise unless the principal may take the role, where the settings say who may.

        Raises:
            INSUFFICIENT_PERMISSIONS: It may not.
        """
        if self.principals and role not in self.principals.get(principal, ()):
            raise InsufficientPermissions(reason=f"you are not given the role {role} on this server", effect="none")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
