"""Writes what the reference pages say about settings, metrics, commands and formats, from the code itself.

The prose of a page is written by hand; what stands between `<!-- begin NAME -->` and `<!-- end NAME -->` comes from
here. So do the examples on all pages, the schemas in docs/schemas, and the record of the public API.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import page_examples
import public_api
import strategy_pages

DOCS = Path(__file__).resolve().parents[1] / "docs"
ERROR_PAGES = "errors/"


def settings() -> Iterator[str]:
    """Yield a row for each setting: variable, values, default, meaning."""
    from failsoft import Settings

    yield from ("| variable | values | default | meaning |", "|---|---|---|---|")
    schema = Settings.model_json_schema(by_alias=False)["properties"]
    for name, field in Settings.model_fields.items():
        default = "" if field.default in (None, "", ()) else f"`{str(field.default).lower()}`"
        if isinstance(field.default, (str, tuple)) and field.default:
            default = f"`{field.default if isinstance(field.default, str) else ','.join(field.default)}`"
        yield f"| `FAILSOFT_{name.upper()}` | {_values(schema[name])} | {default} | {field.description} |"


def _values(schema: dict[str, Any]) -> str:
    """Return in words what a setting accepts."""
    options = [option for option in schema.get("anyOf", [schema]) if option.get("type") != "null"]
    told = options[0]
    if "enum" in told:
        return ", ".join(f"`{value}`" for value in told["enum"])
    if told.get("type") == "boolean":
        return "`true`, `false`"
    kind = {"integer": "whole number", "number": "number", "array": "list"}.get(told.get("type"), "text")
    if told.get("format") == "password":
        kind = "text, kept secret"
    bounds = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most"}
    return ", ".join([kind, *(f"{words} {told[key]:,}" for key, words in bounds.items() if key in told)])


def names() -> Iterator[str]:
    """Yield a section for each public module, and a row for each of its names."""
    import importlib
    import inspect

    for module in public_api.MODULES:
        yield from (f"## `{module}`", "", "| name | what it is |", "|---|---|")
        loaded = importlib.import_module(module)
        for name in sorted(loaded.__all__, key=str.lower):
            value = getattr(loaded, name)
            documented = inspect.isclass(value) or inspect.isfunction(value)
            text = (inspect.getdoc(value) or "") if documented else ""
            code = getattr(value, "code", "")
            page = f"[`{code}`]({ERROR_PAGES}{code}.md): " if code and isinstance(code, str) else ""
            yield f"| `{name}` | {page}{text.splitlines()[0] if text else _plain(name)} |"
        yield ""


def _plain(name: str) -> str:
    """Return what a name is that can have no docstring of its own."""
    return {
        "Phase": "How far the work of a failed call got: `not_sent`, `may_have_happened` or `happened`.",
        "Proceed": "What a middleware awaits to go on with the call: `await proceed(call)`.",
        "Public": "Marks a field of an error that every caller may see: `path: Public[str]`.",
        "__version__": "The version, as text.",
    }.get(name, "")


def exit_codes() -> Iterator[str]:
    """Yield a row for each exit code of the command line."""
    from failsoft.cli.exits import ExitCode

    yield from ("| exit code | meaning |", "|---|---|")
    yield from (f"| {code.value} | {code.meaning} |" for code in ExitCode)


def commands() -> Iterator[str]:
    """Yield a section for each command, with its arguments and options."""
    import typer

    from failsoft.cli import app

    group: Any = typer.main.get_command(app)
    yield from _group(group, "failsoft")


def _group(group: Any, path: str) -> Iterator[str]:
    for name, command in sorted(group.commands.items()):
        if getattr(command, "commands", None):
            yield from _group(command, f"{path} {name}")
        elif not command.hidden:
            yield from _command(command, f"{path} {name}")


def _command(command: Any, path: str) -> Iterator[str]:
    text = (command.help or "").split("\f")[0].strip()
    yield from (f"## `{path}`", "", text, "")
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
    told = (
        "" if default in (None, (), [], False, "") or callable(default) else f"`{getattr(default, 'value', default)}`"
    )
    return f"| `{shown}` | {told} | {getattr(parameter, 'help', '') or ''} |"


def metrics() -> Iterator[str]:
    """Yield a row for each metric: name, type, labels, meaning."""
    from failsoft.metrics.definitions import DEFINITIONS

    yield from ("| name | type | labels | counts |", "|---|---|---|---|")
    for metric in DEFINITIONS:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        yield f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |"


def formats() -> Iterator[str]:
    """Yield a section for each wire format: what it is, and its keys on a failure."""
    from failsoft.framework.wire import find_format, format_names

    for name in format_names():
        wire = find_format(name)
        schema = wire.failure_schema()
        keys = list(_keys(schema))
        text = (type(wire).__doc__ or "").strip().split("\n\n")[0]
        yield from (f"## `{name}`", "", " ".join(text.split()), "", "Keys of a failure, the required ones in bold:", "")
        yield from (f"{', '.join(keys)}.", "")


def _keys(schema: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the keys of a schema, those of `error` and `metadata` under their parent, the required ones in bold."""
    for key, value in schema["properties"].items():
        if key in {"error", "metadata"} and "properties" in value:
            yield from _keys(value, f"{prefix}{key}.")
        else:
            yield f"**`{prefix}{key}`**" if key in schema.get("required", ()) else f"`{prefix}{key}`"


PARTS: dict[str, Callable[[], Iterator[str]]] = {
    "settings": settings,
    "names": names,
    "exit codes": exit_codes,
    "commands": commands,
    "metrics": metrics,
    "formats": formats,
}
_PART = re.compile(r"(<!-- begin (?P<name>[a-z ]+) -->\n).*?(<!-- end (?P=name) -->)", re.DOTALL)


def written() -> dict[Path, str]:
    """Return what every generated or partly generated file should hold."""
    from failsoft.framework.wire import schema_files

    files = {public_api.RECORD: public_api.describe()}
    files |= {DOCS / "schemas" / name: text for name, text in schema_files().items()}
    files |= {DOCS / "reference" / "strategies" / name: text for name, text in strategy_pages.pages().items()}
    for page in sorted((DOCS / "reference").glob("*.md")):
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
    files = written()
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if only_check:
        for path in stale:
            print(f"{path.relative_to(DOCS.parent)} is out of date: run scripts/reference.py")
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path])
        print(f"wrote {path.relative_to(DOCS.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
