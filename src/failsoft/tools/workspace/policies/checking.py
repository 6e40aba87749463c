"""The policies as a check on the writes of one call."""

from __future__ import annotations

from collections.abc import Sequence

from failsoft.framework.context import CallContext
from failsoft.tools.workspace.policies.judging import judge
from failsoft.tools.workspace.policies.port import Policy

__all__ = ["PolicyCheck"]


class PolicyCheck:
    """Holds what a call writes to the policies; what a file has already and keeps becomes a warning.

    Args:
        policies: In the order of the settings.
        call: The call, one of whose arguments the content comes from.
    """

    def __init__(self, policies: Sequence[Policy], call: CallContext) -> None:
        self._policies = policies
        self._call = call
        self._parameter = "patch" if "patch" in call.arguments else "content"

    def __call__(self, path: str, real_path: str, data: bytes, before: bytes | None) -> None:
        """Judge new content under both of its names: a link may have another ending than what it leads to.

        Raises:
            ToolError: See `judge`.
        """
        for name in dict.fromkeys((path, real_path)):
            for warning in judge(self._policies, name, data, before, parameter=self._parameter):
                self._call.warn(warning)
