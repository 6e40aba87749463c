"""Constraints of databases: which one refused the data, where it is, and no value.

The drivers are imported by the tests that need them: together that takes a second.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from failsoft import ToolError
from tests.doors import normalize
from tests.each import each
from tests.programs.postgres import IN_POSTGRES

pytestmark = pytest.mark.anyio
SECRET = "hunter2"

UNIQUE = "A value that must be unique in the database is there already."
CHECK = "A value breaks a CHECK constraint of the database."
NULL = "A value that the database requires is missing."
REFERENCE = "A row that this refers to is not in the database, or other rows there still refer to this one."
REFERENCED = "Other rows of the database still refer to this one."
RULE = "The data breaks a rule of the database."
PLACE = "A value does not fit its place in the database."
LONG = "A value is longer than its column in the database allows."
RANGE = "A value is out of the range of its column in the database."


def facts(error: ToolError) -> tuple[str, str, str]:
    assert SECRET not in error.message
    return error.category, error.retry, error.message


def plain(engine: Any) -> sqlite3.Connection:
    connection: Any = engine.raw_connection().driver_connection
    assert isinstance(connection, sqlite3.Connection)
    return connection


@pytest.fixture(scope="module")
def lite() -> Iterator[Any]:
    import sqlalchemy  # noqa: PLC0415 - see above

    engine = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.StaticPool)
    plain(engine).executescript(
        """
        pragma foreign_keys = on;
        create table lots (id integer primary key, name text unique);
        create table items (lot integer references lots, size integer check (size > 0), mass integer,
            note text not null default '', constraint mass_is_real check (mass < 9));
        create table pairs (a, b, primary key (a, b)) without rowid;
        create table names (v text);
        create unique index folded_name on names (lower(v));
        create table strict_ones (x integer) strict;
        create trigger kept before delete on lots begin select raise(abort, 'lots are never deleted'); end;
        insert into lots values (1, 'hunter2');
        insert into pairs values (1, 2);
        insert into names values ('A');
        """
    )
    yield engine
    engine.dispose()


@each("through_sqlalchemy", [False, True])
@each(
    ("statement", "category", "message"),
    [
        ("insert into lots values (2, 'hunter2')", "conflict", f'{UNIQUE} Column: "lots.name".'),
        ("insert into pairs values (1, 2)", "conflict", f'{UNIQUE} Columns: "pairs.a, pairs.b".'),
        ("insert into names values ('a')", "conflict", f'{UNIQUE} Index: "folded_name".'),
        ("insert into items (size) values (-1)", "invalid_argument", f'{CHECK} Constraint: "size > 0".'),
        ("insert into items (mass) values (9)", "invalid_argument", f'{CHECK} Constraint: "mass_is_real".'),
        ("insert into items (note) values (null)", "invalid_argument", f'{NULL} Column: "items.note".'),
        ("insert into items (lot) values (5)", "conflict", REFERENCE),
        ("delete from lots", "conflict", f'{RULE} It said: "lots are never deleted".'),
        (
            "insert into strict_ones values ('hunter2')",
            "invalid_argument",
            f'{PLACE} It said: "cannot store TEXT value in INTEGER column strict_ones.x".',
        ),
        ("insert into lots values ('hunter2', 'b')", "invalid_argument", PLACE),
    ],
)
def test_a_constraint_of_sqlite(
    statement: str, category: str, message: str, through_sqlalchemy: bool, lite: Any
) -> None:
    import sqlalchemy.exc  # noqa: PLC0415 - see above

    with lite.connect() as connection, pytest.raises((sqlite3.Error, sqlalchemy.exc.SQLAlchemyError)) as caught:
        connection.exec_driver_sql(statement) if through_sqlalchemy else plain(lite).execute(statement)
    assert facts(normalize(caught.value)) == (category, "after_fix", message)


POSTGRES = """
    drop schema if exists constraints cascade;
    create schema constraints;
    set search_path to constraints;
    create type mood as enum ('sad', 'happy');
    create table lots (id integer primary key, name text unique);
    create table items (lot integer references lots, kept integer references lots on delete restrict,
        size integer check (size > 0), code varchar(3), mass numeric(4, 2), mood mood, made date,
        note text not null default '', constraint mass_is_real check (mass < 9),
        during int4range, exclude using gist (during with &&));
    create function refuse() returns trigger language plpgsql as
        $$ begin raise exception 'lots are never renamed'; end $$;
    create trigger kept before update on lots for each row execute function refuse();
    insert into lots values (1, 'hunter2'), (2, 'b'), (3, 'c');
    insert into items (lot, during) values (1, '[1,5)');
    insert into items (kept) values (2);
