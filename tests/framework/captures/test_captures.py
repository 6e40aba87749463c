"""What is kept of failed calls: which ones, what of them, and where."""

from __future__ import annotations

import json
import os
import resource
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from pydantic import SecretStr

from failsoft import BaseTool, CallContext, InvalidParameter, NotFound, RecoveryManager, operation
from failsoft.recovery import Chaos
from tests.doors import CaptureFolder, NullMetrics, captures_folder, finish_captures, read_capture
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Books(BaseTool):
    """Books."""

    @operation(read_only=True)
    async def find(self, title: Any, note: Any = None, token: str = "", shelf: SecretStr | None = None) -> int:
        """Find a book."""
        return {"Dune": 2}[title]

    @operation(read_only=True, sensitive=True)
    async def read_diary(self, title: str) -> int:
        """Read what is nobody's business."""
        return await self._found(title)

    async def _found(self, title: str) -> int:
        return (await self.find(title=title)).unwrap()

    @operation(effects=True)
    async def lend(self, title: str, call: CallContext) -> None:
        """Lend a book."""
        await call.effect("stamp", lambda: {"stamp": title})
        await call.effect("post", self._refuse)

    def _refuse(self) -> None:
        raise NotFound(message="There is no such address.", effect="none")

    @operation(read_only=True, recovery=[Chaos(7, fault=1.0)])
    async def order(self, title: str) -> str:
        """Order a book."""
        return title


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a state folder of this test alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def books(**settings: Any) -> Books:
    return Books(runtime=quiet_runtime(recovery=RecoveryManager(), **{"capture": "failures", **settings}))


async def kept(tool: Books, name: str, **arguments: Any) -> Any:
    """Return the capture of a call that fails."""
    response = await tool.execute_with_error_handling(name, arguments)
    assert response.error is not None
    finish_captures()
    return read_capture(response.error.error_id)


def files() -> list[Path]:
    finish_captures()
    return sorted(captures_folder().glob("*")) if captures_folder().exists() else []


async def test_a_failed_call_is_kept_with_its_arguments_and_its_end_in_a_private_file() -> None:
    capture = await kept(books(), "find", title="Emma", note={"content": "kept"})
    assert (capture.operation, capture.arguments) == ("find", {"title": "Emma", "note": {"content": "kept"}})
    assert (capture.code, capture.type, capture.function) == ("UNKNOWN_ERROR", "KeyError", "Books.find")
    assert capture.origin.partition(" in ")[0].startswith(__file__)
    assert (capture.redacted, capture.not_replayable) == ([], "")
    (file,) = files()
    assert file.name == f"{capture.error_id}.json"
    assert (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode)) == (0o600, 0o700)


@pytest.mark.parametrize(
    ("settings", "is_kept"),
    [
        ({"capture": None}, False),
        ({"capture": None, "environment": "staging"}, False),
        ({"capture": None, "environment": "development"}, True),
        ({"capture": "off", "environment": "development"}, False),
        ({"capture": "failures"}, True),
    ],
)
async def test_failures_are_kept_in_development_or_where_it_is_asked_for(settings: Any, is_kept: bool) -> None:
    tool = books(**settings)
    await tool.find(title="Dune")
    assert files() == []
    await tool.find(title="Emma")
    assert len(files()) == int(is_kept)


async def test_nothing_is_kept_of_a_sensitive_operation_nor_of_what_it_calls() -> None:
    await books().read_diary(title="secret")
    assert files() == []


async def test_a_call_under_its_own_name_is_kept_whoever_counts_it_and_an_unknown_tool_is_not() -> None:
    tool = books()
    await tool.find.under_name(metrics=NullMetrics()).call({"title": "Emma"})  # as a job's process makes it
    assert len(files()) == 1
    response = await tool.execute_with_error_handling("fnid", {})
    assert response.error is not None
    assert response.error.code == "UNKNOWN_TOOL"
    assert len(files()) == 1


SECRETS = [
    ({"token": "sk-live-4f8a7b6c5d4e3f2a1b0c"}, "token"),
    ({"note": {"deep": [{"password": "correct horse"}]}}, "note.deep.0.password"),
    ({"note": "postgres://app:hunter2secret@db.internal/orders"}, "note"),
    ({"note": ["Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"]}, "note.0"),
    ({"note": {"AKIAIOSFODNN7EXAMPLE": 1}}, "note"),
    ({"token": "hunter2secret", "note": "so it is hunter2secret"}, "note"),
    ({"shelf": "hunter2secret"}, "shelf"),
    ({"shelf": "hunter2secret", "note": "so it is hunter2secret"}, "note"),
    ({"note": "x" * 40_000 + " password=hunter2secret " + "y" * 40_000}, "note"),
]


