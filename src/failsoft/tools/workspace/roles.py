"""The roles of the workspace toolset, their powers, and the principals that may take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from failsoft.framework.errors import ConfigurationError, InvalidParameter
from failsoft.framework.errors.corrections import slip_of
from failsoft.framework.errors.violations import Violation
from failsoft.framework.safe.principals import LOCAL_PRINCIPAL, principal_named
from failsoft.framework.text import bounded
from failsoft.tools.workspace.errors import InsufficientPermissions, UnauthorizedAction
from failsoft.tools.workspace.signatures import WorkspaceSettings

Power: TypeAlias = Literal["read", "plan", "approve", "write"]
_POWERS: tuple[Power, ...] = get_args(Power)


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of a server.

    Args:
        powers: What each may do, in the order of the settings.
        principals: The roles of each principal; empty where the first session decides.
        bound: The only role that this process offers; None for all of them.
    """

    powers: Mapping[str, frozenset[str]]
    principals: Mapping[str, frozenset[str]] = field(default_factory=dict)
    bound: str | None = None

    @classmethod
    def from_settings(cls, settings: WorkspaceSettings) -> Roles:
        """Return the roles that the settings name.

        Raises:
            CONFIG_ERROR: There is none, or a principal or the process has a role that does not exist.
        """
        powers: dict[str, frozenset[str]] = {}
        for entry in settings.roles:
            name, _, given = entry.partition(":")
            powers[name] = frozenset(given.split("+"))
            if not name or not powers[name] <= set(_POWERS):
                issue = "FAILSOFT_WORKSPACE_ROLES has an entry that is not of the form ROLE:power+power"
                raise ConfigurationError(issue=issue, resolution=f"use the powers {', '.join(_POWERS)}")
            if powers[name] >= {"write", "approve"}:
                issue = "FAILSOFT_WORKSPACE_ROLES lets one role both write and approve"
                raise ConfigurationError(issue=issue, resolution="give the two powers to two roles")
        if not powers:
            issue = "FAILSOFT_WORKSPACE_ROLES is empty"
            raise ConfigurationError(issue=issue, resolution="name at least one role")
        principals: dict[str, frozenset[str]] = {}
        for entry in settings.principals:
            principal, _, given = entry.rpartition(":")
            roles = frozenset(given.split("+"))
            if not principal or not roles <= powers.keys():
                issue = "FAILSOFT_WORKSPACE_PRINCIPALS has an entry that is not of the form principal:ROLE+ROLE"
                raise ConfigurationError(issue=issue, resolution=f"use the roles {', '.join(powers)}")
            known = principal_named(principal)
            principals[known] = principals.get(known, frozenset()) | roles
        if settings.role is not None and settings.role not in powers:
            issue = f"FAILSOFT_WORKSPACE_ROLE (--role) names '{bounded(settings.role)}', which is not a role"
            raise ConfigurationError(issue=issue, resolution=f"use one of {', '.join(powers)}")
        return cls(powers, principals, settings.role)

    @property
    def names(self) -> tuple[str, ...]:
        """The roles that a session of this process may have, in the order of the settings."""
        return tuple(self.powers) if self.bound is None else (self.bound,)

    def with_power(self, power: Power | None) -> tuple[str, ...]:
        """Return all roles that have a power, of this process or not; all roles for None."""
        return tuple(name for name, powers in self.powers.items() if power is None or power in powers)

    @property
    def one_client_approves(self) -> bool:
        """Whether a client that takes several roles may submit a plan in one and approve it in another."""
        may = [self.powers[name] for name in self.names]
        return any("plan" in one and "approve" in other for one in may for other in may if one is not other)

    def described(self, between: str = "; ") -> str:
        """Return the roles of this process with their powers, as in `WINDSURF (may read and write)`."""
        return between.join(f"{name} (may {_joined(sorted(self.powers[name]))})" for name in self.names)

    def reachable(self, power: Power | None, principal: str | None) -> str | None:
        """Return a role of this process that has a power and that the caller may take; None if there is none.

        Without grants in the settings, a principal keeps its first role, and unknown callers take any.
        """
        kept = principal not in {None, LOCAL_PRINCIPAL}
        granted = self.principals.get(principal_named(principal), frozenset()) if kept and principal else self.powers
        return next((name for name in self.with_power(power) if name in self.names and name in granted), None)

    def refusal(
        self, role: str, power: Power | None, operation: str, principal: str | None
    ) -> UnauthorizedAction | None:
        """Return why a session in the role may not do this; None if it may.

        Args:
            role: The role of the session, which may be gone, or be one that only another process offers.
            power: The power that it takes; None for what every role may do.
            operation: The operation.
            principal: The caller.
        """
        if self.bound not in {None, role}:
            needed = f"a session in the role {self.bound}, the only one of this server; this one is in the role {role}"
        elif power is None or power in self.powers.get(role, ()):
            return None
        else:
            able = ", ".join(self.with_power(power))
            needed = f"a role that may {power}" + (f": {able}" if able else "; this server has none")
        here = self.reachable(power, principal)
        begin = f" Begin a session as {here} for it." if here is not None else ""
        message = f"`{operation}` needs {needed}.{begin}"
        return UnauthorizedAction(role=role, action=power or operation, message=message, effect="none")

    def require(self, role: str) -> None:
        """Raise unless a session of this process may have the role.

        Raises:
            INVALID_PARAM: It may not; the violation lists the accepted roles.
        """
        if role not in self.names:
            slip = slip_of(role, self.names)
            names = self.described(", ") if slip is None else ", ".join(self.names)
            raise InvalidParameter.from_violations(
                [
                    Violation(
                        path="role",
                        reason="enum",
                        message=f"expected one of {names}",
                        expected="a role of this server",
                        allowed=self.names[:20],
                        suggestion=slip,
                        is_standard=True,
                    )
                ]
            )

    def require_granted(self, role: str, principal: str | None) -> None:
        """Raise unless the principal may take the role, where the settings say who may.

        Raises:
            INSUFFICIENT_PERMISSIONS: It may not.
        """
        if principal == LOCAL_PRINCIPAL or not self.principals:
            return
        if role not in self.principals.get(principal_named(principal or ""), ()):
            raise InsufficientPermissions(reason=f"the role {role} is not granted to you on this server", effect="none")


def _joined(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)
