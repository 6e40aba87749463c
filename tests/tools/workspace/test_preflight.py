"""The preflight: real commands, what they come to, and that nothing of them stays behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.workspace import Workspace
from tests.doors import reduced
from tests.tools.workspace.site import Site

PYTHON = sys.executable
BOUND_S = 60
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")


def python(code: str) -> list[str]:
    return [PYTHON, "-c", code]


def ready(site: Site, *commands: list[str], **settings: Any) -> Workspace:
    tool = site.tool(workspace_preflight=json.dumps(commands), **settings)
    site.begin(tool)
    return tool


def failed(site: Site, *commands: list[str], **settings: Any) -> dict[str, Any]:
    """Hold a failed preflight to what each has to say."""
    answer = site.call(ready(site, *commands, **settings), "run_preflight")
    assert (answer["error_code"], answer["tool_name"]) == ("PREFLIGHT_FAILED", "run_preflight")
    assert answer["details"]["command"]
    return answer


def has_gone(pid: int) -> bool:
    """Return whether a process is no more, once it has had the time to go."""
    until = time.monotonic() + BOUND_S
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in {"Z", "X"}:
            return True
        time.sleep(0.01)
    return False


def number_in(file: Path) -> int:
    until = time.monotonic() + BOUND_S
    while time.monotonic() < until:
        if file.exists() and (text := file.read_text()).endswith("\n"):
            return int(text)
        time.sleep(0.01)
    raise AssertionError(file)


def test_commands_that_pass_are_reported_in_their_order(site: Site) -> None:
    tool = ready(site, python("print('first')"), python("import sys; sys.stderr.write('second')"))
    first, second = site.call(tool, "run_preflight")["data"]["commands"]
    assert (first["exit_code"], first["output_end"], first["output_bytes"]) == (0, "first\n", 6)
    assert (second["exit_code"], second["output_end"]) == (0, "second")
    assert 0 < first["duration_s"] < BOUND_S


def test_they_run_in_the_workspace_without_a_shell_and_with_nothing_to_read(site: Site) -> None:
    shows = "import os, sys; print(os.getcwd(), sys.argv[1], repr(sys.stdin.read()), os.getsid(0) == os.getpid())"
    tool = ready(site, [*python(shows), "$HOME; *"])
    (command,) = site.call(tool, "run_preflight")["data"]["commands"]
    assert command["output_end"] == f"{site.project} $HOME; * '' True\n"


def test_of_the_servers_variables_they_get_few(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FAILSOFT_AUDIT_KEY", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "LD_PRELOAD", "PYTHONPATH"):
        monkeypatch.setenv(name, "hunter2hunter2hunter2")
    monkeypatch.setenv("LC_TIME", "C")
    tool = ready(site, python("import json, os; print(json.dumps(dict(os.environ)))"))
    seen = json.loads(site.call(tool, "run_preflight")["data"]["commands"][0]["output_end"])
    assert "hunter2hunter2hunter2" not in seen.values()
    assert (seen["LC_TIME"], seen["NO_COLOR"]) == ("C", "1")
    assert seen["PATH"]


def test_programs_are_not_looked_for_where_an_agent_can_put_them() -> None:
    assert reduced({"PATH": "/bin::.:bin:/usr/bin"})["PATH"] == "/bin:/usr/bin"


def test_of_names_for_languages_only_those_that_exist_are_passed_on() -> None:
    """Hosts accept any `LC_` variable over SSH, so people pass tokens in them."""
    assert reduced({"LC_ALL": "C", "LC_TOKEN": "s3cret"}).keys() == {"LC_ALL", "NO_COLOR", "PATH", "TERM"}


def test_a_command_that_fails_is_reported_with_the_end_of_its_output_and_ends_the_preflight(site: Site) -> None:
    after = site.project / "after"
    answer = failed(site, python("print('E: line 3'); raise SystemExit(7)"), ["touch", str(after)])
    details = answer["details"]
    assert (details["exit_code"], details["output_snippet"], answer["effect"]) == (7, "E: line 3\n", "unknown")
    assert not after.exists()


def test_a_failure_quotes_the_last_lines_of_the_output(site: Site) -> None:
    answer = failed(
        site, python("print('begin\\n\\nsrc/a.py:3: no price\\n  `x` is 3\\n1 error\\n'); raise SystemExit(1)")
    )
    assert answer["suggestions"] == ["Its output ended with: \"src/a.py:3: no price 'x' is 3 1 error\""]


def test_a_failure_names_the_interpreter_only_if_it_runs_no_script(site: Site) -> None:
    script = site.project / "check.py"
    script.write_text("raise SystemExit(1)")
    assert failed(site, [PYTHON, str(script)])["human_message"].startswith('"check.py" ')
    assert failed(site, python("raise SystemExit(1)"))["human_message"].startswith(f'"{Path(PYTHON).name} -c ')


def test_the_output_is_not_put_on_record(site: Site) -> None:
    failed(site, python("print('PIZZA'.lower() * 2); raise SystemExit(1)"))
    log = (site.root / "audit-log.jsonl").read_text()
    assert "PREFLIGHT_FAILED" in log
    assert "pizzapizza" not in log


def test_a_secret_in_the_output_is_not_reported(site: Site) -> None:
    token = "ghp" + "_16C7e42F292c6912E7710c838347Ae178B4a"
    for status in (0, 1):
        tool = ready(site, python(f"print('{token[:9]}' + '{token[9:]}'); raise SystemExit({status})"))
        assert token not in json.dumps(site.call(tool, "run_preflight"))


@pytest.mark.parametrize(("environment", "is_told"), [("production", False), ("development", True)])
@pytest.mark.parametrize("status", [0, 1])
def test_paths_outside_of_the_workspace_are_not_reported_in_production(
    site: Site, environment: str, status: int, *, is_told: bool
) -> None:
    inside = f"{site.project}/src/a.rs"
    tool = ready(
        site, python(f"print('/etc/shadow.d/x {inside}'); raise SystemExit({status})"), environment=environment
    )
    answer = site.call(tool, "run_preflight")
    reported = answer["data"]["commands"][0]["output_end"] if status == 0 else answer["details"]["output_snippet"]
    assert ("/etc/shadow.d/x" in reported, inside in reported) == (is_told, True)


@pytest.mark.parametrize("detail", ["minimal", "full"])
def test_the_output_is_reported_at_every_level_of_detail(site: Site, detail: str) -> None:
    answer = failed(site, python("print('x'); raise SystemExit(1)"), detail=detail)
    assert answer["details"]["output_snippet"] == "x\n"


def test_a_signal_is_reported_by_its_name(site: Site) -> None:
    answer = failed(site, python("import os; os.kill(os.getpid(), 9)"))
    assert "SIGKILL" in answer["details"]["outcome"]
    assert "exit_code" not in answer["details"]


def test_a_program_that_is_not_there_changes_nothing(site: Site) -> None:
    answer = failed(site, ["no-such-program-anywhere"])
    assert answer["effect"] == "none"


def test_a_program_that_may_not_be_run_is_reported(site: Site) -> None:
    (site.project / "check").write_text("")
    assert "permission denied" in failed(site, ["./check"])["details"]["outcome"]


def test_without_commands_nothing_is_said_to_have_passed(site: Site) -> None:
    answer = site.call(ready(site), "run_preflight")
    assert (answer["error_code"], answer["effect"]) == ("UNSUPPORTED", "none")


def test_where_a_system_cannot_wait_for_a_command_nothing_is_started(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(signal, "sigtimedwait")  # macOS has none
    answer = site.call(ready(site, python("open('started', 'w')")), "run_preflight")
    assert (answer["error_code"], answer["effect"]) == ("UNSUPPORTED", "none")
    assert not (site.project / "started").exists()


def test_it_takes_the_right_to_write(site: Site) -> None:
    tool = site.tool(workspace_preflight='[["true"]]')
    session = site.begin(tool, "ANTIGRAVITY")
    assert site.call(tool, "run_preflight", {"session_id": session})["error_code"] == "UNAUTHORIZED_ACTION"


SPAWN = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open("{file}", "w") as file:
    file.write(f"{{child.pid}}\\n")
{then}
"""


