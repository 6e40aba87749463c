"""A file becomes a model as COBRApy reads it, or faults by line, element and id."""

from __future__ import annotations

import io
import json
import logging
import math
import re
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any
from xml.parsers import expat

import cobra
import cobra.io
from cobra.io.dict import model_from_dict
from cobra.io.mat import from_mat_struct

from failsoft.framework.errors.vocabulary import PicklableError
from failsoft.framework.text import bounded, plain, quoted
from failsoft.jobs.processes.worker import limited_memory
from failsoft.tools.flux.input_files import BYTES_AT_MOST, InvalidInputFile
from failsoft.tools.flux.work.facts import describe_model, model_faults
from failsoft.tools.flux.work.making import packed

_FORMATS = {".xml": "sbml", ".sbml": "sbml", ".json": "json", ".mat": "mat", ".yml": "yaml", ".yaml": "yaml"}
"""Format by the ending of the name, without `.gz`."""
_TEXT_AT_MOST = 300
_REPORTS_AT_MOST = 10
_MEMORY_AT_MOST = 1_000_000_000
"""Bytes that reading a file other than SBML may allocate: a MAT file of 200 bytes can ask for gigabytes."""
_MAT_HEADER = 128
_MAT_COMPRESSED = 15
_CHUNK = 1 << 20
_MAT_FIELDS = frozenset({"rxns", "mets", "S", "lb", "ub"})
_DEPTH_AT_MOST = 1_000
"""Elements within each other; libSBML overflows its stack somewhere above 10,000."""
_ELEMENTS_AT_MOST = 2_000_000
"""In a file; each takes libSBML some 700 bytes. The largest published models have about a million."""
_ERROR = 2
"""The least severity of libSBML that makes a file unusable."""
_ELEMENT = re.compile(r"<([A-Za-z]+)>")
_ID = re.compile(r"(?:id|<[A-Za-z]+>) '([^']+)'")
_RULE = re.compile(r"^(?:.*? )?Reference: .*? Section [0-9.]+(?: |$)")
"""What libSBML quotes of the specification; what follows it is about this file."""
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")

Fault = dict[str, Any]


class FileFaultError(PicklableError):
    """A file is not in its format.

    Args:
        *faults: Each with a `message`, and where known with `line`, `element` and `id`.
    """

    def __init__(self, *faults: Fault) -> None:
        super().__init__(*faults)
        self.faults = list(faults)


def read_model(path: str, data: bytes) -> dict[str, Any]:
    """Return the base of a recipe that keeps the model of a file, its facts, and what COBRApy reports of it: a task.

    Args:
        path: Its name, for the format and for errors.
        data: Its content, unpacked.

    Raises:
        INVALID_INPUT_FILE: COBRApy cannot read it, or no solver could solve it, with the faults.
    """
    ending = "." + path.casefold().removesuffix(".gz").rpartition(".")[2]
    kind = _FORMATS.get(ending)
    if kind is None:
        raise _invalid(path, "model", [{"message": f"the name ends in none of {', '.join(_FORMATS)}"}])
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


def _sbml(data: bytes) -> cobra.Model:
    text = _xml_text(data)
    try:
        model: cobra.Model = cobra.io.read_sbml_model(text)
    except Exception as error:
        faults = _sbml_faults(text)
        if not faults:
            raise
        raise FileFaultError(*faults) from error
    return model


def _xml_text(data: bytes) -> str:
    """Return the text of well-formed XML that libSBML can take: nested too deeply, it would end the process."""
    parser = expat.ParserCreate()
    encoding = "utf-8"
    depth = count = 0

    def refuse(message: str) -> None:
        raise FileFaultError({"line": parser.CurrentLineNumber, "message": message})

    def declared(_: str, given: str | None, __: int) -> None:
        nonlocal encoding
        encoding = given or encoding

    def begin(*_: Any) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > _DEPTH_AT_MOST:
            refuse(f"it has more than {_DEPTH_AT_MOST:,} elements within each other")
        if count > _ELEMENTS_AT_MOST:
            refuse(f"it has more than {_ELEMENTS_AT_MOST:,} elements")

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser.XmlDeclHandler = declared
    parser.StartDoctypeDeclHandler = lambda *_: refuse("it has a document type declaration, which SBML does not use")
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    try:
        parser.Parse(data, True)  # noqa: FBT003 - it has no name
    except expat.ExpatError as error:
        raise FileFaultError({"line": error.lineno, "message": expat.ErrorString(error.code)}) from None
    is_utf8 = encoding.casefold() in {"utf-8", "utf8"}
    text = data.decode("utf-8-sig") if is_utf8 else _DECLARATION.sub("", data.decode(encoding), count=1)
    if "<sbml" not in text:
        raise FileFaultError({"line": 1, "element": "sbml", "message": "there is no such element in it"})
    return text


def _sbml_faults(text: str) -> list[Fault]:
    """Return what libSBML finds wrong; what its checks add comes first, since COBRApy ignores much else."""
    import libsbml  # noqa: PLC0415 - large, and one format needs it

    document = libsbml.readSBMLFromString(text)
    parsed = list(_errors(document))
    if document.getModel() is None:
        return [*parsed, {"line": 1, "element": "sbml", "message": "there is no model in it"}]
    for kind in (libsbml.LIBSBML_CAT_UNITS_CONSISTENCY, libsbml.LIBSBML_CAT_MODELING_PRACTICE):
        document.setConsistencyChecks(kind, False)  # noqa: FBT003 - libSBML has no names for its arguments
    document.checkConsistency()
    checked = [fault for fault in _errors(document) if fault not in parsed]
    return [*_bounds(document), *checked, *parsed]


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


_READERS: Mapping[str, Callable[[bytes], cobra.Model]] = {"sbml": _sbml, "json": _json, "mat": _mat, "yaml": _yaml}


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
