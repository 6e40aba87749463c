"""Search by meaning: the local model, a real service over HTTP, and its outages."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from failsoft import InvalidParameter, Runtime, Settings
from failsoft.tools.docs import Docs
from tests.doors import (
    CallScope,
    DocsSettings,
    ScoredRow,
    embedders_module as embedders,
    fused,
    meaning_module as meaning,
    opening,
    refresh_module as refresh,
    request_url,
)
from tests.tools.docs.parts import Write

PAGES = {
    "animals/dogs.md": "# Dogs\n\nA puppy barks and wags its tail.\n",
    "money/bank.md": "# Banks\n\nA loan is paid back with interest.\n",
    "cars/engine.md": "---\ntype: guide\n---\n# Engines\n\nPetrol burns in the cylinders.\n",
}
Serve = Callable[..., Docs]
WORDS = ("dog", "puppy", "bark", "loan", "bank", "credit", "engine", "motor", "petrol")


class Service:
    """An embedding service over HTTP: a vector has a place for each of a few words."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str | None, dict[str, Any]]] = []
        self.status = 200
        self.form = "openai"
        self.closed = threading.Event()
        self.headers: dict[str, str] = {}
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.requests.append((self.path, self.headers.get("Authorization"), body))
                status, answer = service.answer(self.path, body)
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                for name, value in service.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(10**6 if service.form == "dripping" else len(data)))
                self.end_headers()
                with suppress(ConnectionError):  # the client has left
                    while service.form == "dripping":
                        self.wfile.write(b" ")
                        service.closed.wait(0.02)
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if self.status != 200:
            return self.status, {"error": "down"}
        if self.form == "nonsense":
            return 200, {"data": [{"index": 0, "embedding": ["a"]}]}
        if path != "/v1/embeddings":
            return 404, {}
        vectors = [[float(text.lower().count(word)) for word in WORDS] + [0.1] for text in body["input"]]
        data = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
        return 200, {"data": data[::-1]}

    def close(self) -> None:
        self.form = ""
        self.closed.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))  # or each request would read the certificates of all authorities
    made = Service()
    yield made
    made.close()


@contextmanager
def serving(tree: Path, database_url: str | None) -> Iterator[Serve]:
    made: list[Docs] = []

    def serve(*, breaker: str = "{}", **settings: Any) -> Docs:
        given = DocsSettings(database_url=database_url, **settings)
        recovery = f"dependencies.docs_embedding.circuit_breaker = {breaker}"
        surroundings = Runtime(settings=Settings(recovery=recovery))
        made.append(Docs(tree, runtime=surroundings, settings=given, cache_dir=tree.parent / "cache"))
        return made[-1]

    yield serve
    for docs in made:
        docs.projects.close()


@pytest.fixture
def served(tree: Path, write: Write) -> Iterator[Serve]:
    """Return a function that serves the pages, with the index in a file."""
    write(PAGES)
    with serving(tree, None) as serve:
        yield serve


@pytest.fixture
def served_from_either(tree: Path, write: Write, database_url: str | None) -> Iterator[Serve]:
    """Return a function that serves the pages, with the index and the vectors in each of the databases."""
    write(PAGES)
    with serving(tree, database_url) as serve:
        yield serve


def search(docs: Docs, query: str, **params: Any) -> Any:
    return asyncio.run(docs.search_documents(query=query, **params)).to_dict()


def paths(answer: Any) -> list[str]:
    return [hit["path"] for hit in answer["data"]["results"]]


def check_local_model(docs: Docs, mode: str) -> None:
    answer = search(docs, "canine pets", mode=mode)
    assert paths(answer)[0] == "animals/dogs.md"
    assert (answer["data"]["mode"], answer["data"]["matched"]) == (mode, "meaning")
    assert paths(search(docs, "canine pets", mode=mode, doc_types=["guide"])) == ["cars/engine.md"]
    assert paths(search(docs, "canine pets", mode=mode, prefix="money/")) == ["money/bank.md"]


def test_the_local_model_finds_by_meaning(served: Serve) -> None:
    pytest.importorskip("onnxruntime", reason="the extra `semantic` is not installed")
    check_local_model(served(), "semantic")


