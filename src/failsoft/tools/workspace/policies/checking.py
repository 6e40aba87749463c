"""The policies as a check on the writes of one call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from failsoft.framework.call.call import Call
from failsoft.tools.workspace.policies.judging import judge
from failsoft.tools.workspace.policies.port import Policy

__all__ = ["PolicyCheck"]


class PolicyCheck:
    """Checks what a call writes against the policies; what the file keeps, or the plan waives, becomes a warning.

    Args:
        policies: In the order of the settings.
        call: The call whose argument has the content.
        waived: Returns the rules that the plan of the write waives, once it is known.
    """

    def __init__(self, policies: Sequence[Policy], call: Call, waived: Callable[[], Collection[str]] = tuple) -> None:
        self._policies = policies
        self._call = call
        self._waived = waived
        self._parameter = "patch" if "patch" in call.arguments else "content"

    def __call__(self, path: str, real_path: str, data: bytes, before: bytes | None) -> None:
        """Judge new content under both of its names: a link and its target may have different endings.

        Raises:
            ToolError: See `judge`.
        """
        for name in dict.fromkeys((path, real_path)):
            for warning in judge(self._policies, name, data, before, parameter=self._parameter, waived=self._waived()):
                self._call.warn(warning)
