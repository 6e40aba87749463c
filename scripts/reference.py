"""Writes what the reference pages say about settings, metrics, commands and formats, from the code itself.

The prose of a page is written by hand; the part between `<!-- begin NAME -->` and `<!-- end NAME -->` comes from
here. So do the pages of the errors and of the rules, the examples on all pages, the pictures of terminals, the schemas
in docs/schemas, and the record of the public API.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import page_examples
import public_api
import terminal_pictures
import typescript_types

DOCS = Path(__file__).resolve().parents[1] / "docs"
ERRORS = DOCS / "reference" / "errors"
RULES = DOCS / "reference" / "rules"


def settings() -> Iterator[str]:
    """Yield a table of the framework's settings, then one for each toolset of failsoft: variable, values, default."""
    from importlib.metadata import distribution

    from failsoft import Settings

    yield from _settings_table(Settings)
    for point in distribution("failsoft").entry_points.select(group="failsoft.toolsets"):
        if declared := getattr(point.load(), "Settings", None):
            yield from ("", f"## Toolset {point.name}", "")
            yield from _settings_table(declared)


def _settings_table(model: Any) -> Iterator[str]:
    yield from ("| variable | values | default | meaning |", "|---|---|---|---|")
    schema = model.model_json_schema(by_alias=False)["properties"]
    for name, variables in model.variables().items():
        field = model.model_fields[name]
        default = "" if field.default in (None, "", ()) else f"`{str(field.default).lower()}`"
        if isinstance(field.default, (str, tuple)) and field.default:
            default = f"`{field.default if isinstance(field.default, str) else ','.join(field.default)}`"
        yield f"| `{variables[0]}` | {_values(schema[name])} | {default} | {field.description} |"


def _values(schema: dict[str, Any]) -> str:
    """Return in words what a setting accepts."""
    options = [option for option in schema.get("anyOf", [schema]) if option.get("type") != "null"]
    reported = options[0]
    if "enum" in reported:
        return ", ".join(f"`{value}`" for value in reported["enum"])
    if reported.get("type") == "boolean":
        return "`true`, `false`"
    kind = {"integer": "whole number", "number": "number", "array": "list"}.get(reported.get("type"), "text")
    if reported.get("format") == "password":
        kind = "text, kept secret"
    bounds = {
        "minimum": "at least {:,}",
        "exclusiveMinimum": "above {:,}",
        "maximum": "at most {:,}",
        "exclusiveMaximum": "below {:,}",
        "minLength": "at least {:,} characters",
    }
    said = [words.format(reported[key]) for key, words in bounds.items() if key in reported]
    return ", ".join([kind, *(words for words in said if words != "at least 1 characters")])


def not_on_a_page() -> list[str]:
    """Return the public names, error classes apart, that no page for authors shows."""
    from failsoft import ToolError

    shown = set()
    for page in (DOCS / "reference" / "api").glob("*.md"):
        for path in re.findall(r"^::: (\S+)", page.read_text(), re.MULTILINE):
            module, _, name = path.rpartition(".")
            shown.add(id(getattr(importlib.import_module(module), name)))
    missing = []
    for module in public_api.MODULES:
        loaded = importlib.import_module(module)
        for name in sorted(set(loaded.__all__) - {"__version__"}):
            value = getattr(loaded, name)
            is_error = isinstance(value, type) and issubclass(value, ToolError)
            if not is_error and id(value) not in shown:
                missing.append(f"{module}.{name}")
    return missing


def error_pages() -> dict[str, str]:
    """Return the pages of all errors by file name, those of the toolsets that ship with failsoft included."""
    from importlib.metadata import distribution

    from failsoft.framework.errors.catalogue import pages

    for point in distribution("failsoft").entry_points.select(group="failsoft.toolsets"):
        point.load()
    return pages()


def exit_codes() -> Iterator[str]:
    """Yield a row for each exit code of the command line."""
    from failsoft.cli.errors import ExitCode

    yield from ("| exit code | meaning |", "|---|---|")
    yield from (f"| {code.value} | {code.meaning} |" for code in ExitCode)


def commands() -> Iterator[str]:
    """Yield a section for each command, with its arguments and options."""
    import typer

    from failsoft.cli.app import application

    group: Any = typer.main.get_command(application())
    yield from _group(group, "failsoft")


def _group(group: Any, path: str) -> Iterator[str]:
    for name in sorted(group.list_commands(None)):
        command = group.get_command(None, name)
        if getattr(command, "commands", None):
            yield from _group(command, f"{path} {name}")
        elif not command.hidden:
            yield from _command(command, f"{path} {name}")


def _command(command: Any, path: str) -> Iterator[str]:
    text = (command.help or "").split("\f")[0].strip()
    text, _, examples = text.partition("\n\n\b\nExamples:\n")
    yield from (f"## `{path}`", "", text, "")
    if examples:
        yield from ("```sh", *(line.strip() for line in examples.splitlines()), "```", "")
    rows = [row for parameter in command.params if (row := _parameter(parameter))]
    if rows:
        yield from ("| argument or option | default | meaning |", "|---|---|---|", *rows, "")


