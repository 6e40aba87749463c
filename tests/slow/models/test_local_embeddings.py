"""The local embedding model: in each database, alone and with words, and for texts of any length."""
# ruff: noqa: F401, F811 - the imports of fixtures

from __future__ import annotations

import pytest

from tests.doors import minilm
from tests.programs.postgres import IN_POSTGRES
from tests.tools.docs.conftest import database_url, tree, write
from tests.tools.docs.search.test_semantic import Serve, check_local_model, served_from_either

pytest.importorskip("onnxruntime", reason="the extra `semantic` is not installed")
pytestmark = IN_POSTGRES


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_the_local_model_finds_by_meaning(served_from_either: Serve, mode: str) -> None:
    check_local_model(served_from_either(), mode)


def test_texts_of_any_length_get_vectors_of_length_1_in_their_order() -> None:
    texts = ["a dog", "", "interest on a loan " * 500, "a cat", *("number " * count for count in (1, 20, 200))]
    together = minilm().embed(texts)
    for text, vector in zip(texts, together, strict=True):
        assert sum(number * number for number in vector) == pytest.approx(1.0, abs=1e-3)
        assert minilm().embed([text])[0] == pytest.approx(vector, abs=1e-3)
    assert minilm().embed([]) == []
