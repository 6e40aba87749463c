"""Hostile schemas, values, results, notifications and documents, from a seeded grammar."""

from __future__ import annotations

import json
import random
from typing import Any

NAMES = ("a", "b", "path", "limit", "__proto__", "$ref", "", "é", "a.b", "x" * 200, "\u202ea", "\x1b[31m", "token")
TEXTS = (*NAMES, "\ud800", "{{7*7}}", "\r\n\x00", "a" * 5_000, "2026-01-01", "```", "password=hunter2", "🙂" * 50)
NUMBERS = (0, -1, 1, 0.5, 1e308, -1e-308, 2**53, 2**63, 10**400, 2**61 - 1, 10**18)
KINDS = ("string", "integer", "number", "boolean", "null", "array", "object")
PATTERNS = (
    "^a+$",
    "(a+)+$",
    "^(a|a)*b",
    r"^\w{1,64}$",
    "(a{1,50}){1,50}",
    "(?=a)",
    r"(a)\1",
    "[",
    "",
    r"\p{L}",
    "^.{1,900}$",
    "(?i)ß",
)
METHODS = ("message", "progress", "tools/list_changed", "cancelled", "resources/updated", "prompts/list_changed", "odd")


class Grammar(random.Random):
    """Draws each thing from a seed; half of what it draws is what a good server sends."""

    def text(self) -> str:
        return self.choice(TEXTS) * self.choice((1, 1, 1, 8))

    def value(self, depth: int = 5) -> Any:
        kind = self.randrange(8) if depth else self.randrange(5)
        if kind >= 6:
            return {self.choice(NAMES): self.value(depth - 1) for _ in range(self.randrange(4))}
        if kind == 5:
            return [self.value(depth - 1) for _ in range(self.choice((0, 1, 2, 30)))]
        return self.choice((None, self.random() < 0.5, self.choice(NUMBERS), self.text(), self.choice(NAMES)))

    def schema(self, depth: int = 4) -> Any:  # noqa: C901 - one branch a keyword
        """Return a schema, which may be invalid, recursive, or such that it multiplies."""
        if depth == 0 or self.random() < 0.15:
            return self.choice(
                (True, False, {}, {"type": self.choice(KINDS)}, {"$ref": f"#/$defs/{self.choice('ab')}"})
            )
        below = [self.schema(depth - 1) for _ in range(self.choice((1, 2, 2, 3)))]
        keyword = self.choice(
            (
                *("properties", "properties", "anyOf", "oneOf", "allOf", "items", "not", "if", "enum"),
                *("patternProperties", "dependentSchemas", "unevaluatedProperties", "pattern", "contains"),
                *("propertyNames", "odd", "bounds"),
            )
        )
        schema: dict[str, Any] = {}
        if keyword in {"anyOf", "oneOf", "allOf"}:
            schema[keyword] = below * self.choice((1, 1, 4, 40))
        elif keyword in {"properties", "dependentSchemas"}:
            schema = {"type": "object", keyword: {self.choice(NAMES): item for item in below}}
            schema["required"] = [*{*self.choices(NAMES, k=self.randrange(3))}]
        elif keyword == "patternProperties":
            schema[keyword] = {self.choice(PATTERNS): item for item in below}
        elif keyword == "if":
            schema = dict(zip(("if", "then", "else"), below, strict=False))
        elif keyword == "unevaluatedProperties":
            schema = {"allOf": below, keyword: self.choice((False, below[0]))}
        elif keyword == "enum":
            schema[keyword] = [self.value(2) for _ in range(self.choice((0, 1, 3, 300)))]
        elif keyword == "pattern":
            schema = {"type": "string", keyword: self.choice(PATTERNS)}
        elif keyword == "bounds":
            bound = self.choice(("minimum", "multipleOf", "maxLength", "minItems", "maxProperties", "exclusiveMaximum"))
            schema[bound] = self.choice(NUMBERS)
        elif keyword == "odd":
            odd = self.choice(
                ("$ref", "type", "format", "$id", "$anchor", "$dynamicRef", "$schema", "default", "title")
            )
            schema[odd] = self.choice((self.text(), self.value(1), "#", "#/$defs/a", "http://127.0.0.1:9/x"))
        else:
            schema[keyword] = below[0]
            if keyword == "items" and self.random() < 0.3:
                schema["uniqueItems"] = True
        return schema

    def input_schema(self) -> Any:
        if self.random() < 0.1:
            return self.value()
        if self.random() < 0.4:
            return {"type": "object", "properties": {"a": self.choice(({}, {"type": "string"}, self.schema(2)))}}
        properties = {name: self.schema() for name in self.sample(NAMES, self.randrange(1, 4))}
        definitions = {name: self.schema() for name in "ab"}
        return {"type": "object", "properties": properties, "$defs": definitions}

    def tool(self, number: int) -> dict[str, Any]:
        tool = {"name": f"wild_{number}", "description": self.text(), "inputSchema": self.input_schema()}
        if self.random() < 0.3:
            tool["outputSchema"] = self.input_schema()
        if self.random() < 0.5:
            tool["annotations"] = {"readOnlyHint": self.random() < 0.7, "title": self.text()}
        if self.random() < 0.1:
            tool[self.choice((*tool, "title", "_meta", "icons"))] = self.value(3)
        return tool

    def content(self) -> Any:
        good = {"type": "text", "text": self.text()}
        picture = {"type": "image", "data": "A" * self.choice((4, 5, 40_000)), "mimeType": self.text()}
        link = {"type": "resource_link", "uri": self.text(), "name": self.text()}
        return self.choice((good, good, picture, link, self.value(2)))

    def result(self) -> Any:
        if self.random() < 0.1:
            return self.value()
        result: dict[str, Any] = {"content": [self.content() for _ in range(self.choice((0, 1, 1, 3)))]}
        if self.random() < 0.5:
            result["structuredContent"] = self.value()
        if self.random() < 0.4:
            result["isError"] = self.choice((True, True, False, "yes"))
        if self.random() < 0.2:
            failed = {"code": self.text(), "retry": self.value(1), "effect": self.text(), "message": self.text()}
            result["_meta"] = {"dev.failsoft/error": failed, self.choice(NAMES): self.value(1)}
        if self.random() < 0.05:
            result["resultType"] = self.choice(("input_required", "complete", 5))
            asked = {"method": self.choice(("elicitation/create", "roots/list", "odd")), "params": self.value(2)}
            result["inputRequests"] = self.choice(({self.text(): asked}, {"a": self.value(2)}, self.value(2)))
            result["requestState"] = self.choice((self.text(), self.value(1)))
        return result

    def notification(self) -> dict[str, Any]:
        method = f"notifications/{self.choice(METHODS)}"
        params = {
            "level": "info",
            "data": self.value(2),
            "progressToken": self.choice(NUMBERS),
            "progress": self.text(),
            "requestId": self.choice((0, 1, 2, 3, 10**18, "1")),
        }
        return {"jsonrpc": "2.0", "method": method, "params": self.choice((params, params, {}, self.value(2)))}

    def answer(self, number: Any) -> list[str]:
        """Return the lines that answer a call, of which one has its id most times."""
        error = {"code": self.choice((-32600, -32603, 0, 10**30, "x")), "message": self.text(), "data": self.value(2)}
        body = {"error": error} if self.random() < 0.15 else {"result": self.result()}
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": number, **body}
        if self.random() < 0.03:
            message["id"] = self.choice((None, str(number), number + 1, 1.5))
        before = [json.dumps(self.notification()) for _ in range(self.choice((0, 0, 0, 1, 3, 400)))]
        line = json.dumps(message)
        if self.random() < 0.04:
            line = self.choice((line[: len(line) // 2], "[" * 9_000, "{}", "null", line.replace(":", "", 1), "\x00"))
        return [*before, line, *([line] if self.random() < 0.03 else [])]

    def document(self) -> str:
        """Return a page of Markdown with front matter."""
        keys = ("title", "type", "level", "aliases", "description", "a", "<<", "? b", "'title'", "!!str title", "- a")
        lines = [f"{self.choice(keys)}: {self.yaml()}" for _ in range(self.choice((4, 4, 40)))]
        forms = ("# {0}\n", "[{0}]({0})\n", "> ", "- {0}\n", "```\n", "<{0}>", "{0}\n\n", "| {0} |\n")
        body = "".join(self.choice(forms).format(self.text()) for _ in range(self.choice((1, 20, 400))))
        return self.choice(("---\n{0}\n---\n{1}", "---\n{0}\n{1}", "{1}")).format("\n".join(lines), body)

    def yaml(self) -> str:
        """Return a value of front matter."""
        deep = self.choice((3, 40, 2_000))
        scalars = (self.text(), "2026-99-99", "0x" + "f" * 500, "1e999", "\t", "|\n " + self.text())
        trees = ("[" * deep, "{a: " * deep, json.dumps(self.value(2)), "!!python/object:os.system x")
        lists = (
            "\n" + "".join(f"  - {self.choice(scalars)}\n" for _ in range(9)),
            "!!set {a, b}",
            "!!binary AAAA",
            "{a: {",
        )
        return self.choice((*scalars, *trees, *lists, "&x [1]", "*x", "&y [*x, *x, *x, *x]", "&z {a: *y, <<: *z}"))
