"""What clients see of an upstream's tools: bounded, checked one by one, and changed as the operator's file says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from failsoft.adapters.foreign import schema_arguments
from failsoft.framework.arguments import Arguments
from failsoft.framework.arguments.json_schema import JsonSchema
from failsoft.framework.arguments.schemas import measured
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import bounded, printable_lines
from failsoft.recovery.recovery_file import read_table

_NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}")
_LIST_BYTES_AT_MOST = 4_000_000
_DEPTH = 100
_TEXTS = frozenset({"title", "description"})
_VALUES = frozenset({"enum", "const", "default", "examples"})
_WARNINGS_AT_MOST = 20


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Defaults(_Strict):
    """What holds for every tool."""

    timeout_s: float | None = Field(default=None, gt=0)
    refuse_unknown: bool = True
    confirm: bool | Literal["when destructive"] = False


class ToolOverride(_Strict):
    """What holds for one tool; what is left out stays as the upstream says.

    `attempts` counts the first run. `stale_s` is the maximum age of a cached answer for a failed read-only tool. With
    `confirm`, the person who uses the client has to allow each call.
    """

    hidden: bool = False
    name: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_.-]{1,128}$")
    description: str | None = None
    read_only: bool | None = None
    idempotent: bool | None = None
    destructive: bool | None = None
    timeout_s: float | None = Field(default=None, gt=0)
    refuse_unknown: bool | None = None
    attempts: int | None = Field(default=None, ge=1, le=20)
    stale_s: float | None = Field(default=None, gt=0)
    confirm: bool | Literal["when destructive"] | None = None

    def annotations(self) -> dict[str, bool]:
        """Return the tool annotations that are set here."""
        declared = {
            "readOnlyHint": self.read_only,
            "idempotentHint": self.idempotent,
            "destructiveHint": self.destructive,
        }
        return {name: value for name, value in declared.items() if value is not None}


class Overrides(_Strict):
    """An operator's file, one table per tool, by the names that tools have without it; nothing changes by default."""

    defaults: Defaults = Defaults()
    tools: dict[str, ToolOverride] = {}

    def of(self, name: str) -> ToolOverride:
        """Return what holds for a tool."""
        return self.tools.get(name) or ToolOverride()


def read_overrides(path: Path | None) -> Overrides:
    """Return the overrides of a TOML file.

    Raises:
        CONFIG_ERROR: As with `read_table`.
    """
    if path is None:
        return Overrides()
    overrides: Overrides = read_table(path, Overrides)
    return overrides


@dataclass(frozen=True, slots=True)
class ListedTool:
    """One tool as it is shown to clients.

    Args:
        upstream_name: Its name at the upstream.
        entry: Its entry in the upstream's list, raw.
        override: What the operator changes about it.
        shown: The entry with these changes.
        arguments: What checks its arguments.
        output: The schema of its structured content; None if it has none.
    """

    upstream_name: str
    entry: Mapping[str, Any]
    override: ToolOverride
    shown: types.Tool
    arguments: Arguments
    output: JsonSchema | None