def spawning(site: Site, then: str) -> tuple[list[str], Path]:
    file = site.root / "grandchild"
    return python(SPAWN.format(file=file, then=then)), file


def test_a_command_that_takes_too_long_is_ended_with_its_children(site: Site) -> None:
    file = site.root / "grandchild"
    command = ["sh", "-c", f"sleep 600 & echo $! > {file}; echo so far; sleep 600"]
    answer = failed(site, command, workspace_preflight_s=1.5)
    assert answer["details"]["output_snippet"] == "so far\n"
    assert "1.5 seconds" in answer["details"]["outcome"]
    assert has_gone(number_in(file))


def test_what_a_command_leaves_running_is_ended_and_not_waited_for(site: Site) -> None:
    """The grandchild holds the pipe open: waiting for its end would take ten minutes."""
    command, file = spawning(site, "print('done')")
    (passed,) = site.call(ready(site, command), "run_preflight")["data"]["commands"]
    assert (passed["exit_code"], passed["output_end"]) == (0, "done\n")
    assert has_gone(number_in(file))


DAEMON = """
import os, sys
if os.fork():
    os.wait() if {waits} else None
    {then}
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
for descriptor in range(1000):
    try:
        os.close(descriptor)
    except OSError:
        pass
with open("{file}", "w") as file:
    file.write(f"{{os.getpid()}}\\n")
os.execve("/bin/sleep", ["sleep", "600"], {{}})
"""
"""A process without a parent, in a session of its own, without descriptors and variables of the command."""


