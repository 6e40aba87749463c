"""The README as the long description of the package, where its links into the repository lead nowhere.

Hatchling calls it for every build. Once the repository has an address, it belongs into `project.urls`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https:)[^)]+\)\n\n?", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\((?!https:)[^)]+\)")


def long_description(readme: str) -> str:
    """Return the README without its pictures, and with the text of links in place of the links."""
    return _LINK.sub(r"\1", _PICTURE.sub("", readme))


def get_metadata_hook() -> Any:
    """Return the hook, by the name under which Hatchling looks for it."""
    from hatchling.metadata.plugin.interface import MetadataHookInterface

    class LongDescription(MetadataHookInterface):  # type: ignore[misc]  # Hatchling is installed for builds alone
        def update(self, metadata: dict[str, Any]) -> None:
            text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
            metadata["readme"] = {"content-type": "text/markdown", "text": long_description(text)}

    return LongDescription
