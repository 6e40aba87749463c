"""Programs that the fork server runs behave as if Python had started them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.zygote import PYTHON, program_of

BOUND_S = 60


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([PYTHON, *words], text=True, timeout=BOUND_S, check=False, **streams)  # type: ignore[call-overload, no-any-return]


def test_a_program_has_the_arguments_folder_environment_and_streams_of_its_launcher(tmp_path: Path) -> None:
    code = "import os, sys; print(sys.argv, os.getcwd(), os.environ['NAME'], sys.stdin.read()); sys.exit(3)"
    ended = run("-c", code, "a", cwd=tmp_path, env={"NAME": "value"}, input="in")
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, f"['-c', 'a'] {tmp_path} value in\n", "")


def test_modules_and_files_run_as_the_main_module(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys\nif __name__ == '__main__':\n    print(sys.argv, sys.path[0])\n")
    as_module = run("-W", "error", "-m", "program", "a", cwd=tmp_path).stdout
    as_file = run("-P", str(tmp_path / "program.py"), "a").stdout
    assert as_module == f"['{tmp_path / 'program.py'}', 'a'] {tmp_path}\n"
    assert as_file.startswith(f"['{tmp_path / 'program.py'}', 'a'] ")
    assert f" {tmp_path}\n" not in as_file


def test_a_module_that_the_fork_server_has_loaded_runs_as_after_a_start() -> None:
    ended = run("-W", "error", "-m", "failsoft", "--help")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_traceback_has_the_frames_of_the_program_alone() -> None:
    ended = run("-c", "1/0")
    lines = ["Traceback (most recent call last):", '  File "<string>", line 1, in <module>']
    assert (ended.returncode, ended.stderr.splitlines()) == (1, [*lines, "ZeroDivisionError: division by zero"])


def test_files_that_are_handed_on_keep_their_numbers() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader:
        ended = run("-c", f"import os; os.write({writing}, b'x')", pass_fds=[writing])
        os.close(writing)
        assert (ended.returncode, reader.read()) == (0, b"x")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_to_the_launcher_reaches_the_program(number: signal.Signals) -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    with subprocess.Popen(
        [PYTHON, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as launcher:
        assert launcher.stdout is not None
        program = int(launcher.stdout.readline())
        found = program_of(launcher.pid)
        launcher.send_signal(number)
        assert launcher.wait(BOUND_S) == -number
    assert found == program != launcher.pid
    assert program_of(os.getpid()) == os.getpid()
    until = time.monotonic() + BOUND_S
    while Path(f"/proc/{program}").exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert not Path(f"/proc/{program}").exists()


def test_the_end_of_a_program_by_a_signal_is_that_of_its_launcher() -> None:
    assert run("-c", "import os; os.kill(os.getpid(), 15)").returncode == -signal.SIGTERM


def test_a_program_ends_as_it_would_by_itself(tmp_path: Path) -> None:
    """Threads end, functions for the end are called, files are written; and the exit code is that of Python."""
    code = (
        "import atexit, threading, time, sys; file = open('file', 'w'); file.write('kept');"
        "atexit.register(print, 'bye');"
        "threading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start(); sys.exit('why')"
    )
    ended = run("-c", code, cwd=tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "thread\nbye\n", "why\n")
    assert (tmp_path / "file").read_text() == "kept"
    ends = {"raise KeyboardInterrupt": -signal.SIGINT, "import sys; sys.exit(300)": 44, "print('x')": 120, "1/0": 1}
    with Path("/dev/full").open("w") as full:
        assert {code: run("-c", code, stdout=full, env={}).returncode for code in ends} == ends


def test_a_program_may_close_its_output_or_find_it_closed() -> None:
    assert run("-m", "json.tool", input="1").returncode == 0
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as output:
        ended = subprocess.run(
            [PYTHON, "-c", "import sys; sys.stdout.write('1')"], stdout=output, timeout=BOUND_S, check=False
        )
    assert ended.returncode == 120


def test_variables_of_python_and_of_the_system_count_as_at_a_start() -> None:
    code = "import sys, time; out = sys.stdout; print(time.tzname[0], out.encoding, out.errors, out.line_buffering)"
    variables = {"TZ": "Asia/Tokyo", "PYTHONIOENCODING": "ascii:replace", "PYTHONUNBUFFERED": ""}
    assert run("-c", code, env=variables).stdout == "JST ascii replace False\n"


def test_a_launcher_that_ends_before_it_has_asked_ends_no_other() -> None:
    assert run("-c", "").returncode == 0
    with socket.socket(socket.AF_UNIX) as launcher:
        launcher.connect(str(Path(PYTHON).parent / "socket"))
    assert run("-c", "print(1)").stdout == "1\n"


def test_each_program_draws_random_numbers_and_ids_of_its_own() -> None:
    code = "import random; from tests.doors import new_id; print(random.random(), new_id())"
    first, second = (run("-c", code).stdout.split() for _ in range(2))
    assert len({*first, *second}) == 4


def test_programs_share_the_process_that_has_failsoft_loaded_and_start_others_alike() -> None:
    code = (
        "import os, subprocess, sys; print(os.getppid(), 'failsoft.cli' in sys.modules, flush=True);"
        "len(sys.argv) > 1 and subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)"
    )
    outer, inner = (line.split() for line in run("-c", code, code).stdout.splitlines())
    assert outer == inner == [outer[0], "True"]
    assert sys.executable != PYTHON
