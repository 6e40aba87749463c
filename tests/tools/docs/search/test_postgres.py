"""The index in PostgreSQL: outages, damage, and what callers learn of them."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from failsoft import CircuitOpen, ConfigurationError, Runtime, Settings
from failsoft.tools.docs import Docs
from tests.doors import REBUILT, DocsSettings, in_words, postgres_store, tsquery
from tests.programs.postgres import IN_POSTGRES, PostgresServer
from tests.tools.docs.parts import Write

pytestmark = IN_POSTGRES


@pytest.fixture
def served(tree: Path, write: Write) -> Iterator[Callable[[str], Docs]]:
    recovery = "dependencies.docs_database.circuit_breaker = {open_s = 0.3, max_open_s = 0.6}"
    write({"guide/intro.md": "# Introduction\n\nFirst steps.\n", "notes.md": "A lighthouse.\n"})
    made: list[Docs] = []

    def serve(url: str) -> Docs:
        surroundings = Runtime(settings=Settings(detail="full", debug_stack=False, recovery=recovery))
        made.append(Docs(tree, runtime=surroundings, settings=DocsSettings(database_url=url)))
        return made[-1]

    yield serve
    for docs in made:
        docs.projects.close()


def admin(url: str, sql: str) -> list[Any]:
    import psycopg  # noqa: PLC0415 - an extra

    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def found(response: Any) -> list[str]:
    return [hit["path"] for hit in response.to_dict()["data"]["results"]]


async def found_again(docs: Docs) -> None:
    until = time.monotonic() + 30
    while not (await docs.search_documents(query="lighthouse")).success:
        assert time.monotonic() < until
        await asyncio.sleep(0.02)


def test_a_database_that_is_down_is_a_typed_error_left_alone_and_found_again(
    mortal_postgres: PostgresServer, served: Callable[[str], Docs]
) -> None:
    docs = served(mortal_postgres.url)

    async def calls() -> None:
        assert found(await docs.search_documents(query="lighthouse")) == ["notes.md"]
        mortal_postgres.kill()
        causes = []
        for operation, given in [
            ("search_documents", {"query": "lighthouse"}),
            ("list_documents", {}),
            ("list_doc_types", {}),
            ("search_documents", {"query": "lighthouse", "doc_types": ["document"]}),
        ] * 3:
            response = await docs.execute_with_error_handling(operation, given)
            assert response.error is not None
            assert response.error.code == "DATABASE_ERROR"
            text = json.dumps(response.to_dict()).casefold()
            assert not any(word in text for word in ("select ", "socket", str(mortal_postgres.folder)))
            causes.append(response.error.exception.__cause__)
        assert isinstance(causes[-1], CircuitOpen)
        assert (await docs.get_documentation(path="notes.md")).success
        missing = await docs.get_documentation(path="nots.md")
        assert missing.error is not None
        assert missing.error.code == "DOC_NOT_FOUND"
        mortal_postgres.start()
        await found_again(docs)

    asyncio.run(calls())


def test_a_restart_between_two_calls_is_not_noticed(
    mortal_postgres: PostgresServer, served: Callable[[str], Docs]
) -> None:
    docs = served(mortal_postgres.url)

    async def calls() -> None:
        assert found(await docs.search_documents(query="lighthouse")) == ["notes.md"]
        mortal_postgres.kill()
        mortal_postgres.start()
        assert found(await docs.search_documents(query="lighthouse")) == ["notes.md"]
        mortal_postgres.kill()
        mortal_postgres.start()
        missing = await docs.get_documentation(path="lighthouse.md")
        assert "notes.md" in str(missing.to_dict()["error"]["suggestions"])

    asyncio.run(calls())


def test_killing_the_database_under_load_loses_no_call(
    mortal_postgres: PostgresServer, served: Callable[[str], Docs]
) -> None:
    docs = served(mortal_postgres.url)
    codes: list[str] = []
    killed = asyncio.Event()

    async def client() -> None:
        for _ in range(25):
            response = await docs.search_documents(query="lighthouse")
            if response.error is None:
                assert found(response) == ["notes.md"]
            codes.append("" if response.error is None else response.error.code)
            if len(codes) == 40:
                await asyncio.to_thread(mortal_postgres.kill)
                killed.set()
            if len(codes) == 90:
                await killed.wait()
                mortal_postgres.start()  # a server ends with the thread that started it

    async def load() -> None:
        await asyncio.gather(*(client() for _ in range(6)))
        await found_again(docs)

    asyncio.run(load())
    assert len(codes) == 150
    assert {*codes} <= {"", "DATABASE_ERROR"}
    assert codes[:20] == [""] * 20


def test_what_the_database_refuses_is_an_error_without_its_sql(
    postgres_url: str, served: Callable[[str], Docs], write: Write
) -> None:
    docs = served(postgres_url)
    name = postgres_url.split("?", maxsplit=1)[0].rpartition("/")[2]

    async def calls() -> None:
        assert (await docs.list_documents()).success
        docs.projects.close()
        admin(postgres_url, f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        write({"new.md": "new"})
        response = await docs.list_documents()
        assert response.error is not None
        assert response.error.code == "DATABASE_ERROR"
        text = json.dumps(response.to_dict()).casefold()
        assert not any(word in text for word in ("insert ", "read-only", "failsoft_docs_"))

    asyncio.run(calls())


@pytest.mark.parametrize("damage", ["DROP SCHEMA {} CASCADE", "DROP TABLE {}.aliases"])
def test_missing_tables_are_built_anew(postgres_url: str, served: Callable[[str], Docs], damage: str) -> None:
    docs = served(postgres_url)

    async def calls() -> None:
        assert (await docs.list_documents()).success
        ((schema,),) = admin(postgres_url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'failsoft%'")
        admin(postgres_url, damage.format(schema))
        response = await docs.get_documentation(path="lighthouse.md")
        assert "notes.md" in str(response.to_dict()["error"]["suggestions"])
        listed = await docs.list_documents()
        assert listed.to_dict()["data"]["total"] == 2
        assert listed.to_dict()["metadata"]["warnings"] == [REBUILT]

    asyncio.run(calls())


def test_a_server_that_hangs_in_a_statement_is_given_up(
    postgres_url: str, served: Callable[[str], Docs], monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = served(postgres_url)
    ours = "SELECT pid FROM pg_stat_activity WHERE application_name = 'failsoft docs' AND datname = current_database()"

    async def calls() -> None:
        assert found(await docs.search_documents(query="lighthouse")) == ["notes.md"]
        monkeypatch.setattr(postgres_store, "HUNG_S", 0.2)
        hung = [pid for (pid,) in admin(postgres_url, ours)]
        assert hung
        for pid in hung:
            os.kill(pid, signal.SIGSTOP)
        try:
            assert found(await docs.search_documents(query="lighthouse")) == ["notes.md"]
        finally:
            for pid in hung:
                os.kill(pid, signal.SIGCONT)

    asyncio.run(calls())


def test_a_table_that_another_role_has_locked_holds_no_thread_for_long(
    postgres_url: str, served: Callable[[str], Docs], monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg  # noqa: PLC0415 - an extra

    monkeypatch.setattr(postgres_store, "LOCKED_S", 0.05)
    docs = served(postgres_url)

    async def calls() -> None:
        assert found(await docs.search_documents(query="lighthouse")) == ["notes.md"]
        ((schema,),) = admin(postgres_url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'failsoft%'")
        with psycopg.connect(postgres_url) as other:
            other.execute(f"LOCK TABLE {schema}.documents IN ACCESS EXCLUSIVE MODE")
            refused = await docs.search_documents(query="lighthouse")
            assert refused.error is not None
            assert refused.error.code == "DATABASE_ERROR"
        await found_again(docs)

    asyncio.run(calls())


ALTERED = [
    "ALTER TABLE {0}.documents ALTER title TYPE json USING to_json(title)",
    "ALTER TABLE {0}.documents ALTER title DROP NOT NULL; UPDATE {0}.documents SET title = NULL",
    "ALTER TABLE {0}.documents ALTER size TYPE jsonb USING to_jsonb(size)",
    "ALTER TABLE {0}.documents ALTER path TYPE jsonb USING to_jsonb(path)",
    "ALTER TABLE {0}.pages ALTER body TYPE json USING to_json(body)",
    "UPDATE {0}.documents SET title = repeat('x', 1000000)",
]


@pytest.mark.parametrize("damage", ALTERED)
def test_tables_that_another_role_has_altered_are_built_anew(
    postgres_url: str, served: Callable[[str], Docs], damage: str
) -> None:
    docs = served(postgres_url)

    async def calls() -> None:
        assert found(await docs.search_documents(query="lighthouse")) == ["notes.md"]
        ((schema,),) = admin(postgres_url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'failsoft%'")
        admin(postgres_url, damage.format(schema))
        listed = (await docs.list_documents()).to_dict()["data"]["documents"]
        assert [(one["path"], one["title"], one["size_bytes"]) for one in listed] == [
            ("guide/intro.md", "Introduction", 29),
            ("notes.md", "notes", 14),
        ]
        assert found(await docs.search_documents(query="lighthouse")) == ["notes.md"]

    asyncio.run(calls())


HOSTILE = [
    "'; DROP SCHEMA public CASCADE; --",
    "' OR 1 = 1 --",
    "lighthouse') OR true --",
    '"; SELECT pg_sleep(60); --',
    "$$; SELECT 1; $$",
    "$1 %s ? {} %(x)s %",
    "\\'; SELECT 1 --",
    "a & b | !c <-> (d:*",
    "a\0b",
    "\ud800",
    "\u202e\u0000",
    "'" * 500,
    "(" * 900,
    "ﬀ" * 900,
    "\U0010ffff",
]


def test_hostile_values_are_values_in_every_field_and_change_nothing(
    postgres_url: str, served: Callable[[str], Docs]
) -> None:
    docs = served(postgres_url)
    calls = [
        ("search_documents", lambda text: {"query": text}),
        ("search_documents", lambda text: {"query": "lighthouse", "prefix": text}),
        ("search_documents", lambda text: {"query": "lighthouse", "level": text}),
        ("search_documents", lambda text: {"query": "lighthouse", "doc_types": [text]}),
        ("list_documents", lambda text: {"doc_type": text}),
        ("list_documents", lambda text: {"prefix": text}),
        ("list_documents", lambda text: {"cursor": text}),
        ("get_documentation", lambda text: {"path": text}),
        ("validate_document", lambda text: {"path": text}),
    ]

    async def attack() -> set[str]:
        codes = set()
        for text in HOSTILE:
            for operation, arguments in calls:
                response = await docs.execute_with_error_handling(operation, arguments(text))
                codes.add(response.error.code if response.error else "")
        assert found(await docs.search_documents(query="lighthouse")) == ["notes.md"]
        return codes

    codes = asyncio.run(attack())
    assert codes.isdisjoint({"UNKNOWN_ERROR", "DATABASE_ERROR", "TIMEOUT", "BAD_OUTPUT"}), codes


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"\0" * 5_000, b"E\xff\xff\xff\xff", b"R\0\0\0\x08\0\0\0\0" * 9]
)
def test_a_database_that_talks_nonsense_is_a_typed_error(answer: bytes, served: Callable[[str], Docs]) -> None:
    async def calls() -> str:
        async def nonsense(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(answer)
            writer.close()

        async with await asyncio.start_server(nonsense, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            response = await served(f"postgresql://127.0.0.1:{port}/x").search_documents(query="lighthouse")
        assert response.error is not None
        return response.error.code

    assert asyncio.run(calls()) == "DATABASE_ERROR"


def test_two_processes_share_one_index(postgres_url: str, served: Callable[[str], Docs]) -> None:
    one, other = served(postgres_url), served(postgres_url)

    async def calls() -> None:
        assert (await one.list_documents()).success
        ids = admin(postgres_url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'failsoft%'")
        assert found(await other.search_documents(query="lighthouse")) == ["notes.md"]
        assert admin(postgres_url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'failsoft%'") == ids

    asyncio.run(calls())


def test_without_the_extra_the_setting_is_a_start_up_error(
    served: Callable[[str], Docs], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match="psycopg"):
        served("postgresql:///x")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("next.config a/b.md it's", ["next", "config", "a", "b", "md", "it", "s"]),
        ("Café 3D 1e5 -7 Straße", ["cafe", "3d", "1e5", "7", "straße"]),
        ("検索 поиск", ["検索", "поиск"]),
    ],
)
def test_words_are_split_as_sqlite_does(text: str, words: list[str]) -> None:
    assert in_words(text) == words


def test_each_kind_of_word_is_found(postgres: PostgresServer, served: Callable[[str], Docs], write: Write) -> None:
    texts = ["next.config", "3D", "1e5", "-7", "Straße", "検索", "поиск", "x_y", "a-b", "std::move"]
    write({f"page{place}.md": f"before {text} after" for place, text in enumerate(texts)})
    docs = served(postgres.url)

    async def searches() -> dict[str, list[str]]:
        return {text: found(await docs.search_documents(query=text)) for text in texts}

    assert asyncio.run(searches()) == {text: [f"page{place}.md"] for place, text in enumerate(texts)}


@pytest.mark.parametrize(
    ("expression", "query"),
    [
        ('"a"', "'a'"),
        ('"a b"*', "('a'<->'b':*)"),
        ('("a" AND "b") OR "c"', "('a' & 'b' ) | 'c'"),
        ('(("a") NOT ("b" OR "c"))', "(('a' ) & ! ('b' | 'c' ) )"),
        ('"--"', "'failsoft0nothing'"),
    ],
)
def test_a_query_is_written_as_a_tsquery(expression: str, query: str) -> None:
    assert tsquery(expression) == query