@pytest.mark.parametrize(("arguments", "path"), SECRETS)
async def test_secrets_are_redacted_and_the_call_is_kept_as_not_replayable(arguments: Any, path: str) -> None:
    capture = await kept(books(), "find", title="Emma", **arguments)
    assert path in capture.redacted
    assert capture.not_replayable
    text = captures_folder().joinpath(f"{capture.error_id}.json").read_text()
    for secret in ("sk-live", "correct horse", "hunter2secret", "eyJhbGci", "AKIAIOSFODNN7EXAMPLE"):
        assert secret not in text


async def test_secrets_in_results_of_effects_and_in_settings_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILSOFT_AUTH_TOKEN", "hunter2secret")
    monkeypatch.setenv("FAILSOFT_SHOP_DATABASE", "postgres://app:hunter2secret@db/orders")
    monkeypatch.setenv("FAILSOFT_SHOP_LIMIT", "5")

    class Paying(BaseTool):
        """Pays."""

        @operation(effects=True)
        async def pay(self, call: CallContext) -> None:
            """Pay."""
            await call.effect("charge", lambda: {"client_secret": "hunter2secret"})
            raise LookupError

    response = await Paying(runtime=quiet_runtime(capture="failures")).pay()
    finish_captures()
    assert response.error is not None
    capture = read_capture(response.error.error_id)
    assert (capture.effects[0].name, capture.effects[0].value) == ("charge", {"client_secret": "<redacted>"})
    assert capture.not_replayable
    assert capture.settings == {"FAILSOFT_SHOP_LIMIT": "5"}
    assert capture.withheld == ["FAILSOFT_AUTH_TOKEN", "FAILSOFT_SHOP_DATABASE"]
    assert "hunter2secret" not in captures_folder().joinpath(f"{capture.error_id}.json").read_text()


def nested(depth: int) -> Any:
    tree: Any = []
    for _ in range(depth):
        tree = [tree]
    return tree


