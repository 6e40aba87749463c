"""The board of a worker: what others read of it while it lives, and after it was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest
from filelock import FileLock

from tests.doors import DURATION, Board, Boards, Row, added, in_use, use_board

PROCESS = """
import sys
from pathlib import Path
from tests.doors import Board

board = Board.create(Path(sys.argv[1]), slot=int(sys.argv[2]))
board.numbers.new("mcp_tool_errors_total", ("shop", "pay", "outage", "UNAVAILABLE"))[0] = 3
board.numbers.new("mcp_tool_inflight", ("shop", "pay"))[0] = 2
board.gauges.append(lambda: [("mcp_connections", (), 5.0)])
board.note_call({"code": "UNAVAILABLE", "worker": sys.argv[2]})
board.beat(phase="ready")
board.note_running("shop.pay")
print("there", flush=True)
input()
"""
ERRORS = ("mcp_tool_errors_total", ("shop", "pay", "outage", "UNAVAILABLE"))


@pytest.fixture(autouse=True)
def _no_board_in_use() -> Iterator[None]:
    yield
    use_board(None)


class Worker:
    """A process with a board."""

    def __init__(self, folder: Path, slot: int) -> None:
        command = [sys.executable, "-c", PROCESS, str(folder), str(slot)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "there\n"

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[list[Worker]]:
    started = [Worker(tmp_path, 0), Worker(tmp_path, 1)]
    yield started
    for worker in started:
        worker.kill()


def counted(boards: Boards) -> float:
    return added(boards.rows())[ERRORS][0]


def test_each_worker_is_there_with_its_last_beat(tmp_path: Path, workers: list[Worker]) -> None:
    found = Boards(tmp_path).workers()
    assert [(worker.pid, worker.slot, worker.phase, worker.running, worker.is_alive) for worker in found] == [
        (worker.process.pid, slot, "ready", "shop.pay", True) for slot, worker in enumerate(workers)
    ]
    assert all(worker.beat_age_s < 60 for worker in found)


def test_the_numbers_of_all_workers_are_added_up(tmp_path: Path, workers: list[Worker]) -> None:
    assert len(workers) == 2
    boards = Boards(tmp_path)
    assert counted(boards) == counted(boards) == 6
    assert boards.gauges() == 2 * [("mcp_connections", (), 5.0)]


def test_the_counts_of_a_killed_worker_stay_and_its_gauges_go(tmp_path: Path, workers: list[Worker]) -> None:
    boards = Boards(tmp_path)
    assert len(boards.workers()) == 2
    workers[0].kill()
    assert [worker.is_alive for worker in boards.workers()] == [False, True]
    assert counted(boards) == 6
    assert boards.gauges() == [("mcp_connections", (), 5.0)]


def test_a_retired_worker_leaves_its_counts_and_no_file(tmp_path: Path, workers: list[Worker]) -> None:
    boards, others = Boards(tmp_path), Boards(tmp_path)
    assert counted(others) == 6
    for slot, worker in enumerate(workers):
        worker.kill()
        boards.retire(slot)
        boards.retire(slot)
        assert counted(boards) == counted(others) == 6
    assert boards.workers() == others.workers() == []
    assert ("mcp_tool_inflight", ("shop", "pay")) not in added(boards.rows())
    assert [file.name for file in tmp_path.iterdir()] == ["retired.json"]


def test_the_names_of_removed_boards_are_forgotten(tmp_path: Path) -> None:
    boards = Boards(tmp_path)
    for _ in range(3):
        worker = Worker(tmp_path, 0)
        worker.kill()
        boards.retire(0)
    assert counted(boards) == 9
    assert len(json.loads((tmp_path / "retired.json").read_text())["files"]) == 1


def test_a_dead_worker_is_retired_while_another_process_looks_whether_it_lives(
    tmp_path: Path, workers: list[Worker]
) -> None:
    boards = Boards(tmp_path)
    workers[0].kill()
    [lock] = tmp_path.glob("0-*.lock")
    with FileLock(lock):
        boards.retire(0)
        assert [worker.slot for worker in boards.workers()] == [1]
    assert counted(boards) == 6


def test_durations_have_one_sum_in_whichever_order_workers_are_retired() -> None:
    cells = [0.0] * (DURATION.cells - 1)
    rows = [Row(DURATION.name, ("tool", "operation"), [*cells, spent_s]) for spent_s in (0.1, 0.2, 0.3)]
    sums = {values[-1] for order in permutations(rows) for values in added(order).values()}
    assert list(sums) == [pytest.approx(0.6)]


def test_the_last_200_calls_of_all_workers_are_kept_newest_first(tmp_path: Path, workers: list[Worker]) -> None:
    assert len(workers) == 2
    board = Board.create(tmp_path, slot=2)
    for number in range(250):
        board.note_call({"number": number})
    board.show_calls()
    found = Boards(tmp_path).calls()
    assert [record["number"] for record in found] == list(range(249, 49, -1))


def test_long_values_of_a_call_are_cut(tmp_path: Path) -> None:
    board = Board.create(tmp_path, slot=0)
    board.note_call({"message": "é" * 5_000, "number": 1, "path": tmp_path})
    board.note_call({f"{number}": "x" * 5_000 for number in range(100)})
    board.show_calls()
    [record] = Boards(tmp_path).calls()
    assert len(record["message"]) == 100
    assert record["number"] == 1


def test_torn_records_are_passed_over(tmp_path: Path) -> None:
    board = Board.create(tmp_path, slot=0)
    board.gauges.append(lambda: [("mcp_connections", (), 5.0)])
    board.beat(phase="ready")
    board.note_call({"number": 1})
    board.note_call({"number": 2})
    board.show_calls()
    whole = board.file.read_bytes() if board.file else b""
    for number in (1, 2):
        at = whole.index(b'"number": %d' % number)
        if number == 1:
            with board.file.open("r+b") as file:  # type: ignore[union-attr]
                file.seek(at)
                file.write(b"?")
    assert Boards(tmp_path).calls() == [{"number": 2}]


def test_a_board_that_is_still_being_made_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "0-1-1.board").write_bytes(b"")
    (tmp_path / "1-1-1.board").write_bytes(bytes(8 << 20))
    assert Boards(tmp_path).workers() == []
    assert Boards(tmp_path).rows() == []


def test_more_rows_than_a_board_has_room_for_are_counted_in_memory(tmp_path: Path) -> None:
    board = Board.create(tmp_path, slot=0)
    for number in range(20_000):
        board.numbers.new("mcp_http_refused_total", (f"{number:0100}",))[0] = 1
    own = sum(row.values[0] for row in board.numbers.rows())
    seen = sum(row.values[0] for row in Boards(tmp_path).rows())
    assert own == 20_000
    assert 10_000 < seen < own


def test_more_gauges_than_a_board_has_room_for_are_left_out(tmp_path: Path) -> None:
    board = Board.create(tmp_path, slot=0)
    board.gauges.append(lambda: [("mcp_retry_budget_tokens", (f"{number:0100}",), 1.0) for number in range(10_000)])
    board.beat(phase="ready")
    assert Boards(tmp_path).workers()[0].phase == "ready"


def test_a_process_alone_has_its_board_in_memory() -> None:
    assert in_use() is None
    assert Boards().workers() == Boards().calls() == []
    board = Board.create(None, slot=0)
    use_board(board)
    board.beat(phase="ready")
    board.note_call({"number": 1})
    board.numbers.new(*ERRORS)[0] = 4
    [worker] = Boards().workers()
    assert (worker.pid, worker.phase, worker.is_alive) == (os.getpid(), "ready", True)
    assert Boards().calls() == [{"number": 1}]
    assert [Row(row.name, row.labels, list(row.values)) for row in Boards().rows()] == [Row(*ERRORS, [4.0])]
    Boards().retire(0)


def test_what_fails_in_a_worker_is_told_since_it_was_first_seen_until_it_works(tmp_path: Path) -> None:
    board = Board.create(tmp_path, slot=0)
    board.note_failing("reload", "line 1")
    [first] = Boards(tmp_path).workers()
    board.note_failing("audit", "")
    board.note_failing("reload", "line 2")
    [second] = Boards(tmp_path).workers()
    assert [why for _, why in second.failing.values()] == ["", "line 2"]
    assert second.failing["reload"][0] == first.failing["reload"][0]
    board.note_failing("reload", None)
    board.beat(phase="ready")
    [third] = Boards(tmp_path).workers()
    assert [*third.failing] == ["audit"]


def test_the_last_ends_of_workers_are_told_by_their_supervisor(tmp_path: Path) -> None:
    board = Board.create(tmp_path, slot=-1)
    for reason in ["stalled", *["exited"] * 19, "stalled"]:
        board.note_end(reason)
    [supervisor] = Boards(tmp_path).workers()
    assert [reason for _, reason in supervisor.ends] == [*["exited"] * 19, "stalled"]


def test_the_longest_texts_fit_on_a_board(tmp_path: Path) -> None:
    board = Board.create(tmp_path, slot=0)
    board.note_failing("reload", "\x00" * 500)
    for _ in range(25):
        board.note_end("exited")
    board.beat(phase="\x00" * 500)
    board.note_running("\x00" * 500)
    [worker] = Boards(tmp_path).workers()
    assert (len(worker.phase), len(worker.running), len(worker.failing["reload"][1])) == (100, 300, 300)


def test_a_blocked_event_loop_is_late_by_the_age_of_its_beat_and_one_that_has_not_begun_is_not(tmp_path: Path) -> None:
    board = Board.create(tmp_path, slot=0)
    board.parts.head[2] -= 5_000_000_000
    [starting] = Boards(tmp_path).workers(loads=True)
    board.gauges.append(lambda: [("mcp_event_loop_lag_seconds", (), 0.5)])
    board.beat(phase="ready")
    [running] = Boards(tmp_path).workers(loads=True)
    board.parts.head[2] -= 5_000_000_000
    [blocked] = Boards(tmp_path).workers(loads=True)
    assert (starting.lag_s, running.lag_s) == (0.0, 0.5)
    assert blocked.lag_s >= 5
