"""Open the folders that a toolset serves, and name them in its input schemas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.text import quoted
from failsoft.tools.files.paths.roots import Roots

SAMPLE_ROOT = "/srv/project"
"""The root in the examples of a schema, which become paths below the first folder that is served."""


def open_roots(root: Path | Sequence[Path] | None, toolset: str, *, relative: bool = False) -> Roots:
    """Return the roots of a toolset.

    Args:
        root: Its folder or folders; the current folder if left out.
        toolset: Its name, for the error.
        relative: Whether paths may be relative to the folder.

    Raises:
        CONFIG_ERROR: A folder does not exist, or is not one.
    """
    folders = [Path.cwd()] if root is None else [root] if isinstance(root, (str, Path)) else list(root)
    try:
        return Roots(folders, relative=relative)
    except OSError as error:
        raise ConfigurationError(
            issue=f"a root folder of the {toolset} toolset cannot be opened",
            resolution=f"name folders that exist, not {error.filename}",
        ) from error


def name_roots(operations: Iterable[BoundOperation], roots: Sequence[Path]) -> None:
    """Complete ` below {root}` in descriptions of parameters, and the root in examples; without roots drop the former.

    Args:
        operations: The operations of one toolset; their schemas are changed in place.
        roots: The folders that it serves.
    """
    below = " below " + " or ".join(quoted(root) for root in roots) if roots else ""
    for bound in operations:
        _complete(bound.input_schema, below, str(roots[0]) if roots else SAMPLE_ROOT)


def _complete(schema: Any, below: str, root: str) -> None:
    if isinstance(schema, list):
        for item in schema:
            _complete(item, below, root)
    elif isinstance(schema, dict):
        if isinstance(description := schema.get("description"), str):
            schema["description"] = description.replace(" below {root}", below)
        if isinstance(examples := schema.get("examples"), list):
            schema["examples"] = [_moved(example, root) for example in examples]
        for keyword, inner in schema.items():
            if keyword not in {"examples", "default", "enum", "const"}:
                _complete(inner, below, root)


def _moved(example: Any, root: str) -> Any:
    is_below = isinstance(example, str) and example.startswith(SAMPLE_ROOT)
    return root.rstrip("/") + example.removeprefix(SAMPLE_ROOT) if is_below else example
