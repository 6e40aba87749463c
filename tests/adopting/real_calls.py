"""Failing calls of twelve real servers, and the category that a user expects of each.

The categories were written before any of the calls was made; `a|b` accepts both. WORK is the folder that a server may
read and URL a web server for the test. What follows a category is what a refusal of the arguments has to name: fields,
types and values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["CALLS", "Call"]

BAD = "invalid_argument"
GONE = "not_found"
DENIED = "permission_denied"
THERE = "already_exists"
STATE = "precondition_failed|conflict|invalid_argument|upstream_error"
VAGUE = "upstream_error"
ODD = "invalid_argument|upstream_error"


class Call(NamedTuple):
    """A call of one tool."""

    tool: str
    arguments: dict[str, Any]
    category: str
    needs: tuple[str, ...] = ()


def _calls(*rows: tuple[Any, ...]) -> list[Call]:
    return [Call(row[0], row[1], row[2], tuple(row[3:])) for row in rows]


def _each(tool: str, name: str, /, *rows: tuple[Any, ...], **others: Any) -> list[Call]:
    """Return calls that differ in one argument."""
    return [Call(tool, {**others, name: row[0]}, row[1], tuple(row[2:])) for row in rows]


EVERYTHING = [
    *_calls(
        ("echo", {}, BAD, "message", "string"),
        ("echo", {"mesage": "hi"}, BAD, "message", "mesage"),
        ("get-sum", {}, BAD, "a", "b", "number"),
        ("get-sum", {"a": 1}, BAD, "b", "number"),
        ("get-sum", {"a": "two", "b": 3}, BAD, "a", "number"),
        ("get-annotated-message", {}, BAD, "messageType", "error", "success", "debug"),
        ("get-annotated-message", {"messageType": "error", "includeImage": "yes"}, BAD, "includeImage", "boolean"),
        ("get-structured-content", {}, BAD, "location", "New York", "Chicago", "Los Angeles"),
        ("simulate-research-query", {}, BAD, "topic", "string"),
        ("trigger-long-running-operation", {"duration": "long"}, BAD, "duration", "number"),
        ("trigger-long-running-operation", {"duration": 0.01, "steps": "many"}, BAD, "steps", "number"),
        ("no-such-tool", {}, GONE, "no-such-tool"),
        ("get-summ", {"a": 1, "b": 2}, GONE, "get-summ"),
    ),
    *_each("echo", "message", (5, BAD, "message", "string"), (None, BAD, "message", "string")),
    *_each("get-annotated-message", "messageType", ("warning", BAD, "messageType", "error", "success", "debug")),
    *_each("get-resource-links", "count", (11, BAD, "count", "10"), (0, BAD, "count", "1"), ("x", BAD, "number")),
    *_each(
        *("get-resource-reference", "resourceId"),
        (0, "invalid_argument|upstream_error", "resourceId"),
        (-1, "invalid_argument|upstream_error", "resourceId"),
        (1.5, "invalid_argument|upstream_error", "resourceId"),
        resourceType="Text",
    ),
    *_each("get-resource-reference", "resourceType", ("Video", BAD, "resourceType", "Text", "Blob"), resourceId=1),
    *_each("get-structured-content", "location", ("Paris", BAD, "New York", "Chicago", "Los Angeles")),
    *_each(
        *("gzip-file-as-resource", "data"),
        ("not a url", ODD, "data"),
        ("ftp://example.com/a.txt", ODD),
        ("URL/status/404", "not_found|upstream_error"),
        ("http://127.0.0.1:9/a.txt", "unavailable|upstream_error"),
        name="a.gz",
    ),
    *_calls(
        ("gzip-file-as-resource", {"name": 3}, BAD, "name", "string"),
        ("gzip-file-as-resource", {"outputType": "zip"}, BAD, "outputType", "resourceLink", "resource"),
    ),
]
FILESYSTEM = [
    *_each(
        *("read_text_file", "path"),
        ("WORK/gone.txt", GONE),
        ("WORK/ünïcode gone.md", GONE),
        ("WORK/folder/deep/gone.txt", GONE),
        ("WORK/folder", "invalid_argument|upstream_error|unsupported"),
        ("/etc/passwd", DENIED),
        ("WORK/../elsewhere.txt", DENIED),
        (5, BAD, "path", "string"),
        ("WORK/menu.txt/x", "not_found|invalid_argument|upstream_error"),
    ),
    *_calls(
        ("read_text_file", {}, BAD, "path", "string"),
        ("read_text_file", {"path": "WORK/menu.txt", "head": 1, "tail": 1}, "invalid_argument|upstream_error"),
        ("read_text_file", {"path": "WORK/menu.txt", "head": "x"}, BAD, "head", "number"),
        ("read_file", {"path": "WORK/gone2.txt"}, GONE),
        ("read_media_file", {"path": "WORK/gone.png"}, GONE),
        ("read_media_file", {"path": "/root/a.png"}, DENIED),
        ("read_multiple_files", {"paths": []}, BAD, "paths"),
        ("read_multiple_files", {"paths": "WORK/menu.txt"}, BAD, "paths", "array"),
        ("write_file", {"path": "WORK/nodir/a.txt", "content": "x"}, GONE),
        ("write_file", {"path": "/etc/a.txt", "content": "x"}, DENIED),
        ("write_file", {"path": "WORK/folder", "content": "x"}, "invalid_argument|already_exists|upstream_error"),
        ("write_file", {"path": "WORK/a.txt"}, BAD, "content", "string"),
        ("write_file", {"path": "WORK/a.txt", "content": 5}, BAD, "content", "string"),
        ("edit_file", {"path": "WORK/gone.txt", "edits": [{"oldText": "a", "newText": "b"}]}, GONE),
        (
            "edit_file",
            {"path": "WORK/menu.txt", "edits": [{"oldText": "cocoa 9.99", "newText": "b"}]},
            f"{STATE}|{GONE}",
        ),
        ("edit_file", {"path": "WORK/menu.txt", "edits": [{"oldText": "a"}]}, BAD, "newText", "string"),
        ("edit_file", {"path": "WORK/menu.txt", "edits": "x"}, BAD, "edits", "array"),
        ("create_directory", {"path": "WORK/menu.txt"}, THERE),
        ("create_directory", {"path": "WORK/menu.txt/sub"}, "invalid_argument|upstream_error|not_found"),
        ("create_directory", {"path": "/opt/sub"}, DENIED),
        ("list_directory", {"path": "WORK/gone"}, GONE),
        ("list_directory", {"path": "WORK/menu.txt"}, "invalid_argument|upstream_error|not_found"),
        ("list_directory", {"path": "/"}, DENIED),
        ("list_directory_with_sizes", {"path": "WORK/gone"}, GONE),
        ("list_directory_with_sizes", {"path": "WORK", "sortBy": "date"}, BAD, "sortBy", "name", "size"),
        ("directory_tree", {"path": "WORK/gone"}, GONE),
        ("directory_tree", {"path": "WORK/menu.txt"}, "invalid_argument|upstream_error|not_found"),
        ("move_file", {"source": "WORK/gone.txt", "destination": "WORK/b.txt"}, GONE),
        ("move_file", {"source": "WORK/menu.txt", "destination": "WORK/other.txt"}, THERE),
        ("move_file", {"source": "WORK/menu.txt", "destination": "/etc/b.txt"}, DENIED),
        ("move_file", {"source": "WORK/menu.txt"}, BAD, "destination", "string"),
        ("search_files", {"path": "WORK/gone", "pattern": "*"}, GONE),
        ("search_files", {"path": "WORK"}, BAD, "pattern", "string"),
        ("get_file_info", {"path": "WORK/gone.txt"}, GONE),
        ("get_file_info", {"path": "/etc/shadow"}, DENIED),
    ),
]
MEMORY = [
    *_each(
        *("add_observations", "observations"),
        ([{"entityName": "coffee", "contents": ["hot"]}], GONE),
        ([{"entityName": "Grüner Tee №5", "contents": ["hot"]}], GONE),
        ([{"entityName": 'the "best" one', "contents": []}], GONE),
        ([{"entityName": "tea"}], BAD, "contents", "array"),
        ("x", BAD, "observations", "array"),
    ),
    *_each(
        *("create_entities", "entities"),
        ([{"name": 3}], BAD, "name", "string", "entityType", "observations"),
        ([{"name": "a", "entityType": "b", "observations": "hot"}], BAD, "observations", "array"),
        ("tea", BAD, "entities", "array"),
        ([None], BAD, "entities", "object"),
    ),
    *_calls(
        ("create_entities", {}, BAD, "entities", "array"),
        ("create_relations", {"relations": [{"from": "a", "to": "b"}]}, BAD, "relationType", "string"),
        ("create_relations", {"relations": [{"from": 1, "to": 2, "relationType": 3}]}, BAD, "from", "to", "string"),
        ("delete_entities", {"entityNames": "tea"}, BAD, "entityNames", "array"),
        ("delete_entities", {}, BAD, "entityNames", "array"),
        ("delete_observations", {"deletions": [{"entityName": "tea"}]}, BAD, "observations", "array"),
        ("delete_relations", {"relations": {}}, BAD, "relations", "array"),
        ("search_nodes", {}, BAD, "query", "string"),
        ("search_nodes", {"query": 5}, BAD, "query", "string"),
        ("open_nodes", {"names": 5}, BAD, "names", "array"),
        ("open_nodes", {"names": [3]}, BAD, "names", "string"),
    ),
]
BROKEN_MEMORY = _calls(
    ("read_graph", {}, "upstream_error|bad_output|internal"),
    ("search_nodes", {"query": "tea"}, "upstream_error|bad_output|internal"),
    ("open_nodes", {"names": ["tea"]}, "upstream_error|bad_output|internal"),
    ("delete_entities", {"entityNames": ["tea"]}, "upstream_error|bad_output|internal"),
)
THOUGHT = {"thought": "One.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
SEQUENTIAL = [
    Call("sequentialthinking", {"thought": 1}, BAD, ("thought", "string", "nextThoughtNeeded", "thoughtNumber")),
    Call("sequentialthinking", {}, BAD, ("thought", "nextThoughtNeeded", "thoughtNumber", "totalThoughts")),
    *_each("sequentialthinking", "thoughtNumber", (0, BAD, "thoughtNumber"), (1.5, BAD, "thoughtNumber"), **THOUGHT),
    *_each("sequentialthinking", "totalThoughts", (0, BAD, "totalThoughts"), ("x", BAD, "totalThoughts"), **THOUGHT),
    *_each("sequentialthinking", "revisesThought", (0, BAD, "revisesThought"), ("x", BAD, "integer"), **THOUGHT),
    *_each("sequentialthinking", "branchFromThought", (-1, BAD, "branchFromThought"), **THOUGHT),
    *_each("sequentialthinking", "nextThoughtNeeded", ("maybe", BAD, "nextThoughtNeeded"), **THOUGHT),
    *_each("sequentialthinking", "branchId", (5, BAD, "branchId", "string"), **THOUGHT),
]
FETCH = [
    *_each(
        *("fetch", "url"),
        ("URL/gone.txt", GONE),
        ("URL/status/400", ODD),
        ("URL/status/401", "unauthenticated"),
        ("URL/status/403", DENIED),
        ("URL/status/404", GONE),
        ("URL/status/409", "conflict"),
        ("URL/status/410", "not_found|upstream_error"),
        ("URL/status/422", ODD),
        ("URL/status/429", "rate_limited"),
        ("URL/status/500", VAGUE),
        ("URL/status/502", VAGUE),
        ("URL/status/503", "unavailable|overloaded|upstream_error"),
        ("http://127.0.0.1:9/", "unavailable|upstream_error"),
        ("not a url", ODD),
        ("", ODD),
        ("ftp://127.0.0.1/x", ODD),
        (5, BAD, "url"),
    ),
    Call("fetch", {}, BAD, ("url",)),
    *_each(
        "fetch", "max_length", (0, BAD, "max_length", "0"), (-1, BAD, "1"), ("x", BAD, "integer"), url="URL/menu.txt"
    ),
    *_each("fetch", "max_length", (1_000_000, BAD, "max_length", "1000000"), url="URL/menu.txt"),
    *_each("fetch", "start_index", (-1, BAD, "start_index", "0"), ("a", BAD, "integer"), url="URL/menu.txt"),
    *_each("fetch", "raw", ("maybe", BAD, "raw", "boolean"), url="URL/menu.txt"),
]
SQLITE = [
    *_each(
        *("read_query", "query"),
        ("INSERT INTO tea VALUES (1)", "permission_denied|invalid_argument|upstream_error"),
        ("SELECT * FROM nowhere", "not_found|upstream_error|invalid_argument"),
        ("SELECT nothing_like_it FROM tea", "not_found|upstream_error|invalid_argument"),
        ("SELECT FROM tea WHERE", ODD),
        ("SELECT nofunction(1)", ODD),
        ("SELECT 'unclosed FROM tea", ODD),
        ("SELECT * FROM tea LIMIT 'x'", ODD),
        ("SELECT 1; SELECT 2", ODD),
        (5, BAD, "query", "string"),
    ),
    *_each(
        *("write_query", "query"),
        ("SELECT 1", ODD),
        ("INSERT INTO nowhere VALUES (1)", "not_found|upstream_error|invalid_argument"),
        ("INSERT INTO tea VALUES (1, 'Assam', 2)", "already_exists|conflict|upstream_error"),
        ("INSERT INTO tea VALUES (7, NULL, 2)", ODD),
        ("INSERT INTO tea VALUES (8, 'Oolong', -2)", ODD),
        ("INSERT INTO tea VALUES (1, 2)", ODD),
        ("DROP TABLE nowhere", "not_found|upstream_error|invalid_argument"),
    ),
    *_each(
        *("create_table", "query"),
        ("CREATE TABLE tea (a)", "already_exists|upstream_error"),
        ("DROP TABLE tea", ODD),
        ("CREATE TABLE", ODD),
    ),
    Call("describe_table", {}, BAD, ("table_name", "string")),
    Call("describe_table", {"table_name": "x'y"}, ODD),
    Call("append_insight", {}, BAD, ("insight", "string")),
    Call("read_query", {}, BAD, ("query", "string")),
    Call("list_tabels", {}, GONE, ("list_tabels",)),
]
CALCULATOR = [
    *_each(
        *("calculate", "expression"),
        ("1/0", ODD),
        ("2 +", ODD),
        ("foo(2)", ODD),
        ("__import__('os')", ODD),
        ("[1, 2, 3]", ODD),
        ("sqrt(-1)", ODD),
        ("factorial(-1)", ODD),
        ("factorial(1.5)", ODD),
        ("log(0)", ODD),
        ("sin()", ODD),
        ("sin(1, 2, 3)", ODD),
        ("'a' + 1", ODD),
        ("x = 1", ODD),
        ("", ODD),
        ("2 $ 3", ODD),
        ("exp(1000)", ODD),
        ("gcd(1.5, 2)", ODD),
        (5, BAD, "expression", "string"),
    ),
    Call("calculate", {}, BAD, ("expression", "string")),
    Call("calculate", {"expresion": "1+1"}, BAD, ("expression", "expresion")),
]
GIT = [
    *_calls(
        ("git_status", {}, BAD, "repo_path", "string"),
        ("git_status", {"repo_path": "/etc"}, "permission_denied|upstream_error|invalid_argument"),
        ("git_status", {"repo_path": "WORK/nowhere"}, "not_found|permission_denied|upstream_error"),
        ("git_log", {"repo_path": "WORK", "max_count": "x"}, BAD, "max_count", "integer"),
        ("git_log", {"repo_path": "WORK", "max_count": 0}, "invalid_argument|upstream_error", "max_count"),
        ("git_log", {"repo_path": "WORK", "max_count": -5}, "invalid_argument|upstream_error", "max_count"),
        ("git_log", {"repo_path": "WORK", "start_timestamp": "--all"}, ODD),
        ("git_diff", {"repo_path": "WORK"}, BAD, "target", "string"),
        ("git_diff_unstaged", {"repo_path": "WORK", "context_lines": "x"}, BAD, "context_lines", "integer"),
        ("git_diff_unstaged", {"repo_path": "WORK", "context_lines": -1}, ODD, "context_lines"),
        ("git_commit", {"repo_path": "WORK"}, BAD, "message", "string"),
        ("git_commit", {"repo_path": "WORK", "message": ""}, ODD, "message"),
        ("git_create_branch", {"repo_path": "WORK", "branch_name": "stable"}, "already_exists|upstream_error"),
        ("git_create_branch", {"repo_path": "WORK", "branch_name": "bad name"}, ODD),
        ("git_create_branch", {"repo_path": "WORK", "branch_name": "-x"}, ODD),
        ("git_create_branch", {"repo_path": "WORK", "branch_name": "a..b"}, ODD),
        ("git_branch", {"repo_path": "WORK", "branch_type": "tags"}, ODD, "branch_type", "local", "remote", "all"),
        ("git_branch", {"repo_path": "WORK", "branch_type": "local", "contains": "--help"}, ODD),
        (
            "git_branch",
            {"repo_path": "WORK", "branch_type": "local", "contains": "abcdef12"},
            "not_found|upstream_error",
        ),
    ),
    *_each(
        *("git_create_branch", "base_branch"),
        ("no-such-base", "not_found|upstream_error|invalid_argument"),
        ("HEAD~99", "not_found|upstream_error|invalid_argument"),
        repo_path="WORK",
        branch_name="fresh",
    ),
    *_each(
        *("git_diff", "target"),
        ("no-such-branch", "not_found|upstream_error|invalid_argument"),
        ("--output=x", "invalid_argument|upstream_error|permission_denied"),
        ("HEAD~99", "not_found|upstream_error|invalid_argument"),
        repo_path="WORK",
    ),
    *_each(
        *("git_add", "files"),
        (["nope.txt"], "not_found|upstream_error"),
        (["../elsewhere.txt"], "permission_denied|invalid_argument|upstream_error|not_found"),
        ("menu.txt", BAD, "files", "array"),
        ([5], BAD, "files", "string"),
        repo_path="WORK",
    ),
    *_each(
        *("git_checkout", "branch_name"),
        ("no-such-branch", "not_found|upstream_error|invalid_argument"),
        ("--help", "invalid_argument|upstream_error|permission_denied"),
        ("stable", STATE),
        (5, BAD, "branch_name", "string"),
        repo_path="WORK",
    ),
    *_each(
        *("git_show", "revision"),
        ("no-such-revision", "not_found|upstream_error|invalid_argument"),
        ("HEAD~99", "not_found|upstream_error|invalid_argument"),
        ("deadbeefdeadbeefdeadbeefdeadbeefdeadbeef", "not_found|upstream_error|invalid_argument"),
        ("-p", "invalid_argument|upstream_error|permission_denied"),
        repo_path="WORK",
    ),
    Call("git_blame", {"repo_path": "WORK"}, GONE, ("git_blame",)),
]
TIME = [
    *_each(
        *("get_current_time", "timezone"),
        ("Mars/One", "invalid_argument|not_found|upstream_error"),
        ("", "invalid_argument|not_found|upstream_error"),
        ("../etc/passwd", "invalid_argument|not_found|upstream_error"),
        ("UTC+25", "invalid_argument|not_found|upstream_error"),
        (5, BAD, "timezone", "string"),
    ),
    Call("get_current_time", {}, BAD, ("timezone", "string")),
    *_each(
        *("convert_time", "time"),
        ("25:00", ODD, "time"),
        ("noon", ODD, "time"),
        ("12:60", ODD, "time"),
        ("12", ODD, "time"),
        (12, BAD, "time", "string"),
        source_timezone="Europe/Rome",
        target_timezone="Asia/Tokyo",
    ),
    Call(
        "convert_time",
        {"source_timezone": "Nowhere", "time": "12:00", "target_timezone": "Asia/Tokyo"},
        f"{ODD}|{GONE}",
    ),
    Call(
        "convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Nirvana"}, f"{ODD}|{GONE}"
    ),
    Call("convert_time", {"source_timezone": "UTC"}, BAD, ("time", "target_timezone", "string")),
]
SHEET = {"path": "shop.xlsx", "sheet": "Stock"}
EXCEL = [
    *_each(
        *("describe_workbook", "path"),
        ("gone.xlsx", GONE),
        ("folder/gone.xlsx", GONE),
        ("../elsewhere.xlsx", DENIED),
        ("/etc/shop.xlsx", DENIED),
        ("menu.txt", "invalid_argument|unsupported|upstream_error"),
        ("folder", "invalid_argument|unsupported|upstream_error|not_found"),
        ("broken.xlsx", "invalid_argument|bad_output|unsupported|upstream_error"),
        (5, BAD, "path", "string"),
    ),
    *_each(
        *("describe_sheet", "sheet"),
        ("Stok", GONE),
        ("Übersicht 2026", GONE),
        ("", "invalid_argument|not_found"),
        path="shop.xlsx",
    ),
    *_each(
        *("read_range", "range"),
        ("A0", ODD),
        ("ZZZZ1", ODD),
        ("A1:B", ODD),
        ("nonsense!", ODD),
        ("B2:A1:C3", ODD),
        ("A1:XFD1048576", "invalid_argument|upstream_error|quota_exhausted"),
        **SHEET,
    ),
    *_each("read_range", "mode", ("pictures", BAD, "mode"), **SHEET),
    *_each("read_range", "max_cells", (0, BAD, "max_cells"), (-1, BAD, "max_cells"), ("x", BAD, "integer"), **SHEET),
    *_calls(
        ("create_workbook", {"path": "shop.xlsx"}, THERE),
        ("create_workbook", {"path": "nodir/new.xlsx"}, "not_found|upstream_error"),
        ("create_workbook", {"path": "new.xlsx", "sheets": ["A", "a"]}, ODD),
        ("create_workbook", {"path": "new.xlsx", "sheets": ["x" * 40]}, ODD, "sheets", "31"),
        ("create_workbook", {"path": "new.docx"}, "invalid_argument|unsupported|upstream_error"),
        ("create_workbook", {}, BAD, "path", "string"),
        ("import_workbook", {"path": "b.xlsx", "content_base64": "@@@"}, ODD),
        ("import_workbook", {"path": "b.xlsx", "content_base64": "aGVsbG8="}, ODD),
        ("import_csv", {"path": "shop.xlsx", "csv_path": "gone.csv", "sheet": "Stock"}, GONE),
        ("import_csv", {**SHEET, "csv_path": "menu.txt", "delimiter": "ab"}, ODD, "delimiter"),
        ("import_csv", {**SHEET, "csv_path": "menu.txt", "encoding": "klingon"}, ODD),
        ("export_csv", {**SHEET, "csv_path": "../out.csv"}, DENIED),
        ("export_csv", {**SHEET, "csv_path": "menu.txt"}, f"{THERE}|{ODD}"),
        ("create_sheet", {"path": "shop.xlsx", "new_name": "Stock"}, THERE),
        ("create_sheet", {"path": "shop.xlsx", "new_name": "a/b"}, ODD, "new_name"),
        ("create_sheet", {"path": "shop.xlsx", "new_name": "C", "position": 99}, ODD, "position"),
        ("rename_sheet", {**SHEET, "new_name": "Sold"}, THERE),
        ("rename_sheet", {"path": "shop.xlsx", "sheet": "Stok", "new_name": "B"}, GONE),
        ("copy_sheet", {**SHEET, "new_name": "Stock"}, THERE),
        ("delete_sheet", {"path": "shop.xlsx", "sheet": "Nope"}, GONE),
        ("insert_rows_or_columns", {**SHEET, "axis": "diagonal", "start": 1}, BAD, "axis", "rows", "columns"),
        ("insert_rows_or_columns", {**SHEET, "axis": "rows", "start": 0}, BAD, "start", "1"),
        ("delete_rows_or_columns", {**SHEET, "axis": "rows", "start": 1, "count": 0}, BAD, "count", "1"),
        ("delete_rows_or_columns", {**SHEET, "axis": "rows", "start": 2_000_000}, BAD, "start"),
        ("write_range", {**SHEET, "at": "A0", "rows": [[1]]}, ODD),
        ("write_range", {**SHEET, "at": "A1", "rows": []}, ODD, "rows"),
        ("write_range", {**SHEET, "at": "A1", "rows": "x"}, BAD, "rows", "array"),
        ("write_range", {**SHEET, "at": "XFD1048576", "rows": [[1, 2], [3, 4]]}, ODD),
        ("write_range", {**SHEET, "at": "A1"}, BAD, "rows", "array"),
        ("write_range", {**SHEET, "at": "A1", "rows": [["=SUM("]]}, ODD),
        ("sort_range", {**SHEET, "range": "A1:B3", "sort_by": []}, ODD, "sort_by"),
        ("find_cells", {"path": "shop.xlsx", "query": ""}, ODD, "query"),
        ("find_cells", {"path": "shop.xlsx", "query": "(", "mode": "regex"}, ODD, "mode"),
        ("replace_cells", {"path": "shop.xlsx", "query": "tea"}, BAD, "replacement", "string"),
        ("merge_cells", {**SHEET, "range": "A1"}, ODD),
        ("merge_cells", {**SHEET, "range": "A1:B2", "action": "melt"}, BAD, "action", "merge", "unmerge"),
        ("goal_seek", {**SHEET, "cell": "A1", "target": 5, "changing_cell": "B1"}, f"{STATE}|infeasible"),
        ("goal_seek", {**SHEET, "cell": "A1", "target": "x", "changing_cell": "B1"}, BAD, "target", "number"),
        ("delete_chart", {**SHEET, "name": "Sales"}, GONE),
        ("delete_pivot_table", {**SHEET, "name": "Pivot"}, GONE),
        ("delete_slicer", {**SHEET, "name": "Slicer"}, GONE),
        ("delete_image", {**SHEET, "name": "Logo"}, GONE),
        ("delete_note", {**SHEET, "cell": "A1"}, GONE),
        ("delete_defined_name", {"path": "shop.xlsx", "name": "Rates"}, GONE),
        ("set_defined_name", {"path": "shop.xlsx", "name": "1bad", "refers_to": "Stock!A1"}, ODD, "name"),
        ("set_note", {**SHEET, "cell": "??", "text": "hi"}, ODD),
        ("insert_image", {**SHEET, "image_path": "logo.png", "at": "A1"}, GONE),
        (
            "insert_image",
            {**SHEET, "image_path": "menu.txt", "at": "A1"},
            "invalid_argument|unsupported|upstream_error",
        ),
        ("create_chart", {**SHEET, "chart_type": "spiral"}, BAD, "chart_type"),
        (
            "trace_formula",
            {**SHEET, "range": "A1", "direction": "sideways"},
            BAD,
            "direction",
            "precedents",
            "dependents",
        ),
        ("read_vba", {"path": "shop.xlsx"}, "invalid_argument|unsupported|upstream_error|not_found"),
        ("list_workbooks", {"directory": "nowhere"}, GONE),
        ("list_workbooks", {"directory": "../.."}, DENIED),
    ),
]


def _params(tool: str, *rows: tuple[Any, ...]) -> list[Call]:
    return [Call(tool, {"params": row[0]}, row[1], tuple(row[2:])) for row in rows]


BETTER_FILES = [
    *_params(
        "list_dir",
        ({"path": "WORK/gone"}, GONE),
        ({"path": "WORK/menu.txt"}, ODD),
        ({"path": "/etc"}, "permission_denied|invalid_argument|upstream_error"),
        ({"path": "folder"}, ODD),
        ({"path": "WORK", "max": 5000}, BAD, "max", "2000"),
        ({"path": "WORK", "max": -1}, BAD, "max", "0"),
        ({"path": "WORK", "format": "xml"}, BAD, "format", "text", "json"),
        ({}, BAD, "path"),
    ),
    *_params(
        "read_text_file",
        ({"path": "WORK/gone.txt"}, GONE),
        ({"path": "WORK/folder"}, ODD),
        ({"path": "/etc/passwd"}, "permission_denied|invalid_argument|upstream_error"),
        ({"path": "menu.txt"}, ODD),
        ({"path": "WORK/latin1.txt"}, "invalid_argument|bad_output|upstream_error|unsupported|internal"),
        ({"path": 5}, BAD, "path", "string"),
        ("WORK/menu.txt", BAD, "params"),
    ),
    Call("list_dir", {}, BAD, ("params",)),
    Call("read_textfile", {"params": {"path": "WORK/menu.txt"}}, GONE, ("read_textfile",)),
]
DUCK = [
    *_each(
        *("execute_query", "sql"),
        ("SELECT * FROM nowhere", "not_found|upstream_error|invalid_argument"),
        ("SELECT pric FROM tea", "not_found|upstream_error|invalid_argument"),
        ("SELEC 1", ODD),
        ("SELECT 1/0 + 'a'", ODD),
        ("SELECT CAST('abc' AS INTEGER)", ODD),
        ("SELECT nofunction(1)", ODD),
        ("INSERT INTO tea VALUES (1, 'Assam', 2)", "already_exists|conflict|upstream_error|invalid_argument"),
        ("INSERT INTO tea VALUES (7, NULL, 2)", ODD),
        ("INSERT INTO tea VALUES (8, 'Oolong', -2)", ODD),
        ("INSERT INTO tea VALUES (1)", ODD),
        ("CREATE TABLE tea (a INTEGER)", "already_exists|upstream_error"),
        ("DROP TABLE nowhere", "not_found|upstream_error|invalid_argument"),
        ("SELECT * FROM 'gone.csv'", "not_found|upstream_error|invalid_argument"),
        ("SELECT count(*) FROM tea GROUP BY", ODD),
        ("SELECT name, price FROM tea GROUP BY name", ODD),
        ("ATTACH '/nonexistent/a.db' AS other", "not_found|upstream_error|permission_denied"),
        ("SELECT 9223372036854775807 + 1::BIGINT", ODD),
        ("LOAD nosuchextension", "not_found|upstream_error|unsupported"),
        ("SELECT date '2026-02-30'", ODD),
        ("", ODD),
        (5, BAD, "sql", "string"),
    ),
    Call("execute_query", {}, BAD, ("sql", "string")),
    Call("list_columns", {"table": "nowhere"}, "not_found|upstream_error"),
    Call("list_columns", {}, BAD, ("table", "string")),
    Call("list_tables", {"database": "nowhere"}, "not_found|upstream_error"),
    Call("list_tables", {"database": 5}, BAD, ("database", "string")),
]
CALLS: dict[str, list[Call]] = {
    "everything": EVERYTHING,
    "filesystem": FILESYSTEM,
    "memory": MEMORY,
    "memory-broken": BROKEN_MEMORY,
    "sequential-thinking": SEQUENTIAL,
    "fetch": FETCH,
    "sqlite": SQLITE,
    "calculator": CALCULATOR,
    "git": GIT,
    "time": TIME,
    "excel": EXCEL,
    "better-files": BETTER_FILES,
    "duckdb": DUCK,
}
