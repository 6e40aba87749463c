"""The second held-out tasks: other tools and other mistakes, written before any of them was run."""

from __future__ import annotations

import json
from typing import Any

from agents.shipped_tasks import changed
from agents.tasks import Call, Task

__all__ = ["renamed", "second_bookings_tasks", "second_flux_tasks", "second_shipped_tasks", "without"]


def renamed(call: Call, **names: str) -> Call:
    """Return a call with parameters under other names."""
    return call[0], {names.get(name, name): value for name, value in call[1].items()}


def without(call: Call, *names: str) -> Call:
    """Return a call without some of its parameters."""
    return call[0], {name: value for name, value in call[1].items() if name not in names}


def second_bookings_tasks() -> list[Task]:
    """Return the tasks on rooms and bookings."""
    book: Call = (
        "book",
        {"room": "R-204", "day": "2026-12-03", "start": "09:30", "minutes": 45, "guests": [{"name": "ann"}]},
    )
    booked = "book R-204 2026-12-03 09:30 45 1"
    find: Call = ("find_rooms", {"seats": 6, "building": "north", "day": "2026-12-03"})
    move: Call = ("reschedule", {"booking_id": "B-1", "day": "2026-12-05", "expected_sha": "5f1c20aa"})
    moved = "move B-1 2026-12-05"
    cancel: Call = ("cancel", {"booking_id": "B-1", "reason": "ill"})
    cancelled = "cancel B-1 ill"
    member: Call = ("add_member", {"name": "kim", "plan_id": 2, "age": 34})
    added = "member kim 2 34"
    quote: Call = ("quote", {"amount": 12.5, "currency": "EUR", "discount_percent": 8})
    read: Call = ("read_setting", {"file": "display.json", "key": "timeout_s"})
    write: Call = ("write_setting", {"file": "display.json", "key": "brightness", "value": 40})
    written = "set display.json brightness 40"
    render: Call = ("render", {"template": "Dear {name}", "values": {"name": "Ann"}, "is_draft": True})

    def booking(name: str, first: Call, **more: Any) -> Task:
        return Task(f"s book {name}", book, first, **{"effect": booked, **more})

    return [
        booking("date and time", changed(book, day="2026-12-03T00:00:00Z")),
        booking("day first", changed(book, day="03.12.2026")),
        booking("day in words", changed(book, day="December 3, 2026")),
        booking("short hour", changed(book, start="9:30")),
        booking("half past", changed(book, start="9:30 AM")),
        booking("minutes unit", changed(book, minutes="45 min")),
        booking("minutes float", changed(book, minutes=45.0)),
        booking("minutes too few", changed(book, minutes=5)),
        booking("guests names", changed(book, guests=["ann"])),
        booking("guests text", changed(book, guests="ann")),
        booking("guests object", changed(book, guests={"name": "ann"})),
        booking("guests as JSON", changed(book, guests='[{"name": "ann"}]')),
        booking("guests camel", changed(book, guests=[{"Name": "ann"}])),
        booking("guests more", changed(book, guests=[{"name": "ann", "email": "ann@example.org"}])),
        booking("room id name", renamed(book, room="room_id")),
        booking("other names", renamed(book, day="date", start="start_time")),
        booking("duration name", renamed(book, minutes="duration_minutes")),
        booking("reasoning", changed(book, reasoning="the room is large enough")),
        booking("in params", ("book", {"params": book[1]})),
        booking("null more", changed(book, note=None)),
        booking("room without dash", changed(book, room="R204")),
        booking("room lower", changed(book, room="r-204")),
        booking("room unknown", changed(book, room="R-240")),
        booking("tool prefix", ("bookings.book", book[1]), stops=True),
        booking("tool create", ("book_room", book[1]), stops=True),
        booking("no arguments", ("book", {})),
        booking("three wrong", changed(renamed(book, room="Room"), minutes="45", guests=["ann"])),
        booking("late", book, fault="late"),
        booking("taken", book, fault="taken", stops=True),
        booking("rejected", book, fault="rejected", stops=True),
        booking("outage", book, fault="outage"),
        Task("s find number text", find, changed(find, seats="6")),
        Task("s find word", find, changed(find, seats="six")),
        Task("s find case", find, changed(find, building="North")),
        Task("s find building in words", find, changed(find, building="north building")),
        Task("s find building unknown", find, changed(find, building="west")),
        Task("s find list", find, changed(find, building=["north"])),
        Task("s find too many", find, changed(find, seats=600)),
        Task("s find none text", find, changed(find, day="None")),
        Task("s find empty day", find, changed(find, day="")),
        Task("s find tool singular", find, ("find_room", find[1])),
        Task("s find tool verb", find, ("search_rooms", find[1])),
        Task("s find limited", find, find, "limited"),
        Task("s find slow", find, find, "slow"),
        Task("s find broken", find, find, "broken"),
        Task("s find garbled", find, find, "garbled", stops=True),
        Task("s find crash", find, find, "crash", stops=True),
        Task("s move changed", move, changed(move, expected_sha="00000000"), effect=moved),
        Task("s move no hash", move, without(move, "expected_sha"), effect=moved),
        Task("s move null hash", move, changed(move, expected_sha=None), effect=moved),
        Task("s move id number", move, changed(move, booking_id=1), effect=moved),
        Task("s move id name", move, renamed(move, booking_id="id"), effect=moved),
        Task("s cancel typo", cancel, changed(cancel, booking_id="B-l"), effect=cancelled),
        Task("s cancel gone", changed(cancel, booking_id="B-7"), changed(cancel, booking_id="B-7"), stops=True),
        Task("s cancel spaces", cancel, changed(cancel, booking_id=" B-1 "), effect=cancelled),
        Task("s cancel number", cancel, changed(cancel, reason=4), effect=cancelled),
        Task("s cancel hostile", cancel, cancel, "hostile", stops=True),
        Task("s cancel verb", cancel, ("delete_booking", cancel[1]), effect=cancelled, stops=True),
        Task("s member plan", changed(member, plan_id=9), changed(member, plan_id=9), stops=True),
        Task("s member young", changed(member, age=8), changed(member, age=8), stops=True),
        Task("s member twice", changed(member, name="ann"), changed(member, name="ann"), stops=True),
        Task("s member locked", member, member, "locked", added, stops=True),
        Task("s member plan text", member, changed(member, plan_id="2"), effect=added),
        Task("s member plan in words", member, changed(member, plan_id="plan 2"), effect=added),
        Task("s member camel", member, renamed(member, plan_id="planId"), effect=added),
        Task("s member true", member, changed(member, age=True), effect=added),
        Task("s quote comma", quote, changed(quote, amount="12,50")),
        Task("s quote currency in it", quote, changed(quote, amount="12.5 EUR")),
        Task("s quote percent", quote, changed(quote, discount_percent="8%")),
        Task("s quote symbol", quote, changed(quote, currency="€")),
        Task("s quote lower", quote, changed(quote, currency="eur")),
        Task("s quote negative", quote, changed(quote, amount=-12.5)),
        Task("s quote name", quote, renamed(quote, discount_percent="discount")),
        Task("s read no ending", read, changed(read, file="display")),
        Task("s read typo", read, changed(read, file="dispaly.json")),
        Task("s read folder", read, changed(read, file="./display.json")),
        Task("s read key", read, changed(read, key="timeout")),
        Task("s read denied", read, read, "denied", stops=True),
        Task("s write text", write, changed(write, value="40"), effect=written),
        Task("s write full", write, write, "full", written, stops=True),
        Task("s write outage", write, write, "outage", written),
        Task("s write names", write, renamed(write, file="filename", value="new_value"), effect=written),
        Task("s render number", render, changed(render, values={"name": 5})),
        Task("s render list", render, changed(render, values=["Ann"])),
        Task("s render flag", render, changed(render, is_draft="yes")),
        Task("s render number flag", render, changed(render, is_draft=1)),
        Task("s render program", render, render, "program", stops=True),
        Task("s render lost", render, changed(render, template="Dear {nme}", is_draft=False)),
    ]


