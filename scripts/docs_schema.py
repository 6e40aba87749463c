"""`python scripts/docs_schema.py` publishes the JSON Schema of a documentation project's config.json."""

from __future__ import annotations

import json
from pathlib import Path

from failsoft.tools.docs.projects.config import CONFIG_SCHEMA

TARGET = Path(__file__).parents[1] / "docs/schemas/docs-project.json"

if __name__ == "__main__":
    TARGET.write_text(json.dumps(CONFIG_SCHEMA, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
