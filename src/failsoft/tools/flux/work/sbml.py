"""SBML becomes a model, as COBRApy reads it, or faults by line, element and id, as libSBML finds them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

import cobra
import cobra.io

from failsoft.framework.errors.vocabulary import PicklableError
from failsoft.framework.text import bounded

_TEXT_AT_MOST = 300
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


def read_sbml(data: bytes) -> cobra.Model:
    """Return the model of an SBML file as COBRApy reads it.

    Raises:
        FileFaultError: It is not XML, or COBRApy cannot read it, with what libSBML finds wrong.
    """
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
