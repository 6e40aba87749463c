"""A project from an OpenAPI document: it passes its own tests, and no document writes code into it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from tests.adapters.openapi.shop import ITEM, document
from tests.doors import (
    ExitCode,
    Group,
    Text,
    docstring,
    files_of,
    flat,
    laid_out,
    literal,
    read_api,
    read_document,
)
from tests.zygote import PYTHON

NAMES = {"project": "shop", "module": "shop", "toolset": "Shop"}
SERVERS = [{"url": "https://shop.example.org/v1"}]


def files(tree):
    return files_of(read_api(read_document(tree)), NAMES, "shop.json")


def test_a_project_passes_its_own_tests_and_checks(run, folder):
    (folder / "shop.json").write_text(json.dumps(document(servers=SERVERS)))
    assert run("new", "shop", "--openapi", "shop.json").code == ExitCode.OK
    for command in (
        ["pytest", "-q", "-p", "no:cacheprovider"],
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
    ):
        done = subprocess.run(
            [PYTHON, "-m", *command], cwd=folder / "shop", capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_tags_choose_operations(inside, folder):
    (folder / "shop.json").write_text(json.dumps(document(servers=SERVERS)))
    assert inside("new", "orders", "--openapi", "shop.json", "--tag", "orders").code == ExitCode.OK
    source = (folder / "orders" / "orders.py").read_text()
    assert (source.count("@operation"), "async def place_order(" in source) == (1, True)
    assert inside("new", "wrong", "--openapi", "shop.json", "--tag", "order").code == ExitCode.CONFIGURATION
    assert inside("new", "wrong", "--tag", "order").code == ExitCode.USAGE
    assert inside("new", "audit", "--openapi", "shop.json").code == ExitCode.USAGE
    assert inside("new", "wrong", "--openapi", "none.json").code == ExitCode.CONFIGURATION
    assert not (folder / "wrong").exists()


INJECTIONS = [
    '"""\nimport os; os.system("x")\n"""',
    "'''\nimport os\n'''",
    '\\"""; import os',
    'x"""',
    "x\\",
    'x\\"',
    '"); import os; ("',
    "{os.system('x')}",
    "x\nimport os",
    "x\r\nimport os",
    "x\u2028import os",
    "x\x0cimport os",
    "\\N{DIGIT ONE}\\x41\\",
    "\ud800",
    "\u202e\u2066",
    "__import__('os')",
    "{module}{0}%s",
    "#!coding: utf-7",
    '"' * 7,
    "\\" * 7 + '"' * 4,
]


def hostile(text):
    """Return a document that has a text wherever there is room for one."""
    schema = {
        "type": "object",
        "description": text,
        "title": text,
        "required": [text, "a"],
        "properties": {
            text: {"type": "string", "description": text},
            "a": {"type": "string", "enum": [text, "b"], "default": text, "example": text},
            "b": {"type": "string", "pattern": text, "format": text, "const": text},
            "c": {"$ref": f"#/components/schemas/{text}"},
            "d": {
                "type": "object",
                "properties": {text: {"type": "integer"}, "e": {"default": text}},
                "description": text,
            },
        },
    }
    plain = {
        "type": "object",
        "description": text,
        "properties": {"g": {"enum": [text]}, "h": {"type": "string", "description": text, "pattern": f"a{text}?"}},
    }
    node = {
        "operationId": text,
        "summary": text,
        "description": text,
        "tags": [text],
        "security": [{text: []}, {"key": []}],
        "parameters": [
            {
                "name": text,
                "in": place,
                "description": text,
                "schema": {**schema["properties"]["a"], "description": text},
            }
            for place in ("query", "header", "cookie")
        ],
        "requestBody": {"content": {"application/json": {"schema": schema}}},
        "responses": {
            "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/x"}, "example": text}}}
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": text, "description": text},
        "servers": [{"url": f"https://example.org/{text}"}],
        "paths": {
            "/a": {"post": node, "put": {**node, "operationId": f"b{text}"}},
            f"/{text}": {"get": {"operationId": text}},
            f"/x/{{{text}}}": {"get": {"description": text, "deprecated": True}},
            "/plain": {"get": {"responses": {"200": {"content": {"application/json": {"schema": plain}}}}}},
        },
        "components": {
            "schemas": {"x": schema, text: schema},
            "securitySchemes": {
                text: {"type": "http", "scheme": "bearer", "description": text},
                "key": {"type": "apiKey", "in": "header", "name": "X-Key", "description": text},
            },
        },
    }


