"""The third held-out tasks: another wrapped library and other mistakes, written before any of them was run."""

from __future__ import annotations

import json
from typing import Any

from agents.second_held_out import renamed, without
from agents.shipped_tasks import changed
from agents.tasks import Call, Task

__all__ = ["FOURTH_FILES", "third_depot_tasks", "third_flux_tasks", "third_shipped_tasks"]


def third_depot_tasks() -> list[Task]:
    """Return the tasks on parts, reservations and shipments."""
    reserve: Call = (
        "reserve",
        {"part_no": "P-100", "quantity": 3, "until": "2026-12-24T12:00:00Z", "notify": ["ann@example.org"]},
    )
    address = {"street": "Main St 1", "city": "Berlin", "postcode": "10115"}
    ship: Call = (
        "ship",
        {"order_no": "O-7", "address": address, "parcels": [{"weight_kg": 2.5}], "method": "express"},
    )
    find: Call = ("find_parts", {"text": "bolt", "page": 1, "per_page": 5, "in_stock": True})
    price: Call = ("set_price", {"part_no": "P-100", "price": 0.5, "version": 3})
    count: Call = ("count_rows", {"table": "parts", "where": {"name": "bolt"}})
    add: Call = ("add_part", {"part_no": "P-300", "name": "screw", "price": 0.1})
    export: Call = ("export", {"bucket": "stock", "key": "parts.csv"})
    report: Call = ("report", {"months": [1, 2], "unit": "g"})
    release: Call = ("release", {"reservation_id": "RS-1"})

    def of_reserve(name: str, first: Call, **more: Any) -> Task:
        return Task(f"t reserve {name}", reserve, first, effect="reserve P-100 3 2026-12-24 1", **more)

    def of_ship(name: str, first: Call, **more: Any) -> Task:
        return Task(f"t ship {name}", ship, first, effect="ship O-7 10115 1 2.5 express", **more)

    return [
        of_reserve("date alone", changed(reserve, until="2026-12-24")),
        of_reserve("until in words", changed(reserve, until="noon on 24 December 2026")),
        of_reserve("quantity pieces", changed(reserve, quantity="3 pieces")),
        of_reserve("quantity zero", changed(reserve, quantity=0)),
        of_reserve("notify text", changed(reserve, notify="ann@example.org")),
        of_reserve("notify objects", changed(reserve, notify=[{"email": "ann@example.org"}])),
        of_reserve("notify name", changed(reserve, notify=["Ann"])),
        of_reserve("part number", renamed(reserve, part_no="part_number")),
        of_reserve("part lower", changed(reserve, part_no="p-100")),
        of_reserve("kebab", renamed(reserve, part_no="part-no")),
        of_reserve("in arguments", ("reserve", {"arguments": reserve[1]})),
        of_reserve("as JSON", ("reserve", {"input": json.dumps(reserve[1])})),
        of_reserve("confirm", changed(reserve, confirm=True)),
        of_reserve("late", reserve, fault="late"),
        of_reserve("broken", reserve, fault="broken", stops=True),
        of_ship("address text", changed(ship, address="Main St 1, 10115 Berlin")),
        of_ship("address flat", ("ship", {**without(ship, "address")[1], **address})),
        of_ship("postcode number", changed(ship, address={**address, "postcode": 10115})),
        of_ship("zip", changed(ship, address={"street": "Main St 1", "city": "Berlin", "zip": "10115"})),
        of_ship("country in words", changed(ship, address={**address, "country": "Germany"})),
        of_ship("parcel object", changed(ship, parcels={"weight_kg": 2.5})),
        of_ship("parcel unit", changed(ship, parcels=[{"weight_kg": "2.5 kg"}])),
        of_ship("parcel in grams", changed(ship, parcels=[{"weight_kg": 2500}])),
        of_ship("method in capitals", changed(ship, method="EXPRESS")),
        of_ship("rejected", ship, fault="rejected", stops=True),
        of_ship("hostile", ship, fault="hostile", stops=True),
        Task("t find flag text", find, changed(find, in_stock="true")),
        Task("t find order", find, changed(find, order_by="price_desc")),
        Task("t find page zero", find, changed(find, page=0)),
        Task("t find tool camel", find, ("findParts", find[1])),
        Task("t find query", find, renamed(find, text="query")),
        Task("t find limited", find, find, "limited"),
        Task("t price version", price, changed(price, version=2), effect="price P-100 0.5"),
        Task("t price symbol", price, changed(price, price="$0.50"), effect="price P-100 0.5"),
        Task("t release short", release, changed(release, reservation_id="1"), effect="release RS-1"),
        Task("t count column", count, changed(count, where={"nme": "bolt"})),
        Task("t count JSON", count, changed(count, where='{"name": "bolt"}')),
        Task("t add twice", changed(add, part_no="P-100"), changed(add, part_no="P-100"), stops=True),
        Task("t export missing", export, changed(export, bucket="stocks"), effect="export stock parts.csv"),
        Task("t export busy", export, export, "busy", "export stock parts.csv"),
        Task("t export denied", export, export, "denied", "export stock parts.csv", stops=True),
        Task("t report words", report, changed(report, months=["January", "February"])),
        Task("t report garbled", report, report, "garbled", stops=True),
        Task("t report group", report, report, "group", stops=True),
    ]


