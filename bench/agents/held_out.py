"""Held-out tasks: other files and other mistakes, written before any task on these toolsets was run."""

from __future__ import annotations

from agents.shipped_tasks import changed
from agents.tasks import Call, Task

__all__ = ["held_out_flux_tasks", "held_out_tasks", "held_out_wrapped_tasks"]

_TAX = {"old_string": "export const RATE = 0.19;", "new_string": "export const RATE = 0.16;"}
_TAXED = "lib/tax.ts: export const RATE = 0.16;\nexport const REDUCED = 0.07;\n"


def held_out_tasks() -> list[Task]:
    """Return the held-out tasks on documents, edits and workspaces: other files, other mistakes."""
    read: Call = ("get_documentation", {"path": "handbook/returns.md"})
    some: Call = ("get_documentation", {"path": ["handbook/returns.md", "handbook/shipping.md"]})
    search: Call = ("search_documents", {"query": "working days", "limit": 3})
    promote: Call = ("promote_document", {"path": "handbook/shipping.md", "level": "critical"})
    promoted = (
        "handbook/shipping.md: ---\ntitle: Shipping\npromotion_level: critical\n---\n# Shipping\nThree working days.\n"
    )
    listed: Call = ("list_documents", {"prefix": "handbook/", "limit": 2})
    edit: Call = ("multi_edit", {"file_path": "$ROOT/lib/tax.ts", "edits": [_TAX]})
    write: Call = (
        "write_file",
        {"path": "prices.csv", "content": "sku,price\n", "expected_hash": "$SHA prices.csv", "session_id": "$WRITER"},
    )
    written = "prices.csv: sku,price\n"
    patch: Call = (
        "apply_patch",
        {
            "path": "prices.csv",
            "patch": "@@ -2,2 +2,2 @@\n-soup,4.10\n+soup,4.50\n bread,2.20\n",
            "session_id": "$WRITER",
        },
    )
    patched = "prices.csv: sku,price\nsoup,4.50\nbread,2.20\nsalt,0.90\n"
    look: Call = ("read_file", {"path": "lib/order.ts", "session_id": "$PLANNER"})
    begin: Call = ("begin_session", {"workspace_root": "$ROOT", "role": "ANTIGRAVITY"})
    return [
        Task("h read folder", read, changed(read, path="handbook/return.md")),
        Task("h read singular", some, changed(some, path=["handbook/returns.md", "handbook/shiping.md"])),
        Task("h read two lost", some, changed(some, path=["handbook/retruns.md", "handbook/shiping.md"])),
        Task("h read by title", read, changed(read, path="Returns")),
        Task("h read backslash", read, changed(read, path="handbook\\returns.md")),
        Task("h read html", read, changed(read, path="handbook/returns.html")),
        Task("h read list as JSON", some, changed(some, path='["handbook/returns.md", "handbook/shipping.md"]')),
        Task("h read file name", read, ("get_documentation", {"file": "handbook/returns.md"})),
        Task("h read two names", read, ("get_documentation", {"doc_path": "handbook/returns.md", "format": "text"})),
        Task("h read anchor", read, changed(read, path="handbook/returns.md#fees")),
        Task("h read url", read, changed(read, path="https://example.org/handbook/returns.md")),
        Task("h tool getDocumentation", read, ("getDocumentation", read[1])),
        Task("h tool get_document", read, ("get_document", read[1])),
        Task("h tool search", search, ("search-documents", search[1])),
        Task("h search top_k", search, ("search_documents", {"query": "working days", "top_k": 3})),
        Task("h search q", search, ("search_documents", {"q": "working days", "limit": 3})),
        Task("h search word number", search, changed(search, limit="three")),
        Task("h search float", search, changed(search, limit=3.7)),
        Task("h search list", search, changed(search, query=["working", "days"])),
        Task("h search min", search, changed(search, min_score="high")),
        Task("h search level", search, changed(search, level="highest")),
        Task("h search two wrong", search, ("search_documents", {"Query": "working days", "limit": "3"})),
        Task("h list negative", listed, changed(listed, limit=-1)),
        Task("h list type", listed, changed(listed, doc_type="handbok")),
        Task("h list page", listed, changed(listed, page=1)),
        Task("h list null", listed, changed(listed, limit=None)),
        Task("h promote number", promote, changed(promote, level=3), effect=promoted),
        Task("h promote other word", promote, changed(promote, level="high"), effect=promoted),
        Task("h promote typo and case", promote, changed(promote, path="Handbook/shiping.md"), effect=promoted),
        Task("h promote gone", promote, promote, "delete handbook/shipping.md", stops=True),
        Task("h edit camel", edit, ("multi_edit", {"filePath": "$ROOT/lib/tax.ts", "edits": [_TAX]}), effect=_TAXED),
        Task(
            "h edit camel inside",
            edit,
            changed(edit, edits=[{"oldString": _TAX["old_string"], "newString": _TAX["new_string"]}]),
            effect=_TAXED,
        ),
        Task("h edit flat", edit, ("multi_edit", {"file_path": "$ROOT/lib/tax.ts", **_TAX}), effect=_TAXED),
        Task("h edit one", edit, changed(edit, edits=_TAX), effect=_TAXED),
        Task(
            "h edit as JSON",
            edit,
            changed(
                edit, edits='[{"old_string": "export const RATE = 0.19;", "new_string": "export const RATE = 0.16;"}]'
            ),
            effect=_TAXED,
        ),
        Task("h edit flag text", edit, changed(edit, dry_run="false"), effect=_TAXED),
        Task(
            "h edit spaces",
            edit,
            changed(edit, edits=[{**_TAX, "old_string": "export const RATE  = 0.19;"}]),
            effect=_TAXED,
        ),
        Task("h edit many", edit, changed(edit, edits=[{**_TAX, "old_string": "export const R"}]), effect=_TAXED),
        Task("h edit other file", edit, changed(edit, file_path="$ROOT/lib/taxes.ts"), effect=_TAXED),
        Task("h edit folder", edit, changed(edit, file_path="$ROOT/lib"), effect=_TAXED),
        Task(
            "h edit changed",
            changed(edit, expected_hash="$SHA lib/tax.ts"),
            changed(edit, expected_hash="$SHA lib/tax.ts"),
            "change lib/tax.ts",
            effect=f"lib/tax.ts: # changed meanwhile\n{_TAXED.partition(': ')[2]}",
        ),
        Task("h edit tool", edit, ("multiEdit", edit[1]), effect=_TAXED, stops=True),
        Task("h edit home", edit, changed(edit, file_path="~/lib/tax.ts"), effect=_TAXED),
        Task("h write changed", write, write, "change prices.csv", effect=written),
        Task("h write upper hash", write, changed(write, expected_hash="ABC123"), effect=written),
        Task(
            "h write text name",
            write,
            ("write_file", {**{k: v for k, v in write[1].items() if k != "content"}, "text": "sku,price\n"}),
            effect=written,
        ),
        Task("h write object", write, changed(write, content={"sku": "price"}), effect=written),
        Task("h write reviewer", write, changed(write, session_id="$REVIEWER"), effect=written),
        Task("h write plan number", write, changed(write, plan_hash=12), effect=written),
        Task(
            "h write not planned",
            ("write_file", {"path": "handbook/new.md", "content": "x", "session_id": "$WRITER"}),
            ("write_file", {"path": "handbook/new.md", "content": "x", "session_id": "$WRITER"}),
            stops=True,
        ),
        Task(
            "h write outside",
            ("write_file", {"path": "../x.csv", "content": "x", "session_id": "$WRITER"}),
            ("write_file", {"path": "../x.csv", "content": "x", "session_id": "$WRITER"}),
            stops=True,
        ),
        Task(
            "h patch line numbers",
            patch,
            changed(patch, patch=patch[1]["patch"].replace("-2,2 +2,2", "-40,2 +40,2")),
            effect=patched,
        ),
        Task(
            "h patch changed",
            patch,
            patch,
            "change prices.csv",
            effect="prices.csv: # changed meanwhile\nsku,price\nsoup,4.50\nbread,2.20\nsalt,0.90\n",
            stops=True,
        ),
        Task("h patch list", patch, changed(patch, patch=["@@"]), effect=patched),
        Task(
            "h patch diff name",
            patch,
            ("apply_patch", {"path": "prices.csv", "diff": patch[1]["patch"], "session_id": "$WRITER"}),
            effect=patched,
        ),
        Task("h look case", look, changed(look, path="lib/Order.ts")),
        Task("h look extension", look, changed(look, path="lib/order.js")),
        Task("h look ended", look, changed(look, session_id="$ENDED")),
        Task("h look null", look, changed(look, session_id="")),
        Task("h look line text", look, changed(look, first_line="1")),
        Task("h look line zero", look, changed(look, first_line=0)),
        Task("h look gone", look, look, "delete lib/order.ts", stops=True),
        Task("h begin lower", begin, changed(begin, role="antigravity")),
        Task("h begin relative", begin, changed(begin, workspace_root=".")),
        Task("h begin root name", begin, ("begin_session", {"root": "$ROOT", "role": "ANTIGRAVITY"})),
        Task("h begin reviewer", begin, changed(begin, role="reviewer")),
    ]