def shape(source):
    """Return everything that a module does: its syntax tree, in which each text is replaced by its type."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        assert not isinstance(node, (ast.Lambda, ast.Global, ast.Delete, ast.JoinedStr))
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) in CALLED, ast.unparse(node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            assert (getattr(node, "module", None) or node.names[0].name) in IMPORTED
        if isinstance(node, ast.Name):
            assert node.id not in {"os", "__import__", "eval", "exec"}
    return [type(node).__name__ for node in tree.body]


CALLED = {
    *("Credential", "Field", "HttpApi", "indexed", "joined", "json_text", "operation", "super", "super().__init__"),
    *("self.api.request", "self.api.start", "self.api.stop"),
}
IMPORTED = {
    *("__future__", "failsoft", "failsoft.adapters.openapi", "pydantic", "shop_types", "typing", "typing_extensions"),
}


@pytest.mark.parametrize("text", INJECTIONS)
def test_no_text_of_a_document_becomes_code(text):
    written = files(hostile(text))
    assert shape(written["shop.py"])[-2:] == ["ClassDef", "ClassDef"]
    shape(written["shop_types.py"])
    json.loads(written["tests/calls.json"])


@pytest.mark.skipif(sys.platform == "win32", reason="one process is enough")
def test_a_toolset_of_a_hostile_document_can_be_made(tmp_path):
    for number, text in enumerate(INJECTIONS):
        for name, source in files(hostile(text)).items():
            path = tmp_path / name.replace("shop", f"shop{number}")
            path.parent.mkdir(exist_ok=True)
            path.write_text(source.replace("shop_types", f"shop{number}_types"), encoding="utf-8")
    program = "".join(
        f"import shop{number}; shop{number}.Shop(settings=shop{number}.ShopSettings(base_url='http://x'))\n"
        for number in range(len(INJECTIONS))
    )
    done = subprocess.run(
        [PYTHON, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["none", "true", "false", "types"])
def test_no_name_of_a_document_breaks_the_source(name):
    schema = {"type": "object", "properties": {"a": {"$ref": f"#/components/schemas/{name}"}, "b": {"type": "string"}}}
    answer = {"200": {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}}}
    paths = {"/x": {"get": {"operationId": name, "responses": answer}}}
    written = files({"openapi": "3.1.0", "paths": paths, "components": {"schemas": {name: schema}}})
    ast.parse(written["shop_types.py"])
    assert "def types(" not in written["shop.py"]


@pytest.mark.parametrize("count", [53, 60, 61])
def test_a_docstring_is_not_broken_within_an_escape(count):
    text = f"a{chr(92) * count}N{chr(92) * 110}"
    (node,) = ast.parse("\n".join(docstring(text, 0, "x"))).body
    assert "".join(node.value.value.split()) == text


@given(st.text(max_size=300))
def test_every_text_is_a_literal_and_a_docstring(text):
    assert ast.literal_eval(literal(text)) == text
    assert ast.literal_eval(laid_out(Text("", text), 80)) == text
    (node,) = ast.parse("\n".join(docstring(text, 0, "x"))).body
    assert isinstance(node.value, ast.Constant)


def test_a_line_is_broken_at_its_brackets():
    source = Group("f(", [f"argument_{number}" for number in range(20)], ")")
    assert ast.dump(ast.parse(laid_out(source, 0))) == ast.dump(ast.parse(flat(source)))
    assert max(map(len, laid_out(source, 0).splitlines())) <= 120


def test_limits_and_values_are_in_the_signature():
    source = files(document(servers=SERVERS))["shop.py"]
    assert "limit: Annotated[int | None, Field(ge=1, le=100, " in source
    assert 'size: Literal["small", "large", None] = None' in source
    assert ITEM["properties"]["title"]["maxLength"] == 40
    assert "title: Annotated[str, Field(min_length=1, max_length=40)]" in source