def test_while_documents_lack_vectors_for_want_of_time_a_search_says_so_and_hybrid_ranks_by_words(
    served_from_either: Serve, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = served_from_either(embedding_url=service.url)
    answer = service.answer

    def of_one_document(path: str, body: dict[str, Any]) -> tuple[int, Any]:
        service.status = 200 if len(service.requests) <= 2 else 500  # the query, then the first document
        return answer(path, body)

    with monkeypatch.context() as patch:
        patch.setattr(meaning, "_BATCH", 1)
        patch.setattr(service, "answer", of_one_document)
        search(docs, "loan", mode="hybrid")
    service.status = 200
    with monkeypatch.context() as patch:
        patch.setattr(meaning, "_TIME_SHARE", 0.0)
        for mode in ("semantic", "hybrid"):
            found = search(docs, "loan", mode=mode)
            assert len(paths(found)) == 1
            (warning,) = found["metadata"]["warnings"]
            assert warning.startswith("1 of 3 documents are embedded")
        assert paths(found) == ["money/bank.md"]
    found = search(docs, "loan", mode="hybrid")
    assert {*paths(found)} == {*PAGES}
    assert "warnings" not in found["metadata"]


def test_embedding_reports_how_many_documents_are_done(
    served: Serve, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meaning, "_BATCH", 1)
    told: list[tuple[float, float | None]] = []
    last = asyncio.Event()

    async def report(done: float, total: float | None, message: str | None) -> None:
        assert message == "embedding documents"
        told.append((done, total))
        if done == total:
            last.set()

    async def calls() -> None:
        operation = served(embedding_url=service.url).operations["search_documents"]
        await operation.call({"query": "loan", "mode": "semantic"}, CallScope(report_progress=report))
        await asyncio.wait_for(last.wait(), 30)

    asyncio.run(calls())
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_documents_that_are_read_again_unchanged_keep_their_vectors(
    served_from_either: Serve, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh, "_TICK_NS", 3_600_000_000_000)  # every search reads the documents it finds again
    docs = served_from_either(embedding_url=service.url)
    assert paths(search(docs, "bark", mode="semantic"))[0] == "animals/dogs.md"
    before = len(service.requests)
    assert paths(search(docs, "loan", mode="semantic"))[0] == "money/bank.md"
    assert len(service.requests) == before + 1


def test_documents_that_change_during_each_search_are_left_out_with_a_warning(
    served: Serve, service: Service, write: Write
) -> None:
    turns = iter(range(100))
    answer = service.answer

    def busy(path: str, body: dict[str, Any]) -> tuple[int, Any]:
        write({"money/bank.md": f"# Banks\n\nA loan, changed {next(turns)} times.\n"})
        return answer(path, body)

    service.answer = busy  # type: ignore[method-assign]
    found = search(served(embedding_url=service.url), "a loan", mode="semantic")
    assert set(paths(found)) == {"animals/dogs.md", "cars/engine.md"}
    assert found["metadata"]["warnings"] == [meaning._CHANGING]


def test_a_service_is_asked_in_the_form_of_openai(served: Serve, service: Service) -> None:
    docs = served(embedding_url=service.url, embedding_model="tiny", embedding_key="secret")
    assert paths(search(docs, "a bark", mode="semantic"))[0] == "animals/dogs.md"
    path, key, body = service.requests[-1]
    assert (path, key, body["model"]) == ("/v1/embeddings", "Bearer secret", "tiny")


def test_a_model_whose_vectors_have_another_size_embeds_all_documents_anew(served: Serve, service: Service) -> None:
    docs = served(embedding_url=service.url)
    assert paths(search(docs, "bark", mode="semantic"))[0] == "animals/dogs.md"
    answer = service.answer

    def shorter(path: str, body: dict[str, Any]) -> tuple[int, Any]:
        status, given = answer(path, body)
        return status, {"data": [item | {"embedding": item["embedding"][:-1] or [1.0]} for item in given["data"]]}

    service.answer = shorter  # type: ignore[method-assign]
    assert paths(search(docs, "a loan", mode="semantic"))[0] == "money/bank.md"


def test_documents_are_embedded_once_and_again_when_they_change(
    served_from_either: Serve, service: Service, write: Write
) -> None:
    docs = served_from_either(embedding_url=service.url)
    search(docs, "bark", mode="semantic")
    before = len(service.requests)
    search(docs, "loan", mode="semantic")
    assert len(service.requests) == before + 1
    write({"money/bank.md": "# Banks\n\nNow about a dog and a puppy, which bark.\n"})
    search(docs, "bark", mode="semantic")
    assert {"animals/dogs.md", "money/bank.md"} == set(paths(search(docs, "bark", mode="semantic"))[:2])


@pytest.mark.parametrize("fault", ["status", "nonsense", "gone"])
def test_a_service_that_fails_is_replaced_by_words_and_the_answer_says_so(
    served: Serve, service: Service, fault: str
) -> None:
    if fault == "status":
        service.status = 500
    elif fault == "nonsense":
        service.form = "nonsense"
    else:
        service.close()
    answer = search(served(embedding_url=service.url), "puppy", mode="hybrid")
    assert paths(answer) == ["animals/dogs.md"]
    receipt = answer["metadata"]["recovery"]
    assert (receipt["strategy"], receipt["degraded"], receipt["changed"]) == (
        "lexical_search",
        True,
        {"mode": "lexical"},
    )
    assert "embedding service" in answer["metadata"]["warnings"][0]


def vector(count: int, *numbers: Any) -> bytes:
    """Return an answer with this vector for each text."""
    return json.dumps({"data": [{"index": place, "embedding": numbers} for place in range(count)]}).encode()


HOSTILE: dict[str, Callable[[int], tuple[int, bytes, dict[str, str]]]] = {
    "NaN": lambda count: (200, vector(count, 1.0, float("nan")), {}),
    "infinite": lambda count: (200, vector(count, 1e308, 1e308, float("inf")), {}),
    "integers beyond every float": lambda count: (200, vector(count, 10**400, 1), {}),
    "booleans": lambda count: (200, vector(count, True, False), {}),
    "other sizes": lambda count: (200, vector(count, *range(1, 2 + count)), {}),
    "deep": lambda _: (200, b'{"data":' * 100_000, {}),
    "objects": lambda count: (200, vector(count, *({} for _ in range(100_000))), {}),
    "a redirect": lambda count: (307, vector(count, 1.0), {"Location": "http://127.0.0.2:9/v1/embeddings"}),
    "huge": lambda count: (200, vector(count, 1.0).ljust(40_000_000), {}),
    "decoded": lambda count: (200, gzip.compress(vector(count, 1.0).ljust(40_000_000)), {"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_service_is_replaced_by_words(
    served: Serve, service: Service, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def answer(_path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        status, data, service.headers = HOSTILE[kind](len(body["input"]))
        return status, data

    monkeypatch.setattr(service, "answer", answer)
    found = search(served(embedding_url=service.url), "bark", mode="semantic")
    assert found["metadata"]["recovery"]["strategy"] == "lexical_search"


def test_a_service_that_never_ends_its_answer_is_replaced_by_words_in_time(served: Serve, service: Service) -> None:
    service.form = "dripping"
    found = search(served(embedding_url=service.url, embedding_timeout_s=0.2), "bark", mode="semantic")
    assert found["metadata"]["recovery"]["strategy"] == "lexical_search"
    assert "TimeoutError" in found["metadata"]["warnings"][0]


def test_searches_at_one_time_are_served_on_one_event_loop_after_another(served: Serve, service: Service) -> None:
    docs = served(embedding_url=service.url)

    async def both() -> list[Any]:
        return await asyncio.gather(*(docs.search_documents(query="puppy", mode="semantic") for _ in range(2)))

    answers = [answer.to_dict() for _ in range(2) for answer in asyncio.run(both())]
    assert [paths(answer)[0] for answer in answers] == ["animals/dogs.md"] * 4


def test_a_service_that_keeps_failing_is_left_alone(served: Serve, service: Service) -> None:
    docs = served(embedding_url=service.url, breaker="{open_s = 600, max_open_s = 600}")
    service.status = 503

    async def calls() -> None:
        for _ in range(12):
            await docs.search_documents(query="puppy", mode="semantic")
        asked = len(service.requests)
        for _ in range(5):
            response = await docs.search_documents(query="puppy", mode="semantic")
            assert response.success
        assert len(service.requests) == asked

    asyncio.run(calls())


def test_a_service_that_was_left_alone_is_found_again(served: Serve, service: Service) -> None:
    docs = served(embedding_url=service.url, breaker="{open_s = 0.1}")
    service.status = 503

    async def calls() -> None:
        for _ in range(12):
            await docs.search_documents(query="puppy", mode="semantic")
        service.status = 200
        until = time.monotonic() + 30
        while (await docs.search_documents(query="puppy", mode="semantic")).to_dict()["metadata"].get("recovery"):
            assert time.monotonic() < until
            await asyncio.sleep(0.02)

    asyncio.run(calls())


def test_killing_the_service_under_load_loses_no_call(served: Serve, service: Service) -> None:
    docs = served(embedding_url=service.url, breaker="{open_s = 0.05}")
    answered: list[bool] = []

    async def client() -> None:
        for _ in range(10):
            response = await docs.search_documents(query="puppy", mode="hybrid")
            assert paths(response.to_dict())[0] == "animals/dogs.md"
            answered.append(bool(response.to_dict()["metadata"].get("recovery")))
            if len(answered) == 10:
                await asyncio.to_thread(service.close)

    async def load() -> None:
        await asyncio.gather(*(client() for _ in range(4)))

    asyncio.run(load())
    assert len(answered) == 40
    assert {*answered} == {True, False}


def test_a_service_that_is_down_is_a_typed_error_where_nothing_recovers_it(served: Serve, service: Service) -> None:
    service.status = 500
    docs = served(embedding_url=service.url)

    async def embed() -> str:
        try:
            await docs.meaning._embedder.embed(["x"])
        except embedders.EmbeddingServiceError as error:
            return error.code
        return ""

    assert asyncio.run(embed()) == "EMBEDDING_SERVICE_ERROR"


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("http://h:1", "http://h:1/v1/embeddings"),
        ("http://h:1/", "http://h:1/v1/embeddings"),
        ("http://h/v1", "http://h/v1/embeddings"),
        ("http://h/v1/embeddings", "http://h/v1/embeddings"),
    ],
)
def test_requests_are_sent_to_the_embeddings_of_an_address(url: str, asked: str) -> None:
    assert request_url(url) == asked


def test_an_opening_holds_the_title_the_description_and_prose() -> None:
    body = (
        "# Heading\n\n```\ncode\n```\n\n[Home](/)\n\nThis page tells **how** to do a thing well.\n\n"
        + "More of it. " * 500
    )
    found = opening("Title", "What it is about\nSetup\nUse", body)
    assert found.startswith("Title. What it is about This page tells how to do a thing well. More of it.")
    assert len(found) < 600


def test_ranks_are_fused() -> None:
    hits = fused([ScoredRow(1, 9.0), ScoredRow(2, 8.0)], [ScoredRow(2, 0.9), ScoredRow(3, 0.8)], 5)
    assert {hit.row for hit in hits} == {1, 2, 3}
    assert hits[0].row == 2
    assert fused([ScoredRow(1, 5.0)], [ScoredRow(1, 0.5)], 5)[0].score == pytest.approx(1.0)


def test_words_weigh_more_for_a_name_and_meaning_for_a_question() -> None:
    lists = [ScoredRow(1, 9.0)], [ScoredRow(2, 0.9)]
    assert [hit.row for hit in fused(*lists, 2)] == [1, 2]
    assert [hit.row for hit in fused(*lists, 3)] == [2, 1]


def test_a_bad_address_is_a_start_up_error() -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the class of a bad setting is the framework's business
        DocsSettings(embedding_url="not an address")
    assert not isinstance(caught.value, InvalidParameter)
