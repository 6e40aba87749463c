"""Reading documents: names, arguments and schemas; and documents that are hostile."""

from __future__ import annotations

import json
import os
import time

import pytest
from hypothesis import given, strategies as st

from failsoft import ConfigurationError
from tests.adapters.openapi.shop import BODY, PATHS, document
from tests.doors import JsonSchemaArguments, identifier, read_api, read_document


def read(paths=PATHS, tags=(), **more):
    return read_api(read_document(document(paths, **more)), tags)


def operation(**node):
    return read({"/x/{id}": {"post": {"operationId": "x", **node}}}).operations[0]


def schema_of(schema, **components):
    """Return the schema of the only argument of an operation with this one."""
    parameters = [{"name": "q", "in": "query", "schema": schema}]
    api = read({"/x": {"get": {"parameters": parameters}}}, components={"schemas": components})
    made = api.operations[0].arguments.schema
    JsonSchemaArguments("x", made, slow_patterns="skip")  # it can be used
    return made["properties"]["q"], made.get("$defs", {})


def test_names_are_unique_whatever_the_document_calls_its_operations():
    names = ("listPets", "list_pets", "list pets", "", None, "class", "name", "list", "1st", "é", "x" * 300, "x" * 299)
    paths = {f"/p{number}": {"get": {"operationId": name}} for number, name in enumerate(names)}
    found = [item.name for item in read(paths).operations]
    assert found == [
        *("list_pets", "list_pets_2", "list_pets_3", "get_p3", "get_p4", "class_", "name_", "list_", "get_1st", "e"),
        *("x" * 60, "x" * 60 + "_2"),
    ]


def test_a_name_does_not_depend_on_the_tags_that_are_chosen():
    paths = {f"/{tag}": {"get": {"operationId": "list", "tags": [tag]}} for tag in ("a", "b")}
    assert [item.name for item in read(paths, ["b"]).operations] == ["list__2".replace("__", "_")]


@given(st.text(max_size=80))
def test_every_text_becomes_an_identifier(text):
    name = identifier(text, "x")
    assert name.isidentifier()
    assert name.isascii()
    assert len(name) < 64


def test_arguments_of_one_name_are_told_apart_by_their_place():
    body = {"type": "object", "properties": {"id": {"type": "integer"}, "from": {"type": "string"}}}
    found = operation(
        parameters=[{"name": "id", "in": "query", "schema": {}}, {"name": "ID", "in": "header", "schema": {}}],
        requestBody={"content": {"application/json": {"schema": body}}},
    )
    assert [(item.argument, item.name, item.place) for item in found.parameters] == [
        ("id", "id", "path"),
        ("id_query", "id", "query"),
        ("id_header", "ID", "header"),
        ("id_body", "id", "body"),
        ("from_", "from", "body"),
    ]


@pytest.mark.parametrize(
    ("schema", "is_required", "is_whole"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}}, False, False),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, True, False),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, False, True),
        ({"type": "object", "properties": {"a": {"type": "string", "nullable": True}}}, True, True),
        ({"type": "array", "items": {"type": "string"}}, True, True),
        ({"anyOf": [{"type": "object", "properties": {"a": {}}}]}, True, True),
        ({"allOf": [{"$ref": "#/components/schemas/Item"}, {"type": "object", "properties": {"b": {}}}]}, True, False),
    ],
)
def test_fields_of_a_body_become_arguments_where_that_loses_nothing(schema, is_required, is_whole):
    body = {"required": is_required, "content": {"application/json": {"schema": schema}}}
    assert operation(requestBody=body).is_whole_body is is_whole


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 1}),
        ({"type": "string", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": ["string", "null"], "exclusiveMinimum": 2}, {"type": ["string", "null"], "exclusiveMinimum": 2}),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"type": "string", "pattern": "^(?=a)(a+)+$", "minLength": "3", "format": 4}, {"type": "string"}),
        ({"type": "wrong", "enum": [{}], "multipleOf": 0, "maximum": "9"}, {}),
        ({"description": "<p>Text</p>\u202e\x07 more"}, {"description": "Text  more"}),
        ({"$ref": "https://example.org/schemas.json#/x"}, {}),
        ({"$ref": "other.yaml#/x"}, {}),
        ({"$ref": "#/components/schemas/Missing"}, {}),
        (False, {}),
    ],
)
def test_a_schema_is_taken_over_as_far_as_it_can_be_used(given, made):
    assert schema_of(given)[0] == made