def daemon(site: Site, then: str = "", *, waits: bool = True) -> tuple[list[str], Path]:
    file = site.root / "daemon"
    return python(DAEMON.format(file=file, then=then, waits=waits)), file


def test_a_daemon_of_a_command_that_passed_is_ended(site: Site) -> None:
    command, file = daemon(site, f"import time\n    while not os.path.exists('{site.root}/daemon'): time.sleep(0.01)")
    assert site.call(ready(site, command), "run_preflight")["success"]
    assert has_gone(number_in(file))


def test_a_daemon_of_a_command_that_takes_too_long_is_ended(site: Site) -> None:
    command, file = daemon(site, "import time; time.sleep(600)")
    assert "seconds" in failed(site, command, workspace_preflight_s=1.5)["details"]["outcome"]
    assert has_gone(number_in(file))


def test_a_command_that_has_too_many_processes_is_ended_with_all_of_them(site: Site) -> None:
    """40, each in a session of its own, below one that goes on."""
    log = site.root / "pids"
    code = f"""
import os, time
for _ in range(40):
    if not os.fork():
        os.setsid()
        with open({str(log)!r}, "a") as file:
            file.write(f"{{os.getpid()}}\\n")
        break
time.sleep(600)
"""
    answer = failed(site, python(code), workspace_preflight_processes=20)
    assert answer["details"]["outcome"] == "was ended: it had more than 20 processes at a time"
    assert all(has_gone(int(line)) for line in log.read_text().splitlines())


@pytest.mark.skipif(os.geteuid() == 0, reason="the kernel does not limit root")
def test_the_kernel_starts_no_more_processes_for_a_command_than_it_may_have(site: Site) -> None:
    code = "import os, time\nfor _ in range(60):\n    if not os.fork(): time.sleep(600)"
    assert (
        "BlockingIOError" in failed(site, python(code), workspace_preflight_processes=20)["details"]["output_snippet"]
    )


def test_a_command_whose_processes_take_too_much_memory_is_ended(site: Site) -> None:
    code = "import os, time; os.fork(); os.fork(); data = bytearray(os.urandom(1 << 20) * 30); time.sleep(600)"
    answer = failed(site, python(code), workspace_preflight_memory_mb=100)
    assert answer["details"]["outcome"] == "was ended: its processes took more than 100 MiB"


def test_a_command_has_no_descriptor_of_the_server_leaves_no_core_and_dies_first(site: Site) -> None:
    code = (
        "import os, resource; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1],"
        " resource.getrlimit(resource.RLIMIT_CORE)[0], open('/proc/self/oom_score_adj').read().strip())"
    )
    with (site.root / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        (command,) = site.call(ready(site, python(code)), "run_preflight")["data"]["commands"]
    assert command["output_end"] == "[0, 1, 2] 0 1000\n"


FORGES = """
import os, signal, sys
folder = f"/proc/{os.getppid()}/fd"
for name in map(int, os.listdir(folder)):
    if name > 2:
        try:
            with open(f"{folder}/{name}", "w") as report:
                report.write('["exit", 0]')
        except OSError:
            pass
"""
"""Tells the server, in place of the supervisor, that the command has passed."""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, 0])
@pytest.mark.parametrize("before", ["import os", FORGES])
def test_a_command_that_kills_its_supervisor_or_forges_its_report_has_not_passed(
    site: Site, before: str, number: int
) -> None:
    file = site.root / "pid"
    note = f"with open({str(file)!r}, 'w') as note: print(os.getpid(), file=note)"
    kill = f"os.kill(os.getppid(), {int(number)})\nimport time; time.sleep({600 if number else 0})"
    command = python(f"{before}\n{note}\n{kill}")
    if number or "report" in before:
        outcome = failed(site, command)["details"]["outcome"]
        assert outcome == "ended, and its supervisor with it: how is not known"
        assert has_gone(number_in(file))
    else:
        assert site.call(ready(site, command), "run_preflight")["success"]