"""
OF_POSTGRES = [
    ("insert into lots values (5, 'hunter2')", "conflict", f'{UNIQUE} Constraint: "lots_name_key".'),
    ("insert into items (size) values (-1)", "invalid_argument", f'{CHECK} Constraint: "items_size_check".'),
    ("insert into items (mass) values (9)", "invalid_argument", f'{CHECK} Constraint: "mass_is_real".'),
    ("insert into items (note) values (null)", "invalid_argument", f'{NULL} Column: "items.note".'),
    ("insert into items (lot) values (9)", "conflict", f'{REFERENCE} Constraint: "items_lot_fkey".'),
    ("delete from lots where id = 2", "conflict", f'{REFERENCE} Constraint: "items_kept_fkey".'),
    (
        "insert into items (during) values ('[2,3)')",
        "conflict",
        'The data conflicts with a row that is in the database already. Constraint: "items_during_excl".',
    ),
    ("update lots set name = 'x'", "conflict", f'{RULE} It said: "lots are never renamed".'),
    (
        "insert into items (code) values ('hunter2')",
        "invalid_argument",
        f'{LONG} It said: "value too long for type character varying(3)".',
    ),
    ("insert into items (mass) values (777)", "invalid_argument", f'{RANGE} It said: "numeric field overflow".'),
    (
        "select '77777777777'::integer",
        "invalid_argument",
        f'{RANGE} It said: "value is out of range for type integer".',
    ),
    ("select 'hunter2'::integer", "invalid_argument", f'{PLACE} It said: "invalid input syntax for type integer".'),
    (
        "insert into items (mood) values ('hunter2')",
        "invalid_argument",
        f'{PLACE} It said: "invalid input value for enum mood".',
    ),
    (
        "insert into items (made) values ('2026-02-31')",
        "invalid_argument",
        f'{RANGE} It said: "date/time field value out of range".',
    ),
]


@IN_POSTGRES
@each("driver", ["psycopg", "sqlalchemy", "asyncpg"])
async def test_a_constraint_of_postgres(driver: str, postgres_url: str) -> None:
    import psycopg  # noqa: PLC0415 - see above

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(POSTGRES)
    found = [await _refusal(driver, postgres_url, statement) for statement, _, _ in OF_POSTGRES]
    assert list(map(facts, found)) == [(category, "after_fix", message) for _, category, message in OF_POSTGRES]


async def _refusal(driver: str, url: str, statement: str) -> ToolError:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - each driver has its own
        await RUN[driver](url, statement)
    return normalize(caught.value)


SOUGHT = "set search_path to constraints"


async def _with_psycopg(url: str, statement: str) -> None:
    import psycopg  # noqa: PLC0415 - see above

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SOUGHT)
        connection.execute(statement)  # type: ignore[call-overload]  # a literal of this module


async def _with_sqlalchemy(url: str, statement: str) -> None:
    import sqlalchemy  # noqa: PLC0415 - see above

    address = url.replace("postgresql:", "postgresql+psycopg:")
    with sqlalchemy.create_engine(address, poolclass=sqlalchemy.NullPool).connect() as connection:
        connection.execute(sqlalchemy.text(SOUGHT))
        connection.execute(sqlalchemy.text(statement))


async def _with_asyncpg(url: str, statement: str) -> None:
    import asyncpg  # noqa: PLC0415 - see above

    connection = await asyncpg.connect(url)
    try:
        await connection.execute(SOUGHT)
        await connection.execute(statement)
    finally:
        await connection.close()


RUN = {"psycopg": _with_psycopg, "sqlalchemy": _with_sqlalchemy, "asyncpg": _with_asyncpg}


def test_an_asynchronous_driver_of_sqlalchemy_names_the_constraint() -> None:
    import asyncpg  # noqa: PLC0415 - see above
    import sqlalchemy.exc  # noqa: PLC0415 - see above
    from sqlalchemy.dialects.postgresql.asyncpg import AsyncAdapt_asyncpg_dbapi  # noqa: PLC0415 - see above

    own = asyncpg.exceptions.UniqueViolationError("duplicate")
    own.constraint_name = "lots_name_key"
    adapted = AsyncAdapt_asyncpg_dbapi.IntegrityError("duplicate", own)
    adapted.__cause__ = own
    error = sqlalchemy.exc.IntegrityError("insert", {}, adapted)
    assert facts(normalize(error)) == ("conflict", "after_fix", f'{UNIQUE} Constraint: "lots_name_key".')


BY = "`shop`.`items`, CONSTRAINT `items_lot` FOREIGN KEY (`lot`) REFERENCES `lots` (`id`)"
OF_MYSQL: list[tuple[int, str, str, str]] = [
    (1062, "Duplicate entry 'hunter2' for key 'lots.name'", "conflict", f'{UNIQUE} Index: "lots.name".'),
    (1048, "Column 'note' cannot be null", "invalid_argument", f'{NULL} Column: "note".'),
    (1364, "Field 'note' doesn't have a default value", "invalid_argument", f'{NULL} Column: "note".'),
    (3819, "Check constraint 'items_chk_1' is violated.", "invalid_argument", f'{CHECK} Constraint: "items_chk_1".'),
    (
        4025,
        "CONSTRAINT `items.size` failed for `shop`.`items`",
        "invalid_argument",
        f'{CHECK} Constraint: "items.size".',
    ),
    (
        1452,
        f"Cannot add or update a child row: a foreign key constraint fails ({BY})",
        "conflict",
        'The row that this refers to is not in the database. Constraint: "items_lot".',
    ),
    (
        1451,
        f"Cannot delete or update a parent row: a foreign key constraint fails ({BY})",
        "conflict",
        f'{REFERENCED} Constraint: "items_lot".',
    ),
    (1406, "Data too long for column 'code' at row 1", "invalid_argument", f'{LONG} Column: "code".'),
    (1264, "Out of range value for column 'mass' at row 1", "invalid_argument", f'{RANGE} Column: "mass".'),
    (
        1366,
        "Incorrect integer value: 'hunter2' for column `shop`.`items`.`size` at row 1",
        "invalid_argument",
        f'{PLACE} Column: "shop.items.size".',
    ),
    (1644, "lots are never renamed", "conflict", f'{RULE} It said: "lots are never renamed".'),
]


@each(("number", "text", "category", "message"), OF_MYSQL)
@each("kind", ["IntegrityError", "OperationalError", "DataError"])
def test_a_constraint_of_mysql(kind: str, number: int, text: str, category: str, message: str) -> None:
    import pymysql.err  # noqa: PLC0415 - see above

    assert facts(normalize(getattr(pymysql.err, kind)(number, text))) == (category, "after_fix", message)


RULES: Any = {
    "operatorName": "$jsonSchema",
    "schemaRulesNotSatisfied": [
        {"operatorName": "required", "missingProperties": ["email"]},
        {
            "operatorName": "properties",
            "propertiesNotSatisfied": [
                {"propertyName": "age", "details": [{"operatorName": "minimum", "consideredValue": SECRET}]}
            ],
        },
    ],
}


def test_a_constraint_of_mongodb() -> None:
    import pymongo.errors  # noqa: PLC0415 - see above

    taken = {
        "code": 11000,
        "errmsg": 'E11000 duplicate key error collection: a.b index: name_1 dup key: { n: "hunter2" }',
    }
    invalid: Any = {"code": 121, "errmsg": "Document failed validation", "errInfo": {"details": RULES}}
    message = 'A document breaks the validation rules of its collection. Properties: "email, age".'
    for refused in (
        pymongo.errors.WriteError("x", 121, invalid),
        pymongo.errors.BulkWriteError({"writeErrors": [invalid]}),
    ):
        assert facts(normalize(refused)) == ("invalid_argument", "after_fix", message)
    for refused in (
        pymongo.errors.DuplicateKeyError(taken["errmsg"], 11000, taken),
        pymongo.errors.BulkWriteError({"writeErrors": [taken]}),
    ):
        assert facts(normalize(refused)) == ("conflict", "after_fix", f'{UNIQUE} Index: "name_1".')