def held_out_flux_tasks() -> list[Task]:
    """Return the held-out tasks on metabolic models."""
    fva: Call = ("run_fva", {"model_id": "$MODEL", "reactions": ["PGK"], "fraction": 0.9})
    change: Call = ("modify_model", {"model_id": "$MODEL", "remove_reactions": ["PGK"]})
    name: Call = ("get_reaction_name", {"reaction_id": "rxn00148"})
    export: Call = ("export_model", {"model_id": "$MODEL", "format": "json"})
    return [
        Task("h fva percent", fva, changed(fva, fraction="90%")),
        Task("h fva above one", fva, changed(fva, fraction=90)),
        Task("h fva reaction", fva, changed(fva, reactions=["PKG"])),
        Task("h fva case", fva, changed(fva, reactions=["pgk"])),
        Task("h fva one", fva, changed(fva, reactions="PGK")),
        Task("h change reaction", change, changed(change, remove_reactions=["R_PGK"])),
        Task("h change nothing", change, ("modify_model", {"model_id": "$MODEL"})),
        Task("h change name", change, ("modify_model", {"model": "$MODEL", "remove_reactions": ["PGK"]})),
        Task("h reaction number", name, changed(name, reaction_id=148)),
        Task("h reaction upper", name, changed(name, reaction_id="RXN00148")),
        Task("h export format", export, changed(export, format="xml")),
        Task("h export upper", export, changed(export, format="JSON")),
    ]


