"""One writer at a time, across threads and processes, in one order, and never for ever."""

from __future__ import annotations

import itertools
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.doors import FileFault, Files, Locks, Roots, _stripe_of
from tests.tools.files.faults import raises
from tests.zygote import PYTHON

BOUND_S = 60.0
LIMIT = 1_000

HOLD = """
import sys
from tests.doors import Files, Roots
from pathlib import Path
root, state, *paths = sys.argv[1:]
with Files(Roots([root]), state_folder=Path(state)).transaction(paths):
    print("held", flush=True)
    sys.stdin.read()
"""

COUNT = """
import sys
from tests.doors import Files, Roots
from pathlib import Path
root, state, rounds, *paths = sys.argv[1:]
files = Files(Roots([root]), state_folder=Path(state))
for _ in range(int(rounds)):
    with files.transaction(paths, wait_s=60) as work:
        for path in paths:
            number = int(work.read(path, bytes_at_most=100).data)
            work.replace(path, b"%d" % (number + 1))
        work.commit()
"""


@contextmanager
def held_elsewhere(root: Path, state: Path, *paths: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Hold the files in another process."""
    command = [PYTHON, "-c", HOLD, root, state, *paths]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            yield holder
        finally:
            holder.kill()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def pair(root: Path) -> tuple[Path, Path]:
    for name in ("a", "b"):
        (root / name).write_bytes(b"0")
    return root / "a", root / "b"


def count(files: Files, paths: list[str], rounds: int) -> None:
    for _ in range(rounds):
        with files.transaction(paths, wait_s=BOUND_S) as work:
            for path in paths:
                work.replace(path, b"%d" % (int(work.read(path, bytes_at_most=LIMIT).data) + 1))
            work.commit()


def test_a_file_that_another_process_holds_is_not_had_in_time(
    files: Files, root: Path, state: Path, pair: tuple[Path, Path]
) -> None:
    with held_elsewhere(root, state, pair[0]):
        with raises("locked") as caught, files.transaction([str(path) for path in pair], wait_s=0.05):
            pass
        with files.transaction([str(pair[1])], wait_s=0):
            pass

    assert caught.value.path == str(pair[0])
    assert caught.value.facts["waited_s"] >= 0.05
    assert caught.value.effect == "none"


def test_a_process_that_dies_gives_its_files_back(
    files: Files, root: Path, state: Path, pair: tuple[Path, Path]
) -> None:
    with held_elsewhere(root, state, *pair) as holder:
        holder.kill()
        with files.transaction([str(path) for path in pair], wait_s=BOUND_S):
            pass


def test_a_file_that_another_thread_holds_is_not_had_in_time(files: Files, pair: tuple[Path, Path]) -> None:
    """The other thread may work on another object, and name the file by another path."""
    (pair[0].parent / "link").symlink_to("a")
    other = Files(Roots(["/"]), state_folder=files.state_folder)

    with (
        files.transaction([str(pair[0])]),
        raises("locked"),
        other.transaction([str(pair[0].parent / "link")], wait_s=0),
    ):
        pass


def test_an_abandoned_call_stops_waiting(files: Files, pair: tuple[Path, Path]) -> None:
    gone = threading.Event()
    faults: list[FileFault] = []

    def wait() -> None:
        try:
            with files.transaction([str(pair[0])], wait_s=1_000, give_up=gone.is_set):
                pass
        except FileFault as fault:
            faults.append(fault)

    waiter = threading.Thread(target=wait)
    with files.transaction([str(pair[0])]):
        waiter.start()
        gone.set()
        waiter.join(BOUND_S)

    assert [fault.kind for fault in faults] == ["given_up"]


def test_a_call_that_stops_waiting_in_a_process_gives_back_what_it_had(
    files: Files, root: Path, state: Path, pair: tuple[Path, Path]
) -> None:
    with held_elsewhere(root, state, pair[1]):
        for _ in range(3):
            with raises("given_up"), files.transaction([str(path) for path in pair], give_up=lambda: True):
                pass
        with files.transaction([str(pair[0])], wait_s=0):
            pass


def test_opposite_orders_in_threads_do_not_block_each_other(files: Files, pair: tuple[Path, Path]) -> None:
    orders = [[str(path) for path in pair], [str(path) for path in reversed(pair)]]
    threads = [threading.Thread(target=count, args=(files, order, 10)) for order in orders * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_S)

    assert [path.read_bytes() for path in pair] == [b"40", b"40"]


def test_opposite_orders_in_processes_do_not_block_each_other(root: Path, state: Path, pair: tuple[Path, Path]) -> None:
    workers = [
        subprocess.Popen([PYTHON, "-c", COUNT, root, state, "20", *order]) for order in (pair, tuple(reversed(pair)))
    ]
    codes = [worker.wait(60) for worker in workers]

    assert codes == [0, 0]
    assert [path.read_bytes() for path in pair] == [b"40", b"40"]


def test_two_files_that_share_a_lock_are_held_together(tmp_path: Path) -> None:
    """There are fewer locks than files, and one that waited for itself would wait for ever."""
    keys = [str(number) for number in range(1_000)]
    twins = next(list(pair) for pair in itertools.combinations(keys, 2) if _stripe_of(pair[0]) == _stripe_of(pair[1]))

    with Locks(tmp_path / "locks").hold(dict.fromkeys(twins, "file"), wait_s=0):
        made = list((tmp_path / "locks").iterdir())

    assert len(made) == 1