@pytest.mark.parametrize(
    ("note", "is_exact"),
    [
        ("\ud800 and \udfff", True),
        ("null \x00 and \u202e", True),
        ("long " * 200_000, True),
        (10**400, True),
        (nested(90), True),
        (nested(100_000), False),
        (float("nan"), False),
        ({1: "a number as a key"}, False),
        (object(), False),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_hostile_arguments_are_kept_as_they_are_or_said_not_to_be(note: Any, is_exact: bool) -> None:
    capture = await kept(books(), "find", title="Emma", note=note)
    assert (capture.not_replayable == "") is is_exact
    assert not is_exact or capture.arguments == {"title": "Emma", "note": note}


async def test_marked_effects_and_injected_faults_are_kept_in_order() -> None:
    capture = await kept(books(), "lend", title="Dune")
    stamped, posted = capture.effects
    assert (stamped.operation, stamped.name, stamped.value) == ("lend", "stamp", {"stamp": "Dune"})
    assert posted.error is not None
    assert (posted.name, posted.error["code"], posted.error["function"]) == ("post", "NOT_FOUND", "Books._refuse")
    capture = await kept(books(), "order", title="Dune")
    assert [(fault.operation, fault.kind) for fault in capture.faults] == [("order", "fault")]


async def test_the_oldest_captures_are_removed_by_number_and_by_bytes() -> None:
    tool = books(capture_count=3)
    ids = [(await kept(tool, "find", title=f"{number}")).error_id for number in range(5)]
    assert {file.stem for file in files()} == set(ids[-3:])
    small = books(capture_bytes=2_500)
    for number in range(5):
        await small.find(title=f"{number}")
    assert sum(file.stat().st_size for file in files()) <= 2_500
    assert files()


async def test_captures_that_are_too_old_are_removed() -> None:
    old = await kept(books(), "find", title="Emma")
    os.utime(captures_folder() / f"{old.error_id}.json", (1, 1))
    (captures_folder() / f".{old.error_id}.1").touch()
    os.utime(captures_folder() / f".{old.error_id}.1", (1, 1))
    (captures_folder() / "notes.txt").touch()  # not ours, as an operator may leave it
    new = await kept(books(capture_keep_s=60.0), "find", title="Emma")
    assert [file.name for file in files()] == sorted([f"{new.error_id}.json", "notes.txt"])


def _link(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    (folder.parent / "elsewhere").mkdir()
    folder.symlink_to("elsewhere")


def _file(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.touch()


@pytest.mark.parametrize("prepare", [_link, _file])
async def test_a_store_that_cannot_be_written_is_a_line_in_the_log_and_no_other_answer(
    prepare: Callable[[Path], None],
) -> None:
    prepare(captures_folder())
    lines: list[Any] = []
    logger.enable("failsoft")
    sink = logger.add(lambda message: lines.append(message.record["extra"].get("event")), level="WARNING")
    try:
        response = await books().find(title="Emma")
        finish_captures()
    finally:
        logger.remove(sink)
        logger.disable("failsoft")
    assert response.error is not None
    assert response.error.code == "UNKNOWN_ERROR"
    assert "capture_failed" in lines
    assert not any((captures_folder().parent / "elsewhere").glob("*"))


async def test_a_folder_that_others_may_read_is_closed() -> None:
    captures_folder().mkdir(parents=True)
    captures_folder().chmod(0o755)
    await kept(books(), "find", title="Emma")
    assert stat.S_IMODE(captures_folder().stat().st_mode) == 0o700


def test_a_capture_that_is_larger_than_all_may_be_is_refused_and_removes_none(tmp_path: Path) -> None:
    folder = CaptureFolder(tmp_path / "captures", count=9, bytes_at_most=100, keep_s=60)
    folder.write("a" * 16, b"x" * 60)
    with pytest.raises(OSError, match="larger"):
        folder.write("b" * 16, b"x" * 101)
    assert [file.name for file in folder.folder.iterdir()] == [f"{'a' * 16}.json"]


def test_what_cannot_be_removed_keeps_no_other_capture(tmp_path: Path) -> None:
    (tmp_path / f"{'0' * 16}.json").mkdir(parents=True)
    os.utime(tmp_path / f"{'0' * 16}.json", (1, 1))
    folder = CaptureFolder(tmp_path, count=2, bytes_at_most=1_000, keep_s=60)
    for letter in "abcd":
        folder.write(letter * 16, b"{}")
    assert {file.name[0] for file in tmp_path.iterdir()} == {"0", "c", "d"}


def test_several_writers_of_one_folder_keep_to_the_bounds_together(tmp_path: Path) -> None:
    folders = [CaptureFolder(tmp_path / "captures", count=10, bytes_at_most=10_000, keep_s=60) for _ in range(4)]

    def write(folder: CaptureFolder, number: int) -> None:
        for place in range(25):
            folder.write(f"{number:08x}{place:08x}", b"{}")

    threads = [threading.Thread(target=write, args=(folder, number)) for number, folder in enumerate(folders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    folders[0].write("f" * 16, b"{}")
    assert len(list((tmp_path / "captures").iterdir())) <= 10


async def test_the_file_is_ascii_json_that_any_program_reads() -> None:
    capture = await kept(books(), "find", title="Ümläute und 🚀", note="\u2028")
    content = captures_folder().joinpath(f"{capture.error_id}.json").read_bytes()
    assert content.isascii()
    assert json.loads(content)["arguments"] == {"title": "Ümläute und 🚀", "note": "\u2028"}


def test_a_full_disk_leaves_no_part_of_a_capture(tmp_path: Path) -> None:
    folder = CaptureFolder(tmp_path / "captures", count=9, bytes_at_most=1_000_000, keep_s=60)
    folder.write("a" * 16, b"{}")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            folder.write("b" * 16, b"x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [file.name for file in folder.folder.iterdir()] == [f"{'a' * 16}.json"]


def _as_text(text: str) -> Callable[[Path], object]:
    return lambda file: file.write_text(text)


def _changed(**facts: Any) -> Callable[[Path], object]:
    return lambda file: file.write_text(json.dumps({**json.loads(file.read_text()), **facts}))


def _linked(file: Path) -> None:
    file.rename(file.with_suffix(".txt"))
    file.symlink_to(file.with_suffix(".txt"))


@pytest.mark.parametrize(
    "tamper",
    [
        _as_text(""),
        _as_text("[1]"),
        _as_text("[" * 100_000),
        _changed(version=2),
        _changed(error_id="0" * 16),
        _changed(effects=[{"operation": 1}]),
        _changed(faults=[{"operation": "price", "delay_s": 1e9, "kind": "fault"}]),
        lambda file: file.chmod(0o666),
        _linked,
    ],
    ids=["empty", "list", "deep", "version", "id", "effects", "delay", "mode", "link"],
)
async def test_a_capture_that_was_tampered_with_is_refused(tamper: Callable[[Path], object]) -> None:
    error_id = (await kept(books(), "find", title="Emma")).error_id
    tamper(captures_folder() / f"{error_id}.json")
    with pytest.raises(InvalidParameter, match=error_id):
        read_capture(error_id)
