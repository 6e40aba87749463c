"""Roles: which there are, and which principals may take them. The settings say so, and are checked at start-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from failsoft.framework.did_you_mean import closest_name
from failsoft.framework.errors import ConfigurationError, InvalidParameter
from failsoft.framework.settings import Settings
from failsoft.framework.violations import Violation
from failsoft.tools.workspace.session_errors import InsufficientPermissions

__all__ = ["Roles"]


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of a server.

    Args:
        names: In the order of the settings.
        principals: The roles of each principal; empty where the first session decides.
    """

    names: tuple[str, ...]
    principals: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def from_settings(cls, settings: Settings) -> Roles:
        """Return the roles that the settings name.

        Raises:
            CONFIG_ERROR: There is none, or a principal is given one that does not exist.
        """
        names = tuple(dict.fromkeys(settings.workspace_roles))
        if not names:
            issue = "FAILSOFT_WORKSPACE_ROLES names no role"
            raise ConfigurationError(issue=issue, resolution="name at least one role")
        principals: dict[str, frozenset[str]] = {}
        for entry in settings.workspace_principals:
            principal, _, given = entry.rpartition(":")
            roles = frozenset(given.split("+"))
            if not principal or not roles <= set(names):
                issue = "FAILSOFT_WORKSPACE_PRINCIPALS has an entry that is not of the form principal:ROLE+ROLE"
                raise ConfigurationError(issue=issue, resolution=f"use the roles {_listed(names)}")
            principals[principal] = principals.get(principal, frozenset()) | roles
        return cls(names, principals)

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
