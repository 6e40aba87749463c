"""A file becomes a model, with faults by line, element and id; and a model becomes text or pages."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import cobra
import cobra.io
from cobra.io.dict import model_from_dict
from cobra.io.json import JSON_SPEC

from failsoft.framework.errors import NextStep, ResultTooLarge
from failsoft.framework.errors.vocabulary import PicklableError
from failsoft.framework.text import bounded, plain, quoted
from failsoft.tools.flux.input_files import InvalidInputFile
from failsoft.tools.flux.store import Recipe
from failsoft.tools.flux.work.making import model_of, packed

_TEXT_AT_MOST = 300
_ERROR = 2
"""The least severity of libSBML that makes a file unusable."""
_ELEMENT = re.compile(r"<([A-Za-z]+)>")
_ID = re.compile(r"(?:id|<[A-Za-z]+>) '([^']+)'")
_RULE = re.compile(r"^(?:.*? )?Reference: .*? Section [0-9.]+(?: |$)")
"""What libSBML quotes of the specification; what follows it is about this file."""
Fault = dict[str, Any]


class FileFaultError(PicklableError):
    """A file is not in its format.

    Args:
        *faults: Each with a `message`, and where known with `line`, `element` and `id`.
    """

    def __init__(self, *faults: Fault) -> None:
        super().__init__(*faults)
        self.faults = list(faults)


def read_sbml(data: bytes) -> cobra.Model:
    """Return the model of an SBML file.

    Raises:
        FileFaultError: It is malformed, or refers to what it does not define.
    """
    import libsbml  # noqa: PLC0415 - large, and one format needs it

    if b"<!DOCTYPE" in data[:10_000] or b"<!ENTITY" in data:
        raise FileFaultError({"message": "it has a document type declaration, which SBML does not use"})
    text = data.decode("utf-8")
    document = libsbml.readSBMLFromString(text)
    faults = list(_errors(document))
    if not faults and document.getModel() is None:
        faults = [{"line": 1, "element": "sbml", "message": "there is no model in it"}]
    if faults:
        raise FileFaultError(*faults)
    try:
        model: cobra.Model = cobra.io.read_sbml_model(text)
    except Exception as error:
        # cobra says only that something is wrong. The checks of libSBML are stricter than cobra, so they come after.
        for kind in (libsbml.LIBSBML_CAT_UNITS_CONSISTENCY, libsbml.LIBSBML_CAT_MODELING_PRACTICE):
            document.setConsistencyChecks(kind, False)  # noqa: FBT003 - libSBML has no names for its arguments
        document.checkConsistency()
        faults = [*_bounds(document), *_errors(document)]
        if not faults:
            raise
        raise FileFaultError(*faults) from error
    return model


def _errors(document: Any) -> Iterator[Fault]:
    """Yield what libSBML has found so far."""
    for index in range(document.getNumErrors()):
        error = document.getError(index)
        if error.getSeverity() >= _ERROR:
            whole = " ".join(error.getMessage().split())
            about = _RULE.sub("", whole) or whole
            fault: Fault = {"line": error.getLine()}
            element, name = _ELEMENT.search(about), _ID.search(about)
            fault |= {"element": element[1]} if element is not None else {}
            fault |= {"id": bounded(name[1], 100)} if name is not None else {}
            yield {**fault, "message": bounded(about, _TEXT_AT_MOST)}


def _bounds(document: Any) -> Iterator[Fault]:
    """Yield the reactions whose lower bound is above the upper one."""
    model = document.getModel()
    for reaction in model.getListOfReactions():
        plugin = reaction.getPlugin("fbc")
        names = () if plugin is None else (plugin.getLowerFluxBound(), plugin.getUpperFluxBound())
        found = [model.getParameter(name) for name in names]
        if found and None not in found and found[0].getValue() > found[1].getValue():
            message = f"has the bounds [{found[0].getValue():g}, {found[1].getValue():g}]"
            yield {"line": reaction.getLine(), "element": "reaction", "id": reaction.getId(), "message": message}


FORMATS = {".xml": "sbml", ".sbml": "sbml", ".json": "json", ".mat": "mat", ".yml": "yaml", ".yaml": "yaml"}
"""Format by the ending of the name, without `.gz`."""


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
    return packed(cobra.io.model_to_dict(model), direction=model.objective_direction)


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
    if content.get("objective_direction") == "min":  # as `export_text` writes it
        model.objective_direction = "min"
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


LISTS = ("reactions", "metabolites", "genes")
_ENTRIES_PER_PAGE = 200
_BOUNDS = frozenset({"lower_bound", "upper_bound"})
_ENDINGS = {"json": ".json", "sbml": ".xml"}
_DIRECTION = (
    "The objective is to be minimized. COBRApy's JSON cannot say so: after loading the file with COBRApy set "
    "objective_direction to min; load_model does it by itself."
)


def export(
    recipe: Recipe, model_id: str, section: str, offset: int, limit: int | None, bytes_at_most: int | None
) -> dict[str, Any]:
    """Return a model, or one of its lists from `offset` on: a task.

    Args:
        recipe: The model.
        model_id: Its id, for the errors.
        section: `all`, or one of the lists.
        offset: Entries that are left out at the beginning of the list.
        limit: Entries at most; None for as many as fit.
        bytes_at_most: What the answer's JSON may take; None for no bound.

    Raises:
        RESULT_TOO_LARGE: The whole model does not fit; the next step asks for its reactions, page by page.
    """
    whole = _clean(_content(model_of(recipe)))
    totals = {f"num_{name}": len(whole[name]) for name in LISTS}
    if section == "all" and not offset and limit is None:
        size = len(json.dumps(whole))
        if bytes_at_most is not None and size > bytes_at_most:
            page = {"model_id": model_id, "section": LISTS[0], "offset": 0, "limit": _ENTRIES_PER_PAGE}
            raise _too_large(NextStep("export_model_json", page), size, bytes_at_most)
        return {"section": section, "model": whole, **totals}
    shown = LISTS if section == "all" else (section,)
    wanted = max(len(whole[name]) for name in shown) if limit is None else limit
    count = _fitting([whole[name][offset : offset + wanted] for name in shown], bytes_at_most)
    pages = {name: whole[name][offset : offset + count] for name in shown}
    end = offset + count
    is_more = any(len(whole[name]) > end for name in shown)
    rest = {name: value for name, value in whole.items() if name not in LISTS}
    result = {"section": section, "model": {**rest, **pages}, "offset": offset, **totals}
    return {**result, "next_offset": end} if is_more else result


def export_text(
    recipe: Recipe, model_id: str, form: Literal["json", "sbml"], bytes_at_most: int | None
) -> dict[str, Any]:
    """Return a model as the text of a file that cobra reads: a task.

    Args:
        recipe: The model.
        model_id: Its id, for the error.
        form: `json` for cobra's JSON, `sbml` for SBML Level 3 with FBC.
        bytes_at_most: What the answer's JSON may take; None for no bound.

    Raises:
        RESULT_TOO_LARGE: The text does not fit; the next step writes it to a file.
    """
    model = model_of(recipe)
    if form == "json":
        text = json.dumps({**_content(model), "version": JSON_SPEC}, allow_nan=False)
    else:
        buffer = io.StringIO()
        cobra.io.write_sbml_model(model, buffer)
        text = buffer.getvalue()
    if bytes_at_most is not None:
        size = len(json.dumps(text))
        if size > bytes_at_most:
            step = {"model_id": model_id, "format": form, "path": f"{model_id}{_ENDINGS[form]}"}
            raise _too_large(NextStep("export_model", step), size, bytes_at_most)
    return {"text": text, "warnings": [_DIRECTION] if form == "json" and model.objective_direction == "min" else []}


def _content(model: cobra.Model) -> dict[str, Any]:
    """Return a model as cobra's JSON, with the direction of its objective, which that lacks, where it is `min`."""
    content: dict[str, Any] = cobra.io.model_to_dict(model)
    return content if model.objective_direction == "max" else {**content, "objective_direction": "min"}


def _fitting(lists: list[list[Any]], bytes_at_most: int | None) -> int:
    """Return how many entries of each list fit together, at least one, since an empty page would not advance."""
    longest = max(map(len, lists))
    if bytes_at_most is None:
        return longest
    size = 0
    for index in range(longest):
        size += sum(len(json.dumps(entries[index])) + 1 for entries in lists if index < len(entries))
        if size > bytes_at_most:
            return max(1, index)
    return longest


def _clean(value: Any) -> Any:
    """Return the value as valid JSON: an infinite bound, which cobra writes as text, becomes null."""
    if isinstance(value, dict):
        return {
            str(name): None if name in _BOUNDS and isinstance(item, str) else _clean(item)
            for name, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _too_large(step: NextStep, size: int, bytes_at_most: int) -> ResultTooLarge:
    return ResultTooLarge(size_bytes=size, limit_bytes=bytes_at_most, next_step=step, effect="none")
