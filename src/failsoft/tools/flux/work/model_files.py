"""A file becomes a model, with faults by line, element and id; and a model becomes text or pages."""

from __future__ import annotations

import io
import json
import logging
import math
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, Literal

import cobra
import cobra.io
from cobra.io.dict import model_from_dict
from cobra.io.json import JSON_SPEC
from cobra.io.mat import from_mat_struct

from failsoft.framework.errors import NextStep, ResultTooLarge
from failsoft.framework.text import bounded, plain, quoted
from failsoft.tools.flux.input_files import BYTES_AT_MOST, InvalidInputFile
from failsoft.tools.flux.store import Recipe
from failsoft.tools.flux.work.facts import describe_model, model_faults
from failsoft.tools.flux.work.making import model_of, packed
from failsoft.tools.flux.work.sbml import Fault, FileFaultError, read_sbml
from failsoft.tools.flux.workers.worker import limited_memory

FORMATS = {".xml": "sbml", ".sbml": "sbml", ".json": "json", ".mat": "mat", ".yml": "yaml", ".yaml": "yaml"}
"""Format by the ending of the name, without `.gz`."""
_TEXT_AT_MOST = 300
_REPORTS_AT_MOST = 10
_MEMORY_AT_MOST = 1_000_000_000
"""Bytes that reading a file other than SBML may allocate: a MAT file of 200 bytes can ask for gigabytes."""
_MAT_HEADER = 128
_MAT_COMPRESSED = 15
_CHUNK = 1 << 20
_MAT_FIELDS = frozenset({"rxns", "mets", "S", "lb", "ub"})


def read_model(path: str, data: bytes) -> dict[str, Any]:
    """Return the base of a recipe that keeps the model of a file, its facts, and what COBRApy reports of it: a task.

    Args:
        path: Its name, for the format and for errors.
        data: Its content, unpacked.

    Raises:
        INVALID_INPUT_FILE: COBRApy cannot read it, or no solver could solve it, with the faults.
    """
    ending = "." + path.casefold().removesuffix(".gz").rpartition(".")[2]
    kind = FORMATS.get(ending)
    if kind is None:
        raise _invalid(path, "model", [{"message": f"the name ends in none of {', '.join(FORMATS)}"}])
    try:
        # Out of memory, libSBML would end the process; its files are bounded by their elements.
        with _reports() as reports, nullcontext() if kind == "sbml" else limited_memory(_MEMORY_AT_MOST):
            model = _READERS[kind](data)
        faults = model_faults(model)
        content = packed(cobra.io.model_to_dict(model), direction=model.objective_direction)
    except FileFaultError as error:
        raise _invalid(path, kind, error.faults) from None
    except Exception as error:
        # cobra raises KeyError, AttributeError, CobraSBMLError and others.
        raise _invalid(path, kind, [{"message": _reason(error)}]) from error
    if faults:
        raise _invalid(path, kind, faults)
    described = describe_model(model)
    return {"base": content, "facts": described["facts"], "warnings": [*reports, *described["warnings"]]}


@contextmanager
def _reports() -> Iterator[list[str]]:
    """Collect what COBRApy logs and warns of: one sentence for each place in its code that does, with the count."""
    found: dict[tuple[str, int], list[str]] = {}
    sentences: list[str] = []

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.setdefault((record.pathname, record.lineno), []).append(record.getMessage())

    handler = Collecting(logging.WARNING)
    logger = logging.getLogger("cobra")
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            yield sentences
    finally:
        logger.removeHandler(handler)
    for item in caught:
        found.setdefault((item.filename, item.lineno), []).append(str(item.message))
    for texts in list(found.values())[:_REPORTS_AT_MOST]:
        more = f", and {len(texts) - 1} more of this kind" if len(texts) > 1 else ""
        sentences.append(f"COBRApy reports: {quoted(texts[0].replace(chr(34), chr(39)))}{more}.")


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, MemoryError):
        return f"reading it takes more than {_MEMORY_AT_MOST:,} bytes of memory"
    cause = error.__cause__ or error  # what cobra raises on SBML says only that something went wrong
    return bounded(f"{type(cause).__name__}: {cause}", _TEXT_AT_MOST)


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
    from ruamel.yaml.composer import Composer  # noqa: PLC0415 - the same
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - the same
    from ruamel.yaml.events import AliasEvent  # noqa: PLC0415 - the same

    class WithoutAliases(Composer):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.parser.check_event(AliasEvent):  # they can multiply
                line = self.parser.peek_event().start_mark.line + 1
                raise FileFaultError({"line": line, "message": "aliases are not supported"})
            return super().compose_node(parent, index)

    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = WithoutAliases
    try:
        content = yaml.load(io.BytesIO(data))
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = {} if mark is None else {"line": mark.line + 1}
        message = bounded(str(getattr(error, "problem", error)), _TEXT_AT_MOST)
        raise FileFaultError({**line, "message": message}) from None
    return _from_content(content)


