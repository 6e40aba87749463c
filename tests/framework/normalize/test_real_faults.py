"""Faults made for real: by the kernel, by SQLite, by sockets on loopback."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import httpx2
import pytest

from failsoft import ToolError
from tests.doors import normalize


def fault(function, *arguments, **options) -> ToolError:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - whatever comes
        function(*arguments, **options)
    return normalize(caught.value)


def facts(error: ToolError) -> tuple[str, str | None]:
    return error.code, error.details.get("errno")


def test_files_and_folders(tmp_path: Path):
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_text("x")
    folder.mkdir()
    (folder / "inner").write_text("x")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert facts(fault(open, tmp_path / "gone")) == ("NOT_FOUND", "ENOENT")
    assert facts(fault(open, folder, "w")) == ("INVALID_ARGUMENT", "EISDIR")
    assert facts(fault(os.listdir, file)) == ("INVALID_ARGUMENT", "ENOTDIR")
    assert facts(fault(open, file / "below")) == ("INVALID_ARGUMENT", "ENOTDIR")
    assert facts(fault(os.mkdir, folder)) == ("ALREADY_EXISTS", "EEXIST")
    assert facts(fault(os.rmdir, folder)) == ("CONFLICT", "ENOTEMPTY")
    assert facts(fault(open, tmp_path / "loop")) == ("INVALID_ARGUMENT", "ELOOP")
    assert facts(fault(open, tmp_path / ("x" * 300))) == ("INVALID_ARGUMENT", "ENAMETOOLONG")
    assert facts(fault(os.readlink, file)) == ("INVALID_ARGUMENT", "EINVAL")
    assert facts(fault(os.kill, 2**22 + 1, 0)) == ("NOT_FOUND", "ESRCH")
    assert fault(open, b"\xff\0").code == "UNKNOWN_ERROR"
    assert fault(shutil.copytree, tmp_path / "gone", folder).code == "NOT_FOUND"


def test_no_path_of_the_machine_is_in_the_sentence(tmp_path: Path):
    assert str(tmp_path) not in fault(open, tmp_path / "gone").message


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk():
    def write() -> None:
        with Path("/dev/full").open("w", encoding="utf-8") as file:
            file.write("x" * 100_000)

    assert facts(fault(write)) == ("STORAGE_ERROR", "ENOSPC")


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="this system has no /proc")
def test_a_place_that_cannot_be_written():
    assert fault(os.mkdir, "/proc/failsoft").category in {"not_found", "permission_denied"}


def test_a_pipe_whose_reader_is_gone():
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert facts(fault(os.write, writer, b"x")) == ("UNAVAILABLE", "EPIPE")
    finally:
        os.close(writer)


def test_too_many_open_files():
    program = """if True:
        import resource, os
        from tests.doors import normalize
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
        held = []
        try:
            while True:
                held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError as error:
            print(normalize(error).code, normalize(error).details["errno"])
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["OVERLOADED", "EMFILE"]


def test_a_program_that_fails_and_one_that_is_not_there():
    failing = fault(subprocess.run, [sys.executable, "-c", "raise SystemExit(3)"], check=True)
    assert (failing.code, failing.details["exit_status"]) == ("UPSTREAM_ERROR", 3)
    reader, writer = os.pipe()
    hanging = fault(subprocess.run, [sys.executable, "-c", "input()"], timeout=0.05, stdin=reader)
    os.close(reader)
    os.close(writer)
    assert hanging.code == "TIMEOUT"
    assert fault(subprocess.run, ["no such program"]).code == "CONFIG_ERROR"


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_a_port_without_a_listener():
    import requests  # noqa: PLC0415 - for this test alone

    port = closed_port()
    plain = fault(socket.create_connection, ("127.0.0.1", port))
    with httpx2.Client() as client:
        modern = fault(client.get, f"http://127.0.0.1:{port}/")
    with requests.Session() as session:
        session.trust_env = False
        classic = fault(session.get, f"http://127.0.0.1:{port}/")
    assert [(one.code, one.effect) for one in (plain, modern, classic)] == [("UNAVAILABLE", "none")] * 3


def test_a_server_that_hangs_up_without_an_answer():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            connection, _ = server.accept()
            connection.recv(1)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        with httpx2.Client() as client:
            error = fault(client.post, f"http://127.0.0.1:{server.getsockname()[1]}/", content=b"x")
        thread.join()
    assert (error.code, error.effect) == ("UNAVAILABLE", None)


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert facts(fault(socket.create_server, server.getsockname())) == ("CONFLICT", "EADDRINUSE")


def test_sqlite(tmp_path: Path):
    path = tmp_path / "a.db"
    with sqlite3.connect(path, timeout=0) as one, sqlite3.connect(path, timeout=0) as two:
        one.execute("create table t (x integer primary key, y text not null check (y <> ''))")
        one.commit()
        one.execute("begin immediate")
        assert fault(two.execute, "begin immediate").code == "UNAVAILABLE"
        one.execute("insert into t values (1, 'a')")
        assert fault(one.execute, "insert into t values (1, 'b')").code == "CONFLICT"
        assert fault(one.execute, "insert into t values (2, null)").code == "INVALID_ARGUMENT"
        assert fault(one.execute, "select * from gone").code == "DATABASE_ERROR"
        assert fault(one.execute, "selec").code == "DATABASE_ERROR"
        one.rollback()
        two.execute("pragma query_only = on")
        assert fault(two.execute, "insert into t values (3, 'c')").code == "STORAGE_ERROR"
        two.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)
        assert fault(two.execute, "select y from t").code == "PERMISSION_DENIED"
        two.set_authorizer(None)
    one.close()
    two.close()
    assert fault(one.execute, "select 1").code == "DATABASE_ERROR"


def test_sqlite_files_that_are_none(tmp_path: Path):
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"not a database" * 100)
    connection = sqlite3.connect(broken)
    error = fault(connection.execute, "select * from sqlite_master")
    connection.close()
    assert (error.code, error.details["sqlite"]) == ("STORAGE_ERROR", "SQLITE_NOTADB")
    assert fault(sqlite3.connect, tmp_path / "gone" / "a.db").details["sqlite"] == "SQLITE_CANTOPEN"
    full = sqlite3.connect(":memory:")
    full.execute("pragma max_page_count = 1")
    error = fault(full.executescript, "create table a (x); create table b (x);")
    full.close()
    assert (error.code, error.details["sqlite"]) == ("STORAGE_ERROR", "SQLITE_FULL")


def test_sqlalchemy_over_sqlite():
    import sqlalchemy  # noqa: PLC0415 - for this test alone

    engine = sqlalchemy.create_engine("sqlite://")
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text("create table t (x integer primary key)"))
        insert = sqlalchemy.text("insert into t values (:x)")
        connection.execute(insert, {"x": 1})
        assert fault(connection.execute, insert, {"x": 1}).code == "CONFLICT"
        error = fault(connection.execute, sqlalchemy.text("select * from gone where x = :x"), {"x": "hunter2"})
        assert error.code == "DATABASE_ERROR"
        assert "hunter2" not in error.operator_hint
        nothing = connection.execute(sqlalchemy.text("select x from t where x = 5"))
        assert fault(nothing.one).code == "NOT_FOUND"
    engine.dispose()