def test_references_are_followed_once_and_may_be_circular():
    tree = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}},
    }
    found, defs = schema_of({"$ref": "#/components/schemas/Tree"}, Tree=tree)
    assert found == {"$ref": "#/$defs/Tree"}
    assert defs["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}


@pytest.mark.parametrize(
    "components",
    [
        {"A": {"$ref": "#/components/schemas/A"}},
        {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}},
        {"A": {"allOf": [{"$ref": "#/components/schemas/A"}]}},
        {f"A{'' if n == 0 else n}": {"allOf": [{"$ref": f"#/components/schemas/A{n + 1}"}] * 10} for n in range(12)},
        {
            f"A{'' if n == 0 else n}": {
                "properties": {str(i): {"$ref": f"#/components/schemas/A{n + 1}"} for i in range(50)}
            }
            for n in range(50)
        },
    ],
    ids=["self", "pair", "allOf", "allOf bomb", "wide"],
)
def test_references_that_multiply_cost_little(components):
    found = read(
        {
            "/x": {"get": {"parameters": [{"name": "q", "in": "query", "schema": {"$ref": "#/components/schemas/A"}}]}},
            "/y": {"get": {}},
        },
        components={"schemas": components},
    )
    assert len(found.operations) + len(found.left_out) == 2
    assert all(len(json.dumps(item.arguments.schema)) < 256_000 for item in found.operations)


@pytest.mark.parametrize(
    ("path", "node"),
    [
        ("relative", {}),
        ("/a/../b", {}),
        ("/a?b=c", {}),
        ("/a b\n", {}),
        ("/a", {"servers": [{"url": "https://other.example.org"}]}),
        ("/a", {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": {}}}}}),
        ("/{a}", {"parameters": [{"name": "a", "in": "path", "style": "matrix", "schema": {}}]}),
    ],
)
def test_an_operation_that_cannot_be_sent_is_left_out_with_the_reason(path, node):
    found = read({path: {"post": node}, "/good": {"get": {}}}, servers=[{"url": "https://shop.example.org/v1/"}])
    assert [item.path for item in found.operations] == ["/good"]
    assert [bool(reason) for _, reason in found.left_out] == [True]


@pytest.mark.parametrize(
    "paths",
    [
        [],
        None,
        {"/x": {"get": []}},
        {"/x": 3},
        {1: {"get": {}}},
        {"/x": {"$ref": "#/paths/~1x"}},
    ],
)
def test_a_document_without_an_operation_says_so(paths):
    with pytest.raises(ConfigurationError):
        read(paths)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("#/components/schemas/A"),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("$ref", "type", "properties", "allOf", "anyOf", "items", "enum", "required", "in", "name"),
                    *("schema", "content", "application/json", "get", "post", "parameters", "requestBody", "x"),
                    *("responses", "200", "security", "servers", "url", "style", "tags", "operationId", "nullable"),
                ]
            ),
            below,
            max_size=4,
        )
    ),
    max_leaves=30,
)


@given(JSON, JSON, JSON)
def test_whatever_stands_in_a_document_it_is_read_or_refused(node, schema, root):
    paths = {"/x": {"get": {"operationId": "good"}}, "/y": {"post": node, "get": root}, "/z": node}
    found = read(paths, components={"schemas": {"A": schema}, "securitySchemes": root}, security=root, info=node)
    for item in found.operations:
        json.dumps(item.arguments.schema)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "levels|ScannerError"),  # PyYAML has a limit of its own from 6.0.4 on
        ("a: &a [*a]", "no OpenAPI 3 document"),
        ("- " * 200, "levels"),
        ("!!python/object/apply:os.system ['true']", "no YAML"),
        ('{"a":' * 50_000, "no JSON"),
        ("swagger: '2.0'", "Swagger 2.0"),
        ("openapi: 4.0.0", "no OpenAPI 3 document"),
        ("openapi: 3.1", "no OpenAPI 3 document"),
        ("", "no OpenAPI 3 document"),
        ("\x00\xff", "no YAML"),
    ],
)
def test_a_file_that_is_no_document_is_refused_in_one_sentence(tmp_path, text, said):
    (tmp_path / "api.yaml").write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigurationError, match=said):
        read_document(tmp_path / "api.yaml")


def test_yaml_dates_are_texts_and_merges_are_names(tmp_path):
    (tmp_path / "api.yaml").write_text("openapi: 3.1.0\ninfo: {version: 2020-01-01}\na: &a {x: 1}\nb: {<<: *a}\n")
    tree = read_document(tmp_path / "api.yaml").tree
    assert (tree["info"], tree["b"]) == ({"version": "2020-01-01"}, {"<<": {"x": 1}})


@pytest.mark.parametrize("place", ["openapi: *a9", "swagger: *a9", "openapi: 3.1.0\nservers: [{url: *a9}]"])
def test_yaml_aliases_count_as_what_they_expand_to(tmp_path, place):
    bomb = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))
    (tmp_path / "api.yaml").write_text(f"a0: &a0 x\n{bomb}{place}\n")
    with pytest.raises(ConfigurationError, match="too large"):
        read_document(tmp_path / "api.yaml")


