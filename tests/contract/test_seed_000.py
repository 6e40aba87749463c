"""Seed 000, row by row: its test coverage table, its codes with their retryable flags, its pitfalls and decisions."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from failsoft import BaseTool, NotImplementedTool, operation
from failsoft.tools.edit import Edit
from tests.contract.surroundings import runtime
from tests.doors import lookup_code as lookup
from tests.zygote import PYTHON

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "edit_envelope.schema.json").read_text())
jsonschema.Draft202012Validator.check_schema(SCHEMA)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
LINES = [f"{number:02} line of text\n" for number in range(60)]
TEXT = "".join(LINES)

RETRYABLE = {
    **dict.fromkeys(
        [
            *("VALIDATION_FAILED", "RELATIVE_PATH", "PATH_TRAVERSAL", "EMPTY_EDITS", "EMPTY_OLD_STRING"),
            *("DUPLICATE_OLD_STRING", "MATCH_NOT_FOUND", "AMBIGUOUS_MATCH", "FILE_NOT_FOUND"),
        ],
        True,
    ),
    **dict.fromkeys(
        [
            *("PERMISSION_DENIED", "INVALID_ENCODING", "DISK_FULL", "READ_ONLY_FS", "SYMLINK_LOOP", "BACKUP_FAILED"),
            *("WRITE_FAILED", "UNKNOWN_ERROR", "NOT_IMPLEMENTED", "UNKNOWN_TOOL"),
        ],
        False,
    ),
}
"""The seed's taxonomy: which errors a caller can correct."""


class Announced(BaseTool):
    """Has a tool that does not work yet."""

    wire_format = "edit_envelope"

    @operation
    async def rename_symbol(self) -> int:
        """Rename."""
        raise NotImplementedTool(name="rename_symbol")


class Bench:
    """A file of sixty lines, and calls on it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        self.file = self.root / "file.txt"
        self.file.write_text(TEXT)
        self.tool = Edit(self.root, runtime=runtime(), state_folder=folder / "state")

    def call(self, params: Any, operation_name: str = "multi_edit", tool: BaseTool | None = None) -> dict[str, Any]:
        response = asyncio.run((tool or self.tool).execute_with_error_handling(operation_name, params))
        wire = response.to_dict()
        VALIDATOR.validate(wire)
        return wire

    def edit(self, *edits: tuple[str, str], path: Any = None, **more: Any) -> dict[str, Any]:
        listed = [{"old_string": old, "new_string": new} for old, new in edits]
        return self.call({"file_path": str(path or self.file), "edits": listed, **more})


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def made(bench: Bench, name: str, content: bytes) -> Path:
    (bench.root / name).write_bytes(content)
    return bench.root / name


def looped(bench: Bench) -> Path:
    (bench.root / "loop").symlink_to("loop")
    return bench.root / "loop"


HAPPENS: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "VALIDATION_FAILED": lambda bench: bench.call({"file_path": str(bench.file), "edits": [{"old_string": 5}]}),
    "RELATIVE_PATH": lambda bench: bench.edit(("a", "b"), path="file.txt"),
    "PATH_TRAVERSAL": lambda bench: bench.edit(("a", "b"), path=f"{bench.root}/inner/../file.txt"),
    "EMPTY_EDITS": lambda bench: bench.edit(),
    "EMPTY_OLD_STRING": lambda bench: bench.edit(("a", "b"), ("", "b")),
    "DUPLICATE_OLD_STRING": lambda bench: bench.edit(("a", "b"), ("a", "c")),
    "MATCH_NOT_FOUND": lambda bench: bench.edit((LINES[0], "x"), ("30 line of code", "b"), ("c", "d")),
    "AMBIGUOUS_MATCH": lambda bench: bench.edit((LINES[0], "x\n"), ("line", "b"), ("c", "d")),
    "FILE_NOT_FOUND": lambda bench: bench.edit(("a", "b"), path=bench.root / "gone.txt"),
    "PERMISSION_DENIED": lambda bench: bench.edit(("a", "b"), path="/etc/hostname"),
    "INVALID_ENCODING": lambda bench: bench.edit(("a", "b"), path=made(bench, "latin", b"\xe4 a")),
    "SYMLINK_LOOP": lambda bench: bench.edit(("a", "b"), path=looped(bench)),
    "BACKUP_FAILED": lambda bench: bench.edit(("a", "b"), path=made(bench, "n" * 253, b"a"), backup=True),
    "NOT_IMPLEMENTED": lambda bench: bench.call({}, "rename_symbol", Announced(runtime=runtime())),
    "UNKNOWN_TOOL": lambda bench: bench.call({}, "multi_edt"),
}
"""How each code comes about here. DISK_FULL, READ_ONLY_FS, WRITE_FAILED and other users are in tests/tools/edit."""
WITHOUT_A_FILE = {"NOT_IMPLEMENTED", "UNKNOWN_TOOL"}
OF_ONE_EDIT = {
    "VALIDATION_FAILED": 0,
    "EMPTY_OLD_STRING": 1,
    "DUPLICATE_OLD_STRING": 1,
    "MATCH_NOT_FOUND": 1,
    "AMBIGUOUS_MATCH": 1,
}


@pytest.fixture(scope="module")
def happened(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the answer with each code, each from a bench of its own."""
    return {code: happens(Bench(tmp_path_factory.mktemp(code))) for code, happens in HAPPENS.items()}