@dataclass(frozen=True, slots=True)
class ListReader:
    """Reads the lists of one upstream. It is slow, and touches nothing else: a worker thread may do it.

    One bad entry would make strict clients, the SDK's among them, refuse the whole list, so it is left out with a
    warning that names it. Beyond the bounds entries are left out unread.

    Args:
        upstream: The upstream's name, for schemas and the log.
        prefix: Put before the names of its tools.
        overrides: What the operator changes.
        max_tools: The most tools of a list that are read.
    """

    upstream: str
    prefix: str
    overrides: Overrides
    max_tools: int

    def read(self, entries: Any, known: Mapping[str, ListedTool]) -> dict[str, ListedTool]:
        """Return the tools by the names that clients see.

        Args:
            entries: The `tools` of the upstream's answers.
            known: The tools of the list before; one whose entry is the same is kept as it is.
        """
        found: dict[str, ListedTool] = {}
        left_out: list[tuple[str, str]] = []
        size = taken = 0
        waiting = entries if isinstance(entries, list) else [entries]
        for number, entry in enumerate(waiting):
            name = ""
            try:
                tree, name = self._named(entry)
                override = self.overrides.of(name)
                if override.hidden:
                    continue
                shown = override.name or name
                if _NAME.fullmatch(shown) is None:
                    msg = "its name is not 1 to 128 letters, digits, `_`, `.`, `/` or `-`"
                    raise TypeError(msg)  # noqa: TRY301 - one place reports each reason
                size += measured(name, tree, what="its entry")
                if taken == self.max_tools or size > _LIST_BYTES_AT_MOST:
                    self._warn_of_rest(len(waiting) - number)
                    break
                taken += 1
                if shown in found:
                    msg = "a tool of that name is listed before it"
                    raise TypeError(msg)  # noqa: TRY301 - as above
                before = known.get(shown)
                found[shown] = before if before and before.entry == tree else self._checked(tree, shown, override)
            except (TypeError, ValidationError) as error:
                left_out.append((name, _reason(error)))
        self._warn(left_out)
        return found

    def _named(self, entry: Any) -> tuple[dict[str, Any], str]:
        """Return an entry, completed, and the name of its tool without overrides."""
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            msg = "it is no object with a name"
            raise TypeError(msg)
        # Null members count as left out, and a schema without a type as one of an object: servers in several
        # languages write both. Only the newest version of the protocol has output schemas of other types.
        tree = {"inputSchema": {}, **{name: value for name, value in entry.items() if value is not None}}
        for name in ("inputSchema", "outputSchema"):
            if isinstance(tree.get(name), dict):
                tree[name] = {"type": "object", **tree[name]}
        if isinstance(output := tree.get("outputSchema"), dict) and output["type"] != "object":
            del tree["outputSchema"]
        return tree, f"{self.prefix}{entry['name']}"

    def _checked(self, tree: dict[str, Any], name: str, override: ToolOverride) -> ListedTool:
        """Return a tool as it is shown under a name.

        Raises:
            ValidationError: Pydantic's: its entry breaks the protocol.
            TypeError: One of its schemas cannot be used.
        """
        validate_server_result("tools/list", LATEST_HANDSHAKE_VERSION, {"tools": [tree]})
        shown = {**readable(tree), "name": name}
        if override.description is not None:
            shown["description"] = override.description
        annotations = {**shown.get("annotations", {}), **override.annotations()}
        if annotations:
            shown["annotations"] = annotations
        refuse = self.overrides.defaults.refuse_unknown if override.refuse_unknown is None else override.refuse_unknown
        arguments = schema_arguments(
            f"{self.upstream}.{name}",
            shown["inputSchema"],
            changes=annotations.get("readOnlyHint") is not True,
            refuse_unknown=refuse,
        )
        output = shown.get("outputSchema")
        return ListedTool(
            upstream_name=tree["name"],
            entry=tree,
            override=override,
            shown=types.Tool.model_validate(shown, by_name=False),
            arguments=arguments,
            output=None if output is None else JsonSchema(f"{name}, output", output, slow_patterns="skip"),
        )

    def _warn(self, left_out: list[tuple[str, str]]) -> None:
        for name, reason in left_out[:_WARNINGS_AT_MOST]:
            logger.bind(upstream=self.upstream, operation=bounded(name)).warning(
                "A tool of an upstream is left out: {}", reason
            )
        if len(left_out) > _WARNINGS_AT_MOST:
            logger.bind(upstream=self.upstream, count=len(left_out) - _WARNINGS_AT_MOST).warning(
                "Further tools of an upstream are left out, for such reasons"
            )

    def _warn_of_rest(self, count: int) -> None:
        logger.bind(upstream=self.upstream, count=count, max_tools=self.max_tools).warning(
            "The rest of an upstream's tools is left out: beyond FAILSOFT_PROXY_MAX_TOOLS, or 4 MB in all"
        )


def readable(tree: Any, depth: int = 0) -> Any:
    """Return an upstream's entry whose texts for people and models hide and reorder nothing, those of schemas too.

    Names and values stay, since they are sent back.
    """
    if isinstance(tree, list):
        return [readable(item, depth + 1) for item in tree] if depth < _DEPTH else tree
    if not isinstance(tree, dict) or depth == _DEPTH:
        return tree
    return {key: item if key in _VALUES else _readable_item(key, item, depth + 1) for key, item in tree.items()}


def _readable_item(key: str, item: Any, depth: int) -> Any:
    return printable_lines(item) if key in _TEXTS and isinstance(item, str) else readable(item, depth)


def _reason(error: TypeError | ValidationError) -> str:
    if isinstance(error, TypeError):
        return bounded(str(error))
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{bounded('.'.join(map(str, first['loc'][2:])))}: {first['msg']}"