def _parameter(parameter: Any) -> str:
    if parameter.name == "help" or getattr(parameter, "hidden", False):
        return ""
    if parameter.param_type_name == "argument":
        many = " ..." if parameter.nargs == -1 else ""
        shown = f"{(parameter.metavar or parameter.name).upper().strip('[].')}{many}"
    else:
        shown = ", ".join((*parameter.opts, *parameter.secondary_opts))
    default = parameter.default
    reported = (
        "" if default in (None, (), [], False, "") or callable(default) else f"`{getattr(default, 'value', default)}`"
    )
    return f"| `{shown}` | {reported} | {getattr(parameter, 'help', '') or ''} |"


def metrics() -> Iterator[str]:
    """Yield a row for each metric: name, type, labels, meaning."""
    from failsoft.metrics.definitions import DEFINITIONS

    yield from ("| name | type | labels | counts |", "|---|---|---|---|")
    for metric in DEFINITIONS:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        yield f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |"


def formats() -> Iterator[str]:
    """Yield a section for each wire format: what it is, and its keys on a failure."""
    from failsoft.framework.answer.formats import FORMATS

    for name, kind in FORMATS.items():
        schema = json.loads((DOCS / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))
        keys = list(_keys(schema["oneOf"][1]))
        text = (kind.__doc__ or "").strip().split("\n\n")[0]
        yield from (f"## `{name}`", "", " ".join(text.split()), "", "Keys of a failure, the required ones in bold:", "")
        yield from (f"{', '.join(keys)}.", "")


def _keys(schema: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the keys of a schema, those of `error` and `metadata` under their parent, the required ones in bold."""
    for key, value in schema["properties"].items():
        if key in {"error", "metadata"} and "properties" in value:
            yield from _keys(value, f"{prefix}{key}.")
        else:
            yield f"**`{prefix}{key}`**" if key in schema.get("required", ()) else f"`{prefix}{key}`"


def tree() -> Iterator[str]:
    """Yield the packages of failsoft as a tree, each with the first line of its docstring."""
    source = DOCS.parent / "src" / "failsoft"
    packages = sorted(init.parent for init in source.rglob("__init__.py"))
    yield "```text"
    for package in packages:
        depth = len(package.relative_to(source).parts)
        docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
        yield f"{'  ' * depth + package.name + '/':<26} {docstring.splitlines()[0]}"
    yield "```"


PARTS: dict[str, Callable[[], Iterator[str]]] = {
    "tree": tree,
    "settings": settings,
    "exit codes": exit_codes,
    "commands": commands,
    "metrics": metrics,
    "formats": formats,
}
_PART = re.compile(r"(<!-- begin (?P<name>[a-z ]+) -->\n).*?(<!-- end (?P=name) -->)", re.DOTALL)


def written() -> dict[Path, str]:
    """Return what every generated or partly generated file should hold."""
    from failsoft.rules import rule_pages
    from failsoft.tools.docs.config import config_schema

    files = {public_api.RECORD: public_api.describe(), **public_api.stubs()}
    schemas = {path.name: path.read_text(encoding="utf-8") for path in DOCS.glob("schemas/*.schema.json")}
    files[DOCS / "schemas" / "docs-project.json"] = json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"
    files[typescript_types.TARGET] = typescript_types.types(schemas)
    files |= {DOCS / f"assets/{name}.svg": terminal_pictures.picture(name) for name in terminal_pictures.COMMANDS}
    files |= {ERRORS / name: text for name, text in error_pages().items()}
    files |= {RULES / name: text for name, text in rule_pages().items()}
    for page in sorted([*(DOCS / "reference").glob("*.md"), *(DOCS / "explanation" / "adr").glob("0001-*.md")]):
        files[page] = _PART.sub(
            lambda part: f"{part[1]}{chr(10).join(PARTS[part['name']]()).strip()}\n{part[3]}", page.read_text()
        )
    for page in sorted(path for path in DOCS.rglob("*.md") if path not in files):
        files[page] = page_examples.shown(page.read_text(), DOCS)
    return files


def main() -> int:
    """Write the files, or with `--check` list those that are out of date (exit code 1 if there are any)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is out of date")
    only_check = parser.parse_args().check
    missing = not_on_a_page()
    for name in missing:
        print(f"no page for authors shows {name}: add `::: {name}` to one of docs/reference/api")
    files = written()
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    surplus = [path for folder in (ERRORS, RULES) for path in folder.glob("*.md") if path not in files]
    if only_check:
        for path in (*stale, *surplus):
            print(f"{path.relative_to(DOCS.parent)} is out of date: run scripts/reference.py")
        return 1 if stale or surplus or missing else 0
    for path in surplus:
        path.unlink()
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path])
        print(f"wrote {path.relative_to(DOCS.parent)}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