# The test coverage table, in its order.


def test_every_error_path_returns_a_valid_error_envelope(happened: dict[str, dict[str, Any]]) -> None:
    for code, wire in happened.items():
        assert {"success", "error_code", "message", "retryable", "recovery_hints"} <= wire.keys(), code
        assert wire["success"] is False, code
        assert json.loads(json.dumps(wire)) == wire, code


def test_error_code_is_present_on_all_error_responses(happened: dict[str, dict[str, Any]]) -> None:
    assert {code: wire["error_code"] for code, wire in happened.items()} == {code: code for code in HAPPENS}


def test_retryable_is_true_for_what_the_caller_can_correct_and_false_for_the_rest(
    happened: dict[str, dict[str, Any]],
) -> None:
    entries = {code: lookup(code) for code in RETRYABLE}
    assert None not in entries.values()
    assert {code: entry(message="x").recoverable for code, entry in entries.items() if entry} == RETRYABLE
    assert {code: wire["retryable"] for code, wire in happened.items()} == {code: RETRYABLE[code] for code in HAPPENS}


def test_recovery_hints_is_an_array_of_general_sentences(happened: dict[str, dict[str, Any]]) -> None:
    for code, wire in happened.items():
        hints = wire["recovery_hints"]
        assert isinstance(hints, list), code
        assert hints, code
        assert all(isinstance(hint, str) and len(hint) > 10 for hint in hints), code


def test_match_not_found_includes_ten_to_fifteen_lines_of_context(bench: Bench) -> None:
    snippet = HAPPENS["MATCH_NOT_FOUND"](bench)["context"]["snippet"]
    assert snippet == "".join(LINES[23:38]).removesuffix("\n")


@pytest.mark.parametrize("sought", ["00 line of code", "59 line of code", "nothing of the kind"])
def test_the_window_keeps_its_lines_at_the_ends_of_the_file(bench: Bench, sought: str) -> None:
    snippet = bench.edit((sought, "x"))["context"]["snippet"]
    assert 10 <= len(snippet.splitlines()) <= 15
    assert snippet in TEXT


def test_ambiguous_match_shows_all_locations_with_context(bench: Bench) -> None:
    bench.file.write_text(TEXT.replace("40 line", "20 line"))
    locations = bench.edit(("20 line", "x"))["context"]["match_locations"]
    assert [location["line"] for location in locations] == [21, 41]
    assert locations[0]["snippet"] == "".join(LINES[17:24]).removesuffix("\n")


def test_per_edit_status_includes_failed_and_skipped_edits(bench: Bench) -> None:
    status = HAPPENS["MATCH_NOT_FOUND"](bench)["edit_status"]
    assert [(entry["edit_index"], entry["status"]) for entry in status] == [(1, "failed"), (2, "skipped")]
    assert status[0]["error_code"] == "MATCH_NOT_FOUND"
    assert "error_code" not in status[1]


def test_success_edits_are_absent_from_edit_status(bench: Bench) -> None:
    assert 0 not in [entry["edit_index"] for entry in HAPPENS["MATCH_NOT_FOUND"](bench)["edit_status"]]
    assert "edit_status" not in bench.edit(("30 line", "x"))


def test_stack_traces_never_appear_in_responses(happened: dict[str, dict[str, Any]]) -> None:
    for code, wire in happened.items():
        text = json.dumps(wire)
        assert not re.search(r"Traceback|File \"|line \d+, in |site-packages|Errno", text), code


def test_success_response_shape(bench: Bench) -> None:
    wire = bench.edit(("30 line", "x"), backup=True)
    assert wire["success"] is True
    shape = {"success", "file_path", "edits_applied", "replacements", "bytes_before", "bytes_after", "sha256"}
    assert shape | {"backup_path", "message"} <= wire.keys()
    assert not wire.keys() & {"error_code", "retryable", "recovery_hints", "edit_status", "context"}


