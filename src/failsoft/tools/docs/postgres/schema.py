"""The tables of an index in PostgreSQL, in a schema of its own."""

from __future__ import annotations

_TABLES = """
CREATE SCHEMA {name};
SET LOCAL search_path TO {name}, {extensions};
CREATE TEXT SEARCH CONFIGURATION words (COPY = pg_catalog.simple);
CREATE TABLE documents (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, path TEXT COLLATE "C" NOT NULL, folded TEXT NOT NULL,
    address TEXT NOT NULL, name TEXT NOT NULL, title TEXT NOT NULL, doc_type TEXT COLLATE "C" NOT NULL,
    level TEXT NOT NULL, changed_ns BIGINT NOT NULL, size BIGINT NOT NULL, sha256 TEXT NOT NULL
);
CREATE INDEX documents_path ON documents USING hash (path);
CREATE INDEX documents_folded ON documents USING hash (folded);
CREATE INDEX documents_address ON documents USING hash (address);
CREATE INDEX documents_name ON documents USING hash (name);
CREATE TABLE aliases (address TEXT NOT NULL, document BIGINT NOT NULL);
CREATE INDEX aliases_address ON aliases USING hash (address);
CREATE INDEX aliases_document ON aliases (document);
CREATE TABLE vectors (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, document BIGINT NOT NULL,
    model TEXT NOT NULL, vector {vector} NOT NULL);
CREATE INDEX vectors_document ON vectors (document, model);
CREATE TABLE builds (finished_ns BIGINT NOT NULL);
CREATE TABLE pages (rowid BIGINT PRIMARY KEY, title TEXT NOT NULL, path TEXT NOT NULL, lead TEXT NOT NULL,
    body TEXT NOT NULL, tokens INTEGER NOT NULL, vector TSVECTOR NOT NULL);
CREATE INDEX pages_vector ON pages USING gin (vector);
CREATE TABLE postings (term TEXT COLLATE "C" NOT NULL, document BIGINT NOT NULL, frequency REAL NOT NULL,
    tokens REAL NOT NULL, PRIMARY KEY (term, document) INCLUDE (frequency, tokens));
CREATE VIEW words AS SELECT term, count(*) AS doc FROM postings GROUP BY term;
"""
"""Paths may be longer than an entry of a B-tree, so they have hash indexes."""
_STEMS = """
CREATE TEXT SEARCH DICTIONARY stems (TEMPLATE = pg_catalog.snowball, LANGUAGE = {language});
ALTER TEXT SEARCH CONFIGURATION words ALTER MAPPING REPLACE pg_catalog.simple WITH stems;
"""
"""Has no stop words: the query parser removes them."""


def schema(name: str, language: str, extensions: str | None) -> str:
    """Return the statements that make the tables.

    Args:
        name: The name of the schema; a plain identifier.
        language: The language of the stemmer, or `none`.
        extensions: The schema of the extension pgvector; None where there is none.
    """
    tables = _TABLES.format(name=name, extensions=extensions or "public", vector="vector" if extensions else "BYTEA")
    return tables if language == "none" else tables + _STEMS.format(language=language)