SERVER = """
import asyncio, sys
from pathlib import Path
from tests.tools.workspace.site import Site
from tests.tools.workspace.test_preflight import daemon, ready
site = Site(Path(sys.argv[1]))
site.project.mkdir(parents=True, exist_ok=True)
site.call(ready(site, daemon(site, "import time; time.sleep(600)")[0]), "run_preflight")
"""


def test_a_server_that_is_killed_leaves_nothing_running(site: Site) -> None:
    with subprocess.Popen([PYTHON, "-c", SERVER, str(site.root)]) as server:
        pid = number_in(site.root / "daemon")
        server.kill()
    assert has_gone(pid)


def test_a_call_that_is_cancelled_leaves_nothing_running(site: Site) -> None:
    command, file = spawning(site, "time.sleep(600)")
    tool = ready(site, command)

    async def cancel() -> None:
        task = asyncio.ensure_future(site.called(tool, "run_preflight"))
        grandchild = await asyncio.to_thread(number_in, file)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(has_gone, grandchild)

    asyncio.run(cancel())


def test_a_server_that_stops_leaves_nothing_running(site: Site) -> None:
    command, file = spawning(site, "time.sleep(600)")
    tool = ready(site, command)

    async def stop() -> dict[str, Any]:
        task = asyncio.ensure_future(site.called(tool, "run_preflight"))
        grandchild = await asyncio.to_thread(number_in, file)
        await tool.shutdown()
        answer = await task
        assert await asyncio.to_thread(has_gone, grandchild)
        return answer

    assert asyncio.run(stop())["error_code"] == "UNAVAILABLE"


@pytest.mark.parametrize("status", [0, 1])
def test_of_a_long_output_the_beginning_and_the_end_are_kept(site: Site, status: int) -> None:
    """50 MB; kept whole, they would show in the size of this process."""
    import resource  # noqa: PLC0415 - POSIX only, as this file

    code = f"""
import sys
for at in range(800):
    sys.stdout.write("x" * 65535 + "\\n")
print("the end")
raise SystemExit({status})
"""
    tool = ready(site, python(code))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = site.call(tool, "run_preflight")
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    reported = answer["data"]["commands"][0]["output_end"] if status == 0 else answer["details"]["output_snippet"]
    assert reported.endswith("x\nthe end\n")
    assert len(reported) <= 4_000
    assert grown_kb < 20_000


def test_output_that_is_no_text_is_reported_as_far_as_it_is(site: Site) -> None:
    tool = ready(site, python("import sys; sys.stdout.buffer.write(b'a\\xff\\x00b')"))
    (command,) = site.call(tool, "run_preflight")["data"]["commands"]
    assert (command["output_bytes"], command["output_end"][0], command["output_end"][-1]) == (4, "a", "b")


def test_each_command_is_announced(site: Site) -> None:
    tool = ready(site, python("0"), python("1"))
    reported: list[tuple[float, float | None]] = []

    async def report(done: float, total: float | None, _message: str | None) -> None:
        reported.append((done, total))

    site.call(tool, "run_preflight", report_progress=report)
    assert reported == [(0, 2), (1, 2), (2, 2)]


def test_where_the_system_forgets_the_ends_of_children_nothing_passes(site: Site) -> None:
    """With SIGCHLD ignored, as some supervisors start their servers, a status is lost, and reads as 0."""
    tool = ready(site, python("raise SystemExit(1)"))
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        answer = site.call(tool, "run_preflight")
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert answer["error_code"] == "PREFLIGHT_FAILED"
