"""Search over pages of a million words: what a question costs, and what is found."""

# ruff: noqa: F401, F811 - the imports of fixtures

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from failsoft.tools.docs import Docs
from tests.programs.postgres import IN_POSTGRES
from tests.tools.docs.conftest import database_url, tree, write
from tests.tools.docs.parts import Write
from tests.tools.docs.search.test_postgres import found, served
from tests.tools.docs.search.test_search import own_docs, search

pytestmark = IN_POSTGRES


def test_no_question_costs_much_more_on_a_page_of_a_million_like_words(own_docs: Docs, write: Write) -> None:
    rows = "".join(
        f"| 2020-{row} | height of the water at noon 1.{row} | midnight 2.{row} |\n" for row in range(11_000)
    )
    write({"tides.md": f"# Tides\n\n{rows}", "small.md": "# Small\n\nheight of the water at noon and midnight\n"})
    question = "what is the height of the water at noon and at midnight"

    def cost(query: str) -> float:
        best = float("inf")
        for _ in range(3):
            began = time.process_time()
            assert search(own_docs, query)["success"]
            best = min(best, time.process_time() - began)
        return best

    search(own_docs, question)
    assert cost(question) < 20 * max(cost("install"), 0.01)


def test_a_page_larger_than_the_database_indexes_is_found_by_its_beginning(
    postgres_url: str,
    served: Callable[[str], Docs],
    write: Write,
) -> None:
    write({"big.md": "# Harbour\n\n" + " ".join(f"w{number:x}" for number in range(150_000))})
    docs = served(postgres_url)
    response = asyncio.run(docs.search_documents(query="harbour w5"))
    assert found(response) == ["big.md"]
