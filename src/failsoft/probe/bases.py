"""Calls that work, from which faults are made: looked for in schemas, in what other tools return, and in refusals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from failsoft.framework.arguments.json_schema import JsonSchema
from failsoft.probe.calls import Calls, Withdrawn, same
from failsoft.probe.connection import ServerAnswer
from failsoft.probe.faults import FaultyCall, strings
from failsoft.probe.rating import SAYS_FORMAT, looks_failed, rate
from failsoft.probe.reader import READ_AT_MOST, Reader, accepted_in, names, says_missing
from failsoft.probe.samples import Harvest, candidates, values_for
from failsoft.probe.schemas import ToolInfo

_TRIES = 4
_MISSING = re.compile(r"missing|required|undefined|must be (?:given|set|present)", re.IGNORECASE)


@dataclass(slots=True)
class Base:
    """A call of a tool that its faults are made from.

    Args:
        arguments: Its arguments.
        answer: What it was answered.
        is_stable: Whether it is answered the same when made twice.
        works: Whether it succeeds.
    """

    arguments: Mapping[str, Any]
    answer: ServerAnswer | None
    is_stable: bool = True
    works: bool = False


class Bases:
    """Finds a call that works for each tool.

    Args:
        calls: Makes the calls.
        reader: What refusals advise.
    """

    def __init__(self, calls: Calls, reader: Reader) -> None:
        self._calls, self._reader = calls, reader
        self._found: dict[str, Base] = {}

    def __getitem__(self, tool: str) -> Base:
        return self._found[tool]

    async def find(self, tools: list[ToolInfo]) -> None:
        """Look for a call of each tool, again where others have returned more by then."""
        for tool in tools:
            with suppress(Withdrawn):
                await self._find(tool)
        for tool in tools:
            if not self[tool.name].works:
                with suppress(Withdrawn):
                    await self._find(tool)
            self._judge(tool)

    def _judge(self, tool: ToolInfo) -> None:
        """Report a call that fits the schema and whose failure leads nowhere."""
        base = self[tool.name]
        if base.works or base.answer is None or base.answer.kind not in {"result", "error"} or not base.answer.failed:
            return
        fault = FaultyCall("none", tool.name, tool.name, base.arguments, base.arguments, is_declared=False)
        text = base.answer.text[:READ_AT_MOST]
        is_told = any(names(text, name) for name in tool.parameters) or SAYS_FORMAT.search(text) is not None
        is_told = is_told or self._reader.has_advice(fault, text)
        if not is_told and self._reader.read(fault, (tool.name, base.arguments), text) is None:
            why = "A caller that reads only this text finds nothing in it to do next."
            self._calls.add(fault, base.answer, [("no-next-step", why)])

    async def _find(self, tool: ToolInfo) -> None:
        """Look for arguments that work: from the schema, then as the answers advise."""
        tried: list[Mapping[str, Any]] = []
        waiting = [*candidates(tool, self._calls.harvest, at_most=_TRIES)]
        self._found.setdefault(tool.name, Base(waiting[0], None))
        while waiting and len(tried) < _TRIES:
            arguments = waiting.pop(0)
            tried.append(arguments)
            answer = await self._calls.call(tool.name, arguments)
            fault = FaultyCall("none", tool.name, tool.name, arguments, arguments, is_declared=False)
            self._calls.add(fault, answer, rate(fault, answer, tool, self._calls.known))
            if not answer.failed and not looks_failed(answer, tool):
                self._calls.learn(tool.name, arguments, answer)
                self._forget_leaks(arguments)
                self._check_output(fault, answer, tool)
                again = await self._calls.call(tool.name, arguments) if tool.is_read_only else answer
                self._found[tool.name] = Base(arguments, answer, same(answer, again), works=True)
                return
            if arguments == self._found[tool.name].arguments:
                self._found[tool.name].answer = answer
            self._declared_wrongly(fault, answer, tool)
            self._calls.harvest.take_paths(answer.text)
            waiting += [
                one for one in candidates(tool, self._calls.harvest, at_most=_TRIES) if one not in (*tried, *waiting)
            ]
            advised = self._reader.read(fault, (tool.name, arguments), answer.text)
            if advised is not None and advised.tool == tool.name and advised.arguments not in tried:
                waiting.insert(0, dict(advised.arguments))
            elif advised is not None and advised.source == "look":
                await self._calls.look(advised.tool, advised.arguments)
            waiting = [*_corrected(arguments, answer.text, tool, self._calls.harvest), *waiting]

    def _declared_wrongly(self, fault: FaultyCall, answer: ServerAnswer, tool: ToolInfo) -> None:
        """Find what a call that fits the schema is refused for: a parameter that is required without saying so."""
        if answer.kind in {"crash", "hang"} or _MISSING.search(answer.text[:READ_AT_MOST]) is None:
            return
        for one in tool.parameters.values():
            if not one.is_required and one.name not in fault.arguments and says_missing(answer.text, one.name):
                why = f"The schema does not require `{one.name}`, and the call is refused without it."
                self._calls.add(fault, answer, [("schema-lies", why)])

    def _check_output(self, fault: FaultyCall, answer: ServerAnswer, tool: ToolInfo) -> None:
        if tool.output_schema is None:
            return
        if answer.structured is None:
            self._calls.add(fault, answer, [("schema-lies", "There is an output schema, and no structured content.")])
            return
        with suppress(Exception):  # a schema that cannot be used is none of the answer's faults
            schema = JsonSchema(f"{tool.name}, output", dict(tool.output_schema), slow_patterns="skip")
            if not schema.is_valid(answer.structured):
                self._calls.add(
                    fault, answer, [("schema-lies", "The structured content does not fit the output schema.")]
                )

    def _forget_leaks(self, arguments: Mapping[str, Any]) -> None:
        """Drop the findings of paths that turned out to be what a caller has to send."""
        sent = [text for text in strings(arguments) if text.startswith("/")]
        self._calls.report.findings = [
            one
            for one in self._calls.report.findings
            if one.name != "leaks-path" or not any(one.why.endswith(f": {text}") for text in sent)
        ]


def _corrected(arguments: Mapping[str, Any], text: str, tool: ToolInfo, harvest: Harvest) -> Iterator[dict[str, Any]]:
    """Yield arguments as a refusal corrects them: a value that it lists, or a parameter that it misses."""
    listed = accepted_in(text)
    for one in tool.parameters.values():
        if not names(text, one.name):
            continue
        if one.name in arguments and listed and isinstance(arguments[one.name], str):
            yield {**arguments, one.name: listed[0]}
        elif one.name not in arguments and says_missing(text, one.name):
            yield {**arguments, one.name: values_for(one, tool, harvest)[0]}
