"""Making a captured call again: whether it ends as before, what is never done again, and the test that is written."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator

from tests.cli.conftest import run_in
from tests.doors import ExitCode
from tests.zygote import PYTHON

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "replay.schema.json"
SHOP = '''
import asyncio
from pathlib import Path

from failsoft import BaseTool, CallContext, NotFound, operation
from failsoft.recovery import Chaos, Retry

DONE = Path("done.txt")
PRICES = {"tea": 3}


def note(text):
    DONE.open("a").write(text + "\\n")
    return {"receipt": text}


def refuse():
    note("refused")
    raise ConnectionRefusedError(111, "refused")


async def never():
    note("waiting")
    await asyncio.sleep(60)


class Shop(BaseTool):
    """A shop."""

    @operation(read_only=True)
    async def price(self, item: str, token: str = "") -> int:
        """Return a price."""
        return look_up(item)

    @operation(effects=True)
    async def buy(self, item: str, call: CallContext) -> int:
        """Buy an item."""
        await call.effect("charge", lambda: note("charged"))
        return PRICES[item]

    @operation(effects=True)
    def send(self, item: str, call: CallContext) -> int:
        """Send an item."""
        call.effect("pack", lambda: note("packed"))
        return call.effect("post", refuse)

    @operation(effects=True, timeout=0.2)
    async def wait(self, item: str, call: CallContext) -> int:
        """Wait for an item."""
        await call.effect("wait", never)
        return 1

    @operation()
    async def throw(self, item: str) -> int:
        """Throw an item away."""
        note("thrown")
        return PRICES[item]

    @operation(read_only=True, recovery=[Retry(attempts=2, base_s=0.0), Chaos(7, fault=1.0)])
    async def weigh(self, item: str) -> int:
        """Weigh an item."""
        return 1

    @operation(read_only=True, sensitive=True)
    async def secret(self, item: str) -> int:
        """Return a secret."""
        return PRICES[item]


def look_up(item):
    return PRICES[item]
'''
FIXED = SHOP.replace("PRICES[item]", "PRICES.get(item, 0)")
TYPED = SHOP.replace("return PRICES[item]", 'raise NotFound("There is no such item.")')
MOVED = SHOP.replace("return look_up(item)", "return PRICES[item]")
OTHER = SHOP.replace("return look_up(item)", 'return int("x")')


class Desk(NamedTuple):
    """A folder with an application, and a state folder."""

    folder: Path
    env: dict[str, str]

    def run(self, *words: str, stdin: str = "") -> Any:
        return run_in(self.folder, *words, env=self.env, stdin=stdin)

    def write(self, source: str) -> None:
        (self.folder / "shop.py").write_text(source)

    def fail(self, operation: str, **arguments: Any) -> str:
        """Make a call that fails and return its error id."""
        ran = self.run("call", operation, "--json", json.dumps(arguments), "--app", "shop:Shop")
        return str(ran.json["error"]["error_id"])

    @property
    def done(self) -> list[str]:
        file = self.folder / "done.txt"
        return file.read_text().split() if file.exists() else []

    def capture(self, error_id: str) -> Path:
        return Path(self.env["XDG_STATE_HOME"]) / "failsoft" / "captures" / f"{error_id}.json"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    state = tmp_path / "state"
    folder = tmp_path / "work"
    folder.mkdir()
    made = Desk(folder, {"XDG_STATE_HOME": str(state), "FAILSOFT_CAPTURE": "failures", "PYTHONDONTWRITEBYTECODE": "1"})
    made.write(SHOP)
    return made


@pytest.mark.parametrize(
    ("source", "outcome", "code"),
    [
        (SHOP, "same", ExitCode.FAILED),
        ("\n\n" + SHOP, "same", ExitCode.FAILED),  # other lines
        (MOVED, "different", ExitCode.FAILED),
        (OTHER, "different", ExitCode.FAILED),
        (TYPED, "different", ExitCode.FAILED),
        (FIXED, "worked", ExitCode.OK),
    ],
    ids=["unchanged", "moved down", "another function", "another exception", "typed", "fixed"],
)
def test_a_call_is_made_again_and_compared_by_code_exception_and_function(desk, source, outcome, code) -> None:
    error_id = desk.fail("price", item="salt")
    desk.write(source)
    ran = desk.run("replay", error_id, "--app", "shop:Shop", "--json")
    assert ran.code == code
    found = ran.json
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(found)
    assert list(found) == ["error_id", "tool", "operation", "outcome", "before", "now", "redacted"]
    assert (found["error_id"], found["tool"], found["operation"]) == (error_id, "shop", "price")
    assert (found["outcome"], found["redacted"]) == (outcome, [])
    assert found["before"]["code"] == "UNKNOWN_ERROR"
    assert list(found["before"]) == ["code", "category", "effect", "origin"]
    assert found["before"]["origin"].endswith("in look_up")
    assert (found["now"] is None) is (outcome == "worked")


def test_marked_effects_are_answered_from_the_capture_and_never_done_again(desk) -> None:
    error_id = desk.fail("buy", item="salt")
    assert desk.done == ["charged"]
    refused = desk.run("replay", error_id)
    assert (refused.code, refused.out) == (ExitCode.USAGE, "")
    assert "--include-writes" in refused.err
    ran = desk.run("replay", error_id, "--include-writes", "--json")
    assert (ran.code, ran.json["outcome"], desk.done) == (ExitCode.FAILED, "same", ["charged"])
    desk.write(FIXED)
    ran = desk.run("replay", error_id, "--include-writes", "--json")
    assert (ran.code, ran.json["outcome"], desk.done) == (ExitCode.OK, "worked", ["charged"])


def test_an_effect_that_failed_fails_again_without_being_tried(desk) -> None:
    error_id = desk.fail("send", item="tea")
    assert desk.done == ["packed", "refused"]
    ran = desk.run("replay", error_id, "--include-writes", "--json")
    assert (ran.code, ran.json["outcome"], desk.done) == (ExitCode.FAILED, "same", ["packed", "refused"])
    assert ran.json["now"]["code"] == ran.json["before"]["code"]


def test_an_effect_that_had_not_ended_is_waited_for_and_not_begun(desk) -> None:
    error_id = desk.fail("wait", item="tea")
    ran = desk.run("replay", error_id, "--include-writes", "--json")
    assert (ran.json["outcome"], ran.json["now"]["code"], desk.done) == ("same", "DEADLINE_EXCEEDED", ["waiting"])


def test_a_soft_function_is_found_by_its_module(desk) -> None:
    source = "import failsoft\n\n\n@failsoft.soft(read_only=True)\ndef look(item: str) -> int:\n    'Look.'\n"
    (desk.folder / "shelf.py").write_text(source + "    return {}[item]\n")
    ran = desk.run("call", "look", "item=tea", "--app", "shelf")
    error_id = ran.json["error"]["error_id"]
    assert desk.run("replay", error_id, "--json").json["outcome"] == "same"


def test_a_write_without_marks_is_done_again_only_where_that_is_asked_for(desk) -> None:
    error_id = desk.fail("throw", item="salt")
    assert desk.run("replay", error_id).code == ExitCode.USAGE
    assert desk.done == ["thrown"]
    assert desk.run("replay", error_id, "--include-writes").code == ExitCode.FAILED
    assert desk.done == ["thrown", "thrown"]


def test_injected_faults_are_those_of_the_captured_call(desk) -> None:
    error_id = desk.fail("weigh", item="tea")
    assert desk.run("replay", error_id, "--json").json["outcome"] == "same"
    faults = json.loads(desk.capture(error_id).read_text())["faults"]
    assert [fault["kind"] for fault in faults] == ["fault", "fault"]
    change(desk.capture(error_id), faults=faults[:1])  # the second run is not disturbed
    assert desk.run("replay", error_id, "--json").json["outcome"] == "worked"


def test_settings_are_those_of_the_captured_call(desk) -> None:
    desk.env["FAILSOFT_MAX_RESPONSE_BYTES"] = "1000"
    error_id = desk.fail("price", item="salt")
    desk.env["FAILSOFT_MAX_RESPONSE_BYTES"] = "nothing"
    assert desk.run("replay", error_id).code == ExitCode.FAILED


def test_settings_that_a_replay_replaces_are_not_said_to_be_missing(desk) -> None:
    desk.env.update(FAILSOFT_AUDIT_PATH=str(desk.folder / "audit.jsonl"), FAILSOFT_SHOP_TOKEN="hunter2secret")
    error_id = desk.fail("price", item="salt")
    del desk.env["FAILSOFT_SHOP_TOKEN"]
    said = desk.run("replay", error_id).err
    assert "FAILSOFT_SHOP_TOKEN" in said
    assert "FAILSOFT_AUDIT_PATH" not in said


@pytest.mark.parametrize(
    ("operation", "arguments"), [("price", {"item": "salt", "token": "hunter2secret"}), ("secret", {"item": "salt"})]
)
def test_what_is_not_kept_whole_is_not_made_again_and_says_why(desk, operation, arguments) -> None:
    error_id = desk.fail(operation, **arguments)
    ran = desk.run("replay", error_id, "--json")
    assert ran.code == ExitCode.USAGE
    if operation == "price":
        Draft202012Validator(json.loads(SCHEMA.read_text())).validate(ran.json)
        assert ran.json["redacted"] == ["token"]
        assert "token" in ran.err
    else:
        assert "sensitive" in ran.err


def change(file: Path, **facts: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **facts}))


def test_a_tampered_capture_sets_no_variable_of_keys_state_or_logs(desk) -> None:
    error_id = desk.fail("price", item="salt")
    settings = {"FAILSOFT_STATE_URL": "sqlite:stolen.db", "PATH": "/nowhere", "FAILSOFT_AUDIT_PATH": "audit.jsonl"}
    change(desk.capture(error_id), settings=settings)
    assert desk.run("replay", error_id, "--json").json["outcome"] == "same"
    assert sorted(file.name for file in desk.folder.iterdir() if file.is_file()) == ["shop.py"]
    change(desk.capture(error_id), operation="prise")
    ran = desk.run("replay", error_id)
    assert (ran.code, ran.out) == (ExitCode.USAGE, "")
    assert "'price'" in ran.err


def test_a_tampered_capture_runs_no_function(desk) -> None:
    desk.write(f"{SHOP}\n\ndef wipe():\n    note('wiped')\n    return Shop\n")
    error_id = desk.fail("price", item="salt")
    for named in ("shop:wipe", "os:abort", "shop:Shop.price"):
        change(desk.capture(error_id), toolset_class=named)
        ran = desk.run("replay", error_id)
        assert (ran.code, ran.out, desk.done) == (ExitCode.USAGE, "", [])
    assert desk.run("replay", error_id, "--app", "shop:wipe", "--json").json["outcome"] == "same"


@pytest.mark.parametrize("error_id", ["../../etc/passwd", "x", "0" * 16, "0" * 15 + "/"])
def test_what_is_not_captured_is_a_usage_error_that_says_why(desk, error_id) -> None:
    ran = desk.run("replay", error_id)
    assert (ran.code, ran.out) == (ExitCode.USAGE, "")
    assert ran.err.startswith("INVALID_PARAM: ")


def test_the_debugger_opens_where_the_call_failed(desk) -> None:
    error_id = desk.fail("price", item="salt")
    ran = desk.run("replay", error_id, "--pdb", stdin="p item\nq\n")
    assert ran.code == ExitCode.FAILED
    assert "look_up()" in ran.out
    assert "'salt'" in ran.out


def test_find_prints_the_command_that_makes_the_call_again(desk) -> None:
    error_id = desk.fail("price", item="salt")
    change(desk.capture(error_id), toolset_class="shop:note")  # a function, which --app would call
    ran = desk.run("find", error_id)
    assert ran.code == ExitCode.OK
    assert ran.out.splitlines()[-1] == f"make the call again: failsoft replay {error_id}"


def run_test(desk: Desk, file: str) -> int:
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", file]
    env = {**os.environ, "XDG_STATE_HOME": str(desk.folder / "none")}
    return subprocess.run(command, cwd=desk.folder, env=env, capture_output=True, check=False).returncode


HOSTILE = "'''\"\"\"\\ {x} \ud800 \u202e\n\x00 \\u0027''' + __import__('os').system('touch owned') + r'''"


def test_the_written_test_needs_no_capture_fails_before_the_fix_and_passes_after_it(desk) -> None:
    error_id = desk.fail("buy", item=HOSTILE)
    ran = desk.run("replay", error_id, "--include-writes", "--pytest", "test_buy.py", "--json")
    assert (ran.code, ran.json["outcome"]) == (ExitCode.FAILED, "same")
    again = desk.run("replay", error_id, "--include-writes", "--pytest", "test_buy.py")
    assert (again.code, again.out) == (ExitCode.USAGE, "")
    nowhere = desk.run("replay", error_id, "--include-writes", "--pytest", "nowhere/test_buy.py")
    assert (nowhere.code, nowhere.out) == (ExitCode.USAGE, "")
    desk.capture(error_id).unlink()
    results = []
    for source in (SHOP, SHOP.replace("PRICES[item]", 'int("x")'), TYPED, FIXED):
        desk.write(source)
        results.append(run_test(desk, "test_buy.py"))
    assert results == [1, 1, 0, 0]  # as before, another defect, a typed failure, no failure
    assert desk.done == ["charged"]
    assert not (desk.folder / "owned").exists()
    assert str(desk.folder) not in (desk.folder / "test_buy.py").read_text()
