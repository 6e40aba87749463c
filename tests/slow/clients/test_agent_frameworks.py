"""The table of agent frameworks: what the model of each reads of a failed call, and whether calls beside it go on.

Each framework is installed as it is on PyPI, and runs an agent whose model is a script. scripts/fetch.sh fetches the
first three by itself, the others on demand: `scripts/fetch.sh more_agents`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.slow.clients.framework_runs import served, shown_to_models
from tests.slow.clients.test_evidence import CALLS, LINES, SHOP, WANTED, texts

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-to" / "use-with-agent-frameworks.md").read_text(encoding="utf-8")
SETTINGS = {
    "lean": {"FAILSOFT_ANSWER": "lean"},
    "json": {"FAILSOFT_ANSWER": "json", "FAILSOFT_OUTPUT_SCHEMA": "full"},
    "full": {"FAILSOFT_ANSWER": "full", "FAILSOFT_OUTPUT_SCHEMA": "off"},
}
"""Every kind of answer, and every kind of output schema."""
TURNS = [*([call] for call in CALLS), [{"name": name, "arguments": {"item": "tea"}} for name in ("price", "stock")]]
FRAMEWORKS = {
    "PydanticAI": "pydantic_ai",
    "OpenAI Agents": "openai_agents",
    "LangChain": "langchain",
    "LlamaIndex": "llama_index",
    "LlamaIndex, text only": "llama_index_text",
    "Google ADK": "google_adk",
    "Google ADK, text only": "google_adk_text",
    "Strands": "strands",
    "CrewAI": "crewai",
    "Claude Agent SDK": "claude_agent",
}
ROWS = re.findall(
    r"^\| (.+?) \| `(.+?)` \| (text|structured content|everything) \| (yes|no) \| (\d+), (\d+), (\d+) \|$",
    PAGE,
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Yield the addresses of the shop by its kind of answer."""
    commands = {answer: [*SHOP, "failsoft", "PORT"] for answer in SETTINGS}
    with served(commands, tmp_path_factory.mktemp("servers"), SETTINGS) as addresses:
        yield addresses


def read(reads: str, answer: str, contents: list[str]) -> list[dict[str, Any]]:
    """Return the failures that a model can take from what it was given.

    Args:
        reads: What the page says that it is given.
        answer: The server's kind of answer.
        contents: What it was given.
    """
    if reads == "structured content":
        return [json.loads(json.loads(content)["error"]) for content in contents]
    if reads == "everything":
        for content, wanted, (begins, _) in zip(contents, WANTED, LINES, strict=False):
            assert "dev.failsoft/error" in content
            assert re.search("(?i)is_?error.{1,3}true", content)
            assert re.search("structured_?content", content, re.IGNORECASE)
            assert (begins in content) is (answer == "lean")
            assert wanted["code"] in content
        return [{"error": wanted} for wanted in WANTED[: len(contents)]]
    if answer == "lean":
        return texts(contents)
    return [json.loads(content) for content in contents]


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_model_reads_what_the_page_says_under_every_setting(name: str, urls: dict[str, str], tmp_path: Path):
    given = shown_to_models(FRAMEWORKS[name], urls, TURNS, tmp_path)
    [(_, _, reads, marked, *sizes)] = [row for row in ROWS if row[0] == name]
    for answer, shown in given.items():
        contents = [one["content"] for one in shown]
        assert {one["marked"] for one in shown[:4]} == {marked == "yes"}
        assert '"data":5' in re.sub(r"[\s\\]", "", contents[4]).replace("'", '"')
        wanted, failures = WANTED, contents[:3]
        if name == "CrewAI":  # checks the arguments itself, and sends the defaults
            assert "arguments validation failed: 1 validation error" in failures[0]
            failures = failures[1:]
            tea = {"item": "tea", "currency": "EUR"}
            wanted = [{**WANTED[1], "next_step": {"tool": "price", "arguments": tea}}, WANTED[2]]
            if answer == "lean":
                assert 'Next: price {"item":"tea","currency":"EUR"}' in failures[0]
                continue
        trees = read(reads, answer, failures)
        assert [{key: tree["error"].get(key) for key in WANTED[0]} for tree in trees] == wanted
    found = [len(given[answer][1]["content"]) for answer in SETTINGS]
    assert found == pytest.approx([int(size) for size in sizes], rel=0.03)


def test_the_page_has_a_row_for_each_framework_with_the_version_that_is_fetched():
    assert [row[0] for row in ROWS] == list(FRAMEWORKS)
    fetched = (ROOT / "scripts" / "fetch.sh").read_text(encoding="utf-8").split()
    assert [row[1] for row in ROWS if row[1] not in fetched] == []


def test_the_code_on_the_page_is_what_the_agents_run():
    ran = Path(__file__).with_name("agent_client.py").read_text(encoding="utf-8")
    blocks = re.findall(r"```text\n(# .+?\n)?(.+?)```", PAGE, re.DOTALL)
    lines = {line.strip() for _, block in blocks if "def " in block for line in block.splitlines()}
    assert lines
    assert [line for line in lines if line not in {one.strip() for one in ran.splitlines()}] == []