def held_out_wrapped_tasks() -> list[Task]:
    """Return the held-out tasks on wrapped libraries: mistakes that the other tasks do not make."""
    order: Call = ("place_order", {"customer": "c-4", "items": [{"sku": "tea", "count": 2}], "express": True})
    placed = "order c-4 1 True"
    write: Call = ("write_document", {"path": "menu.txt", "text": "Tea"})
    search: Call = ("search_documents", {"query": "intro", "limit": 2})
    measure: Call = ("measure", {"compound": "lactate", "amount": 4.0})
    add: Call = ("add_customer", {"email": "kim@example.org", "age": 52})
    query: Call = ("query", {"sql": "select age from customers"})
    return [
        Task("h order yes", order, changed(order, express="yes"), effect=placed),
        Task("h order count text", order, changed(order, items=[{"sku": "tea", "count": "2"}]), effect=placed),
        Task("h order names", order, changed(order, items=[{"SKU": "tea", "qty": 2}]), effect=placed),
        Task("h order item text", order, changed(order, items=["tea"]), effect=placed),
        Task(
            "h order all wrong",
            order,
            ("place_order", {"Customer": "c-4", "item": [{"sku": "tea", "count": 2}], "express": "true"}),
            effect=placed,
        ),
        Task("h order wrapped", order, ("place_order", {"order": order[1]}), effect=placed),
        Task("h order late", order, order, "late", effect=placed),
        Task("h order kebab tool", order, ("place-order", order[1]), effect=placed, stops=True),
        Task("h order verb", order, ("create_order", order[1]), effect=placed, stops=True),
        Task(
            "h write sha name", write, ("write_document", {**write[1], "sha": "deadbeef"}), effect="write menu.txt Tea"
        ),
        Task("h write sha number", write, changed(write, expected_sha=5), effect="write menu.txt Tea"),
        Task("h write stale", write, changed(write, expected_sha="00000000"), effect="write menu.txt Tea"),
        Task("h write limited", write, write, "limited", effect="write menu.txt Tea"),
        Task("h search words", search, changed(search, query=["intro"])),
        Task("h search mode", search, changed(search, mode="Semantic")),
        Task("h search mode unknown", search, changed(search, mode="fuzzy")),
        Task("h search outage", search, search, "outage"),
        Task("h measure unit", measure, changed(measure, amount="4mM")),
        Task("h measure words", measure, changed(measure, amount="four")),
        Task("h measure zero", measure, changed(measure, amount=0)),
        Task("h measure both", measure, ("measure", {"compoundName": "lactate", "amount": "4.0"})),
        Task("h measure crash", measure, measure, "crash", stops=True),
        Task("h add age text", add, changed(add, age="52 years"), effect="customer kim@example.org"),
        Task(
            "h add mail name",
            add,
            ("add_customer", {"mail": "kim@example.org", "age": 52}),
            effect="customer kim@example.org",
        ),
        Task("h query table", query, changed(query, sql="select age from customer")),
        Task("h query column", query, changed(query, sql="select ages from customers")),
        Task("h query end", query, changed(query, sql="select age from")),
        Task(
            "h cancel number",
            ("cancel_order", {"order_id": "A-1"}),
            ("cancel_order", {"order_id": 1}),
            effect="cancel A-1",
        ),
        Task(
            "h cancel near",
            ("cancel_order", {"order_id": "A-1"}),
            ("cancel_order", {"order_id": "A-l"}),
            effect="cancel A-1",
        ),
        Task("h path folder", ("get_document", {"path": "guide/intro.md"}), ("get_document", {"path": "intro.md"})),
    ]
