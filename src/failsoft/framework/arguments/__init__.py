"""Arguments of an operation, from a signature or a JSON Schema.

`signature.py` declares and validates those of a signature, `json_schema.py` those of a schema that was given;
`schemas.py` walks schemas and resolves `$ref`. What was refused is explained by `faults.py` (from the published schema)
and `pydantic_faults.py` (an author's own checks), worded by `wording.py`, and corrected by `corrected.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from failsoft.framework.arguments.accepted import Accepted


class Arguments(Protocol):
    """The declared arguments of an operation, from a signature or a JSON Schema."""

    @property
    def schema(self) -> dict[str, Any]:
        """Their JSON Schema, an object."""

    @property
    def accepted(self) -> Accepted:
        """What the schema says of their values: which of them are secret, for one."""

    @property
    def aliases(self) -> Mapping[str, str]:
        """Other accepted names, and the names in the schema that they stand for."""

    def validate(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the arguments as the handler gets them.

        Raises:
            INVALID_PARAM: With all violations.
        """

    @property
    def validate_beside(self) -> Callable[[Any, Any], Awaitable[dict[str, Any]]] | None:
        """The same for a caller on an event loop, given what runs functions in threads; None where it is never slow."""
