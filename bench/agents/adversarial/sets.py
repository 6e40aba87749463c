"""The sets of trades, the cases of a trade, and whether a trade is written as it has to be."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import json
import pkgutil
import zipfile
import zipimport
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from agents.adversarial import open as open_set, second as second_set
from agents.adversarial.cases import HARMLESS, KINDS, Case, Trade, differ, is_accepted
from agents.adversarial.faults import harmless
from agents.adversarial.judge import Outcome, on_server, outcome
from agents.adversarial.twists import twists
from agents.adversarial.worlds import SERVERS, tools

__all__ = ["HELD_OUT", "SETS", "cases_of", "check", "faults", "load", "meant_outcomes", "trade_of"]

HERE = Path(__file__).parent
HELD_OUT = HERE / "held_out.zip"
PACKAGES = {"open": open_set, "second": second_set}
SETS = (*PACKAGES, "held-out")
TRAPS_AT_LEAST = 35
TOOLS = (5, 9)


def load(chosen: str) -> list[Trade]:
    """Return the trades of a set, in the order of their names; the held-out ones are opened for that set alone."""
    if chosen in PACKAGES:
        package = PACKAGES[chosen]
        names = sorted(found.name for found in pkgutil.iter_modules(package.__path__))
        return [importlib.import_module(f"{package.__name__}.{name}").TRADE for name in names]
    if not HELD_OUT.exists():
        return []
    with zipfile.ZipFile(HELD_OUT) as files:
        modules = [Path(name) for name in files.namelist() if "/" not in name and name.endswith(".py")]
    opened = zipimport.zipimporter(str(HELD_OUT))
    return [_imported(opened, name).TRADE for name in sorted(path.stem for path in modules) if name != "__init__"]


def _imported(opened: zipimport.zipimporter, name: str) -> ModuleType:
    spec = importlib.machinery.ModuleSpec(name, opened)
    module = importlib.util.module_from_spec(spec)
    opened.exec_module(module)
    return module


def trade_of(module: str) -> Trade:
    """Return the trade of a file (`path/to/bank.py`) or a module (`agents.adversarial.open.bank`)."""
    if module.endswith(".py"):
        spec = importlib.util.spec_from_file_location(Path(module).stem, module)
        if spec is None or spec.loader is None:
            raise FileNotFoundError(module)
        found = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
    else:
        found = importlib.import_module(module)
    trade: Trade = found.TRADE
    return trade


def cases_of(trade: Trade) -> list[Case]:
    """Return all cases of a trade; what was written by hand comes first, and no call is sent twice."""
    found: dict[str, Case] = {}
    for case in (*trade.written(), *twists(trade), *harmless(trade)):
        found.setdefault(json.dumps(case.sent, sort_keys=True), case)
    return [*found.values()]


async def meant_outcomes(trade: Trade, server: str, cases: list[Case]) -> dict[str, Outcome]:
    """Return what each call that is meant does on a server, by the call as JSON.

    Raises:
        ValueError: One fails.
        ImportError: The server is not installed.
    """
    calls = {json.dumps(case.meant): case.meant for case in cases if case.meant is not None}
    return {text: await outcome(trade.world, call, on_server(server)) for text, call in calls.items()}


def faults(trade: Trade, cases: list[Case]) -> list[str]:
    """Return what is wrong with how a trade and its cases are written; no server is asked."""
    wrong = [*_of_trade(trade), *(f"{case.name}: {fault}" for case in cases for fault in _of_case(trade, case))]
    names = Counter(case.name for case in cases)
    wrong += [f"{name} is the name of {count} cases" for name, count in names.items() if count > 1]
    if len({json.dumps(case.sent, sort_keys=True) for case in trade.written()}) < len(trade.traps):
        wrong.append("two traps send the same call")
    return wrong


async def check(trade: Trade) -> list[str]:
    """Return what is wrong with a trade, or fails on a server though it is meant; none of its cases is played."""
    cases = cases_of(trade)
    wrong = faults(trade, cases)
    for server in SERVERS if not wrong else ():
        try:
            await meant_outcomes(trade, server, cases)
        except ImportError as missing:
            print(f"{server}: not installed ({missing.name})")
        except ValueError as error:
            wrong.append(f"{server}: {error}")
    return wrong


def _of_trade(trade: Trade) -> Iterator[str]:
    found = tools(trade.world)
    if not TOOLS[0] <= len(found) <= TOOLS[1]:
        yield f"it has {len(found)} tools, not {TOOLS[0]} to {TOOLS[1]}"
    if len(trade.traps) < TRAPS_AT_LEAST:
        yield f"it has {len(trade.traps)} traps, not {TRAPS_AT_LEAST}"
    for name in {*found} - {meant.call[0] for meant in trade.meant}:
        yield f"no call of {name} is meant"
    for meant in trade.meant:
        if not is_accepted(trade.world, meant.call):
            yield f"meant and not accepted: {meant.call}"
    for name, tool in found.items():
        for parameter in tool.parameters:
            known = tool.known(parameter)
            if known is not None and known.what not in trade.world.ids:
                yield f"{name}: {known.what} is not among the ids"


def _of_case(trade: Trade, case: Case) -> Iterator[str]:
    if case.kind not in KINDS:
        yield f"no such kind: {case.kind}"
    if case.harmless != (case.kind in HARMLESS) or (case.harmless and case.meant is None):
        yield "it is harmless by its kind, or by what is meant, and not by both"
    if not case.words:
        yield "nobody knows what is wanted"
    if not differ(case.sent, case.meant):
        yield "it sends what is meant"
    if is_accepted(trade.world, case.sent):
        yield f"what it sends is right as it is: {case.sent}"
    if case.meant is not None and not is_accepted(trade.world, case.meant):
        yield f"what it means is not accepted: {case.meant}"