THIRD_FILES = {
    "manual/start.md": "---\ntitle: Start\n---\n# Start\nPlug it in.\n",
    "manual/stop.md": "---\ntitle: Stop\n---\n# Stop\nPull the plug.\n",
    "manual/broken.md": "---\ntitle: [Broken\n---\n# Broken\nNo.\n",
    "lib/clock.py": "HOUR = 3600\nDAY = 24 * HOUR\n",
    "lib/calendar.py": "from clock import DAY\n\nWEEK = 7 * DAY\n",
    "stock.csv": "sku,count\ntea,4\nrice,9\n",
}
"""The files of the second held-out tasks."""


def second_shipped_tasks() -> list[Task]:
    """Return the tasks on operations of docs, edit and workspace that the other sets hardly use."""
    hour = {"old_string": "HOUR = 3600", "new_string": "HOUR = 60 * 60"}
    week = {"old_string": "WEEK = 7 * DAY", "new_string": "WEEK = 5 * DAY"}
    files = [
        {"file_path": "$ROOT/lib/clock.py", "edits": [hour]},
        {"file_path": "$ROOT/lib/calendar.py", "edits": [week]},
    ]
    one: Call = ("multi_edit_files", {"files": files[:1]})
    edited = "lib/clock.py: HOUR = 60 * 60\nDAY = 24 * HOUR\n"
    both: Call = ("multi_edit_files", {"files": files, "dry_run": True})
    check: Call = ("validate_document", {"path": "manual/start.md"})
    types: Call = ("list_doc_types", {})
    plan: Call = ("submit_plan", {"title": "Tidy", "files": ["lib/**"], "session_id": "$PLANNER"})
    audit: Call = ("read_audit_log", {"limit": 5, "session_id": "$PLANNER"})
    plans: Call = ("list_plans", {"limit": 5, "session_id": "$PLANNER"})
    listed: Call = ("list_files", {"path": "lib", "session_id": "$PLANNER"})
    lines: Call = ("read_file", {"path": "lib/clock.py", "first_line": 2, "session_id": "$PLANNER"})
    patch: Call = (
        "apply_patch",
        {
            "path": "stock.csv",
            "patch": "@@ -1,3 +1,3 @@\n sku,count\n-tea,4\n+tea,3\n rice,9\n",
            "session_id": "$WRITER",
        },
    )
    patched = "stock.csv: sku,count\ntea,3\nrice,9\n"
    write: Call = ("write_file", {"path": "lib/new.py", "content": "A = 1\n", "session_id": "$WRITER"})
    written = "lib/new.py: A = 1\n"
    search: Call = ("search_documents", {"query": "plug", "limit": 2, "prefix": "manual/"})
    return [
        Task("s files file name", one, changed(one, files=[_name(files[0], "filename")]), effect=edited),
        Task("s files flat", one, ("multi_edit_files", files[0]), effect=edited),
        Task("s files object", one, changed(one, files=files[0]), effect=edited),
        Task("s files one edit", one, changed(one, files=[{**files[0], "edits": hour}]), effect=edited),
        Task("s files relative", one, changed(one, files=[{**files[0], "file_path": "lib/clock.py"}]), effect=edited),
        Task(
            "s files search and replace",
            one,
            changed(one, files=[{**files[0], "edits": [{"search": "HOUR = 3600", "replace": "HOUR = 60 * 60"}]}]),
            effect=edited,
        ),
        Task(
            "s files same text",
            one,
            changed(one, files=[{**files[0], "edits": [{**hour, "new_string": "HOUR = 3600"}]}]),
            effect=edited,
        ),
        Task(
            "s files line numbers",
            one,
            changed(one, files=[{**files[0], "edits": [{**hour, "old_string": "1\tHOUR = 3600"}]}]),
            effect=edited,
        ),
        Task("s files typo", both, changed(both, files=[files[0], {**files[1], "file_path": "$ROOT/lib/calender.py"}])),
        Task("s files second lost", both, changed(both, files=[files[0], {**files[1], "edits": [hour]}])),
        Task("s files twice", both, changed(both, files=[files[0], files[0]])),
        Task("s files as JSON", both, changed(both, files=_as_json(files))),
        Task("s check typo", check, changed(check, path="manual/strat.md")),
        Task("s check name", check, renamed(check, path="document")),
        Task("s check list", check, changed(check, path=["manual/start.md"])),
        Task("s types more", types, ("list_doc_types", {"verbose": True})),
        Task("s types tool", types, ("list_document_types", {})),
        Task(
            "s external",
            ("search_external_docs", {"query": "plug"}),
            ("search_external_docs", {"query": "plug"}),
            stops=True,
        ),
        Task("s search folder", search, changed(search, prefix="manuals/")),
        Task("s search limit none", search, changed(search, limit="None")),
        Task(
            "s search many names", search, ("search_documents", {"text": "plug", "max_results": 2, "prefix": "manual/"})
        ),
        Task("s plan files text", plan, changed(plan, files="lib/**")),
        Task("s plan globs", plan, renamed(plan, files="globs")),
        Task("s plan absolute", plan, changed(plan, files=["$ROOT/lib/**"])),
        Task("s plan parents", plan, changed(plan, files=["../lib/**"])),
        Task("s plan none", plan, changed(plan, files=[])),
        Task("s plan name", plan, renamed(plan, title="name")),
        Task("s plan ended", plan, changed(plan, session_id="$ENDED")),
        Task("s audit many", audit, changed(audit, limit=100_000)),
        Task("s audit text", audit, changed(audit, limit="5")),
        Task("s audit tool", audit, ("get_audit_log", audit[1])),
        Task("s plans page", plans, changed(plans, page=2)),
        Task("s plans camel", plans, renamed(plans, session_id="sessionId")),
        Task("s list typo", listed, changed(listed, path="libs")),
        Task("s list file", listed, changed(listed, path="lib/clock.py")),
        Task("s list recursive", listed, changed(listed, recursive=True)),
        Task("s list absolute", listed, changed(listed, path="$ROOT/lib")),
        Task("s lines range", lines, changed(without(lines, "first_line"), start_line=2)),
        Task("s lines float", lines, changed(lines, first_line=2.0)),
        Task("s lines negative", lines, changed(lines, first_line=-2)),
        Task("s patch fenced", patch, changed(patch, patch=f"```diff\n{patch[1]['patch']}```"), effect=patched),
        Task("s patch git", patch, changed(patch, patch=_GIT), effect=patched),
        Task("s patch crossed", patch, changed(patch, path="lib/clock.py"), effect=patched),
        Task("s write planner", write, changed(write, session_id="$PLANNER"), effect=written),
        Task("s write folder", write, changed(write, path="lib"), effect=written),
        Task("s write lines", write, changed(write, content=["A = 1"]), effect=written),
        Task("s write overwrite", write, changed(write, overwrite=True), effect=written),
        Task(
            "s write plan",
            ("write_file", {"path": "manual/new.md", "content": "x", "session_id": "$WRITER"}),
            ("write_file", {"path": "manual/new.md", "content": "x", "session_id": "$WRITER"}),
            stops=True,
        ),
    ]