def _mat(data: bytes) -> cobra.Model:
    from scipy.io import loadmat  # noqa: PLC0415 - one format needs it

    _require_small(data)
    variables = {name: item for name, item in loadmat(io.BytesIO(data)).items() if not name.startswith("__")}
    for name, item in sorted(variables.items()):
        if set(getattr(item, "dtype", item).names or ()) >= _MAT_FIELDS:
            return from_mat_struct(item, model_id=name)
    fields = ", ".join(sorted(_MAT_FIELDS))
    raise FileFaultError({"element": "model", "message": f"none of its variables is a struct with the fields {fields}"})


def _require_small(data: bytes) -> None:
    """Refuse a MAT file whose compressed variables unpack to more than a file may have, before they are read."""
    order = "<" if data[_MAT_HEADER - 2 : _MAT_HEADER] == b"IM" else ">"
    place, room = _MAT_HEADER, BYTES_AT_MOST
    while place + 8 <= len(data):
        kind, size = struct.unpack_from(f"{order}II", data, place)
        place += 8 + size
        rest = data[place - size : place] if kind == _MAT_COMPRESSED else b""
        unpacking = zlib.decompressobj()
        while rest:
            room -= len(unpacking.decompress(rest, _CHUNK))
            if room < 0:
                raise FileFaultError({"message": f"it unpacks to more than {BYTES_AT_MOST:,} bytes"})
            rest = unpacking.unconsumed_tail


_READERS: Mapping[str, Callable[[bytes], cobra.Model]] = {"sbml": read_sbml, "json": _json, "mat": _mat, "yaml": _yaml}


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
        if not math.isfinite(float(reaction.get("objective_coefficient") or 0)):
            said.append("has an objective_coefficient that is not finite")
        faults += [{"element": "reaction", "id": bounded(str(reaction["id"]), 100), "message": text} for text in said]
    if faults:
        raise FileFaultError(*faults)
    model: cobra.Model = model_from_dict({"metabolites": [], "genes": [], "id": "model", **content})
    if content.get("objective_direction") == "min":  # as `export_model` writes it
        model.objective_direction = "min"
    return model


LISTS = ("reactions", "metabolites", "genes")
_ENTRIES_PER_PAGE = 200
_BOUNDS = frozenset({"lower_bound", "upper_bound"})
_ENDINGS = {"json": ".json", "sbml": ".xml"}
_MINIMIZED = {"objective_direction": "min"}
_DIRECTION = "COBRApy's JSON cannot say that the objective is minimized: set objective_direction to min after loading."


def export_model_json(
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
            step = NextStep("export_model_json", page)
            raise ResultTooLarge(size_bytes=size, limit_bytes=bytes_at_most, next_step=step)
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


def export_model(
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
            whole = {"model_id": model_id, "format": form, "path": f"{model_id}{_ENDINGS[form]}"}
            step = NextStep("export_model", whole)
            raise ResultTooLarge(size_bytes=size, limit_bytes=bytes_at_most, next_step=step)
    return {"text": text, "warnings": [_DIRECTION] if form == "json" and model.objective_direction == "min" else []}


def _content(model: cobra.Model) -> dict[str, Any]:
    """Return a model as cobra's JSON, with the direction of its objective, which that lacks, where it is `min`."""
    return {**cobra.io.model_to_dict(model), **({} if model.objective_direction == "max" else _MINIMIZED)}


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
