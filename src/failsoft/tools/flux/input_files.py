"""The bytes of a file that a caller names, and its errors."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any, Self

from failsoft.framework.errors import InvalidArgument, NotFound, Public, Words
from failsoft.framework.text import bounded, quoted
from failsoft.tools.files import FileFault, open_roots, similar_files
from failsoft.tools.files.reading import read

_BYTES_AT_MOST = 64_000_000
"""Of a file, unpacked: several times the size of the largest published models."""
_PATH_AT_MOST = 300


class InputFiles:
    """The files that callers may read.

    Args:
        root: Their folder; the current one if left out.

    Raises:
        CONFIG_ERROR: The folder does not exist.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._roots = open_roots(root, "flux", relative=True)
        self.folder = Path(self._roots.folders[0])

    def read(self, path: str, *, otherwise: str = "") -> bytes:
        """Return the bytes of a file; a name that ends in `.gz` is unpacked.

        Args:
            path: The file, as the caller wrote it.
            otherwise: What else the caller can do if no file is spelled like it.

        Raises:
            INPUT_FILE_NOT_FOUND: There is no such file below the root.
            INVALID_INPUT_FILE: It is too large, or not a valid gzip file.
        """
        try:
            with self._roots.resolve(path) as place:
                data = read(place, bytes_at_most=_BYTES_AT_MOST, several_names=False).data
        except FileFault as fault:
            if fault.kind == "too_large":
                raise _too_large(path) from fault
            raise self._not_found(path, fault, otherwise) from fault
        return _unpacked(path, data) if path.casefold().endswith(".gz") else data

    def _not_found(self, path: str, fault: FileFault, otherwise: str) -> InputFileNotFound:
        closest = similar_files(self._roots, path)
        shown = bounded(path, _PATH_AT_MOST)
        error = InputFileNotFound(path=shown, reason=_reason(fault), suggestions=closest, effect="none")
        if otherwise and not closest:
            error.message = f"{error.message} {otherwise}"
            error.args = (error.message,)
        return error


def _unpacked(path: str, data: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            content = packed.read(_BYTES_AT_MOST + 1)
    except (OSError, EOFError, ValueError) as error:
        raise InvalidInputFile.found(path, "gzip", "is not valid gzip", []) from error
    if len(content) > _BYTES_AT_MOST:
        raise _too_large(path)
    return content


def _too_large(path: str) -> InvalidInputFile:
    said = f"larger than {_BYTES_AT_MOST:,} bytes"
    return InvalidInputFile.found(path, "", f"is {said}", [{"message": said}])


def _reason(fault: FileFault) -> str:
    if fault.is_outside:
        return "it lies outside the root"
    if fault.kind == "not_regular":
        return f"it is a {fault.facts['what']}"
    if fault.is_misspelt:
        return 'it contains ".."' if fault.kind == "parent" else "no file can have this path"
    return fault.os_reason or "it is being written to"


_FAULTS_AT_MOST = 20


class InputFileNotFound(NotFound):
    """There is no such file below the root.

    Raised when: the path of a model, FASTA or table file does not name a readable file below the root of the server.
    Caller: give the path of a file below the root, relative to it.
    Operator: start the server with `--root` at the folder that holds the files.
    """

    path: Public[str]
    reason: Public[Words]
    code = "INPUT_FILE_NOT_FOUND"
    message = 'Cannot read "{path}": {reason}. Give a path below the root of this server.'
    hints = ("Give the path of an existing file, relative to the root of the server",)
    since = "0.2.0"


class InvalidInputFile(InvalidArgument):
    """A file is not in the format that it should be in.

    Raised when: a model file is not SBML, cobra JSON, MAT or YAML, or refers to undefined ids; a FASTA file
    has no sequences; a table of a medium has an invalid row. `faults` name line, element and id where known.
    Caller: correct the file at these places, or give another one.
    """

    path: Public[str]
    format: Public[str]
    faults: Public[list[dict[str, Any]]]
    code = "INVALID_INPUT_FILE"
    message = '"{path}" is not valid {format}.'
    hints = ("Correct the file where the faults are, then call again",)
    since = "0.2.0"

    @classmethod
    def found(cls, path: str, format: str, said: str, faults: list[dict[str, Any]]) -> Self:  # noqa: A002 - the field
        """Return the error about a file in which these faults were found.

        Args:
            path: The file, as it was given.
            format: What it should be.
            said: What is wrong with the file, behind its path and without a full stop; foreign text in it is quoted.
            faults: All of them; the first 20 are sent.
        """
        sent = faults[:_FAULTS_AT_MOST]
        shown = bounded(path, _PATH_AT_MOST)
        return cls(message=f"{quoted(path)} {said}.", path=shown, format=format, faults=sent, effect="none")
