"""Read SBML, and report its faults by line, element and id."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import cobra
import cobra.io

from failsoft.framework.errors.vocabulary import PicklableError
from failsoft.framework.text import bounded

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
