"""MkDocs hook: `reference/errors/CODE/` leads to the code's section on the page of its category.

The format `problem` links to `{FAILSOFT_ERROR_DOCS_URL}/CODE`, so a built site answers that address for every code.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

FOLDER = Path("reference/errors")
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{code}</title>
<meta name="robots" content="noindex">
<meta http-equiv="refresh" content="0; url={target}">
</head>
<body><p><a href="{target}">{code}</a></p></body>
</html>
"""


def targets(docs: Path) -> dict[str, str]:
    """Return where each code is documented, relative to the folder of its redirect: `../not_found/#doc_not_found`."""
    found = {}
    for page in sorted((docs / FOLDER).glob("*.md")):
        if page.name != "index.md":
            for code in re.findall(r"^## (\w+)$", page.read_text(), re.MULTILINE):
                found[code] = f"../{page.stem}/#{code.lower()}"
    return found


def on_post_build(config: Any) -> None:
    """Write the redirects into the built site."""
    site = Path(config["site_dir"]) / FOLDER
    for code, target in targets(Path(config["docs_dir"])).items():
        category = site / target.split("/")[1]
        folder = site / code
        folder.mkdir(parents=True, exist_ok=True)
        if category.exists() and folder.samefile(category):
            continue  # a file system that ignores case: the page of the category has the address already
        (folder / "index.html").write_text(PAGE.format(code=code, target=target))