def test_file_path_is_present_on_all_file_related_errors(happened: dict[str, dict[str, Any]]) -> None:
    assert {code for code, wire in happened.items() if "file_path" not in wire} == WITHOUT_A_FILE


def test_edit_index_is_present_on_edit_specific_errors(happened: dict[str, dict[str, Any]]) -> None:
    of_one_edit = {code: wire.get("edit_index") for code, wire in happened.items()}
    assert of_one_edit == {code: OF_ONE_EDIT.get(code) for code in HAPPENS}


@pytest.mark.parametrize("code", ["MATCH_NOT_FOUND", "AMBIGUOUS_MATCH"])
def test_context_snippets_have_no_line_numbers(bench: Bench, code: str) -> None:
    context = HAPPENS[code](bench)["context"]
    now = TEXT.replace(LINES[0], "x\n" if code == "AMBIGUOUS_MATCH" else "x", 1)
    snippets = [context["snippet"]] if "snippet" in context else [one["snippet"] for one in context["match_locations"]]
    assert all(snippet in now for snippet in snippets)


def test_backup_path_is_included_when_a_backup_exists(bench: Bench) -> None:
    wire = bench.edit(("30 line", "x"), backup=True)
    assert Path(wire["backup_path"]).read_text() == TEXT
    assert "backup_path" not in bench.edit(("31 line", "x"))


def test_match_locations_are_capped_at_five(bench: Bench) -> None:
    context = HAPPENS["AMBIGUOUS_MATCH"](bench)["context"]
    assert len(context["match_locations"]) == 5
    assert context["more_matches"] == 54


# Pitfalls.


def test_pitfall_3_the_context_stays_below_ten_kilobytes(bench: Bench) -> None:
    bench.file.write_text(("word " * 2_000 + "\n") * 50)
    context = bench.edit(("word word", "x"))["context"]
    assert len(json.dumps(context).encode()) <= 10_000


def test_pitfall_6_the_failed_edit_can_be_recognized_by_its_text(bench: Bench) -> None:
    wire = bench.edit(("30 line", "x"), ("q" * 100, "x"), ("r" * 100, "x"))
    assert [entry["old_string_preview"] for entry in wire["edit_status"]] == ["q" * 40, "r" * 40]


# Decisions.


def test_there_are_no_fuzzy_suggestions(bench: Bench) -> None:
    wire = bench.edit(("30 lime of text", "x"))
    reported = json.dumps([wire["message"], wire["recovery_hints"]])
    assert "30 line of text" not in reported
    assert "next_step" not in wire
    assert any("re-read" in hint.lower() for hint in wire["recovery_hints"])


def test_the_envelope_of_several_files_names_the_file(bench: Bench) -> None:
    edits = [{"old_string": "30 line", "new_string": "x"}]
    files = [{"file_path": str(bench.file), "edits": edits}, {"file_path": f"{bench.root}/gone", "edits": edits}]
    wire = bench.call({"files": files}, "multi_edit_files")
    assert (wire["error_code"], wire["file_index"], wire["file_path"]) == ("FILE_NOT_FOUND", 1, f"{bench.root}/gone")
    assert bench.file.read_text() == TEXT


def test_over_mcp_a_failure_is_a_result_that_says_so_with_the_envelope_as_text(bench: Bench) -> None:
    from mcp import Client, StdioServerParameters  # noqa: PLC0415 - half a second that only this test pays

    async def run() -> Any:
        command = ["-m", "failsoft", "serve", "edit", "--root", str(bench.root)]
        async with Client(StdioServerParameters(command=PYTHON, args=command)) as client:
            edits = [{"old_string": "gone", "new_string": "x"}]
            return await client.call_tool("multi_edit", {"file_path": str(bench.file), "edits": edits})

    result = asyncio.run(run())
    assert result.is_error is True
    assert json.loads(result.content[0].text) == result.structured_content
    assert result.structured_content["error_code"] == "MATCH_NOT_FOUND"


def test_the_command_line_knows_every_code_of_the_seed() -> None:
    done = subprocess.run(
        [PYTHON, "-m", "failsoft", "codes", "--format", "json"], capture_output=True, text=True, check=True
    )
    assert {"INVALID_PARAM" if code == "VALIDATION_FAILED" else code for code in RETRYABLE} <= {
        entry["code"] for entry in json.loads(done.stdout)
    }
