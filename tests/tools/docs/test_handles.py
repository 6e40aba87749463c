"""A project's handle is a durable record: it is given out only where it can be kept."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from failsoft import Runtime, Settings
from failsoft.tools.docs import Docs

pytestmark = pytest.mark.anyio

NOBODY = "redis://127.0.0.1:9/0"
"""The port of a service (discard) that no system offers any more."""


async def test_no_project_is_activated_while_the_store_is_out_of_reach(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "page.md").write_text("# Page\n")
    (base / "config.json").write_text(json.dumps({"name": "alpha", "docs_root": "."}))
    runtime = Runtime(settings=Settings(state_url=NOBODY))  # type: ignore[arg-type]  # pydantic makes a secret of it
    docs = Docs(base, cache_dir=tmp_path / "cache", state_folder=tmp_path / "state", runtime=runtime)
    try:
        response = await asyncio.wait_for(docs.activate_project(config_path="config.json"), 10)
    finally:
        docs.projects.close()
    assert not response.success
