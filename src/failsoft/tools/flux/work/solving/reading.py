"""Read a model file (SBML, cobra JSON, MAT, YAML), and report faults by line, element and id."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import cobra
import cobra.io
from cobra.io.dict import model_from_dict

from failsoft.framework.text import bounded, plain, quoted
from failsoft.tools.flux.errors.files import InvalidInputFile
from failsoft.tools.flux.models.recipes import Step
from failsoft.tools.flux.work.networks.drafts import packed, unpacked
from failsoft.tools.flux.work.solving.sbml import Fault, FileFaultError, read_sbml

FORMATS = {".xml": "sbml", ".sbml": "sbml", ".json": "json", ".mat": "mat", ".yml": "yaml", ".yaml": "yaml"}
"""Format by the ending of the name, without `.gz`."""
_TEXT_AT_MOST = 300


def read_model(path: str, data: bytes) -> dict[str, Any]:
    """Return the base of a recipe that keeps the model of a file: a task.

    Args:
        path: Its name, for the format and for errors.
        data: Its content, unpacked.

    Raises:
        INVALID_INPUT_FILE: It is not a valid model, with the faults.
    """
    ending = "." + path.casefold().removesuffix(".gz").rpartition(".")[2]
    kind = FORMATS.get(ending)
    try:
        if kind is None:
            raise FileFaultError({"message": f"the name ends in none of {', '.join(FORMATS)}"})  # noqa: TRY301 - one place
        model = _READERS[kind](data)
        faults = _model_faults(model)
        if faults:
            raise FileFaultError(*faults)  # noqa: TRY301 - the same
    except FileFaultError as error:
        raise _invalid(path, kind or "model", error.faults) from None
    except Exception as error:
        # cobra raises KeyError, AttributeError, CobraSBMLError and others.
        fault = {"message": bounded(f"{type(error).__name__}: {error}", _TEXT_AT_MOST)}
        raise _invalid(path, kind or "model", [fault]) from error
    return {
        "kind": "file",
        "format": kind,
        "direction": model.objective_direction,
        "packed": packed(cobra.io.model_to_dict(model)),
    }


def file_model(base: Step) -> cobra.Model:
    """Return the model of a base of the kind `file`."""
    model = model_from_dict(unpacked(base["packed"]))
    model.solver = "glpk"  # always installed, so every replica computes the same
    model.objective_direction = base["direction"]
    return model


def _invalid(path: str, kind: str, faults: list[Fault]) -> InvalidInputFile:
    first = faults[0]
    place = f"line {first['line']}: " if "line" in first else f"{first['element']} " if "element" in first else ""
    name = f"{quoted(first['id'], 100)} " if "id" in first else ""
    more = f" ({len(faults)} faults in all)" if len(faults) > 1 else ""
    said = f"is not a valid {kind} file: {place}{name}{plain(str(first['message']).rstrip('.'))}{more}"
    return InvalidInputFile.found(path, kind, said, faults)


def _json(data: bytes) -> cobra.Model:
    try:
        content = json.loads(data)
    except json.JSONDecodeError as error:
        raise FileFaultError({"line": error.lineno, "message": error.msg}) from None
    return _from_content(content)


def _yaml(data: bytes) -> cobra.Model:
    from ruamel.yaml import YAML  # noqa: PLC0415 - one format needs it
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - the same

    try:
        content = YAML(typ="safe", pure=True).load(io.BytesIO(data))
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = {} if mark is None else {"line": mark.line + 1}
        raise FileFaultError(
            {**line, "message": bounded(str(getattr(error, "problem", error)), _TEXT_AT_MOST)}
        ) from None
    return _from_content(_plain(content))


def _mat(data: bytes) -> cobra.Model:
    model: cobra.Model = cobra.io.load_matlab_model(io.BytesIO(data))
    return model


_READERS: Mapping[str, Callable[[bytes], cobra.Model]] = {"sbml": read_sbml, "json": _json, "mat": _mat, "yaml": _yaml}


def _plain(content: Any, seen: set[int] | None = None) -> Any:
    """Return YAML's ordered maps, which cobra writes, as dictionaries; aliases, which can multiply, are refused."""
    seen = set() if seen is None else seen
    if isinstance(content, (list, Mapping)):
        if id(content) in seen:
            raise FileFaultError({"message": "aliases are not supported"})
        seen.add(id(content))
    if isinstance(content, Mapping):
        return {key: _plain(value, seen) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        is_pairs = content and all(isinstance(item, tuple) and len(item) == 2 for item in content)  # noqa: PLR2004 - a pair
        if is_pairs:
            return {key: _plain(value, seen) for key, value in content}
        return [_plain(item, seen) for item in content]
    return content


def _from_content(content: Any) -> cobra.Model:
    if not isinstance(content, Mapping) or not isinstance(content.get("reactions"), list):
        raise FileFaultError({"element": "model", "message": "has no list of reactions"})
    known = {str(item.get("id")) for item in content.get("metabolites") or () if isinstance(item, Mapping)}
    faults: list[Fault] = []
    for index, reaction in enumerate(content["reactions"]):
        if not isinstance(reaction, Mapping) or "id" not in reaction:
            faults.append({"element": f"reactions[{index}]", "message": "has no id"})
            continue
        said = [
            f"uses the metabolite {quoted(name, 100)}, which is not defined"
            for name in reaction.get("metabolites") or ()
            if name not in known
        ]
        low, high = reaction.get("lower_bound"), reaction.get("upper_bound")
        if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low > high:
            said.append(f"has the bounds [{low:g}, {high:g}]")
        faults += [{"element": "reaction", "id": bounded(str(reaction["id"]), 100), "message": text} for text in said]
    if faults:
        raise FileFaultError(*faults)
    model: cobra.Model = model_from_dict({"metabolites": [], "genes": [], "id": "model", **content})
    return model


def _model_faults(model: cobra.Model) -> list[Fault]:
    """Return faults that no solver accepts: no reactions, invalid numbers, bounds out of order."""
    if not model.reactions:
        return [{"element": "model", "message": "has no reactions"}]
    faults = []
    for reaction in model.reactions:
        low, high = reaction.bounds
        if math.isnan(low) or math.isnan(high) or low > high:
            message = f"has the bounds [{low:g}, {high:g}]"
        elif not all(math.isfinite(number) for number in reaction.metabolites.values()):
            message = "has a coefficient that is not finite"
        else:
            continue
        faults.append({"element": "reaction", "id": reaction.id, "message": message})
    return faults