FOURTH_FILES = {
    "api/auth.md": "---\ntitle: Authentication\n---\n# Authentication\n## Tokens\nSend one.\n",
    "api/limits.md": "---\ntitle: Limits\n---\n# Limits\nTen a second.\n",
    "src/shop.py": "RATE = 0.19\nRATE_LOW = 0.07\n\n\ndef gross(net):\n    return net * (1 + RATE)\n",
    "notes.txt": "one\ntwo\nthree\n",
}
"""The files of the third held-out tasks."""


def third_shipped_tasks() -> list[Task]:
    """Return the tasks on docs, edit and workspace."""
    read: Call = ("get_documentation", {"path": ["api/auth.md", "api/limits.md"]})
    part: Call = ("get_documentation", {"path": "api/auth.md#tokens"})
    search: Call = ("search_documents", {"query": "token", "mode": "lexical", "doc_types": ["document"]})
    listing: Call = ("list_documents", {"prefix": "api/", "limit": 10})
    old, new = "    return net * (1 + RATE)\n", "    return net * RATE\n"
    gross = {"old_string": old, "new_string": new}
    twice = {"old_string": "RATE", "new_string": "TAX"}
    edit: Call = ("multi_edit", {"file_path": "$ROOT/src/shop.py", "edits": [gross]})
    edited = "src/shop.py: RATE = 0.19\nRATE_LOW = 0.07\n\n\ndef gross(net):\n    return net * RATE\n"
    rename: Call = (
        "multi_edit",
        {
            "file_path": "$ROOT/src/shop.py",
            "edits": [{**twice, "replace_all": True}],
        },
    )
    renamed_all = "src/shop.py: TAX = 0.19\nTAX_LOW = 0.07\n\n\ndef gross(net):\n    return net * (1 + TAX)\n"
    write: Call = ("write_file", {"path": "notes.txt", "content": "four\n", "session_id": "$WRITER"})
    written = "notes.txt: four\n"
    lines: Call = ("read_file", {"path": "notes.txt", "first_line": 2, "session_id": "$PLANNER"})
    plan: Call = ("submit_plan", {"title": "Tidy", "files": ["src/**"], "session_id": "$PLANNER"})
    begin: Call = ("begin_session", {"workspace_root": "$ROOT", "role": "WINDSURF"})
    preflight: Call = ("run_preflight", {"session_id": "$WRITER"})

    def of_edit(name: str, given: dict[str, Any]) -> Task:
        return Task(f"t edit {name}", edit, changed(edit, edits=[given]), effect=edited)

    return [
        Task("t read one wrong", read, changed(read, path=["api/auth.md", "api/limts.md"])),
        Task("t read anchor", part, changed(part, path="api/auth.md#tokns")),
        Task("t read no ending", part, changed(part, path="api/auth#tokens")),
        Task("t search mode", search, changed(search, mode="keyword")),
        Task("t search types text", search, changed(search, doc_types="document")),
        Task("t search score", search, changed(search, min_score="high")),
        Task("t list cursor", listing, changed(listing, cursor="2")),
        Task("t list zero", listing, changed(listing, limit=0)),
        of_edit("camel", {"oldString": old, "newString": new}),
        of_edit("old new", {"old": old, "new": new}),
        of_edit("tabs", {**gross, "old_string": "\treturn net * (1 + RATE)\n"}),
        Task("t edit URI", edit, changed(edit, file_path="file://$ROOT/src/shop.py"), effect=edited),
        Task("t edit ambiguous", rename, changed(rename, edits=[dict(twice)]), effect=renamed_all),
        Task("t write stale", write, changed(write, expected_hash="0" * 64), "", written),
        Task("t write text name", write, renamed(write, content="text"), effect=written),
        Task("t lines beyond", lines, changed(lines, first_line=40)),
        Task("t plan object", plan, changed(plan, files=[{"path": "src/**"}])),
        Task("t begin role", begin, changed(begin, role="writer")),
        Task("t preflight", preflight, preflight, stops=True),
    ]


def third_flux_tasks() -> list[Task]:
    """Return the tasks on flux."""
    solve: Call = ("run_fba", {"model_id": "$MODEL", "media_id": "minimal_aerobic"})
    range_of: Call = ("run_fva", {"model_id": "$MODEL", "fraction": 0.9, "reactions": ["PGK"]})
    export: Call = ("export_model", {"model_id": "$MODEL", "format": "sbml"})
    name: Call = ("get_compound_name", {"compound_id": "cpd00027"})
    return [
        Task("t solve medium words", solve, changed(solve, media_id="minimal aerobic")),
        Task("t solve threshold", solve, changed(solve, flux_threshold="1e-6")),
        Task("t range more than one", range_of, changed(range_of, fraction=90)),
        Task("t range text", range_of, changed(range_of, reactions="PGK")),
        Task("t export format", export, changed(export, format="SBML")),
        Task("t export xml", export, changed(export, format="xml")),
        Task("t name number", name, changed(name, compound_id=27)),
        Task("t name list", name, changed(name, compound_id=["cpd00027"])),
    ]