_GIT = (
    "diff --git a/stock.csv b/stock.csv\n--- a/stock.csv\n+++ b/stock.csv\n"
    "@@ -1,3 +1,3 @@\n sku,count\n-tea,5\n+tea,3\n rice,9\n"
)


def _name(file: dict[str, Any], name: str) -> dict[str, Any]:
    return {name: file["file_path"], "edits": file["edits"]}


def _as_json(files: list[dict[str, Any]]) -> str:

    return json.dumps(files)


def second_flux_tasks() -> list[Task]:
    """Return the tasks on operations of flux that the other sets do not use."""
    media: Call = ("build_media", {"compounds": ["glc__D", "o2"], "custom_bounds": {"glc__D": [-10, 1000]}})
    fill: Call = ("gapfill_model", {"model_id": "$MODEL", "media_id": "complete_aerobic", "target_growth": 0.1})
    lethal: Call = ("delete_reactions", {"model_id": "$MODEL", "reactions": ["PGK"]})
    find: Call = ("search_reactions", {"query": "glucokinase", "limit": 5})
    part: Call = ("export_model_json", {"model_id": "$MODEL", "section": "genes", "limit": 5})
    change: Call = ("modify_model", {"model_id": "$MODEL", "bounds": {"EX_glc__D_e": [-5, 1000]}})
    load: Call = ("load_model", {"name": "textbook"})
    return [
        Task("s media bound", media, changed(media, custom_bounds={"glc__D": -10})),
        Task("s media bounds object", media, changed(media, custom_bounds={"glc__D": {"lower": -10, "upper": 1000}})),
        Task("s media reversed", media, changed(media, custom_bounds={"glc__D": [1000, -10]})),
        Task("s media comma", media, changed(media, compounds="glc__D, o2")),
        Task("s media names", media, changed(media, compounds=["D-Glucose", "o2"])),
        Task("s media wrong name", media, renamed(media, compounds="compound_ids")),
        Task("s fill medium", fill, changed(fill, media_id="complete")),
        Task("s fill medium case", fill, changed(fill, media_id="Complete_Aerobic")),
        Task("s fill growth", fill, changed(fill, target_growth=-1)),
        Task("s fill no medium", fill, without(fill, "media_id")),
        Task("s lethal exchange", lethal, changed(lethal, reactions=["phosphoglycerate kinase"])),
        Task("s lethal ids", lethal, renamed(lethal, reactions="reaction_ids")),
        Task("s find top", find, renamed(find, limit="top_k")),
        Task("s find none", find, changed(find, query=["glucokinase"])),
        Task("s part section", part, changed(part, section="gene")),
        Task("s part zero", part, changed(part, limit=0)),
        Task("s change bounds", change, changed(change, bounds={"EX_glc__D_e": "-5"})),
        Task("s change exchange", change, changed(change, bounds={"EX_glc_e": [-5, 1000]})),
        Task("s change three", change, changed(change, bounds={"EX_glc__D_e": [-5, 0, 1000]})),
        Task("s load upper", load, changed(load, name="TEXTBOOK")),
        Task("s load core", load, changed(load, name="e_coli_core")),
    ]