@pytest.mark.parametrize("number", ["1" + ":59" * 1_000, "0x" + "f" * 1_000])
def test_yaml_numbers_without_end_are_not_computed(tmp_path, number):
    (tmp_path / "api.yaml").write_text(f"openapi: 3.1.0\nx: {number}\n")
    with pytest.raises(ConfigurationError, match="no YAML"):
        read_document(tmp_path / "api.yaml")


@pytest.mark.parametrize("keyword", ["minimum", "multipleOf", "default", "const"])
def test_integers_beyond_64_bits_are_no_values_of_a_schema(keyword):
    assert schema_of({"type": "integer", keyword: 10**5_000}) == ({"type": "integer"}, {})
    assert schema_of({"enum": [1, 10**400]}) == ({"enum": [1]}, {})


def test_names_that_are_taken_a_hundred_thousand_times_are_found_at_once():
    taken = {"x", *(f"x_{number}" for number in range(2, 100_000))}
    assert identifier("x", "x", taken) == "x_100000"


def test_a_document_of_more_operations_than_can_be_looked_at_is_refused():
    with pytest.raises(ConfigurationError, match="more than 10,000 operations"):
        read({f"/x{number}": {"get": {}} for number in range(10_001)})


def test_what_operations_share_is_not_read_whole_for_each_of_them():
    names = [f"p{number}" for number in range(50_000)]
    big = {"type": "object", "properties": dict.fromkeys(names), "required": names}
    parts = [{"$ref": "#/components/schemas/Big"}] * 400
    schema = {"allOf": [{"allOf": parts}] * 400}
    shared = {"parameters": [{"name": "q", "in": "query", "schema": schema}], "tags": names, "security": [{}] * 50_000}
    item = {"get": {**shared, "responses": dict.fromkeys(names)}}
    began = time.process_time()
    api = read({f"/x{number}": item for number in range(20)}, components={"schemas": {"Big": big}})
    assert len(api.operations) == 20
    assert time.process_time() - began < 5


def test_an_operation_of_too_many_parameters_is_left_out():
    parameters = [{"name": f"q{number}", "in": "query"} for number in range(1_001)]
    (left_out,) = read({"/x": {"get": {"parameters": parameters}}, "/y": {"get": {}}}).left_out
    assert left_out == ("GET /x", "it has more than 100 arguments")


@pytest.mark.parametrize("name", ["bind", "model_config", "settings_customise_sources"])
def test_no_credential_takes_a_name_of_the_settings(name):
    schemes = {name: {"type": "apiKey", "in": "header", "name": "X-Key"}}
    (scheme,) = read(components={"securitySchemes": schemes}, security=[]).schemes
    assert scheme.setting == f"api_{name}"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_no_document(tmp_path):
    os.mkfifo(tmp_path / "api.json")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_document(tmp_path / "api.json")


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    with (tmp_path / "api.json").open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(ConfigurationError, match="more than 32 MB"):
        read_document(tmp_path / "api.json")


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://example.org/x", "https://", "http://a b/"])
def test_only_http_addresses_are_fetched(address):
    with pytest.raises(ConfigurationError, match="no http"):
        read_document(address)


def test_a_document_is_fetched_and_its_server_address_completed():
    from tests.adapters.openapi.shop import serving  # noqa: PLC0415 - the only test here that serves

    with serving() as service:
        service.answer(302, Location="/v2/api.json")
        service.answer(200, document(servers=[{"url": "/v2"}]))
        assert read_document(f"{service.url}/api.json").server() == f"{service.url}/v2"
        service.answer(404)
        with pytest.raises(ConfigurationError, match="404"):
            read_document(f"{service.url}/api.json")
        for _ in range(9):
            service.answer(302, Location="/again")
        with pytest.raises(ConfigurationError, match="TooManyRedirects"):
            read_document(f"{service.url}/api.json")


def test_credentials_have_settings_of_their_own():
    schemes = {
        "api-key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "apiKey": {"type": "apiKey", "in": "cookie", "name": "k"},
        "base_url": {"type": "http", "scheme": "Basic"},
        "oauth": {"type": "oauth2"},
        "tls": {"type": "mutualTLS"},
        "broken": {"type": "apiKey", "in": "header", "name": "X\r\nEvil: 1"},
    }
    found = read(components={"securitySchemes": schemes, "schemas": {}}).schemes
    assert [(item.setting, item.kind, item.name) for item in found] == [
        ("api_key", "header", "X-Key"),
        ("api_key_2", "cookie", "k"),
        ("base_url_2", "basic", ""),
        ("oauth", "bearer", ""),
    ]
    (only,) = read(components={}).schemes
    assert (only.setting, only.kind) == ("token", "bearer")


def test_read_only_fields_are_no_arguments():
    assert [item.argument for item in operation(requestBody=BODY).parameters] == [
        "id",
        "title",
        "size",
        "parts",
        "price",
    ]
